"""Removing memories for good: from the tables, their indexes, the journal's texts and old versions."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from reverie.memory import Memory
from reverie.storage.filters import one_of
from reverie.storage.store import MemoryStore
from reverie.storage.table import Table

_AT_ONCE = timedelta(0)


async def purge(store: MemoryStore, memories: Sequence[Memory], *, actor: str, at: datetime) -> None:
    """Leave nothing of these memories but the fact that they were purged. Call it inside `changing()`."""
    if not memories:
        return
    ids = [memory.id for memory in memories]
    layers = dict.fromkeys(memory.layer for memory in memories)
    await store.journal.write([store.event("purged", memory, actor=actor, at=at) for memory in memories])
    for layer in layers:
        await store.database.table(layer).delete(one_of("id", ids))
    for side in ("passages", "accesses"):
        await store.database.table(side).delete(one_of("memory_id", ids))
    store.no_longer_familiar(ids)
    await store.journal.forget_texts(one_of("memory_id", ids))
    async with store.database.upkeep_lock.held():
        for name in (*layers, "passages", "accesses", "events"):
            await _rewrite(store.database.table(name))


async def _rewrite(table: Table) -> None:
    """Write a table out again without its deleted rows, rebuild what is derived, drop every older version.

    Other processes that were reading an older version find it gone and read the newest instead.
    """
    # LanceDB rewrites a large piece for the sake of one deleted row only if there is another to merge it
    # with: touching a row puts it in a piece of its own.
    await table.touch_one()
    indexed = await table.indexed_columns()
    if "search_text" in indexed:
        await table.index_text()
    if "vector" in indexed:
        await table.index_vectors()
    await table.tidy(_AT_ONCE)
