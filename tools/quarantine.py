"""The quarantine: memories that are stored with a reason and not recalled until somebody decides."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from reverie.embeddings.base import Embedding
from reverie.errors import InvalidInput
from reverie.memory import Memory
from reverie.storage.filters import equals, one_of
from reverie.storage.journal import Event
from reverie.storage.rows import Embedded
from reverie.time import iso
from reverie.tools.requests import checked_label
from reverie.tools.resolve import resolved_each
from reverie.tools.results import Skipped
from reverie.tools.screening import screened_evidence
from reverie.tools.session import Session

RELEASED = "released"
"""The journal's word for a decision that a held memory may be recalled; it holds through forgetting and restoring."""


@dataclass(frozen=True)
class Held:
    """A memory in quarantine."""

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
    """Which memories were released and forgotten, and which were not in quarantine."""

    released: list[str]
    forgotten: list[str]
    skipped: list[Skipped]


async def hold(
    session: Session, draft: Memory, reason: str, now: datetime, embedding: Embedding | None = None
) -> Memory:
    """Write a memory into quarantine; a text that is there already is not written twice."""
    same = (
        equals("content_hash", draft.content_hash)
        & equals("status", "quarantined")
        & session.of_project(draft.project)
    )
    held = [one for one in await session.store.find(same) if one.owner == draft.owner]
    if held:
        return held[0]
    draft = screened_evidence(draft)
    memory = replace(draft, status="quarantined", status_reason=reason, pinned=False)
    if embedding is None:
        [embedding] = await session.embed([memory.content])
    item = Embedded(memory, embedding.vector, embedding.passages, embedding.pieces)
    await session.store.add([item], actor="remember", at=now, reason=reason)
    session.maintenance.note_write()
    return memory


async def held_memories(session: Session, *, project: str = "", limit: int = 100) -> list[Held]:
    """Return the quarantined memories that a project sees, oldest first."""
    where = equals("status", "quarantined")
    if not session.all_projects:
        where &= one_of("project", session.visible_from(session.project_for(checked_label("project", project))))
    memories = await session.store.find(where)
    return [_as_held(memory) for memory in memories[:limit]]


async def decide(
    session: Session,
    *,
    release: Sequence[str] = (),
    discard: Sequence[str] = (),
    actor: str = "review",
) -> Decided:
    """Release some quarantined memories and forget others, softly; all of it or nothing.

    What is forgotten and restored later is held again.

    Raises:
        MemoryNotFound: if an id is unknown.
        InvalidInput: if none is held, or one is to be both released and forgotten.
    """
    now = session.now
    async with session.store.changing():
        freed = await resolved_each(session, release, "--release") if release else []
        dropped = await resolved_each(session, discard, "--forget") if discard else []
        both = {memory.id for memory in freed} & {memory.id for memory in dropped}
        if both:
            raise InvalidInput(
                "ids", f"{', '.join(sorted(both))} is to be both released and forgotten", "Say one of the two."
            )
        if not any(memory.status == "quarantined" for memory in (*freed, *dropped)):
            raise InvalidInput("ids", "none of these is held in quarantine", "List what is held first.")
        released = [memory for memory in freed if memory.status == "quarantined"]
        values: dict[str, object] = {"status": "active", "status_reason": None}
        await session.store.change(
            released, values, action=RELEASED, actor=actor, at=now, reason="released after review"
        )
        forgotten = [memory for memory in dropped if memory.status == "quarantined"]
        why = "forgotten after review"
        values = {"status": "expired", "expired_at": now, "status_reason": why}
        await session.store.change(forgotten, values, action="forgotten", actor=actor, at=now, reason=why)
    session.maintenance.note_write()
    return Decided(
        [memory.id for memory in released],
        [memory.id for memory in forgotten],
        [
            Skipped(memory.id, f"is {memory.status}")
            for memory in (*freed, *dropped)
            if memory.status != "quarantined"
        ],
    )


def is_held(events: Sequence[Event]) -> bool:
    """Return whether a memory's history last shows it in quarantine, never released."""
    held = False
    for event in events:
        if event.before.get("status") == "quarantined":
            held = event.action != RELEASED
    return held


def _as_held(memory: Memory) -> Held:
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
