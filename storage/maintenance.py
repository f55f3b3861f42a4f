"""Keeping the tables quick and the logs short: compaction, indexes, old versions, folded events. In the
background.
"""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from reverie.errors import StoreError
from reverie.memory import LAYERS
from reverie.storage.candidates import MAX_VECTORS_IN_MEMORY
from reverie.storage.filters import before
from reverie.storage.journal import ACCEPTED, FOLDED, REDACTED, Event, Row
from reverie.storage.lance_table import Table
from reverie.storage.schema import SIDE_TABLES
from reverie.storage.store import MemoryStore
from reverie.time import parse_iso

_KEPT = (FOLDED, ACCEPTED, REDACTED, "purged")
"""What the chain and the audit go by."""


async def old_logs(store: MemoryStore, cutoff: datetime) -> tuple[int, int]:
    """Count the accesses and the foldable events from before a moment."""
    accesses = await store.database.table("accesses").count(before("at", cutoff))
    if not await store.database.table("events").count(before("at", cutoff)) and not store.journal.pending_bytes():
        return accesses, 0
    return accesses, len(await _foldable(store, cutoff))


async def fold_old_logs(store: MemoryStore, cutoff: datetime, at: datetime) -> None:
    """Take away logs from before a moment; call it inside `changing()`."""
    async with store.journal.flushed():
        rows = await _foldable(store, cutoff)
        if rows:
            counts = Counter(str(row["action"]) for row in rows)
            told = {"counts": dict(sorted(counts.items())), "gaps": _gaps(rows)}
            folded = Event(
                id=store.new_id(),
                at=at,
                action=FOLDED,
                memory_id="",
                actor="dream",
                session=store.session,
                reason=json.dumps(told),
            )
            await store.journal.write([folded])
            await store.journal.remove([row["id"] for row in rows])
    await store.database.table("accesses").delete(before("at", cutoff))


async def _foldable(store: MemoryStore, cutoff: datetime) -> list[Row]:
    """Return the old events that can go, in the order of the chain."""
    living: set[str] = set()
    for layer in LAYERS:
        living |= set((await store.database.table(layer).rows(["id"])).column("id").to_pylist())
    rows = await store.journal.rows()
    last = {row["memory_id"]: row["number"] for row in rows}
    batches = Counter(row["batch"] for row in rows)
    old = [row for row in rows if row["action"] not in _KEPT and parse_iso(row["at"], "at") < cutoff]
    found = [
        row
        for row in old
        if row["memory_id"] not in living or (row["before"] == "{}" and row["number"] != last[row["memory_id"]])
    ]
    going = Counter(row["batch"] for row in found)
    return [row for row in found if row["batch"] is None or going[row["batch"]] == batches[row["batch"]]]


def _gaps(rows: Sequence[Row]) -> list[tuple[int, int, str]]:
    """Return each run of events: the first number, the last, and the hash that the next one follows."""
    gaps: list[tuple[int, int, str]] = []
    for row in rows:
        first = row["number"]
        if gaps and gaps[-1][1] + 1 == row["number"]:
            first = gaps.pop()[0]
        gaps.append((first, row["number"], row["hash"]))
    return gaps


KEEP_VERSIONS_FOR = timedelta(seconds=30)
"""Other processes read the newest version, far quicker than this, and a read that meets a version just dropped is
tried again. Every version kept makes the next write slower: they lie in one folder that is listed each time."""

WRITES_BETWEEN_LOOKS = 24
SECONDS_TO_REST = 1.0
"""So long after the last write the store counts as at rest, and is tidied more thoroughly."""

FEWEST_ROWS_TO_INDEX_VECTORS = 4_000
FEWEST_ROWS_TO_INDEX_VALUES = 5_000

MOST_PENDING_BYTES = 256 * 1024
"""Journal that may wait while the store is busy; readers of the journal go through all of it."""

