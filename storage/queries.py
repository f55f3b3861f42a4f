"""Reads over all layers: the top memories for a brief, and everything for a dream."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa

from reverie.ids import creation_order
from reverie.memory import LAYERS, Kind, Layer, Memory
from reverie.storage.filters import Condition
from reverie.storage.lance_table import Table
from reverie.storage.memory_index import as_matrix
from reverie.storage.rows import FIELDS, Vector, from_row, from_table
from reverie.storage.store import MemoryStore

Order = Literal["importance", "happened_at"]

_SORT_COLUMNS = ("id", "layer", "project", "source", "kind", "importance", "happened_at")
_PERSON = "human"
_GUIDING_KINDS: tuple[Kind, ...] = ("decision", "preference", "how_to", "rejected")


def guidance_rank(source: str, kind: str) -> int:
    """Rank what a person said to be done ahead of what a person said, and both ahead of what was merely noticed."""
    if source != _PERSON:
        return 3 - (kind in _GUIDING_KINDS)
    return 1 - (kind in _GUIDING_KINDS)


async def top_memories(
    store: MemoryStore, where: Condition, layers: Sequence[Layer], *, project: str, by: Order, limit: int
) -> tuple[list[Memory], int]:
    """Return the first memories that fit, and how many fit in all.

    A project's own come first, then what a person said, then by importance; or else the newest. Only the columns
    that decide this are read of all that fit, and complete rows of the first.
    """
    tables = [store.database.table(layer) for layer in layers]
    fitting = pa.concat_tables(
        await asyncio.gather(*(table.rows(_SORT_COLUMNS, where, with_row_ids=True) for table in tables))
    )
    first = _first(fitting, project, by, limit)
    parts = await asyncio.gather(*(_complete(table, first) for table in tables))
    found = {memory.id: memory for part in parts for memory in part}
    return [found[i] for i in first.column("id").to_pylist() if i in found], len(fitting)


def _first(rows: pa.Table, project: str, by: Order, limit: int) -> pa.Table:
    if not len(rows):
        return rows
    foreign = pa.array([name != project for name in rows.column("project").to_pylist()], pa.bool_())
    said = zip(rows.column("source").to_pylist(), rows.column("kind").to_pylist(), strict=True)
    rank = pa.array([guidance_rank(source, kind) if by == "importance" else 0 for source, kind in said], pa.int8())
    keys = [("foreign", "ascending"), ("rank", "ascending"), (by, "descending"), ("happened_at", "descending")]
    ranked = rows.append_column("foreign", foreign.cast(pa.int8())).append_column("rank", rank)
    return ranked.sort_by([*keys, ("id", "ascending")]).slice(0, limit)


async def _complete(table: Table, rows: pa.Table) -> list[Memory]:
    here = rows.filter(pa.array([layer == table.name for layer in rows.column("layer").to_pylist()], pa.bool_()))
    row_ids = dict(zip(here.column("id").to_pylist(), here.column("_rowid").to_pylist(), strict=True))
    return from_table(await table.take_by_id(row_ids, FIELDS)) if row_ids else []


_ROWS_AT_A_TIME = 2_000

RowVersion = tuple[Layer, int, int]
"""The layer of a memory, when it was last changed (in microseconds) and how often it was recalled."""


async def read_all(store: MemoryStore, where: Condition) -> tuple[list[Memory], Vector]:
    """Return the matching memories, oldest first, and their vectors in the same order."""
    tables = [await store.database.table(layer).rows([*FIELDS, "vector"], where) for layer in LAYERS]
    return await asyncio.to_thread(_joined, tables, store.database.stamp.dimensions)


async def read_versions(store: MemoryStore) -> Mapping[str, RowVersion]:
    """Return the version of each memory, whatever its status: it changes with every change and recall."""
    versions: dict[str, RowVersion] = {}
    for layer in LAYERS:
        rows = await store.database.table(layer).rows(["id", "updated_at", "access_count"])
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
        vectors = as_matrix(table.column("vector"), dimensions)
        rows = table.drop_columns(["vector"])
        for start in range(0, len(rows), _ROWS_AT_A_TIME):  # in parts: rows as Python values are large
            for index, row in enumerate(rows.slice(start, _ROWS_AT_A_TIME).to_pylist(), start):
                memory = from_row(row)
                known = newest.get(memory.id)
                if known is None or memory.updated_at > known[0].updated_at:
                    newest[memory.id] = memory, vectors[index]
    both = sorted(newest.values(), key=lambda pair: (pair[0].created_at, creation_order(pair[0].id)))
    matrix = np.stack([vector for _, vector in both]) if both else np.empty((0, dimensions), np.float32)
    return [memory for memory, _ in both], matrix
