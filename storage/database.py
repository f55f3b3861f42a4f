"""The tables of one domain: opened or created, migrated, stamped with their embedder.

A re-embedding writes a new generation of tables; a pointer file says which one is in use.
The hashes of purged texts are in one file beside them, so that a purged text is not stored again.
"""

import asyncio
import hashlib
import os
import secrets
import shutil
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Self

import pyarrow as pa
from lancedb import AsyncConnection

from reverie.errors import StoreDamaged, StoreTooNew, StoreUnavailable, WrongEmbedder
from reverie.storage.lance_table import LANCE_ERRORS, Table, retried, translated
from reverie.storage.lancedb_import import connect, table_names
from reverie.storage.locks import ProcessLock
from reverie.storage.migrations import MIGRATIONS, NEWEST
from reverie.storage.schema import MEMORY_TABLES, TABLES, side_schema
from reverie.storage.write_ahead_log import LogFile, WriteAheadLog
from reverie.time import iso

FIRST = 1
_POINTER = "current"
_TABLES = "tables-"
_DROPPED = "dropped-"


class Generations:
    """The numbered sets of tables in one domain's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def prepare(self) -> None:
        """Make the folder, for its owner only.

        Raises:
            StoreUnavailable: if it cannot be made or written.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            for part in (self.folder.parent.parent, self.folder.parent, self.folder):
                part.chmod(0o700)
            (self.folder / "locks").mkdir(exist_ok=True, mode=0o700)
        except OSError as error:
            raise StoreUnavailable(
                f"The data folder {self.folder} cannot be written ({error.strerror}). "
                "Set REVERIE_HOME to a folder that you own."
            ) from error

    def current(self) -> int:
        """Return the number of the generation in use; a new store starts with the first."""
        try:
            return int((self.folder / _POINTER).read_text("ascii"))
        except FileNotFoundError:
            return FIRST
        except (OSError, ValueError) as error:
            raise StoreDamaged(_POINTER, str(error)) from error

    def path(self, number: int) -> Path:
        """Return the folder that holds the tables of a generation."""
        return self.folder / f"{_TABLES}{number}"

    def switch(self, number: int) -> None:
        """Make a generation the one in use, atomically."""
        fresh = self.folder / f"{_POINTER}.new"
        with fresh.open("w", encoding="ascii") as file:
            file.write(str(number))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self.folder / _POINTER)

    def older_than(self, number: int) -> list[Path]:
        """Return the folders of earlier generations that were not dropped."""
        numbers = sorted(int(path.name.removeprefix(_TABLES)) for path in self.folder.glob(f"{_TABLES}*"))
        return [self.path(earlier) for earlier in numbers if earlier < number]

    def drop_others(self, keep: int) -> None:
        """Remove every generation but one.

        Each gets another name first: a removal that is cut short leaves nothing that looks like tables.
        """
        for path in self.folder.glob(f"{_TABLES}*"):
            if path != self.path(keep):
                path.rename(self.folder / f"{_DROPPED}{path.name}-{secrets.token_hex(4)}")
        for path in self.folder.glob(f"{_DROPPED}*"):
            shutil.rmtree(path, ignore_errors=True)  # a process that still reads it may write there meanwhile


@dataclass(frozen=True, slots=True)
class Stamp:
    """Which model made the vectors of a store, and how long they are."""

    embedder: str
    dimensions: int


class Database:
    """An open domain."""

    def __init__(
        self,
        generations: Generations,
        generation: int,
        stamp: Stamp,
        tables: Mapping[str, Table],
        write_ahead_log: WriteAheadLog,
    ) -> None:
        self.generations = generations
        self.generation = generation
        self.stamp = stamp
        locks = generations.folder / "locks"
        self.write_lock = ProcessLock(locks / "write.lock")
        self.maintenance_lock = ProcessLock(locks / "upkeep.lock")
        self.write_ahead_log = write_ahead_log
        self._raw_tables = tables
        self._folder_identity = _identity_of(generations.path(generation))
        self._tables = {name: table.after(self.write_ahead_log.flush_before_read) for name, table in tables.items()}

    @classmethod
    async def open(cls, folder: Path, wanted: Stamp, now: datetime) -> Self:
        """Open a domain's tables, creating or migrating them first if need be.

        Raises:
            StoreUnavailable: if the folder cannot be read or written.
            StoreDamaged: if a table cannot be read.
            StoreTooNew: if a newer Reverie wrote it.
            WrongEmbedder: if its vectors come from another model than the wanted one.
        """
        generations = Generations(folder)
        generations.prepare()
        generation = generations.current()
        connection = await connect_to(generations.path(generation))
        if await _schema_number(connection) != NEWEST:
            async with ProcessLock(folder / "locks" / "write.lock").held():
                await _migrate(connection, wanted, now)
        stamp = await read_stamp(connection)
        if stamp != wanted:
            raise WrongEmbedder(stamp.embedder, wanted.embedder)
        tables = await open_tables(connection)
        write_ahead_log = await write_ahead_log_to(generations.path(generation), tables)
        return cls(generations, generation, stamp, tables, write_ahead_log)

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
        return self.generations.current() == self.generation

    def is_in_place(self) -> bool:
        """Whether the folder of the tables is still the one that was opened: somebody may have removed it."""
        return self._folder_identity == _identity_of(self.generations.path(self.generation))

    async def read_meta(self) -> dict[str, str]:
        """Return every key and value of the meta table."""
        rows = await self.table("meta").rows(["id", "value"])
        return {row["id"]: row["value"] for row in rows.to_pylist()}

    async def write_meta(self, values: Mapping[str, str]) -> None:
        """Write keys and values to the meta table."""
        await self.table("meta").upsert(meta_rows(values))


