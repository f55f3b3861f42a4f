"""Nearest-neighbour search over the layer tables and the passages of long memories: in memory, or LanceDB's.

A setting says how much memory may be used (`REVERIE_SEARCH_MEMORY`). While the vectors fit, they are kept there;
beyond that LanceDB is asked, through the index that maintenance builds by then.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from reverie.errors import StoreError, StoreUnavailable
from reverie.lifecycle.rules import WHOLE
from reverie.memory import LAYERS, Layer
from reverie.storage.database import Database
from reverie.storage.filters import differs, equals, everything, one_of
from reverie.storage.homes import DomainHome
from reverie.storage.joined_index import owner_of
from reverie.storage.memory_index import OWNER, MemoryIndex, VectorHit
from reverie.storage.packed_vectors import PACKED_BITS, VECTOR_COLUMNS, bytes_of, vectors_in
from reverie.storage.row_cache import CachedCandidates, RowRoom
from reverie.storage.rows import Embedded, Vector, as_values
from reverie.storage.schema import ARCHIVE, ARCHIVED_PASSAGES, PASSAGE_TABLES, PASSAGES
from reverie.storage.scope import Scope
from reverie.storage.stored_index import StoredIndexes

INDEXES = "indexes"
"""The folder of the stored indexes, in this host's folder of a generation of tables."""

_LABELS = ("project", "status", OWNER)
_TABLES: tuple[str, ...] = (*LAYERS, PASSAGES)
_FEWEST_GONE = 200
_FEWEST_TO_STORE = 2_000  # memories; fewer are indexed in less time than anybody notices
_FEWEST_CHANGES = 500
_SHARE_CHANGED = 20  # one part in so many

