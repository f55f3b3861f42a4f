"""The columns that the rules of age and merit read, of a whole store, as arrays; read again when a table changes."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow.compute import SetLookupOptions, call_function

from reverie.ids import content_hash
from reverie.lifecycle.arrays import NEVER, Vitals
from reverie.lifecycle.expiry import LASTING_KINDS, LIVING
from reverie.memory import LAYERS, TIERS, Memory
from reverie.storage.bulk import TABLE, complete_rows, located_rows
from reverie.storage.database import Database
from reverie.storage.filters import one_of
from reverie.storage.rows import OWNER_COLUMNS, owners_of
from reverie.storage.scope import Viewer
from reverie.storage.store import MemoryStore

_NUMBERS = ("access_count", "importance", "surprise", "trust", "stability", "confirmations", "confidence", "valence")
_MOMENTS = ("created_at", "last_accessed_at", "forget_after")
_COLUMNS = (
    *("id", "project", "layer", "status", "kind", "content_hash", "pinned", "core", "tier", "updated_at"),
    *("access_times", "sessions", *OWNER_COLUMNS),
    *_NUMBERS,
    *_MOMENTS,
)
_BLANK = (content_hash(""),)  # nothing else is blank: texts are stripped before they are stored


@dataclass(frozen=True, slots=True, eq=False)
class VitalColumns:
    """The living memories of a store, oldest first: what names them, and what the rules read of them."""

    vitals: Vitals
    projects: NDArray[np.object_]
    names: pa.Table  # id, table and row id of each
    owners: pa.ChunkedArray  # whose personal memory each is, null for everybody's

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.names)

    def ids_of(self, indices: Sequence[int] | NDArray[np.int64]) -> list[str]:
        """Return the ids of the memories at some indices."""
        ids: list[str] = self.names.column("id").take(pa.array(indices, pa.int64())).to_pylist()
        return ids

    def seen_by(self, viewer: Viewer) -> "VitalColumns":
        """Return the columns of those that somebody may see."""
        if self.owners.null_count == len(self.owners) and viewer.sees_owner(None) and viewer.projects is None:
            return self
        pairs = zip(self.owners.to_pylist(), self.projects.tolist(), strict=True)
        seen = [viewer.sees_owner(owner) and viewer.sees_project(project) for owner, project in pairs]
        indices = np.flatnonzero(np.array(seen, np.bool_))
        rows = pa.array(indices, pa.int64())
        return VitalColumns(
            self.vitals.at(indices), self.projects[indices], self.names.take(rows), self.owners.take(rows)
        )

    async def memories(self, store: MemoryStore, indices: Sequence[int]) -> list[Memory]:
        """Read the complete memories at these indices, in their order; what has gone since is left out."""
        wanted = self.names.take(pa.array(indices, pa.int64()))
        parts = await asyncio.gather(*(complete_rows(store.database.table(layer), wanted) for layer in LAYERS))
        found = {memory.id: memory for part in parts for memory in part}
        return [found[one] for one in wanted.column("id").to_pylist() if one in found]


_Versions = tuple[int, ...]
_known: WeakKeyDictionary[Database, tuple[_Versions, VitalColumns]] = WeakKeyDictionary()


async def vital_columns(store: MemoryStore) -> VitalColumns:
    """Return the columns of every living memory that the store's viewer sees, as they are now."""
    return (await _all_columns(store)).seen_by(store.viewer)


async def _all_columns(store: MemoryStore) -> VitalColumns:
    versions = await table_versions(store)
    known = _known.get(store.database)
    if known is not None and known[0] == versions:
        return known[1]
    where = one_of("status", LIVING)
    rows = await located_rows([store.database.table(layer) for layer in LAYERS], _COLUMNS, where)
    columns = await asyncio.to_thread(columns_of, rows.combine_chunks())
    if await table_versions(store) == versions:  # or else somebody wrote while they were read one by one
        _known[store.database] = versions, columns
    return columns


async def table_versions(store: MemoryStore) -> _Versions:
    """Return the versions of the tables of memories; they are the same as long as nothing was written."""
    return tuple(await asyncio.gather(*(table.version() for table in store.database.memory_tables.values())))


