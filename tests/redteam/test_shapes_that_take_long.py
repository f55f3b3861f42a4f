"""Attack: a text under the limit that is built to keep a pattern busy."""

import string
from time import process_time

import pytest

pytestmark = pytest.mark.anyio

LIMIT = 100_000
CEILING = 10.0
"""Seconds of processor time that only an explosion reaches: `<` took a minute, 10,000 dashes half of one."""

WORST = ("<", "-", "<!--", "password=", "://", "[x]: # (", "ignore ", ":", "@", "a.b")
OTHERS = (
    *sorted(set(string.punctuation) - set(WORST)),
    *("a", "0", "A1", " ", "\t", "\n", "a=", "a,b;", ".\n", "()", "[](", '{"a":', "x@", "a.b", "_a", "\"'"),
    *("<a hidden ", "</", "<private>", "|---|\n", "| a ", "login(", 'auth("a","', "-----BEGIN PRIVATE KEY-----"),
    *("PuTTY-User-Key-File-2", "cookie: a=b; ", "authorization: ", "curl -u ", "mysql -p", "key ", "token is "),
    *(
        "user: a\n",
        "recovery code ",
        "pin ",
        "echo a | ",
        "eyJa.",
        "ghp_",
        "base64Base64+/",
        "%41",
        "\\u0041",
        "&amp;",
    ),
    *(
        "when you ",
        "send ",
        "do not ",
        "note to ai ",
        "seed phrase is abc ",
        "\u0301",
        "\u202e",
        "\u05d0",
        "\U0001f600",
    ),
    *("é", "\x1b[", "src/a.py "),
)


def filled(unit: str) -> str:
    """Return a text of exactly the limit, made of one unit."""
    return ("x" + unit * (LIMIT // len(unit) + 1))[:LIMIT]


@pytest.mark.parametrize("unit", WORST)
async def test_a_text_that_took_minutes_is_kept_in_seconds(keep, unit):
    assert await _seconds_for(keep, unit) < CEILING


@pytest.mark.slow
@pytest.mark.parametrize("unit", OTHERS)
async def test_no_shape_of_a_text_takes_long(keep, unit):
    assert await _seconds_for(keep, unit) < CEILING


async def _seconds_for(keep, unit):
    before = process_time()
    await keep(filled(unit))
    return process_time() - before
