"""Memories to Arrow rows and back, complete or with the fields that recall reads of a candidate."""

import dataclasses
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow.compute import call_function

from reverie.memory import LOCAL_PERSON, Anchor, Layer, Memory
from reverie.storage.packed_vectors import known_precision, vector_columns
from reverie.storage.schema import PIECES, memory_schema, side_schema
from reverie.text.tokenize import search_text

Vector = NDArray[np.float32]

FIELDS = tuple(field.name for field in dataclasses.fields(Memory))
"""The columns of a layer table that make up a Memory: all but the vector and the search text."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """A memory with its vectors, ready to be written."""

    memory: Memory
    vector: Vector
    passages: tuple[Vector, ...] = field(default=())
    pieces: bytes = b""


@dataclass(frozen=True, slots=True)
class RowLocation:
    """The table that a search found a memory in, and its LanceDB row id if the search knew it."""

    table: str
    row_id: int | None = None


def as_values(memory: Memory) -> dict[str, Any]:
    """Return a memory's fields by name."""
    return {name: getattr(memory, name) for name in FIELDS}


def as_rows(items: Sequence[Embedded], dimensions: int) -> dict[str, pa.Table]:
    """Return memories as rows of every table that they need, passages first: without them a memory is incomplete."""
    rows = {"passages": passage_rows(items, dimensions)}
    rows |= {layer: to_table(part, dimensions) for layer, part in by_layer(items).items()}
    return {table: part for table, part in rows.items() if len(part)}


def by_layer(items: Sequence[Embedded]) -> dict[Layer, list[Embedded]]:
    """Group memories by their layer."""
    parts: dict[Layer, list[Embedded]] = {}
    for item in items:
        parts.setdefault(item.memory.layer, []).append(item)
    return parts


def to_table(items: Sequence[Embedded], dimensions: int) -> pa.Table:
    """Return memories as rows of a layer table."""
    schema = memory_schema(dimensions)
    columns: dict[str, Any] = {
        name: [column_value(name, getattr(item.memory, name)) for item in items] for name in FIELDS
    }
    columns["search_text"] = [searched(item.memory) for item in items]
    columns["precision"] = precisions = [known_precision(item.memory.precision) for item in items]
    columns["vector"], columns["packed"] = vector_columns([item.vector for item in items], precisions, dimensions)
    columns["pieces"] = [item.pieces for item in items]
    return pa.table([pa.array(columns[f.name], f.type) for f in schema], schema=schema)


def passage_rows(items: Sequence[Embedded], dimensions: int) -> pa.Table:
    """Return the passages of long memories as rows; their ids change with the text."""
    schema = side_schema("passages", dimensions)
    owners = [item for item in items for _ in item.passages]
    precisions = [known_precision(item.memory.precision) for item in owners]
    ids = [
        f"{item.memory.id}#{item.memory.content_hash[:8]}-{number}"
        for item in items
        for number in range(len(item.passages))
    ]
    return pa.table(
        [
            pa.array(ids, pa.string()),
            pa.array([item.memory.id for item in owners], pa.string()),
            pa.array([item.memory.project for item in owners], pa.string()),
            *vector_columns([vector for item in items for vector in item.passages], precisions, dimensions),
            pa.array(precisions, pa.int64()),
        ],
        schema=schema,
    )


def column_value(name: str, value: Any) -> Any:
    """Return a Memory's field as its column stores it."""
    if name == "anchors":
        return json.dumps([dataclasses.asdict(anchor) for anchor in value], ensure_ascii=False)
    return list(value) if isinstance(value, tuple) else value


def searched(memory: Memory) -> str:
    """Return the text by which full-text search finds a memory: with the day it happened, as people write it."""
    title = "" if memory.content.startswith(memory.title.rstrip("…")) else memory.title
    day = f"{memory.happened_at.day} {memory.happened_at:%B %Y %A}"
    return search_text(title, memory.content, " ".join(memory.tags), day)


def from_table(rows: pa.Table) -> list[Memory]:
    """Read the memories in a result, column by column: dictionaries take Arrow several times as long."""
    names = [name for name in FIELDS if name in rows.column_names]
    columns = [_column_values(name, rows.column(name)) for name in names]
    return [Memory(**dict(zip(names, values, strict=True))) for values in zip(*columns, strict=True)]


def from_row(row: Mapping[str, Any]) -> Memory:
    """Read one memory; other columns are ignored, fields without a column have their default."""
    return Memory(**{name: field_value(name, row[name]) for name in FIELDS if name in row})


def _field_values(name: str, values: Sequence[Any]) -> list[Any]:
    """Read a column; nearly all anchors are none, and most columns are texts and numbers, taken as they are."""
    if name == "anchors":
        return [() if value == "[]" else field_value(name, value) for value in values]
    if name == "visibility":  # empty in rows from before it was kept
        return [field_value(name, value) for value in values]
    if all(value is None or type(value) in _AS_THEY_ARE for value in values):
        return list(values)
    return [field_value(name, value) for value in values]


def field_value(name: str, value: Any) -> Any:
    """Read the value of a column as the field of a Memory."""
    if name == "anchors":
        return anchors_from(json.loads(value))
    if name == "visibility":
        return value or "team"
    if isinstance(value, list):
        return tuple(_utc(item) for item in value)
    return _utc(value)


def anchors_from(items: Iterable[Mapping[str, Any]]) -> tuple[Anchor, ...]:
    """Read anchors from their JSON form; fields newer than the row have their defaults."""
    return tuple(
        Anchor(
            **{
                **item,
                "span": tuple(item["span"]) if item.get("span") else None,
                "missing_on": tuple(item.get("missing_on", ())),
            }
        )
        for item in items
    )


