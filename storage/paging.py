"""One page of a long list: only what decides the order is read of everything, and complete rows of the page."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa
from pyarrow.compute import call_function

from reverie.memory import LAYERS, Layer, Memory
from reverie.storage.bulk import complete_rows, located_rows
from reverie.storage.filters import Condition
from reverie.storage.scope import Scope
from reverie.storage.store import MemoryStore
from reverie.time import iso

PageOrder = Literal["newest", "oldest", "used", "important"]

_COLUMNS = ("id", "layer", "created_at", "last_accessed_at", "importance")
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
    fitting = await located_rows(tables, _COLUMNS, where)
    if gone:
        rows = [{name: getattr(memory, name) for name in _COLUMNS} for memory in gone]
        fitting = pa.concat_tables([fitting, pa.Table.from_pylist(rows, schema=fitting.schema)])
    column, direction = _BY[by]
    ordered = fitting.sort_by([(column, direction), ("created_at", "descending"), ("id", "ascending")])
    page = ordered.slice(offset, limit)
    stored = page.filter(call_function("is_valid", [page.column("_rowid")]))
    parts = await asyncio.gather(*(complete_rows(table, stored) for table in tables))
    found = {memory.id: memory for memory in gone} | {
        memory.id: scope.as_asked(memory) for part in parts for memory in part
    }
    counts = Counter(fitting.column("layer").to_pylist())
    return MemoryPage(
        [found[one] for one in page.column("id").to_pylist() if one in found],
        len(fitting),
        {layer: counts[layer] for layer in LAYERS if counts[layer]},
    )


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
    """Count all memories of a store by what a chart shows."""
    columns = ("layer", "status", "precision", "created_at")
    rows = pa.concat_tables([await table.rows(columns) for table in store.database.memory_tables.values()])
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
