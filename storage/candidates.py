"""Candidates for a query: the first stage of recall.

A small store is held in memory, and every memory in scope is a candidate. A large one is searched table by table,
through LanceDB's indexes. What the candidates are worth is computed from them in recall/features.py.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from reverie.errors import StoreError
from reverie.memory import LAYERS, Layer
from reverie.storage.database import Database
from reverie.storage.filters import everything, one_of
from reverie.storage.lance_table import Table, TextHit
from reverie.storage.memory_index import MemoryIndex, VectorHit
from reverie.storage.rows import Embedded, RowLocation, Vector, as_values
from reverie.storage.scope import Scope
from reverie.text.tokenize import search_text

MAX_VECTORS_IN_MEMORY = 20_000
"""Above this many vectors they are searched on disk, through the index that maintenance builds by then."""

NOBODY = -1
"""Stands for "no memory" in an array of indices."""

_LABELS = ("project", "status")


class VectorSearch:
    """Nearest-neighbour search over the layer tables and the passages of long memories."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._in_memory: bool | None = None
        self._clear_indexes()

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
        return sorted(best.values(), key=lambda hit: -hit.similarity)[:limit]

    async def _in_tables(self, vector: Vector, scope: Scope, limit: int) -> list[VectorHit]:
        if scope.is_plain and await self._fits_in_memory():
            found = await asyncio.gather(*(self._from_memory(layer, vector, scope, limit) for layer in scope.tables))
        else:
            found = await asyncio.gather(*(self._from_disk(layer, vector, scope, limit) for layer in scope.tables))
        hits = [hit for part in found for hit in part]
        return sorted(hits, key=lambda hit: -hit.similarity)[:limit]

    async def nearest_passages(self, vector: Vector, scope: Scope, limit: int) -> dict[str, float]:
        """Return the memories whose closest passage is nearest, with that similarity.

        Passages know only their project; the caller reads their memories in scope.
        """
        await self._database.write_ahead_log.flush_before_read()
        if await self._fits_in_memory():
            await self._passages.refresh()
            hits = self._passages.nearest(vector, limit, [scope.projects])
        else:
            table = self._database.raw_table("passages")
            where = everything() if scope.projects is None else one_of("project", scope.projects)
            hits = _hits(await table.nearest(vector, where, ["id"], limit), "passages")
        best: dict[str, float] = {}
        for hit in hits:
            best.setdefault(_owner_of(hit.id), hit.similarity)
        return best

    async def memory_indexes(self, scope: Scope) -> tuple[dict[Layer, MemoryIndex], MemoryIndex] | None:
        """Return the indexes of the layers and of the passages, up to date; None when the store is too large.

        A table that cannot be read is an error only if the scope needs it.
        """
        await self._database.write_ahead_log.flush_before_read()
        if not await self._fits_in_memory():
            return None
        memory_indexes = (*self._indexes.values(), self._passages)
        refreshed = await asyncio.gather(*(index.refresh() for index in memory_indexes), return_exceptions=True)
        for name, failure in zip((*self._indexes, "passages"), refreshed, strict=True):
            needed = name in (*scope.tables, "passages")
            if failure is not None and (needed or not isinstance(failure, StoreError)):
                raise failure
        return self._indexes, self._passages

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

    async def _from_memory(self, layer: Layer, vector: Vector, scope: Scope, limit: int) -> list[VectorHit]:
        index = self._indexes[layer]
        await index.refresh()
        return index.nearest(vector, limit, [scope.projects, scope.statuses])

    async def _from_disk(self, layer: Layer, vector: Vector, scope: Scope, limit: int) -> list[VectorHit]:
        table = self._database.raw_table(layer)
        return _hits(await table.nearest(vector, scope.condition(), ["id"], limit), layer)

    async def _fits_in_memory(self) -> bool:
        if self._in_memory is None:
            tables: Sequence[str] = (*LAYERS, "passages")
            counts = await asyncio.gather(*(self._database.raw_table(name).count() for name in tables))
            self._in_memory = sum(counts) <= MAX_VECTORS_IN_MEMORY
        elif self._in_memory and sum(map(len, self._indexes.values())) + len(self._passages) > MAX_VECTORS_IN_MEMORY:
            self._clear_indexes()
            self._in_memory = False
        return self._in_memory

    def _clear_indexes(self) -> None:
        dimensions = self._database.stamp.dimensions
        tables = self._database
        self._indexes = {layer: MemoryIndex(tables.raw_table(layer), dimensions, _LABELS) for layer in LAYERS}
        self._passages = MemoryIndex(tables.raw_table("passages"), dimensions, ("project",), of_memories=False)


