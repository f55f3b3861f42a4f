"""Promoting and demoting: a memory moves up or down the ladder of layers."""

from reverie.lifecycle.layers import Direction, checked_move
from reverie.memory import Layer, Memory
from reverie.tools.requests import MoveRequest
from reverie.tools.resolve import resolved
from reverie.tools.results import Moved
from reverie.tools.session import Session


async def promote(session: Session, request: MoveRequest) -> Moved:
    """Move a memory to the next layer up, or to the one named.

    Raises:
        MemoryNotFound: if there is no such memory.
        MoveRefused: if the ladder does not lead there.
    """
    return await _move(session, request, "up")


async def demote(session: Session, request: MoveRequest) -> Moved:
    """Move a memory to the next layer down, or to the one named.

    Raises:
        MemoryNotFound: if there is no such memory.
        MoveRefused: if the ladder does not lead there.
    """
    return await _move(session, request, "down")


async def _move(session: Session, request: MoveRequest, direction: Direction) -> Moved:
    now = session.now
    async with session.store.changing():
        memory = await resolved(session, request.id)
        if session.repeats and (layers := await _moved_before(session, memory)) is not None:
            before, after = layers
            await session.store.move(memory, after, actor="repeated", at=now)  # if it had not come so far
            return Moved(memory.id, before, after, memory.project)
        target = checked_move(memory.layer, request.to or None, direction)
        actor = "promote" if direction == "up" else "demote"
        await session.store.move(memory, target, actor=actor, at=now)
    session.maintenance.note_write()
    return Moved(memory.id, memory.layer, target, memory.project)


async def _moved_before(session: Session, memory: Memory) -> tuple[Layer, Layer] | None:
    """Return from where to where this call moved a memory when it was sent before: a second move would be too far."""
    for event in await session.store.journal.about(memory.id):
        if event.action == "moved" and session.store.new_id.has_made(event.id):
            return event.before["layer"], event.after["layer"]
    return None
