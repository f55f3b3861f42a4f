"""Finding the memory that an id names, without looking into other projects by chance."""

from reverie.errors import AmbiguousId, MemoryNotFound
from reverie.memory import Memory
from reverie.tools.workspace import Workspace


async def resolved(workspace: Workspace, given: str) -> Memory:
    """Return the memory with this id, or the only one seen from here whose id begins so.

    A whole id is as explicit as it gets, and is found in any project: that is how what `all_projects` showed is
    inspected. A prefix is a guess, and guesses end at the border of the project.

    Raises:
        MemoryNotFound: if there is none.
        AmbiguousId: if a prefix fits several.
        InvalidInput: if a prefix is too short to be meant.
    """
    try:
        memory = await workspace.store.resolve(given)
    except AmbiguousId as error:
        return await _only_one_here(workspace, error)
    if memory.id != given and not _is_seen(workspace, memory):
        raise MemoryNotFound(given)
    return memory


async def _only_one_here(workspace: Workspace, error: AmbiguousId) -> Memory:
    fitting = (await workspace.store.get(list(error.candidates))).values()
    here = [memory for memory in fitting if _is_seen(workspace, memory)]
    if not here:
        raise MemoryNotFound(error.prefix) from None
    if len(here) > 1:
        raise AmbiguousId(error.prefix, sorted(memory.id for memory in here)) from None
    return here[0]


def _is_seen(workspace: Workspace, memory: Memory) -> bool:
    return memory.project in workspace.visible_from(workspace.here.project)
