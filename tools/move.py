"""Promoting and demoting: a memory goes up or down the ladder of layers."""

from reverie.errors import InvalidInput
from reverie.lifecycle.layers import Direction, checked_move
from reverie.memory import LAYERS, Layer
from reverie.tools.resolve import resolved
from reverie.tools.results import Moved
from reverie.tools.session import Session


async def move(session: Session, memory_id: str, to: str, direction: Direction) -> Moved:
    """Take a memory to the next layer in a direction, or to the one named.

    Raises:
        MemoryNotFound: if there is no such memory.
        MoveRefused: if the ladder does not lead there.
    """
    if to and to not in LAYERS:
        raise InvalidInput("to", f"{to!r} is not a layer", f"It is one of: {', '.join(LAYERS)}.")
    wanted: Layer | None = next((layer for layer in LAYERS if layer == to), None)
    now = session.now
    async with session.store.changing():
        memory = await resolved(session, memory_id)
        target = checked_move(memory.layer, wanted, direction)
        actor = "promote" if direction == "up" else "demote"
        await session.store.move(memory, target, actor=actor, at=now)
    session.maintenance.note_write()
    return Moved(memory.id, memory.layer, target, memory.project)
