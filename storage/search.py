"""Finding what may answer a question, by meaning and by words, whatever the size of the store.

A small store is scored whole, in memory; a large one is asked table by table, through LanceDB's indexes, and knows
neither neighbours nor how rare a word is over all layers.
"""

import asyncio
from collections.abc import Mapping

import numpy as np

from reverie.memory import Layer
from reverie.storage.candidates import Candidate, Findings, Question
from reverie.storage.database import Database
from reverie.storage.overview import Overview
from reverie.storage.scope import Scope
from reverie.storage.shelf import Hit, Shelf
from reverie.storage.table import Table, TextHit
from reverie.storage.vectors import Vectors
from reverie.storage.wording import search_text


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
