"""The words of one table in memory: which terms each memory has, and how often.

It is kept at every size of the store: document frequencies, the words of neighbours and the counts of what is out of
scope come from it alone, so that they are the same wherever the vectors are (decision 0030).
"""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np

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