def columns_of(rows: pa.Table) -> VitalColumns:
    """Return rows of the layer tables as columns; all of them must be living."""
    rows = _newest_of_each(rows).sort_by([("created_at", "ascending"), ("id", "ascending")]).combine_chunks()
    numbers = {name: _floats(rows.column(name)) for name in _NUMBERS}
    created, accessed, deadline = (_micros(rows.column(name)) for name in _MOMENTS)
    status = rows.column("status")
    vitals = Vitals(
        layer=_codes(rows.column("layer"), LAYERS),
        is_living=np.ones(len(rows), np.bool_),
        is_active=_is_in(status, ("active",)),
        is_blank=_is_in(rows.column("content_hash"), _BLANK),
        has_lasting_kind=_is_in(rows.column("kind"), tuple(LASTING_KINDS)),
        pinned=_bools(rows.column("pinned")),
        core=_bools(rows.column("core")),
        created=created,
        last_accessed=accessed,
        forget_after=deadline,
        access_count=np.nan_to_num(numbers["access_count"]).astype(np.int64),
        access_times=_moments_of_each(rows.column("access_times")),
        sessions=_distinct_of_each(rows.column("sessions")),
        importance=numbers["importance"],
        surprise=numbers["surprise"],
        trust=numbers["trust"],
        stability=numbers["stability"],
        confirmations=numbers["confirmations"],
        confidence=numbers["confidence"],
        valence=numbers["valence"],
        tier=_codes(rows.column("tier"), TIERS),
    )
    projects = rows.column("project").to_numpy()
    return VitalColumns(vitals, projects, rows.select(["id", TABLE, "_rowid"]), owners_of(rows))


def _newest_of_each(rows: pa.Table) -> pa.Table:
    """Leave out the older row of a memory that a move left in two tables."""
    if len(rows) == len(rows.column("id").unique()):
        return rows
    rows = rows.sort_by([("updated_at", "descending")])
    seen: set[str] = set()
    kept = [not (one in seen or seen.add(one)) for one in rows.column("id").to_pylist()]  # type: ignore[func-returns-value]
    return rows.filter(pa.array(kept, pa.bool_()))


def _codes(column: pa.ChunkedArray, words: Sequence[str]) -> NDArray[np.int8]:
    found = call_function("index_in", [column], SetLookupOptions(pa.array(words, pa.string())))
    return np.asarray(found.fill_null(-1).to_numpy().astype(np.int8))


def _is_in(column: pa.ChunkedArray, words: Sequence[str]) -> NDArray[np.bool_]:
    return np.asarray(_codes(column, words) >= 0)


def _bools(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    return np.asarray(column.fill_null(False).to_numpy(), np.bool_)


def _floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    return np.asarray(column.cast(pa.float64()).to_numpy(), np.float64)


def _micros(column: pa.ChunkedArray | pa.Array) -> NDArray[np.int64]:
    moments = column.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())
    return np.asarray(moments.fill_null(NEVER).to_numpy())


def _moments_of_each(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return the moments in each row's list, side by side, filled up with NEVER."""
    lengths, flat = _lengths(column), _micros(call_function("list_flatten", [column]))
    table = np.full((len(column), int(lengths.max(initial=0))), NEVER, np.int64)
    table[np.arange(table.shape[1])[None, :] < lengths[:, None]] = flat
    return table


def _distinct_of_each(column: pa.ChunkedArray) -> NDArray[np.int64]:
    counts = np.zeros(len(column), np.int64)
    owners = call_function("list_parent_indices", [column]).to_numpy()
    values = call_function("list_flatten", [column]).to_numpy()
    if len(values):
        _, codes = np.unique(values.astype(str), return_inverse=True)
        pairs = np.unique(np.stack([owners, codes]), axis=1)
        np.add.at(counts, pairs[0], 1)
    return counts


def _lengths(column: pa.ChunkedArray) -> NDArray[np.int64]:
    lengths = call_function("list_value_length", [column]).fill_null(0)
    return np.asarray(lengths.to_numpy().astype(np.int64))
