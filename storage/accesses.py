"""Counting recalls behind the answer: nothing is written on the recall path, nothing is lost at exit."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

import pyarrow as pa

from reverie.errors import ReverieError
from reverie.lifecycle.access import KEPT_ACCESS_TIMES, KEPT_SESSIONS, after_access
from reverie.memory import Layer, Memory
from reverie.storage.filters import literal, moment_by_id, number_by_id, one_of
from reverie.storage.schema import side_schema
from reverie.storage.store import MemoryStore

ONE_ACCESS_PER = timedelta(minutes=10)
"""The same memory served again to the same session within this time is the same access."""

_PAUSE_SECONDS = 2.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Access:
    """One memory served to one session."""

    memory_id: str
    at: datetime


class AccessRecorder:
    """Collects what recall served and writes it a little later, in batches."""

    def __init__(self, store: MemoryStore, wrote: Callable[[], None] = lambda: None) -> None:
        self._store = store
        self._wrote = wrote  # told after each write, so that upkeep comes to know of it
        self._served: dict[str, datetime] = {}
        self._waiting: list[Access] = []
        self._task: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()

    def note(self, memories: Iterable[Memory], at: datetime) -> None:
        """Remember that these were served; the writing happens later."""
        for memory in memories:
            last = self._served.get(memory.id)
            if last is None or at - last >= ONE_ACCESS_PER:
                self._served[memory.id] = at
                self._waiting.append(Access(memory.id, at))
        if self._waiting and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._write_later())

    async def flush(self) -> None:
        """Write everything that waits; called at exit.

        Raises:
            StoreError: if it cannot be written; what waits is kept for another try.
        """
        self._hurry.set()
        if self._task is not None:
            await self._task
        if self._waiting:
            await self._write()
        self._hurry.clear()

    async def _write_later(self) -> None:
        while self._waiting:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), _PAUSE_SECONDS)
            try:
                await self._write()
            except ReverieError as error:
                log.warning("Accesses are not written yet: %s", error)
                if self._hurry.is_set():
                    return  # flush tries once more, and tells

    async def _write(self) -> None:
        batch, self._waiting = self._waiting, []
        try:
            async with self._store.changing():
                while batch:
                    # One access of each memory at a time; hardly ever is there a second round.
                    once = {access.memory_id: access for access in reversed(batch)}
                    await record(self._store, {memory_id: access.at for memory_id, access in once.items()})
                    batch = [access for access in batch if once[access.memory_id] is not access]
                    self._wrote()
        except BaseException:
            self._waiting = batch + self._waiting
            raise


async def record(store: MemoryStore, accesses: Mapping[str, datetime]) -> None:
    """Count one access of each memory at its moment, in the log and on the memory. Call it inside `changing()`."""
    # Read where they are now: one may have moved or been purged since it was served.
    memories = (await store.get(list(accesses))).values()
    rows = [
        {"id": store.new_id(), "memory_id": memory.id, "at": accesses[memory.id], "session": store.session}
        for memory in memories
    ]
    if rows:
        await store.database.table("accesses").add(pa.Table.from_pylist(rows, schema=side_schema("accesses", 1)))

    async def count(layer: Layer) -> None:
        accessed = {memory: accesses[memory.id] for memory in memories if memory.layer == layer}
        where = one_of("id", [memory.id for memory in accessed])
        version = await store.database.table(layer).update_by(_after_access(accessed, store.session), where)
        store.vectors.note_counted(layer, version, [memory.id for memory in accessed])

    await asyncio.gather(*(count(layer) for layer in dict.fromkeys(memory.layer for memory in memories)))


def _after_access(accessed: Mapping[Memory, datetime], session: str) -> dict[str, str]:
    """Say lifecycle's after_access in SQL: counters over their present values, stability as computed.

    LanceDB knows no CASE, and within one statement it may show an expression the new value of another
    column; so what differs between memories is picked by id, and no expression reads a column but its own.
    """
    at = moment_by_id({memory.id: moment for memory, moment in accessed.items()})
    return {
        "access_count": "access_count + 1",
        "last_accessed_at": f"greatest(last_accessed_at, {at})",
        "access_times": f"array_slice(array_append(access_times, {at}), -{KEPT_ACCESS_TIMES}, -1)",
        "sessions": f"array_slice(array_distinct(array_append(sessions, {literal(session)})), -{KEPT_SESSIONS}, -1)",
        "stability": number_by_id(
            {memory.id: after_access(memory, moment, session).stability for memory, moment in accessed.items()}
        ),
    }
