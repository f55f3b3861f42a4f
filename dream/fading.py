"""Vectors that fade: which memories get a vector of fewer bits, or a whole one again (rule `002-compression`).

The step `forget` proposes it. A vector loses bits as the forgetting curve falls; a recall, a pin or a restore lifts
the curve, and the next dream computes the vector from the text again. Memories of the layer `codebase` are left
whole: their vectors are of more than their text.
"""

import asyncio
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime

from reverie.dream.plan import Change, ChangeSet
from reverie.dream.snapshot import Snapshot
from reverie.embeddings.base import Embedder
from reverie.lifecycle.curves import retention_of
from reverie.lifecycle.rules import FEWEST_BITS, Precision, precision_of
from reverie.memory import Memory
from reverie.settings import Settings
from reverie.storage.bulk import Edit
from reverie.storage.filters import Condition, differs, later_than
from reverie.storage.rows import Embedded
from reverie.storage.vector_precision import is_finer

PACKED, UNPACKED = "vector packed", "vector unpacked"
_TEXTS_AT_ONCE = 64


def fading(snapshot: Snapshot, settings: Settings, expiring: Collection[str]) -> Iterator[ChangeSet]:
    """Yield a change for each memory whose vector has not the precision that its retention deserves."""
    for memory in snapshot.memories:
        if memory.id not in expiring and fades(memory, snapshot.now, settings):
            yield _changing(memory, *_deserved(memory, snapshot.now, settings))


def fades(memory: Memory, now: datetime, settings: Settings) -> bool:
    """Whether the vector of a memory has not the precision that its retention deserves."""
    return memory.layer != "codebase" and _deserved(memory, now, settings)[0] != memory.precision


def _deserved(memory: Memory, now: datetime, settings: Settings) -> tuple[Precision, float]:
    retention = retention_of(memory, now, settings.retention, settings.tier, settings.parameters)
    return precision_of(memory, retention), retention


def may_fade() -> Condition:
    """Match all whose precision may be due if they were not written since a dream looked at them.

    With the fewest bits a vector cannot fade further; a recall may lift it, and no recall counts as a change.
    """
    return differs("precision", FEWEST_BITS) | later_than("last_accessed_at", "updated_at")


def _changing(memory: Memory, bits: int, retention: float) -> ChangeSet:
    reason = "pinned" if memory.pinned else f"retention {retention:.2f}"
    change = Change(
        memory_id=memory.id,
        action=UNPACKED if is_finer(bits, memory.precision) else PACKED,
        reason=f"{reason}: {bits} bits a dimension",
        values={"precision": bits},
    )
    return ChangeSet(summary=f"vectors of {bits} bits", changes=(change,))


def lifted(edits: Iterable[Edit]) -> list[Memory]:
    """Return the memories whose text stays and whose vector becomes finer: it has to be made from the text."""
    return [
        edit.after
        for edit in edits
        if edit.before.content == edit.after.content and is_finer(edit.after.precision, edit.before.precision)
    ]


async def embedded_again(memories: Sequence[Memory], embedder: Embedder) -> dict[str, Embedded]:
    """Make the vectors of memories from their texts, by id, some texts at a time."""
    made: dict[str, Embedded] = {}
    for start in range(0, len(memories), _TEXTS_AT_ONCE):
        part = memories[start : start + _TEXTS_AT_ONCE]
        embeddings = await asyncio.to_thread(embedder.embed, [memory.content for memory in part])
        for memory, one in zip(part, embeddings, strict=True):
            made[memory.id] = Embedded(memory, one.vector, one.passages, one.pieces)
    return made
