"""The tables of one domain: opened or created, migrated, stamped with their embedder; homes.py says where."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Self

import pyarrow as pa
from lancedb import AsyncConnection

from reverie.errors import ReverieError, StoreBusy, StoreDamaged, StoreTooNew, StoreUnavailable, WrongEmbedder
from reverie.storage.homes import MOVED, MOVING, DomainHome, FolderHome
from reverie.storage.lance_table import LANCE_ERRORS, Table, retried, translated
from reverie.storage.lancedb_import import connect, table_names
from reverie.storage.locks import ProcessLock
from reverie.storage.migrations import MIGRATIONS, NEWEST
from reverie.storage.schema import MEMORY_TABLES, TABLES, side_schema
from reverie.storage.write_ahead_log import LogFile, RemoteLog, WriteAheadLog
from reverie.time import iso


@dataclass(frozen=True, slots=True)
class Stamp:
    """Which model made the vectors of a store, and how long they are."""

    embedder: str
    dimensions: int


REEMBEDDED = "The store was re-embedded since this session opened it. Start the session again and repeat this."


class Database:
    """An open domain."""

    def __init__(
        self,
        home: DomainHome,
        generation: int,
        stamp: Stamp,
        tables: Mapping[str, Table],
        write_ahead_log: WriteAheadLog,
    ) -> None:
        self.home = home
        self.generation = generation
        self.stamp = stamp
        self.write_lock = home.lock("write")
        self.maintenance_lock = home.lock("upkeep")
        self.write_ahead_log = write_ahead_log
        self._raw_tables = tables
        self._identity = home.identity(generation)
        self._tables = {name: table.after(self.write_ahead_log.flush_before_read) for name, table in tables.items()}

    @classmethod
    async def open(cls, place: Path | DomainHome, wanted: Stamp, now: datetime) -> Self:
        """Open a domain's tables, creating or migrating them first if need be.

        Raises:
            StoreUnavailable: if the folder or bucket cannot be read or written.
            StoreDamaged: if a table cannot be read.
            StoreTooNew: if a newer Reverie wrote it.
            WrongEmbedder: if its vectors come from another model than the wanted one.
        """
        home = as_home(place)
        await home.prepare()
        await check_in_use(home)
        generation = await home.refresh()
        connection = await connect_to(home.tables(generation), home)
        if await _schema_number(connection) != NEWEST:
            async with home.lock("write").held():
                await _migrate(connection, wanted, now)
        stamp = await read_stamp(connection)
        if stamp != wanted:
            raise WrongEmbedder(stamp.embedder, wanted.embedder)
        tables = await open_tables(connection, home, generation)
        write_ahead_log = await write_ahead_log_to(home, generation, tables)
        return cls(home, generation, stamp, tables, write_ahead_log)

    def table(self, name: str) -> Table:
        """Return one table by name; reading it flushes the write-ahead log first."""
        return self._tables[name]

    def raw_table(self, name: str) -> Table:
        """Return one table without flushing the write-ahead log first."""
        return self._raw_tables[name]

    @property
    def memory_tables(self) -> dict[str, Table]:
        """The five layer tables and, after them, the archive."""
        return {name: self._tables[name] for name in MEMORY_TABLES}

    def is_current(self) -> bool:
        """Whether this generation of tables is still the one in use."""
        return self.home.current() == self.generation

    async def check_current(self) -> None:
        """Make sure, by a look at the home, that this generation of tables is still the one in use.

        Raises:
            StoreBusy: if it is not.
        """
        if await self.home.refresh() != self.generation:
            raise StoreBusy(REEMBEDDED)

    def is_in_place(self) -> bool:
        """Whether the folder of the tables is still the one that was opened: somebody may have removed it."""
        return self._identity == self.home.identity(self.generation)

    async def read_meta(self) -> dict[str, str]:
        """Return every key and value of the meta table."""
        rows = await self.table("meta").rows(["id", "value"])
        return {row["id"]: row["value"] for row in rows.to_pylist()}

    async def write_meta(self, values: Mapping[str, str]) -> None:
        """Write keys and values to the meta table."""
        await self.table("meta").upsert(meta_rows(values))


async def check_in_use(home: DomainHome) -> None:
    """Make sure that a home was not moved away, and is not the target of a move that is not finished.

    Raises:
        StoreUnavailable: if it is one of the two.
    """
    if (elsewhere := await home.note(MOVED)) is not None:
        raise StoreUnavailable(
            f"The memories of {home.name} were moved to {elsewhere}. Set REVERIE_HOME to that; what is here is the "
            f"copy from before, which is used again if you remove {MOVED!r} from it."
        )
    if (source := await home.note(MOVING)) is not None:
        raise StoreUnavailable(
            f"A move from {source} to {home.name} is not finished. Run the same `reverie move` again, with "
            "REVERIE_HOME set to where it came from."
        )


def as_home(place: Path | DomainHome) -> DomainHome:
    """Return the home of a domain; a path is that of its folder."""
    return FolderHome(place) if isinstance(place, Path) else place


def write_ahead_log_folder(path: Path) -> Path:
    """Return the folder of the write-ahead log in this host's folder of a generation."""
    return path / "additions"


