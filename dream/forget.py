"""The forgetting curve: what has faded, or was never worth much, is softly let go (002-archive, 003-low-value)."""

from reverie.dream.judge import Judge
from reverie.dream.plan import Change, Deed, Proposal
from reverie.dream.snapshot import Snapshot
from reverie.lifecycle.verdict import LetGo
from reverie.memory import Memory
from reverie.settings import Settings

CURVE_RULES = frozenset({"archived", "low-value"})


def forget(snapshot: Snapshot, settings: Settings, judge: Judge) -> Proposal:
    """Let go of what retention and worth say is over."""
    fates = ((memory, snapshot.fates.of(memory, snapshot.now, settings).goes) for memory in snapshot.memories)
    return Proposal(
        tuple(letting_go(memory, goes, snapshot) for memory, goes in fates if goes and goes.rule in CURVE_RULES)
    )


def letting_go(memory: Memory, verdict: LetGo, snapshot: Snapshot) -> Deed:
    """Return the deed that lets one memory go by a rule."""
    values = {"status": "expired", "expired_at": snapshot.now, "status_reason": verdict.rule}
    change = Change(memory_id=memory.id, action=verdict.rule, reason=verdict.reason, values=values)
    return Deed(summary=f"let go ({verdict.rule})", changes=(change,))
