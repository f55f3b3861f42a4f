"""The sweep and forget steps: what has earned a move, what has become core, what has faded or is due to expire.
Plans only.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from reverie.dream.judge import Judge
from reverie.dream.plan import Change, ChangeSet, Proposal
from reverie.dream.snapshot import Snapshot
from reverie.lifecycle.expiry import Expiry, Move
from reverie.lifecycle.layers import becomes_core
from reverie.lifecycle.rules import expiry_of, move_of
from reverie.memory import Memory, Tier
from reverie.settings import RetentionMode, Settings

CURVE_RULES = frozenset({"archived", "low-value"})


def forget(snapshot: Snapshot, settings: Settings, judge: Judge) -> Proposal:
    """Let go of what retention and worth say is over."""
    rule_verdicts = (
        (memory, snapshot.rule_verdicts.of(memory, snapshot.now, settings).expires) for memory in snapshot.memories
    )
    return Proposal(
        tuple(
            letting_go(memory, expires, snapshot)
            for memory, expires in rule_verdicts
            if expires and expires.rule in CURVE_RULES
        )
    )


def letting_go(memory: Memory, verdict: Expiry, snapshot: Snapshot) -> ChangeSet:
    """Return the deed that lets one memory go by a rule."""
    values = {"status": "expired", "expired_at": snapshot.now, "status_reason": verdict.rule}
    change = Change(memory_id=memory.id, action=verdict.rule, reason=verdict.reason, values=values)
    return ChangeSet(summary=f"let go ({verdict.rule})", changes=(change,))


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """What a sweep would do, memory by memory; nobody is in it twice but those that move and become core."""

    let_go: tuple[tuple[Memory, Expiry], ...]
    moves: tuple[tuple[Memory, Move], ...]
    cores: tuple[Memory, ...]
    seen: int

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.let_go or self.moves or self.cores)


def plan_sweep(
    memories: Iterable[Memory], now: datetime, mode: RetentionMode, default_tier: Tier | None = None
) -> SweepPlan:
    """Judge each memory by the rules as they stand at this moment; the same moment gives the same plan."""
    held = list(memories)
    let_go = [(memory, verdict) for memory in held if (verdict := expiry_of(memory, now, mode, default_tier))]
    going = {memory.id for memory, _ in let_go}
    staying = [memory for memory in held if memory.id not in going]
    return SweepPlan(
        tuple(let_go),
        tuple((memory, move) for memory in staying if (move := move_of(memory, now))),
        tuple(memory for memory in staying if becomes_core(memory)),
        len(held),
    )


def sweep(snapshot: Snapshot, settings: Settings, judge: Judge) -> Proposal:
    """Move up what has earned it, make core, and let go of what is past its time to live or its tier."""
    change_sets: list[ChangeSet] = []
    for memory in snapshot.memories:
        rule_verdict = snapshot.rule_verdicts.of(memory, snapshot.now, settings)
        if rule_verdict.expires and rule_verdict.expires.rule not in CURVE_RULES:
            change_sets.append(letting_go(memory, rule_verdict.expires, snapshot))
        if rule_verdict.becomes_core:
            change_sets.append(_making_core(memory))
        if rule_verdict.moves and not (rule_verdict.moves.to == "semantic" and memory.id in snapshot.demoted):
            change_sets.append(_moving(memory, rule_verdict.moves))
    return Proposal(tuple(change_sets))


def _moving(memory: Memory, move: Move) -> ChangeSet:
    change = Change(memory_id=memory.id, action="moved", reason=move.reason, values={"layer": move.to})
    return ChangeSet(summary=f"{memory.layer} → {move.to}", changes=(change,))


def _making_core(memory: Memory) -> ChangeSet:
    reason = f"recalled {memory.access_count} times in {len(set(memory.sessions))} sessions"
    change = Change(memory_id=memory.id, action="made core", reason=reason, values={"core": True})
    return ChangeSet(summary="made core", changes=(change,))
