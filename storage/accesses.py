"""Counting recalls behind the answer: nothing is written on the recall path, nothing is lost at exit."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import pyarrow as pa

from reverie.errors import ReverieError
from reverie.lifecycle.access import KEPT_ACCESS_TIMES, KEPT_SESSIONS
from reverie.lifecycle.stability import HALF_GAIN_GAP_DAYS, MAX_GAIN, MAX_STABILITY
from reverie.memory import Layer, Memory
from reverie.storage.filters import literal, one_of
from reverie.storage.schema import side_schema
from reverie.storage.store import MemoryStore

ONE_ACCESS_PER = timedelta(minutes=10)
"""The same memory served again to the same session within this time is the same access."""

_PAUSE_SECONDS = 0.5

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Access:
    """One memory served to one session."""

    memory_id: str
    layer: Layer
    at: datetime


class AccessRecorder:
    """Collects what recall served and writes it a little later, in batches."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._served: dict[str, datetime] = {}
        self._waiting: list[Access] = []
        self._task: asyncio.Task[None] | None = None

    def note(self, memories: Iterable[Memory], at: datetime) -> None:
        """Remember that these were served; the writing happens later."""
        for memory in memories:
            last = self._served.get(memory.id)
            if last is None or at - last >= ONE_ACCESS_PER:
                self._served[memory.id] = at
                self._waiting.append(Access(memory.id, memory.layer, at))
        if self._waiting and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._write_later())

    async def flush(self) -> None:
        """Write everything that waits; called at exit.

        Raises:
            StoreError: if it cannot be written; what waits is kept for another try.
        """
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._write()

    async def _write_later(self) -> None:
        while self._waiting:
            await asyncio.sleep(_PAUSE_SECONDS)
            try:
                # Shielded: a flush that comes meanwhile must not cut a write in two.
                await asyncio.shield(self._write())
            except ReverieError as error:
                log.warning("Accesses are not written yet: %s", error)

    async def _write(self) -> None:
        batch, self._waiting = self._waiting, []
        try:
            async with self._store.changing():
                for layer, at, ids in await self._groups(batch):
                    await record(self._store, layer, ids, at)
                    batch = [access for access in batch if access.memory_id not in ids or access.at != at]
        except BaseException:
            self._waiting = batch + self._waiting
            raise

    async def _groups(self, batch: Sequence[Access]) -> list[tuple[Layer, datetime, list[str]]]:
        """Group accesses by moment and by the layer each memory is in now: it may have moved since."""
        if not batch:
            return []
        where_now = {
            memory.id: memory.layer
            for memory in (await self._store.get([access.memory_id for access in batch])).values()
        }
        groups: dict[tuple[Layer, datetime], list[str]] = {}
        for access in batch:
            layer = where_now.get(access.memory_id)
            if layer is not None:  # purged meanwhile otherwise
                groups.setdefault((layer, access.at), []).append(access.memory_id)
        return [(layer, at, ids) for (layer, at), ids in groups.items()]


async def record(store: MemoryStore, layer: Layer, ids: Sequence[str], at: datetime) -> None:
    """Count one access of each memory at a moment: the log first, then the counters by SQL expression."""
    rows = [
        {"id": store.new_id(), "memory_id": memory_id, "at": at, "session": store.session} for memory_id in ids
    ]
    await store.database.table("accesses").add(pa.Table.from_pylist(rows, schema=side_schema("accesses", 1)))
    for expressions in (_stability_after(at), _counters_after(at, store.session)):
        version = await store.database.table(layer).update_by(expressions, one_of("id", ids))
        store.vectors.note_unmoved(layer, version)


# Together these say lifecycle.access.after_access in SQL, so that the store counts without reading first.
# They are two statements because LanceDB shows later columns of one statement the new values of earlier ones,
# and stability grows by the gap to the access before.


def _stability_after(at: datetime) -> dict[str, str]:
    gap = (
        f"greatest(date_part('epoch', {literal(at)}) - date_part('epoch', coalesce(last_accessed_at, created_at)), 0.0)"
        " / 86400.0"
    )
    gain = f"{MAX_GAIN} * ({gap}) / (({gap}) + {HALF_GAIN_GAP_DAYS})"
    return {"stability": f"least(stability + ({MAX_STABILITY} - stability) * {gain}, {MAX_STABILITY})"}


def _counters_after(at: datetime, session: str) -> dict[str, str]:
    now = literal(at)
    return {
        "access_count": "access_count + 1",
        "last_accessed_at": f"greatest(last_accessed_at, {now})",
        "access_times": f"array_slice(array_append(access_times, {now}), -{KEPT_ACCESS_TIMES}, -1)",
        "sessions": f"array_slice(array_distinct(array_append(sessions, {literal(session)})), -{KEPT_SESSIONS}, -1)",
    }
