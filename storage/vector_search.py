"""Nearest-neighbour search over the layer tables and the passages of long memories: in memory, or LanceDB's.

A setting says how much memory may be used (`REVERIE_SEARCH_MEMORY`). While the vectors fit, they are kept there;
beyond that LanceDB is asked, through the index that maintenance builds by then.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from reverie.errors import StoreError
from reverie.lifecycle.precision import WHOLE
from reverie.memory import LAYERS, Layer
from reverie.storage.database import Database
from reverie.storage.filters import differs, equals, everything, one_of
from reverie.storage.joined_index import owner_of
from reverie.storage.memory_index import MemoryIndex, VectorHit
from reverie.storage.packed_vectors import PACKED_BITS, VECTOR_COLUMNS, bytes_of, vectors_in
from reverie.storage.row_cache import RowRoom
from reverie.storage.rows import Embedded, Vector, as_values
from reverie.storage.scope import Scope

_LABELS = ("project", "status")
_TABLES: tuple[str, ...] = (*LAYERS, "passages")


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """The memory for vectors and cached rows: three quarters are for vectors, the rest for rows."""

    total_bytes: int

    def fits(self, vectors: Mapping[int, int], dimensions: int) -> bool:
        """Whether so many vectors of each precision may be kept in memory."""
        needed = sum(count * bytes_of(bits, dimensions) for bits, count in vectors.items())
        return 4 * needed <= 3 * self.total_bytes

    @property
    def row_bytes(self) -> int:
        """What the cached rows of all layers may take."""
        return self.total_bytes // 4


class VectorSearch:
    """Vectors of one domain, and the in-memory indexes that are built over its tables."""

    def __init__(self, database: Database, budget: MemoryBudget) -> None:
        self._database = database
        self._budget = budget
        self._in_memory: bool | None = None  # None: the vectors are not counted yet
        self._make_indexes(RowRoom(budget.row_bytes))

    async def nearest(self, vector: Vector, scope: Scope, limit: int) -> list[VectorHit]:
        """Return the closest memories in scope, best first."""
        await self._database.write_ahead_log.flush_before_read()
        return await self._in_tables(vector, scope, limit)

    async def nearest_with_pending(
        self, vector: Vector, scope: Scope, limit: int, pending: Sequence[Embedded]
    ) -> list[VectorHit]:
        """Return the closest among the memories in the tables and those not written there yet, best first."""
        not_written = [
            VectorHit(item.memory.id, item.memory.layer, float(item.vector @ vector))
            for item in pending
            if scope.admits(as_values(item.memory))
        ]
        best = {hit.id: hit for hit in (*not_written, *await self._in_tables(vector, scope, limit))}
        return _best(best.values(), limit)

    async def nearest_passages(self, vector: Vector, scope: Scope, limit: int) -> dict[str, float]:
        """Return the memories whose closest passage is nearest, with that similarity.

        Passages know only their project; the caller reads their memories in scope.
        """
        await self._database.write_ahead_log.flush_before_read()
        if not limit:
            return {}
        hits: list[VectorHit] = []
        if await self.are_in_memory():
            await self._passages.refresh()
        if self._in_memory:
            hits = self._passages.nearest(vector, limit, [scope.projects])
        else:
            table = self._database.raw_table("passages")
            where = everything() if scope.projects is None else one_of("project", scope.projects)
            await self._passages.refresh()
            packed = self._passages.nearest(vector, limit, [scope.projects], packed_only=True)
            hits = _best([*packed, *_hits(await table.nearest(vector, where, ["id"], limit), "passages")], limit)
        best: dict[str, float] = {}
        for hit in hits:
            best.setdefault(owner_of(hit.id), hit.similarity)
        return best

    async def nearest_on_disk(self, vector: Vector, scope: Scope, limit: int) -> list[VectorHit]:
        """Return the closest memories in scope, best first: LanceDB's search, and packed vectors from memory."""
        found = await asyncio.gather(*(self._from_disk(layer, vector, scope, limit) for layer in scope.tables))
        return _best([hit for part in found for hit in part], limit)

    async def read_vectors(self, table: str, row_ids: Mapping[str, int | None]) -> dict[str, Vector]:
        """Read the vectors of rows of one table by their ids; the row id, where it is known, makes that quicker."""
        raw = self._database.raw_table(table)
        located = {one: row_id for one, row_id in row_ids.items() if row_id is not None}
        others = [one for one, row_id in row_ids.items() if row_id is None]
        columns = ("id", *VECTOR_COLUMNS)
        parts = [await raw.take_by_id(located, columns)] if located else []
        if others:
            parts.append(await raw.rows(columns, one_of("id", others)))
        return vectors_in(parts, self._database.stamp.dimensions)

    async def indexes(self, scope: Scope) -> tuple[dict[Layer, MemoryIndex], MemoryIndex]:
        """Return the indexes of the layers and of the passages, up to date.

        A table that cannot be read is an error only if the scope needs it.
        """
        await self._database.write_ahead_log.flush_before_read()
        await self.are_in_memory()
        memory_indexes = (*self._indexes.values(), self._passages)
        refreshed = await asyncio.gather(*(index.refresh() for index in memory_indexes), return_exceptions=True)
        for name, failure in zip(_TABLES, refreshed, strict=True):
            needed = name in (*scope.tables, "passages")
            if failure is not None and (needed or not isinstance(failure, StoreError)):
                raise failure
        return self._indexes, self._passages

    async def are_in_memory(self) -> bool:
        """Whether the vectors are kept in memory; once they are too many for it, no longer."""
        dimensions = self._database.stamp.dimensions
        if self._in_memory is None:
            counts = await self._counts()
            if self._in_memory is None:  # nobody else has counted meanwhile
                self._in_memory = self._budget.fits(counts, dimensions)
                if not self._in_memory:
                    self._make_indexes(None)
        elif self._in_memory and not self._budget.fits(self._sizes(), dimensions):
            self._in_memory = False
            await asyncio.gather(*(index.drop_vectors() for index in (*self._indexes.values(), self._passages)))
        return self._in_memory

    async def say_where(self) -> Literal["in memory", "on disk"]:
        """Say where the vectors are that a search compares."""
        return "in memory" if await self.are_in_memory() else "on disk"

    def cached_vectors(self, ids: Iterable[str]) -> dict[str, Vector]:
        """Return the vectors of those memories that are in memory."""
        return {
            memory_id: vector
            for memory_id in ids
            for index in self._indexes.values()
            if (vector := index.vector_of(memory_id)) is not None
        }

    def cached_rows(self, ids: Iterable[str]) -> tuple[set[str], list[pa.Table]]:
        """Return which of these memories have what recall reads of them in memory, and those rows."""
        wanted = list(ids)
        found = [index.cached_rows(wanted) for index in self._indexes.values()]
        return {i for cached, _ in found for i in cached}, [rows for _, rows in found if rows is not None]

    def note_added(self, layer: Layer, version: int, rows: pa.Table) -> None:
        """Follow an append of this process without reading it back."""
        self._indexes[layer].note_added(version, rows)

    async def _in_tables(self, vector: Vector, scope: Scope, limit: int) -> list[VectorHit]:
        if scope.is_plain and await self.are_in_memory():
            found = await asyncio.gather(*(self._from_memory(layer, vector, scope, limit) for layer in scope.tables))
            return _best([hit for part in found for hit in part], limit)
        return await self.nearest_on_disk(vector, scope, limit)

    async def _from_memory(self, layer: Layer, vector: Vector, scope: Scope, limit: int) -> list[VectorHit]:
        index = self._indexes[layer]
        await index.refresh()
        if not self._in_memory:  # what others wrote was too much
            return await self._from_disk(layer, vector, scope, limit)
        return index.nearest(vector, limit, [scope.projects, scope.statuses])

    async def _from_disk(self, layer: Layer, vector: Vector, scope: Scope, limit: int) -> list[VectorHit]:
        table, index = self._database.raw_table(layer), self._indexes[layer]
        hits = _hits(await table.nearest(vector, scope.condition(), ["id"], limit), layer)
        await index.refresh()
        if not index.has_packed_vectors:
            return hits
        if scope.is_plain:
            packed = index.nearest(vector, limit, [scope.projects, scope.statuses], packed_only=True)
        else:
            ids = (await table.rows(["id"], scope.condition() & differs("precision", WHOLE))).column("id").to_pylist()
            packed = index.nearest_packed_of(vector, limit, ids)
        return _best([*hits, *packed], limit)

    async def _counts(self) -> dict[int, int]:
        """Count the vectors on disk by their precision."""
        tables = [self._database.raw_table(name) for name in _TABLES]
        counts: dict[int, int] = dict.fromkeys((WHOLE, *PACKED_BITS), 0)
        for table in tables:
            rest = await table.count()
            for bits in PACKED_BITS if rest else ():
                packed = await table.count(equals("precision", bits))
                counts[bits] += packed
                rest -= packed
            counts[WHOLE] += rest
        return counts

    def _sizes(self) -> Counter[int]:
        """Count the vectors in memory by their precision."""
        sizes: Counter[int] = Counter()
        for index in (*self._indexes.values(), self._passages):
            sizes.update(index.vector_counts())
        return sizes

    def _make_indexes(self, room: RowRoom | None) -> None:
        dimensions = self._database.stamp.dimensions
        tables = self._database
        self._indexes = {layer: MemoryIndex(tables.raw_table(layer), dimensions, _LABELS, room) for layer in LAYERS}
        self._passages = MemoryIndex(tables.raw_table("passages"), dimensions, ("project",), room, of_memories=False)


def _best(hits: Iterable[VectorHit], limit: int) -> list[VectorHit]:
    return sorted(hits, key=lambda hit: -hit.similarity)[:limit]


def _hits(rows: pa.Table, table: str) -> list[VectorHit]:
    return [
        VectorHit(memory_id, table, 1.0 - distance)
        for memory_id, distance in zip(
            rows.column("id").to_pylist(), rows.column("_distance").to_pylist(), strict=True
        )
    ]
