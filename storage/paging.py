"""One page of a long list: only what decides the order is read of everything, and complete rows of the page."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar, cast
from weakref import WeakKeyDictionary

import pyarrow as pa
from pyarrow.compute import call_function

from reverie.memory import LAYERS, Layer, Memory
from reverie.storage.bulk import TABLE, complete_rows, located_rows
from reverie.storage.database import Database
from reverie.storage.filters import Condition
from reverie.storage.scope import Scope
from reverie.storage.store import MemoryStore
from reverie.storage.vital_columns import table_versions
from reverie.time import iso

Result = TypeVar("Result")
PageOrder = Literal["newest", "oldest", "used", "important"]

_COLUMNS = ("id", "layer", "created_at", "last_accessed_at", "importance")
_MOST_KNOWN = 8
_BY: dict[PageOrder, tuple[str, Literal["ascending", "descending"]]] = {
    "newest": ("created_at", "descending"),
    "oldest": ("created_at", "ascending"),
    "used": ("last_accessed_at", "descending"),
    "important": ("importance", "descending"),
}


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """The memories of a page in their order, and of all that fit how many there are, by layer too."""

    memories: list[Memory]
    total: int
    layers: dict[Layer, int]


async def page_of(
    store: MemoryStore,
    scope: Scope,
    also: Condition,
    *,
    by: PageOrder,
    offset: int,
    limit: int,
    gone: Sequence[Memory] = (),
) -> MemoryPage:
    """Return so many memories of a scope from a position on; with a moment in the scope, as they were then.

    `gone` are those that had been there then and have no row any more.
    """
    where = scope.condition() & also
    tables = [store.database.table(name) for name in scope.tables]
    ordered = await _ordered(store, scope.tables, where, by, gone)
    page = ordered.names.slice(offset, limit)
    parts = await asyncio.gather(*(complete_rows(table, page) for table in tables))
    found = {memory.id: memory for memory in gone} | {
        memory.id: scope.as_asked(memory) for part in parts for memory in part
    }
    return MemoryPage(
        [found[one] for one in page.column("id").to_pylist() if one in found], len(ordered.names), ordered.layers
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Ordered:
    """The names of all rows of a list in its order, and how many are in each layer."""

    names: pa.Table  # id, table and row id
    layers: dict[Layer, int]


async def _ordered(
    store: MemoryStore, names: Sequence[str], where: Condition, by: PageOrder, gone: Sequence[Memory]
) -> _Ordered:
    async def read() -> _Ordered:
        fitting = await located_rows([store.database.table(name) for name in names], _COLUMNS, where)
        if gone:
            rows = [{name: getattr(memory, name) for name in _COLUMNS} for memory in gone]
            fitting = pa.concat_tables([fitting, pa.Table.from_pylist(rows, schema=fitting.schema)])
        return await asyncio.to_thread(_sorted, fitting, by)

    return await read() if gone else await _remembered(store, ("list", where.sql, tuple(names), by), read)


def _sorted(fitting: pa.Table, by: PageOrder) -> _Ordered:
    column, direction = _BY[by]
    ordered = fitting.sort_by([(column, direction), ("created_at", "descending"), ("id", "ascending")])
    counts = _counts(fitting.column("layer"))
    return _Ordered(
        ordered.select(["id", TABLE, "_rowid"]).combine_chunks(),
        {layer: counts[layer] for layer in LAYERS if layer in counts},
    )


_Known = OrderedDict[tuple[object, ...], tuple[tuple[int, ...], object]]
_known: WeakKeyDictionary[Database, _Known] = WeakKeyDictionary()


async def _remembered(store: MemoryStore, key: tuple[object, ...], read: Callable[[], Awaitable[Result]]) -> Result:
    """Return what was read before if no table has changed since; the last few lists and counts are kept."""
    versions = await table_versions(store)
    known = _known.setdefault(store.database, OrderedDict())
    if key in known and known[key][0] == versions:
        known.move_to_end(key)
        return cast(Result, known[key][1])
    found = await read()
    if await table_versions(store) == versions:  # or else somebody wrote while the tables were read one by one
        known[key] = versions, found
        while len(known) > _MOST_KNOWN:
            known.popitem(last=False)
    return found


@dataclass(frozen=True, slots=True)
class Census:
    """How many memories there are, whatever their status: by layer, status, precision and month of writing."""

    total: int
    layers: dict[str, int]
    statuses: dict[str, int]
    precisions: dict[str, int]
    months: dict[str, int]
    first: str | None  # when the oldest was written


async def census_of(store: MemoryStore) -> Census:
    """Count all memories of a store, as far as its viewer sees them, by what a chart shows."""
    return await _remembered(store, ("census", store.viewer), lambda: _counted(store))


async def _counted(store: MemoryStore) -> Census:
    columns = ("layer", "status", "precision", "created_at")
    where = store.viewer.narrowed(None)
    rows = pa.concat_tables([await table.rows(columns, where) for table in store.database.memory_tables.values()])
    moments = rows.column("created_at")
    years = call_function("multiply", [call_function("year", [moments]), pa.scalar(100, pa.int64())])
    months = call_function("add", [years, call_function("month", [moments])])
    return Census(
        total=len(rows),
        layers=_counts(rows.column("layer")),
        statuses=_counts(rows.column("status")),
        precisions=_counts(rows.column("precision")),
        months={f"{month[:4]}-{month[4:]}": count for month, count in _counts(months).items()},
        first=iso(call_function("min_max", [moments])["min"].as_py()) if len(rows) else None,
    )


def _counts(values: pa.ChunkedArray) -> dict[str, int]:
    counted = ((str(pair["values"]), int(pair["counts"])) for pair in values.value_counts().to_pylist())
    return dict(sorted(counted))


async def bytes_by_table(store: MemoryStore) -> dict[str, int]:
    """Return what each layer takes, with its versions and indexes, and what the other tables take."""
    database = store.database
    within = f"{database.home.tables(database.generation).rstrip('/').rpartition('/')[2]}/"
    sizes: dict[str, int] = {}
    for path, size in (await database.home.sizes()).items():
        if path.startswith(within):
            table, is_below, _ = path.removeprefix(within).partition("/")
            name = table.removesuffix(".lance") if is_below else ""
            part = name if name in LAYERS else {"events": "history"}.get(name, "other")
            sizes[part] = sizes.get(part, 0) + size
    return {part: sizes[part] for part in (*LAYERS, "history", "other") if part in sizes}
