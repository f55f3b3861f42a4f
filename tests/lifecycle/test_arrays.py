"""The rules over arrays say of each memory what the rules for one say."""

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from reverie.lifecycle.arrays import RULES, endings_of, first_to_end, importances_of, retentions_of, verdicts_of
from reverie.lifecycle.curves import retention_of
from reverie.lifecycle.outlook import ending_of
from reverie.lifecycle.rules import becomes_core, due_expiry, due_move
from reverie.lifecycle.vitals import importance_of
from reverie.memory import KINDS, LAYERS, TIERS, Memory
from reverie.parameters import STANDARD, Parameters
from reverie.settings import RETENTION_MODES, RetentionMode
from reverie.storage.bulk import TABLE
from reverie.storage.rows import Embedded, to_table
from reverie.storage.vital_columns import VitalColumns, columns_of

DAY = timedelta(days=1)
HASTY = Parameters(
    half_life_days=3, archive_days=5, archive_recalls=8, promote_recalls=2, promote_importance=0.4, gamma=0.7
)


def drawn(number: int, dice: random.Random, start: datetime, a_memory: Callable[..., Memory]) -> Memory:
    """Draw a memory anywhere within what the fields allow."""
    written = start - DAY * dice.choice((0, 0.01, 1, 50, 89, 91, 179, 400, 1_200)) * dice.choice((1, dice.random()))
    kept = sorted(written + (start - written) * dice.random() for _ in range(dice.choice((0, 0, 1, 3, 9, 32))))
    return a_memory(
        id=f"m{number:04}",
        layer=dice.choice(LAYERS),
        kind=dice.choice(KINDS),
        status=dice.choice(("active", "active", "active", "challenged")),
        importance=dice.choice((0.0, 0.2, 1.0, dice.random())),
        surprise=dice.choice((None, 0.0, 1.0, dice.random())),
        trust=dice.choice((0.4, 0.7, 1.0)),
        stability=dice.choice((0.0, 0.85, 1.0, dice.random())),
        valence=dice.uniform(-1, 1),
        confidence=dice.choice((1.0, dice.uniform(0, 1))),
        confirmations=dice.choice((0, 1, 5)),
        created_at=written,
        access_count=len(kept) + dice.choice((0, 0, 7)),
        access_times=tuple(kept),
        last_accessed_at=kept[-1] if kept else None,
        sessions=tuple(dice.choice(("a", "b", "c", "d")) for _ in kept[:8]),
        core=dice.random() < 0.1,
        pinned=dice.random() < 0.1,
        tier=dice.choice((None, None, *TIERS)),
        forget_after=dice.choice((None, None, None, start + DAY * dice.uniform(-5, 400))),
    )


@pytest.fixture(scope="module")
def memories(a_memory: Callable[..., Memory], start: datetime) -> list[Memory]:
    dice = random.Random(3)  # noqa: S311 - drawn, not guarded
    return [drawn(number, dice, start, a_memory) for number in range(900)]


def as_columns(memories: list[Memory]) -> VitalColumns:
    rows = to_table([Embedded(memory, np.zeros(4, np.float32)) for memory in memories], 4)
    located = rows.append_column("_rowid", pa.array(range(len(rows)), pa.uint64()))
    return columns_of(located.append_column(TABLE, rows.column("layer")))


@pytest.fixture(scope="module")
def columns(memories: list[Memory]) -> VitalColumns:
    return as_columns(memories)


@pytest.fixture(scope="module")
def in_order(memories: list[Memory], columns: VitalColumns) -> list[Memory]:
    """The memories in the order of the columns."""
    by_id = {memory.id: memory for memory in memories}
    return [by_id[one] for one in columns.names.column("id").to_pylist()]


def micros(moment: datetime) -> int:
    return round(moment.timestamp() * 1_000_000)


WAYS = [
    *((mode, None, STANDARD, 0.0) for mode in RETENTION_MODES),
    *((mode, "elephant", HASTY, 200.0) for mode in RETENTION_MODES),
    ("huber", "permanent", STANDARD, 2_000.0),
]


@pytest.mark.parametrize(("mode", "tier", "parameters", "days"), WAYS)
def test_many_memories_are_judged_as_one_is(
    in_order: list[Memory],
    columns: VitalColumns,
    start: datetime,
    mode: RetentionMode,
    tier: None,
    parameters: Parameters,
    days: float,
) -> None:
    now = start + DAY * days
    at = np.full(len(columns), micros(now))
    left = retentions_of(columns.vitals, at, mode, tier, parameters)
    assert left == pytest.approx([retention_of(one, now, mode, tier, parameters) for one in in_order], abs=1e-12)
    important = importances_of(columns.vitals, at, parameters)
    assert important == pytest.approx([importance_of(one, now, parameters).value for one in in_order], abs=1e-12)
    verdicts = verdicts_of(columns.vitals, micros(now), mode, tier, parameters)
    expected = [due_expiry(one, now, mode, tier, parameters) for one in in_order]
    assert [RULES[code] for code in verdicts.rule] == [one and one.rule for one in expected]
    moves = [None if gone else due_move(one, now, parameters) for one, gone in zip(in_order, expected, strict=True)]
    assert [LAYERS[code] for code in verdicts.layer] == [
        one.layer if move is None else move.to for one, move in zip(in_order, moves, strict=True)
    ]
    assert verdicts.becomes_core.tolist() == [
        gone is None and becomes_core(one) for one, gone in zip(in_order, expected, strict=True)
    ]


def test_the_drawn_memories_meet_every_rule(in_order: list[Memory], columns: VitalColumns, start: datetime) -> None:
    verdicts = verdicts_of(columns.vitals, micros(start + DAY * 200), "huber")
    assert {RULES[code] for code in verdicts.rule} == set(RULES)
    assert verdicts.becomes_core.any()
    assert (verdicts.layer != columns.vitals.layer).any()


def test_many_memories_end_on_the_second_on_which_one_does(
    in_order: list[Memory], columns: VitalColumns, start: datetime
) -> None:
    until = start + DAY * 365
    going = np.flatnonzero(verdicts_of(columns.vitals, micros(until), "huber").rule)[:60]
    ends = endings_of(columns.vitals.at(going), micros(start), micros(until), "huber")
    for index, end in zip(going, ends, strict=True):
        ending = ending_of(in_order[index], start, "huber")
        assert ending is not None
        assert end == micros(min(ending.at, until)), in_order[index]


@pytest.mark.parametrize("most", [1, 7, 40, 10_000])
def test_those_that_end_first_are_found_without_dating_all(columns: VitalColumns, start: datetime, most: int) -> None:
    until = micros(start + DAY * 365)
    going = columns.vitals.at(np.flatnonzero(verdicts_of(columns.vitals, until, "huber").rule))
    ends = endings_of(going, micros(start), until, "huber")
    first = first_to_end(going, most, micros(start), until, "huber")
    assert sorted(ends[first])[:most] == sorted(ends)[:most]
    assert len(first) >= min(most, len(ends))


def test_a_store_without_memories_has_no_verdicts(start: datetime) -> None:
    none = as_columns([])
    assert verdicts_of(none.vitals, micros(start), "power").rule.tolist() == []


def test_of_two_rows_of_a_moving_memory_the_newer_counts(a_memory: Callable[..., Memory], start: datetime) -> None:
    old = a_memory(layer="working", updated_at=start)
    columns = as_columns([old, replace(old, layer="episodic", updated_at=start + DAY)])
    assert columns.names.column(TABLE).to_pylist() == ["episodic"]
