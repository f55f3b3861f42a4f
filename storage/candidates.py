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
from reverie.storage.features import Candidate, Findings, Overview, Question
from reverie.storage.filters import everything, one_of
from reverie.storage.lance_table import Table, TextHit
from reverie.storage.memory_index import Hit, Shelf
from reverie.storage.rows import Embedded, Vector, as_values
from reverie.storage.scope import Scope
from reverie.text.search_text import search_text

MOST_ON_SHELVES = 20_000
"""Above this many vectors they are searched on disk, through the index that upkeep builds by then."""

_LABELS = ("project", "status")


class Vectors:
    """Nearest-neighbour search over the layer tables and the passages of long memories."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._on_shelves: bool | None = None
        self._clear_shelves()

    async def nearest(self, vector: Vector, scope: Scope, limit: int) -> list[Hit]:
        """Return the closest memories in scope, best first."""
        await self._database.additions.before_reading()
        return await self._in_tables(vector, scope, limit)

    async def around(self, vector: Vector, scope: Scope, limit: int, waiting: Sequence[Embedded]) -> list[Hit]:
        """Return the closest among the tables' memories and those that still wait, best first."""
        on_the_way = [
            Hit(item.memory.id, item.memory.layer, float(item.vector @ vector))
            for item in waiting
            if scope.admits(as_values(item.memory))
        ]
        best = {hit.id: hit for hit in (*on_the_way, *await self._in_tables(vector, scope, limit))}
        return sorted(best.values(), key=lambda hit: -hit.similarity)[:limit]

    async def _in_tables(self, vector: Vector, scope: Scope, limit: int) -> list[Hit]:
        if scope.is_plain and await self._fits_on_shelves():
            found = await asyncio.gather(*(self._from_shelf(layer, vector, scope, limit) for layer in scope.tables))
        else:
            found = await asyncio.gather(*(self._from_disk(layer, vector, scope, limit) for layer in scope.tables))
        hits = [hit for part in found for hit in part]
        return sorted(hits, key=lambda hit: -hit.similarity)[:limit]

    async def nearest_passages(self, vector: Vector, scope: Scope, limit: int) -> dict[str, float]:
        """Return the memories whose closest passage is nearest, with that similarity.

        Passages know only their project; the caller reads their memories in scope.
        """
        await self._database.additions.before_reading()
        if await self._fits_on_shelves():
            await self._passages.refresh()
            hits = self._passages.nearest(vector, limit, [scope.projects])
        else:
            table = self._database.unsettled("passages")
            where = everything() if scope.projects is None else one_of("project", scope.projects)
            hits = _hits(await table.nearest(vector, where, ["id"], limit), "passages")
        best: dict[str, float] = {}
        for hit in hits:
            best.setdefault(hit.id.rpartition("#")[0], hit.similarity)
        return best

    async def shelves(self, scope: Scope) -> tuple[dict[Layer, Shelf], Shelf] | None:
        """Return the shelves of the layers and of the passages, up to date; none when the store is too large.

        A table that cannot be read is told of only if the scope needs it.
        """
        await self._database.additions.before_reading()
        if not await self._fits_on_shelves():
            return None
        shelves = (*self._shelves.values(), self._passages)
        refreshed = await asyncio.gather(*(shelf.refresh() for shelf in shelves), return_exceptions=True)
        for name, failure in zip((*self._shelves, "passages"), refreshed, strict=True):
            needed = name in (*scope.tables, "passages")
            if failure is not None and (needed or not isinstance(failure, StoreError)):
                raise failure
        return self._shelves, self._passages

    def held(self, ids: Iterable[str]) -> dict[str, Vector]:
        """Return the vectors of those memories that stand on a shelf."""
        return {
            memory_id: vector
            for memory_id in ids
            for shelf in self._shelves.values()
            if (vector := shelf.vector_of(memory_id)) is not None
        }

    def rows_held(self, ids: Iterable[str]) -> tuple[set[str], list[pa.Table]]:
        """Return which of these memories stand on a shelf with what recall reads of them, and those rows."""
        wanted = list(ids)
        found = [shelf.held_rows(wanted) for shelf in self._shelves.values()]
        return {i for held, _ in found for i in held}, [rows for _, rows in found if rows is not None]

    def note_added(self, layer: Layer, version: int, rows: pa.Table) -> None:
        """Follow an append of this process without reading it back."""
        self._shelves[layer].note_added(version, rows)

    async def _from_shelf(self, layer: Layer, vector: Vector, scope: Scope, limit: int) -> list[Hit]:
        shelf = self._shelves[layer]
        await shelf.refresh()
        return shelf.nearest(vector, limit, [scope.projects, scope.statuses])

    async def _from_disk(self, layer: Layer, vector: Vector, scope: Scope, limit: int) -> list[Hit]:
        table = self._database.unsettled(layer)
        return _hits(await table.nearest(vector, scope.condition(), ["id"], limit), layer)

    async def _fits_on_shelves(self) -> bool:
        if self._on_shelves is None:
            tables: Sequence[str] = (*LAYERS, "passages")
            counts = await asyncio.gather(*(self._database.unsettled(name).count() for name in tables))
            self._on_shelves = sum(counts) <= MOST_ON_SHELVES
        elif self._on_shelves and sum(map(len, self._shelves.values())) + len(self._passages) > MOST_ON_SHELVES:
            self._clear_shelves()
            self._on_shelves = False
        return self._on_shelves

    def _clear_shelves(self) -> None:
        dimensions = self._database.stamp.dimensions
        tables = self._database
        self._shelves = {layer: Shelf(tables.unsettled(layer), dimensions, _LABELS) for layer in LAYERS}
        self._passages = Shelf(tables.unsettled("passages"), dimensions, ("project",), of_memories=False)