async def write_ahead_log_to(home: DomainHome, generation: int, tables: Mapping[str, Table]) -> WriteAheadLog:
    """Open this host's write-ahead log of a generation."""
    dimensions = (await tables["passages"].lance.schema()).field("vector").type.value_type.list_size
    locks = home.folder / "locks"
    folder = write_ahead_log_folder(home.logs(generation))
    folder.parent.mkdir(exist_ok=True, mode=0o700)
    log_file = LogFile(folder, locks / "additions.lock")

    async def is_current() -> bool:
        return await home.refresh() == generation

    remote = None if home.state is None else RemoteLog(home.state, is_current)
    return WriteAheadLog(log_file, ProcessLock(locks / "settle-additions.lock"), tables, dimensions, remote)


async def connect_to(place: Path | str, home: DomainHome | None = None) -> AsyncConnection:
    """Connect to the tables in a place of a home.

    Raises:
        StoreUnavailable: if it cannot be opened.
    """
    try:
        return await connect(str(place), None if home is None else home.store_options)
    except LANCE_ERRORS as error:
        raise _translated(str(place), error, home) from error


def _translated(what: str, error: BaseException, home: DomainHome | None) -> ReverieError:
    known = None if home is None or home.state is None else home.state.error_for(what, error)
    return known or translated(what, error)


async def create_database(home: DomainHome, generation: int, stamp: Stamp, now: datetime) -> dict[str, Table]:
    """Create a complete, empty, stamped set of tables as a new generation."""
    connection = await connect_to(home.tables(generation), home)
    await _migrate(connection, stamp, now)
    return await open_tables(connection, home, generation)


async def open_generation(home: DomainHome, generation: int) -> dict[str, Table]:
    """Open the tables of a generation.

    Raises:
        StoreDamaged: naming the first table that cannot be opened.
    """
    return await open_tables(await connect_to(home.tables(generation), home), home, generation)


async def open_tables(connection: AsyncConnection, home: DomainHome, generation: int) -> dict[str, Table]:
    """Open every table at once.

    Raises:
        StoreDamaged: naming the first table that cannot be opened.
    """

    async def one(name: str) -> Table:
        lance = await retried(name, lambda: connection.open_table(name))
        remote = home.remote_table(name, lance)
        return Table(name, lance, versions=home.versions_folder(generation, name), remote=remote)

    return {table.name: table for table in await asyncio.gather(*(one(name) for name in TABLES))}


async def read_stamp(connection: AsyncConnection) -> Stamp:
    """Return what a store was embedded with.

    Raises:
        StoreDamaged: if the store does not say.
    """
    meta = await _read_meta(connection)
    try:
        return Stamp(meta["embedder"], int(meta["dimensions"]))
    except (KeyError, ValueError) as error:
        raise StoreDamaged("meta", f"no valid {error}") from error


async def _schema_number(connection: AsyncConnection) -> int:
    """Return the schema of a store, 0 for one that is not there or not finished."""
    try:
        names = await table_names(connection)
    except LANCE_ERRORS as error:
        raise translated("the data folder", error) from error
    if "meta" not in names:
        return 0
    number = int((await _read_meta(connection)).get("schema", "0"))
    if number > NEWEST:
        raise StoreTooNew(number, NEWEST)
    return number


async def _read_meta(connection: AsyncConnection) -> dict[str, str]:
    table = Table("meta", await retried("meta", lambda: connection.open_table("meta")))
    return {row["id"]: row["value"] for row in (await table.rows(["id", "value"])).to_pylist()}


async def _migrate(connection: AsyncConnection, stamp: Stamp, now: datetime) -> None:
    number = await _schema_number(connection)  # again, now that no other process is migrating
    dimensions = (await read_stamp(connection)).dimensions if number else stamp.dimensions
    for migration in MIGRATIONS:
        if migration.number <= number:
            continue
        try:
            await migration.run(connection, dimensions)
        except LANCE_ERRORS as error:
            raise translated(f"migration {migration.number}", error) from error
        values = {"schema": str(migration.number)}
        if number == 0 and migration.number == 1:
            values |= {
                "embedder": stamp.embedder,
                "dimensions": str(stamp.dimensions),
                "created_at": iso(now),
            }
        meta = Table("meta", await connection.open_table("meta"))
        await meta.upsert(meta_rows(values))


def meta_rows(values: Mapping[str, str]) -> pa.Table:
    """Return keys and values as rows of the meta table."""
    schema = side_schema("meta", 1)
    return pa.Table.from_pylist([{"id": key, "value": value} for key, value in values.items()], schema=schema)