def _hits(rows: pa.Table, table: str) -> list[VectorHit]:
    return [
        VectorHit(memory_id, table, 1.0 - distance)
        for memory_id, distance in zip(
            rows.column("id").to_pylist(), rows.column("_distance").to_pylist(), strict=True
        )
    ]


def _owner_of(passage_id: str) -> str:
    return passage_id.rpartition("#")[0]


class JoinedIndex:
    """The in-memory indexes of all layers, joined end to end: one index numbers every memory of the store."""

    def __init__(self, versions: tuple[int, ...], layers: Mapping[Layer, MemoryIndex], passages: MemoryIndex) -> None:
        self.versions = versions
        self._layers = {layer: index for layer, index in layers.items() if len(index)}
        sizes = [len(index) for index in self._layers.values()]
        self._starts = dict(zip(self._layers, np.cumsum([0, *sizes]).tolist(), strict=False))
        self._size = sum(sizes)
        self._sessions = self._joined([index.sessions for index in self._layers.values()], np.int64)
        moments = self._joined([index.moments for index in self._layers.values()], np.int64)
        self._by_session_and_time = np.lexsort((np.arange(self._size), moments, self._sessions))
        self._passages = passages
        self._passage_owners = self._owners_of(passages)

    def __len__(self) -> int:
        return self._size

    def id_at(self, index: int) -> str:
        """Return the id of a memory."""
        layer, own = self._layer_and_index(index)
        return self._layers[layer].ids[own]

    def location_at(self, index: int) -> RowLocation:
        """Return where the row of a memory was last seen."""
        layer, own = self._layer_and_index(index)
        return RowLocation(layer, self._layers[layer].row_id(own))

    def alive(self) -> np.ndarray:
        """Return a mask of the memories that still have a row."""
        return self._joined([index.with_labels([]) for index in self._layers.values()], np.bool_)

    def in_scope(self, scope: Scope, statuses: Sequence[str] | None = None) -> np.ndarray:
        """Return a mask of the memories whose project, status and layer are in scope."""
        wanted = [scope.projects, scope.statuses if statuses is None else statuses]
        parts = [
            index.with_labels(wanted) if layer in scope.layers else np.zeros(len(index), np.bool_)
            for layer, index in self._layers.items()
        ]
        return self._joined(parts, np.bool_)

    def with_ids(self, ids: Mapping[str, Sequence[str]]) -> np.ndarray:
        """Return a mask of the memories that are among the ids given for their table."""
        mask = np.zeros(self._size, np.bool_)
        for layer, index in self._layers.items():
            own = (index.index_of(memory_id) for memory_id in ids.get(layer, ()))
            mask[[self._starts[layer] + one for one in own if one is not None]] = True
        return mask

    def term_entries(self, asked: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return one entry for each memory that has an asked term: which term, which memory, how often."""
        parts = [
            index.lexical_index.entries(asked) for index in self._layers.values() if index.lexical_index is not None
        ]
        if not parts:
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32)
        owners = [part[1] + start for part, start in zip(parts, self._starts.values(), strict=True)]
        return (
            np.concatenate([part[0] for part in parts]),
            np.concatenate(owners),
            np.concatenate([part[2] for part in parts]),
        )

    def lengths(self) -> np.ndarray:
        """Return how many words each memory has."""
        lexical = [index.lexical_index.lengths(len(index)) for index in self._layers.values() if index.lexical_index]
        return self._joined(lexical, np.float32)

    def cosines(self, vector: Vector) -> np.ndarray:
        """Return the cosine of each memory: the best of its own vector and its passages'."""
        cosines = self._joined([index.similarities(vector) for index in self._layers.values()], np.float32)
        owned = self._passage_owners != NOBODY
        np.maximum.at(cosines, self._passage_owners[owned], self._passages.similarities(vector)[owned])
        return cosines

    def passage_counts(self) -> np.ndarray:
        """Return how many passages each memory has."""
        owners = self._passage_owners
        return np.bincount(owners[owners != NOBODY], minlength=self._size)

    def neighbours(self, in_scope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return for each memory the one before and the one after it in its session, of those in scope."""
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
            owners[index] = self._index_of(_owner_of(passages.ids[index]))
        return owners

    def _index_of(self, memory_id: str) -> int:
        for layer, index in self._layers.items():
            own = index.index_of(memory_id)
            if own is not None:
                return int(self._starts[layer] + own)
        return NOBODY

    def _layer_and_index(self, index: int) -> tuple[Layer, int]:
        layer = [layer for layer, start in self._starts.items() if start <= index][-1]
        return layer, index - self._starts[layer]

    @staticmethod
    def _joined(parts: Sequence[np.ndarray], kind: type) -> np.ndarray:
        return np.concatenate(parts) if parts else np.empty(0, kind)


@dataclass(frozen=True, slots=True, eq=False)
class IndexCandidates:
    """The candidates of a small store: every memory of its joined index that the mask has in scope."""

    index: JoinedIndex
    in_scope: np.ndarray
    scope: Scope


@dataclass(frozen=True, slots=True)
class TableCandidates:
    """The candidates of a large store: the best of each of LanceDB's searches, each with its score."""

    by_words: list[TextHit]
    by_vector: list[VectorHit]
    by_passage: Mapping[str, float]  # memory id to the cosine of its closest passage


Candidates = IndexCandidates | TableCandidates


class CandidateSearch:
    """Finds the candidates for queries on one domain; every answer sees what any process has written."""

    def __init__(self, database: Database, vectors: VectorSearch) -> None:
        self._database = database
        self._vectors = vectors
        self._joined: JoinedIndex | None = None  # reused until a table changes

    async def find(self, text: str, vector: Vector | None, scope: Scope, limit: int) -> Candidates:
        """Return the candidates for a query; of a large store, the best `limit` of each search."""
        indexes = await self._vectors.memory_indexes(scope)
        if indexes is None:
            return await self._in_tables(text, vector, scope, limit)
        joined = self._join(*indexes)
        return IndexCandidates(joined, await self._in_scope(joined, scope), scope)

    async def matching(self, text: str, scope: Scope, limit: int) -> list[TextHit]:
        """Return the memories that share words with a text, best first by LanceDB's BM25."""
        query = search_text(text)
        where = scope.condition()

        async def search(table: Table) -> list[TextHit]:
            return await table.matching(query, where, limit) if await table.count() else []

        parts = await asyncio.gather(*(search(self._database.table(layer)) for layer in scope.tables))
        return sorted((hit for part in parts for hit in part), key=lambda hit: -hit.score)[:limit]

    def _join(self, layers: Mapping[Layer, MemoryIndex], passages: MemoryIndex) -> JoinedIndex:
        versions = (*(index.version for index in layers.values()), passages.version)
        if self._joined is None or self._joined.versions != versions:
            self._joined = JoinedIndex(versions, layers, passages)
        return self._joined

    async def _in_scope(self, joined: JoinedIndex, scope: Scope) -> np.ndarray:
        """Return a mask of the memories in scope; the tables decide where project and status do not."""
        if scope.is_plain:
            return joined.in_scope(scope)
        condition = scope.condition()
        parts = await asyncio.gather(*(self._database.table(layer).rows(["id"], condition) for layer in scope.tables))
        ids = [rows.column("id").to_pylist() for rows in parts]
        return joined.with_ids(dict(zip(scope.tables, ids, strict=True)))

    async def _in_tables(self, text: str, vector: Vector | None, scope: Scope, limit: int) -> TableCandidates:
        by_words, (by_vector, by_passage) = await asyncio.gather(
            self.matching(text, scope, limit), self._by_vector(vector, scope, limit)
        )
        return TableCandidates(by_words, by_vector, by_passage)

    async def _by_vector(
        self, vector: Vector | None, scope: Scope, limit: int
    ) -> tuple[list[VectorHit], dict[str, float]]:
        if vector is None:
            return [], {}
        return await asyncio.gather(
            self._vectors.nearest(vector, scope, limit), self._vectors.nearest_passages(vector, scope, limit)
        )
