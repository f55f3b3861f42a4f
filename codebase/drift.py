"""What to do about memories whose evidence has moved or gone. Plans only; the same day gives the same plan.

Moved: the anchor learns where to. Gone: the memory is challenged, and let go (softly) once everything it was seen
in was found gone on three different days. Found again: the challenge is taken back. What cannot be checked from
here is left alone, and so is what is pinned.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from reverie.codebase.evidence import Evidence, EvidenceState
from reverie.memory import Anchor, Memory

FAILED_DAYS_BEFORE_EXPIRY = 3
REASON = "drift: "
"""What the status reason of a memory begins with when drift has changed it."""

Action = Literal["repaired", "challenged", "noted", "expired", "healed"]

_QUIET = ("verified", "changed")


@dataclass(frozen=True, slots=True)
class DriftChange:
    """One memory, what should be set, and why in a few words."""

    memory: Memory
    action: Action
    values: Mapping[str, Any]
    reason: str


@dataclass(frozen=True, slots=True)
class DriftPlan:
    """Every change that is due, and what was found of each memory."""

    changes: tuple[DriftChange, ...]
    found: tuple[tuple[Memory, EvidenceState], ...] = field(default=())


def check_all(evidence: Evidence, memories: Iterable[Memory]) -> list[tuple[Memory, EvidenceState]]:
    """Check every anchor of memories, taking the time it takes."""
    return [
        (memory, evidence.check(memory.project, memory.branch, memory.anchors, thorough=True)) for memory in memories
    ]


def plan_drift(
    found: Iterable[tuple[Memory, EvidenceState]], now: datetime, restored: Mapping[str, datetime] | None = None
) -> DriftPlan:
    """Decide about each memory; failed checks before it was last restored do not count against it."""
    held = tuple(found)
    since = {memory_id: moment.date().isoformat() for memory_id, moment in (restored or {}).items()}
    decided = (_decide(memory, checked, now, since.get(memory.id, "")) for memory, checked in held)
    return DriftPlan(tuple(change for change in decided if change is not None), held)


def _decide(memory: Memory, checked: EvidenceState, now: datetime, since: str) -> DriftChange | None:
    if memory.pinned:
        return None
    today = now.date().isoformat()
    anchors = tuple(
        _kept(before, after, today) for before, after in zip(memory.anchors, checked.anchors, strict=True)
    )
    gone = [anchor for anchor in checked.anchors if anchor.freshness == "missing"]
    if gone:
        return _about_the_gone(memory, checked, anchors, now, since)
    if memory.status == "challenged" and (memory.status_reason or "").startswith(REASON):
        if checked.freshness == "unverifiable":
            return None
        values = {"status": "active", "status_reason": None, "anchors": anchors}
        return DriftChange(memory, "healed", values, checked.note or "its evidence is there again")
    if anchors != memory.anchors:
        return DriftChange(memory, "repaired", {"anchors": anchors}, checked.note or "its evidence is there again")
    return None


def _about_the_gone(
    memory: Memory, checked: EvidenceState, anchors: tuple[Anchor, ...], now: datetime, since: str
) -> DriftChange | None:
    reason = f"{REASON}{checked.note}"
    if all(anchor.freshness == "missing" for anchor in checked.anchors):
        failed = min(sum(day > since for day in anchor.missing_on) for anchor in anchors)
        if failed >= FAILED_DAYS_BEFORE_EXPIRY:
            values = {"status": "expired", "expired_at": now, "status_reason": reason, "anchors": anchors}
            return DriftChange(memory, "expired", values, f"{checked.note}, on {failed} days")
    if memory.status == "active":
        values = {"status": "challenged", "status_reason": reason, "anchors": anchors}
        return DriftChange(memory, "challenged", values, checked.note)
    if anchors != memory.anchors:
        return DriftChange(memory, "noted", {"anchors": anchors}, checked.note)
    return None


def _kept(before: Anchor, after: Anchor, today: str) -> Anchor:
    """Return the anchor as it should be stored: only what a later check needs is written."""
    if after.freshness == "unverifiable":
        return before
    if after.freshness == "missing":
        days = tuple(sorted({*before.missing_on, today}))
        return replace(before, freshness="missing", note=after.note, missing_on=days)
    if after.freshness in _QUIET and before.freshness in _QUIET and not before.missing_on:
        return before  # recall looks for itself: that a file was edited is not worth a write
    return replace(before, freshness=after.freshness, now_at=after.now_at, note=after.note, missing_on=())
