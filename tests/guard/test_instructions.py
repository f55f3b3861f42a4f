"""Orders to the assistant are found in every dress; honest notes pass."""

import importlib.util
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reverie.guard.instructions import orders_in

_spec = importlib.util.spec_from_file_location("hostile_texts", Path(__file__).with_name("hostile.py"))
texts = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(texts)


@pytest.mark.parametrize("name", texts.HOSTILE)
def test_an_order_to_the_assistant_is_found(name):
    assert orders_in(texts.HOSTILE[name])


@pytest.mark.parametrize("name", texts.HOSTILE)
def test_an_order_is_found_in_the_middle_of_an_honest_text(name):
    before, after = "The parser is in src/parse.py.\n\n", "\n\nTests run with pytest -q."
    assert orders_in(f"{before}{texts.HOSTILE[name]}{after}")


@pytest.mark.parametrize("text", texts.HONEST)
def test_an_honest_note_passes(text):
    assert orders_in(text) == ()


def test_honest_notes_pass_in_one_long_text():
    assert orders_in("\n\n".join(texts.HONEST)) == ()


@given(st.text(max_size=300))
@settings(max_examples=200, deadline=None)
def test_any_text_can_be_judged(text):
    assert isinstance(orders_in(text), tuple)


NASTY = {
    "one letter": "a" * 100_000,
    "ignore": "ignore " * 14_000,
    "you must": "you must " * 11_000,
    "the words before": "send " + "the " * 25_000,
    "spaces": " " * 100_000,
    "comments": "<!-- " * 20_000,
    "curl": "curl " * 20_000,
    "images": "![" * 50_000,
    "base64": "QUJD" * 25_000,
    "elements": '<a style="display:none">' * 4_000,
    "escapes": "\\u0041" * 16_000,
    "percents": "%41" * 33_000,
}


@pytest.mark.parametrize("name", NASTY)
def test_no_text_makes_the_judgement_run_away(name):
    """Exponential or quadratic search would take minutes; the limit is far above what linear search takes."""
    began = time.process_time()
    orders_in(NASTY[name])
    assert time.process_time() - began < 20
