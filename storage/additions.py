"""New memories on their way to the tables.

A new memory is acknowledged once it stands in a file that all processes share. Whoever reads a table next, in any
process, brings what waits there to the tables first, in one commit for all; if nobody does, it happens a moment
later. So eight processes that remember at once do not queue for hundreds of commits, and no reader can tell the
difference. See docs/decisions/0008.
"""

import asyncio
import base64
import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

import numpy as np
import pyarrow as pa

from reverie.errors import StoreError
from reverie.memory import Memory
from reverie.record import decode, to_record
from reverie.storage.filters import one_of
from reverie.storage.lock import ProcessLock
from reverie.storage.rows import Embedded, Vector, as_rows
from reverie.storage.spool import Spool, lines_of
from reverie.storage.table import Table

MOST_AT_ONCE = 50
"""More memories than this are written to the tables directly: that is no slower, and the file stays small."""

_SECONDS_TO_GATHER = 2.0

Settled = Callable[[str, int, pa.Table], None]

log = logging.getLogger(__name__)


class Additions:
    """Takes new memories and brings them to the tables of one generation."""

    def __init__(self, spool: Spool, settling: ProcessLock, tables: Mapping[str, Table], dimensions: int) -> None:
        self._spool = spool
        self._settling = settling
        self._tables = tables  # those that do not look here first: that would go in a circle
        self._dimensions = dimensions
        self._decoded: dict[bytes, Embedded] = {}
        self._task: asyncio.Task[None] | None = None
        self.settled: Settled = lambda table, version, rows: None
        """Told of every commit: the table, its version now, the rows."""

    async def write(self, items: Sequence[Embedded]) -> None:
        """Take memories in; on return they survive the process.

        Raises:
            StoreUnavailable: if the disk is full or the folder may not be written.
        """
        lines = [_to_line(item) for item in items]
        await self._spool.append(lambda _last: lines)
        self._decoded |= zip(lines, items, strict=True)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._settle_soon())

    async def waiting(self) -> list[Embedded]:
        """Return the memories of all processes that no table holds yet. Read the tables after this, not before."""
        if not self._spool.waiting_bytes():
            return []
        lines = await self._spool.lines()
        self._decoded = {line: self._decoded.get(line) or _from_line(line) for line in lines}
        return list(self._decoded.values())

    async def settle(self) -> None:
        """Bring everything that waits to the tables.

        Raises:
            StoreError: if it cannot be written there; it goes on waiting.
        """
        if self._spool.waiting_bytes():
            async with self._settling.held():
                if self._spool.waiting_bytes():  # else another did it while this one waited for its turn
                    await self._settle_now()

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """Settle, and let nobody else bring anything to the tables until the block ends.

        Inside, use `Database.unsettled`: a table that looks here first would wait for the block to end.
        """
        async with self._settling.held():
            await self._settle_now()
            yield

    async def before_reading(self) -> None:
        """Bring what waits to the tables if that is possible; what they hold can be read in any case."""
        try:
            await self.settle()
        except StoreError as error:
            log.warning("New memories wait to be written: %s", error)

    async def stop(self) -> None:
        """Leave off; what waits is safe where it is, and the next reader brings it on."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _settle_soon(self) -> None:
        await asyncio.sleep(_SECONDS_TO_GATHER)
        await self.before_reading()

    async def _settle_now(self) -> None:
        earlier, now = await self._spool.set_aside()
        items = [_from_line(line) for path in (*earlier, *now) for line in lines_of(path)]
        for table, rows in as_rows(items, self._dimensions).items():
            fresh = await self._without_settled(table, rows) if earlier else rows
            if len(fresh):
                self.settled(table, await self._tables[table].add(fresh), fresh)
        for path in (*earlier, *now):
            path.unlink(missing_ok=True)
        self._decoded.clear()

    async def _without_settled(self, table: str, rows: pa.Table) -> pa.Table:
        """Leave out what reached the table before a settling was cut short."""
        ids = rows.column("id").to_pylist()
        there = set((await self._tables[table].rows(["id"], one_of("id", ids))).column("id").to_pylist())
        return rows.filter(pa.array([row_id not in there for row_id in ids]))


def _to_line(item: Embedded) -> bytes:
    known = {
        "memory": to_record(item.memory),
        "vector": _encoded(item.vector),
        "passages": [_encoded(passage) for passage in item.passages],
        "pieces": base64.b64encode(item.pieces).decode(),
    }
    return json.dumps(known, ensure_ascii=False).encode() + b"\n"


def _from_line(line: bytes) -> Embedded:
    known = json.loads(line)
    memory = Memory(**{name: decode(name, value) for name, value in known["memory"].items()})
    passages = tuple(map(_decoded, known["passages"]))
    return Embedded(memory, _decoded(known["vector"]), passages, base64.b64decode(known["pieces"]))


def _encoded(vector: Vector) -> str:
    return base64.b64encode(np.ascontiguousarray(vector, "<f4").tobytes()).decode()


def _decoded(text: str) -> Vector:
    return np.frombuffer(base64.b64decode(text), "<f4")