_MOST_SIDE_PIECES = 64
_ROWS_PER_PIECE = 1_000
_PIECES_AT_REST, _MOST_PIECES_AT_REST = 6, 24
_PIECES_WHEN_BUSY, _MOST_PIECES_WHEN_BUSY = 32, 64

log = logging.getLogger(__name__)


class Maintenance:
    """Looks after the tables whenever this process has written a little; one process at a time does the work."""

    def __init__(self, store: MemoryStore) -> None:
        self._database = store.database
        self._journal = store.journal
        self._writes = 0
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def note_write(self) -> None:
        """Count a write: look after the tables every few of them, and once more when they cease."""
        self._writes += 1
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(SECONDS_TO_REST, self._start, True)
        if self._writes % WRITES_BETWEEN_LOOKS == 0:
            self._start(False)

    async def stop(self) -> None:
        """Leave off; a merge or an index that is cut short leaves the table as it was."""
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _start(self, at_rest: bool) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look(at_rest))

    async def run(self, *, at_rest: bool = True) -> list[str]:
        """Do what is due and return the tables that were worked on; another process at work leaves none.

        Merging rewrites a table and competes with what goes on, so a busy store is let go further than one
        at rest.
        """
        async with self._database.maintenance_lock.held_if_free() as ours:
            if not ours:
                return []
            if at_rest or self._journal.pending_bytes() > MOST_PENDING_BYTES:
                await self._journal.flush()
            tables = [self._database.raw_table(name) for name in (*LAYERS, *SIDE_TABLES)]
            return [table.name for table in tables if await self._keep(table, at_rest=at_rest)]

    async def compact(self) -> None:
        """Merge small fragments and update the indexes at once, whether that is due or not."""
        async with self._database.maintenance_lock.held_if_free() as ours:
            if ours:
                for name in (*LAYERS, "passages", "events"):
                    await self._database.table(name).tidy(KEEP_VERSIONS_FOR)
        await self.run()

    async def _look(self, at_rest: bool) -> None:
        try:
            await self.run(at_rest=at_rest)
        except StoreError as error:
            # Nothing is lost by waiting: the tables are only slower than they could be.
            log.info("Upkeep was put off: %s", error)

    async def _keep(self, table: Table, *, at_rest: bool) -> bool:
        rows = await table.count()
        in_pieces = await table.fragments() > _most_pieces(table.name, rows, at_rest=at_rest)
        if in_pieces:
            await table.tidy(KEEP_VERSIONS_FOR)
        return await self._index(table, rows) or in_pieces

    async def _index(self, table: Table, rows: int) -> bool:
        if table.name not in (*LAYERS, "passages"):
            return False
        wanted: set[str] = set()
        if table.name in LAYERS and rows >= FEWEST_ROWS_TO_INDEX_VALUES:
            wanted |= {"project", "status", "content_hash"}
        if rows >= FEWEST_ROWS_TO_INDEX_VECTORS and await self._total() > MAX_VECTORS_IN_MEMORY:
            wanted.add("vector")
        missing = wanted - await table.indexed_columns() if wanted else set()
        for column in sorted(missing):
            if column == "vector":
                await table.index_vectors()
            else:
                await table.index_values(column, few_distinct=column != "content_hash")
        return bool(missing)

    async def _total(self) -> int:
        names = (*LAYERS, "passages")
        return sum(await asyncio.gather(*(self._database.raw_table(name).count() for name in names)))


def _most_pieces(table: str, rows: int, *, at_rest: bool) -> int:
    """Return how many pieces a table may lie in: merging costs more, and is worth less, the larger it is."""
    if table not in LAYERS:
        return _MOST_SIDE_PIECES
    few, many = (_PIECES_AT_REST, _MOST_PIECES_AT_REST) if at_rest else (_PIECES_WHEN_BUSY, _MOST_PIECES_WHEN_BUSY)
    return min(many, few + rows // _ROWS_PER_PIECE)
