"""The upper bound that stands in until tiktoken has loaded: never too low, and not far too high."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reverie.embeddings.tokens as tokens
from reverie.embeddings.tokens import UpperBound
from tests.embeddings.test_tokens import SAMPLES, SEAMS

BYTES = UpperBound(())


@pytest.fixture(scope="module")
def bound() -> UpperBound:
    return tokens.Tokenizer(tokens.BUNDLED).counter


@pytest.mark.parametrize("text", SAMPLES)
def test_no_sample_has_more_tokens_than_its_bound(bound, text):
    assert tokens.count_tokens(text) <= bound.count(text) <= BYTES.count(text)


@given(text=st.text(max_size=200))
def test_no_text_has_more_tokens_than_its_bound(bound, text):
    assert tokens.count_tokens(text) <= bound.count(text) <= BYTES.count(text)


@given(text=st.text(alphabet=SEAMS, max_size=200))
def test_no_text_of_awkward_seams_has_more_tokens_than_its_bound(bound, text):
    assert tokens.count_tokens(text) <= bound.count(text)


@given(words=st.lists(st.text(alphabet="etaoinsrhl ETA_./", max_size=12), max_size=30))
def test_no_made_up_words_have_more_tokens_than_their_bound(bound, words):
    assert tokens.count_tokens(" ".join(words)) <= bound.count(" ".join(words))


def test_a_piece_counts_by_the_tokens_that_are_known():
    known = UpperBound([b"the", b" the", b"ab", b"bc"])
    assert known.count("the") == 1
    assert known.count(" the the") == 2
    assert known.count("abcd") == 3  # not a b c d: a and b would have been merged; but a, bc, d may stand
    assert known.count("wxyz") == 4
    assert known.count("thé") == 4  # bytes


def test_prose_and_code_are_bounded_closely(bound):
    texts = [file.read_text("utf-8") for file in sorted(Path(tokens.__file__).parent.glob("*.py"))]
    assert sum(map(bound.count, texts)) < 1.5 * sum(map(tokens.count_tokens, texts))


@given(text=st.one_of(st.text(max_size=200), st.sampled_from(SAMPLES)), limit=st.integers(0, 60))
def test_a_cut_by_the_bound_is_a_prefix_within_its_limit(bound, text, limit):
    cut = bound.cut(text, limit)
    assert text.startswith(cut)
    assert tokens.count_tokens(cut) <= limit
    assert cut == text or bound.count(text) > limit


def test_a_cut_by_the_bound_takes_what_fits(bound):
    assert bound.cut("one two three four five", 3) == "one two three"
