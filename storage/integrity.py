"""Checking a store table by table, also when some of them are damaged."""

import asyncio
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from reverie.errors import ReverieError
from reverie.lifecycle.rules import WHOLE
from reverie.memory import Memory
from reverie.storage.audit import Report, ignore_report
from reverie.storage.database import connect_to, write_ahead_log_folder
from reverie.storage.filters import equals, one_of
from reverie.storage.homes import DomainHome
from reverie.storage.joined_index import owner_of
from reverie.storage.lance_table import LANCE_ERRORS, Table, translated
from reverie.storage.lancedb_import import table_names
from reverie.storage.locks import ProcessLock
from reverie.storage.packed_vectors import (
    VECTOR_COLUMNS,
    Vector,
    matrix_of,
    pack,
    packed_rows,
    unpack,
    whole_rows,
)
from reverie.storage.rows import FIELDS, Embedded, by_layer, from_table, passage_rows, to_table
from reverie.storage.schema import ARCHIVE, ARCHIVED_PASSAGES, MEMORY_TABLES, PASSAGE_TABLES, PASSAGES, TABLES
from reverie.storage.write_ahead_log import pending_lines

_SAME = 0.9  # cosine: a model on a server may not give exactly the same vector twice
INDEXED = ("id", "search_text")
"""The columns of a layer that always have an index."""

_LINUX_LOCKS = Path("/proc/locks")


@dataclass(frozen=True, slots=True)
class TableReport:
    """What was found of one table; without damage, every row of it could be read."""

    name: str
    rows: int = 0
    pieces: int = 0
    indexed: frozenset[str] = frozenset()
    damage: str | None = None
    precisions: Mapping[int, int] = field(default_factory=dict)  # how many vectors have so many bits
    unreadable: tuple[str, ...] = ()  # the ids of rows whose vector no reader understands

    @property
    def missing_indexes(self) -> list[str]:
        """The indexes that a layer should have and does not; the archive needs that by id."""
        if self.damage is not None or self.name not in MEMORY_TABLES:
            return []
        wanted = INDEXED[:1] if self.name == ARCHIVE else INDEXED
        return [column for column in wanted if column not in self.indexed]


@dataclass(frozen=True, slots=True, eq=False)
class VectorSample:
    """A packed vector as a search reads it, and the text it stands for."""

    id: str
    content: str
    bits: int
    vector: Vector

    def means(self, text: Vector) -> bool:
        """Whether it is what the vector of its text is when that is packed."""
        [again] = unpack(pack(text[None, :], self.bits), len(text))
        lengths = float(np.linalg.norm(self.vector) * np.linalg.norm(again))
        return lengths > 0 and float(self.vector @ again) / lengths >= _SAME


