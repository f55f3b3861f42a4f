"""Bringing back what was let go, or undoing one recorded change or a whole dream.

A memory that comes back counts as recalled, and the next sweep does not take it away again. A dream is undone to the
letter instead: every field as it was before, and nothing counted.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from reverie.dream.undoing import undo_night
from reverie.errors import InvalidInput, MemoryNotFound
from reverie.lifecycle.fate import overdue
from reverie.lifecycle.lasting import LIVING
from reverie.lifecycle.reprieve import reprieved
from reverie.memory import Memory
from reverie.storage.accesses import record
from reverie.storage.journal import Event
from reverie.tools.arguments import checked_ids
from reverie.tools.quarantine import is_held
from reverie.tools.resolving import resolved
from reverie.tools.results import Restored, Skipped
from reverie.tools.workspace import Workspace

_LET_GO = ("expired", "superseded", "challenged")
_CLEARED = ("status", "expired_at", "status_reason", "superseded_by")
_RAISED = ("forget_after", "tier")
_HELD = "held back for review: it was in quarantine when it was forgotten"


async def restore(
    workspace: Workspace, *, ids: list[str] | None = None, dream_id: str = "", event_id: str = ""
) -> Restored:
    """Make memories active again, or take back an event or a whole dream.

    Raises:
        InvalidInput: unless exactly one of the three is given, or if the event or dream is unknown.
        MemoryNotFound: if an id is unknown; then nothing is restored.
    """
    if sum(map(bool, (ids, dream_id, event_id))) != 1:
        raise InvalidInput("ids", "say what to restore", "Give either ids, a dream_id or an event_id.")
    now = workspace.now
    async with workspace.store.changing():
        if ids:
            return await _restore_memories(workspace, checked_ids(ids), now)
        if dream_id:
            return await _undo_dream(workspace, dream_id, now)
        return await _undo(workspace, [await _event(workspace, event_id)], now)


async def _restore_memories(workspace: Workspace, ids: list[str], now: datetime) -> Restored:
    memories = [await resolved(workspace, memory_id) for memory_id in ids]
    tier = workspace.settings.tier
    gone = [memory for memory in memories if memory.status in _LET_GO or overdue(memory, now, tier)]
    for memory in gone:
        back = _reprieved(workspace, memory, now)
        values = {name: getattr(back, name) for name in _CLEARED} | _raised(memory, back)
        if is_held(await workspace.store.journal.about(memory.id)):
            values |= {"status": "quarantined", "status_reason": _HELD}
        await workspace.store.change([memory], values, action="restored", actor="restore", at=now)
    await _count_as_recalled(workspace, gone, now)
    workspace.upkeep.note_write()
    return Restored(
        [memory.id for memory in gone],
        [Skipped(memory.id, _as_it_is(memory)) for memory in memories if memory not in gone],
    )


def _as_it_is(memory: Memory) -> str:
    if memory.status == "quarantined":
        return "held in quarantine; only a review releases it"
    return "already active"


def _reprieved(workspace: Workspace, memory: Memory, now: datetime) -> Memory:
    settings = workspace.settings
    return reprieved(memory, now, workspace.store.session, settings.retention, settings.tier)


def _raised(memory: Memory, back: Memory) -> dict[str, Any]:
    """Return what a reprieve changed besides the status, so that the journal names only that."""
    return {name: getattr(back, name) for name in _RAISED if getattr(back, name) != getattr(memory, name)}


async def _count_as_recalled(workspace: Workspace, memories: Sequence[Memory], now: datetime) -> None:
    await record(workspace.store, {memory.id: now for memory in memories})


async def _event(workspace: Workspace, event_id: str) -> Event:
    event = await workspace.store.journal.with_id(event_id)
    if event is None:
        raise InvalidInput("event_id", f"no event has the id {event_id!r}", "Use inspect to see a memory's events.")
    return event


async def _undo_dream(workspace: Workspace, dream_id: str, now: datetime) -> Restored:
    """Take back a night, or what one answer in review did, if the id is a question's."""
    undone = await undo_night(workspace.store, dream_id, actor="restore", at=now)
    workspace.upkeep.note_write()
    return Restored(list(undone.restored), [Skipped(memory_id, reason) for memory_id, reason in undone.left])


async def _undo(workspace: Workspace, events: list[Event], now: datetime) -> Restored:
    """Set every field an event changed back to what it was before, the last event first."""
    restored: list[str] = []
    skipped: list[Skipped] = []
    for event in reversed(events):
        try:
            memory = await workspace.store.resolve(event.memory_id)
        except MemoryNotFound:
            skipped.append(Skipped(event.memory_id, "purged since"))
            continue
        if await _take_back(workspace, memory, event, now):
            restored.append(memory.id)
        else:
            skipped.append(Skipped(memory.id, f"{event.action!r} left nothing to take back"))
    workspace.upkeep.note_write()
    return Restored(list(dict.fromkeys(restored)), skipped)


async def _take_back(workspace: Workspace, memory: Memory, event: Event, now: datetime) -> bool:
    if event.action == "remembered":
        values = {"status": "expired", "expired_at": now, "status_reason": f"undone: {event.id}"}
        await workspace.store.change([memory], values, action="undone", actor="restore", at=now, reason=event.id)
        return True
    before = dict(event.before)
    layer = before.pop("layer", None)
    if layer is not None and layer != memory.layer:
        memory = await workspace.store.move(memory, layer, actor="restore", at=now, reason=event.id)
    if before:
        comes_back = memory.status not in LIVING and before.get("status") in LIVING
        if comes_back:
            found = replace(memory, **before)
            before |= _raised(found, _reprieved(workspace, found, now))
        await workspace.store.change([memory], before, action="undone", actor="restore", at=now, reason=event.id)
        if comes_back:
            await _count_as_recalled(workspace, [memory], now)
    return bool(before) or layer is not None
