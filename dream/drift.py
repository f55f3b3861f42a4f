"""The drift step: checks memories against the code that they name, and changes or questions those that no longer fit.

codebase/drift.py has the rules. A moved anchor is repaired, a missing one challenges its memory, and a memory whose
anchors were all missing on three different days expires. What cannot be checked from here decides nothing.

Every challenge comes with a question, and is withdrawn with it: by an answer, or when the code is found again.
A dream runs this as a step; `reverie drift` runs it for one project by itself.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from reverie.codebase.drift import REASON, DriftChange, plan_drift
from reverie.codebase.evidence import EvidenceState
from reverie.dream.judge import Judge
from reverie.dream.plan import Change, ChangeSet, Proposal, ProposedQuestion, Verdict
from reverie.dream.snapshot import Snapshot
from reverie.memory import Memory
from reverie.settings import Settings
from reverie.storage.review_queue import OPEN
from reverie.storage.store import MemoryStore

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
