"""What is a secret, what is not, and that finding out never takes long."""

import importlib.util
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reverie.guard.secrets import redact
from tests.tables import for_each


def _list(name):
    spec = importlib.util.spec_from_file_location(f"guard_{name}", Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tokens, surroundings = _list("tokens"), _list("surroundings")

SHAPED = tokens.shaped()
BESIDE = tokens.beside_words()


@for_each("name", SHAPED)
@for_each(
    "around", ["@@", "The bot logs in with @@ since May.", '{"x": "@@"}', "X=@@", "(@@)", "see `@@`.", "a\n@@\nb"]
)
def test_a_token_of_a_known_shape_is_taken_out_wherever_it_stands(name, around):
    token = SHAPED[name]
    result = redact(around.replace("@@", token))
    assert token.rsplit("/", 1)[-1] not in result.text
    assert "[redacted: " in result.text
    assert result.found


@for_each("name", BESIDE)
def test_a_secret_is_known_by_what_stands_beside_it(name):
    text, secret = BESIDE[name]
    assert secret not in redact(text).text


@for_each("name, text, secret", surroundings.CASES)
def test_no_part_of_a_secret_is_left_in_further_surroundings(name, text, secret):
    left = redact(text.replace("@@", secret)).text
    assert not any(secret[at : at + 10] in left for at in range(0, max(1, len(secret) - 9), 5))


@for_each("text", surroundings.HONEST)
def test_what_resembles_those_surroundings_stays(text):
    assert redact(text).text == text


@for_each("name", tokens.NO_SECRETS)
def test_what_only_looks_like_a_secret_stays(name):
    text = tokens.NO_SECRETS[name]
    assert redact(text).text == text


@pytest.mark.parametrize("kind", ["RSA ", "", "EC ", "OPENSSH ", "ENCRYPTED ", "DSA "])
def test_a_private_key_goes_as_a_whole_block(kind):
    assert redact(f"before\n{tokens.private_key(kind)}\nafter").text == "before\n[redacted: private-key]\nafter"


def test_a_private_key_in_json_goes_too():
    block = tokens.private_key("").replace("\n", "\\n")
    assert (
        redact(f'{{"private_key": "{block}", "x": 1}}').text == '{"private_key": "[redacted: private-key]", "x": 1}'
    )


def test_a_private_key_that_is_cut_off_goes_as_far_as_it_goes():
    block = tokens.private_key("RSA ").rpartition("\n-----END")[0]
    assert block[-40:] not in redact(f"{block}\n\nThis is prose again.").text


def test_the_mark_names_the_vendor_and_the_rest_of_the_text_stays():
    key = SHAPED["aws access key"]
    result = redact(f"Deploys run as {key} in eu-west-1.")
    assert result.text == "Deploys run as [redacted: aws-access-key] in eu-west-1."
    assert result.found == ("aws-access-key",)


def test_only_the_password_of_an_address_goes():
    password = "s3" + "cr3t!"
    result = redact(f"postgres://app:{password}@db.internal:5432/prod")
    assert result.text == "postgres://app:[redacted: password-in-address]@db.internal:5432/prod"


def test_the_documented_example_key_stays():
    assert redact("AKIAIOSFODNN7EXAMPLE is what the manual prints").found == ()


@for_each("name", SHAPED)
def test_what_was_redacted_once_is_left_alone_afterwards(name):
    once = redact(f"token={SHAPED[name]} and password: hunter{2}").text
    assert redact(once).text == once


@given(st.text(max_size=400))
@settings(max_examples=300, deadline=None)
def test_any_text_can_be_scanned_and_a_second_scan_finds_no_more(text):
    once = redact(text)
    assert bool(once.found) == ("[redacted: " in once.text and once.text != text)
    assert redact(once.text).text == once.text


NASTY = {
    "one letter": "a" * 100_000,
    "passwords": "password=" * 11_000,
    "schemes": "://" * 33_000,
    "users": "a://b:" * 16_000,
    "at signs": "http://a:" + "@" * 99_000,
    "key blocks": "-----BEGIN RSA PRIVATE KEY-----" * 3_000,
    "beginnings of tokens": "eyJaaaaaaaaaa." * 7_000,
    "keys": "key: " * 20_000,
    "cookies": "cookie: " + "a=b;" * 25_000,
    "seeds": "seed is " + "abc " * 25_000,
    "dashes": "-" * 100_000,
    "underscores": "a_" * 50_000,
    "hex": "0123456789abcdef" * 6_000,
    "putty": "PuTTY-User-Key-File-2" * 4_500,
    "numbers": "1/1111111111" * 8_000,
    "tables": "| pass | pass |\n|---|---|\n| a1 | b2 |\n" * 2_400,
    "one wide table": "|" + " pass |" * 14_000 + "\n|---|\n" + "| a1 " * 100,
    "logins": "login(" * 16_000,
    "pairs": "auth=('a','" * 9_000,
    "of what": "password for the " * 6_000,
    "defaults": 'password" {' * 9_000,
    "shares": "net use /user:a " * 6_000,
    "log in as": "log in as a/ " * 8_000,
}


@pytest.mark.parametrize("name", NASTY)
def test_no_text_makes_a_scan_run_away(name):
    """Exponential or quadratic search would take minutes; the limit is far above what linear search takes."""
    began = time.process_time()
    redact(NASTY[name])
    assert time.process_time() - began < 20
