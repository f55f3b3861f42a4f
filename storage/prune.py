"""Old logs: recalls that the memories already count, and events of long ago that no question can tell apart.

What a change replaced is kept for as long as the store lives: it is all that `as_of` has to go by. Folded away are
old events that replaced nothing, unless they are the last about a memory, and those about memories that are no
more. A batch goes whole or not at all, or undoing it would undo half. One event takes their place; it says how many
there were of each kind, and carries the chain across the gaps.
"""

import json
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from reverie.memory import LAYERS
from reverie.moments import parse_iso
from reverie.storage.filters import before
from reverie.storage.journal import ACCEPTED, FOLDED, REDACTED, Event, Row
from reverie.storage.store import MemoryStore

_KEPT = (FOLDED, ACCEPTED, REDACTED, "purged")
"""What the chain and the audit go by."""


async def old_logs(store: MemoryStore, cutoff: datetime) -> tuple[int, int]:
    """Count the accesses and the foldable events from before a moment."""
    accesses = await store.database.table("accesses").count(before("at", cutoff))
    if not await store.database.table("events").count(before("at", cutoff)) and not store.journal.waiting_bytes():
        return accesses, 0
    return accesses, len(await _foldable(store, cutoff))


async def fold_old_logs(store: MemoryStore, cutoff: datetime, at: datetime) -> None:
    """Take away logs from before a moment; call it inside `changing()`."""
    async with store.journal.settled():
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
