"""The in-memory index of one table: its labels, words, sessions and, where they fit, its vectors and rows.

It is kept in step with the versions of the table. LanceDB searches a table of ten thousand vectors in about 20 ms,
most of it spent reading them again; a product with a matrix that is already in memory takes one. Where the vectors
are too many for the memory budget they stay on disk, and so do the rows; labels, words and sessions do not, nor do
vectors that are packed (packed_vectors.py): LanceDB cannot search those.

Words are kept at every size of the store: document frequencies, the words of neighbours and the counts of what is out
of scope come from them alone, so that they are the same wherever the vectors are (decision 0030).

An index is the number of a memory in the arrays here. A row id is where LanceDB keeps its row; it changes whenever
the row is rewritten.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from typing import Literal

import numpy as np
import pyarrow as pa

from reverie.memory import Memory
from reverie.process_memory import release_heap
from reverie.storage.filters import one_of
from reverie.storage.lance_table import Table
from reverie.storage.packed_vectors import VectorMatrix
from reverie.storage.rows import (
    CANDIDATE_COLUMNS,
    OWNER_COLUMNS,
    RowLocation,
    Vector,
    candidate_memories,
    owners_of,
    packed_token_vectors,
)
from reverie.storage.schema import PIECES
from reverie.text.tokenize import terms

_MOST_PARTS = 16
_MOST_KEPT = 1_000  # memories of a layer that stay read: reading one from its row takes as long as ranking it
_LONGEST_KEPT = 2_000  # characters
_NOT_CACHED = -1


class RowRoom:
    """How many bytes the caches of all layers may take together."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._caches: list[RowCache] = []

    def join(self, cache: "RowCache") -> None:
        """Count a cache in."""
        self._caches.append(cache)

    @property
    def left(self) -> int:
        """How many bytes more fit."""
        return self.most_bytes - sum(cache.nbytes for cache in self._caches)


