"""Pinning: what is pinned is never let go, by anything."""

from reverie.tools.resolve import resolved
from reverie.tools.results import Pinned
from reverie.tools.session import Session


async def pin(session: Session, memory_id: str, *, pinned: bool = True) -> Pinned:
    """Pin a memory or take the pin away.

    Raises:
        MemoryNotFound: if there is no such memory.
    """
    now = session.now
    async with session.store.changing():
        memory = await resolved(session, memory_id)
        if memory.pinned != pinned:
            action = "pinned" if pinned else "unpinned"
            await session.store.change([memory], {"pinned": pinned}, action=action, actor="pin", at=now)
            session.maintenance.note_write()
    return Pinned(memory.id, pinned, memory.project)
