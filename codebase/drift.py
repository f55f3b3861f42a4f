"""The rules of drift: what to do about memories whose anchors have moved or are missing. Plans only.

Moved: the anchor gets the new path. Missing: the memory is challenged, and it expires when all its anchors were
missing on three different days. Found again: the challenge ends. What cannot be checked from here is left alone,
and so is what is pinned. The same day gives the same plan.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from reverie.codebase.evidence import Evidence, EvidenceState
from reverie.memory import Anchor, Memory

FAILED_DAYS_BEFORE_EXPIRY = 3
REASON = "drift: "
"""The beginning of the status reason of a memory that drift has challenged or expired."""

Action = Literal["repaired", "challenged", "noted", "expired", "healed"]

_STILL_THERE = ("verified", "changed")


@dataclass(frozen=True, slots=True)
class DriftChange:
    """One memory, the new values of its fields, and why."""

    memory: Memory
    action: Action
    values: Mapping[str, Any]
    reason: str


@dataclass(frozen=True, slots=True)
class DriftPlan:
    """Every change that is due, and the state of each memory's anchors."""

    changes: tuple[DriftChange, ...]
    found: tuple[tuple[Memory, EvidenceState], ...] = field(default=())


def check_all(evidence: Evidence, memories: Iterable[Memory]) -> list[tuple[Memory, EvidenceState]]:
    """Check every anchor of memories thoroughly, by digest."""
    return [
        (memory, evidence.check(memory.project, memory.branch, memory.anchors, thorough=True)) for memory in memories
    ]


def plan_drift(
    found: Iterable[tuple[Memory, EvidenceState]], now: datetime, restored: Mapping[str, datetime] | None = None
) -> DriftPlan:
    """Plan the changes of memories; failed checks before a memory was last restored do not count."""
    checked_memories = tuple(found)
    since = {memory_id: moment.date().isoformat() for memory_id, moment in (restored or {}).items()}
    decided = (_decide(memory, checked, now, since.get(memory.id, "")) for memory, checked in checked_memories)
    return DriftPlan(tuple(change for change in decided if change is not None), checked_memories)


def _decide(memory: Memory, checked: EvidenceState, now: datetime, since: str) -> DriftChange | None:
    if memory.pinned:
        return None
    today = now.date().isoformat()
    anchors = tuple(
        _kept(before, after, today) for before, after in zip(memory.anchors, checked.anchors, strict=True)
    )
    gone = [anchor for anchor in checked.anchors if anchor.freshness == "missing"]
    if gone:
        return _with_missing(memory, checked, anchors, now, since)
    if memory.status == "challenged" and (memory.status_reason or "").startswith(REASON):
        if checked.freshness == "unverifiable":
            return None
        values = {"status": "active", "status_reason": None, "anchors": anchors}
        return DriftChange(memory, "healed", values, checked.note or "its evidence is there again")
    if anchors != memory.anchors:
        return DriftChange(memory, "repaired", {"anchors": anchors}, checked.note or "its evidence is there again")
    return None


def _with_missing(
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
    """Return the anchor to store: only what a later check needs is written."""
    if after.freshness == "unverifiable":
        return before
    if after.freshness == "missing":
        days = tuple(sorted({*before.missing_on, today}))
        return replace(before, freshness="missing", note=after.note, missing_on=days)
    if after.freshness in _STILL_THERE and before.freshness in _STILL_THERE and not before.missing_on:
        return before  # recall checks the file itself, so an edit is not worth a write
    return replace(before, freshness=after.freshness, now_at=after.now_at, note=after.note, missing_on=())