class RowCache:
    """Rows by the index of their memory; a row that changed is written again."""

    def __init__(self, columns: Sequence[str], room: RowRoom) -> None:
        self.columns = tuple(columns)
        self._room = room
        self._parts: list[pa.RecordBatch] = []
        self._part = np.full(0, _NOT_CACHED, np.int32)  # of each index, the batch that has its row
        self._row = np.full(0, _NOT_CACHED, np.int32)  # of each index, its row in that batch
        self.nbytes = 0
        """How many bytes the cached rows take: counted as they come, for Arrow adds up every column of a part."""
        self.writes = 0
        """How often rows were written or dropped."""
        self._memories: dict[int, Memory] = {}  # of rows that were read lately
        room.join(self)

    def write(self, indices: np.ndarray, rows: pa.Table) -> None:
        """Cache these rows instead of earlier ones of the same indices; of too many, the last ones that fit."""
        self._make_room(int(indices.max(initial=-1)) + 1)
        self._part[indices] = _NOT_CACHED
        self.writes += 1
        for index in indices.tolist() if self._memories else ():
            self._memories.pop(index, None)
        part = _as_batch(rows.select(self.columns))
        if part is None:
            return
        left = self._room.left
        if part.nbytes > left:
            count = max(0, len(part) * left // part.nbytes)
            if not count:
                return
            part, indices = part.take(pa.array(np.arange(len(part) - count, len(part)))), indices[-count:]
        self._part[indices] = len(self._parts)
        self._row[indices] = np.arange(len(indices))
        self._parts.append(part)
        self.nbytes += part.nbytes
        if len(self._parts) > _MOST_PARTS:
            self._merge()

    def clear(self) -> None:
        """Drop every row."""
        self._parts, self.nbytes, self._memories = [], 0, {}
        self.writes += 1
        self._part[:] = _NOT_CACHED

    def has(self, index: int) -> bool:
        """Say whether the row of an index is cached."""
        return index < len(self._part) and bool(self._part[index] != _NOT_CACHED)

    def candidates(self, indices: Mapping[str, int]) -> "CachedCandidates":
        """Return the cached rows of memories, by the index of each; later changes of the cache do not touch them."""
        numbers = np.array([*indices.values()], np.int64)
        return CachedCandidates(self, indices, self._batches(numbers))

    def rows(self, indices: np.ndarray) -> pa.Table:
        """Return the cached rows of these indices, in no particular order."""
        return pa.Table.from_batches([batch.take(pa.array(rows)) for _, batch, rows in self._batches(indices)])

    def memory_at(self, index: int) -> Memory | None:
        """Return the memory of an index if its row was read before."""
        return self._memories.get(index)

    def keep_memory(self, index: int, memory: Memory, writes: int) -> None:
        """Keep a memory that was read from its row, unless rows were written since; of many, the latest are kept."""
        if writes == self.writes and len(memory.content) <= _LONGEST_KEPT:
            self._memories[index] = memory
            if len(self._memories) > _MOST_KEPT:
                del self._memories[next(iter(self._memories))]

    def _batches(self, indices: np.ndarray) -> list[tuple[np.ndarray, pa.RecordBatch, np.ndarray]]:
        """Return for each batch that has rows of these indices: which, the batch, and the numbers of the rows."""
        parts = self._part[indices]
        found = ((part, indices[parts == part]) for part in np.unique(parts).tolist())
        return [(some, self._parts[part], self._row[some]) for part, some in found]

    def _merge(self) -> None:
        """Copy rows that are still current into one batch: those of the small batches, until they are half of all.

        So a write does not copy the whole cache: one of many rows comes first, then small ones of single memories.
        """
        small = sum(map(len, self._parts[1:]))
        first = 0 if small > len(self._parts[0]) // 2 else 1
        indices = np.flatnonzero(self._part >= first)
        indices = indices[np.lexsort((self._row[indices], self._part[indices]))]
        part = _as_batch(self.rows(indices)) if len(indices) else None
        self._parts = [*self._parts[:first], *([] if part is None else [part])]
        self.nbytes = sum(one.nbytes for one in self._parts)
        self._part[indices], self._row[indices] = first, np.arange(len(indices))

    def _make_room(self, count: int) -> None:
        if count > len(self._part):
            extra = np.full(max(count, len(self._part) * 3 // 2) - len(self._part), _NOT_CACHED, np.int32)
            self._part = np.concatenate([self._part, extra])
            self._row = np.concatenate([self._row, extra])


class CachedCandidates:
    """Rows of a cache as candidates of a query."""

    def __init__(
        self,
        cache: RowCache,
        indices: Mapping[str, int],
        batches: Sequence[tuple[np.ndarray, pa.RecordBatch, np.ndarray]],
    ) -> None:
        self._cache = cache
        self._writes = cache.writes
        self._known = {i: memory for i, index in indices.items() if (memory := cache.memory_at(index)) is not None}
        self._batches = batches
        self._indices = indices

    def token_vectors(self) -> dict[str, bytes]:
        """Return the packed token vectors of each memory that has them."""
        found: dict[str, bytes] = {}
        for _, batch, rows in self._batches:
            found |= packed_token_vectors(batch.select(["id", PIECES.name]).take(pa.array(rows)))
        return found

    def memories(self, ids: Collection[str]) -> list[Memory]:
        """Return those of the memories that have these ids."""
        known = [memory for memory_id, memory in self._known.items() if memory_id in ids]
        unread = {index for memory_id, index in self._indices.items() if memory_id in ids - self._known.keys()}
        for indices, batch, rows in self._batches:
            wanted = [row for index, row in zip(indices.tolist(), rows.tolist(), strict=True) if index in unread]
            if wanted:
                known += self._read(batch.take(pa.array(wanted)))
        return known

    def _read(self, rows: pa.RecordBatch) -> list[Memory]:
        read = candidate_memories(rows)
        for memory in read:
            self._cache.keep_memory(self._indices[memory.id], memory, self._writes)
        return read


def _as_batch(rows: pa.Table) -> pa.RecordBatch | None:
    batches = rows.combine_chunks().to_batches()
    return batches[0] if batches else None


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
        counted = [Counter(terms(text)) for text in texts]
        self._lengths[indices] = [one.total() for one in counted]
        self._append(indices, counted)

    def lengths(self, count: int) -> np.ndarray:
        """Return how many words each of the first `count` memories has."""
        self._make_room(count)
        return self._lengths[:count]

    def entries(self, wanted: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return every entry of the wanted terms: which of them, whose, how often."""
        self._sort()
        asked = np.array(wanted, np.uint32)
        firsts, lasts = (np.searchsorted(self._sorted, asked, side) for side in _SIDES)
        early = [self._order[first:last] for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True)]
        numbers = np.repeat(np.arange(len(asked)), lasts - firsts)
        entries = np.concatenate(early) if early else np.empty(0, np.int32)
        current = self._terms[entries] == asked[numbers]  # some were written over since
        late, late_numbers = self._late_entries(asked)
        numbers = np.concatenate([numbers[current], late_numbers])
        entries = np.concatenate([entries[current], late])
        return numbers, self._owners[entries], self._counts[entries].astype(np.float32)

    def _late_entries(self, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the entries of terms among those that are not sorted yet, and the number of the term of each."""
        terms_of_late = self._terms[len(self._order) : self._size]
        by_term = np.argsort(asked)
        places = np.searchsorted(asked, terms_of_late, sorter=by_term)
        numbers = by_term[np.minimum(places, len(asked) - 1)] if len(asked) else np.empty(0, np.int64)
        found = np.flatnonzero(asked[numbers] == terms_of_late) if len(asked) else np.empty(0, np.int64)
        return found + len(self._order), numbers[found]

    def _sort(self) -> None:
        if self._size - len(self._order) > max(_FEWEST_TO_SORT, self._size // 4):
            self._order = np.argsort(self._terms[: self._size], kind="stable").astype(np.int32)
            self._sorted = self._terms[self._order]

    def _append(self, indices: np.ndarray, counted: Sequence[Counter[int]]) -> None:
        sizes = [len(one) for one in counted]
        start, end = self._size, self._size + sum(sizes)
        if end > len(self._terms):
            extra = max(end, len(self._terms) * 3 // 2) - len(self._terms)
            self._terms = np.concatenate([self._terms, np.zeros(extra, np.uint32)])
            self._owners = np.concatenate([self._owners, np.zeros(extra, np.int32)])
            self._counts = np.concatenate([self._counts, np.zeros(extra, np.uint8)])
        self._terms[start:end] = np.fromiter(chain.from_iterable(counted), np.uint32, end - start)
        self._owners[start:end] = np.repeat(indices, sizes)
        counts = np.fromiter(chain.from_iterable(one.values() for one in counted), np.int64, end - start)
        self._counts[start:end] = np.minimum(counts, _MOST_COUNTED)
        self._size = end

    def _make_room(self, count: int) -> None:
        if count > len(self._lengths):
            extra = max(count, len(self._lengths) * 3 // 2) - len(self._lengths)
            self._lengths = np.concatenate([self._lengths, np.zeros(extra, np.float32)])


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

    def cached_rows(self, ids: Iterable[str]) -> tuple[set[str], CachedCandidates | None]:
        """Return which of these memories have their rows cached, and the rows."""
        if self.row_cache is None:
            return set(), None
        known = {i: self._index_of[i] for i in ids if i in self._index_of}
        cached = {i: index for i, index in known.items() if self._alive[index] and self.row_cache.has(index)}
        return set(cached), self.row_cache.candidates(cached) if cached else None

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