def _identity_of(folder: Path) -> tuple[int, int] | None:
    try:
        found = folder.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def write_ahead_log_folder(path: Path) -> Path:
    """Return the folder of the write-ahead log of the generation in a folder."""
    return path / "additions"


async def write_ahead_log_to(path: Path, tables: Mapping[str, Table]) -> WriteAheadLog:
    """Open the write-ahead log of the generation in a folder."""
    dimensions = (await tables["passages"].lance.schema()).field("vector").type.value_type.list_size
    locks = path.parent / "locks"
    log_file = LogFile(write_ahead_log_folder(path), locks / "additions.lock")
    return WriteAheadLog(log_file, ProcessLock(locks / "settle-additions.lock"), tables, dimensions)


async def connect_to(path: Path) -> AsyncConnection:
    """Connect to the tables in a folder.

    Raises:
        StoreUnavailable: if the folder cannot be opened.
    """
    try:
        return await connect(str(path))
    except LANCE_ERRORS as error:
        raise translated(str(path), error) from error


async def create_database(path: Path, stamp: Stamp, now: datetime) -> dict[str, Table]:
    """Create a complete, empty, stamped set of tables in a new folder."""
    connection = await connect_to(path)
    await _migrate(connection, stamp, now)
    return await open_tables(connection)


async def open_tables(connection: AsyncConnection) -> dict[str, Table]:
    """Open every table at once.

    Raises:
        StoreDamaged: naming the first table that cannot be opened.
    """

    async def one(name: str) -> Table:
        lance = await retried(name, lambda: connection.open_table(name))
        return Table(name, lance, versions=Path(connection.uri) / f"{name}.lance" / "_versions")

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


_PURGED_FILE = "purged"


class PurgedTexts:
    """Reads and appends the hashes; a copy with other spaces, capitals or compositions has the same one."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / _PURGED_FILE
        self._size = 0
        self._hashes: frozenset[str] = frozenset()  # as of a file of that size

    def among(self, contents: Iterable[str]) -> set[str]:
        """Return those of the texts that were purged from this store.

        Raises:
            StoreUnavailable: if the file cannot be read.
        """
        hashes = self._read()
        return {content for content in contents if _hash_of(content) in hashes} if hashes else set()

    def add(self, contents: Iterable[str]) -> None:
        """Add texts. Call it inside `changing()`.

        Raises:
            StoreUnavailable: if the file cannot be written.
        """
        new = {_hash_of(content) for content in contents} - self._read()
        if not new:
            return
        try:
            descriptor = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with open(descriptor, "a", encoding="ascii") as file:
                file.write("".join(f"{one}\n" for one in sorted(new)))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise self._unavailable(error) from error

    def _read(self) -> frozenset[str]:
        try:
            size = self._file.stat().st_size
            if size != self._size:
                self._hashes = frozenset(self._file.read_text("ascii").split())
                self._size = size
        except FileNotFoundError:
            return frozenset()
        except (OSError, UnicodeDecodeError) as error:
            raise self._unavailable(error) from error
        return self._hashes

    def _unavailable(self, error: Exception) -> StoreUnavailable:
        return StoreUnavailable(
            f"The list of what was purged, {self._file}, cannot be used ({error}). Check its owner and permissions."
        )


def _hash_of(content: str) -> str:
    plain = " ".join(unicodedata.normalize("NFKC", content).casefold().split())
    return hashlib.sha256(plain.encode()).hexdigest()
