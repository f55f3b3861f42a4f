"""The in-memory index of one table: its labels, words, sessions and, where they fit, its vectors and rows.

It is kept in step with the versions of the table. LanceDB searches a table of ten thousand vectors in about 20 ms,
most of it spent reading them again; a product with a matrix that is already in memory takes one. Where the vectors
are too many for the memory budget they stay on disk, and so do the rows; labels, words and sessions do not, nor do
vectors that are packed (packed_vectors.py): LanceDB cannot search those.

Words are kept at every size of the store: document frequencies, the words of neighbours and the counts of what is out
of scope come from them alone, so that they are the same wherever the vectors are (decision 0030).

Labels, words, ids and row ids have a stored form beside the tables (stored_index.py, decision 0047). An index is
opened from it and then takes in what changed since, as it does after every other change.

An index is the number of a memory in the arrays here. A row id is where LanceDB keeps its row; it changes whenever
the row is rewritten.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa

from reverie.process_memory import release_heap
from reverie.storage.id_index import UNKNOWN, IdIndex
from reverie.storage.lance_table import Table
from reverie.storage.lexical_index import LexicalIndex
from reverie.storage.packed_vectors import VectorMatrix
from reverie.storage.row_cache import CachedCandidates, RowCache, RowRoom
from reverie.storage.rows import CANDIDATE_COLUMNS, OWNER_COLUMNS, RowLocation, Vector, owners_of
from reverie.storage.stored_index import Arrays, MadeFor, StoredIndexes, splitting_of_texts

_FEW_ROWS = 500
_MANY_ROWS = 4_000  # read at once where there are many
_FIRST_ROOM = 256
_UNKNOWN_ROW = -1
_NEVER = -1
_NO_SESSION = 0
_SESSIONS_CACHED = 4_096
_ATTEMPTS = 4
_SAMPLED = 64
_FEW_VALUES = 8
_MOST_READ_AT_ONCE = 2_000  # rows that a search waits for; of more the cache is filled behind it
_PER_MEMORY = ("stamps", "row_ids", "sessions", "moments")

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
        stored: StoredIndexes | None = None,
        embedder: str = "",
    ) -> None:
        """Take a table, the columns that are labels, and where the stored form of the index is, if it has one."""
        self._table = table
        self._columns = tuple(columns)  # the label columns, such as project and status
        self._stamp = "updated_at" if of_memories else "precision"  # its change says that a vector may have changed
        self._stored = stored
        self._made_for = MadeFor(table.name, embedder, dimensions, (*columns, self._stamp), splitting_of_texts())
        self.lexical_index = LexicalIndex() if of_memories else None
        self.row_cache = RowCache(CANDIDATE_COLUMNS, room) if of_memories and room is not None else None
        self.changes = 0
        """How many memories were indexed, or lost their row, since the index was stored."""
        self.moves = 0
        """How often a memory that was indexed got another session or another time."""
        self._version = _NEVER
        self._ids = IdIndex()
        self._vectors = VectorMatrix(dimensions, keeps_whole=room is not None)
        self._labels = [_Labels() for _ in self._columns]
        self._alive = np.zeros(_FIRST_ROOM, np.bool_)
        self._stamps = np.zeros(_FIRST_ROOM, np.int64)
        self._row_ids = np.full(_FIRST_ROOM, _UNKNOWN_ROW, np.int64)
        self._sessions = np.zeros(_FIRST_ROOM, np.int64)
        self._moments = np.zeros(_FIRST_ROOM, np.int64)
        self._to_load = np.zeros(0, np.bool_)  # memories of the stored form whose vectors are still to be read
        self._rows_to_read = False  # whether rows that were cached, or might be, have to be read again
        self._refreshing = asyncio.Lock()

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def version(self) -> int:
        """The version of the table that is indexed."""
        return self._version

    @property
    def has_vectors(self) -> bool:
        """Whether the whole vectors are in memory."""
        return self._vectors.keeps_whole

    @property
    def gone(self) -> int:
        """How many of the memories indexed have no row any more."""
        return len(self._ids) - int(np.count_nonzero(self._alive[: len(self._ids)]))

    @property
    def sessions(self) -> np.ndarray:
        """A number for the session at each index, zero for none."""
        return self._sessions[: len(self._ids)]

    @property
    def moments(self) -> np.ndarray:
        """When the memory at each index happened, in microseconds."""
        return self._moments[: len(self._ids)]

    def id_at(self, index: int) -> str:
        """Return the id of the memory at an index."""
        return self._ids.at(index)

    def index_of(self, memory_id: str) -> int | None:
        """Return the index of a memory."""
        return self._ids.number_of(memory_id)

    def indices_of(self, ids: pa.Array) -> np.ndarray:
        """Return the index of each memory, UNKNOWN for those that are not here."""
        return self._ids.numbers_of(ids)

    def ids_at(self, indices: np.ndarray) -> list[str]:
        """Return the ids of the memories at some indices."""
        return [self._ids.at(index) for index in indices.tolist()]

    def has_row(self, index: int) -> bool:
        """Whether the memory at an index still had a row when the table was last looked at."""
        return bool(self._alive[index])

    def vector_of(self, memory_id: str) -> Vector | None:
        """Return the vector of a memory, if it is in memory."""
        index = self._ids.number_of(memory_id)
        return None if index is None or not self._alive[index] else self._vectors.at(index)

    def cached_rows(self, ids: Iterable[str]) -> tuple[set[str], CachedCandidates | None]:
        """Return which of these memories have their rows cached, and the rows."""
        if self.row_cache is None:
            return set(), None
        known = {i: index for i in ids if (index := self._ids.number_of(i)) is not None}
        cached = {i: index for i, index in known.items() if self._alive[index] and self.row_cache.has(index)}
        return set(cached), self.row_cache.candidates(cached) if cached else None

    def similarities(self, vector: Vector, wanted: np.ndarray | None = None) -> np.ndarray:
        """Return the cosine at every index, at least of the wanted ones; FAR where the vector is on disk."""
        return self._vectors.similarities(vector, len(self._ids), wanted)

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
        mask = self._alive[:count].copy()
        for labels, values in zip(self._labels, wanted, strict=False):
            if values is not None:
                mask &= labels.among(values, count)
        return mask

    def all_have(self, wanted: Sequence[Iterable[str | None] | None]) -> bool:
        """Whether every memory that has a row has the wanted value of each label (None: any)."""
        return bool((self.with_labels(wanted) == self._alive[: len(self._ids)]).all())

    def row_id(self, index: int) -> int | None:
        """Return the row id that the memory at an index had when it was last read."""
        row_id = int(self._row_ids[index])
        return None if row_id == _UNKNOWN_ROW else row_id

    # -- keeping in step -----------------------------------------------------------------------------------

    async def refresh(self) -> None:
        """Take in what any process changed since the last time.

        A change rewrites a row under another row id. So the row ids alone show what is new and what is gone.
        """
        async with self._refreshing:
            version = await self._table.version()
            if version == self._version and not len(self._to_load):
                return
            if self._version == _NEVER:
                await self._open_stored(version)
            if self._version != version:
                await self._catch_up()
            if len(self._to_load):
                if self._has_unknown_rows():
                    await self._catch_up()
                await self._load_vectors()
            if self._rows_to_read and self.row_cache is not None:
                self._rows_to_read = False
                if len(self.row_cache.missing(self._alive[: len(self._ids)])) <= _MOST_READ_AT_ONCE:
                    await self.fill_row_cache()

    def _has_unknown_rows(self) -> bool:
        """Whether there are memories that this process appended without being told their row ids."""
        count = len(self._ids)
        return bool((self._alive[:count] & (self._row_ids[:count] == _UNKNOWN_ROW)).any())

    async def _catch_up(self) -> None:
        for _ in range(_ATTEMPTS):  # again if rows were rewritten while they were read
            version = await self._table.version()
            complete = await self._take_in(await self._table.all_row_ids())
            self._version = version
            if complete:
                return

    async def _take_in(self, row_ids: np.ndarray) -> bool:
        """Follow the table to these row ids; say whether all of the new rows were still there to be read."""
        count = len(self._ids)
        fresh = row_ids[~_among(row_ids, self._row_ids[:count])]
        if len(fresh) > max(_FEW_ROWS, count // 8) and count:
            fresh, row_ids = await self._read_labels()
        complete = await self._read(fresh)
        count = len(self._ids)
        had = int(np.count_nonzero(self._alive[:count]))
        self._alive[:count] = _among(self._row_ids[:count], row_ids)
        self.changes += max(0, had - int(np.count_nonzero(self._alive[:count])))
        return complete

    async def _read(self, row_ids: np.ndarray) -> bool:
        """Index the rows with these row ids; say whether all were still there."""
        at_once = _FEW_ROWS if len(row_ids) <= 2 * _MANY_ROWS else _MANY_ROWS
        if len(row_ids) > _MANY_ROWS:
            self._make_room(len(self._ids) + len(row_ids))
            self._vectors.reserve_whole(len(row_ids))
        found = 0
        for start in range(0, len(row_ids), at_once):
            rows = await self._table.take(row_ids[start : start + at_once], self._columns_of_a_row())
            found += len(rows)
            for first in range(0, len(rows), _FEW_ROWS):
                self._put(rows.slice(first, _FEW_ROWS), cached=False)
                await asyncio.sleep(0)  # reading ten thousand texts takes a while, and others wait for the loop
            if self.row_cache is not None and len(rows):
                self.row_cache.write(self._ids.numbers_of(_as_array(rows.column("id"))), rows)
        if found > _MANY_ROWS:
            pa.default_memory_pool().release_unused()
            release_heap()
        return found == len(row_ids)

    async def _read_labels(self) -> tuple[np.ndarray, np.ndarray]:
        """Read the small columns of all rows; return the row ids of what has to be read in full, and all row ids.

        A merge of fragments moves every row. What has the stamp that it had is only somewhere else.
        """
        labels = await self._table.rows(["id", *self._label_columns, *self._more_columns()], with_row_ids=True)
        row_ids = labels.column("_rowid").to_numpy().astype(np.int64)
        indices = self._ids.numbers_of(_as_array(labels.column("id")))
        known = indices != UNKNOWN
        known[known] = self._stamps[indices[known]] == self._stamps_of(labels)[known]
        rows = labels if known.all() else labels.filter(pa.array(known))
        self._label(indices[known], rows, new_from=len(self._ids))
        self.changes += int(np.count_nonzero(known))
        if self.row_cache is not None:
            self.row_cache.clear()
            self._rows_to_read = True
        return row_ids[~known], row_ids

    async def _load_vectors(self) -> None:
        """Read the vectors of memories that come from the stored form, as far as they are kept in memory."""
        count = len(self._to_load)
        indices = np.flatnonzero(self._to_load & self._alive[:count] & ~self._vectors.are_here(count))
        indices = indices[self._row_ids[indices] != _UNKNOWN_ROW]
        self._to_load = np.zeros(0, np.bool_)
        if self._vectors.keeps_whole:
            self._vectors.reserve_whole(len(indices))
        for start in range(0, len(indices), _MANY_ROWS):
            part = indices[start : start + _MANY_ROWS]
            part = part[np.argsort(self._row_ids[part])]
            row_ids = self._row_ids[part]
            rows = await self._table.take(row_ids, self._vectors.columns)
            found = np.searchsorted(row_ids, rows.column("_rowid").to_numpy().astype(np.int64))
            self._vectors.write(part[found], rows)
        if len(indices) > _MANY_ROWS:
            pa.default_memory_pool().release_unused()
            release_heap()

    async def fill_row_cache(self) -> None:
        """Cache the rows that are not cached yet, as far as there is room."""
        if self.row_cache is None:
            return
        indices = self.row_cache.missing(self._alive[: len(self._ids)])
        indices = indices[self._row_ids[indices] != _UNKNOWN_ROW]
        for start in range(0, len(indices), _MANY_ROWS):
            if self.row_cache is None or self.row_cache.is_full:
                return
            row_ids = self._row_ids[indices[start : start + _MANY_ROWS]]
            self._cache(await self._table.take(row_ids, self.row_cache.columns))
        if len(indices) > _MANY_ROWS:
            pa.default_memory_pool().release_unused()
            release_heap()

    def _cache(self, rows: pa.Table) -> None:
        """Cache the rows whose row id is still the one indexed; others were rewritten between two reads."""
        indices = self._ids.numbers_of(_as_array(rows.column("id")))
        same = (indices != UNKNOWN) & (self._row_ids[indices] == rows.column("_rowid").to_numpy().astype(np.int64))
        if self.row_cache is not None:
            # A filter leaves twice the room it needs, and hardly ever is there anything to filter.
            self.row_cache.write(indices[same], rows if same.all() else rows.filter(pa.array(same)))

    async def drop_vectors(self) -> None:
        """Leave the vectors and the rows to the table from now on."""
        async with self._refreshing:
            self._vectors.drop_whole()
            if self.row_cache is not None:
                self.row_cache.clear()
                self.row_cache = None

    def note_added(self, version: int, rows: pa.Table) -> None:
        """Take in rows that this process has just appended, unless others wrote in between."""
        if version == self._version + 1 and not self._refreshing.locked():
            self._put(rows)
            self._version = version

    # -- the stored form -----------------------------------------------------------------------------------

    @property
    def stored_size(self) -> int:
        """The bytes of the stored form; 0 if there is none."""
        return 0 if self._stored is None else self._stored.size(self._table.name)

    async def store(self) -> None:
        """Write the stored form, of the newest version. Call it with the lock of maintenance held.

        A purge holds that lock as well. So what it removes is not indexed here, or it is removed after this.

        Raises:
            OSError: if it cannot be written.
            StoreError: if the table cannot be read.
        """
        await self.refresh()
        if self._stored is None:
            return
        if self._has_unknown_rows():
            async with self._refreshing:
                await self._catch_up()
        facts, arrays = self._facts_and_arrays()
        numbers, new_numbers = self._numbers_that_stay()
        words = None if self.lexical_index is None else self.lexical_index.copy()

        def write(stored: StoredIndexes) -> None:
            more = {} if words is None else words.arrays(numbers, new_numbers)
            stored.write(self._made_for, facts, {**arrays, **more})

        stored = self.changes
        await asyncio.to_thread(write, self._stored)
        self.changes -= stored

    def without_gone(self, room: RowRoom | None) -> "MemoryIndex":
        """Return a new index of the memories that have a row, as of the same version, without vectors and rows."""
        new = MemoryIndex(
            self._table,
            self._made_for.dimensions,
            self._columns,
            room,
            of_memories=self.lexical_index is not None,
            stored=self._stored,
            embedder=self._made_for.embedder,
        )
        facts, arrays = self._facts_and_arrays()
        words = {} if self.lexical_index is None else self.lexical_index.arrays(*self._numbers_that_stay())
        new._take(facts, {**arrays, **words})
        new.changes = self.changes
        return new

    def _numbers_that_stay(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the indices of the memories that have a row, and of each memory its number among them."""
        count = len(self._ids)
        numbers = np.flatnonzero(self._alive[:count])
        new_numbers = np.full(count, UNKNOWN, np.int32)
        new_numbers[numbers] = np.arange(len(numbers))
        return numbers, new_numbers

    def _facts_and_arrays(self) -> tuple[Mapping[str, Any], dict[str, np.ndarray]]:
        """Return what to store, but for the words."""
        numbers, _ = self._numbers_that_stay()
        arrays: dict[str, np.ndarray] = dict(self._ids.arrays(numbers))
        arrays |= {name: getattr(self, f"_{name}")[numbers] for name in _PER_MEMORY}
        arrays["is_packed"] = self._vectors.is_packed(len(self._ids))[numbers]
        values = []
        for number, labels in enumerate(self._labels):
            arrays[f"label_{number}"], used = labels.stored(numbers)
            values.append(used)
        return {"version": self._version, "labels": values}, arrays

    async def _open_stored(self, version: int) -> None:
        """Take the stored form, if there is one that fits this version of the table or an earlier one."""
        found = None if self._stored is None else await asyncio.to_thread(self._stored.read, self._made_for)
        if found is not None and found[0]["version"] <= version and await self._is_of_table(found[1]):
            self._take(*found)

    async def _is_of_table(self, arrays: Arrays) -> bool:
        """Compare the newest of the stored rows, and some others, with the rows that the table has in their place.

        A table that was put back from a copy and written to again has other rows under the same row ids.
        """
        row_ids = arrays["row_ids"]
        newest = (
            np.argpartition(row_ids, -_SAMPLED)[-_SAMPLED:] if len(row_ids) > _SAMPLED else np.arange(len(row_ids))
        )
        spread = np.linspace(0, max(len(row_ids) - 1, 0), min(_SAMPLED, len(row_ids))).astype(np.int64)
        chosen = np.union1d(newest, spread)
        chosen = chosen[row_ids[chosen] != _UNKNOWN_ROW]
        if not len(chosen):
            return True
        chosen = chosen[np.argsort(row_ids[chosen])]
        rows = await self._table.take(row_ids[chosen], ["id", self._stamp])
        at = chosen[np.searchsorted(row_ids[chosen], rows.column("_rowid").to_numpy().astype(np.int64))]
        ids = IdIndex.of(arrays)
        same_ids = rows.column("id").to_pylist() == [ids.at(index) for index in at.tolist()]
        return same_ids and np.array_equal(self._stamps_of(rows), arrays["stamps"][at])

    def _take(self, facts: Mapping[str, Any], arrays: Arrays) -> None:
        """Be the index that was stored."""
        self._ids = IdIndex.of(arrays)
        for name in _PER_MEMORY:
            setattr(self, f"_{name}", arrays[name])
        count = len(self._ids)
        self._alive = np.ones(count, np.bool_)
        self._labels = [_Labels(values, arrays[f"label_{n}"]) for n, values in enumerate(facts["labels"])]
        self._to_load = np.ones(count, np.bool_) if self._vectors.keeps_whole else arrays["is_packed"].copy()
        if self.lexical_index is not None:
            self.lexical_index = LexicalIndex.of(arrays)
        self._version = int(facts["version"])
        self._rows_to_read = True

    # -- the nearest ---------------------------------------------------------------------------------------

    def nearest(
        self, vector: Vector, limit: int, wanted: Sequence[Iterable[str | None] | None], *, packed_only: bool = False
    ) -> list[VectorHit]:
        """Return the closest rows whose labels are among the wanted ones (None: any), best first."""
        mask = self.with_labels(wanted)
        return self._nearest(vector, limit, mask & self._vectors.is_packed(len(mask)) if packed_only else mask)

    def nearest_packed_of(self, vector: Vector, limit: int, ids: pa.Array) -> list[VectorHit]:
        """Return the closest of these rows that have packed vectors, best first."""
        mask = np.zeros(len(self._ids), np.bool_)
        indices = self._ids.numbers_of(ids)
        mask[indices[indices != UNKNOWN]] = True
        return self._nearest(vector, limit, mask & self._alive[: len(mask)] & self._vectors.is_packed(len(mask)))

    def _nearest(self, vector: Vector, limit: int, mask: np.ndarray) -> list[VectorHit]:
        indices = np.flatnonzero(mask)
        if not len(indices):
            return []
        similarities = self.similarities(vector, mask)[indices]
        if len(indices) > limit:
            least = np.partition(similarities, -limit)[-limit]
            indices, similarities = indices[similarities >= least], similarities[similarities >= least]
        best = np.argsort(-similarities, kind="stable")[:limit]
        return [
            VectorHit(self._ids.at(index), self._table.name, similarity, self.row_id(index))
            for index, similarity in zip(indices[best].tolist(), similarities[best].tolist(), strict=True)
        ]

    # -- indexing rows -------------------------------------------------------------------------------------

    def _put(self, rows: pa.Table, *, cached: bool = True) -> None:
        """Index complete rows."""
        count = len(self._ids)
        indices = self._indices_for(_as_array(rows.column("id")))
        self._vectors.write(indices, rows)
        if self.lexical_index is not None:
            self.lexical_index.write(indices, rows.column("search_text").to_pylist())
        self._label(indices, rows, new_from=count)
        self.changes += len(rows)
        if cached and self.row_cache is not None:
            self.row_cache.write(indices, rows)

    def _indices_for(self, ids: pa.Array) -> np.ndarray:
        """Return the indices of these ids; new ones are put at the end."""
        indices = self._ids.numbers_of(ids)
        missing = np.flatnonzero(indices == UNKNOWN)
        if len(missing):
            fresh = ids.take(pa.array(missing)).to_pylist()
            self._ids.add(list(dict.fromkeys(fresh)))
            indices[missing] = self._ids.numbers_of(ids.take(pa.array(missing)))
            if len(self._ids) > len(self._alive):
                self._make_room(max(len(self._ids), len(self._alive) * 3 // 2))
        self._alive[indices] = True
        return indices

    def _label(self, indices: np.ndarray, rows: pa.Table, *, new_from: int) -> None:
        for labels, column in zip(self._labels, self._columns, strict=True):
            labels.write(indices, owners_of(rows) if column == OWNER else rows.column(column), len(self._alive))
        self._stamps[indices] = self._stamps_of(rows)
        known = "_rowid" in rows.column_names  # not of rows that were just appended
        self._row_ids[indices] = rows.column("_rowid").to_numpy().astype(np.int64) if known else _UNKNOWN_ROW
        if self.lexical_index is not None:
            sessions = _session_numbers(rows.column("session"))
            moments = rows.column("happened_at").cast(pa.int64()).to_numpy()
            moved = (self._sessions[indices] != sessions) | (self._moments[indices] != moments)
            if (moved & (indices < new_from)).any():
                self.moves += 1
            self._sessions[indices], self._moments[indices] = sessions, moments

    @property
    def _label_columns(self) -> list[str]:
        return [part for name in self._columns for part in (OWNER_COLUMNS if name == OWNER else (name,))]

    def _more_columns(self) -> tuple[str, ...]:
        return (self._stamp,) if self.lexical_index is None else (self._stamp, "session", "happened_at")

    def _columns_of_a_row(self) -> list[str]:
        cached = () if self.row_cache is None else self.row_cache.columns
        texts = () if self.lexical_index is None else ("search_text",)
        read = ("id", *self._vectors.columns, *texts, *self._label_columns, *self._more_columns(), *cached)
        return list(dict.fromkeys(read))

    def _stamps_of(self, rows: pa.Table) -> np.ndarray:
        return np.asarray(rows.column(self._stamp).cast(pa.int64()).to_numpy())

    def _make_room(self, room: int) -> None:
        extra = max(0, room - len(self._alive))
        self._alive = np.concatenate([self._alive, np.zeros(extra, np.bool_)])
        self._stamps = np.concatenate([self._stamps, np.zeros(extra, np.int64)])
        self._row_ids = np.concatenate([self._row_ids, np.full(extra, _UNKNOWN_ROW, np.int64)])
        self._sessions = np.concatenate([self._sessions, np.zeros(extra, np.int64)])
        self._moments = np.concatenate([self._moments, np.zeros(extra, np.int64)])


class _Labels:
    """One label of each memory, as the number of its value in the smallest kind of integer that has room."""

    def __init__(self, values: Sequence[str | None] = (), codes: np.ndarray | None = None) -> None:
        self._code_of: dict[str | None, int] = {value: code for code, value in enumerate(values)}
        self._codes = np.zeros(_FIRST_ROOM, np.uint8) if codes is None else codes

    def write(self, indices: np.ndarray, column: pa.ChunkedArray, room: int) -> None:
        """Set the label of memories."""
        encoded = _as_array(column).dictionary_encode(null_encoding="encode")
        known = self._code_of
        codes = np.array([known.setdefault(one, len(known)) for one in encoded.dictionary.to_pylist()], np.int32)
        self._codes = _with_room(self._codes, room, _smallest(len(known)))
        self._codes[indices] = codes[encoded.indices.to_numpy()] if len(codes) else 0

    def among(self, values: Iterable[str | None], count: int) -> np.ndarray:
        """Return a mask of the first memories whose label is one of these."""
        wanted = [self._code_of[value] for value in values if value in self._code_of]
        codes = self._codes[:count]
        if len(wanted) <= _FEW_VALUES:  # a comparison takes a fiftieth of a look-up
            mask = np.zeros(count, np.bool_)
            for code in wanted:
                mask |= codes == code
            return mask
        fits = np.zeros(len(self._code_of), np.bool_)
        fits[wanted] = True
        return np.asarray(fits[codes])

    def stored(self, numbers: np.ndarray) -> tuple[np.ndarray, list[str | None]]:
        """Return the codes of some memories, and the values that they use; other values are left out."""
        used, codes = np.unique(self._codes[numbers], return_inverse=True)
        values = list(self._code_of)
        return codes.astype(_smallest(len(used))), [values[code] for code in used.tolist()]


def _smallest(values: int) -> type[np.unsignedinteger[Any]]:
    return np.uint8 if values <= 2**8 else np.uint16 if values <= 2**16 else np.uint32


def _with_room(codes: np.ndarray, room: int, kind: type[np.unsignedinteger[Any]]) -> np.ndarray:
    if room > len(codes):
        codes = np.concatenate([codes, np.zeros(room - len(codes), codes.dtype)])
    return codes if codes.dtype.itemsize >= np.dtype(kind).itemsize else codes.astype(kind)


def _as_array(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    if not isinstance(column, pa.ChunkedArray):
        return column
    return (
        column.chunk(0)
        if column.num_chunks == 1
        else pa.concat_arrays(column.chunks)
        if column.num_chunks
        else (pa.array([], column.type))
    )


def _among(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return a mask of what is also among others; both are mostly in order, so that sorting them is one pass."""
    in_order = np.sort(others, kind="stable")
    if not len(in_order):
        return np.zeros(len(some), np.bool_)
    places = np.minimum(np.searchsorted(in_order, some), len(in_order) - 1)
    return np.asarray(in_order[places] == some)


def _session_numbers(column: pa.ChunkedArray) -> np.ndarray:
    encoded = _as_array(column).dictionary_encode(null_encoding="encode")
    numbers = np.array([_session_number(session) for session in encoded.dictionary.to_pylist()], np.int64)
    return np.asarray(numbers[encoded.indices.to_numpy()]) if len(numbers) else np.zeros(len(column), np.int64)


@lru_cache(_SESSIONS_CACHED)
def _session_number(session: str | None) -> int:
    if session is None:
        return _NO_SESSION
    return int.from_bytes(blake2b(session.encode("utf-8", "replace"), digest_size=8).digest(), signed=True)