def _utc(value: Any) -> Any:
    # Arrow hands out zoneinfo's UTC; one kind of UTC keeps values equal and printable alike.
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def moment_texts(column: pa.ChunkedArray) -> list[str | None]:
    """Write moments as `reverie.time.iso` does, in one go; None where there is none."""
    moments = np.asarray(column.to_numpy(), "datetime64[us]")
    written = [text.removesuffix(_NO_MICROS) + "Z" for text in np.datetime_as_string(moments, unit="us").tolist()]
    missing = np.isnat(moments)
    return [None if gone else text for text, gone in zip(written, missing, strict=True)] if missing.any() else written


_NO_MICROS = ".000000"
OWNER_COLUMNS = ("author", "visibility")


def owners_of(rows: pa.Table) -> pa.ChunkedArray:
    """Return the owner of each row, as `Memory.owner` says it, from its two columns."""
    is_personal = call_function("equal", [rows.column("visibility"), pa.scalar("personal")])
    author = rows.column("author").fill_null(LOCAL_PERSON)
    owners: pa.ChunkedArray = call_function("if_else", [is_personal, author, pa.scalar(None, pa.string())])
    return owners


_AS_THEY_ARE = (str, float, int, bool)
# Every column costs as much as ten rows: these are what strength, evidence, trust and an answer are made of.
_FIELDS = (
    *("id", "content", "title", "kind", "layer", "project", "branch", "session"),
    *("author", "visibility", "source", "source_ref", "trust", "confidence"),
    *("importance", "surprise", "created_at", "happened_at", "updated_at", "access_count", "pinned", "status"),
    "status_reason",  # a challenged memory names its challenger there
    *("core", "tier", "forget_after"),  # whether its time is over
    "outcome",
    "anchors",
)
_NOT_READ: Mapping[str, Any] = {"content_hash": "", "stability": 0.0, "embedder": ""}  # fields that have no default
CANDIDATE_COLUMNS = (*_FIELDS, PIECES.name)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECONDS = pa.timestamp("us", "UTC")


@dataclass(frozen=True, slots=True, eq=False)
class CandidateRow:
    """A memory with the fields that ranking and an answer need, the others empty; and its vector."""

    memory: Memory
    vector: Vector


class CandidateSource(Protocol):
    """Rows of candidates in one table or cache."""

    def token_vectors(self) -> dict[str, bytes]:
        """Return the packed token vectors of each memory that has them."""
        ...

    def memories(self, ids: Collection[str]) -> list[Memory]:
        """Return those of the memories that have these ids."""
        ...


class RowsRead:
    """Rows of candidates as they were read from a table."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows

    def token_vectors(self) -> dict[str, bytes]:
        """Return the packed token vectors of each memory that has them."""
        return packed_token_vectors(self._rows)

    def memories(self, ids: Collection[str]) -> list[Memory]:
        """Return those of the memories that have these ids."""
        wanted = pa.array([memory_id in ids for memory_id in self._rows.column("id").to_pylist()], pa.bool_())
        return candidate_memories(self._rows.filter(wanted))


class CandidateRows:
    """Candidate rows of several tables; they become memories only when they are asked for."""

    def __init__(self, sources: Sequence[CandidateSource], vectors: Mapping[str, Vector]) -> None:
        self._sources = sources
        self._vectors = vectors

    def token_vectors(self) -> dict[str, bytes]:
        """Return the packed token vectors of each memory that has them."""
        return {memory_id: packed for source in self._sources for memory_id, packed in source.token_vectors().items()}

    def of(self, ids: Collection[str]) -> list[CandidateRow]:
        """Return the memories with these ids; of two with one id, left by a move cut short, the newer."""
        newest: dict[str, Memory] = {}
        wanted = frozenset(ids)
        for source in self._sources:
            for memory in source.memories(wanted):
                other = newest.get(memory.id)
                if other is None or memory.updated_at > other.updated_at:
                    newest[memory.id] = memory
        return [CandidateRow(memory, self._vectors[memory.id]) for memory in newest.values()]


def packed_token_vectors(rows: pa.Table | pa.RecordBatch) -> dict[str, bytes]:
    """Return the packed token vectors in rows by the id of their memory."""
    ids, packed = rows.column("id").to_pylist(), rows.column(PIECES.name).to_pylist()
    return {memory_id: pieces for memory_id, pieces in zip(ids, packed, strict=True) if pieces}


def candidate_memories(rows: pa.Table | pa.RecordBatch) -> list[Memory]:
    """Read the memories in rows of candidates."""
    columns = [_column_values(name, rows.column(name)) for name in _FIELDS]
    return [Memory(**dict(zip(_FIELDS, values, strict=True)), **_NOT_READ) for values in zip(*columns, strict=True)]


def _column_values(name: str, column: pa.Array | pa.ChunkedArray) -> list[Any]:
    if not pa.types.is_timestamp(column.type):
        return _field_values(name, column.to_pylist())
    # Arrow looks up the time zone of each value, which takes longer than all other columns together.
    moments = column.cast(_MICROSECONDS).cast(pa.int64()).to_pylist()
    return [None if moment is None else _EPOCH + timedelta(microseconds=moment) for moment in moments]


def cosine(one: CandidateRow, other: CandidateRow) -> float:
    """Return the cosine of two memories; of two packed vectors it is an estimate, which may pass 1."""
    return min(1.0, float(np.dot(one.vector, other.vector)))
