"""What recall, inspect and brief say about a memory's evidence, and how far it counts."""

import asyncio
from collections.abc import Iterable, Mapping

from reverie.codebase.evidence import Checked
from reverie.memory import Freshness, Memory
from reverie.tools.workspace import Workspace

_DEMOTIONS: Mapping[Freshness, float] = {
    "verified": 1.0,
    "unanchored": 1.0,
    "unverifiable": 1.0,
    "changed": 0.97,
    "moved": 0.85,
    "missing": 0.6,
}


WORST_DEMOTION = min(_DEMOTIONS.values())


def demotion(freshness: Freshness) -> float:
    """Return what a score is multiplied with: what is gone sinks, nothing is hidden."""
    return _DEMOTIONS[freshness]


async def freshness_of(workspace: Workspace, memories: Iterable[Memory]) -> dict[str, Checked]:
    """Check the anchors of memories against the code on disk, by id; without writing anything."""
    held = list(memories)
    anchored = [memory for memory in held if memory.anchors]
    found = {memory.id: Checked("unanchored") for memory in held if not memory.anchors}
    if anchored:
        found |= await asyncio.to_thread(_checked, workspace, anchored)
    return found


def _checked(workspace: Workspace, memories: list[Memory]) -> dict[str, Checked]:
    check = workspace.evidence.check
    return {memory.id: check(memory.project, memory.branch, memory.anchors) for memory in memories}
