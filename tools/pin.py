"""Pinning: what is pinned is never let go, by anything."""

from reverie.tools.resolve import resolved
from reverie.tools.results import Pinned
from reverie.tools.session import Workspace


async def pin(workspace: Workspace, memory_id: str, *, pinned: bool = True) -> Pinned:
    """Pin a memory or take the pin away.

    Raises:
        MemoryNotFound: if there is no such memory.
    """
    now = workspace.now
    async with workspace.store.changing():
        memory = await resolved(workspace, memory_id)
        if memory.pinned != pinned:
            action = "pinned" if pinned else "unpinned"
            await workspace.store.change([memory], {"pinned": pinned}, action=action, actor="pin", at=now)
            workspace.upkeep.note_write()
    return Pinned(memory.id, pinned, memory.project)