def _hits(rows: pa.Table, table: str) -> list[Hit]:
    return [
        Hit(memory_id, table, 1.0 - distance)
        for memory_id, distance in zip(
            rows.column("id").to_pylist(), rows.column("_distance").to_pylist(), strict=True
        )
    ]


class Search:
    """Searches one domain; every answer sees what any process has written."""

    def __init__(self, database: Database, vectors: Vectors) -> None:
        self._database = database
        self._vectors = vectors
        self._overview: Overview | None = None

    async def find(self, question: Question, scope: Scope, limit: int) -> Findings:
        """Return the best so many by meaning and the best so many by words."""
        held = await self._vectors.shelves(scope)
        if held is None:
            return await self._in_tables(question, scope, limit)
        overview = self._seen_together(*held)
        return overview.find(question, scope, await self._allowed(overview, scope), limit)

    async def matching(self, text: str, scope: Scope, limit: int) -> list[TextHit]:
        """Return the memories that share words with a text, best first by LanceDB's BM25."""
        query = search_text(text)
        where = scope.condition()

        async def search(table: Table) -> list[TextHit]:
            return await table.matching(query, where, limit) if await table.count() else []

        parts = await asyncio.gather(*(search(self._database.table(layer)) for layer in scope.tables))
        return sorted((hit for part in parts for hit in part), key=lambda hit: -hit.score)[:limit]

    def _seen_together(self, layers: Mapping[Layer, Shelf], passages: Shelf) -> Overview:
        versions = (*(shelf.version for shelf in layers.values()), passages.version)
        if self._overview is None or self._overview.versions != versions:
            self._overview = Overview(versions, layers, passages)
        return self._overview

    async def _allowed(self, overview: Overview, scope: Scope) -> np.ndarray:
        """Return which memories are in scope; the tables are asked about what the shelves have no label for."""
        if scope.is_plain:
            return overview.labelled(scope)
        condition = scope.condition()
        parts = await asyncio.gather(*(self._database.table(layer).rows(["id"], condition) for layer in scope.tables))
        ids = [rows.column("id").to_pylist() for rows in parts]
        return overview.named(dict(zip(scope.tables, ids, strict=True)))

    async def _in_tables(self, question: Question, scope: Scope, limit: int) -> Findings:
        by_words, (by_meaning, by_passage) = await asyncio.gather(
            self.matching(question.text, scope, limit), self._by_meaning(question, scope, limit)
        )
        texts = {hit.id: hit.score for hit in by_words}
        cosines = {hit.id: hit.similarity for hit in by_meaning}
        for memory_id, similarity in by_passage.items():
            cosines[memory_id] = max(similarity, cosines.get(memory_id, -1.0))
        seen: dict[str, Hit | TextHit] = {hit.id: hit for hit in by_meaning}
        seen |= {hit.id: hit for hit in by_words}
        return Findings(
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

    async def _by_meaning(self, question: Question, scope: Scope, limit: int) -> tuple[list[Hit], dict[str, float]]:
        if question.vector is None:
            return [], {}
        return await asyncio.gather(
            self._vectors.nearest(question.vector, scope, limit),
            self._vectors.nearest_passages(question.vector, scope, limit),
        )
