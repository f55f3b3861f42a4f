"""Many memories at once, over all layers: the top ones for a brief, everything for a dream, and a batch of changes.

A batch is written exactly as given: for dreams, and to undo them. New rows are written before old ones go, so a crash
leaves a duplicate, never a loss. The caller writes the journal first.
"""

import asyncio
import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import or_
from types import MappingProxyType
from typing import Literal

import numpy as np
import pyarrow as pa
from pyarrow.compute import call_function

from reverie.ids import creation_order
from reverie.memory import LAYERS, Kind, Layer, Memory
from reverie.storage.filters import Condition, one_of
from reverie.storage.lance_table import Table
from reverie.storage.packed_vectors import VECTOR_COLUMNS, matrix_of
from reverie.storage.rows import FIELDS, Embedded, Vector, column_value, from_row, from_table, passage_rows, to_table
from reverie.storage.schema import memory_schema
from reverie.storage.store import MemoryStore
from reverie.storage.vector_precision import set_precisions

Order = Literal["importance", "happened_at"]

_SORT_COLUMNS = ("id", "layer", "project", "source", "kind", "importance", "happened_at")
TABLE = "_table"
_PERSON = "human"
_GUIDING_KINDS: tuple[Kind, ...] = ("decision", "preference", "how_to", "rejected")


def guidance_rank(source: str, kind: str) -> int:
    """Rank what a person said to be done ahead of what a person said, and both ahead of what was merely noticed."""
    if source != _PERSON:
        return 3 - (kind in _GUIDING_KINDS)
    return 1 - (kind in _GUIDING_KINDS)


@dataclass(frozen=True, slots=True)
class Top:
    """The first so many memories that meet a condition, of some layers, in an order."""

    where: Condition
    layers: Sequence[Layer]
    by: Order
    limit: int


async def top_memories(
    store: MemoryStore, wanted: Sequence[Top], within: Condition, *, project: str
) -> list[tuple[list[Memory], int]]:
    """Return for each the first memories that fit, and how many fit in all; every table is read once for all of them.

    A project's own come first, then what a person said, then by importance; or else the newest. Only the columns
    that decide this are read of all that fit, and complete rows of the first.
    """
    within = store.viewer.narrowed(within) or within
    layers = [layer for layer in LAYERS if any(layer in one.layers for one in wanted)]
    tables = [store.database.table(layer) for layer in layers]
    parts = await asyncio.gather(*(_flagged(table, wanted, within) for table in tables))
    rows = pa.concat_tables(parts)
    fitting = [rows.filter(rows.column(_flag(number))) for number in range(len(wanted))]
    firsts = [_first(fits, project, one.by, one.limit) for fits, one in zip(fitting, wanted, strict=True)]
    together = pa.concat_tables(first.select(["id", "_rowid", TABLE]) for first in firsts)
    complete = await asyncio.gather(*(complete_rows(table, together) for table in tables))
    found = {memory.id: memory for part in complete for memory in part}
    return [
        ([found[i] for i in first.column("id").to_pylist() if i in found], len(fits))
        for first, fits in zip(firsts, fitting, strict=True)
    ]


async def _flagged(table: Table, wanted: Sequence[Top], within: Condition) -> pa.Table:
    """Read what decides the order of the rows that any of them wants, and which of them does."""
    flags = {_flag(number): one.where for number, one in enumerate(wanted) if table.name in one.layers}
    rows = await table.rows_with_flags(_SORT_COLUMNS, flags, within & functools.reduce(or_, flags.values()))
    for name in map(_flag, range(len(wanted))):
        nobody = pa.array([False] * len(rows), pa.bool_())
        if name not in flags:
            rows = rows.append_column(name, nobody)
        else:
            rows = rows.set_column(rows.column_names.index(name), name, rows.column(name).fill_null(False))
    rows = rows.append_column(TABLE, pa.array([table.name] * len(rows), pa.string()))
    return rows.select(sorted(rows.column_names))


def _flag(number: int) -> str:
    return f"fits_{number}"


def _first(rows: pa.Table, project: str, by: Order, limit: int) -> pa.Table:
    if not len(rows):
        return rows
    foreign = call_function("not_equal", [rows.column("project"), pa.scalar(project)])
    said = zip(rows.column("source").to_pylist(), rows.column("kind").to_pylist(), strict=True)
    rank = pa.array([guidance_rank(source, kind) if by == "importance" else 0 for source, kind in said], pa.int8())
    keys = [("foreign", "ascending"), ("rank", "ascending"), (by, "descending"), ("happened_at", "descending")]
    ranked = rows.append_column("foreign", foreign.cast(pa.int8())).append_column("rank", rank)
    return ranked.sort_by([*keys, ("id", "ascending")]).slice(0, limit)


