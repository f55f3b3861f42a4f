"""Rows of candidates that are kept in memory, by the index of their memory."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pyarrow as pa

from reverie.memory import Memory
from reverie.storage.rows import candidate_memories, packed_token_vectors
from reverie.storage.schema import PIECES

_MOST_PARTS = 16
_MOST_KEPT = 1_000  # memories of a layer that stay read: reading one from its row takes as long as ranking it
_LONGEST_KEPT = 2_000  # characters
_NOT_CACHED = -1
_LEAST_LEFT = 64 * 1024


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

    @property
    def is_full(self) -> bool:
        """Whether so little is left that it is not worth reading rows for it."""
        return self.left < _LEAST_LEFT


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

    @property
    def is_full(self) -> bool:
        """Whether there is no room for more rows."""
        return self._room.is_full

    def clear(self) -> None:
        """Drop every row."""
        self._parts, self.nbytes, self._memories = [], 0, {}
        self.writes += 1
        self._part[:] = _NOT_CACHED

    def has(self, index: int) -> bool:
        """Say whether the row of an index is cached."""
        return index < len(self._part) and bool(self._part[index] != _NOT_CACHED)

    def missing(self, wanted: np.ndarray) -> np.ndarray:
        """Return the indices in a mask whose rows are not cached."""
        count = min(len(wanted), len(self._part))
        missing = wanted.copy()
        missing[:count] &= self._part[:count] == _NOT_CACHED
        return np.flatnonzero(missing)

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
