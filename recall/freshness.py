"""How far the evidence of a memory still holds, and what that does to its score."""

import asyncio
from collections.abc import Iterable, Mapping

from reverie.codebase.evidence import Evidence, EvidenceState
from reverie.memory import Freshness, Memory

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


async def freshness_of(evidence: Evidence, memories: Iterable[Memory]) -> dict[str, EvidenceState]:
    """Check the anchors of memories against the code on disk, by id; without writing anything."""
    held = list(memories)
    anchored = [memory for memory in held if memory.anchors]
    found = {memory.id: EvidenceState("unanchored") for memory in held if not memory.anchors}
    if anchored:
        found |= await asyncio.to_thread(_checked, evidence, anchored)
    return found


def _checked(evidence: Evidence, memories: list[Memory]) -> dict[str, EvidenceState]:
    return {memory.id: evidence.check(memory.project, memory.branch, memory.anchors) for memory in memories}
