"""The in-memory indexes of several tables, joined end to end: one number for every memory that a query may see.

Joined are the layers for most queries, and the archive where a query may see what is in it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from reverie.storage.id_index import UNKNOWN
from reverie.storage.memory_index import MemoryIndex
from reverie.storage.rows import RowLocation, Vector
from reverie.storage.schema import ARCHIVE
from reverie.storage.scope import Scope, Viewer

_Wanted = tuple[frozenset[str | None] | frozenset[str] | None, ...]  # labels of each kind, and layers; None: any
_MOST_MASKS = 16
_FEW_ADDED = 200

NOBODY = -1
"""Stands for "no memory" in an array of indices."""


class JoinedIndex:
    """The memories that the indexes had when it was made; what is added to a layer later has no number here."""

    def __init__(
        self,
        versions: tuple[int, ...],
        layers: Mapping[str, MemoryIndex],
        passages: Mapping[str, MemoryIndex],
        earlier: "JoinedIndex | None" = None,
    ) -> None:
        """Take the indexes at these versions; `earlier` saves sorting again what it has sorted."""
        self.versions = versions
        self._layers = {layer: index for layer, index in layers.items() if len(index)}
        self._sizes = {layer: len(index) for layer, index in self._layers.items()}
        self._starts: dict[str, int] = dict(
            zip(self._layers, np.cumsum([0, *self._sizes.values()]).tolist(), strict=False)
        )
        self._size = sum(self._sizes.values())
        self._sessions = self._joined([index.sessions for index in self._layers.values()], np.int64)
        self._moments = self._joined([index.moments for index in self._layers.values()], np.int64)
        self._moves = {layer: index.moves for layer, index in self._layers.items()}
        self._by_session_and_time = self._order(earlier)
        self._passages = dict(passages)
        self._owners = {name: self._owners_of(index) for name, index in passages.items()}
        self._last_neighbours: tuple[np.ndarray, tuple[np.ndarray, np.ndarray]] | None = None
        self._first_of_each = list(self._starts.values())
        self._indexes_in_order = list(self._layers.items())
        self._masks: dict[_Wanted, np.ndarray] = {}  # queries mostly have the scope of the last
        self._passage_counts: np.ndarray | None = None
        self._lengths: np.ndarray | None = None

    def __len__(self) -> int:
        return self._size

    def is_of(self, versions: tuple[int, ...], tables: Mapping[str, MemoryIndex]) -> bool:
        """Whether it was made of these versions of these indexes: one that was built anew numbers memories anew."""
        return self.versions == versions and all(tables[name] is index for name, index in self._layers.items())

    def id_at(self, index: int) -> str:
        """Return the id of a memory."""
        _, layer_index, own = self._layer_and_index(index)
        return layer_index.id_at(own)

    def location_at(self, index: int) -> RowLocation:
        """Return where the row of a memory was last seen."""
        layer, layer_index, own = self._layer_and_index(index)
        return RowLocation(layer, layer_index.row_id(own))

    def index_of(self, memory_id: str, table: str | None = None) -> int:
        """Return the index of a memory, in its table if that is known; NOBODY if it has none.

        One that moved is still indexed in the table that it left: where it has its row counts.
        """
        for layer, index in self._layers.items():
            own = index.index_of(memory_id) if table in (None, layer) else None
            if own is not None and own < self._sizes[layer] and index.has_row(own):
                return self._starts[layer] + own
        return NOBODY

    def alive(self) -> np.ndarray:
        """Return a mask, not to be written to, of the memories that still have a row."""
        return self._mask([], None)

    def in_scope(self, scope: Scope, statuses: Sequence[str] | None = None) -> np.ndarray:
        """Return a mask of the memories whose project, status, owner and layer are in scope."""
        wanted = [scope.projects, scope.statuses if statuses is None else statuses, scope.viewer.owners]
        return self._mask(wanted, scope.layers)

    def seen_by(self, viewer: Viewer) -> np.ndarray:
        """Return a mask of the memories that somebody may see, in scope or not."""
        return self._mask([viewer.projects, None, viewer.owners], None)

    def _mask(self, wanted: Sequence[Collection[str | None] | None], layers: Sequence[str] | None) -> np.ndarray:
        """Return a mask, not to be written to, of the memories with wanted labels in wanted layers (None: any)."""
        key = (*(None if values is None else frozenset(values) for values in (*wanted, layers)),)
        if key not in self._masks:
            parts = [
                index.with_labels([*wanted, layers])
                if table == ARCHIVE
                else index.with_labels(wanted)
                if layers is None or table in layers
                else np.zeros(len(index), np.bool_)
                for table, index in self._layers.items()
            ]
            if len(self._masks) >= _MOST_MASKS:
                self._masks.clear()
            self._masks[key] = self._joined(parts, np.bool_)
            self._masks[key].setflags(write=False)
        return self._masks[key]

    def with_ids(self, ids: Mapping[str, Sequence[str]]) -> np.ndarray:
        """Return a mask of the memories that are among the ids given for their table."""
        mask = np.zeros(self._size, np.bool_)
        found = [self.index_of(memory_id, table) for table, some in ids.items() for memory_id in some]
        mask[[one for one in found if one != NOBODY]] = True
        return mask

    def term_entries(self, asked: Sequence[int], in_scope: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return an entry for each memory in scope that has an asked term, term by term: which, whose, how often."""
        lists = self._lists(asked)
        numbers: list[int] = []
        parts: list[tuple[np.ndarray, np.ndarray]] = []
        for number in range(len(asked)):
            for start, size, of_terms in lists:
                owners, counts = _indexed(size, *of_terms[number])
                seen = in_scope[start : start + size][owners]
                numbers.append(number)
                parts.append((owners[seen].astype(np.int64) + start, counts[seen].astype(np.float32)))
        if not parts:
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32)
        sizes = [len(owners) for owners, _ in parts]
        owners, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
        return np.repeat(numbers, sizes), owners, counts

    def having_any(self, asked: Sequence[int]) -> np.ndarray:
        """Return a mask of the memories, in scope or not, that have any of these terms."""
        mask = np.zeros(self._size, np.bool_)
        for start, size, of_terms in self._lists(asked):
            for owners, counts in of_terms:
                mask[start : start + size][_indexed(size, owners, counts)[0]] = True
        return mask

    def _lists(self, asked: Sequence[int]) -> list[tuple[int, int, list[tuple[np.ndarray, np.ndarray]]]]:
        """Return for each layer its first number, its size, and whose each term is and how often."""
        return [
            (self._starts[layer], self._sizes[layer], index.lexical_index.lists(asked))
            for layer, index in self._layers.items()
            if index.lexical_index is not None
        ]

    def lengths(self) -> np.ndarray:
        """Return how many words each memory has."""
        if self._lengths is None:
            indexes = [index for index in self._layers.values() if index.lexical_index]
            lexical = [index.lexical_index.lengths(len(index)) for index in indexes if index.lexical_index]
            self._lengths = self._joined(lexical, np.float32)
        return self._lengths

    def cosines(self, vector: Vector, wanted: np.ndarray) -> np.ndarray:
        """Return the cosine of each wanted memory, the best of its own vector and its passages'; in memory only."""
        parts = [
            index.similarities(vector, wanted[start : start + size])
            for index, start, size in zip(
                self._layers.values(), self._starts.values(), self._sizes.values(), strict=True
            )
        ]
        cosines = self._joined(parts, np.float32)
        for name, owners in self._owners.items():
            owned = owners != NOBODY
            similarities = self._passages[name].similarities(vector)[: len(owned)]
            np.maximum.at(cosines, owners[owned], similarities[owned])
        return cosines

    def passage_counts(self) -> np.ndarray:
        """Return how many passages each memory has."""
        if self._passage_counts is None:
            owners = np.concatenate(list(self._owners.values()))
            self._passage_counts = np.bincount(owners[owners != NOBODY], minlength=self._size)
        return self._passage_counts

    @property
    def has_passages(self) -> bool:
        """Whether any memory has passages."""
        return any((owners != NOBODY).any() for owners in self._owners.values())

    def passages_of(self, indices: np.ndarray) -> dict[str, dict[str, tuple[int, int | None]]]:
        """Return the passages of some memories by table and id: the index of the memory, and the row id if known."""
        wanted = np.zeros(self._size + 1, np.bool_)
        wanted[indices] = True  # NOBODY is the last one, which stays False
        found: dict[str, dict[str, tuple[int, int | None]]] = {}
        for name, owners in self._owners.items():
            passages, numbers = self._passages[name], np.flatnonzero(wanted[owners]).tolist()
            found[name] = {passages.id_at(n): (int(owners[n]), passages.row_id(n)) for n in numbers}
        return found

    def _order(self, earlier: "JoinedIndex | None") -> np.ndarray:
        """Return the memories by session, then by time; where few were added since, they are put into that order."""
        if earlier is None or not self._follows(earlier):
            return np.lexsort((np.arange(self._size), self._moments, self._sessions)).astype(np.int32)
        known = [np.arange(size, dtype=np.int32) + self._starts[name] for name, size in earlier._sizes.items()]
        order = np.asarray(np.concatenate([np.empty(0, np.int32), *known])[earlier._by_session_and_time])
        added = [
            np.arange(earlier._sizes.get(name, 0), size) + self._starts[name] for name, size in self._sizes.items()
        ]
        fresh = np.concatenate([np.empty(0, np.int64), *added])
        if not len(fresh):
            return order
        fresh = fresh[np.lexsort((fresh, self._moments[fresh], self._sessions[fresh]))]
        return np.insert(order, [bisect_left(order, self._rank(one), key=self._rank) for one in fresh], fresh)

    def _rank(self, number: np.integer[Any]) -> tuple[int, int, int]:
        return int(self._sessions[number]), int(self._moments[number]), int(number)

    def _follows(self, earlier: "JoinedIndex") -> bool:
        """Whether the memories of an earlier one are all here, in the same sessions and at the same times."""
        if earlier._layers.keys() - self._layers.keys() or self._size - earlier._size > _FEW_ADDED:
            return False
        return all(self._layers[name] is index for name, index in earlier._layers.items()) and all(
            self._moves[name] == moves for name, moves in earlier._moves.items()
        )

    def neighbours(self, in_scope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return for each memory the one before and the one after it in its session, of those in scope."""
        if self._last_neighbours is None or not np.array_equal(self._last_neighbours[0], in_scope):
            self._last_neighbours = in_scope, self._neighbours(in_scope)  # most queries have the scope of the last
        return self._last_neighbours[1]

    def _neighbours(self, in_scope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        ordered = self._by_session_and_time[in_scope[self._by_session_and_time]]
        session = self._sessions[ordered]
        together = (session[1:] == session[:-1]) & (session[1:] != 0)
        before, after = np.full(self._size, NOBODY), np.full(self._size, NOBODY)
        before[ordered[1:][together]] = ordered[:-1][together]
        after[ordered[:-1][together]] = ordered[1:][together]
        return before, after

    def _owners_of(self, passages: MemoryIndex) -> np.ndarray:
        """Return the memory of each passage; of two with one id, the one that has its row."""
        owners = np.full(len(passages), NOBODY, np.int64)
        living = np.flatnonzero(passages.with_labels([]))
        if not len(living):
            return owners
        ids = pa.array([owner_of(one) for one in passages.ids_at(living)], pa.string())
        for layer, index in self._layers.items():
            own = index.indices_of(ids)
            found = (own != UNKNOWN) & (own < self._sizes[layer])
            found[found] = index.with_labels([])[own[found]]
            owners[living[found]] = self._starts[layer] + own[found]
        return owners

    def _layer_and_index(self, index: int) -> tuple[str, MemoryIndex, int]:
        number = bisect_right(self._first_of_each, index) - 1
        return *self._indexes_in_order[number], index - self._first_of_each[number]

    def _joined(self, parts: Sequence[np.ndarray], kind: type) -> np.ndarray:
        """Put together what each layer has of its memories, without those added since."""
        if not parts:
            return np.empty(0, kind)
        return np.concatenate([part[:size] for part, size in zip(parts, self._sizes.values(), strict=True)])


def _indexed(size: int, owners: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Leave out memories that were added to the index of a layer since it was joined."""
    if not len(owners) or int(owners.max()) < size:
        return owners, counts
    return owners[owners < size], counts[owners < size]


def owner_of(passage_id: str) -> str:
    """Return the id of the memory that a passage is of."""
    return passage_id.rpartition("#")[0]
