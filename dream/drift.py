"""Claims about code, against the code: moved anchors are mended, missing ones challenged, and only what was missing
on three different days is softly let go. The rules are codebase/drift.py's; what cannot be looked at decides nothing.

Every challenge comes with a question, and is withdrawn with it: by an answer, or when the code is found again.
"""

from reverie.codebase.drift import REASON, DriftChange, plan_drift
from reverie.codebase.evidence import EvidenceState
from reverie.dream.judge import Judge
from reverie.dream.plan import Change, ChangeSet, Proposal, ProposedQuestion, Verdict
from reverie.dream.snapshot import Snapshot
from reverie.memory import Memory
from reverie.settings import Settings
from reverie.storage.review_queue import OPEN

_VERDICTS: tuple[Verdict, ...] = ("holds", "forget", "revise")


def drift(snapshot: Snapshot, settings: Settings, judge: Judge) -> Proposal:
    """Bring anchors in step with what was found, and act on what is no longer there."""
    found = {
        memory.id: (memory, check.checked)
        for memory in snapshot.memories
        if memory.anchors and (check := snapshot.checks.get(memory.id)) is not None
    }
    changes = plan_drift(list(found.values()), snapshot.now, snapshot.restored).changes
    change_sets = [_deed(change, found[change.memory.id][1], snapshot) for change in changes]
    changed = {change.memory.id for change in changes}
    change_sets += [
        ChangeSet(summary="asked about what is gone", questions=(question,))
        for memory, checked in found.values()
        if memory.id not in changed and is_challenged(memory) and checked.freshness == "missing"
        if (question := question_about(memory, checked)).id not in snapshot.asked
    ]
    return Proposal(tuple(change_set for change_set in change_sets if change_set is not None))


def question_about(memory: Memory, checked: EvidenceState) -> ProposedQuestion:
    """Ask whether a memory still holds although what it was seen in is gone."""
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
    """Say whether it was drift that challenged a memory."""
    return memory.status == "challenged" and (memory.status_reason or "").startswith(REASON)


def _deed(change: DriftChange, checked: EvidenceState, snapshot: Snapshot) -> ChangeSet | None:
    planned = Change(memory_id=change.memory.id, action=change.action, reason=change.reason, values=change.values)
    if change.action not in ("challenged", "noted"):
        return ChangeSet(summary=change.action, changes=(planned,))
    question = question_about(change.memory, checked)
    asked = snapshot.asked.get(question.id)
    if asked is not None and asked != OPEN:
        return None  # somebody said that it holds without this
    is_new = asked is None and (change.action == "challenged" or is_challenged(change.memory))
    return ChangeSet(summary=change.action, changes=(planned,), questions=(question,) if is_new else ())
