"""The store's history as numbered steps; append only, never edit one that was released."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from lancedb import AsyncConnection

from reverie.lifecycle.rules import WHOLE
from reverie.memory import LAYERS
from reverie.storage.journal import START, link_after, text_digest
from reverie.storage.lance_table import LANCE_ERRORS, Table
from reverie.storage.lancedb_import import table_names
from reverie.storage.schema import (
    ARCHIVE,
    ARCHIVED_PASSAGES,
    AUTHOR,
    MEMORY_TABLES,
    OUTCOME,
    PACKED,
    PIECES,
    SIDE_TABLES,
    VISIBILITY,
    memory_schema,
    side_schema,
)
from reverie.time import iso

_LISTS = "vector_lists"
_NOT_PACKED_AFTER_ALL = f"{PACKED.name} IS NULL AND precision <> {WHOLE}"


@dataclass(frozen=True, slots=True)
class Migration:
    """One step from schema `number - 1` to schema `number`."""

    number: int
    what: str
    run: Callable[[AsyncConnection, int], Awaitable[None]]


async def _create_tables(connection: AsyncConnection, dimensions: int) -> None:
    # A creation that was killed half way goes on where it stopped.
    existing = [name for name in await table_names(connection) if await _has_a_version(connection, name)]
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


async def _has_a_version(connection: AsyncConnection, name: str) -> bool:
    """Whether a table was ever completed; a process killed while making it leaves a folder that holds none."""
    if "://" not in connection.uri:
        return any((Path(connection.uri) / f"{name}.lance" / "_versions").glob("*.manifest"))
    try:
        await connection.open_table(name)
    except LANCE_ERRORS as error:
        if "not found" in str(error).lower():
            return False
        raise
    return True


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


async def _add_to_layers(connection: AsyncConnection, column: pa.Field, tables: Sequence[str] = LAYERS) -> None:
    for name in tables:
        table = await connection.open_table(name)
        if column.name not in (await table.schema()).names:
            await table.add_columns(column)


async def _seal_events(connection: AsyncConnection, dimensions: int) -> None:
    lance = await connection.open_table("events")
    known = (await lance.schema()).names
    schema = side_schema("events", dimensions)
    missing = [schema.field(name) for name in ("state", "seal") if name not in known]
    if missing:
        await lance.add_columns(missing)


async def _room_for_packed_vectors(connection: AsyncConnection, dimensions: int) -> None:
    """Make the column of vectors one of lists, each of one vector or none, and add one for packed vectors.

    Killed at any point, it goes on from there: the lists are a column of their own until the old one is gone.
    """
    for name in (*LAYERS, "passages"):
        lance = await connection.open_table(name)
        schema = await lance.schema()
        if "vector" in schema.names and pa.types.is_fixed_size_list(schema.field("vector").type):
            if _LISTS not in schema.names:
                await lance.add_columns({_LISTS: "make_array(vector)"})
            await lance.drop_columns(["vector"])
            if await lance.count_rows():  # a column that is dropped stays on disk until its rows are rewritten
                await lance.update(updates_sql={"id": "id"})
        if _LISTS in (await lance.schema()).names:
            # Typed as taking lists of these; it takes them one by one.
            await lance.alter_columns({"path": _LISTS, "rename": "vector"})  # type: ignore[dict-item]
        names = (await lance.schema()).names
        if PACKED.name not in names:
            await lance.add_columns([PACKED])
        if "precision" not in names:
            await lance.add_columns({"precision": f"arrow_cast({WHOLE}, 'Int64')"})
        elif await lance.count_rows(_NOT_PACKED_AFTER_ALL):  # an import could say so, and nothing came of it
            await lance.update(updates_sql={"precision": str(WHOLE)}, where=_NOT_PACKED_AFTER_ALL)


async def _create_archive(connection: AsyncConnection, dimensions: int) -> None:
    schemas = {ARCHIVE: memory_schema(dimensions), ARCHIVED_PASSAGES: side_schema(ARCHIVED_PASSAGES, dimensions)}
    for name, schema in schemas.items():
        if not await _has_a_version(connection, name):
            lance = await connection.create_table(name, schema=schema, mode="overwrite")
            await lance.set_unenforced_primary_key("id")
        table = Table(name, await connection.open_table(name))
        found_by = "id" if name == ARCHIVE else "memory_id"
        if found_by not in await table.indexed_columns():
            await table.index_values(found_by)


async def _room_for_people(connection: AsyncConnection, dimensions: int) -> None:
    for column in (AUTHOR, VISIBILITY):
        await _add_to_layers(connection, column, MEMORY_TABLES)


MIGRATIONS: tuple[Migration, ...] = (
    Migration(1, "the five layers and the side tables", _create_tables),
    Migration(2, "what belongs to a memory is found by an index", _index_side_tables_by_memory),
    Migration(3, "the journal is a chain in which tampering shows", _chain_events),
    Migration(4, "a memory may keep the vectors of its word pieces", _room_for_pieces),
    Migration(5, "an event says what it left in the row, and who wrote it", _seal_events),
    Migration(6, "a vector may be packed into few bits", _room_for_packed_vectors),
    Migration(7, "a decision says what came of it", _room_for_outcomes),
    Migration(8, "what is expired or superseded has a table of its own", _create_archive),
    Migration(9, "a memory says who said it, and who may see it", _room_for_people),
)

NEWEST = MIGRATIONS[-1].number
