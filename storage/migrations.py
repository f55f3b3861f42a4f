"""The store's history as numbered steps; append only, never edit one that was released."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from lancedb import AsyncConnection

from reverie.memory import LAYERS
from reverie.storage.journal import START, link_after, text_digest
from reverie.storage.lance_table import Table
from reverie.storage.lancedb_import import table_names
from reverie.storage.schema import OUTCOME, PIECES, SIDE_TABLES, memory_schema, side_schema
from reverie.time import iso


@dataclass(frozen=True, slots=True)
class Migration:
    """One step from schema `number - 1` to schema `number`."""

    number: int
    what: str
    run: Callable[[AsyncConnection, int], Awaitable[None]]


async def _create_tables(connection: AsyncConnection, dimensions: int) -> None:
    # A creation that was killed half way goes on where it stopped.
    existing = [name for name in await table_names(connection) if _has_a_version(connection, name)]
    for layer in LAYERS:
        if layer not in existing:
            lance = await connection.create_table(layer, schema=memory_schema(dimensions), mode="overwrite")
            await lance.set_unenforced_primary_key("id")
        table = Table(layer, await connection.open_table(layer))
        indexed = await table.indexed_columns()
        if "search_text" not in indexed:
            await table.index_text()
        if "id" not in indexed:
            await table.index_values("id")
    for name in SIDE_TABLES:
        if name not in existing:
            lance = await connection.create_table(name, schema=side_schema(name, dimensions), mode="overwrite")
            await lance.set_unenforced_primary_key("id")


def _has_a_version(connection: AsyncConnection, name: str) -> bool:
    """Whether a table was ever completed; a process killed while making it leaves a folder that holds none."""
    return any((Path(connection.uri) / f"{name}.lance" / "_versions").glob("*.manifest"))


async def _index_side_tables_by_memory(connection: AsyncConnection, dimensions: int) -> None:
    for name in ("passages", "events", "accesses"):
        table = Table(name, await connection.open_table(name))
        if "memory_id" not in await table.indexed_columns():
            await table.index_values("memory_id")


async def _chain_events(connection: AsyncConnection, dimensions: int) -> None:
    lance = await connection.open_table("events")
    known = (await lance.schema()).names
    schema = side_schema("events", dimensions)
    missing = [schema.field(name) for name in ("digest", "number", "hash") if name not in known]
    if missing:  # else the store was made with them, or this was killed after adding them
        await lance.add_columns(missing)
    table = Table("events", lance)
    names = [name for name in schema.names if name in (await lance.schema()).names]  # later ones come later
    rows = (await table.rows(names)).to_pylist()
    link = START
    for row in sorted(rows, key=lambda row: str(row["id"])):
        row["digest"] = text_digest(row)
        link = link_after(link, {**row, "at": iso(row["at"])}, row["digest"])
        row["number"], row["hash"] = link.number, link.hash
    if rows:
        await table.upsert(pa.Table.from_pylist(rows, schema=pa.schema([schema.field(name) for name in names])))


async def _room_for_pieces(connection: AsyncConnection, dimensions: int) -> None:
    await _add_to_layers(connection, PIECES)


async def _room_for_outcomes(connection: AsyncConnection, dimensions: int) -> None:
    await _add_to_layers(connection, OUTCOME)


async def _add_to_layers(connection: AsyncConnection, column: pa.Field) -> None:
    for layer in LAYERS:
        table = await connection.open_table(layer)
        if column.name not in (await table.schema()).names:
            await table.add_columns(column)


async def _seal_events(connection: AsyncConnection, dimensions: int) -> None:
    lance = await connection.open_table("events")
    known = (await lance.schema()).names
    schema = side_schema("events", dimensions)
    missing = [schema.field(name) for name in ("state", "seal") if name not in known]
    if missing:
        await lance.add_columns(missing)


MIGRATIONS: tuple[Migration, ...] = (
    Migration(1, "the five layers and the side tables", _create_tables),
    Migration(2, "what belongs to a memory is found by an index", _index_side_tables_by_memory),
    Migration(3, "the journal is a chain in which tampering shows", _chain_events),
    Migration(4, "a memory may keep the vectors of its word pieces", _room_for_pieces),
    Migration(5, "an event says what it left in the row, and who wrote it", _seal_events),
    Migration(6, "a decision says what came of it", _room_for_outcomes),
)

NEWEST = MIGRATIONS[-1].number
