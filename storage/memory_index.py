"""The in-memory index of one table: its vectors, labels, words and rows, kept in step with its versions.

LanceDB searches a table of ten thousand vectors in about 20 ms, most of it spent reading them again; a product with a
matrix that is already in memory takes one. Rows beyond a size are read from the table instead.

An index is the number of a memory in the arrays here. A row id is where LanceDB keeps its row; it changes whenever
the row is rewritten.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Literal

import numpy as np
import pyarrow as pa

from reverie.process_memory import release_heap
from reverie.storage.filters import one_of
from reverie.storage.lance_table import Table
from reverie.storage.rows import CANDIDATE_COLUMNS, RowLocation, Vector
from reverie.text.tokenize import terms

_FIRST_ENTRIES = 4_096
_NO_TERM = 0
_MOST_COUNTED = 255
_FEWEST_TO_SORT = 4_096
_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


class LexicalIndex:
    """Which terms each memory has and how often, by the index of the memory."""

    def __init__(self) -> None:
        self._size = 0
        self._terms = np.zeros(_FIRST_ENTRIES, np.uint32)
        self._owners = np.zeros(_FIRST_ENTRIES, np.int32)
        self._counts = np.zeros(_FIRST_ENTRIES, np.uint8)
        self._lengths = np.zeros(0, np.float32)
        self._order = np.zeros(0, np.int32)  # the first entries, by their term
        self._sorted = np.zeros(0, np.uint32)  # their terms

    def write(self, indices: np.ndarray, texts: Sequence[str]) -> None:
        """Index the texts of memories; those that had one get the new one instead."""
        known = indices[indices < len(self._lengths)]
        if len(known) and self._lengths[known].any():
            self._terms[: self._size][np.isin(self._owners[: self._size], known)] = _NO_TERM
        self._make_room(int(indices.max(initial=-1)) + 1)
        for index, text in zip(indices.tolist(), texts, strict=True):
            counted = Counter(terms(text))
            self._append(index, counted)
            self._lengths[index] = counted.total()

    def lengths(self, count: int) -> np.ndarray:
        """Return how many words each of the first `count` memories has."""
        self._make_room(count)
        return self._lengths[:count]

    def entries(self, wanted: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return every entry of the wanted terms: which of them, whose, how often."""
        self._sort()
        found = [self._entries_of(np.uint32(term)) for term in wanted]
        numbers = np.repeat(np.arange(len(wanted)), [len(part) for part in found])
        entries = np.concatenate(found) if found else np.empty(0, np.int64)
        return numbers, self._owners[entries], self._counts[entries].astype(np.float32)

    def _entries_of(self, term: np.uint32) -> np.ndarray:
        """Return the entries of a term."""
        first, last = (np.searchsorted(self._sorted, term, side) for side in _SIDES)
        early = self._order[first:last]
        late = np.flatnonzero(self._terms[len(self._order) : self._size] == term) + len(self._order)
        return np.concatenate([early[self._terms[early] == term], late])  # some were written over since

    def _sort(self) -> None:
        if self._size - len(self._order) > max(_FEWEST_TO_SORT, self._size // 4):
            self._order = np.argsort(self._terms[: self._size], kind="stable").astype(np.int32)
            self._sorted = self._terms[self._order]

    def _append(self, index: int, counted: Counter[int]) -> None:
        start, end = self._size, self._size + len(counted)
        if end > len(self._terms):
            extra = max(end, len(self._terms) * 3 // 2) - len(self._terms)
            self._terms = np.concatenate([self._terms, np.zeros(extra, np.uint32)])
            self._owners = np.concatenate([self._owners, np.zeros(extra, np.int32)])
            self._counts = np.concatenate([self._counts, np.zeros(extra, np.uint8)])
        self._terms[start:end] = list(counted)
        self._owners[start:end] = index
        self._counts[start:end] = [min(count, _MOST_COUNTED) for count in counted.values()]
        self._size = end

    def _make_room(self, count: int) -> None:
        if count > len(self._lengths):
            extra = max(count, len(self._lengths) * 3 // 2) - len(self._lengths)
            self._lengths = np.concatenate([self._lengths, np.zeros(extra, np.float32)])


MOST_BYTES = 40 * 1024 * 1024
"""The most that one layer caches: twenty thousand memories of usual length."""

_MOST_PARTS = 16
_NOT_CACHED = -1


class RowCache:
    """Rows by the index of their memory; a row that changed is written again."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = tuple(columns)
        self._parts: list[pa.RecordBatch] = []
        self._part = np.full(0, _NOT_CACHED, np.int32)  # of each index, the batch that has its row
        self._row = np.full(0, _NOT_CACHED, np.int32)  # of each index, its row in that batch

    def write(self, indices: np.ndarray, rows: pa.Table) -> None:
        """Cache these rows instead of earlier ones of the same indices, unless they are too much."""
        self._make_room(int(indices.max(initial=-1)) + 1)
        self._part[indices] = _NOT_CACHED
        part = _as_batch(rows.select(self.columns))
        if part is None or sum(one.nbytes for one in self._parts) + part.nbytes > MOST_BYTES:
            return
        self._part[indices] = len(self._parts)
        self._row[indices] = np.arange(len(indices))
        self._parts.append(part)
        if len(self._parts) > _MOST_PARTS:
            self._merge()

    def clear(self) -> None:
        """Drop every row."""
        self._parts = []
        self._part[:] = _NOT_CACHED

    def has(self, index: int) -> bool:
        """Say whether the row of an index is cached."""
        return index < len(self._part) and bool(self._part[index] != _NOT_CACHED)

    def rows(self, indices: np.ndarray) -> pa.Table:
        """Return the cached rows of these indices, in no particular order."""
        parts = self._part[indices]
        batches = [
            self._parts[part].take(pa.array(self._row[indices[parts == part]])) for part in np.unique(parts).tolist()
        ]
        return pa.Table.from_batches(batches)

    def _merge(self) -> None:
        """Copy the rows that are still current into one batch."""
        indices = np.flatnonzero(self._part != _NOT_CACHED)
        indices = indices[np.lexsort((self._row[indices], self._part[indices]))]
        part = _as_batch(self.rows(indices))
        self._parts = [] if part is None else [part]
        self._part[indices], self._row[indices] = 0, np.arange(len(indices))

    def _make_room(self, count: int) -> None:
        if count > len(self._part):
            extra = np.full(max(count, len(self._part) * 3 // 2) - len(self._part), _NOT_CACHED, np.int32)
            self._part = np.concatenate([self._part, extra])
            self._row = np.concatenate([self._row, extra])


def _as_batch(rows: pa.Table) -> pa.RecordBatch | None:
    batches = rows.combine_chunks().to_batches()
    return batches[0] if batches else None


_FEW_ROWS = 500
_FIRST_ROOM = 256
_UNKNOWN = -1
_NO_SESSION = 0
_SESSIONS_CACHED = 4_096


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
    """A matrix of unit vectors with the project and status of each row.

    The index of a layer also has the words, sessions and times of its memories, and a cache of their rows.
    """

    def __init__(self, table: Table, dimensions: int, columns: Sequence[str], *, of_memories: bool = True) -> None:
        self._table = table
        self._columns = tuple(columns)  # the label columns, such as project and status
        self._stamp = "updated_at" if of_memories else None  # its change says that a vector may have changed too
        self._read_for_each = ("id", "vector", "search_text") if of_memories else ("id", "vector")
        self.lexical_index = LexicalIndex() if of_memories else None
        self.row_cache = RowCache(CANDIDATE_COLUMNS) if of_memories else None
        self._dimensions = dimensions
        self._version = -1
        self._ids: list[str] = []
        self._index_of: dict[str, int] = {}
        self._vectors = np.empty((_FIRST_ROOM, dimensions), np.float32)
        self._labels = np.zeros((_FIRST_ROOM, len(self._columns)), np.int32)
        self._alive = np.zeros(_FIRST_ROOM, np.bool_)
        self._stamps = np.zeros(_FIRST_ROOM, np.int64)
        self._row_ids = np.full(_FIRST_ROOM, _UNKNOWN, np.int64)
        self._sessions = np.zeros(_FIRST_ROOM, np.int64)
        self._moments = np.zeros(_FIRST_ROOM, np.int64)
        self._codes: list[dict[str, int]] = [{} for _ in self._columns]
        self._refreshing = asyncio.Lock()

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def version(self) -> int:
        """The version of the table that is indexed."""
        return self._version

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
        """Return the vector of a memory."""
        index = self._index_of.get(memory_id)
        return None if index is None or not self._alive[index] else self._vectors[index]

    def cached_rows(self, ids: Iterable[str]) -> tuple[set[str], pa.Table | None]:
        """Return which of these memories have their rows cached, and the rows."""
        if self.row_cache is None:
            return set(), None
        known = {i: self._index_of[i] for i in ids if i in self._index_of}
        cached = {i: index for i, index in known.items() if self._alive[index] and self.row_cache.has(index)}
        return set(cached), self.row_cache.rows(np.array([*cached.values()])) if cached else None

    def similarities(self, vector: Vector) -> np.ndarray:
        """Return the cosine at every index, in scope or not."""
        return np.asarray(self._vectors[: len(self._ids)] @ vector)

    def with_labels(self, wanted: Sequence[Iterable[str] | None]) -> np.ndarray:
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

    def note_added(self, version: int, rows: pa.Table) -> None:
        """Take in rows that this process has just appended, unless others wrote in between."""
        if version == self._version + 1:
            self._put(rows)
            self._version = version

    def nearest(self, vector: Vector, limit: int, wanted: Sequence[Iterable[str] | None]) -> list[VectorHit]:
        """Return the closest rows whose labels are among the wanted ones (None: any), best first."""
        indices = np.flatnonzero(self.with_labels(wanted))
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
        labels = await self._table.rows(["id", *self._columns, *self._more_columns()], with_row_ids=True)
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
            mask = pa.array([memory_id in wanted for memory_id in rows.column("id").to_pylist()])
            fresh = rows.filter(mask)
            self._make_room(len(self._ids) + len(fresh))
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
        indices = self._write_vectors(
            rows.column("id").to_pylist(), as_matrix(rows.column("vector"), self._dimensions)
        )
        if self.lexical_index is not None:
            self.lexical_index.write(indices, rows.column("search_text").to_pylist())
        return indices

    def _write_vectors(self, ids: Sequence[str], vectors: np.ndarray) -> np.ndarray:
        """Write vectors at the indices of their ids, new ones at the end; return the indices."""
        fresh = [memory_id for memory_id in dict.fromkeys(ids) if memory_id not in self._index_of]
        start, end = len(self._ids), len(self._ids) + len(fresh)
        if end > len(self._vectors):
            self._make_room(max(end, len(self._vectors) * 3 // 2))
        self._ids.extend(fresh)
        self._index_of.update(zip(fresh, range(start, end), strict=True))
        indices = np.fromiter((self._index_of[memory_id] for memory_id in ids), np.int64, len(ids))
        self._vectors[indices] = vectors
        self._alive[indices] = True
        return indices

    def _label(self, indices: np.ndarray, rows: pa.Table) -> None:
        for number, column in enumerate(self._columns):
            self._labels[indices, number] = self._coded(number, rows.column(column))
        self._stamps[indices] = self._stamps_of(rows)
        known = "_rowid" in rows.column_names  # not of rows that were just appended
        self._row_ids[indices] = rows.column("_rowid").to_numpy().astype(np.int64) if known else _UNKNOWN
        if self.lexical_index is not None:
            self._sessions[indices] = [_session_number(session) for session in rows.column("session").to_pylist()]
            self._moments[indices] = rows.column("happened_at").cast(pa.int64()).to_numpy()

    def _more_columns(self) -> tuple[str, ...]:
        return () if self._stamp is None else (self._stamp, "session", "happened_at")

    def _columns_of_a_row(self) -> list[str]:
        cached = () if self.row_cache is None else self.row_cache.columns
        return list(dict.fromkeys((*self._read_for_each, *self._columns, *self._more_columns(), *cached)))

    def _stamps_of(self, rows: pa.Table) -> np.ndarray:
        if self._stamp is None:
            return np.zeros(len(rows), np.int64)
        return np.asarray(rows.column(self._stamp).cast(pa.int64()).to_numpy())

    def _make_room(self, room: int) -> None:
        extra = max(0, room - len(self._vectors))
        self._vectors = np.concatenate([self._vectors, np.empty((extra, self._dimensions), np.float32)])
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


def vectors_in(parts: Iterable[pa.Table], dimensions: int) -> dict[str, Vector]:
    """Return the vectors in rows of several tables under their ids."""
    return {
        memory_id: vector
        for rows in parts
        for memory_id, vector in zip(
            rows.column("id").to_pylist(), as_matrix(rows.column("vector"), dimensions), strict=True
        )
    }


def as_matrix(column: pa.ChunkedArray, dimensions: int) -> np.ndarray:
    """Return a vector column as a matrix, one row each."""
    flat = column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return np.asarray(flat, np.float32).reshape(-1, dimensions)
