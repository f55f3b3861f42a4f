"""The rows of the memories on one shelf, as far as recall reads them.

Reading the fifty best candidates of a question takes LanceDB some 20 ms: twenty columns of five tables, each opened
anew. The same rows as Arrow in memory take one. What is too much to hold is left to the table. See
docs/decisions/0024.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

MOST_BYTES = 40 * 1024 * 1024
"""What one layer may hold: twenty thousand memories of usual length."""

_MOST_PARTS = 16
_NOT_HELD = -1


class Folio:
    """Rows under the numbers of their places; a row that changed is written again."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = tuple(columns)
        self._parts: list[pa.RecordBatch] = []
        self._part = np.full(0, _NOT_HELD, np.int32)  # of each place
        self._row = np.full(0, _NOT_HELD, np.int32)  # of each place, in its part

    def write(self, places: np.ndarray, rows: pa.Table) -> None:
        """Hold these rows from now on, instead of earlier ones of the same places."""
        self._make_room(int(places.max(initial=-1)) + 1)
        self._part[places] = _NOT_HELD
        part = _in_one_piece(rows.select(self.columns))
        if part is None or sum(held.nbytes for held in self._parts) + part.nbytes > MOST_BYTES:
            return
        self._part[places] = len(self._parts)
        self._row[places] = np.arange(len(places))
        self._parts.append(part)
        if len(self._parts) > _MOST_PARTS:
            self._merge()

    def clear(self) -> None:
        """Let go of every row."""
        self._parts = []
        self._part[:] = _NOT_HELD

    def holds(self, place: int) -> bool:
        """Say whether the row of a place is here."""
        return place < len(self._part) and bool(self._part[place] != _NOT_HELD)

    def rows(self, places: np.ndarray) -> pa.Table:
        """Return the rows of places that are here, in no particular order."""
        parts = self._part[places]
        batches = [
            self._parts[part].take(pa.array(self._row[places[parts == part]])) for part in np.unique(parts).tolist()
        ]
        return pa.Table.from_batches(batches)

    def _merge(self) -> None:
        """Lay the rows that are still wanted out in one part."""
        places = np.flatnonzero(self._part != _NOT_HELD)
        places = places[np.lexsort((self._row[places], self._part[places]))]
        part = _in_one_piece(self.rows(places))
        self._parts = [] if part is None else [part]
        self._part[places], self._row[places] = 0, np.arange(len(places))

    def _make_room(self, count: int) -> None:
        if count > len(self._part):
            extra = np.full(max(count, len(self._part) * 3 // 2) - len(self._part), _NOT_HELD, np.int32)
            self._part = np.concatenate([self._part, extra])
            self._row = np.concatenate([self._row, extra])


def _in_one_piece(rows: pa.Table) -> pa.RecordBatch | None:
    batches = rows.combine_chunks().to_batches()
    return batches[0] if batches else None