log = logging.getLogger(__name__)


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
        self._room: RowRoom | None = RowRoom(budget.row_bytes)
        # Another host's purge could not remove what this host has stored of a bucket.
        is_local = database.home.state is None
        self._stored = _stored_indexes(database.home, database.generation) if is_local else None
        self._indexes, self._passages = self._fresh_indexes()
        self._archived: dict[str, MemoryIndex] = {}  # the archive and its passages, once they are asked for

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
        on_disk: tuple[str, ...] = PASSAGE_TABLES if scope.reads_archive else (PASSAGES,)
        if self._in_memory:
            hits = self._passages.nearest(vector, limit, [scope.projects])
            on_disk = on_disk[1:]
        where = everything() if scope.projects is None else one_of("project", scope.projects)
        for name in on_disk:
            hits += _hits(await self._database.raw_table(name).nearest(vector, where, ["id"], limit), name)
            index = await self._index_of(name)
            if index.has_packed_vectors:
                hits += index.nearest(vector, limit, [scope.projects], packed_only=True)
        best: dict[str, float] = {}
        for hit in _best(hits, limit):
            best.setdefault(owner_of(hit.id), hit.similarity)
        return best

    async def nearest_on_disk(self, vector: Vector, scope: Scope, limit: int) -> list[VectorHit]:
        """Return the closest memories in scope, best first: LanceDB's search, and packed vectors from memory."""
        found = await asyncio.gather(*(self._from_disk(name, vector, scope, limit) for name in scope.tables))
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

    async def indexes(self, scope: Scope) -> tuple[dict[str, MemoryIndex], dict[str, MemoryIndex]]:
        """Return the indexes of memories and of passages by table, up to date; of the archive if it is in scope.

        A table that cannot be read is an error only if the scope needs it.
        """
        await self._database.write_ahead_log.flush_before_read()
        await self.are_in_memory(scope)
        tables: dict[str, MemoryIndex] = {layer: index for layer, index in self._indexes.items()}  # noqa: C416
        tables[PASSAGES] = self._passages
        if scope.reads_archive:
            tables |= self._archived
        refreshed = await asyncio.gather(*(index.refresh() for index in tables.values()), return_exceptions=True)
        for name, failure in zip(tables, refreshed, strict=True):
            needed = name in (*scope.tables, *PASSAGE_TABLES)
            if failure is not None and (needed or not isinstance(failure, StoreError)):
                raise failure
        passages = {name: tables.pop(name) for name in PASSAGE_TABLES if name in tables}
        return tables, passages

    async def shrink(self) -> None:
        """Build those indexes anew of whose memories many have no row any more; searches go on with the old ones."""
        for layer, index in self._indexes.items():
            if await _is_worth_shrinking(index):
                self._indexes[layer] = await self._built_anew(index)
        if await _is_worth_shrinking(self._passages):
            self._passages = await self._built_anew(self._passages)

    async def _built_anew(self, old: MemoryIndex) -> MemoryIndex:
        if old.row_cache is not None:
            old.row_cache.clear()  # both do not fit
        new = old.without_gone(self._room)
        await new.refresh()
        if self._room is None:  # what others wrote meanwhile was too much
            await new.drop_vectors()
        return new

    async def fill_row_caches(self) -> None:
        """Read the rows that recall will want and that were not read when an index was opened or its table merged."""
        for index in list(self._indexes.values()):
            await index.fill_row_cache()

    async def store_indexes(self) -> list[str]:
        """Write the stored form of the indexes that changed since it was written; return the names of their tables.

        Call it with the lock of maintenance held. Only indexes that this process has searched are stored.
        """
        stored: list[str] = []
        for table, index in {**self._indexes, PASSAGES: self._passages, **self._archived}.items():
            if self._stored is None or index.version < 0 or len(index) < _FEWEST_TO_STORE:
                continue
            if index.stored_size and index.changes < max(_FEWEST_CHANGES, len(index) // _SHARE_CHANGED):
                continue
            try:
                await index.store()
            except OSError as error:  # it is a cache: the next start takes longer
                log.info("The index of %s was not stored: %s", table, error)
            else:
                stored.append(table)
        return stored

    async def remove_stored(self) -> None:
        """Remove the stored form of every index. Call it with the lock of maintenance held.

        Raises:
            StoreUnavailable: if it cannot be removed.
        """
        await remove_stored_indexes(self._database.home, self._database.generation)

    async def are_in_memory(self, scope: Scope | None = None) -> bool:
        """Whether the vectors are kept in memory that a query in a scope needs, without one those of all layers.

        Once they are too many for it they are not, and stay on disk.
        """
        in_memory = await self._layers_are_in_memory()
        if scope is None or not scope.reads_archive:
            return in_memory
        return await self._archive_is_in_memory() and in_memory

    async def _archive_is_in_memory(self) -> bool:
        """Make the indexes of the archive if this is the first query for it; its rows are not cached."""
        names, dimensions = (ARCHIVE, ARCHIVED_PASSAGES), self._database.stamp.dimensions
        fits = bool(self._in_memory) and self._budget.fits(self._sizes() + await self._counts(names), dimensions)
        if not self._archived:
            room = RowRoom(0) if fits else None
            self._archived = {
                ARCHIVE: self._index(ARCHIVE, (*_LABELS, "layer"), room),
                ARCHIVED_PASSAGES: self._index(ARCHIVED_PASSAGES, ("project",), room, of_memories=False),
            }
        elif not fits:
            await asyncio.gather(*(index.drop_vectors() for index in self._archived.values()))
        return all(index.has_vectors for index in self._archived.values())

    async def _layers_are_in_memory(self) -> bool:
        dimensions = self._database.stamp.dimensions
        if self._in_memory is None:
            counts = await self._counts(_TABLES)
            if self._in_memory is None:  # nobody else has counted meanwhile
                self._in_memory = self._budget.fits(counts, dimensions)
                if not self._in_memory:
                    self._room = None
                    self._indexes, self._passages = self._fresh_indexes()
        elif self._in_memory and not self._budget.fits(self._sizes(), dimensions):
            self._in_memory, self._room = False, None
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

    def cached_rows(self, ids: Iterable[str]) -> tuple[set[str], list[CachedCandidates]]:
        """Return which of these memories have what recall reads of them in memory, and those rows."""
        wanted = list(ids)
        found = [index.cached_rows(wanted) for index in self._indexes.values()]
        return {i for cached, _ in found for i in cached}, [rows for _, rows in found if rows is not None]

    def note_added(self, layer: Layer, version: int, rows: pa.Table) -> None:
        """Follow an append of this process without reading it back."""
        self._indexes[layer].note_added(version, rows)

    async def _in_tables(self, vector: Vector, scope: Scope, limit: int) -> list[VectorHit]:
        if scope.is_plain and await self.are_in_memory():
            layers = [self._from_memory(layer, vector, scope, limit) for layer in scope.layers]
            archive = [self._from_disk(ARCHIVE, vector, scope, limit)] if scope.reads_archive else []
            found = await asyncio.gather(*layers, *archive)
            return _best([hit for part in found for hit in part], limit)
        return await self.nearest_on_disk(vector, scope, limit)

    async def _from_memory(self, layer: Layer, vector: Vector, scope: Scope, limit: int) -> list[VectorHit]:
        index = self._indexes[layer]
        await index.refresh()
        if not self._in_memory:  # what others wrote was too much
            return await self._from_disk(layer, vector, scope, limit)
        return index.nearest(vector, limit, [scope.projects, scope.statuses, scope.viewer.owners])

    async def _from_disk(self, name: str, vector: Vector, scope: Scope, limit: int) -> list[VectorHit]:
        table, index = self._database.raw_table(name), await self._index_of(name)
        where = scope.condition()
        if scope.is_plain and name != ARCHIVE and index.all_have([None, scope.statuses, scope.viewer.owners]):
            # LanceDB looks at every row for a condition, which takes longer than the search.
            where = everything() if scope.projects is None else one_of("project", scope.projects)
        hits = _hits(await table.nearest(vector, where, ["id"], limit), name)
        if not index.has_packed_vectors:
            return hits
        if scope.is_plain and name != ARCHIVE:
            wanted = [scope.projects, scope.statuses, scope.viewer.owners]
            packed = index.nearest(vector, limit, wanted, packed_only=True)
        else:
            ids = (await table.rows(["id"], scope.condition() & differs("precision", WHOLE))).column("id")
            packed = index.nearest_packed_of(vector, limit, ids.combine_chunks())
        return _best([*hits, *packed], limit)

    async def _index_of(self, name: str) -> MemoryIndex:
        """Return the index of a table of memories or passages, up to date."""
        if name in PASSAGE_TABLES or name == ARCHIVE:
            if name != PASSAGES:
                await self._archive_is_in_memory()
            index = self._passages if name == PASSAGES else self._archived[name]
        else:
            index = next(index for layer, index in self._indexes.items() if layer == name)
        await index.refresh()
        return index

    async def _counts(self, names: Sequence[str]) -> Counter[int]:
        """Count the vectors of these tables on disk by their precision."""
        counts: Counter[int] = Counter()
        for table in map(self._database.raw_table, names):
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

    def _fresh_indexes(self) -> tuple[dict[Layer, MemoryIndex], MemoryIndex]:
        """Return empty indexes of the layers and of the passages, with vectors if there is room for them."""
        indexes = {layer: self._index(layer, _LABELS, self._room) for layer in LAYERS}
        return indexes, self._index(PASSAGES, ("project",), self._room, of_memories=False)

    def _index(
        self, table: str, labels: Sequence[str], room: RowRoom | None, *, of_memories: bool = True
    ) -> MemoryIndex:
        stamp = self._database.stamp
        return MemoryIndex(
            self._database.raw_table(table),
            stamp.dimensions,
            labels,
            room,
            of_memories=of_memories,
            stored=self._stored,
            embedder=stamp.embedder,
        )


def _stored_indexes(home: DomainHome, generation: int) -> StoredIndexes:
    return StoredIndexes(home.logs(generation) / INDEXES)


async def remove_stored_indexes(home: DomainHome, generation: int) -> None:
    """Remove the stored indexes that this host has of a generation. Call it with the lock of maintenance held.

    Raises:
        StoreUnavailable: if they cannot be removed.
    """
    try:
        await asyncio.to_thread(_stored_indexes(home, generation).remove)
    except OSError as error:
        raise StoreUnavailable(f"The stored indexes cannot be removed ({error}). Try again.") from error


async def _is_worth_shrinking(index: MemoryIndex) -> bool:
    if len(index):  # else nothing was searched yet
        await index.refresh()
    return index.gone >= max(_FEWEST_GONE, len(index) / 4)


def _best(hits: Iterable[VectorHit], limit: int) -> list[VectorHit]:
    return sorted(hits, key=lambda hit: -hit.similarity)[:limit]


def _hits(rows: pa.Table, table: str) -> list[VectorHit]:
    return [
        VectorHit(memory_id, table, 1.0 - distance)
        for memory_id, distance in zip(
            rows.column("id").to_pylist(), rows.column("_distance").to_pylist(), strict=True
        )
    ]
