"""Attack: a text under the limit that is built to keep a pattern or the model busy."""

import importlib.util
import string
from pathlib import Path
from time import process_time
from types import ModuleType

import pytest

from reverie.codebase.claims import mentions_in
from reverie.embeddings.base import spread
from reverie.embeddings.bundled import MOST_WINDOWS, BundledEmbedder
from reverie.guard.injection import signs_of_injection
from reverie.text.tokenize import tokens_of
from reverie.tools import recall, remember
from reverie.tools.requests import LONGEST_QUERY, RecallRequest, RememberRequest, ReviseRequest
from reverie.tools.revise import revise
from reverie.tools.screening import cleaned, injection_by_meaning

pytestmark = pytest.mark.anyio

CEILING = 10.0
"""Seconds of processor time that only an explosion reaches: `<` took a minute, 10,000 dashes half of one.

What is meant is 2 s; `bench/redteam.py --limits` prints how long each shape takes.
"""
MIXTURES = 300


def _corpus() -> ModuleType:
    path = Path(__file__).parents[1] / "guard" / "long_texts.py"
    spec = importlib.util.spec_from_file_location("corpus_long_texts", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LONG = _corpus()

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


@pytest.fixture(scope="module")
def bundled() -> BundledEmbedder:
    """The model that ships with the package."""
    embedder = BundledEmbedder()
    embedder.warm()
    return embedder


@pytest.mark.parametrize("unit", WORST)
async def test_a_text_that_took_minutes_is_kept_in_seconds(keep, unit):
    assert await _seconds_for(keep(LONG.filled(unit))) < CEILING


@pytest.mark.slow
@pytest.mark.parametrize("unit", OTHERS)
async def test_no_shape_of_a_text_takes_long(keep, unit):
    assert await _seconds_for(keep(LONG.filled(unit))) < CEILING


@pytest.mark.parametrize("kind", ["json", "Chinese"])
async def test_a_text_that_took_the_model_half_a_minute_is_embedded_in_part_and_says_so(bundled, kind):
    before = process_time()
    [embedding] = bundled.embed([LONG.varied_text(kind)])
    assert process_time() - before < CEILING
    assert len(embedding.passages) == MOST_WINDOWS
    assert embedding.share < 0.1


@pytest.mark.parametrize("sign", ";.!?")
def test_a_long_run_of_signs_that_end_no_sentence_is_judged_in_seconds(bundled, sign):
    text = f"{sign * 30_000}foo_bar do not tell. " * 3
    before = process_time()
    injection_by_meaning(text, "", bundled)
    assert process_time() - before < CEILING


@pytest.mark.slow
@pytest.mark.parametrize("kind", LONG.KINDS)
async def test_no_kind_of_text_takes_the_tools_long(open_session, bundled, kind):
    session = await open_session(embedder=bundled)
    known = await remember.remember(session, RememberRequest(content="The anvil is in the yard."))
    text = LONG.varied_text(kind)[:-5_000]  # a mark may be longer than the secret in whose place it stands
    for call in (
        remember.remember(session, RememberRequest(content=text)),
        remember.remember(session, RememberRequest(content=f"7 {text}")),
        revise(session, ReviseRequest(id=known.id, content=f"8 {text}", reason="it is longer now")),
        recall.recall(session, RecallRequest(query=text[:LONGEST_QUERY])),
    ):
        assert await _seconds_for(call) < CEILING


@pytest.mark.slow
@pytest.mark.parametrize("number", range(MIXTURES))
def test_no_mixture_of_pieces_of_patterns_takes_long(number):
    name, text = LONG.mixed(number)
    before = process_time()
    clean, _ = cleaned(text)
    signs_of_injection(clean)
    mentions_in(clean)
    tokens_of(clean)
    assert process_time() - before < CEILING, name


async def _seconds_for(call):
    before = process_time()
    await call
    return process_time() - before


async def test_a_long_text_is_not_compared_with_long_ones_and_the_answer_says_so(keep):
    text = LONG.filled("the anvil is in the yard ")
    await keep(text)
    again = await keep(f"7 {text[:-2]}")
    assert again.duplicate_of is None
    assert any("too long to be compared" in warning for warning in again.warnings)


def test_of_a_long_text_the_first_and_last_windows_are_among_the_embedded():
    assert spread(3, 10) == [0, 1, 2]
    assert spread(100, 4) == [0, 33, 66, 99]
