"""What the store already holds near a new text: how new it is, what it repeats, what it contradicts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reverie.identity import content_hash
from reverie.lifecycle.conflicts import find_conflict
from reverie.lifecycle.fate import overdue
from reverie.lifecycle.likeness import contradictions
from reverie.lifecycle.restatement import restates
from reverie.lifecycle.surprise import NEIGHBOURS, is_duplicate, surprise_from
from reverie.memory import Memory
from reverie.storage.scope import Scope
from reverie.tools.results import Conflict
from reverie.tools.workspace import Workspace

if TYPE_CHECKING:
    from reverie.storage.rows import Vector

SAME_SUBJECT = 0.75
"""The cosine from which two memories speak of the same thing closely enough to contradict each other."""

_LOOKED_AT = 8
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The nearest memories and what follows from them."""

    surprise: float | None
    identical: Memory | None
    duplicate: Memory | None
    conflicts: list[Conflict]


async def neighbours_of(
    workspace: Workspace, content: str, fingerprint: str, vector: "Vector", project: str
) -> Neighbours:
    """Look around a new text among the active memories that its project sees."""
    scope = Scope(projects=workspace.visible_from(project), statuses=("active",))
    hits = await workspace.store.around(vector, scope, _LOOKED_AT)
    near = [hit for hit in hits if hit.similarity >= SAME_SUBJECT]
    found = await workspace.store.behind(near, scope)
    late = {m.id for m in found.values() if overdue(m, workspace.now, workspace.settings.tier)}
    hits, near = ([hit for hit in some if hit.id not in late] for some in (hits, near))
    memories = [(found[hit.id], hit.similarity) for hit in near if hit.id in found]
    return Neighbours(
        surprise=surprise_from([hit.similarity for hit in hits[:NEIGHBOURS]]),
        identical=await _identical(workspace, memories, fingerprint, project),
        duplicate=_duplicate(memories, content),
        conflicts=[
            Conflict(memory.id, memory.content[:_SHOWN], conflict.told)
            for memory, _ in memories
            if content_hash(memory.content) != fingerprint and (conflict := find_conflict(memory.content, content))
        ],
    )


async def _identical(
    workspace: Workspace, memories: Sequence[tuple[Memory, float]], fingerprint: str, project: str
) -> Memory | None:
    """Return the memory that has exactly this text, whole and as it is now."""
    names = workspace.names_of(project)
    for memory, _ in memories:
        if memory.project in names and content_hash(memory.content) == fingerprint:
            return (await workspace.store.get([memory.id])).get(memory.id)
    return None


def _duplicate(memories: Sequence[tuple[Memory, float]], content: str) -> Memory | None:
    """Return the nearest memory that says the same; near vectors alone may differ in a number or a `not`."""
    for memory, similarity in memories:
        alike = is_duplicate(similarity) and not contradictions(memory.content, content)
        if alike or restates(memory.content, content):
            return memory
    return None
