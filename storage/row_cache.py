"""Rows of memories in memory, so that an answer need not read them from the tables."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

_MOST_PARTS = 16
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
        room.join(self)

    def write(self, indices: np.ndarray, rows: pa.Table) -> None:
        """Cache these rows instead of earlier ones of the same indices; of too many, the last ones that fit."""
        self._make_room(int(indices.max(initial=-1)) + 1)
        self._part[indices] = _NOT_CACHED
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
        self._parts, self.nbytes = [], 0
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
        self._parts, self.nbytes = ([], 0) if part is None else ([part], part.nbytes)
        self._part[indices], self._row[indices] = 0, np.arange(len(indices))

    def _make_room(self, count: int) -> None:
        if count > len(self._part):
            extra = np.full(max(count, len(self._part) * 3 // 2) - len(self._part), _NOT_CACHED, np.int32)
            self._part = np.concatenate([self._part, extra])
            self._row = np.concatenate([self._row, extra])


def _as_batch(rows: pa.Table) -> pa.RecordBatch | None:
    batches = rows.combine_chunks().to_batches()
    return batches[0] if batches else None
