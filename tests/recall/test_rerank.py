from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from reverie.memory import Memory
from reverie.recall.score import ScoredMemory, ScoreParts
from reverie.recall.search import reranked
from reverie.storage.rows import CandidateRow

START = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
LONG = (("7", 0.9), ("8", 0.8), ("7", 0.7))
HERE, NEAR, FAR = (1.0, 0.0), (0.9, 0.436), (0.0, 1.0)  # the cosine of the first two is 0.9


def _row(
    content: str, score: float, toward: tuple[float, float] = HERE, *, day: int = 0, **fields: Any
) -> ScoredMemory:
    moment = START + timedelta(days=day)
    memory = Memory(
        id=content, content=content, content_hash=content, title=content, kind="fact", layer="semantic",
        trust=0.7, stability=0.2, created_at=moment, happened_at=moment, updated_at=moment, embedder="x",
    )  # fmt: skip
    vector = np.array(toward, np.float32)
    return ScoredMemory(CandidateRow(replace(memory, **fields), vector), score, ScoreParts(1.0, 1.0), 0.5, 1.0)


def _order(rows: list[ScoredMemory], query: str = "lamp", limit: int = 10) -> list[str]:
    return [row.memory.content for row in reranked(rows, query, limit).rows]


def test_what_says_the_same_in_another_session_is_told_newest_first() -> None:
    rows = [_row("old", 0.9, HERE, session="a"), _row("new", 0.6, NEAR, day=1, session="b")]
    assert _order(rows) == ["new", "old"]
    assert _order([rows[0], replace(rows[1], score=0.5)]) == ["old", "new"]  # answers too much worse


def test_long_texts_are_copies_only_if_they_are_the_same_to_the_letter() -> None:
    text = "the lamp burns oil " * 300
    best, other, copy = (_row(f"{text}{end}", score, content_hash="", session="a") for end, score in LONG)
    assert [row.diversity for row in reranked([best, other, copy], "lamp", 10).rows] == [1.0, 1.0, 0.5]


def test_turns_of_one_session_stay_as_they_rank() -> None:
    rows = [_row("old", 0.9, HERE, session="a"), _row("new", 0.8, NEAR, day=1, session="a")]
    assert _order(rows) == ["old", "new"]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("What is our monthly grocery budget?", "the grocery budget is 450 now"),
        ("what was the first grocery budget?", "our grocery budget is 300"),  # asks for the past
        ("tell me about the grocery budget", "our grocery budget is 300"),  # asks for no value
        ("What is the rent?", "our grocery budget is 300"),  # not what they speak of
    ],
)
def test_a_question_for_how_things_stand_puts_the_newer_value_first(query: str, first: str) -> None:
    rows = [
        _row("our grocery budget is 300", 0.9, HERE, session="a"),
        _row("the grocery budget is 450 now", 0.6, (0.6, 0.8), day=9, session="a"),
    ]
    assert _order(rows, query)[0] == first


def test_a_copy_makes_room_but_another_value_is_no_copy() -> None:
    rows = [_row("port is 80", 0.9), _row("Port is 80.", 0.8), _row("port is 90", 0.7), _row("lamp", 0.6, FAR)]
    found = reranked(rows, "tell me the port", 10).rows
    assert [row.memory.content for row in found] == ["port is 80", "port is 90", "lamp", "Port is 80."]
    assert [row.diversity for row in found] == [1.0, 1.0, 1.0, 0.5]


def _crowd(count: int, **fields: Any) -> list[ScoredMemory]:
    return [_row(f"ingested {n}", 0.9, (n + 1.0, 5.0), trust=0.5, source="ingest", **fields) for n in range(count)]


def test_one_low_trust_source_gives_at_most_a_third_of_an_answer() -> None:
    own = [_row(f"own {n}", 0.5, (5.0, n + 1.0)) for n in range(6)]
    found = reranked([*_crowd(20), *own], "lamp", 9)
    sources = [row.memory.source for row in found.rows]
    assert (sources.count("ingest"), sources.count("ai"), found.capped) == (3, 6, 17)


def test_few_rows_of_others_leave_a_low_trust_source_fewer() -> None:
    found = reranked([*_crowd(20), _row("own", 0.1), _row("own too", 0.1, FAR)], "lamp", 9)
    assert [row.memory.source for row in found.rows].count("ingest") == 1


def test_two_low_trust_sources_are_distinguished_by_their_origin() -> None:
    rows = [*_crowd(4, source_ref="a.md"), *_crowd(4, source_ref="b.md")]
    assert {row.memory.source_ref for row in reranked(rows, "lamp", 6).rows} == {"a.md", "b.md"}


def test_imports_are_not_capped() -> None:
    rows = [_row(f"line {n}", 0.9, (n + 1.0, 5.0), trust=0.5, source="import") for n in range(9)]
    assert len(reranked(rows, "lamp", 9).rows) == 9


def test_a_store_of_one_source_still_answers() -> None:
    assert len(reranked(_crowd(20), "lamp", 9).rows) == 3
