"""Background maintenance: compaction, indexes, old versions; and folding old logs, which a dream does."""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from reverie.errors import StoreError
from reverie.lifecycle.rules import WHOLE
from reverie.storage.filters import before, equals
from reverie.storage.host_chains import SHARED, chain_of
from reverie.storage.journal import ACCEPTED, FOLDED, REDACTED, Event, Row
from reverie.storage.lance_table import Table
from reverie.storage.schema import MEMORY_TABLES, PASSAGE_TABLES, TABLES
from reverie.storage.store import MemoryStore
from reverie.time import parse_iso

_KEPT = (FOLDED, ACCEPTED, REDACTED, "purged")
"""Actions whose events the audit needs."""


async def old_logs(store: MemoryStore, cutoff: datetime) -> tuple[int, int]:
    """Count the accesses and the foldable events from before a moment."""
    accesses = await store.database.table("accesses").count(before("at", cutoff))
    await store.journal.flush()  # or every event would have to be read for the sake of a few new ones
    if not await store.database.table("events").count(before("at", cutoff)) and not store.journal.pending_bytes():
        return accesses, 0
    return accesses, len(await _foldable(store, cutoff))


async def fold_old_logs(store: MemoryStore, cutoff: datetime, at: datetime) -> None:
    """Delete logs from before a moment; call it inside `changing()`."""
    async with store.database.write_ahead_log.paused(), store.journal.flushed():
        rows = await _foldable(store, cutoff)
        if rows:
            counts = Counter(str(row["action"]) for row in rows)
            summary = {"counts": dict(sorted(counts.items())), "gaps": _gaps(rows, await _order(store))}
            folded = Event(
                id=store.new_id(),
                at=at,
                action=FOLDED,
                memory_id="",
                actor="dream",
                session=store.session,
                reason=json.dumps(summary),
            )
            await store.journal.write([folded])
            await store.journal.remove([row["id"] for row in rows])
    await store.database.table("accesses").delete(before("at", cutoff))


_FOLDED_BY = ("id", "at", "action", "memory_id", "batch", "before", "number", "hash")  # without the long texts


async def _foldable(store: MemoryStore, cutoff: datetime) -> list[Row]:
    """Return the old events that can go, in the order of the chain.

    What replaced something stays, also of a memory that has no row any more: `as_of` reads it there.
    """
    living: set[str] = set()
    for table in store.database.memory_tables.values():
        living |= set((await table.rows(["id"])).column("id").to_pylist())
    rows = await store.journal.rows(_FOLDED_BY)
    last = {row["memory_id"]: row["number"] for row in rows}
    batches = Counter(row["batch"] for row in rows)
    old = [row for row in rows if row["action"] not in _KEPT and parse_iso(row["at"], "at") < cutoff]
    found = [
        row
        for row in old
        if row["before"] == "{}" and (row["memory_id"] not in living or row["number"] != last[row["memory_id"]])
    ]
    going = Counter(row["batch"] for row in found)
    return [row for row in found if row["batch"] is None or going[row["batch"]] == batches[row["batch"]]]


async def _order(store: MemoryStore) -> dict[int, int]:
    """Return for each event of a host's chain the number of the one before it there; of a folder's it is one less."""
    previous: dict[int, int] = {}
    last: dict[int, int] = {}
    for row in await store.journal.rows(("id", "at", "number")) if store.journal.host_chain is not None else ():
        chain = chain_of(row["number"])
        if chain != SHARED:
            previous[row["number"]] = last.get(chain, 0)
            last[chain] = row["number"]
    return previous


def _gaps(rows: Sequence[Row], previous: Mapping[int, int]) -> list[tuple[int, int, str]]:
    """Return each run of events: the first number, the last, and the hash that the next one follows."""
    runs: dict[int, list[tuple[int, int, str]]] = {}
    for row in rows:
        first, gaps = row["number"], runs.setdefault(chain_of(row["number"]), [])
        if gaps and gaps[-1][1] == previous.get(first, first - 1):
            first = gaps.pop()[0]
        gaps.append((first, row["number"], row["hash"]))
    return [gap for gaps in runs.values() for gap in gaps]


KEEP_VERSIONS_FOR = timedelta(seconds=30)
"""Other processes read the newest version, far quicker than this, and a read that meets a version just dropped is
tried again. Every version kept makes the next write slower: they are in one folder that is listed each time."""

WRITES_BETWEEN_RUNS = 24
SECONDS_UNTIL_IDLE = 1.0
"""So long after the last write the store counts as idle, and is compacted more thoroughly."""

REMOTE_SECONDS_UNTIL_IDLE = 20.0
"""In an object store a look at every table is some forty requests: one for a burst of writes is enough."""

FEWEST_ROWS_TO_INDEX_VECTORS = 4_000
FEWEST_ROWS_TO_INDEX_VALUES = 5_000

