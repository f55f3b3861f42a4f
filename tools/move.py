"""Promoting and demoting: a memory moves up or down the ladder of layers."""

from reverie.lifecycle.rules import Direction, checked_move
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
        target = checked_move(memory.layer, request.to or None, direction)
        actor = "promote" if direction == "up" else "demote"
        await session.store.move(memory, target, actor=actor, at=now)
    session.maintenance.note_write()
    return Moved(memory.id, memory.layer, target, memory.project)