@dataclass(slots=True)
class IntegrityCheck:
    """A store's tables, as far as they can be opened."""

    reports: list[TableReport] = field(default_factory=list)
    tables: dict[str, Table] = field(default_factory=dict)
    pending_memories: int = 0  # in the write-ahead log: the next reader flushes them

    @classmethod
    async def of(cls, home: DomainHome, generation: int, report: Report = ignore_report) -> "IntegrityCheck":
        """Open and read every table of a generation.

        Raises:
            StoreError: if its folder or bucket itself cannot be read.
        """
        check = cls()
        uri = home.tables(generation)
        connection = await connect_to(uri, home)
        try:
            names = await table_names(connection)
        except LANCE_ERRORS as error:
            raise translated(uri, error) from error
        check.pending_memories = len(pending_lines(write_ahead_log_folder(home.logs(generation))))
        for number, name in enumerate(TABLES):
            await report(0.8 * number / len(TABLES), f"reading {name}")
            if name not in names:
                check.reports.append(TableReport(name, damage="it is not there"))
                continue
            try:
                table = Table(name, await connection.open_table(name))
                check.reports.append(await _read_through(table))
                check.tables[name] = table
            except (*LANCE_ERRORS, ReverieError) as error:
                check.reports.append(TableReport(name, damage=_first_line(error)))
        return check

    @property
    def damaged(self) -> list[TableReport]:
        """The tables that cannot be read."""
        return [report for report in self.reports if report.damage is not None]

    async def meta(self) -> dict[str, str]:
        """Return the keys and values of the meta table; nothing if it cannot be read."""
        if "meta" not in self.tables:
            return {}
        rows = await self.tables["meta"].rows(["id", "value"])
        return {row["id"]: row["value"] for row in rows.to_pylist()}

    async def doubled(self) -> dict[str, list[str]]:
        """Return the ids that are in several tables, each with its tables, the newest row first.

        Of two equal rows, as a move to or from the archive leaves them, the layer's comes first.
        """
        tables = [(name, self.tables[name]) for name in MEMORY_TABLES if name in self.tables]
        ids = [(await table.rows(["id"])).column("id").to_pylist() for _, table in tables]
        repeated = {one for one, count in Counter(chain.from_iterable(ids)).items() if count > 1}
        seen: dict[str, list[tuple[datetime, str]]] = {}
        for layer, table in tables if repeated else ():
            for row in (await table.rows(["id", "updated_at"])).to_pylist():
                if row["id"] in repeated:
                    seen.setdefault(row["id"], []).append((row["updated_at"], layer))
        return {
            memory_id: [layer for _, layer in sorted(rows, key=lambda row: row[0], reverse=True)]
            for memory_id, rows in seen.items()
            if len(rows) > 1
        }

    async def orphans(self) -> set[str]:
        """Return the ids of memories that have passages but no row."""
        if self.damaged:
            return set()  # what cannot be read may be where they belong
        owners: set[str] = set()
        for name in PASSAGE_TABLES:
            owners |= set((await self.tables[name].rows(["memory_id"])).column("memory_id").to_pylist())
        for layer in MEMORY_TABLES if owners else ():
            owners -= set((await self.tables[layer].rows(["id"])).column("id").to_pylist())
        return owners

    async def sample(self, rows: int) -> list[VectorSample]:
        """Return some packed vectors of each layer and precision, as a search reads them, with their texts."""
        samples: list[VectorSample] = []
        for report in self.reports:
            for bits in [one for one in report.precisions if one != WHOLE and report.name in MEMORY_TABLES]:
                columns = ["id", "content", *VECTOR_COLUMNS]
                found = await self.tables[report.name].rows(columns, equals("precision", bits), rows)
                samples += [
                    VectorSample(*one)
                    for one in zip(
                        found.column("id").to_pylist(),
                        found.column("content").to_pylist(),
                        [bits] * len(found),
                        matrix_of(found, _dimensions_of(found.schema)),
                        strict=True,
                    )
                ]
        return samples

    async def with_unreadable_vectors(self) -> list[Memory]:
        """Return the memories whose own vectors, or those of their passages, cannot be read."""
        rows = {report.name: report.unreadable for report in self.reports}
        ids = {owner_of(one) or one for name in rows for one in rows[name]}
        found = [await self.tables[layer].rows(FIELDS, one_of("id", ids)) for layer in MEMORY_TABLES] if ids else []
        return [memory for part in found for memory in from_table(part)]

    async def replace_vectors(self, items: Sequence[Embedded]) -> None:
        """Write memories and their passages with other vectors. Call it with the write lock held."""
        wanted = one_of("id", [item.memory.id for item in items])
        archived = set((await self.tables[ARCHIVE].rows(["id"], wanted)).column("id").to_pylist())
        cold = [item for item in items if item.memory.id in archived]
        warm = [item for item in items if item.memory.id not in archived]
        parts: list[tuple[str, Sequence[Embedded]]] = [*by_layer(warm).items(), (ARCHIVE, cold)]
        for name, part in parts:
            if part:
                table = self.tables[name]
                await table.upsert(to_table(part, _dimensions_of(await table.lance.schema())))
        for name, part in ((PASSAGES, warm), (ARCHIVED_PASSAGES, cold)):
            if part:
                await self._replace_passages(self.tables[name], part)

    async def _replace_passages(self, passages: Table, items: Sequence[Embedded]) -> None:
        await passages.delete(one_of("memory_id", [item.memory.id for item in items]))
        rows = passage_rows(items, _dimensions_of(await passages.lance.schema()))
        if len(rows):
            await passages.add(rows)

    async def drop_doubles(self, doubled: dict[str, list[str]]) -> None:
        """Remove all but the newest row of each id. Call it with the write lock held."""
        for layer in MEMORY_TABLES:
            ids = [memory_id for memory_id, (_, *older) in doubled.items() if layer in older]
            if ids:
                await self.tables[layer].delete(one_of("id", ids))

    async def drop_orphans(self, ids: set[str]) -> None:
        """Remove the passages of memories that have no row."""
        for name in PASSAGE_TABLES:
            await self.tables[name].delete(one_of("memory_id", ids))

    async def build_indexes(self) -> None:
        """Build the indexes that are missing."""
        for report in self.reports:
            for column in report.missing_indexes:
                table = self.tables[report.name]
                await (table.index_text() if column == "search_text" else table.index_values(column))


