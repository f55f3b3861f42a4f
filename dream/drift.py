"""The drift step: checks memories against the code that they name, and changes or questions those that no longer fit.

Moved: the anchor gets the new path. Missing: the memory is challenged, and it expires when all its anchors were
missing on three different days. Found again: the challenge ends. What cannot be checked from here is left alone,
and so is what is pinned. The same day gives the same plan.

Every challenge comes with a question, and is withdrawn with it: by an answer, or when the code is found again.
A dream runs this as a step; `reverie drift` runs it for one project by itself.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from reverie.codebase.evidence import Evidence, EvidenceState
from reverie.dream.judge import Judge
from reverie.dream.plan import Change, ChangeSet, Proposal, ProposedQuestion, Verdict
from reverie.dream.snapshot import Snapshot
from reverie.memory import Anchor, Memory
from reverie.settings import Settings
from reverie.storage.dream_records import OPEN
from reverie.storage.store import MemoryStore

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


_VERDICTS: tuple[Verdict, ...] = ("holds", "forget", "revise")
_RESTORING = ("restored", "undone")

Found = Sequence[tuple[Memory, EvidenceState]]
"""Memories with the state of their anchors."""


def drift(snapshot: Snapshot, settings: Settings, judge: Judge) -> Proposal:
    """Repair, challenge or expire memories by the state of their anchors."""
    found = [
        (memory, check.checked)
        for memory in snapshot.memories
        if memory.anchors and (check := snapshot.checks.get(memory.id)) is not None
    ]
    return Proposal(tuple(drift_change_sets(found, snapshot.now, snapshot.restored, snapshot.asked)))


def drift_change_sets(
    found: Found, now: datetime, restored: Mapping[str, datetime], asked: Mapping[str, str]
) -> list[ChangeSet]:
    """Return what is due, with a question for each new challenge.

    `restored` says when memories were last restored, and `asked` has the status of every question asked before.
    """
    states = {memory.id: checked for memory, checked in found}
    changes = plan_drift(found, now, restored).changes
    change_sets = [_change_set(change, states[change.memory.id], asked) for change in changes]
    changed = {change.memory.id for change in changes}
    change_sets += [
        ChangeSet(summary="asked about what is gone", questions=(question,))
        for memory, checked in found
        if memory.id not in changed and is_challenged(memory) and checked.freshness == "missing"
        if (question := question_about(memory, checked)).id not in asked
    ]
    return [change_set for change_set in change_sets if change_set is not None]


async def last_restored(store: MemoryStore, found: Found, now: datetime) -> dict[str, datetime]:
    """Return when the memories that would expire now were last restored: earlier failed checks do not count."""
    restored: dict[str, datetime] = {}
    for memory in _expiring(found, now):
        moments = [event.at for event in await store.journal.about(memory.id) if event.action in _RESTORING]
        if moments:
            restored[memory.id] = max(moments)
    return restored


def _expiring(found: Found, now: datetime) -> Iterable[Memory]:
    return (change.memory for change in plan_drift(found, now).changes if change.action == "expired")


def question_about(memory: Memory, checked: EvidenceState) -> ProposedQuestion:
    """Ask whether a memory is still true although the code that it names is gone."""
    gone = sorted(
        f"{a.path}::{a.symbol}" if a.symbol else a.path for a in checked.anchors if a.freshness == "missing"
    )
    return ProposedQuestion(
        kind="drift",
        memory_ids=(memory.id,),
        ask="What this memory was seen in is gone. Is it still true without it (holds), no longer (forget), or "
        "true in other words (revise, with the text)?",
        evidence=(checked.note or f"{', '.join(gone)} is gone",),
        verdicts=_VERDICTS,
        about=(memory.id, *gone),
    )


def is_challenged(memory: Memory) -> bool:
    """Whether drift challenged this memory."""
    return memory.status == "challenged" and (memory.status_reason or "").startswith(REASON)


def _change_set(change: DriftChange, checked: EvidenceState, asked: Mapping[str, str]) -> ChangeSet | None:
    planned = Change(memory_id=change.memory.id, action=change.action, reason=change.reason, values=change.values)
    if change.action not in ("challenged", "noted"):
        return ChangeSet(summary=change.action, changes=(planned,))
    question = question_about(change.memory, checked)
    status = asked.get(question.id)
    if status is not None and status != OPEN:
        return None  # somebody answered that the memory holds without this code
    is_new = status is None and (change.action == "challenged" or is_challenged(change.memory))
    return ChangeSet(summary=change.action, changes=(planned,), questions=(question,) if is_new else ())
