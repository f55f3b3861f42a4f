"""What an audit computes of many rows: the states of memories and the hashes of events, from columns.

The digests are those of `journal.state_of`, `journal.text_digest` and `journal.link_after`, which say of one what is
computed here of all; `tests/storage/test_audit_columns.py` proves that they agree. A value that many rows share is
written as JSON once.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow.compute import call_function

from reverie.storage.host_chains import chain_of
from reverie.storage.journal import CHAINED, PARTS, STATE_DIGITS, TEXTS, Link, Row, state_field
from reverie.storage.rows import field_value, moment_texts
from reverie.storage.schema import side_schema

_JSON: Final = json.JSONEncoder(ensure_ascii=False).encode


def micros_of(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return moments as whole microseconds since 1970."""
    return np.asarray(column.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_numpy(), np.int64)


def states_of(rows: pa.Table) -> list[str]:
    """Return the state of each memory in a table with every field of a memory, as `journal.state_of` says it."""
    parts = [_part_digests(rows, names) for names in PARTS.values()]
    return [".".join(state) for state in zip(*parts, strict=True)]


def _part_digests(rows: pa.Table, names: Sequence[str]) -> list[str]:
    known = [name for name in names if name in rows.schema.names]
    columns = [said for name in known if (said := _pairs(name, rows.column(name))) is not None]
    if not columns:
        return [_digest("[]")[:STATE_DIGITS]] * len(rows)
    return [
        _digest(f"[{', '.join([pair for pair in row if pair])}]")[:STATE_DIGITS] for row in zip(*columns, strict=True)
    ]


def _pairs(name: str, column: pa.ChunkedArray) -> list[str] | None:
    """Return the name and value of each row as JSON, empty where it is the default; None if every row's is."""
    if pa.types.is_timestamp(column.type):
        if column.null_count == len(column):
            return None
        return ["" if text is None else f'["{name}", "{text}"]' for text in moment_texts(column)]
    values, places = _distinct(column)
    said = [_pair(name, value) for value in values]
    return [said[place] for place in places.tolist()] if any(said) else None


def _pair(name: str, value: object) -> str:
    pair = state_field(name, field_value(name, value))
    return f'["{name}", {_JSON(pair[1])}]' if pair else ""


def _distinct(column: pa.ChunkedArray) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the values of a column, and which of them each row has."""
    if pa.types.is_list(column.type):
        lengths = call_function("list_value_length", [column]).fill_null(0).to_numpy()
        filled = np.flatnonzero(lengths)
        places = np.zeros(len(column), np.int64)
        places[filled] = np.arange(1, len(filled) + 1)
        return [[], *column.take(pa.array(filled)).to_pylist()], places
    if pa.types.is_floating(column.type):  # by their bits: 0.0 and -0.0 are equal, and not written alike
        numbers = np.asarray(column.fill_null(np.nan).to_numpy(), np.float64)
        bits, places = np.unique(numbers.view(np.int64), return_inverse=True)
        values = bits.view(np.float64).tolist()
        if column.null_count:
            places[column.is_null().to_numpy()] = len(values)
            values.append(None)
        return values, places
    values, rows = list[Any](), [np.empty(0, np.int64)]
    for chunk in column.chunks:  # one by one: all the texts of a column may be more than one array holds
        encoded = chunk.dictionary_encode("encode")
        rows.append(encoded.indices.to_numpy() + len(values))
        values += encoded.dictionary.to_pylist()
    return values, np.concatenate(rows)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class Events:
    """The events of a journal in the order of the chain, as columns; an event is named by its index."""

    def __init__(self, table: pa.Table, order: NDArray[np.int64]) -> None:
        """Take the columns and their order as `Journal.columns` returns them."""
        self._table, self._order = table, order
        self.numbers: list[int] = table.column("number").to_numpy()[order].tolist()
        self.hashes: list[str] = self._column("hash")
        self.memory_ids: list[str] = self._column("memory_id")
        self.states: list[str | None] = self._column("state")

    def _column(self, name: str) -> list[Any]:
        values = self._table.column(name).to_pylist()
        return [values[row] for row in self._order.tolist()]

    @classmethod
    def none(cls) -> "Events":
        """Return the events of a journal without any."""
        return cls(side_schema("events", 1).empty_table(), np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self.numbers)

    def row(self, index: int) -> Row:
        """Return one event with all that is stored of it."""
        [row] = self._table.slice(int(self._order[index]), 1).to_pylist()
        return dict(row)

    def rows_with(self, *actions: str) -> list[Row]:
        """Return the events of some kinds."""
        found = self._having("action", actions)
        return self._table.take(pa.array(self._order[found])).to_pylist() if len(found) else []

    def link(self, index: int) -> Link:
        """Return the link of one event."""
        return Link(self.numbers[index], self.hashes[index])

    def by_chain(self) -> dict[int, list[int]]:
        """Return the indexes of the events of each chain, in its order."""
        chains: dict[int, list[int]] = {}
        for index, number in enumerate(self.numbers):
            chains.setdefault(chain_of(number), []).append(index)
        return chains

    def with_texts(self, texts: Mapping[str, str | None]) -> set[int]:
        """Return the events whose texts are these."""
        columns = [self._having(name, [text]) for name, text in texts.items()]
        return set(columns[0].tolist()).intersection(*(column.tolist() for column in columns[1:]))

    def statuses_without_state(self) -> Iterator[tuple[str, str]]:
        """Return memory and status of each event from before states were kept that changed a status."""
        old = [index for index, state in enumerate(self.states) if not state and self.memory_ids[index]]
        after = self._column("after") if old else []
        for index in old:
            if status := json.loads(after[index]).get("status"):
                yield self.memory_ids[index], status

    def hash_after(self, previous: str, index: int) -> str:
        """Return the hash that an event has if it follows one with another."""
        return _digest(f"[{_JSON(previous)}, {self.numbers[index]}, {self._covered[index]}]")

    @cached_property
    def changed_texts(self) -> set[int]:
        """The events whose texts are not those of their digest."""
        texts = zip(*(self._as_json(name) for name in TEXTS), strict=True)
        digests = self._column("digest")
        return {
            index
            for index, (parts, digest) in enumerate(zip(texts, digests, strict=True))
            if _digest(f"[{', '.join(parts)}]") != digest
        }

    @cached_property
    def _covered(self) -> list[str]:
        """What a hash covers of each event, as JSON, besides the link before it."""
        columns = [self._as_json(name) for name in (*CHAINED, "digest")]
        states = ["" if not state else f", {_JSON(state)}" for state in self.states]
        return [", ".join(parts) + state for *parts, state in zip(*columns, states, strict=True)]

    def _having(self, name: str, values: Sequence[str | None]) -> NDArray[np.int64]:
        found, places = _distinct(self._table.column(name))
        fits = np.array([value in values for value in found], bool)
        return np.flatnonzero(fits[places[self._order]])

    def _as_json(self, name: str) -> list[str]:
        values, places = _distinct(self._table.column(name))
        said = [_JSON(value) for value in values]
        return [said[place] for place in places[self._order].tolist()]