async def _read_through(table: Table) -> TableReport:
    """Read every column of every row, a batch at a time; only so is damage in the data found."""
    rows = 0
    precisions: Counter[int] = Counter()
    unreadable: list[str] = []
    async for batch in await table.lance.query().to_batches():
        rows += len(batch)
        if "packed" in batch.schema.names:
            seen, bad = _vectors_in(batch)
            precisions += seen
            unreadable += bad
    return TableReport(
        table.name,
        rows,
        await table.fragments(),
        frozenset(await table.indexed_columns()),
        precisions=dict(sorted(precisions.items(), reverse=True)),
        unreadable=tuple(unreadable),
    )


def _vectors_in(batch: pa.RecordBatch) -> tuple[Counter[int], list[str]]:
    """Count the vectors of some rows by precision, and name the rows that do not hold what their precision says."""
    dimensions = _dimensions_of(batch.schema)
    said = batch.column("precision").to_numpy()
    held = np.zeros(len(batch), np.int64)
    whole, vectors = whole_rows(batch.column("vector"), dimensions)
    held[whole[np.isfinite(vectors).all(axis=1)]] = WHOLE
    for bits, (places, _) in packed_rows(batch.column("packed"), dimensions).items():
        held[places] += bits  # one that is there in both forms has neither's number
    wrong = np.flatnonzero(held != said)
    ids = batch.column("id")
    return Counter(said.tolist()), [ids[row].as_py() for row in wrong.tolist()]


def _dimensions_of(schema: pa.Schema) -> int:
    return int(schema.field("vector").type.value_type.list_size)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


async def is_free(lock: Path) -> bool:
    """Say whether nobody holds a lock; a file that a dead process left behind is free.

    Raises:
        StoreUnavailable: if the lock file cannot be opened.
    """
    if not await asyncio.to_thread(lock.exists):
        return True
    async with ProcessLock(lock).held_if_free() as free:
        return free


async def holders(lock: Path) -> list[str]:
    """Return who holds a lock, where the system tells: `process 123 (reverie serve)`."""
    return await asyncio.to_thread(_holders, lock)


def _holders(lock: Path) -> list[str]:
    try:
        inode = str(os.stat(lock).st_ino)
        lines = [line.split() for line in _LINUX_LOCKS.read_text("ascii").splitlines()]
    except OSError:
        return []
    return [_process(words[4]) for words in lines if _is_lock_on(words, inode)]


def _is_lock_on(words: Sequence[Any], inode: str) -> bool:
    # 1: FLOCK ADVISORY WRITE 1234 08:02:123456 0 EOF; a waiting one has -> as its second word
    return len(words) > 5 and words[1] != "->" and str(words[5]).rpartition(":")[2] == inode


def _process(number: str) -> str:
    try:
        command = Path(f"/proc/{number}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        command = ""
    return f"process {number} ({command[-80:]})" if command else f"process {number}"
