"""The tables of one domain: opened or created, migrated, stamped with their embedder; homes.py says where.

A store of an older version is brought up to date in a copy, as a new generation of its tables. Processes of the older
version look, before and after every write, whether the generation they have open is still the one in use; then they
open the new one, find a schema that they do not know, and refuse with `StoreTooNew`. So none of them writes rows
without the columns that are new, or shows what the new version says is not to be shown. See decision 0044.
"""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Self

import pyarrow as pa
from lancedb import AsyncConnection

from reverie.errors import (
    ReverieError,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreTooNew,
    StoreUnavailable,
    WrongEmbedder,
)
from reverie.storage.filters import equals
from reverie.storage.homes import MOVED, MOVING, DomainHome, FolderHome
from reverie.storage.journal import FLUSH_LOCK as JOURNAL_FLUSH_LOCK
from reverie.storage.lance_table import LANCE_ERRORS, Table, retried, translated
from reverie.storage.lancedb_import import connect, table_names
from reverie.storage.locks import ProcessLock
from reverie.storage.migrations import MIGRATIONS, NEWEST
from reverie.storage.schema import MEMORY_TABLES, TABLES, side_schema
from reverie.storage.write_ahead_log import LogFile, RemoteLog, WriteAheadLog, hand_over
from reverie.time import iso


@dataclass(frozen=True, slots=True)
class Stamp:
    """Which model made the vectors of a store, and how long they are."""

    embedder: str
    dimensions: int


REEMBEDDED = (
    "The store was re-embedded or upgraded since this session opened it. Start the session again and repeat this."
)

FLUSH_LOCK = "settle-additions.lock"

UPGRADE = "upgrade"
"""The key in the meta table of a generation under which stands what it was made from, and whether that is done."""

_COPYING = "copying "  # and the number of the generation that is copied: what is here is not complete
_REPLACED = "replaced "  # and the number of the generation that is not used any more


class Database:
    """An open domain."""

    def __init__(
        self,
        home: DomainHome,
        generation: int,
        stamp: Stamp,
        tables: Mapping[str, Table],
        write_ahead_log: WriteAheadLog,
        replaced: int | None = None,
    ) -> None:
        self.home = home
        self.generation = generation
        self.stamp = stamp
        self.write_lock = home.lock("write")
        self.maintenance_lock = home.lock("upkeep")
        self.write_ahead_log = write_ahead_log
        self._raw_tables = tables
        self._replaced = replaced  # the generation that an upgrade left, if it is still there
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
        generation, connection, meta = await _up_to_date(home, wanted, now)
        stamp = _stamp_in(meta)
        if stamp != wanted:
            raise WrongEmbedder(stamp.embedder, wanted.embedder)
        tables = await open_tables(connection, home, generation)
        write_ahead_log = await write_ahead_log_to(home, generation, tables)
        return cls(home, generation, stamp, tables, write_ahead_log, _number_after(_REPLACED, meta))

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

    async def drop_replaced(self) -> None:
        """Remove the tables that an upgrade replaced; calls of older processes that were under way have ended."""
        if self._replaced is not None:
            await self.home.drop(self._replaced)
            await self.raw_table("meta").delete(equals("id", UPGRADE))
            self._replaced = None

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
    return WriteAheadLog(log_file, ProcessLock(locks / FLUSH_LOCK), tables, dimensions, remote)


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
    return _stamp_in(await _read_meta(connection))


def _stamp_in(meta: Mapping[str, str]) -> Stamp:
    try:
        return Stamp(meta["embedder"], int(meta["dimensions"]))
    except (KeyError, ValueError) as error:
        raise StoreDamaged("meta", f"no valid {error}") from error


async def _up_to_date(
    home: DomainHome, wanted: Stamp, now: datetime
) -> tuple[int, AsyncConnection, Mapping[str, str]]:
    """Return the generation in use, a connection to it, and its meta table; created or upgraded if need be."""

    async def look() -> tuple[int, AsyncConnection, Mapping[str, str]]:
        generation = await home.refresh()
        connection = await connect_to(home.tables(generation), home)
        return generation, connection, await _known_meta(connection)

    generation, connection, meta = await look()
    if _is_complete(meta):
        return generation, connection, meta
    async with home.lock("write").held():
        generation, connection, meta = await look()  # another process may have done it meanwhile
        if not _schema_in(meta):
            await _migrate(connection, wanted, now)
        elif not _is_complete(meta):
            await _upgrade(home, generation, meta)
    return await look()


def _is_complete(meta: Mapping[str, str]) -> bool:
    return _schema_in(meta) == NEWEST and _number_after(_COPYING, meta) is None


