"""The in-memory indexes of several tables joined end to end: one index numbers every memory that a query may see.

For most queries these are the layers; the archive is joined to them where a query may see what is in it.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from reverie.storage.memory_index import MemoryIndex
from reverie.storage.rows import RowLocation, Vector
from reverie.storage.schema import ARCHIVE
from reverie.storage.scope import Scope, Viewer

NOBODY = -1
"""Stands for "no memory" in an array of indices."""


class JoinedIndex:
    """The memories that the indexes had when it was made; what is added to a layer later has no number here."""

    def __init__(
        self, versions: tuple[int, ...], layers: Mapping[str, MemoryIndex], passages: Mapping[str, MemoryIndex]
    ) -> None:
        self.versions = versions
        self._layers = {layer: index for layer, index in layers.items() if len(index)}
        self._sizes = {layer: len(index) for layer, index in self._layers.items()}
        self._starts: dict[str, int] = dict(
            zip(self._layers, np.cumsum([0, *self._sizes.values()]).tolist(), strict=False)
        )
        self._size = sum(self._sizes.values())
        self._sessions = self._joined([index.sessions for index in self._layers.values()], np.int64)
        moments = self._joined([index.moments for index in self._layers.values()], np.int64)
        self._by_session_and_time = np.lexsort((np.arange(self._size), moments, self._sessions))
        self._passages = dict(passages)
        self._owners = {name: self._owners_of(index) for name, index in passages.items()}
        self._last_neighbours: tuple[np.ndarray, tuple[np.ndarray, np.ndarray]] | None = None

    def __len__(self) -> int:
        return self._size

    def is_of(self, versions: tuple[int, ...], tables: Mapping[str, MemoryIndex]) -> bool:
        """Whether it was made of these versions of these indexes: one that was built anew numbers memories anew."""
        return self.versions == versions and all(tables[name] is index for name, index in self._layers.items())

    def id_at(self, index: int) -> str:
        """Return the id of a memory."""
        layer, own = self._layer_and_index(index)
        return self._layers[layer].ids[own]

    def location_at(self, index: int) -> RowLocation:
        """Return where the row of a memory was last seen."""
        layer, own = self._layer_and_index(index)
        return RowLocation(layer, self._layers[layer].row_id(own))

    def index_of(self, memory_id: str, table: str | None = None) -> int:
        """Return the index of a memory, in its table if that is known; NOBODY if it has none."""
        for layer, index in self._layers.items():
            own = index.index_of(memory_id) if table in (None, layer) else None
            if own is not None and own < self._sizes[layer]:
                return self._starts[layer] + own
        return NOBODY

    def alive(self) -> np.ndarray:
        """Return a mask of the memories that still have a row."""
        return self._joined([index.with_labels([]) for index in self._layers.values()], np.bool_)

    def in_scope(self, scope: Scope, statuses: Sequence[str] | None = None) -> np.ndarray:
        """Return a mask of the memories whose project, status, owner and layer are in scope."""
        wanted = [scope.projects, scope.statuses if statuses is None else statuses, scope.viewer.owners]
        parts = [
            index.with_labels([*wanted, scope.layers])
            if table == ARCHIVE
            else (index.with_labels(wanted) if table in scope.layers else np.zeros(len(index), np.bool_))
            for table, index in self._layers.items()
        ]
        return self._joined(parts, np.bool_)

    def seen_by(self, viewer: Viewer) -> np.ndarray:
        """Return a mask of the memories that somebody may see, in scope or not."""
        parts = [index.with_labels([viewer.projects, None, viewer.owners]) for index in self._layers.values()]
        return self._joined(parts, np.bool_)

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
        owners = np.concatenate(list(self._owners.values()))
        return np.bincount(owners[owners != NOBODY], minlength=self._size)

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
            found[name] = {passages.ids[n]: (int(owners[n]), passages.row_id(n)) for n in numbers}
        return found

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
        owners = np.full(len(passages), NOBODY, np.int64)
        for index in np.flatnonzero(passages.with_labels([])).tolist():
            owners[index] = self.index_of(owner_of(passages.ids[index]))
        return owners

    def _layer_and_index(self, index: int) -> tuple[str, int]:
        layer = [layer for layer, start in self._starts.items() if start <= index][-1]
        return layer, index - self._starts[layer]

    def _joined(self, parts: Sequence[np.ndarray], kind: type) -> np.ndarray:
        """Put together what each layer has of its memories, without those added since."""
        if not parts:
            return np.empty(0, kind)
        return np.concatenate([part[:size] for part, size in zip(parts, self._sizes.values(), strict=True)])


def owner_of(passage_id: str) -> str:
    """Return the id of the memory that a passage is of."""
    return passage_id.rpartition("#")[0]
