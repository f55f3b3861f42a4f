"""The few memories that lead a condition, without reading the many behind them."""

import asyncio
from collections.abc import Sequence
from typing import Literal

import pyarrow as pa

from reverie.memory import Kind, Layer, Memory
from reverie.storage.filters import Condition
from reverie.storage.rows import FIELDS, from_table
from reverie.storage.store import MemoryStore
from reverie.storage.table import Table

Order = Literal["importance", "happened_at"]

_NARROW = ("id", "layer", "project", "source", "kind", "importance", "happened_at")
_OF_A_PERSON = "human"
_GUIDING: tuple[Kind, ...] = ("decision", "preference", "how_to", "rejected")


def guides(source: str, kind: str) -> int:
    """Rank what a person said to be done ahead of what a person said, and both ahead of what was merely noticed."""
    if source != _OF_A_PERSON:
        return 3 - (kind in _GUIDING)
    return 1 - (kind in _GUIDING)


async def leading(
    store: MemoryStore, where: Condition, layers: Sequence[Layer], *, project: str, by: Order, limit: int
) -> tuple[list[Memory], int]:
    """Return the first memories that fit, and how many fit in all.

    A project's own come first, then what a person said, then by importance; or else the newest. Only the columns
    that decide this are read of those that fit, and whole rows only of those that lead.
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
    said = zip(rows.column("source").to_pylist(), rows.column("kind").to_pylist(), strict=True)
    rank = pa.array([guides(source, kind) if by == "importance" else 0 for source, kind in said], pa.int8())
    keys = [("foreign", "ascending"), ("rank", "ascending"), (by, "descending"), ("happened_at", "descending")]
    ranked = rows.append_column("foreign", foreign.cast(pa.int8())).append_column("rank", rank)
    return ranked.sort_by([*keys, ("id", "ascending")]).slice(0, limit)


async def _whole(table: Table, rows: pa.Table) -> list[Memory]:
    here = rows.filter(pa.array([layer == table.name for layer in rows.column("layer").to_pylist()], pa.bool_()))
    places = dict(zip(here.column("id").to_pylist(), here.column("_rowid").to_pylist(), strict=True))
    return from_table(await table.at_places(places, FIELDS)) if places else []
