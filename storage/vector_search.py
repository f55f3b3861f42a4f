"""Nearest-neighbour search over the layer tables and the passages of long memories: in memory, or LanceDB's.

A setting says how much memory may be used (`REVERIE_SEARCH_MEMORY`). While the vectors fit, they are kept there;
beyond that LanceDB is asked, through the index that maintenance builds by then.

The in-memory indexes of several tables are joined end to end, so that one index numbers every memory that a query may
see: the layers for most queries, and the archive where a query may see what is in it.
"""

import asyncio
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from reverie.errors import StoreError
from reverie.lifecycle.rules import WHOLE
from reverie.memory import LAYERS, Layer
from reverie.storage.database import Database
from reverie.storage.filters import differs, equals, everything, one_of
from reverie.storage.memory_index import OWNER, CachedCandidates, MemoryIndex, RowRoom, VectorHit
from reverie.storage.packed_vectors import PACKED_BITS, VECTOR_COLUMNS, bytes_of, vectors_in
from reverie.storage.rows import Embedded, RowLocation, Vector, as_values
from reverie.storage.schema import ARCHIVE, ARCHIVED_PASSAGES, PASSAGE_TABLES, PASSAGES
from reverie.storage.scope import Scope, Viewer

_Wanted = tuple[frozenset[str | None] | frozenset[str] | None, ...]  # labels of each kind, and layers; None: any
_MOST_MASKS = 16
_FEW_ADDED = 200

NOBODY = -1
"""Stands for "no memory" in an array of indices."""