MOST_PENDING_BYTES = 256 * 1024
"""How much of the journal may be pending while the store is busy; readers of the journal read all of it."""

_MOST_SIDE_FRAGMENTS = 64
_ROWS_PER_FRAGMENT = 1_000
_FRAGMENTS_IDLE, _MOST_FRAGMENTS_IDLE = 6, 24
_FRAGMENTS_BUSY, _MOST_FRAGMENTS_BUSY = 32, 64

log = logging.getLogger(__name__)


class Maintenance:
    """Maintains the tables after every few writes of this process; one process at a time does the work."""

    def __init__(self, store: MemoryStore) -> None:
        self._database = store.database
        self._journal = store.journal
        self._vectors = store.vectors
        self._is_remote = store.database.home.state is not None
        self._writes = 0
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def note_write(self) -> None:
        """Count a write: run every few of them, and once more when they cease."""
        self._writes += 1
        if self._timer is not None:
            self._timer.cancel()
        pause = REMOTE_SECONDS_UNTIL_IDLE if self._is_remote else SECONDS_UNTIL_IDLE
        self._timer = asyncio.get_running_loop().call_later(pause, self._start, True)
        if self._writes % WRITES_BETWEEN_RUNS == 0:
            self._start(False)

    async def stop(self) -> None:
        """Stop; a merge or an index that is cut short leaves the table as it was."""
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._store_indexes()

    async def _store_indexes(self) -> None:
        """Leave the indexes to the next engine as they are; without that it builds them, or catches up."""
        try:
            async with self._database.maintenance_lock.held_if_free() as ours:
                if ours and self._database.is_current() and self._database.is_in_place():
                    await self._vectors.store_indexes()
        except StoreError as error:
            log.info("The indexes were not stored: %s", error)

    def _start(self, idle: bool) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run_if_possible(idle))

    async def run(self, *, idle: bool = True) -> list[str]:
        """Do what is due and return the tables that were worked on; another process at work leaves none.

        Merging rewrites a table and competes with other writes, so a busy store is merged later than an idle one.
        """
        async with self._database.maintenance_lock.held_if_free() as ours:
            if not ours:
                return []
            if idle or self._journal.pending_bytes() > MOST_PENDING_BYTES:
                await self._journal.flush()
            if idle:
                await self._database.drop_replaced()
            tables = [self._database.raw_table(name) for name in TABLES]
            maintained = [table.name for table in tables if await self._maintain(table, idle=idle)]
            if idle:
                await self._vectors.store_indexes()
                await self._vectors.fill_row_caches()
            return maintained

    async def compact(self) -> None:
        """Merge small fragments and update the indexes at once, whether that is due or not."""
        async with self._database.maintenance_lock.held_if_free() as ours:
            if ours:
                for name in (*MEMORY_TABLES, *PASSAGE_TABLES, "events"):
                    await self._database.table(name).tidy(KEEP_VERSIONS_FOR)
        await self.run()

    async def _run_if_possible(self, idle: bool) -> None:
        try:
            await self.run(idle=idle)
        except StoreError as error:
            # Nothing is lost: the tables are only slower than they could be.
            log.info("Maintenance was put off: %s", error)

    async def _maintain(self, table: Table, *, idle: bool) -> bool:
        rows = await table.count()
        is_fragmented = await table.fragments() > _most_fragments(table.name, rows, idle=idle)
        if is_fragmented:
            await table.tidy(KEEP_VERSIONS_FOR)
        return await self._index(table, rows) or is_fragmented

    async def _index(self, table: Table, rows: int) -> bool:
        if table.name not in (*MEMORY_TABLES, *PASSAGE_TABLES):
            return False
        wanted: set[str] = set()
        if table.name in MEMORY_TABLES and rows >= FEWEST_ROWS_TO_INDEX_VALUES:
            wanted |= {"project", "status", "content_hash"}
        many = rows >= FEWEST_ROWS_TO_INDEX_VECTORS and not await self._vectors.are_in_memory()
        if many and await table.count(equals("precision", WHOLE)) >= FEWEST_ROWS_TO_INDEX_VECTORS:
            wanted.add("vector")
        missing = wanted - await table.indexed_columns() if wanted else set()
        for column in sorted(missing):
            if column == "vector":
                await table.index_vectors()
            else:
                await table.index_values(column, few_distinct=column != "content_hash")
        return bool(missing)


def _most_fragments(table: str, rows: int, *, idle: bool) -> int:
    """Return how many fragments a table may have: merging costs more, and is worth less, the larger it is."""
    if table not in MEMORY_TABLES:
        return _MOST_SIDE_FRAGMENTS
    few, many = (_FRAGMENTS_IDLE, _MOST_FRAGMENTS_IDLE) if idle else (_FRAGMENTS_BUSY, _MOST_FRAGMENTS_BUSY)
    return min(many, few + rows // _ROWS_PER_FRAGMENT)
