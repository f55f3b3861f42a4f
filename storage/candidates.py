"""Candidates for a query: the first stage of recall. What they are worth is computed in recall/features.py.

Words find candidates through the index in memory, at every size of the store. Vectors find them in one of two ways,
whichever the memory budget allows: in memory every memory in scope is compared; on disk LanceDB's index names the
nearest. Either way says only which memories are candidates. Their cosines are computed from the vectors themselves,
so that the same candidates have the same features.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import numpy as np

from reverie.storage.database import Database
from reverie.storage.joined_index import NOBODY, JoinedIndex
from reverie.storage.lance_table import Table, TextHit
from reverie.storage.memory_index import MemoryIndex
from reverie.storage.rows import Vector
from reverie.storage.schema import ARCHIVE
from reverie.storage.scope import Scope
from reverie.storage.vector_search import VectorSearch
from reverie.text.tokenize import search_text

_MEMORIES_ASKED = 2  # times the limit, if any memory has passages: their cost lets others of the nearest move up
_PASSAGES_ASKED = 4  # times the limit: several of the nearest may be of one memory, or of one out of scope
_NO_COSINE = -1.0

CosinesOf = Callable[[np.ndarray], Awaitable[np.ndarray]]


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """What a query can find: the index of every memory, and two masks over it."""

    index: JoinedIndex
    scope: Scope
    in_scope: np.ndarray
    near: np.ndarray  # what vectors found, all of it in scope; nothing where the query has no vector
    cosines_of: CosinesOf  # from indices of memories to the best cosine of each and its passages


class CandidateSearch:
    """Finds the candidates for queries on one domain; every answer sees what any process has written."""

    def __init__(self, database: Database, vectors: VectorSearch) -> None:
        self._database = database
        self._vectors = vectors
        self._joined: dict[tuple[str, ...], JoinedIndex] = {}  # by tables; reused until one of them changes

    async def find(self, vector: Vector | None, scope: Scope, limit: int) -> Candidates:
        """Return what a query can find, of which `limit` by vector are wanted."""
        index = self._join(*await self._vectors.indexes(scope))
        in_scope = await self._in_scope(index, scope)
        if vector is None:
            return Candidates(index, scope, in_scope, np.zeros(len(index), np.bool_), _no_cosines)
        if await self._vectors.are_in_memory(scope):
            return _in_memory(index, scope, in_scope, vector)
        return await self._on_disk(index, scope, in_scope, vector, limit)

    async def matching(self, text: str, scope: Scope, limit: int) -> list[TextHit]:
        """Return the memories that share words with a text, best first by LanceDB's BM25."""
        query = search_text(text)
        where = scope.condition()

        async def search(table: Table) -> list[TextHit]:
            return await table.matching(query, where, limit) if await table.count() else []

        layers = [name for name in scope.tables if name != ARCHIVE]  # which has no index of its texts
        parts = await asyncio.gather(*(search(self._database.table(layer)) for layer in layers))
        return sorted((hit for part in parts for hit in part), key=lambda hit: -hit.score)[:limit]

    def _join(self, tables: Mapping[str, MemoryIndex], passages: Mapping[str, MemoryIndex]) -> JoinedIndex:
        versions = tuple(index.version for index in (*tables.values(), *passages.values()))
        known = self._joined.get(tuple(tables))
        if known is None or not known.is_of(versions, tables):
            known = self._joined[tuple(tables)] = JoinedIndex(versions, tables, passages, known)
        return known

    async def _in_scope(self, index: JoinedIndex, scope: Scope) -> np.ndarray:
        """Return a mask of the memories in scope; the tables decide where project and status do not."""
        if scope.is_plain:
            return index.in_scope(scope)
        condition = scope.condition()
        parts = await asyncio.gather(*(self._database.table(layer).rows(["id"], condition) for layer in scope.tables))
        ids = [rows.column("id").to_pylist() for rows in parts]
        return index.with_ids(dict(zip(scope.tables, ids, strict=True)))

    async def _on_disk(
        self, index: JoinedIndex, scope: Scope, in_scope: np.ndarray, vector: Vector, limit: int
    ) -> Candidates:
        """Let LanceDB's index name the nearest."""
        asked = _MEMORIES_ASKED * limit if index.has_passages else limit
        hits, by_passage = await asyncio.gather(
            self._vectors.nearest_on_disk(vector, scope, asked),
            self._vectors.nearest_passages(vector, scope, _PASSAGES_ASKED * limit if index.has_passages else 0),
        )
        found = [index.index_of(hit.id, hit.table) for hit in hits] + [index.index_of(one) for one in by_passage]
        near = np.zeros(len(index), np.bool_)
        near[[one for one in found if one != NOBODY]] = True

        async def cosines_of(indices: np.ndarray) -> np.ndarray:
            return await self._cosines(index, indices, vector)

        return Candidates(index, scope, in_scope, near & in_scope, cosines_of)

    async def _cosines(self, index: JoinedIndex, indices: np.ndarray, vector: Vector) -> np.ndarray:
        """Read the vectors of memories and of their passages; what is gone meanwhile is near to nothing."""
        ids = {int(number): index.id_at(int(number)) for number in indices}
        by_table: dict[str, dict[str, int | None]] = {}
        for number, memory_id in ids.items():
            location = index.location_at(number)
            by_table.setdefault(location.table, {})[memory_id] = location.row_id
        passages = index.passages_of(indices)
        for name, some in passages.items():
            if some:
                by_table[name] = {passage_id: row_id for passage_id, (_, row_id) in some.items()}
        read = await asyncio.gather(*(self._vectors.read_vectors(table, rows) for table, rows in by_table.items()))
        vectors = {one: own for part in read for one, own in part.items()}
        cosines = np.full(len(index), _NO_COSINE, np.float32)
        owners = [
            *((one, number) for number, one in ids.items()),
            *((one, own) for some in passages.values() for one, (own, _) in some.items()),
        ]
        known = [(one, number) for one, number in owners if one in vectors]
        if known:
            similarities = np.stack([vectors[one] for one, _ in known]) @ vector
            np.maximum.at(cosines, np.array([number for _, number in known]), similarities)
        return np.asarray(cosines[indices])


def _in_memory(index: JoinedIndex, scope: Scope, in_scope: np.ndarray, vector: Vector) -> Candidates:
    """Take every memory in scope; all are compared at once."""
    cosines = index.cosines(vector, in_scope)

    async def cosines_of(indices: np.ndarray) -> np.ndarray:
        return np.asarray(cosines[indices])

    return Candidates(index, scope, in_scope, in_scope, cosines_of)


async def _no_cosines(indices: np.ndarray) -> np.ndarray:
    return np.full(len(indices), _NO_COSINE, np.float32)