async def _known_meta(connection: AsyncConnection) -> dict[str, str]:
    """Return what the meta table says; nothing if there is none, or nothing in it yet.

    Raises:
        StoreTooNew: if it says that a newer Reverie wrote the store.
    """
    try:
        names = await table_names(connection)
    except LANCE_ERRORS as error:
        raise translated("the data folder", error) from error
    meta = await _read_meta(connection) if "meta" in names else {}
    if _schema_in(meta) > NEWEST:
        raise StoreTooNew(_schema_in(meta), NEWEST)
    return meta


def _schema_in(meta: Mapping[str, str]) -> int:
    """Return the schema of a store, 0 for one that is not there or not finished."""
    return int(meta.get("schema", "0"))


def _number_after(word: str, meta: Mapping[str, str]) -> int | None:
    """Return which generation the meta table names after this word."""
    said = meta.get(UPGRADE, "")
    return int(said.removeprefix(word)) if said.startswith(word) else None


async def _read_meta(connection: AsyncConnection) -> dict[str, str]:
    table = Table("meta", await retried("meta", lambda: connection.open_table("meta")))
    return {row["id"]: row["value"] for row in (await table.rows(["id", "value"])).to_pylist()}


async def _migrate(connection: AsyncConnection, stamp: Stamp, now: datetime) -> None:
    """Create the tables of a new store, or finish what was begun."""
    await _run_migrations(connection, 0, stamp.dimensions)
    values = {
        "schema": str(NEWEST),
        "embedder": stamp.embedder,
        "dimensions": str(stamp.dimensions),
        "created_at": iso(now),
    }
    await Table("meta", await connection.open_table("meta")).upsert(meta_rows(values))


async def _run_migrations(connection: AsyncConnection, number: int, dimensions: int) -> None:
    """Bring tables of a schema up to date; killed at any point, it can be done again from the same number."""
    for migration in MIGRATIONS:
        if migration.number <= number:
            continue
        try:
            await migration.run(connection, dimensions)
        except LANCE_ERRORS as error:
            raise translated(f"migration {migration.number}", error) from error


async def _upgrade(home: DomainHome, generation: int, meta: Mapping[str, str]) -> None:
    """Copy the tables to a new generation, migrate the copy and use it from now on. Call it inside the write lock.

    The new generation is in use before it has more than its meta table: what others write from then on is kept in
    their logs or refused, so the copy misses nothing. Killed after that, whoever opens the store next goes on; if it
    fails, the old generation is in use again. The log of this host follows at the end; other hosts carry theirs over
    when they open the store.

    Raises:
        StoreError: if it cannot be done. The store is then as it was.
    """
    async with AsyncExitStack() as held:
        for lock in (
            home.lock("upkeep"),
            ProcessLock(home.folder / "locks" / FLUSH_LOCK),
            ProcessLock(home.folder / "locks" / JOURNAL_FLUSH_LOCK),
        ):
            await held.enter_async_context(lock.held())
        source = _number_after(_COPYING, meta)
        if source is None:
            source, generation = generation, generation + 1
            await home.drop(generation)  # left by an attempt that was killed
            await _announce(home, generation, {**meta, "schema": str(NEWEST), UPGRADE: f"{_COPYING}{source}"})
            await home.switch(generation)
        try:
            before = await _read_meta(await connect_to(home.tables(source), home))
            await home.copy_tables(source, generation)
            connection = await connect_to(home.tables(generation), home)
            await _run_migrations(connection, _schema_in(before), _stamp_in(before).dimensions)
            hand_over(*(write_ahead_log_folder(home.logs(number)) for number in (source, generation)))
            done = Table("meta", await connection.open_table("meta"))
            await done.upsert(meta_rows({UPGRADE: f"{_REPLACED}{source}"}))
        except (StoreError, *LANCE_ERRORS) as error:
            with suppress(StoreError):  # the first failure is the one to report
                await home.go_back(source)
            if isinstance(error, StoreError):
                raise
            raise _translated("upgrade", error, home) from error


async def _announce(home: DomainHome, generation: int, meta: Mapping[str, str]) -> None:
    """Make a generation that has a meta table and nothing else."""
    connection = await connect_to(home.tables(generation), home)
    try:
        lance = await connection.create_table("meta", schema=side_schema("meta", 1))
        await lance.set_unenforced_primary_key("id")
        await Table("meta", lance).upsert(meta_rows(meta))
    except LANCE_ERRORS as error:
        raise _translated("upgrade", error, home) from error


def meta_rows(values: Mapping[str, str]) -> pa.Table:
    """Return keys and values as rows of the meta table."""
    schema = side_schema("meta", 1)
    return pa.Table.from_pylist([{"id": key, "value": value} for key, value in values.items()], schema=schema)
