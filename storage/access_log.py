"""The access log: recalls are counted after the answer; nothing is written before it, nothing is lost at exit."""

import asyncio
import json
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa

from reverie.errors import StoreError
from reverie.lifecycle.vitals import KEPT_ACCESS_TIMES, KEPT_SESSIONS, after_access
from reverie.memory import Memory
from reverie.storage.filters import literal, moment_by_id, number_by_id, one_of
from reverie.storage.schema import side_schema
from reverie.storage.scope import RETIRED
from reverie.storage.store import MemoryStore
from reverie.storage.write_ahead_log import LogFile, lines_of
from reverie.time import iso, parse_iso

ONE_ACCESS_PER = timedelta(minutes=10)
"""The same memory served again to the same session within this time is the same access."""

MOST_NOTED = 10_000
"""So many are kept in memory while the file cannot be written, as on a full disk."""

_SECONDS_TO_GATHER = 10.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Access:
    """One memory served to one session."""

    id: str
    memory_id: str
    at: datetime
    session: str


class AccessRecorder:
    """Writes what recall served to a file that all processes share, and counts it in the tables a little later."""

    def __init__(self, store: MemoryStore, wrote: Callable[[], None] = lambda: None) -> None:
        folder = store.folder
        self._store = store
        self._log_file = LogFile(folder / "accesses", folder / "locks" / "accesses.lock")
        self._wrote = wrote  # called after each count, so that maintenance knows of it
        self._served: dict[tuple[str, str], datetime] = {}  # by session and memory
        self._noted: list[Access] = []
        self._writing = asyncio.Lock()  # held while what was noted is on its way to the file
        self._keeping: asyncio.Task[None] | None = None
        self._counting: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def note(self, memories: Iterable[Memory], at: datetime, session: str | None = None) -> None:
        """Note that these were served to a session, by default the store's; they are written later."""
        session = session or self._store.session
        for memory in memories:
            last = self._served.get((session, memory.id))
            if last is None or at - last >= ONE_ACCESS_PER:
                self._served[session, memory.id] = at
                self._noted.append(Access(self._store.new_id(), memory.id, at, session))
        if len(self._served) > MOST_NOTED:
            self._served = {served: when for served, when in self._served.items() if at - when < ONE_ACCESS_PER}
        if len(self._noted) > MOST_NOTED:
            log.warning("The oldest recalls are not counted: more than %d could not be written.", MOST_NOTED)
            del self._noted[:-MOST_NOTED]
        if self._noted and (self._keeping is None or self._keeping.done()):
            self._keeping = asyncio.create_task(self._keep_after_answer())

    async def keep(self) -> None:
        """Write what was noted to the file; from there any session counts it. Enough at exit.

        On return everything noted before is in the file, also what another call was writing.

        Raises:
            StoreError: if it cannot be written; what was noted is kept for another try.
        """
        async with self._writing:
            noted, self._noted = self._noted, []
            if noted:
                try:
                    await self._log_file.append(lambda _last: [_to_line(access) for access in noted])
                except BaseException:
                    self._noted = noted + self._noted
                    raise

    async def count(self) -> None:
        """Count in the tables whatever any session noted. For callers that judge a memory by its recalls.

        Raises:
            StoreError: if it cannot be written; what is in the file stays there.
        """
        await self.keep()
        if self._log_file.pending_bytes():
            async with self._store.changing():
                await self._count_now()

    async def count_if_possible(self) -> None:
        """Count, or leave it to a later time: for callers that can do without the last recalls."""
        try:
            await self.count()
        except StoreError as error:
            log.warning("Recalls are not counted yet: %s", error)

    async def stop(self) -> None:
        """Write what was noted to the file, and wait for a count under way; other sessions count the rest."""
        await asyncio.gather(*(task for task in (self._keeping, self._counting) if task is not None))
        if self._timer is not None:
            self._timer.cancel()
        await self.keep()

    async def _keep_after_answer(self) -> None:
        await asyncio.sleep(0)  # the answer goes first
        try:
            await self.keep()
        except StoreError as error:
            log.warning("Recalls are not noted yet: %s", error)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_SECONDS_TO_GATHER, self._count_soon)

    def _count_soon(self) -> None:
        self._timer = None
        self._counting = asyncio.create_task(self.count_if_possible())

    async def _count_now(self) -> None:
        earlier, now = await self._log_file.rotate()
        pending = await _not_yet_counted(self._store, _accesses_in(earlier)) + _accesses_in(now)
        while pending:
            # One access of each memory by one session at a time; hardly ever is there a second round.
            once: dict[str, Access] = {}
            for access in pending:
                if access.session == pending[0].session:
                    once.setdefault(access.memory_id, access)
            await _record(self._store, once)
            pending = [access for access in pending if once.get(access.memory_id) is not access]
        for path in (*earlier, *now):
            path.unlink(missing_ok=True)
        self._wrote()


async def _not_yet_counted(store: MemoryStore, accesses: list[Access]) -> list[Access]:
    """Leave out what was counted before a count was cut short."""
    if not accesses:
        return []
    memories = await store.get([access.memory_id for access in accesses])
    return [a for a in accesses if a.memory_id in memories and a.at not in memories[a.memory_id].access_times]


def _accesses_in(files: Iterable[Path]) -> list[Access]:
    known = [json.loads(line) for path in files for line in lines_of(path)]
    return [Access(**{**access, "at": parse_iso(access["at"], "at")}) for access in known]


def _to_line(access: Access) -> bytes:
    return json.dumps({**asdict(access), "at": iso(access.at)}, ensure_ascii=False).encode() + b"\n"


async def record(store: MemoryStore, moments: Mapping[str, datetime]) -> None:
    """Count one access of each memory by this session at its moment. Call it inside `changing()`."""
    await _record(store, {i: Access(store.new_id(), i, at, store.session) for i, at in moments.items()})


async def _record(store: MemoryStore, accesses: Mapping[str, Access]) -> None:
    """Count one access of each memory, all by one session, on the memory and in the log."""
    # Read where they are now: one may have moved or been purged since it was served.
    memories = (await store.get(list(accesses))).values()
    if not memories:
        return
    session = next(iter(accesses.values())).session

    for layer in dict.fromkeys(memory.layer for memory in memories):
        accessed = {memory: accesses[memory.id].at for memory in memories if memory.layer == layer}
        ids = [memory.id for memory in accessed]
        expressions = _after_access(accessed, session)
        await store.database.table(layer).update_by(expressions, one_of("id", ids))
        if any(memory.status in RETIRED for memory in accessed):  # it may be archived, and stays so
            await store.archive.table.update_by(expressions, one_of("id", ids))
    # The memory first: its access times show whether an access was counted if this is cut short here.
    rows = [asdict(accesses[memory.id]) for memory in memories]
    await store.database.table("accesses").add(pa.Table.from_pylist(rows, schema=side_schema("accesses", 1)))


def _after_access(accessed: Mapping[Memory, datetime], session: str) -> dict[str, str]:
    """Write lifecycle's after_access in SQL: counters over their present values, stability as computed.

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
