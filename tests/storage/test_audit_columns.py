"""What an audit computes from columns is what the definitions say of one memory and of one event."""

import json
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from reverie.memory import Anchor, Memory
from reverie.storage.audit_columns import Events, micros_of, states_of
from reverie.storage.journal import START, Link, link_after, state_of, text_digest
from reverie.storage.rows import FIELDS, Embedded, from_table, moment_texts, to_table
from reverie.storage.schema import side_schema
from reverie.time import iso

Make = Callable[..., Embedded]
NOW = datetime(2026, 3, 1, 12, 30, 15, tzinfo=UTC)
ODD_TEXT = 'quotes " and \\ and \n, ü, 漢, 🌊, \u2028, \x7f'
VARIED: dict[str, list[Any]] = {
    "content": [ODD_TEXT, "x"],
    "title": ["", ODD_TEXT],
    "tags": [(), ("a",), ("b", 'c"d')],
    "entities": [("Orla",)],
    "project": ["global", "other"],
    "branch": [None, "main"],
    "session": [None, "s1", ""],
    "author": [None, "ana"],
    "visibility": ["team", "personal"],
    "source": ["ai", "human"],
    "source_ref": ["docs/x.md:3"],
    "trust": [0.0, -0.0, 1.0, 0.1 + 0.2],
    "confidence": [1.0, 0.25],
    "derived_from": [("m1", "m2")],
    "importance": [0.5, 0.30000000000000004, 1e-9],
    "surprise": [None, 0.0, 1.5],
    "valence": [0.0, -0.0, -1.0],
    "confirmations": [0, 3],
    "confirmed_by": [("human", "ai")],
    "created_at": [NOW, NOW + timedelta(microseconds=1), datetime(1969, 12, 31, 23, 59, 59, 500000, tzinfo=UTC)],
    "happened_at": [datetime(203, 1, 1, tzinfo=UTC)],
    "forget_after": [None, NOW],
    "expired_at": [None, NOW + timedelta(microseconds=120)],
    "core": [True],
    "pinned": [True, False],
    "tier": [None, "elephant"],
    "status": ["active", "expired"],
    "status_reason": [None, "old"],
    "superseded_by": ["m9"],
    "outcome": ['{"result": "failed"}'],
    "layer": ["semantic", "working"],
    "kind": ["fact", "decision"],
    "anchors": [
        (),
        (Anchor(path="src/a.py", digest="d1"),),
        (Anchor(path='src/"b".py', digest="d2", symbol="f", span=(1, 9), missing_on=("main",), root="/x"),),
    ],
}
NOT_IN_A_STATE = {
    *("id", "updated_at", "embedder", "precision", "content_hash"),
    *("access_count", "access_times", "last_accessed_at", "stability", "sessions"),
}


@pytest.fixture
def plain() -> Memory:
    return Memory(
        id="m1",
        content="The lamp burns oil.",
        content_hash="0" * 64,
        title="The lamp",
        kind="fact",
        layer="semantic",
        trust=0.7,
        stability=0.25,
        created_at=NOW,
        happened_at=NOW,
        updated_at=NOW,
        embedder="tiny:64",
    )


def test_the_state_of_many_is_the_state_of_each(plain: Memory) -> None:
    assert VARIED.keys() | NOT_IN_A_STATE == {field.name for field in fields(Memory)}  # none was added without a case
    memories = [plain, *(replace(plain, **{name: one}) for name, values in VARIED.items() for one in values)]
    for turn in range(7):  # and several at once
        memories.append(replace(plain, **{name: values[turn % len(values)] for name, values in VARIED.items()}))
    table = to_table([Embedded(one, np.ones(4, np.float32)) for one in memories], 4).select(list(FIELDS))
    in_pieces = pa.concat_tables([table.slice(start, 10) for start in range(0, len(table), 10)])
    expected = [state_of(memory) for memory in from_table(table)]
    assert states_of(table) == states_of(in_pieces) == expected
    assert len(set(expected)) > len(memories) // 2  # they do differ
    assert states_of(table.slice(0, 0)) == []
    visible = table.schema.get_field_index("visibility")  # rows from before it was kept
    blank = table.set_column(visible, "visibility", pa.nulls(len(table), pa.string()))
    assert states_of(blank) == [state_of(replace(memory, visibility="team")) for memory in from_table(table)]


def test_moments_are_written_as_everywhere() -> None:
    moments = [
        NOW,
        NOW + timedelta(microseconds=7),
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(9999, 12, 31, tzinfo=UTC),
    ]
    column = pa.chunked_array([pa.array([*moments, None], pa.timestamp("us", tz="UTC"))])
    assert moment_texts(column) == [*map(iso, moments), None]
    assert micros_of(column.slice(1, 1)).tolist() == [int(NOW.timestamp()) * 1_000_000 + 7]


def test_the_hash_of_many_events_is_the_hash_of_each() -> None:
    rows: list[dict[str, Any]] = []
    for number, (batch, reason, state) in enumerate(
        [(None, None, None), ("b1", ODD_TEXT, "s.t.u"), (None, "", ""), ("b1", "why", "gone")], start=1
    ):
        rows.append(
            {
                "id": f"e{number}",
                "at": iso(NOW + timedelta(seconds=number)),
                "action": "pinned" if number % 2 else "folded",
                "memory_id": f"m{number}",
                "actor": "test",
                "session": 's"1',
                "batch": batch,
                "reason": reason,
                "before": "{}",
                "after": json.dumps({"title": ODD_TEXT}, ensure_ascii=False),
                "state": state,
                "number": number,
            }
        )
    link = START
    for row in rows:
        row["digest"] = text_digest(row)
        link = link_after(link, row, row["digest"])
        row["hash"], row["seal"] = link.hash, None
    schema = side_schema("events", 1)
    as_text = schema.set(schema.get_field_index("at"), pa.field("at", pa.string()))
    shuffled = pa.Table.from_pylist([rows[2], rows[0], rows[3], rows[1]], schema=as_text)
    events = Events(shuffled, np.array([1, 3, 0, 2]))
    assert [events.row(index) for index in range(4)] == [{name: row[name] for name in as_text.names} for row in rows]
    before = START.hash
    for index, row in enumerate(rows):
        assert events.hash_after(before, index) == row["hash"]
        assert events.hash_after("x", index) == link_after(Link(index, "x"), row, row["digest"]).hash
        before = row["hash"]
    assert events.changed_texts == set()
    assert events.rows_with("folded") == [events.row(1), events.row(3)]
    touched = shuffled.set_column(as_text.get_field_index("reason"), "reason", pa.array(["", None, "who", ODD_TEXT]))
    assert Events(touched, np.array([1, 3, 0, 2])).changed_texts == {3}
