"""Memories that are held back: kept on record with the reason, not recalled until somebody decides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from reverie.errors import InvalidInput
from reverie.memory import Memory
from reverie.moments import iso
from reverie.storage.filters import equals, one_of
from reverie.storage.journal import Event
from reverie.storage.rows import Embedded
from reverie.tools.arguments import checked_ids, checked_label
from reverie.tools.resolving import resolved
from reverie.tools.results import Skipped
from reverie.tools.workspace import Workspace

RELEASED = "released"
"""The journal's word for a decision that a held memory may be recalled; it holds through forgetting and restoring."""


@dataclass(frozen=True)
class Held:
    """A memory in quarantine, for somebody to decide about."""

    id: str
    title: str
    content: str
    reason: str
    source: str
    source_ref: str | None
    trust: float
    project: str
    created_at: str


@dataclass(frozen=True)
class Decided:
    """What a decision changed, and what it could not be applied to."""

    ids: list[str]
    skipped: list[Skipped]


async def hold(workspace: Workspace, draft: Memory, reason: str, now: datetime) -> Memory:
    """Write a memory in quarantine; the same text that is held already is not written twice."""
    same = (
        equals("content_hash", draft.content_hash)
        & equals("status", "quarantined")
        & workspace.of_project(draft.project)
    )
    held = await workspace.store.find(same)
    if held:
        return held[0]
    memory = replace(draft, status="quarantined", status_reason=reason, pinned=False)
    [embedding] = await workspace.embed([memory.content])
    item = Embedded(memory, embedding.vector, embedding.passages, embedding.pieces)
    await workspace.store.add([item], actor="remember", at=now, reason=reason)
    workspace.upkeep.note_write()
    return memory


async def held_memories(workspace: Workspace, *, project: str = "", limit: int = 100) -> list[Held]:
    """Return what waits in quarantine and is seen from a project, oldest first."""
    seen = workspace.visible_from(workspace.project_for(checked_label("project", project)))
    memories = await workspace.store.find(equals("status", "quarantined") & one_of("project", seen))
    return [_told(memory) for memory in memories[:limit]]


async def release(workspace: Workspace, ids: Sequence[str], *, actor: str = "review", reason: str = "") -> Decided:
    """Let held memories be recalled like any other.

    Raises:
        MemoryNotFound: if an id is unknown; then nothing is released.
    """
    values = {"status": "active", "status_reason": None}
    return await _decide(workspace, ids, values, RELEASED, actor, reason or "released after review")


async def discard(workspace: Workspace, ids: Sequence[str], *, actor: str = "review", reason: str = "") -> Decided:
    """Forget held memories, softly; a restored one is held again.

    Raises:
        MemoryNotFound: if an id is unknown; then nothing is forgotten.
    """
    why = reason or "forgotten after review"
    values = {"status": "expired", "expired_at": workspace.now, "status_reason": why}
    return await _decide(workspace, ids, values, "forgotten", actor, why)


def is_held(events: Sequence[Event]) -> bool:
    """Say from a memory's history whether it was last seen in quarantine and never released from there."""
    held = False
    for event in events:
        if event.before.get("status") == "quarantined":
            held = event.action != RELEASED
    return held


async def _decide(
    workspace: Workspace, ids: Sequence[str], values: Mapping[str, object], action: str, actor: str, reason: str
) -> Decided:
    checked_label("reason", reason)
    now = workspace.now
    async with workspace.store.changing():
        memories = [await resolved(workspace, memory_id) for memory_id in checked_ids(ids)]
        held = [memory for memory in memories if memory.status == "quarantined"]
        if not held:
            raise InvalidInput("ids", "none of these is held in quarantine", "List what is held first.")
        await workspace.store.change(held, values, action=action, actor=actor, at=now, reason=reason)
    workspace.upkeep.note_write()
    free = [Skipped(memory.id, f"is {memory.status}") for memory in memories if memory.status != "quarantined"]
    return Decided([memory.id for memory in held], free)


def _told(memory: Memory) -> Held:
    return Held(
        id=memory.id,
        title=memory.title,
        content=memory.content,
        reason=memory.status_reason or "held back for review",
        source=memory.source,
        source_ref=memory.source_ref,
        trust=memory.trust,
        project=memory.project,
        created_at=iso(memory.created_at),
    )