async def located_rows(tables: Sequence[Table], columns: Sequence[str], where: Condition) -> pa.Table:
    """Read columns of the matching rows of several tables, with where each row is."""
    parts = await asyncio.gather(*(table.rows(columns, where, with_row_ids=True) for table in tables))
    return pa.concat_tables(
        rows.append_column(TABLE, pa.array([table.name] * len(rows), pa.string()))
        for table, rows in zip(tables, parts, strict=True)
    )


async def complete_rows(table: Table, rows: pa.Table) -> list[Memory]:
    """Return the memories of a table of which `located_rows` was read before."""
    here = rows.filter(pa.array([name == table.name for name in rows.column(TABLE).to_pylist()], pa.bool_()))
    row_ids = dict(zip(here.column("id").to_pylist(), here.column("_rowid").to_pylist(), strict=True))
    return from_table(await table.take_by_id(row_ids, FIELDS)) if row_ids else []


_ROWS_AT_A_TIME = 2_000

RowVersion = tuple[Layer, int, int]
"""The layer of a memory, when it was last changed (in microseconds) and how often it was recalled."""


async def read_all(store: MemoryStore, where: Condition) -> tuple[list[Memory], Vector]:
    """Return the matching memories, oldest first, and their vectors in the same order; the archive is not read."""
    where = store.viewer.narrowed(where) or where
    tables = [await store.database.table(layer).rows([*FIELDS, *VECTOR_COLUMNS], where) for layer in LAYERS]
    return await asyncio.to_thread(_joined, tables, store.database.stamp.dimensions)


async def read_versions(store: MemoryStore, ids: Iterable[str]) -> Mapping[str, RowVersion]:
    """Return the version of each of these memories that is not archived: it changes with every change and recall."""
    versions: dict[str, RowVersion] = {}
    wanted = sorted(set(ids))
    for layer in LAYERS if wanted else ():
        for start in range(0, len(wanted), _ROWS_AT_A_TIME):
            here = one_of("id", wanted[start : start + _ROWS_AT_A_TIME])
            rows = await store.database.table(layer).rows(["id", "updated_at", "access_count"], here)
            updated = rows.column("updated_at").cast(pa.int64()).to_pylist()
            for key, at, count in zip(
                rows.column("id").to_pylist(), updated, rows.column("access_count").to_pylist(), strict=True
            ):
                if key not in versions or at > versions[key][1]:
                    versions[key] = (layer, at, count)
    return versions


def version_of(memory: Memory) -> RowVersion:
    """Return the version that a memory has if nobody changed or recalled it since it was read."""
    at = memory.updated_at
    micros = int(at.timestamp()) * 1_000_000 + at.microsecond
    return memory.layer, micros, memory.access_count


def _joined(tables: list[pa.Table], dimensions: int) -> tuple[list[Memory], Vector]:
    newest: dict[str, tuple[Memory, Vector]] = {}
    for table in tables:
        vectors = matrix_of(table, dimensions)
        rows = table.drop_columns(list(VECTOR_COLUMNS))
        for start in range(0, len(rows), _ROWS_AT_A_TIME):  # in parts: rows as Python values are large
            for index, row in enumerate(rows.slice(start, _ROWS_AT_A_TIME).to_pylist(), start):
                memory = from_row(row)
                known = newest.get(memory.id)
                if known is None or memory.updated_at > known[0].updated_at:
                    newest[memory.id] = memory, vectors[index]
    both = sorted(newest.values(), key=lambda pair: (pair[0].created_at, creation_order(pair[0].id)))
    matrix = np.stack([vector for _, vector in both]) if both else np.empty((0, dimensions), np.float32)
    return [memory for memory, _ in both], matrix


_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class Edit:
    """A memory before and after a change; every field that differs is written, `updated_at` included."""

    before: Memory
    after: Memory


async def write_batch(
    store: MemoryStore,
    added: Sequence[Embedded] = (),
    edits: Sequence[Edit] = (),
    removed: Sequence[Memory] = (),
    embedded: Mapping[str, Embedded] = MappingProxyType({}),
) -> None:
    """Write new memories, then edits, then removals; call it inside `changing()`. Repeating it does no harm.

    `embedded` has, by id, the vectors of edited memories that get a finer precision.
    """
    touched = (*(item.memory for item in added), *(edit.before for edit in edits), *removed)
    await store.archive.bring_back(memory.id for memory in touched)
    await _add(store, added)
    await set_precisions(store, [_at_its_precision(edit) for edit in edits if _changes_precision(edit)], embedded)
    moves = [edit for edit in edits if edit.before.layer != edit.after.layer]
    await _move(store, moves)
    await _set(store, [edit for edit in edits if edit.before.layer == edit.after.layer])
    await _remove(store, removed)


