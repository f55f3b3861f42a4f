"""The ids of a table's memories by number, and the numbers by id.

A dictionary of a million strings takes 150 MB and half a minute to fill. Here the ids are one run of bytes with the
place where each begins, and they are found by a 64-bit hash in a sorted array: some 40 bytes an id, all of it arrays
that can be mapped from a file. Ids that came since are in a small dictionary. A hash decides nothing: the ids
themselves are compared.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reverie.storage.stored_index import Arrays

UNKNOWN = -1
"""Stands for the number of an id that is not there."""

_AT_ONCE = 50_000
_FEWEST_TO_SORT = 4_096
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_WORD = 8
_MOST_ASKED = 4_096
_HIGHEST = 2**64 - 1

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.int64]


class IdIndex:
    """Ids in the order they were added; each has the number of its place."""

    def __init__(self) -> None:
        self._text: Bytes = np.zeros(0, np.uint8)  # the ids that are sorted, end to end
        self._starts = np.zeros(1, np.int64)
        self._hashes = np.zeros(0, np.uint64)  # sorted
        self._by_hash = np.zeros(0, np.int32)
        self._late: list[str] = []
        self._number_of: dict[str, int] = {}
        self._asked: dict[str, int | None] = {}  # what was looked up lately among those that are sorted

    def __len__(self) -> int:
        return self._sorted + len(self._late)

    @property
    def _sorted(self) -> int:
        return len(self._starts) - 1

    def at(self, number: int) -> str:
        """Return the id of a number."""
        if number >= self._sorted:
            return self._late[number - self._sorted]
        start, end = self._starts[number : number + 2].tolist()
        return self._text[start:end].tobytes().decode("utf-8")

    def number_of(self, one: str) -> int | None:
        """Return the number of an id, if it is there."""
        late = self._number_of.get(one)
        if late is not None or not self._sorted:
            return late
        if one not in self._asked:  # a recall asks for the same ids several times
            if len(self._asked) >= _MOST_ASKED:
                self._asked.clear()
            self._asked[one] = self._looked_up(one)
        return self._asked[one]

    def _looked_up(self, one: str) -> int | None:
        text = one.encode("utf-8", "surrogatepass")
        value = np.uint64(_hash_of(text))
        place = int(np.searchsorted(self._hashes, value))
        while place < len(self._hashes) and self._hashes[place] == value:
            number = int(self._by_hash[place])
            start, end = self._starts[number : number + 2].tolist()
            if self._text[start:end].tobytes() == text:
                return number
            place += 1
        return None

    def numbers_of(self, ids: pa.Array) -> Numbers:
        """Return the number of each id, UNKNOWN for those that are not there."""
        text, starts = _as_bytes(ids)
        found = self._sorted_numbers(text, starts) if self._sorted else np.full(len(ids), UNKNOWN, np.int64)
        if self._late:
            missing = np.flatnonzero(found == UNKNOWN)
            late = ids.take(pa.array(missing)).to_pylist()
            found[missing] = [self._number_of.get(one, UNKNOWN) for one in late]
        return found

    def add(self, ids: Sequence[str]) -> None:
        """Add ids that are not there yet."""
        first = len(self)
        self._late.extend(ids)
        self._number_of.update(zip(ids, range(first, first + len(ids)), strict=True))
        if len(self._late) > max(_FEWEST_TO_SORT, self._sorted // 4):
            self._take(self.arrays(np.arange(len(self))))

    def arrays(self, numbers: Numbers) -> Arrays:
        """Return what to store of the ids of these numbers; they are numbered anew in this order."""
        early = numbers[numbers < self._sorted]
        text, starts = _chosen(self._text, self._starts, early)
        late_text, late_starts = _as_bytes(
            pa.array([self.at(int(one)) for one in numbers[len(early) :]], pa.string())
        )
        text, starts = np.concatenate([text, late_text]), np.concatenate([starts, late_starts[1:] + starts[-1]])
        hashes = _hashes(text, starts)
        by_hash = np.argsort(hashes, kind="stable").astype(np.int32)
        return {"id_text": text, "id_starts": starts, "id_hashes": hashes[by_hash], "id_by_hash": by_hash}

    @classmethod
    def of(cls, arrays: Arrays) -> "IdIndex":
        """Return the index of ids that were stored."""
        found = cls()
        found._take(arrays)
        return found

    def _take(self, arrays: Arrays) -> None:
        self._text, self._starts = arrays["id_text"], arrays["id_starts"]
        self._hashes, self._by_hash = arrays["id_hashes"], arrays["id_by_hash"]
        self._late, self._number_of, self._asked = [], {}, {}

    def _sorted_numbers(self, text: Bytes, starts: Numbers) -> Numbers:
        """Return the number of each id among those that are sorted; of equal hashes the one with the same bytes."""
        hashes = _hashes(text, starts)
        found = np.full(len(hashes), UNKNOWN, np.int64)
        places = np.searchsorted(self._hashes, hashes)
        open_ = np.arange(len(hashes))
        while len(open_):
            inside = places[open_] < len(self._hashes)
            open_ = open_[inside]
            open_ = open_[self._hashes[places[open_]] == hashes[open_]]
            numbers = self._by_hash[places[open_]].astype(np.int64)
            same = _equal(text, starts, open_, self._text, self._starts, numbers)
            found[open_[same]] = numbers[same]
            open_ = open_[~same]
            places[open_] += 1
        return found


def _as_bytes(ids: pa.Array) -> tuple[Bytes, Numbers]:
    """Return texts end to end, and where each begins and the last one ends."""
    _, offsets, data = ids.buffers()
    if not len(ids) or data is None:
        return np.zeros(0, np.uint8), np.zeros(len(ids) + 1, np.int64)
    starts = np.frombuffer(offsets, np.int32)[ids.offset : ids.offset + len(ids) + 1].astype(np.int64)
    text = np.frombuffer(data, np.uint8)[starts[0] : starts[-1]]
    return text, starts - starts[0]


def _rows_by_length(starts: Numbers, rows: Numbers) -> Iterable[tuple[int, Numbers]]:
    lengths = starts[rows + 1] - starts[rows]
    for length in np.unique(lengths).tolist():
        of_length = np.flatnonzero(lengths == length)
        for first in range(0, len(of_length), _AT_ONCE):
            yield length, of_length[first : first + _AT_ONCE]


def _matrix(text: Bytes, starts: Numbers, rows: Numbers, length: int) -> Bytes:
    """Return texts of one length as rows of a matrix."""
    first = starts[rows]
    if len(rows) and int(first[-1] - first[0]) == (len(rows) - 1) * length and (np.diff(first) == length).all():
        return text[first[0] : first[0] + len(rows) * length].reshape(len(rows), length)
    return np.asarray(text[first[:, None] + np.arange(length)])


def _hashes(text: Bytes, starts: Numbers) -> NDArray[np.uint64]:
    """Return a hash of each text: eight bytes at a time are multiplied and shifted."""
    found = np.zeros(len(starts) - 1, np.uint64)
    for length, rows in _rows_by_length(starts, np.arange(len(found))):
        padded = np.zeros((len(rows), -(-max(length, 1) // _WORD) * _WORD), np.uint8)
        padded[:, :length] = _matrix(text, starts, rows, length)
        value = np.full(len(rows), length, np.uint64)
        for word in padded.view("<u8").T:
            value = (value ^ word) * _FACTOR
            value ^= value >> _SHIFT
        found[rows] = value
    return found


def _hash_of(text: bytes) -> int:
    """Return the hash of one text, the same as `_hashes` does."""
    value = len(text)
    padded = text.ljust(_WORD, b"\0")
    for start in range(0, len(padded), _WORD):
        value = (value ^ int.from_bytes(padded[start : start + _WORD], "little")) * int(_FACTOR) & _HIGHEST
        value ^= value >> int(_SHIFT)
    return value


def _equal(
    text: Bytes, starts: Numbers, rows: Numbers, other: Bytes, other_starts: Numbers, other_rows: Numbers
) -> NDArray[np.bool_]:
    """Return which texts are those of other rows, pair by pair."""
    found = np.zeros(len(rows), np.bool_)
    other_lengths = other_starts[other_rows + 1] - other_starts[other_rows]
    for length, pairs in _rows_by_length(starts, rows):
        fitting = pairs[other_lengths[pairs] == length]
        if len(fitting):
            one = _matrix(text, starts, rows[fitting], length)
            found[fitting] = (one == _matrix(other, other_starts, other_rows[fitting], length)).all(axis=1)
    return found


def _chosen(text: Bytes, starts: Numbers, rows: Numbers) -> tuple[Bytes, Numbers]:
    """Return some of the texts end to end."""
    if len(rows) == len(starts) - 1:
        return text, starts
    lengths = starts[rows + 1] - starts[rows]
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    places = np.repeat(starts[rows] - ends[:-1], lengths) + np.arange(ends[-1])
    return text[places], ends
