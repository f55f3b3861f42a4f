"""Removing memories for good: from the tables, their indexes, the journal's texts and old versions.

What stays is that they were purged, and a fingerprint that keeps the text from coming back.
"""

import asyncio
import json
import shutil
from collections.abc import Sequence
from datetime import datetime, timedelta

from reverie.memory import Memory
from reverie.storage.filters import equals, has_any, one_of
from reverie.storage.lock import ProcessLock
from reverie.storage.store import MemoryStore
from reverie.storage.table import Table
from reverie.storage.tombstones import bury

_AT_ONCE = timedelta(0)
_BLANK = "[purged]"
_WORTH_BLANKING = 8  # a title of a letter or two stands in every report
_QUOTING = ("peer_card", "digest", "bridge")


async def purge(store: MemoryStore, memories: Sequence[Memory], *, actor: str, at: datetime) -> None:
    """Leave nothing of these memories but the fact that they were purged. Call it inside `changing()`."""
    if not memories:
        return
    memories = [*memories, *await _quoting(store, memories)]
    ids = [memory.id for memory in memories]
    bury(store.database, (memory.content for memory in memories))  # first: a purge cut short is finished by another
    layers = dict.fromkeys(memory.layer for memory in memories)
    await store.journal.write([store.event("purged", memory, actor=actor, at=at) for memory in memories])
    for layer in layers:
        await store.database.table(layer).delete(one_of("id", ids))
    for side in ("passages", "accesses"):
        await store.database.table(side).delete(one_of("memory_id", ids))
    await store.journal.forget_texts(one_of("memory_id", ids))
    await store.database.table("questions").delete(has_any("memory_ids", ids))
    await _blank_reports(store.database.table("dreams"), memories)
    async with store.database.upkeep_lock.held():
        for name in (*layers, "passages", "accesses", "events", "questions", "dreams"):
            await _rewrite(store.database.table(name))
    await _drop_leftovers(store)


async def _blank_reports(dreams: Table, memories: Sequence[Memory]) -> None:
    """Take quotations of purged texts out of the reports of dreams."""
    texts = {text for memory in memories for text in (memory.content, memory.title) if len(text) >= _WORTH_BLANKING}
    quoted = [json.dumps(text, ensure_ascii=escaped)[1:-1] for text in texts for escaped in (True, False)]
    for row in (await dreams.rows(["id", "report"])).to_pylist():
        report = row["report"]
        for text in sorted(quoted, key=len, reverse=True):
            report = report.replace(text, _BLANK)
        if report != row["report"]:
            await dreams.update(equals("id", row["id"]), {"report": report})


async def _drop_leftovers(store: MemoryStore) -> None:
    """Remove what a re-embedding that was cut short left beside the tables; one at work tidies up by itself."""
    folder = store.database.generations.folder
    async with ProcessLock(folder / "locks" / "reembed.lock").held_if_free() as free:
        if free:
            for path in [folder / "staging", *folder.glob("dropped-*")]:
                await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)


async def _quoting(store: MemoryStore, memories: Sequence[Memory]) -> list[Memory]:
    """Return the cards, digests and bridges that repeat what is purged; the next dream writes them anew."""
    ids = [memory.id for memory in memories]
    resting = has_any("derived_from", ids) & one_of("kind", _QUOTING) & equals("source", "dream")
    return [memory for memory in await store.find(resting) if memory.id not in ids]


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