class JoinedIndex:
    """The memories that the indexes had when it was made; what is added to a layer later has no number here."""

    def __init__(
        self,
        versions: tuple[int, ...],
        layers: Mapping[str, MemoryIndex],
        passages: Mapping[str, MemoryIndex],
        earlier: "JoinedIndex | None" = None,
    ) -> None:
        """Take the indexes at these versions; `earlier` saves sorting again what it has sorted."""
        self.versions = versions
        self._layers = {layer: index for layer, index in layers.items() if len(index)}
        self._sizes = {layer: len(index) for layer, index in self._layers.items()}
        self._starts: dict[str, int] = dict(
            zip(self._layers, np.cumsum([0, *self._sizes.values()]).tolist(), strict=False)
        )
        self._size = sum(self._sizes.values())
        self._sessions = self._joined([index.sessions for index in self._layers.values()], np.int64)
        self._moments = self._joined([index.moments for index in self._layers.values()], np.int64)
        self._by_session_and_time = self._order(earlier)
        self._passages = dict(passages)
        self._owners = {name: self._owners_of(index) for name, index in passages.items()}
        self._last_neighbours: tuple[np.ndarray, tuple[np.ndarray, np.ndarray]] | None = None
        self._first_of_each = list(self._starts.values())
        self._indexes_in_order = list(self._layers.items())
        self._masks: dict[_Wanted, np.ndarray] = {}  # queries mostly have the scope of the last
        self._passage_counts: np.ndarray | None = None

    def __len__(self) -> int:
        return self._size

    def is_of(self, versions: tuple[int, ...], tables: Mapping[str, MemoryIndex]) -> bool:
        """Whether it was made of these versions of these indexes: one that was built anew numbers memories anew."""
        return self.versions == versions and all(tables[name] is index for name, index in self._layers.items())

    def id_at(self, index: int) -> str:
        """Return the id of a memory."""
        _, layer_index, own = self._layer_and_index(index)
        return layer_index.ids[own]

    def location_at(self, index: int) -> RowLocation:
        """Return where the row of a memory was last seen."""
        layer, layer_index, own = self._layer_and_index(index)
        return RowLocation(layer, layer_index.row_id(own))

    def index_of(self, memory_id: str, table: str | None = None) -> int:
        """Return the index of a memory, in its table if that is known; NOBODY if it has none."""
        for layer, index in self._layers.items():
            own = index.index_of(memory_id) if table in (None, layer) else None
            if own is not None and own < self._sizes[layer]:
                return self._starts[layer] + own
        return NOBODY

    def alive(self) -> np.ndarray:
        """Return a mask of the memories that still have a row."""
        return self._joined([index.with_labels([]) for index in self._layers.values()], np.bool_)

    def in_scope(self, scope: Scope, statuses: Sequence[str] | None = None) -> np.ndarray:
        """Return a mask of the memories whose project, status, owner and layer are in scope."""
        wanted = [scope.projects, scope.statuses if statuses is None else statuses, scope.viewer.owners]
        return self._mask(wanted, scope.layers)

    def seen_by(self, viewer: Viewer) -> np.ndarray:
        """Return a mask of the memories that somebody may see, in scope or not."""
        return self._mask([viewer.projects, None, viewer.owners], None)

    def _mask(self, wanted: Sequence[Collection[str | None] | None], layers: Sequence[str] | None) -> np.ndarray:
        """Return a mask, not to be written to, of the memories with wanted labels in wanted layers (None: any)."""
        key = (*(None if values is None else frozenset(values) for values in (*wanted, layers)),)
        if key not in self._masks:
            parts = [
                index.with_labels([*wanted, layers])
                if table == ARCHIVE
                else index.with_labels(wanted)
                if layers is None or table in layers
                else np.zeros(len(index), np.bool_)
                for table, index in self._layers.items()
            ]
            if len(self._masks) >= _MOST_MASKS:
                self._masks.clear()
            self._masks[key] = self._joined(parts, np.bool_)
            self._masks[key].setflags(write=False)
        return self._masks[key]

    def with_ids(self, ids: Mapping[str, Sequence[str]]) -> np.ndarray:
        """Return a mask of the memories that are among the ids given for their table."""
        mask = np.zeros(self._size, np.bool_)
        found = [self.index_of(memory_id, table) for table, some in ids.items() for memory_id in some]
        mask[[one for one in found if one != NOBODY]] = True
        return mask

    def term_entries(self, asked: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return one entry for each memory that has an asked term: which term, which memory, how often."""
        parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        for layer, index in self._layers.items():
            if index.lexical_index is not None:
                numbers, owners, counts = index.lexical_index.entries(asked)
                known = owners < self._sizes[layer]
                if not known.all():
                    numbers, owners, counts = numbers[known], owners[known], counts[known]
                parts.append((numbers, owners + self._starts[layer], counts))
        if not parts:
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32)
        numbers, owners, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
        return numbers, owners, counts

    def lengths(self) -> np.ndarray:
        """Return how many words each memory has."""
        lexical = [index.lexical_index.lengths(len(index)) for index in self._layers.values() if index.lexical_index]
        return self._joined(lexical, np.float32)

    def cosines(self, vector: Vector) -> np.ndarray:
        """Return the cosine of each memory, the best of its own vector and its passages'; these must be in memory."""
        cosines = self._joined([index.similarities(vector) for index in self._layers.values()], np.float32)
        for name, owners in self._owners.items():
            owned = owners != NOBODY
            similarities = self._passages[name].similarities(vector)[: len(owned)]
            np.maximum.at(cosines, owners[owned], similarities[owned])
        return cosines

    def passage_counts(self) -> np.ndarray:
        """Return how many passages each memory has."""
        if self._passage_counts is None:
            owners = np.concatenate(list(self._owners.values()))
            self._passage_counts = np.bincount(owners[owners != NOBODY], minlength=self._size)
        return self._passage_counts

    @property
    def has_passages(self) -> bool:
        """Whether any memory has passages."""
        return any((owners != NOBODY).any() for owners in self._owners.values())

    def passages_of(self, indices: np.ndarray) -> dict[str, dict[str, tuple[int, int | None]]]:
        """Return the passages of some memories by table and id: the index of the memory, and the row id if known."""
        wanted = np.zeros(self._size + 1, np.bool_)
        wanted[indices] = True  # NOBODY is the last one, which stays False
        found: dict[str, dict[str, tuple[int, int | None]]] = {}
        for name, owners in self._owners.items():
            passages, numbers = self._passages[name], np.flatnonzero(wanted[owners]).tolist()
            found[name] = {passages.ids[n]: (int(owners[n]), passages.row_id(n)) for n in numbers}
        return found

    def _order(self, earlier: "JoinedIndex | None") -> np.ndarray:
        """Return the memories by session, then by time; where few were added since, they are put into that order."""
        known = None if earlier is None else self._numbers_of(earlier)
        numbers = np.arange(self._size)
        if known is None or earlier is None:
            return np.lexsort((numbers, self._moments, self._sessions))
        order = known[earlier._by_session_and_time]
        is_known = np.zeros(self._size, np.bool_)
        is_known[known] = True
        sessions, moments = self._sessions[order], self._moments[order]
        places: list[int] = []
        fresh = numbers[~is_known]
        fresh = fresh[np.lexsort((fresh, self._moments[fresh], self._sessions[fresh]))]
        for number in fresh.tolist():
            start, end = (int(np.searchsorted(sessions, self._sessions[number], side)) for side in ("left", "right"))
            first, last = (
                start + int(np.searchsorted(moments[start:end], self._moments[number], side))
                for side in ("left", "right")
            )
            places.append(first + int(np.searchsorted(order[first:last], number)))
        return np.insert(order, places, fresh)

    def _numbers_of(self, earlier: "JoinedIndex") -> np.ndarray | None:
        """Return the numbers here of the memories there; None if some have other times now, or many are new."""
        if earlier._layers.keys() - self._layers.keys() or self._size - earlier._size > _FEW_ADDED:
            return None
        if any(self._layers[name] is not index for name, index in earlier._layers.items()):
            return None
        parts = [np.arange(size) + self._starts[name] for name, size in earlier._sizes.items()]
        known = np.concatenate(parts) if parts else np.empty(0, np.int64)
        same_sessions = np.array_equal(self._sessions[known], earlier._sessions)
        return known if same_sessions and np.array_equal(self._moments[known], earlier._moments) else None

    def neighbours(self, in_scope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return for each memory the one before and the one after it in its session, of those in scope."""
        if self._last_neighbours is None or not np.array_equal(self._last_neighbours[0], in_scope):
            self._last_neighbours = in_scope, self._neighbours(in_scope)  # most queries have the scope of the last
        return self._last_neighbours[1]

    def _neighbours(self, in_scope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        ordered = self._by_session_and_time[in_scope[self._by_session_and_time]]
        session = self._sessions[ordered]
        together = (session[1:] == session[:-1]) & (session[1:] != 0)
        before, after = np.full(self._size, NOBODY), np.full(self._size, NOBODY)
        before[ordered[1:][together]] = ordered[:-1][together]
        after[ordered[:-1][together]] = ordered[1:][together]
        return before, after

    def _owners_of(self, passages: MemoryIndex) -> np.ndarray:
        owners = np.full(len(passages), NOBODY, np.int64)
        for index in np.flatnonzero(passages.with_labels([])).tolist():
            owners[index] = self.index_of(owner_of(passages.ids[index]))
        return owners

    def _layer_and_index(self, index: int) -> tuple[str, MemoryIndex, int]:
        number = bisect_right(self._first_of_each, index) - 1
        return *self._indexes_in_order[number], index - self._first_of_each[number]

    def _joined(self, parts: Sequence[np.ndarray], kind: type) -> np.ndarray:
        """Put together what each layer has of its memories, without those added since."""
        if not parts:
            return np.empty(0, kind)
        return np.concatenate([part[:size] for part, size in zip(parts, self._sizes.values(), strict=True)])


def owner_of(passage_id: str) -> str:
    """Return the id of the memory that a passage is of."""
    return passage_id.rpartition("#")[0]


_LABELS = ("project", "status", OWNER)
_TABLES: tuple[str, ...] = (*LAYERS, PASSAGES)
_FEWEST_GONE = 200


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
                self._indexes[layer] = await self._built_anew(index, layer, _LABELS)
        passages = self._passages
        if await _is_worth_shrinking(passages):
            self._passages = await self._built_anew(passages, PASSAGES, ("project",), of_memories=False)

    async def _built_anew(
        self, old: MemoryIndex, table: str, labels: Sequence[str], *, of_memories: bool = True
    ) -> MemoryIndex:
        if old.row_cache is not None:
            old.row_cache.clear()  # both do not fit
        raw, dimensions = self._database.raw_table(table), self._database.stamp.dimensions
        new = MemoryIndex(raw, dimensions, labels, self._room, of_memories=of_memories)
        await new.refresh()
        if self._room is None:  # what others wrote meanwhile was too much
            await new.drop_vectors()
        return new

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
        tables = {name: self._database.raw_table(name) for name in names}
        fits = bool(self._in_memory) and self._budget.fits(self._sizes() + await self._counts(names), dimensions)
        if not self._archived:
            room = RowRoom(0) if fits else None
            self._archived = {
                ARCHIVE: MemoryIndex(tables[ARCHIVE], dimensions, (*_LABELS, "layer"), room),
                ARCHIVED_PASSAGES: MemoryIndex(
                    tables[ARCHIVED_PASSAGES], dimensions, ("project",), room, of_memories=False
                ),
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
        hits = _hits(await table.nearest(vector, scope.condition(), ["id"], limit), name)
        if not index.has_packed_vectors:
            return hits
        if scope.is_plain and name != ARCHIVE:
            wanted = [scope.projects, scope.statuses, scope.viewer.owners]
            packed = index.nearest(vector, limit, wanted, packed_only=True)
        else:
            ids = (await table.rows(["id"], scope.condition() & differs("precision", WHOLE))).column("id").to_pylist()
            packed = index.nearest_packed_of(vector, limit, ids)
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
        dimensions, tables, room = self._database.stamp.dimensions, self._database, self._room
        indexes = {layer: MemoryIndex(tables.raw_table(layer), dimensions, _LABELS, room) for layer in LAYERS}
        passages = MemoryIndex(tables.raw_table(PASSAGES), dimensions, ("project",), room, of_memories=False)
        return indexes, passages


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
