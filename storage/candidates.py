"""Candidates for a query, by vector and by words, whatever the size of the store.

A small store is scored whole, in memory; a large one is asked table by table, through LanceDB's indexes.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from reverie.errors import StoreError
from reverie.memory import LAYERS, Layer
from reverie.storage.database import Database
from reverie.storage.features import Candidate, Candidates, MemoryFeatures, Query
from reverie.storage.filters import everything, one_of
from reverie.storage.lance_table import Table, TextHit
from reverie.storage.memory_index import MemoryIndex, VectorHit
from reverie.storage.rows import Embedded, Vector, as_values
from reverie.storage.scope import Scope
from reverie.text.search_text import search_text

MAX_VECTORS_IN_MEMORY = 20_000
"""Above this many vectors they are searched on disk, through the index that upkeep builds by then."""

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

    async def around(self, vector: Vector, scope: Scope, limit: int, waiting: Sequence[Embedded]) -> list[VectorHit]:
        """Return the closest among the tables' memories and those that still wait, best first."""
        on_the_way = [
            VectorHit(item.memory.id, item.memory.layer, float(item.vector @ vector))
            for item in waiting
            if scope.admits(as_values(item.memory))
        ]
        best = {hit.id: hit for hit in (*on_the_way, *await self._in_tables(vector, scope, limit))}
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
            best.setdefault(hit.id.rpartition("#")[0], hit.similarity)
        return best

    async def memory_indexes(self, scope: Scope) -> tuple[dict[Layer, MemoryIndex], MemoryIndex] | None:
        """Return the shelves of the layers and of the passages, up to date; none when the store is too large.

        A table that cannot be read is told of only if the scope needs it.
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

    def held(self, ids: Iterable[str]) -> dict[str, Vector]:
        """Return the vectors of those memories that stand on a shelf."""
        return {
            memory_id: vector
            for memory_id in ids
            for index in self._indexes.values()
            if (vector := index.vector_of(memory_id)) is not None
        }

    def rows_held(self, ids: Iterable[str]) -> tuple[set[str], list[pa.Table]]:
        """Return which of these memories stand on a shelf with what recall reads of them, and those rows."""
        wanted = list(ids)
        found = [index.held_rows(wanted) for index in self._indexes.values()]
        return {i for held, _ in found for i in held}, [rows for _, rows in found if rows is not None]

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


class CandidateSearch:
    """Searches one domain; every answer sees what any process has written."""

    def __init__(self, database: Database, vectors: VectorSearch) -> None:
        self._database = database
        self._vectors = vectors
        self._overview: MemoryFeatures | None = None

    async def find(self, question: Query, scope: Scope, limit: int) -> Candidates:
        """Return the best so many by meaning and the best so many by words."""
        held = await self._vectors.memory_indexes(scope)
        if held is None:
            return await self._in_tables(question, scope, limit)
        features = self._seen_together(*held)
        return features.find(question, scope, await self._allowed(features, scope), limit)

    async def matching(self, text: str, scope: Scope, limit: int) -> list[TextHit]:
        """Return the memories that share words with a text, best first by LanceDB's BM25."""
        query = search_text(text)
        where = scope.condition()

        async def search(table: Table) -> list[TextHit]:
            return await table.matching(query, where, limit) if await table.count() else []

        parts = await asyncio.gather(*(search(self._database.table(layer)) for layer in scope.tables))
        return sorted((hit for part in parts for hit in part), key=lambda hit: -hit.score)[:limit]

    def _seen_together(self, layers: Mapping[Layer, MemoryIndex], passages: MemoryIndex) -> MemoryFeatures:
        versions = (*(index.version for index in layers.values()), passages.version)
        if self._overview is None or self._overview.versions != versions:
            self._overview = MemoryFeatures(versions, layers, passages)
        return self._overview

    async def _allowed(self, features: MemoryFeatures, scope: Scope) -> np.ndarray:
        """Return which memories are in scope; the tables are asked about what the shelves have no label for."""
        if scope.is_plain:
            return features.labelled(scope)
        condition = scope.condition()
        parts = await asyncio.gather(*(self._database.table(layer).rows(["id"], condition) for layer in scope.tables))
        ids = [rows.column("id").to_pylist() for rows in parts]
        return features.named(dict(zip(scope.tables, ids, strict=True)))

    async def _in_tables(self, question: Query, scope: Scope, limit: int) -> Candidates:
        by_words, (by_meaning, by_passage) = await asyncio.gather(
            self.matching(question.text, scope, limit), self._by_meaning(question, scope, limit)
        )
        texts = {hit.id: hit.score for hit in by_words}
        cosines = {hit.id: hit.similarity for hit in by_meaning}
        for memory_id, similarity in by_passage.items():
            cosines[memory_id] = max(similarity, cosines.get(memory_id, -1.0))
        seen: dict[str, VectorHit | TextHit] = {hit.id: hit for hit in by_meaning}
        seen |= {hit.id: hit for hit in by_words}
        return Candidates(
            [
                Candidate(
                    id=memory_id,
                    table=seen[memory_id].table if memory_id in seen else None,
                    place=seen[memory_id].place if memory_id in seen else None,
                    cosine=cosines.get(memory_id),
                    meaning=cosines.get(memory_id),
                    text=texts.get(memory_id, 0.0),
                )
                for memory_id in dict.fromkeys((*cosines, *texts))
            ]
        )

    async def _by_meaning(
        self, question: Query, scope: Scope, limit: int
    ) -> tuple[list[VectorHit], dict[str, float]]:
        if question.vector is None:
            return [], {}
        return await asyncio.gather(
            self._vectors.nearest(question.vector, scope, limit),
            self._vectors.nearest_passages(question.vector, scope, limit),
        )
