"""Pinning: nothing forgets, merges or archives a pinned memory."""

from reverie.tools.requests import PinRequest
from reverie.tools.resolve import resolved
from reverie.tools.results import Pinned
from reverie.tools.session import Session


async def pin(session: Session, request: PinRequest) -> Pinned:
    """Pin a memory or take the pin away.

    Raises:
        MemoryNotFound: if there is no such memory.
    """
    now, pinned = session.now, request.pinned
    async with session.store.changing():
        memory = await resolved(session, request.id)
        if memory.pinned != pinned:
            action = "pinned" if pinned else "unpinned"
            await session.store.change([memory], {"pinned": pinned}, action=action, actor="pin", at=now)
            session.maintenance.note_write()
    return Pinned(memory.id, pinned, memory.project)
