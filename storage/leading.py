"""The few memories that lead a condition, without reading the many behind them."""

import asyncio
from collections.abc import Sequence
from typing import Literal

import pyarrow as pa

from reverie.memory import Layer, Memory
from reverie.storage.filters import Condition
from reverie.storage.rows import FIELDS, from_table
from reverie.storage.store import MemoryStore
from reverie.storage.table import Table

Order = Literal["importance", "happened_at"]

_NARROW = ("id", "layer", "project", "importance", "happened_at")


async def leading(
    store: MemoryStore, where: Condition, layers: Sequence[Layer], *, project: str, by: Order, limit: int
) -> tuple[list[Memory], int]:
    """Return the first memories that fit, and how many fit in all.

    A project's own come first, then by importance or the newest. Only the columns that decide this are read of
    those that fit, and whole rows only of those that lead.
    """
    tables = [store.database.table(layer) for layer in layers]
    fitting = pa.concat_tables(
        await asyncio.gather(*(table.rows(_NARROW, where, with_places=True) for table in tables))
    )
    first = _first(fitting, project, by, limit)
    parts = await asyncio.gather(*(_whole(table, first) for table in tables))
    found = {memory.id: memory for part in parts for memory in part}
    return [found[i] for i in first.column("id").to_pylist() if i in found], len(fitting)


def _first(rows: pa.Table, project: str, by: Order, limit: int) -> pa.Table:
    if not len(rows):
        return rows
    foreign = pa.array([name != project for name in rows.column("project").to_pylist()], pa.bool_())
    keys = [("foreign", "ascending"), (by, "descending"), ("happened_at", "descending"), ("id", "ascending")]
    return rows.append_column("foreign", foreign.cast(pa.int8())).sort_by(keys).slice(0, limit)


async def _whole(table: Table, rows: pa.Table) -> list[Memory]:
    here = rows.filter(pa.array([layer == table.name for layer in rows.column("layer").to_pylist()], pa.bool_()))
    places = dict(zip(here.column("id").to_pylist(), here.column("_rowid").to_pylist(), strict=True))
    return from_table(await table.at_places(places, FIELDS)) if places else []
