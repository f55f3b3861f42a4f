"""The outcome of a decision: how it is kept, and which of two accounts holds."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from reverie.lifecycle.outcomes import (
    LONGEST_NOTE,
    combined_outcome,
    given_outcome,
    joined_outcome,
    outcome_on,
    read_outcome,
    updated_outcome,
)
from reverie.memory import Memory
from tests.lifecycle.conftest import START

Build = Callable[..., Memory]


@pytest.mark.parametrize(
    ("outcome", "written", "said"),
    [
        (outcome_on("failed", START, reported_by="m2"), "failed 2026-01-01 m2", "tried, failed: too slow"),
        (outcome_on("reversed", START), "reversed 2026-01-01", "tried, reversed: too slow"),
        (outcome_on("worked", START, note="a\nb: c"), "worked 2026-01-01: a b: c", "worked: a b: c"),
        (
            outcome_on("superseded", START, reported_by="x:1", note="n"),
            "superseded 2026-01-01 x:1: n",
            "superseded: n",
        ),
    ],
)
def test_an_outcome_is_read_as_it_was_written(outcome, written, said) -> None:
    assert outcome.written == written
    assert read_outcome(written) == outcome
    assert outcome.described("too slow") == said


def test_what_is_no_outcome_is_read_as_none_and_a_note_is_short() -> None:
    assert [read_outcome(text) for text in (None, "", "failed", "great 2026-01-01", "failed someday")] == [None] * 5
    assert len(outcome_on("failed", START, note="x" * 999).note) == LONGEST_NOTE


@pytest.mark.parametrize(
    ("reason", "result", "note"),
    [
        ("failed: the broker could not keep up.", "failed", "the broker could not keep up"),
        ("Worked", "worked", ""),
        ("it failed because of the cost", "failed", "because of the cost"),
        ("reversed – nobody used it", "reversed", "nobody used it"),
        ("superseded by NATS", "superseded", "by NATS"),
        ("failed to mention the port", None, None),
        ("a typo", None, None),
        ("", None, None),
    ],
)
def test_a_reason_gives_an_outcome_by_its_first_word(reason: str, result: str | None, note: str | None) -> None:
    given = given_outcome(reason, START)
    assert (given and given.result, given and given.note) == (result, note)


def test_the_later_account_holds_and_superseded_says_less_than_failed(a_memory: Build) -> None:
    failed = outcome_on("failed", START, reported_by="m2")
    decision = a_memory(outcome=failed.written)
    assert updated_outcome(a_memory(), failed) == failed.written
    assert updated_outcome(decision, outcome_on("worked", START - timedelta(days=1))) is None
    assert updated_outcome(decision, outcome_on("failed", START + timedelta(days=1), reported_by="m3")) is None
    assert updated_outcome(decision, outcome_on("superseded", START + timedelta(days=1))) is None
    assert updated_outcome(decision, outcome_on("worked", START + timedelta(days=1))) == "worked 2026-01-02"


def test_of_memories_that_become_one_the_latest_outcome_is_kept(a_memory: Build) -> None:
    others = (a_memory(outcome="worked 2026-01-01"), a_memory(outcome="failed 2026-02-01"), a_memory())
    assert joined_outcome(a_memory(), others) == "failed 2026-02-01"
    assert joined_outcome(a_memory(outcome="reversed 2025-01-01"), others) == "reversed 2025-01-01"
    assert joined_outcome(a_memory(), (a_memory(),)) is None


def test_accounts_in_their_order_are_settled_to_one() -> None:
    failed, ended = outcome_on("failed", START, reported_by="a"), outcome_on("superseded", START, reported_by="b")
    worked = outcome_on("worked", START, reported_by="c")
    assert combined_outcome([]) is None
    assert combined_outcome([failed, ended]) == failed
    assert combined_outcome([ended, failed]) == failed
    assert combined_outcome([failed, ended, worked]) == worked
