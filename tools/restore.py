"""Restoring memories that expired or were superseded, and undoing one event or a whole dream.

A restored memory counts as recalled, and the next sweep does not expire it again. A dream is undone exactly instead:
every field as it was before, and no recall counted. Both leave what somebody changed since.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from reverie.dream.batch import Undo, Undone, undo_batch, undo_events
from reverie.dream.fading import UNPACKED, embedded_again
from reverie.errors import InvalidInput
from reverie.lifecycle.rules import WHOLE, as_restored
from reverie.memory import Memory
from reverie.storage.access_log import record
from reverie.storage.journal import Event
from reverie.storage.vector_precision import set_precisions
from reverie.time import iso
from reverie.tools.dreams import describe_dream, dream_lines
from reverie.tools.quarantine import is_held
from reverie.tools.requests import RestoreRequest
from reverie.tools.resolve import resolved_batch, resolved_each, resolved_event
from reverie.tools.results import Restored, Skipped, UndoPlan
from reverie.tools.session import Session

ACTOR = "restore"
_RESTORABLE = ("expired", "superseded", "challenged")
_CLEARED = ("status", "expired_at", "status_reason", "superseded_by")
_RAISED = ("forget_after", "tier")
_QUARANTINED = "held back for review: it was in quarantine when it was forgotten"


async def restore(session: Session, request: RestoreRequest) -> Restored:
    """Make memories active again, or undo an event or a whole dream.

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
        return await _undo_event(session, await resolved_event(session, event_id), now)


async def undo_plan(session: Session, request: RestoreRequest) -> UndoPlan:
    """Describe what would be undone: a dream, another batch such as an answer or a drift check, or an event.

    Raises:
        InvalidInput: if it is unknown, or may not be undone from here.
    """
    if request.event_id:
        event = await resolved_event(session, request.event_id)
        return UndoPlan([f"{event.id}: {event.action} {event.memory_id}, {iso(event.at)[:16]}, by {event.actor}"])
    batch = await resolved_batch(session, request.dream_id)
    try:
        return UndoPlan(dream_lines(await describe_dream(session, batch)))
    except InvalidInput:
        changed = len({event.memory_id for event in await session.store.journal.of_batch(batch)})
        return UndoPlan([f"{batch} changed {changed:,} {'memory' if changed == 1 else 'memories'}."])


async def _restore_memories(session: Session, ids: Sequence[str], now: datetime) -> Restored:
    memories = await resolved_each(session, ids)
    gone = [memory for memory in memories if memory.status in _RESTORABLE or session.is_overdue(memory)]
    await _unpack(session, gone, now)
    for memory in gone:
        back = _restored(session, memory, now)
        values = {name: getattr(back, name) for name in _CLEARED} | _raised(memory, back)
        if is_held(await session.store.journal.about(memory.id)):
            values |= {"status": "quarantined", "status_reason": _QUARANTINED}
        await session.store.change([memory], values, action="restored", actor=ACTOR, at=now)
    await _count_as_recalled(session, [memory.id for memory in gone], now)
    session.maintenance.note_write()
    return Restored(
        [memory.id for memory in gone],
        [Skipped(memory.id, _why_not(memory)) for memory in memories if memory not in gone],
        session.project_of(memories),
    )


async def _unpack(session: Session, memories: Sequence[Memory], now: datetime) -> None:
    """Give memories whose vectors faded the vectors of their texts again."""
    store = session.store
    packed = [memory for memory in memories if memory.precision != WHOLE]
    vectors = await embedded_again(packed, session.embedder)
    after = {"precision": WHOLE}
    await store.journal.write(
        [
            store.event(UNPACKED, one, actor=ACTOR, at=now, before={"precision": one.precision}, after=after)
            for one in packed
        ]
    )
    await set_precisions(store, [replace(memory, precision=WHOLE) for memory in packed], vectors)


def _why_not(memory: Memory) -> str:
    if memory.status == "quarantined":
        return "held in quarantine; only a review releases it"
    return "already active"


def _restored(session: Session, memory: Memory, now: datetime) -> Memory:
    settings = session.settings
    return as_restored(memory, now, session.store.session, settings.retention, settings.tier, settings.parameters)


def _raised(memory: Memory, back: Memory) -> dict[str, Any]:
    """Return what restoring changes besides the status, so that the journal names only that."""
    return {name: getattr(back, name) for name in _RAISED if getattr(back, name) != getattr(memory, name)}


async def _count_as_recalled(session: Session, ids: Sequence[str], now: datetime) -> None:
    await record(session.store, dict.fromkeys(ids, now))


async def _undo_dream(session: Session, dream_id: str, now: datetime) -> Restored:
    """Undo a dream, or what one answer in review did if the id is a question's, or another batch of changes."""
    batch = await resolved_batch(session, dream_id)
    undone = await undo_batch(session.store, batch, actor=ACTOR, at=now, embedder=session.embedder)
    session.maintenance.note_write()
    await session.store.projects.undo(batch)
    return _answer(session, undone)


async def _undo_event(session: Session, event: Event, now: datetime) -> Restored:
    """Undo one event; a memory that is alive again afterwards is restored like any other."""
    undo = Undo(
        reason=event.id,
        actor=ACTOR,
        at=now,
        embedder=session.embedder,
        revive=lambda memory: replace(memory, precision=WHOLE, **_raised(memory, _restored(session, memory, now))),
    )
    undone = await undo_events(session.store, [event], undo)
    await _count_as_recalled(session, undone.revived, now)
    session.maintenance.note_write()
    answer = _answer(session, undone)
    if not answer.restored and not answer.skipped:
        answer.skipped.append(Skipped(event.memory_id, f"{event.action!r} left nothing to take back"))
    return answer


def _answer(session: Session, undone: Undone) -> Restored:
    left = [Skipped(memory_id, reason) for memory_id, reason in undone.left]
    return Restored(list(undone.restored), left, session.here.project)
