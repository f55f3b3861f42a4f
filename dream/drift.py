"""Claims about code, against the code: moved anchors are mended, missing ones challenged, and only what was missing
on three different days is softly let go. The rules are codebase/drift.py's; what cannot be looked at decides nothing.
"""

from reverie.codebase.drift import DriftChange, plan_drift
from reverie.dream.judge import Judge
from reverie.dream.plan import Change, Deed, Proposal
from reverie.dream.snapshot import Snapshot
from reverie.settings import Settings


def drift(snapshot: Snapshot, settings: Settings, judge: Judge) -> Proposal:
    """Bring anchors in step with what was found, and act on what is no longer there."""
    found = [
        (memory, check.checked)
        for memory in snapshot.memories
        if memory.anchors and (check := snapshot.checks.get(memory.id)) is not None
    ]
    return Proposal(tuple(map(_deed, plan_drift(found, snapshot.now, snapshot.restored).changes)))


def _deed(change: DriftChange) -> Deed:
    planned = Change(memory_id=change.memory.id, action=change.action, reason=change.reason, values=change.values)
    return Deed(summary=change.action, changes=(planned,))
