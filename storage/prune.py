"""Old logs: recalls that the memories already count, and events of long ago, folded into one that counts them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from reverie.storage.filters import before, equals
from reverie.storage.journal import FOLDED, Event
from reverie.storage.store import MemoryStore


async def old_logs(store: MemoryStore, cutoff: datetime) -> tuple[int, int]:
    """Count the accesses and events from before a moment."""
    await store.journal.settle()
    accesses = await store.database.table("accesses").count(before("at", cutoff))
    return accesses, await store.database.table("events").count(before("at", cutoff))


async def fold_old_logs(store: MemoryStore, cutoff: datetime, at: datetime) -> None:
    """Take away logs from before a moment; how many events of each kind there were stays on record."""
    demotions = await _standing_demotions(store, cutoff)
    event = Event(id=store.new_id(), at=at, action=FOLDED, memory_id="", actor="dream", session=store.session)
    if await store.journal.fold(cutoff, event):
        await store.journal.write([replace(one, id=store.new_id(), at=at) for one in demotions])
    await store.database.table("accesses").delete(before("at", cutoff))


async def _standing_demotions(store: MemoryStore, cutoff: datetime) -> Sequence[Event]:
    """Return the demotions that nothing has moved back since: someone's word, which sweeps go on heeding."""
    old = before("at", cutoff) & equals("action", "moved") & equals("actor", "demote")
    ids = (await store.database.table("events").rows(["memory_id"], old)).column("memory_id").to_pylist()
    standing = []
    for memory_id in dict.fromkeys(ids):
        moves = [event for event in await store.journal.about(memory_id) if event.action == "moved"]
        if moves[-1].actor == "demote" and moves[-1].at < cutoff:
            standing.append(moves[-1])
    return standing
