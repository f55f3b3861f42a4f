"""The vectors and rows of one table, held in memory and kept in step with its versions.

LanceDB searches a table of ten thousand vectors in about 20 ms, most of it spent reading them again; a product with a
matrix that is already there takes one. What is too much to hold is left to the table.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

import numpy as np
import pyarrow as pa

from reverie.process_memory import release_heap
from reverie.storage.filters import one_of
from reverie.storage.lance_table import Table
from reverie.storage.lexical_index import LexicalIndex
from reverie.storage.rows import CANDIDATE_COLUMNS, Vector

MOST_BYTES = 40 * 1024 * 1024
"""What one layer may hold: twenty thousand memories of usual length."""

_MOST_PARTS = 16
_NOT_HELD = -1


class RowCache:
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


_FEW_ROWS = 500
_FIRST_ROOM = 256
_UNKNOWN = -1
_NO_SESSION = 0
_SESSIONS_HELD = 4_096


@dataclass(frozen=True, slots=True)
class VectorHit:
    """A memory found by vector: its table, the cosine to the question, and where it was last seen to lie."""

    id: str
    table: str
    similarity: float
    place: int | None = None


class MemoryIndex:
    """A matrix of unit vectors with the project and status of each row.

    A shelf of memories also holds their words, and which were told one after the other.
    """

    def __init__(self, table: Table, dimensions: int, columns: Sequence[str], *, of_memories: bool = True) -> None:
        self._table = table
        self._columns = tuple(columns)  # the label columns, such as project and status
        self._stamp = "updated_at" if of_memories else None  # its change says that a vector may have changed too
        self._read_for_each = ("id", "vector", "search_text") if of_memories else ("id", "vector")
        self.lexical_index = LexicalIndex() if of_memories else None
        self.row_cache = RowCache(CANDIDATE_COLUMNS) if of_memories else None
        self._dimensions = dimensions
        self._version = -1
        self._ids: list[str] = []
        self._places: dict[str, int] = {}
        self._vectors = np.empty((_FIRST_ROOM, dimensions), np.float32)
        self._labels = np.zeros((_FIRST_ROOM, len(self._columns)), np.int32)
        self._alive = np.zeros(_FIRST_ROOM, np.bool_)
        self._stamps = np.zeros(_FIRST_ROOM, np.int64)
        self._addresses = np.full(_FIRST_ROOM, _UNKNOWN, np.int64)
        self._sessions = np.zeros(_FIRST_ROOM, np.int64)
        self._moments = np.zeros(_FIRST_ROOM, np.int64)
        self._codes: list[dict[str, int]] = [{} for _ in self._columns]
        self._guard = asyncio.Lock()

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def version(self) -> int:
        """The version of the table that is held."""
        return self._version

    @property
    def ids(self) -> list[str]:
        """The id at each place."""
        return self._ids

    @property
    def sessions(self) -> np.ndarray:
        """A number for the session of each place, zero for none."""
        return self._sessions[: len(self._ids)]

    @property
    def moments(self) -> np.ndarray:
        """When the memory at each place happened, in microseconds."""
        return self._moments[: len(self._ids)]

    def place_of(self, memory_id: str) -> int | None:
        """Return where a memory stands."""
        return self._places.get(memory_id)

    def vector_of(self, memory_id: str) -> Vector | None:
        """Return the vector of a memory that stands here."""
        place = self._places.get(memory_id)
        return None if place is None or not self._alive[place] else self._vectors[place]

    def held_rows(self, ids: Iterable[str]) -> tuple[set[str], pa.Table | None]:
        """Return which of these memories stand here with their rows, and the rows."""
        if self.row_cache is None:
            return set(), None
        places = {i: self._places[i] for i in ids if i in self._places}
        places = {i: place for i, place in places.items() if self._alive[place] and self.row_cache.holds(place)}
        return set(places), self.row_cache.rows(np.array([*places.values()])) if places else None

    def similarities(self, vector: Vector) -> np.ndarray:
        """Return the cosine of every place, allowed or not."""
        return np.asarray(self._vectors[: len(self._ids)] @ vector)

    def allowed(self, wanted: Sequence[Iterable[str] | None]) -> np.ndarray:
        """Return which places are alive and have their labels among the wanted ones (None: any)."""
        held = len(self._ids)
        if not held:
            return np.zeros(0, np.bool_)
        allowed = self._alive[:held].copy()
        for number, values in enumerate(wanted):
            if values is not None:
                known = self._codes[number]
                fits = np.zeros(len(known), np.bool_)
                fits[[known[value] for value in values if value in known]] = True
                allowed &= fits[self._labels[:held, number]]
        return allowed

    def row(self, place: int) -> int | None:
        """Return where in its table the memory at a place was last seen to lie."""
        address = int(self._addresses[place])
        return None if address == _UNKNOWN else address

    async def refresh(self) -> None:
        """Take in what any process changed since the last time.

        A row never changes where it lies: a change writes it anew elsewhere. So the addresses alone tell what is
        new and what is gone.
        """
        async with self._guard:
            version = await self._table.version()
            if version == self._version:
                return
            addresses = await self._table.addresses()
            fresh = np.setdiff1d(addresses, self._addresses[: len(self._ids)])
            if len(fresh) and not await self._read_few(fresh):
                addresses = await self._read_anew()
                pa.default_memory_pool().release_unused()
                release_heap()
            self._alive[: len(self._ids)] = np.isin(self._addresses[: len(self._ids)], addresses)
            self._version = version

    def note_added(self, version: int, rows: pa.Table) -> None:
        """Take in rows that this process has just appended, unless others wrote in between."""
        if version == self._version + 1:
            self._put(rows)
            self._version = version

    def nearest(self, vector: Vector, limit: int, wanted: Sequence[Iterable[str] | None]) -> list[VectorHit]:
        """Return the closest rows whose labels are among the wanted ones (None: any), best first."""
        places = np.flatnonzero(self.allowed(wanted))
        if not len(places):
            return []
        similarities = self.similarities(vector)[places]
        if len(places) > limit:
            least = np.partition(similarities, -limit)[-limit]
            places, similarities = places[similarities >= least], similarities[similarities >= least]
        best = np.argsort(-similarities, kind="stable")[:limit]
        return [
            VectorHit(self._ids[place], self._table.name, float(similarity), self.row(place))
            for place, similarity in zip(places[best], similarities[best], strict=True)
        ]

    async def _read_few(self, addresses: np.ndarray) -> bool:
        """Read new rows one by one; not if they are many, or were moved again meanwhile."""
        if len(addresses) > _FEW_ROWS:
            return False
        rows = await self._table.at_addresses(addresses, self._columns_of_a_row())
        if len(rows) == len(addresses):
            self._put(rows)
            return True
        return False

    async def _read_anew(self) -> np.ndarray:
        """Read the labels of all rows, and vectors and words where they may have changed; return the addresses."""
        labels = await self._table.rows(["id", *self._columns, *self._more_columns()], with_places=True)
        ids: list[str] = labels.column("id").to_pylist()
        await self._fetch(self._outdated(ids, self._stamps_of(labels)))
        places = np.fromiter((self._places[memory_id] for memory_id in ids), np.int64, len(ids))
        self._label(places, labels)
        if self.row_cache is not None:
            self.row_cache.clear()
            self._hold(await self._table.rows(self.row_cache.columns, with_places=True))
        return np.asarray(self._addresses[places])

    def _hold(self, rows: pa.Table) -> None:
        """Hold the rows that are still where their place says; others were moved between two reads."""
        places = np.fromiter(
            (self._places.get(i, _UNKNOWN) for i in rows.column("id").to_pylist()), np.int64, len(rows)
        )
        same = (places != _UNKNOWN) & (self._addresses[places] == rows.column("_rowid").to_numpy().astype(np.int64))
        if self.row_cache is not None:
            # A filter leaves twice the room it needs, and hardly ever is there anything to filter.
            self.row_cache.write(places[same], rows if same.all() else rows.filter(pa.array(same)))

    def _outdated(self, ids: Sequence[str], stamps: np.ndarray) -> list[str]:
        known = self._places
        return [
            memory_id
            for memory_id, stamp in zip(ids, stamps, strict=True)
            if memory_id not in known or self._stamps[known[memory_id]] != stamp
        ]

    async def _fetch(self, missing: Sequence[str]) -> None:
        if len(missing) > max(_FEW_ROWS, len(self._ids)):
            wanted = set(missing)
            rows = await self._table.rows(self._read_for_each)
            mask = pa.array([memory_id in wanted for memory_id in rows.column("id").to_pylist()])
            fresh = rows.filter(mask)
            self._make_room(len(self._ids) + len(fresh))
            for start in range(0, len(fresh), _FEW_ROWS):
                self._take_in(fresh.slice(start, _FEW_ROWS))
                await asyncio.sleep(0)  # reading ten thousand texts takes a while, and others wait for the loop
            return
        for start in range(0, len(missing), _FEW_ROWS):
            part = missing[start : start + _FEW_ROWS]
            self._take_in(await self._table.rows(self._read_for_each, one_of("id", part)))

    def _put(self, rows: pa.Table) -> None:
        """Take in whole rows."""
        places = self._take_in(rows)
        self._label(places, rows)
        if self.row_cache is not None:
            self.row_cache.write(places, rows)

    def _take_in(self, rows: pa.Table) -> np.ndarray:
        places = self._place(rows.column("id").to_pylist(), as_matrix(rows.column("vector"), self._dimensions))
        if self.lexical_index is not None:
            self.lexical_index.write(places, rows.column("search_text").to_pylist())
        return places

    def _place(self, ids: Sequence[str], vectors: np.ndarray) -> np.ndarray:
        """Write vectors to the places of their ids, new ones at the end; return the places."""
        fresh = [memory_id for memory_id in dict.fromkeys(ids) if memory_id not in self._places]
        start, end = len(self._ids), len(self._ids) + len(fresh)
        if end > len(self._vectors):
            self._make_room(max(end, len(self._vectors) * 3 // 2))
        self._ids.extend(fresh)
        self._places.update(zip(fresh, range(start, end), strict=True))
        places = np.fromiter((self._places[memory_id] for memory_id in ids), np.int64, len(ids))
        self._vectors[places] = vectors
        self._alive[places] = True
        return places

    def _label(self, places: np.ndarray, rows: pa.Table) -> None:
        for number, column in enumerate(self._columns):
            self._labels[places, number] = self._coded(number, rows.column(column))
        self._stamps[places] = self._stamps_of(rows)
        known = "_rowid" in rows.column_names  # not of rows that were just appended
        self._addresses[places] = rows.column("_rowid").to_numpy().astype(np.int64) if known else _UNKNOWN
        if self.lexical_index is not None:
            self._sessions[places] = [_session_number(session) for session in rows.column("session").to_pylist()]
            self._moments[places] = rows.column("happened_at").cast(pa.int64()).to_numpy()

    def _more_columns(self) -> tuple[str, ...]:
        return () if self._stamp is None else (self._stamp, "session", "happened_at")

    def _columns_of_a_row(self) -> list[str]:
        held = () if self.row_cache is None else self.row_cache.columns
        return list(dict.fromkeys((*self._read_for_each, *self._columns, *self._more_columns(), *held)))

    def _stamps_of(self, rows: pa.Table) -> np.ndarray:
        if self._stamp is None:
            return np.zeros(len(rows), np.int64)
        return np.asarray(rows.column(self._stamp).cast(pa.int64()).to_numpy())

    def _make_room(self, room: int) -> None:
        extra = max(0, room - len(self._vectors))
        self._vectors = np.concatenate([self._vectors, np.empty((extra, self._dimensions), np.float32)])
        self._labels = np.concatenate([self._labels, np.zeros((extra, len(self._columns)), np.int32)])
        self._alive = np.concatenate([self._alive, np.zeros(extra, np.bool_)])
        self._stamps = np.concatenate([self._stamps, np.zeros(extra, np.int64)])
        self._addresses = np.concatenate([self._addresses, np.full(extra, _UNKNOWN, np.int64)])
        self._sessions = np.concatenate([self._sessions, np.zeros(extra, np.int64)])
        self._moments = np.concatenate([self._moments, np.zeros(extra, np.int64)])

    def _coded(self, number: int, column: pa.ChunkedArray) -> np.ndarray:
        known = self._codes[number]
        return np.fromiter((known.setdefault(v, len(known)) for v in column.to_pylist()), np.int32, len(column))


@lru_cache(_SESSIONS_HELD)
def _session_number(session: str | None) -> int:
    if session is None:
        return _NO_SESSION
    return int.from_bytes(blake2b(session.encode("utf-8", "replace"), digest_size=8).digest(), signed=True)


def vectors_in(parts: Iterable[pa.Table], dimensions: int) -> dict[str, Vector]:
    """Return the vectors in rows of several tables under their ids."""
    return {
        memory_id: vector
        for rows in parts
        for memory_id, vector in zip(
            rows.column("id").to_pylist(), as_matrix(rows.column("vector"), dimensions), strict=True
        )
    }


def as_matrix(column: pa.ChunkedArray, dimensions: int) -> np.ndarray:
    """Return a vector column as a matrix, one row each."""
    flat = column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return np.asarray(flat, np.float32).reshape(-1, dimensions)
