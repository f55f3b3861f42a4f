"""The in-memory indexes of several tables, joined end to end: one number for every memory that a query may see.

Joined are the layers for most queries, and the archive where a query may see what is in it.
"""

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence

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
        self._by_session_and_time = self._order(earlier)
        self._passages = dict(passages)
        self._owners = {name: self._owners_of(index) for name, index in passages.items()}
        self._last_neighbours: tuple[np.ndarray, tuple[np.ndarray, np.ndarray]] | None = None
        self._first_of_each = list(self._starts.values())
        self._indexes_in_order = list(self._layers.items())
        self._masks: dict[_Wanted, np.ndarray] = {}  # queries mostly have the scope of the last
        self._passage_counts: np.ndarray | None = None

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
        """Return a mask of the memories that still have a row."""
        return self._joined([index.with_labels([]) for index in self._layers.values()], np.bool_)

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

    def term_entries(self, asked: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return one entry for each memory that has an asked term: which term, which memory, how often."""
        parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        for layer, index in self._layers.items():
            if index.lexical_index is not None:
                numbers, owners, counts = index.lexical_index.entries(asked)
                known = owners < self._sizes[layer]
                if not known.all():
                    numbers, owners, counts = numbers[known], owners[known], counts[known]
                parts.append((numbers, owners + self._starts[layer], counts))
        if not parts:
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32)
        numbers, owners, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
        return numbers, owners, counts

    def lengths(self) -> np.ndarray:
        """Return how many words each memory has."""
        lexical = [index.lexical_index.lengths(len(index)) for index in self._layers.values() if index.lexical_index]
        return self._joined(lexical, np.float32)

    def cosines(self, vector: Vector) -> np.ndarray:
        """Return the cosine of each memory, the best of its own vector and its passages'; these must be in memory."""
        cosines = self._joined([index.similarities(vector) for index in self._layers.values()], np.float32)
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
        known = None if earlier is None else self._numbers_of(earlier)
        numbers = np.arange(self._size)
        if known is None or earlier is None:
            return np.lexsort((numbers, self._moments, self._sessions))
        order = known[earlier._by_session_and_time]
        is_known = np.zeros(self._size, np.bool_)
        is_known[known] = True
        sessions, moments = self._sessions[order], self._moments[order]
        places: list[int] = []
        fresh = numbers[~is_known]
        fresh = fresh[np.lexsort((fresh, self._moments[fresh], self._sessions[fresh]))]
        for number in fresh.tolist():
            start, end = (int(np.searchsorted(sessions, self._sessions[number], side)) for side in ("left", "right"))
            first, last = (
                start + int(np.searchsorted(moments[start:end], self._moments[number], side))
                for side in ("left", "right")
            )
            places.append(first + int(np.searchsorted(order[first:last], number)))
        return np.insert(order, places, fresh)

    def _numbers_of(self, earlier: "JoinedIndex") -> np.ndarray | None:
        """Return the numbers here of the memories there; None if some have other times now, or many are new."""
        if earlier._layers.keys() - self._layers.keys() or self._size - earlier._size > _FEW_ADDED:
            return None
        if any(self._layers[name] is not index for name, index in earlier._layers.items()):
            return None
        parts = [np.arange(size) + self._starts[name] for name, size in earlier._sizes.items()]
        known = np.concatenate(parts) if parts else np.empty(0, np.int64)
        same_sessions = np.array_equal(self._sessions[known], earlier._sessions)
        return known if same_sessions and np.array_equal(self._moments[known], earlier._moments) else None

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


def owner_of(passage_id: str) -> str:
    """Return the id of the memory that a passage is of."""
    return passage_id.rpartition("#")[0]
