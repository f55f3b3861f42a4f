"""Re-embedding: giving a store the vectors of another model.

First every text is embedded into a staging table; that takes most of the time, can be stopped, and continues where it
was. Then, under the write lock, a new generation of tables is written next to the old one and made current in one
step. Until that step the old store is untouched.

Remembering takes no lock, so a memory may reach the old tables while they are copied. It is carried over after
the switch; a writer that comes later still sees that its tables are no longer current, and says so.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa

from reverie.errors import StoreDamaged, WrongEmbedder
from reverie.memory import Memory
from reverie.storage.database import (
    FLUSH_LOCK,
    UPGRADE,
    Database,
    Stamp,
    as_home,
    connect_to,
    create_database,
    meta_rows,
    open_generation,
    read_stamp,
    write_ahead_log_folder,
    write_ahead_log_to,
)
from reverie.storage.filters import Condition, equals, one_of
from reverie.storage.homes import TABLES as TABLES_FOLDER
from reverie.storage.homes import DomainHome
from reverie.storage.journal import Journal
from reverie.storage.lance_table import LANCE_ERRORS, Table, retried, translated
from reverie.storage.lancedb_import import table_names
from reverie.storage.locks import ProcessLock
from reverie.storage.maintenance import KEEP_VERSIONS_FOR
from reverie.storage.packed_vectors import vector_type, whole_column, whole_rows
from reverie.storage.rows import FIELDS, Embedded, Vector, from_table, passage_rows, to_table
from reverie.storage.schema import (
    ARCHIVE,
    ARCHIVED_PASSAGES,
    MEMORY_TABLES,
    PASSAGE_TABLES,
    PASSAGES,
    PIECES,
    SIDE_TABLES,
    TABLES,
)
from reverie.storage.store import MemoryStore
from reverie.storage.write_ahead_log import memory_in, pending_lines

Made = tuple[Vector, tuple[Vector, ...], bytes]  # of the text, of its passages, of its tokens
Embed = Callable[[Sequence[str]], Sequence[Made]]
Progress = Callable[[int, int], None]
Tables = dict[str, Table]

_TEXTS_AT_ONCE = 256
_ROWS_AT_ONCE = 2_000
_TEXT = -1
_NOT_COPIED = ("schema", "embedder", "dimensions", UPGRADE)


async def stamp_of(place: Path | DomainHome) -> Stamp | None:
    """Return what the store in a folder or home is embedded with now; None if there is no store.

    Raises:
        StoreError: if there is one that cannot be read.
    """
    home = as_home(place)
    generation = await home.refresh()
    if not await home.has_tables(generation):
        return None
    uri = home.tables(generation)
    connection = await connect_to(uri, home)
    try:
        names = await table_names(connection)
    except LANCE_ERRORS as error:
        raise translated(uri, error) from error
    return await read_stamp(connection) if "meta" in names else None


async def reembed(
    place: Path | DomainHome, stamp: Stamp, embed: Embed, *, now: datetime, progress: Progress
) -> int | None:
    """Convert the store in a folder or home to another embedder; return how many memories it holds.

    A store that is embedded so already is left as it is, and the answer is None.

    Raises:
        StoreError: if the store cannot be read or written; it is then as it was.
        EmbedderError: if the new embedder fails; what was embedded so far is kept for the next try.
    """
    home = as_home(place)
    await home.prepare()
    async with home.lock("reembed").held(patience=1.0):
        # Opened with the stamp it has, whatever that is: an older schema is brought up to date first.
        old = await Database.open(home, await stamp_of(home) or stamp, now)
        return await _converted(old, _Conversion(home, stamp, embed, progress), now)


async def _converted(old: Database, work: "_Conversion", now: datetime) -> int | None:
    await old.drop_replaced()
    if old.stamp == work.stamp:
        await work.finish(old)
        return None
    return await work.run(old, now)


async def take_over_if_empty(place: Path | DomainHome, stamp: Stamp, now: datetime) -> bool:
    """Give a store without memories, as a new or an emptied one is, to another embedder; say whether it has it now.

    A memory that another session writes meanwhile leaves the store to the embedder it has.

    Raises:
        StoreError: if the store cannot be read or written; it is then as it was.
    """

    def refuse(_texts: Sequence[str]) -> Sequence[Made]:
        raise WrongEmbedder(old.stamp.embedder, stamp.embedder)

    home = as_home(place)
    async with home.lock("reembed").held():  # several sessions may find it at once
        old = await Database.open(home, await stamp_of(home) or stamp, now)
        if old.stamp == stamp:
            return True
        if sum([await old.table(name).count() for name in MEMORY_TABLES]):
            return False
        try:
            await _converted(old, _Conversion(home, stamp, refuse, lambda _done, _total: None), now)
        except WrongEmbedder:
            return False
    return True


class _Conversion:
    """One conversion of one store."""

    def __init__(self, home: DomainHome, stamp: Stamp, embed: Embed, progress: Progress) -> None:
        self._home = home
        self.stamp = stamp
        self._embed = embed
        self._progress = progress

    async def run(self, database: Database, now: datetime) -> int:
        """Embed, copy, switch, carry over, clean up."""
        old = {name: database.table(name) for name in TABLES}
        staging = await _staging(self._home, self.stamp)
        await self._stage(old, staging)
        async with database.write_lock.held():
            await self._stage(old, staging)  # what came in meanwhile
            number = database.generation + 1
            await self._home.drop(number)  # left by an attempt that was killed
            fresh = await create_database(self._home, number, self.stamp, now)
            async with _flushed_journal(database):
                await _copy({name: database.raw_table(name) for name in TABLES}, fresh, staging, self.stamp)
                await self._home.switch(number)
            await self._carry_over(old, fresh, staging, database)
        await self._clean_up(number)
        return sum([await fresh[name].count() for name in MEMORY_TABLES])

    async def finish(self, database: Database) -> None:
        """Do what a conversion still had to do when it was killed after the switch."""
        fresh = {name: database.table(name) for name in TABLES}
        async with database.write_lock.held():
            await _journal_of(database).flush()  # what was purged since is not carried over
            for number in await self._home.older_than(database.generation):
                try:
                    old = await open_generation(self._home, number)
                except StoreDamaged:
                    continue  # empty: a session opened just as the tables were switched
                if self._home.state is None:  # in a bucket every host carries its own log over: see carry_over_log
                    await (await write_ahead_log_to(self._home, number, old)).flush()
                staging = await _staging(self._home, self.stamp)
                await self._carry_over(old, fresh, staging, database)
        await self._clean_up(database.generation)

    async def _carry_over(self, old: Tables, fresh: Tables, staging: Table, database: Database) -> None:
        """Copy what was written to the old tables between their copying and the switch."""
        await self._stage(old, staging)
        known = await _ids(fresh["events"], "memory_id", equals("action", "purged"))
        for layer in MEMORY_TABLES:
            known |= await _ids(fresh[layer])  # of all tables first: it may have moved since
        for layer in MEMORY_TABLES:
            missing = await _ids(old[layer]) - known
            if missing:
                memories = from_table(await old[layer].rows(FIELDS, one_of("id", missing)))
                await _write(memories, fresh, layer, staging, self.stamp)
        events_before, events_now = (tables["events"].after(_nothing) for tables in (old, fresh))
        async with _flushed_journal(database):
            late = await _ids(events_before) - await _ids(events_now)
            if late:
                await events_now.add(await _complete_rows(events_before, late))

    async def _stage(self, old: Tables, staging: Table) -> None:
        """Embed every text that has no vector in the staging table yet."""
        done = await _ids(staging)
        texts: dict[str, str] = {}
        for layer in MEMORY_TABLES:
            rows = await old[layer].rows(["content_hash", "content"])
            hashes, contents = rows.column("content_hash").to_pylist(), rows.column("content").to_pylist()
            texts |= dict(zip(hashes, contents, strict=True))
        missing_vectors = [(key, text) for key, text in texts.items() if key not in done]
        before = len(texts) - len(missing_vectors)
        self._progress(before, len(texts))
        for start in range(0, len(missing_vectors), _TEXTS_AT_ONCE):
            part = missing_vectors[start : start + _TEXTS_AT_ONCE]
            embedded = await asyncio.to_thread(self._embed, [text for _, text in part])
            await staging.add(_staged(part, embedded, await staging.lance.schema()))
            self._progress(before + start + len(part), len(texts))

    async def _clean_up(self, number: int) -> None:
        await self._home.drop_others(number)
        await self._home.drop_staging()


async def _nothing() -> None:
    """Do nothing before a table is read."""


@asynccontextmanager
async def _flushed_journal(database: Database) -> AsyncIterator[None]:
    """Flush the journal, and leave what it gets meanwhile for the new tables.

    A flush of memories may flush the journal, so nothing inside may flush memories: read raw tables there.
    """
    async with _journal_of(database).flushed():
        yield


def _journal_of(database: Database) -> Journal:
    return Journal(database.raw_table("events"), database.home.folder, database.is_current)


async def _ids(table: Table, column: str = "id", where: Condition | None = None) -> set[str]:
    return set((await table.rows([column], where)).column(column).to_pylist())


async def _complete_rows(table: Table, ids: set[str] | None = None) -> pa.Table:
    return await table.rows((await table.lance.schema()).names, None if ids is None else one_of("id", ids))


async def _staging(home: DomainHome, stamp: Stamp) -> Table:
    """Open the staging table of this embedder, or start one."""
    connection = await connect_to(home.staging, home)
    name = "vectors"
    schema = pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),  # the hash of the text
            pa.field("number", pa.int64(), nullable=False),  # -1 for the text itself, else which passage
            pa.field("vector", vector_type(stamp.dimensions), nullable=False),
            PIECES,
        ],
        metadata={"embedder": stamp.embedder},
    )
    if name in await table_names(connection):
        table = Table(name, await connection.open_table(name))
        if await table.lance.schema() == schema and await _embedder_of(table) == stamp.embedder:
            return table
        await connection.drop_table(name)
    return Table(name, await retried(name, lambda: connection.create_table(name, schema=schema)))


async def _embedder_of(table: Table) -> str:
    metadata = (await table.lance.schema()).metadata or {}
    return str(metadata.get(b"embedder", b"").decode())


def _staged(part: Sequence[tuple[str, str]], embedded: Sequence[Made], schema: pa.Schema) -> pa.Table:
    rows = [
        (key, number, vector, pieces if number == _TEXT else b"")
        for (key, _), (text, passages, pieces) in zip(part, embedded, strict=True)
        for number, vector in [(_TEXT, text), *enumerate(passages)]
    ]
    dimensions = schema.field("vector").type.value_type.list_size
    return pa.table(
        [
            pa.array([key for key, _, _, _ in rows], pa.string()),
            pa.array([number for _, number, _, _ in rows], pa.int64()),
            whole_column(np.stack([vector for _, _, vector, _ in rows]), np.ones(len(rows), np.bool_), dimensions),
            pa.array([pieces for _, _, _, pieces in rows], PIECES.type),
        ],
        schema=schema,
    )


async def _copy(old: Tables, fresh: Tables, staging: Table, stamp: Stamp) -> None:
    for layer in MEMORY_TABLES:
        await _write(from_table(await old[layer].rows(FIELDS)), fresh, layer, staging, stamp)
        await fresh[layer].tidy(KEEP_VERSIONS_FOR)  # or the first search would go through every text
    for side in SIDE_TABLES:
        if side in (*PASSAGE_TABLES, "meta"):  # passages are written with the new vectors
            continue
        rows = await _complete_rows(old[side])
        if len(rows):
            await fresh[side].add(rows)
    notes = {row["id"]: row["value"] for row in (await old["meta"].rows(["id", "value"])).to_pylist()}
    await fresh["meta"].upsert(meta_rows({key: value for key, value in notes.items() if key not in _NOT_COPIED}))


async def _write(memories: Sequence[Memory], fresh: Tables, table: str, staging: Table, stamp: Stamp) -> None:
    for part in _parts(memories):
        items = await _with_vectors(part, staging, stamp)
        if not items:
            continue
        await fresh[table].add(to_table(items, stamp.dimensions))
        passages = passage_rows(items, stamp.dimensions)
        if len(passages):
            await fresh[ARCHIVED_PASSAGES if table == ARCHIVE else PASSAGES].add(passages)


def _parts(memories: Sequence[Memory]) -> Iterator[Sequence[Memory]]:
    for start in range(0, len(memories), _ROWS_AT_ONCE):
        yield memories[start : start + _ROWS_AT_ONCE]


async def _with_vectors(memories: Sequence[Memory], staging: Table, stamp: Stamp) -> list[Embedded]:
    """Join memories with their staged vectors; one that came in since the staging is for the next round."""
    wanted = one_of("id", {memory.content_hash for memory in memories})
    rows = await staging.rows(["id", "number", "vector", PIECES.name], wanted)
    pieces = {
        key: packed
        for key, number, packed in zip(
            *(rows.column(name).to_pylist() for name in ("id", "number", PIECES.name)), strict=True
        )
        if number == _TEXT
    }
    vectors = {
        (key, number): vector
        for key, number, vector in zip(
            rows.column("id").to_pylist(),
            rows.column("number").to_pylist(),
            whole_rows(rows.column("vector"), stamp.dimensions)[1],
            strict=True,
        )
    }
    items = []
    for memory in memories:
        if (memory.content_hash, _TEXT) not in vectors:
            continue
        passages: list[Vector] = []
        while (memory.content_hash, len(passages)) in vectors:
            passages.append(vectors[memory.content_hash, len(passages)])
        stamped = replace(memory, embedder=stamp.embedder)
        vector = vectors[memory.content_hash, _TEXT]
        items.append(Embedded(stamped, vector, tuple(passages), pieces[memory.content_hash]))
    return items


async def carry_over_log(store: MemoryStore, embed: Embed) -> int:
    """Write what waited in this host's log when another host re-embedded or upgraded the store; return how many.

    Their vectors may be the old model's, so they are embedded again. Killed at any point, it does the rest next time.
    """
    home = store.database.home
    if home.state is None or not _older_logs(store):
        return 0
    async with ProcessLock(home.folder / "locks" / "carry-over.lock").held():  # two processes may open it at once
        return sum([await _carry_over(store, folder, embed) for folder in _older_logs(store)])


def _older_logs(store: MemoryStore) -> list[Path]:
    home = store.database.home
    return sorted(set(home.folder.glob(f"{TABLES_FOLDER}*")) - {home.logs(store.database.generation)})


async def _carry_over(store: MemoryStore, folder: Path, embed: Embed) -> int:
    async with ProcessLock(store.folder / "locks" / FLUSH_LOCK).held():
        waiting = [memory_in(line) for line in pending_lines(write_ahead_log_folder(folder))]
    known = await store.get([memory.id for memory in waiting])  # not inside the lock: a read flushes the log first
    memories = [memory for memory in waiting if memory.id not in known]
    for part in _parts(memories):
        made = await asyncio.to_thread(embed, [memory.content for memory in part])
        items = [
            Embedded(replace(memory, embedder=store.database.stamp.embedder), vector, passages, pieces)
            for memory, (vector, passages, pieces) in zip(part, made, strict=True)
        ]
        await store.database.write_ahead_log.write(items)
    await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    return len(memories)
