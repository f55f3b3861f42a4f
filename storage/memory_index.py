"""The in-memory index of one table: its labels, words, sessions and, where they fit, its vectors and rows.

It is kept in step with the versions of the table. LanceDB searches a table of ten thousand vectors in about 20 ms,
most of it spent reading them again; a product with a matrix that is already in memory takes one. Where the vectors
are too many for the memory budget they stay on disk, and so do the rows; labels, words and sessions do not, nor do
vectors that are packed (packed_vectors.py): LanceDB cannot search those.

An index is the number of a memory in the arrays here. A row id is where LanceDB keeps its row; it changes whenever
the row is rewritten.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

import numpy as np
import pyarrow as pa

from reverie.process_memory import release_heap
from reverie.storage.filters import one_of
from reverie.storage.lance_table import Table
from reverie.storage.lexical_index import LexicalIndex
from reverie.storage.packed_vectors import VectorMatrix
from reverie.storage.row_cache import RowCache, RowRoom
from reverie.storage.rows import CANDIDATE_COLUMNS, OWNER_COLUMNS, RowLocation, Vector, owners_of

_FEW_ROWS = 500
_FIRST_ROOM = 256
_UNKNOWN = -1
_NO_SESSION = 0
_SESSIONS_CACHED = 4_096

OWNER = "owner"
"""The label of whose personal memory a row is; it is made of two columns."""


@dataclass(frozen=True, slots=True)
class VectorHit:
    """A memory found by vector: its table, the cosine to the query, and its row id if that is known."""

    id: str
    table: str
    similarity: float
    row_id: int | None = None

    @property
    def location(self) -> RowLocation:
        """Where its row was found."""
        return RowLocation(self.table, self.row_id)


class MemoryIndex:
    """The labels of each row, such as project and status; and its vector, if `room` is None only packed ones.

    The index of a layer also has the words, sessions and times of its memories, and a cache of their rows.
    """

    def __init__(
        self,
        table: Table,
        dimensions: int,
        columns: Sequence[str],
        room: RowRoom | None,
        *,
        of_memories: bool = True,
    ) -> None:
        self._table = table
        self._columns = tuple(columns)  # the label columns, such as project and status
        self._stamp = "updated_at" if of_memories else "precision"  # its change says that a vector may have changed
        self.lexical_index = LexicalIndex() if of_memories else None
        self.row_cache = RowCache(CANDIDATE_COLUMNS, room) if of_memories and room is not None else None
        self._version = -1
        self._ids: list[str] = []
        self._index_of: dict[str, int] = {}
        self._vectors = VectorMatrix(dimensions, keeps_whole=room is not None)
        self._labels = np.zeros((_FIRST_ROOM, len(self._columns)), np.int32)
        self._alive = np.zeros(_FIRST_ROOM, np.bool_)
        self._stamps = np.zeros(_FIRST_ROOM, np.int64)
        self._row_ids = np.full(_FIRST_ROOM, _UNKNOWN, np.int64)
        self._sessions = np.zeros(_FIRST_ROOM, np.int64)
        self._moments = np.zeros(_FIRST_ROOM, np.int64)
        self._codes: list[dict[str | None, int]] = [{} for _ in self._columns]
        self._refreshing = asyncio.Lock()

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def version(self) -> int:
        """The version of the table that is indexed."""
        return self._version

    @property
    def has_vectors(self) -> bool:
        """Whether the vectors are in memory."""
        return self._vectors is not None

    @property
    def gone(self) -> int:
        """How many of the memories indexed have no row any more."""
        return len(self._ids) - int(np.count_nonzero(self._alive[: len(self._ids)]))

    @property
    def ids(self) -> list[str]:
        """The id at each index."""
        return self._ids

    @property
    def sessions(self) -> np.ndarray:
        """A number for the session at each index, zero for none."""
        return self._sessions[: len(self._ids)]

    @property
    def moments(self) -> np.ndarray:
        """When the memory at each index happened, in microseconds."""
        return self._moments[: len(self._ids)]

    def index_of(self, memory_id: str) -> int | None:
        """Return the index of a memory."""
        return self._index_of.get(memory_id)

    def vector_of(self, memory_id: str) -> Vector | None:
        """Return the vector of a memory, if it is in memory."""
        index = self._index_of.get(memory_id)
        return None if index is None or not self._alive[index] else self._vectors.at(index)

    def cached_rows(self, ids: Iterable[str]) -> tuple[set[str], pa.Table | None]:
        """Return which of these memories have their rows cached, and the rows."""
        if self.row_cache is None:
            return set(), None
        known = {i: self._index_of[i] for i in ids if i in self._index_of}
        cached = {i: index for i, index in known.items() if self._alive[index] and self.row_cache.has(index)}
        return set(cached), self.row_cache.rows(np.array([*cached.values()])) if cached else None

    def similarities(self, vector: Vector) -> np.ndarray:
        """Return the cosine at every index, in scope or not; FAR where the vector is on disk."""
        return self._vectors.similarities(vector, len(self._ids))

    @property
    def has_packed_vectors(self) -> bool:
        """Whether any vector is packed: those are in memory at every size of the store."""
        return self._vectors.has_packed

    def vector_counts(self) -> dict[int, int]:
        """Return how many vectors of each precision are in memory."""
        return self._vectors.counts()

    @property
    def vector_bytes(self) -> int:
        """How many bytes the vectors in memory take."""
        return self._vectors.nbytes

    def with_labels(self, wanted: Sequence[Iterable[str | None] | None]) -> np.ndarray:
        """Return a mask of the memories that have a row and the wanted value of each label (None: any)."""
        count = len(self._ids)
        if not count:
            return np.zeros(0, np.bool_)
        mask = self._alive[:count].copy()
        for number, values in enumerate(wanted):
            if values is not None:
                known = self._codes[number]
                fits = np.zeros(len(known), np.bool_)
                fits[[known[value] for value in values if value in known]] = True
                mask &= fits[self._labels[:count, number]]
        return mask

    def row_id(self, index: int) -> int | None:
        """Return the row id that the memory at an index had when it was last read."""
        row_id = int(self._row_ids[index])
        return None if row_id == _UNKNOWN else row_id

    async def refresh(self) -> None:
        """Take in what any process changed since the last time.

        A change rewrites a row under another row id. So the row ids alone show what is new and what is gone.
        """
        async with self._refreshing:
            version = await self._table.version()
            if version == self._version:
                return
            row_ids = await self._table.all_row_ids()
            fresh = np.setdiff1d(row_ids, self._row_ids[: len(self._ids)])
            if len(fresh) and not await self._read_few(fresh):
                row_ids = await self._read_anew()
                pa.default_memory_pool().release_unused()
                release_heap()
            self._alive[: len(self._ids)] = np.isin(self._row_ids[: len(self._ids)], row_ids)
            self._version = version

    async def drop_vectors(self) -> None:
        """Leave the vectors and the rows to the table from now on."""
        async with self._refreshing:
            self._vectors.drop_whole()
            if self.row_cache is not None:
                self.row_cache.clear()
                self.row_cache = None

    def note_added(self, version: int, rows: pa.Table) -> None:
        """Take in rows that this process has just appended, unless others wrote in between."""
        if version == self._version + 1:
            self._put(rows)
            self._version = version

    def nearest(
        self, vector: Vector, limit: int, wanted: Sequence[Iterable[str | None] | None], *, packed_only: bool = False
    ) -> list[VectorHit]:
        """Return the closest rows whose labels are among the wanted ones (None: any), best first."""
        mask = self.with_labels(wanted)
        return self._nearest(vector, limit, mask & self._vectors.is_packed(len(mask)) if packed_only else mask)

    def nearest_packed_of(self, vector: Vector, limit: int, ids: Iterable[str]) -> list[VectorHit]:
        """Return the closest of these rows that have packed vectors, best first."""
        mask = np.zeros(len(self._ids), np.bool_)
        mask[[self._index_of[one] for one in ids if one in self._index_of]] = True
        return self._nearest(vector, limit, mask & self._alive[: len(mask)] & self._vectors.is_packed(len(mask)))

    def _nearest(self, vector: Vector, limit: int, mask: np.ndarray) -> list[VectorHit]:
        indices = np.flatnonzero(mask)
        if not len(indices):
            return []
        similarities = self.similarities(vector)[indices]
        if len(indices) > limit:
            least = np.partition(similarities, -limit)[-limit]
            indices, similarities = indices[similarities >= least], similarities[similarities >= least]
        best = np.argsort(-similarities, kind="stable")[:limit]
        return [
            VectorHit(self._ids[index], self._table.name, float(similarity), self.row_id(index))
            for index, similarity in zip(indices[best], similarities[best], strict=True)
        ]

    async def _read_few(self, row_ids: np.ndarray) -> bool:
        """Read new rows by their row ids; not if they are many, or were rewritten again meanwhile."""
        if len(row_ids) > _FEW_ROWS:
            return False
        rows = await self._table.take(row_ids, self._columns_of_a_row())
        if len(rows) == len(row_ids):
            self._put(rows)
            return True
        return False

    async def _read_anew(self) -> np.ndarray:
        """Read the labels of all rows, and vectors and words where they may have changed; return the row ids."""
        labels = await self._table.rows(["id", *self._label_columns, *self._more_columns()], with_row_ids=True)
        ids: list[str] = labels.column("id").to_pylist()
        await self._fetch(self._outdated(ids, self._stamps_of(labels)))
        indices = np.fromiter((self._index_of[memory_id] for memory_id in ids), np.int64, len(ids))
        self._label(indices, labels)
        if self.row_cache is not None:
            self.row_cache.clear()
            self._cache(await self._table.rows(self.row_cache.columns, with_row_ids=True))
        return np.asarray(self._row_ids[indices])

    def _cache(self, rows: pa.Table) -> None:
        """Cache the rows whose row id is still the one indexed; others were rewritten between two reads."""
        indices = np.fromiter(
            (self._index_of.get(i, _UNKNOWN) for i in rows.column("id").to_pylist()), np.int64, len(rows)
        )
        same = (indices != _UNKNOWN) & (self._row_ids[indices] == rows.column("_rowid").to_numpy().astype(np.int64))
        if self.row_cache is not None:
            # A filter leaves twice the room it needs, and hardly ever is there anything to filter.
            self.row_cache.write(indices[same], rows if same.all() else rows.filter(pa.array(same)))

    def _outdated(self, ids: Sequence[str], stamps: np.ndarray) -> list[str]:
        known = self._index_of
        return [
            memory_id
            for memory_id, stamp in zip(ids, stamps, strict=True)
            if memory_id not in known or self._stamps[known[memory_id]] != stamp
        ]

    async def _fetch(self, missing: Sequence[str]) -> None:
        if len(missing) > max(_FEW_ROWS, len(self._ids)):
            wanted = set(missing)
            rows = await self._table.rows(self._read_for_each)
            is_wanted = [memory_id in wanted for memory_id in rows.column("id").to_pylist()]
            fresh = rows if all(is_wanted) else rows.filter(pa.array(is_wanted))
            self._make_room(len(self._ids) + len(fresh))
            self._vectors.reserve(fresh)
            for start in range(0, len(fresh), _FEW_ROWS):
                self._index_texts(fresh.slice(start, _FEW_ROWS))
                await asyncio.sleep(0)  # reading ten thousand texts takes a while, and others wait for the loop
            return
        for start in range(0, len(missing), _FEW_ROWS):
            part = missing[start : start + _FEW_ROWS]
            self._index_texts(await self._table.rows(self._read_for_each, one_of("id", part)))

    def _put(self, rows: pa.Table) -> None:
        """Index complete rows."""
        indices = self._index_texts(rows)
        self._label(indices, rows)
        if self.row_cache is not None:
            self.row_cache.write(indices, rows)

    def _index_texts(self, rows: pa.Table) -> np.ndarray:
        indices = self._indices_for(rows.column("id").to_pylist())
        self._vectors.write(indices, rows)
        if self.lexical_index is not None:
            self.lexical_index.write(indices, rows.column("search_text").to_pylist())
        return indices

    def _indices_for(self, ids: Sequence[str]) -> np.ndarray:
        """Return the indices of these ids; new ones are put at the end."""
        fresh = [memory_id for memory_id in dict.fromkeys(ids) if memory_id not in self._index_of]
        start, end = len(self._ids), len(self._ids) + len(fresh)
        if end > len(self._alive):
            self._make_room(max(end, len(self._alive) * 3 // 2))
        self._ids.extend(fresh)
        self._index_of.update(zip(fresh, range(start, end), strict=True))
        indices = np.fromiter((self._index_of[memory_id] for memory_id in ids), np.int64, len(ids))
        self._alive[indices] = True
        return indices

    def _label(self, indices: np.ndarray, rows: pa.Table) -> None:
        for number, column in enumerate(self._columns):
            values = owners_of(rows) if column == OWNER else rows.column(column)
            self._labels[indices, number] = self._coded(number, values)
        self._stamps[indices] = self._stamps_of(rows)
        known = "_rowid" in rows.column_names  # not of rows that were just appended
        self._row_ids[indices] = rows.column("_rowid").to_numpy().astype(np.int64) if known else _UNKNOWN
        if self.lexical_index is not None:
            self._sessions[indices] = [_session_number(session) for session in rows.column("session").to_pylist()]
            self._moments[indices] = rows.column("happened_at").cast(pa.int64()).to_numpy()

    @property
    def _label_columns(self) -> list[str]:
        return [part for name in self._columns for part in (OWNER_COLUMNS if name == OWNER else (name,))]

    @property
    def _read_for_each(self) -> tuple[str, ...]:
        return ("id", *self._vectors.columns, *(() if self.lexical_index is None else ("search_text",)))

    def _more_columns(self) -> tuple[str, ...]:
        return (self._stamp,) if self.lexical_index is None else (self._stamp, "session", "happened_at")

    def _columns_of_a_row(self) -> list[str]:
        cached = () if self.row_cache is None else self.row_cache.columns
        return list(dict.fromkeys((*self._read_for_each, *self._label_columns, *self._more_columns(), *cached)))

    def _stamps_of(self, rows: pa.Table) -> np.ndarray:
        return np.asarray(rows.column(self._stamp).cast(pa.int64()).to_numpy())

    def _make_room(self, room: int) -> None:
        extra = max(0, room - len(self._alive))
        self._labels = np.concatenate([self._labels, np.zeros((extra, len(self._columns)), np.int32)])
        self._alive = np.concatenate([self._alive, np.zeros(extra, np.bool_)])
        self._stamps = np.concatenate([self._stamps, np.zeros(extra, np.int64)])
        self._row_ids = np.concatenate([self._row_ids, np.full(extra, _UNKNOWN, np.int64)])
        self._sessions = np.concatenate([self._sessions, np.zeros(extra, np.int64)])
        self._moments = np.concatenate([self._moments, np.zeros(extra, np.int64)])

    def _coded(self, number: int, column: pa.ChunkedArray) -> np.ndarray:
        known = self._codes[number]
        return np.fromiter((known.setdefault(v, len(known)) for v in column.to_pylist()), np.int32, len(column))


@lru_cache(_SESSIONS_CACHED)
def _session_number(session: str | None) -> int:
    if session is None:
        return _NO_SESSION
    return int.from_bytes(blake2b(session.encode("utf-8", "replace"), digest_size=8).digest(), signed=True)
