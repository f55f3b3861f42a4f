"""Old logs: recalls that the memories already count, and events of long ago, folded into counts by kind."""

from collections import Counter
from datetime import datetime

from reverie.storage.filters import Condition, before, differs
from reverie.storage.store import MemoryStore

_COUNTED = "events folded: "


async def old_logs(store: MemoryStore, cutoff: datetime) -> tuple[int, int]:
    """Count the accesses and events from before a moment."""
    accesses = await store.database.table("accesses").count(before("at", cutoff))
    return accesses, await store.database.table("events").count(_foldable(cutoff))


async def fold_old_logs(store: MemoryStore, cutoff: datetime) -> None:
    """Take away logs from before a moment; how many events of each kind there were stays in meta."""
    events = store.database.table("events")
    rows = await events.rows(["action"], _foldable(cutoff))
    if len(rows):
        known = await store.database.read_meta()
        counts = Counter(rows.column("action").to_pylist())
        await store.database.write_meta(
            {
                f"{_COUNTED}{action}": str(number + int(known.get(f"{_COUNTED}{action}", "0")))
                for action, number in counts.items()
            }
        )
        await events.delete(_foldable(cutoff))
    await store.database.table("accesses").delete(before("at", cutoff))


def _foldable(cutoff: datetime) -> Condition:
    """A demotion is someone's word that sweeps heed for ever, so it stays."""
    return before("at", cutoff) & differs("actor", "demote")