def _changes_precision(edit: Edit) -> bool:
    return edit.before.precision != edit.after.precision


def _at_its_precision(edit: Edit) -> Memory:
    """Return a memory that is still in its layer, with its new precision."""
    return replace(edit.before, precision=edit.after.precision)


async def _add(store: MemoryStore, added: Sequence[Embedded]) -> None:
    dimensions = store.database.stamp.dimensions
    passages = passage_rows(added, dimensions)
    if len(passages):
        await store.database.table("passages").upsert(passages)
    for layer in _layers(item.memory for item in added):
        rows = to_table([item for item in added if item.memory.layer == layer], dimensions)
        await store.database.table(layer).upsert(rows)


async def _set(store: MemoryStore, edits: Sequence[Edit]) -> None:
    """Set what differs, all rows with the same set of changed columns in one commit."""
    groups: dict[tuple[Layer, tuple[str, ...]], list[Edit]] = {}
    for edit in edits:
        differing = (name for name in FIELDS if getattr(edit.before, name) != getattr(edit.after, name))
        columns = tuple(name for name in differing if name != "precision")  # is written with the vector
        if columns:
            groups.setdefault((edit.before.layer, columns), []).append(edit)
    schema = memory_schema(store.database.stamp.dimensions)
    for (layer, columns), group in groups.items():
        part = pa.schema([schema.field("id"), *(schema.field(name) for name in columns)])
        for start in range(0, len(group), _AT_ONCE):
            memories = [edit.after for edit in group[start : start + _AT_ONCE]]
            values = {name: [column_value(name, getattr(m, name)) for m in memories] for name in part.names}
            rows = pa.table([pa.array(values[field.name], field.type) for field in part], schema=part)
            await store.database.table(layer).merge(rows)
    moved: dict[str, list[str]] = {}
    for edit in edits:
        if edit.before.project != edit.after.project:
            moved.setdefault(edit.after.project, []).append(edit.after.id)
    for project, ids in moved.items():
        for start in range(0, len(ids), _AT_ONCE):
            await store.move_passages(ids[start : start + _AT_ONCE], project)


async def _move(store: MemoryStore, moves: Sequence[Edit]) -> None:
    """Write rows to their new layer, vectors and all, before they leave the old one."""
    everything = memory_schema(store.database.stamp.dimensions).names
    by_layers: dict[tuple[Layer, Layer], list[Edit]] = {}
    for edit in moves:
        by_layers.setdefault((edit.before.layer, edit.after.layer), []).append(edit)
    for (source, target), group in by_layers.items():
        for start in range(0, len(group), _AT_ONCE):
            part = {edit.after.id: edit.after for edit in group[start : start + _AT_ONCE]}
            here = one_of("id", part)
            rows = await store.database.table(source).rows(everything, here)
            await store.database.table(target).upsert(_with_fields(rows, part))
            await store.database.table(source).delete(here)


async def remove_strays(store: MemoryStore, homes: Mapping[str, Layer]) -> None:
    """Delete second rows that a move, cut short, left in another layer than the memory's own."""
    for layer in LAYERS:
        elsewhere = [memory_id for memory_id, home in homes.items() if home != layer]
        if elsewhere and await store.database.table(layer).count(one_of("id", elsewhere)):
            await store.database.table(layer).delete(one_of("id", elsewhere))


def _with_fields(rows: pa.Table, memories: dict[str, Memory]) -> pa.Table:
    ids = rows.column("id").to_pylist()
    for number, field in enumerate(rows.schema):
        if field.name in FIELDS and field.name != "precision":  # which the vector has already
            values = [column_value(field.name, getattr(memories[memory_id], field.name)) for memory_id in ids]
            rows = rows.set_column(number, field, pa.array(values, field.type))
    return rows


async def _remove(store: MemoryStore, removed: Sequence[Memory]) -> None:
    ids = [memory.id for memory in removed]
    if not ids:
        return
    await store.database.table("passages").delete(one_of("memory_id", ids))  # without its row nobody looks for them
    for layer in _layers(removed):
        await store.database.table(layer).delete(one_of("id", ids))


def _layers(memories: Iterable[Memory]) -> list[Layer]:
    return list(dict.fromkeys(memory.layer for memory in memories))
