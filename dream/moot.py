"""Questions that nobody can answer any more, or ever could: they are withdrawn, and do not stand in others' way.

A question is moot when one of its memories is gone, when its memories belong to several projects (no session sees
them all), and when what drift missed was found again.
"""

from collections.abc import Mapping
from datetime import datetime

from reverie.dream.drift import is_challenged
from reverie.lifecycle.lasting import LIVING
from reverie.memory import GLOBAL_PROJECT, Memory
from reverie.storage.questions import WITHDRAWN, Asked, Questions
from reverie.storage.store import MemoryStore

ACTOR = "dream"


def why_moot(asked: Asked, memories: Mapping[str, Memory]) -> str | None:
    """Return why a question cannot be answered, or None if it can."""
    held = [memories.get(memory_id) for memory_id in asked.memory_ids]
    if not all(memory is not None and memory.status in LIVING for memory in held):
        return "a memory it is about is no longer there"
    if len({memory.project for memory in held if memory is not None} - {GLOBAL_PROJECT}) > 1:
        return "it is about several projects, which no session sees together"
    if asked.kind == "drift" and not all(memory is not None and is_challenged(memory) for memory in held):
        return "the memory is no longer in doubt"
    return None


async def withdraw_moot(store: MemoryStore, now: datetime) -> list[str]:
    """Withdraw every open question that is moot, each with an event; call it inside `changing()`."""
    questions = Questions(store.database.table("questions"))
    still_open = await questions.open()
    memories = await store.get(list({one for asked in still_open for one in asked.memory_ids}))
    found = [(asked, why) for asked in still_open if (why := why_moot(asked, memories)) is not None]
    events = [
        store.event("question withdrawn", memory, actor=ACTOR, at=now, reason=f"{asked.id}: {why}")
        for asked, why in found
        if (memory := next((memories[one] for one in asked.memory_ids if one in memories), None)) is not None
    ]
    await store.journal.write(events)
    await questions.close([asked.id for asked, _ in found], WITHDRAWN)
    return [asked.id for asked, _ in found]
