"""Reading a store whole, vectors and all: once a night, by the dream."""

import asyncio
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from reverie.identity import as_made
from reverie.memory import LAYERS, Layer, Memory
from reverie.storage.filters import Condition
from reverie.storage.rows import FIELDS, Vector, from_row
from reverie.storage.shelf import as_matrix
from reverie.storage.store import MemoryStore

_ROWS_AT_A_TIME = 2_000

Mark = tuple[Layer, int, int]
"""Where a memory lies, when it was last changed (in microseconds) and how often it was recalled."""


async def read_whole(store: MemoryStore, where: Condition) -> tuple[list[Memory], Vector]:
    """Return the matching memories, oldest first, and their vectors in the same order."""
    tables = [await store.database.table(layer).rows([*FIELDS, "vector"], where) for layer in LAYERS]
    return await asyncio.to_thread(_joined, tables, store.database.stamp.dimensions)


async def read_marks(store: MemoryStore) -> Mapping[str, Mark]:
    """Return what tells of each memory, whatever its status, whether anybody touched it."""
    marks: dict[str, Mark] = {}
    for layer in LAYERS:
        rows = await store.database.table(layer).rows(["id", "updated_at", "access_count"])
        updated = rows.column("updated_at").cast(pa.int64()).to_pylist()
        for key, at, count in zip(
            rows.column("id").to_pylist(), updated, rows.column("access_count").to_pylist(), strict=True
        ):
            if key not in marks or at > marks[key][1]:
                marks[key] = (layer, at, count)
    return marks


def mark_of(memory: Memory) -> Mark:
    """Return the mark that a memory has if nobody touched it since it was read."""
    at = memory.updated_at
    micros = int(at.timestamp()) * 1_000_000 + at.microsecond
    return memory.layer, micros, memory.access_count


def _joined(tables: list[pa.Table], dimensions: int) -> tuple[list[Memory], Vector]:
    newest: dict[str, tuple[Memory, Vector]] = {}
    for table in tables:
        vectors = as_matrix(table.column("vector"), dimensions)
        rows = table.drop_columns(["vector"])
        for start in range(0, len(rows), _ROWS_AT_A_TIME):  # piecewise: rows as Python values are large
            for place, row in enumerate(rows.slice(start, _ROWS_AT_A_TIME).to_pylist(), start):
                memory = from_row(row)
                known = newest.get(memory.id)
                if known is None or memory.updated_at > known[0].updated_at:
                    newest[memory.id] = memory, vectors[place]
    both = sorted(newest.values(), key=lambda pair: (pair[0].created_at, as_made(pair[0].id)))
    matrix = np.stack([vector for _, vector in both]) if both else np.empty((0, dimensions), np.float32)
    return [memory for memory, _ in both], matrix
