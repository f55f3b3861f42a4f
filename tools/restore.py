"""Bringing back what was let go, or undoing one recorded change or a whole dream.

A memory that comes back counts as recalled, and the next sweep does not take it away again. A dream is undone to the
letter instead: every field as it was before, and nothing counted.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from reverie.dream.undo import undo_dream
from reverie.errors import InvalidInput, MemoryNotFound
from reverie.lifecycle.expiry import LIVING
from reverie.lifecycle.rules import overdue, reprieved
from reverie.memory import Memory
from reverie.storage.access_log import record
from reverie.storage.journal import Event
from reverie.storage.projects import take_back_projects
from reverie.storage.rows import Embedded
from reverie.tools.quarantine import is_held
from reverie.tools.requests import RestoreRequest
from reverie.tools.resolve import resolved_batch, resolved_each, resolved_event
from reverie.tools.results import Restored, Skipped
from reverie.tools.session import Session

_LET_GO = ("expired", "superseded", "challenged")
_CLEARED = ("status", "expired_at", "status_reason", "superseded_by")
_RAISED = ("forget_after", "tier")
_HELD = "held back for review: it was in quarantine when it was forgotten"


async def restore(session: Session, request: RestoreRequest) -> Restored:
    """Make memories active again, or take back an event or a whole dream.

    Raises:
        InvalidInput: unless exactly one of the three is given, or if the event or dream is unknown.
        MemoryNotFound: if an id is unknown; then nothing is restored.
    """
    ids, dream_id, event_id = request.ids, request.dream_id, request.event_id
    if sum(map(bool, (ids, dream_id, event_id))) != 1:
        raise InvalidInput("ids", "say what to restore", "Give either ids, a dream_id or an event_id.")
    now = session.now
    async with session.store.changing():
        if ids:
            return await _restore_memories(session, ids, now)
        if dream_id:
            return await _undo_dream(session, dream_id, now)
        return await _undo(session, [await resolved_event(session, event_id)], now)


async def _restore_memories(session: Session, ids: Sequence[str], now: datetime) -> Restored:
    memories = await resolved_each(session, ids)
    tier = session.settings.tier
    gone = [memory for memory in memories if memory.status in _LET_GO or overdue(memory, now, tier)]
    for memory in gone:
        back = _reprieved(session, memory, now)
        values = {name: getattr(back, name) for name in _CLEARED} | _raised(memory, back)
        if is_held(await session.store.journal.about(memory.id)):
            values |= {"status": "quarantined", "status_reason": _HELD}
        await session.store.change([memory], values, action="restored", actor="restore", at=now)
    await _count_as_recalled(session, gone, now)
    session.maintenance.note_write()
    return Restored(
        [memory.id for memory in gone],
        [Skipped(memory.id, _as_it_is(memory)) for memory in memories if memory not in gone],
        session.project_of(memories),
    )


def _as_it_is(memory: Memory) -> str:
    if memory.status == "quarantined":
        return "held in quarantine; only a review releases it"
    return "already active"


def _reprieved(session: Session, memory: Memory, now: datetime) -> Memory:
    settings = session.settings
    return reprieved(memory, now, session.store.session, settings.retention, settings.tier)


def _raised(memory: Memory, back: Memory) -> dict[str, Any]:
    """Return what a reprieve changed besides the status, so that the journal names only that."""
    return {name: getattr(back, name) for name in _RAISED if getattr(back, name) != getattr(memory, name)}


async def _count_as_recalled(session: Session, memories: Sequence[Memory], now: datetime) -> None:
    await record(session.store, {memory.id: now for memory in memories})


async def _undo_dream(session: Session, dream_id: str, now: datetime) -> Restored:
    """Take back a night, or what one answer in review did, if the id is a question's."""
    batch = await resolved_batch(session, dream_id)
    undone = await undo_dream(session.store, batch, actor="restore", at=now)
    session.maintenance.note_write()
    await take_back_projects(session.store.database, batch)
    left = [Skipped(memory_id, reason) for memory_id, reason in undone.left]
    return Restored(list(undone.restored), left, session.here.project)


async def _undo(session: Session, events: list[Event], now: datetime) -> Restored:
    """Set every field an event changed back to what it was before, the last event first."""
    restored: list[str] = []
    skipped: list[Skipped] = []
    for event in reversed(events):
        try:
            memory = await session.store.resolve(event.memory_id)
        except MemoryNotFound:
            skipped.append(Skipped(event.memory_id, "purged since"))
            continue
        if await _take_back(session, memory, event, now):
            restored.append(memory.id)
        else:
            skipped.append(Skipped(memory.id, f"{event.action!r} left nothing to take back"))
    session.maintenance.note_write()
    return Restored(list(dict.fromkeys(restored)), skipped, session.here.project)


async def _take_back(session: Session, memory: Memory, event: Event, now: datetime) -> bool:
    if event.action == "remembered":
        values = {"status": "expired", "expired_at": now, "status_reason": f"undone: {event.id}"}
        await session.store.change([memory], values, action="undone", actor="restore", at=now, reason=event.id)
        return True
    before = dict(event.before)
    before.pop("updated_at", None)  # taking it back is a change of its own
    layer = before.pop("layer", None)
    if layer is not None and layer != memory.layer:
        memory = await session.store.move(memory, layer, actor="restore", at=now, reason=event.id)
    if before:
        comes_back = memory.status not in LIVING and before.get("status") in LIVING
        if comes_back:
            found = replace(memory, **before)
            before |= _raised(found, _reprieved(session, found, now))
        if before.get("content", memory.content) == memory.content:
            await session.store.change([memory], before, action="undone", actor="restore", at=now, reason=event.id)
        else:  # another text has other vectors
            was = replace(memory, **before | {"embedder": session.embedder.stamp, "updated_at": now})
            [made] = await session.embed([was.content])
            item = Embedded(was, made.vector, made.passages, made.pieces)
            await session.store.replace([item], actor="restore", at=now)
        if comes_back:
            await _count_as_recalled(session, [memory], now)
    return bool(before) or layer is not None
