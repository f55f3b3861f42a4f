"""Which terms each memory has and how often: lists by term, in arrays that can be mapped from a file.

What came since the lists were sorted is in a tail, which is searched as a whole. It is merged into the lists when it
has become a fraction of them, and whenever the index is stored.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from reverie.storage.stored_index import Arrays
from reverie.text.tokenize import terms

_FIRST_ENTRIES = 4_096
_NO_TERM = 0
_MOST_COUNTED = 255
_FEWEST_TO_SORT = 4_096
_GONE = -1

Entries = tuple[NDArray[np.uint32], NDArray[np.int32], NDArray[np.uint8]]
"""Terms, owners and counts, entry by entry."""


class LexicalIndex:
    """Which terms each memory has and how often, by the index of the memory."""

    def __init__(self) -> None:
        # The sorted entries: those of the term at a place are from its start to the next one's.
        self._sorted = _sorted_entries((np.zeros(0, np.uint32), np.zeros(0, np.int32), np.zeros(0, np.uint8)))
        self._rewritten = np.zeros(0, np.bool_)  # of these memories the sorted entries count no more
        self._any_rewritten = False
        self._size = 0  # of the tail
        self._terms = np.zeros(_FIRST_ENTRIES, np.uint32)
        self._owners = np.zeros(_FIRST_ENTRIES, np.int32)
        self._counts = np.zeros(_FIRST_ENTRIES, np.uint8)
        self._lengths = np.zeros(0, np.float32)

    def write(self, indices: np.ndarray, texts: Sequence[str]) -> None:
        """Index the texts of memories; those that had one get the new one instead."""
        known = indices[indices < len(self._lengths)]
        if len(known) and self._lengths[known].any():
            self._terms[: self._size][np.isin(self._owners[: self._size], known)] = _NO_TERM
            self._rewritten[known] = self._any_rewritten = True
        self._make_room(int(indices.max(initial=-1)) + 1)
        counted = [Counter(terms(text)) for text in texts]
        self._lengths[indices] = [one.total() for one in counted]
        self._append(indices, counted)

    def lengths(self, count: int) -> np.ndarray:
        """Return how many words each of the first `count` memories has."""
        self._make_room(count)
        return self._lengths[:count]

    def lists(self, wanted: Sequence[int]) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return for each wanted term whose it is, and how often. The arrays are not to be written to."""
        if self._size > max(_FEWEST_TO_SORT, len(self._sorted["owners"]) // 4):
            self._merge()
        asked = np.array(wanted, np.uint32)
        late, late_numbers = self._late_entries(asked)
        firsts = np.searchsorted(late_numbers, np.arange(len(asked) + 1)).tolist()
        found: list[tuple[np.ndarray, np.ndarray]] = []
        for number, one in enumerate(self._slices(asked)):
            owners, counts = self._sorted["owners"][one], self._sorted["counts"][one]
            if self._any_rewritten:
                current = ~self._rewritten[owners]
                owners, counts = owners[current], counts[current]
            if firsts[number] < firsts[number + 1]:
                own = late[firsts[number] : firsts[number + 1]]
                owners = np.concatenate([owners, self._owners[own]])
                counts = np.concatenate([counts, self._counts[own]])
            found.append((owners, counts))
        return found

    def entries(self, wanted: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return every entry of the wanted terms: which of them, whose, how often."""
        lists = self.lists(wanted)
        numbers = np.repeat(np.arange(len(lists)), [len(owners) for owners, _ in lists])
        owners = np.concatenate([np.empty(0, np.int32), *(owners for owners, _ in lists)])
        counts = np.concatenate([np.empty(0, np.uint8), *(counts for _, counts in lists)])
        return numbers, owners, counts.astype(np.float32)

    def arrays(self, numbers: NDArray[np.int64], new_numbers: NDArray[np.int32]) -> Arrays:
        """Return what to store of these memories, numbered anew; `new_numbers` has -1 for all others."""
        entries = _renumbered(self._all_entries(), new_numbers)
        return {**_sorted_entries(entries), "lengths": self.lengths(len(new_numbers))[numbers]}

    @classmethod
    def of(cls, arrays: Arrays) -> "LexicalIndex":
        """Return the index that was stored."""
        found = cls()
        found._sorted = {name: arrays[name] for name in ("terms", "starts", "owners", "counts")}
        found._lengths = arrays["lengths"]
        found._rewritten = np.zeros(len(found._lengths), np.bool_)
        return found

    def copy(self) -> "LexicalIndex":
        """Return a copy that later writes do not touch; what never changes is shared."""
        found = LexicalIndex()
        found._sorted, found._any_rewritten, found._size = self._sorted, self._any_rewritten, self._size
        found._rewritten, found._lengths = self._rewritten.copy(), self._lengths.copy()
        found._terms = self._terms[: self._size].copy()
        found._owners = self._owners[: self._size].copy()
        found._counts = self._counts[: self._size].copy()
        return found

    def _slices(self, asked: np.ndarray) -> list[slice]:
        known, starts = self._sorted["terms"], self._sorted["starts"]
        if not len(known):
            return [slice(0, 0)] * len(asked)
        places = np.minimum(np.searchsorted(known, asked), len(known) - 1)
        there = known[places] == asked
        firsts, lasts = np.where(there, starts[places], 0).tolist(), np.where(there, starts[places + 1], 0).tolist()
        return [slice(first, last) for first, last in zip(firsts, lasts, strict=True)]

    def _late_entries(self, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the entries of terms in the tail, by the order of the terms, and the number of the term of each."""
        if not len(asked) or not self._size:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        late = self._terms[: self._size]
        by_term = np.argsort(asked)
        places = np.searchsorted(asked, late, sorter=by_term)
        numbers = by_term[np.minimum(places, len(asked) - 1)]
        found = np.flatnonzero(asked[numbers] == late)
        found = found[np.argsort(numbers[found], kind="stable")]
        return found, numbers[found]

    def _merge(self) -> None:
        self._sorted = _sorted_entries(self._all_entries())
        self._rewritten[:], self._any_rewritten, self._size = False, False, 0
        self._terms = np.zeros(_FIRST_ENTRIES, np.uint32)
        self._owners = np.zeros(_FIRST_ENTRIES, np.int32)
        self._counts = np.zeros(_FIRST_ENTRIES, np.uint8)

    def _all_entries(self) -> Entries:
        """Return the entries that count, sorted ones first."""
        base = self._sorted
        early = np.repeat(base["terms"], np.diff(base["starts"])), base["owners"], base["counts"]
        if self._any_rewritten:
            current = ~self._rewritten[base["owners"]]
            early = early[0][current], early[1][current], early[2][current]
        kept = self._terms[: self._size] != _NO_TERM
        late = tuple(part[: self._size][kept] for part in (self._terms, self._owners, self._counts))
        found = [np.concatenate(pair) if len(pair[1]) else pair[0] for pair in zip(early, late, strict=True)]
        return found[0], found[1], found[2]

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
            self._rewritten = np.concatenate([self._rewritten, np.zeros(extra, np.bool_)])


def _sorted_entries(entries: Entries) -> Arrays:
    """Return entries by their term: the terms, where each begins, and owners and counts in that order."""
    written, owners, counts = entries
    order = np.argsort(written, kind="stable")
    in_order = written[order]
    firsts = np.flatnonzero(np.concatenate([[True], in_order[1:] != in_order[:-1]])) if len(in_order) else order
    starts = np.append(firsts, len(in_order)).astype(np.int64)
    return {"terms": in_order[firsts], "starts": starts, "owners": owners[order], "counts": counts[order]}


def _renumbered(entries: Entries, new_numbers: NDArray[np.int32]) -> Entries:
    """Return the entries of those memories that have a new number."""
    written, owners, counts = entries
    owners = new_numbers[owners]
    kept = owners != _GONE
    return (written, owners, counts) if kept.all() else (written[kept], owners[kept], counts[kept])
