"""Changing the precision of stored vectors, of memories and of their passages alike (rule `002-compression`).

Fewer bits are computed from the vector that is stored. More bits need the vector that the text has, so the caller
brings it. The memory's row says its precision and holds the vector: both change in one commit. Passages are in
another table; they are packed after their memory and unpacked before it, so that a process killed in between leaves
passages that are finer than their memory, never coarser.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from reverie.memory import Layer, Memory
from reverie.storage.filters import one_of
from reverie.storage.packed_vectors import (
    PACKED_BITS,
    VECTOR_COLUMNS,
    coarser,
    known_precision,
    pack,
    packed_rows,
    vector_columns,
    whole_column,
    whole_rows,
)
from reverie.storage.rows import Embedded, passage_rows
from reverie.storage.schema import PACKED, memory_schema
from reverie.storage.store import MemoryStore

_AT_ONCE = 2_000


def is_finer(one: int, other: int) -> bool:
    """Whether a precision has more bits than another."""
    return known_precision(one) > known_precision(other)


async def set_precisions(store: MemoryStore, memories: Sequence[Memory], embedded: Mapping[str, Embedded]) -> None:
    """Give the vectors of memories the precision that each memory says; call it inside `changing()`.

    `memories` are in the layer where their rows are now; `embedded` has the vectors of those that become finer. A
    vector that has its precision already stays as it is.
    """
    for start in range(0, len(memories), _AT_ONCE):
        part = memories[start : start + _AT_ONCE]
        finer = [memory for memory in part if memory.id in embedded]
        coarser_ones = [memory for memory in part if memory.id not in embedded]
        await _replace_passages(store, finer, embedded)
        await _write_whole(store, finer, embedded)
        for layer, here in _by_layer(coarser_ones).items():
            await _pack(store, layer, "id", {memory.id: memory.precision for memory in here})
        await _pack(store, "passages", "memory_id", {memory.id: memory.precision for memory in coarser_ones})


async def _replace_passages(store: MemoryStore, memories: Sequence[Memory], embedded: Mapping[str, Embedded]) -> None:
    items = [_at(embedded[memory.id], memory) for memory in memories]
    rows = passage_rows(items, store.database.stamp.dimensions)
    table = store.database.table("passages")
    if len(rows):
        await table.upsert(rows)
    written = set(rows.column("id").to_pylist())
    known = await table.rows(["id"], one_of("memory_id", [memory.id for memory in memories])) if memories else rows
    left = [passage_id for passage_id in known.column("id").to_pylist() if passage_id not in written]
    if left:  # the text was cut into other windows then
        await table.delete(one_of("id", left))


async def _write_whole(store: MemoryStore, memories: Sequence[Memory], embedded: Mapping[str, Embedded]) -> None:
    dimensions = store.database.stamp.dimensions
    for layer, here in _by_layer(memories).items():
        precisions = [known_precision(memory.precision) for memory in here]
        vectors = vector_columns([embedded[memory.id].vector for memory in here], precisions, dimensions)
        await _merge(store, layer, [memory.id for memory in here], precisions, vectors)


async def _pack(store: MemoryStore, table: str, key: str, wanted: Mapping[str, int]) -> None:
    """Round the vectors in a table that are finer than wanted for their memory."""
    if not wanted:
        return
    dimensions = store.database.stamp.dimensions
    columns = dict.fromkeys(("id", key, "precision", *VECTOR_COLUMNS))
    rows = await store.database.table(table).rows(list(columns), one_of(key, wanted))
    had = rows.column("precision").to_numpy()
    bits = np.array([known_precision(wanted[one]) for one in rows.column(key).to_pylist()], np.int64)
    todo = np.flatnonzero(had > bits)
    if not len(todo):
        return
    rows, bits = rows.take(pa.array(todo)), bits[todo]
    packed = _packed(rows, bits, dimensions)
    readable = np.flatnonzero([one is not None for one in packed])  # `doctor` names the others
    ids = [rows.column("id")[row].as_py() for row in readable.tolist()]
    nothing = whole_column(np.empty((0, dimensions), np.float32), np.zeros(len(ids), np.bool_), dimensions)
    values = pa.array([packed[row] for row in readable.tolist()], pa.binary())
    await _merge(store, table, ids, bits[readable].tolist(), (nothing, values))


def _packed(rows: pa.Table, bits: np.ndarray, dimensions: int) -> list[bytes | None]:
    """Return the vectors of rows at other precisions, all coarser than those they have."""
    packed: list[bytes | None] = [None] * len(rows)
    whole, vectors = whole_rows(rows.column("vector"), dimensions)
    for one in PACKED_BITS:
        chosen = bits[whole] == one
        for row, record in zip(whole[chosen].tolist(), pack(vectors[chosen], one), strict=True):
            packed[row] = record.tobytes()
    for places, records in packed_rows(rows.column("packed"), dimensions).values():
        for one in PACKED_BITS:
            chosen = bits[places] == one
            if chosen.any():
                fewer = coarser(records[chosen], one, dimensions)
                for row, record in zip(places[chosen].tolist(), fewer, strict=True):
                    packed[row] = record.tobytes()
    return packed


async def _merge(
    store: MemoryStore, table: str, ids: Sequence[str], precisions: Sequence[int], vectors: tuple[pa.Array, pa.Array]
) -> None:
    schema = memory_schema(store.database.stamp.dimensions)
    part = pa.schema([schema.field("id"), schema.field("precision"), schema.field("vector"), PACKED])
    columns = [pa.array(ids, pa.string()), pa.array(precisions, pa.int64()), *vectors]
    if ids:
        await store.database.table(table).merge(pa.table(columns, schema=part))


def _at(item: Embedded, memory: Memory) -> Embedded:
    """Return the vectors that were made of a text under the memory as it will be."""
    return Embedded(memory, item.vector, item.passages, item.pieces)


def _by_layer(memories: Sequence[Memory]) -> dict[Layer, list[Memory]]:
    found: dict[Layer, list[Memory]] = {}
    for memory in memories:
        found.setdefault(memory.layer, []).append(memory)
    return found
