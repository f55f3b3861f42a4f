"""The sweep and forget steps: what has earned a move, what has become core, what has faded or is due to expire.
Plans only.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from reverie.dream.judge import Judge
from reverie.dream.plan import Change, Deed, Proposal
from reverie.dream.snapshot import Snapshot
from reverie.lifecycle.expiry import LetGo, Move
from reverie.lifecycle.layers import becomes_core
from reverie.lifecycle.rules import fate_of, move_of
from reverie.memory import Memory, Tier
from reverie.settings import RetentionMode, Settings

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


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """What a sweep would do, memory by memory; nobody is in it twice but those that move and become core."""

    let_go: tuple[tuple[Memory, LetGo], ...]
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
    let_go = [(memory, verdict) for memory in held if (verdict := fate_of(memory, now, mode, default_tier))]
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
    deeds: list[Deed] = []
    for memory in snapshot.memories:
        fate = snapshot.fates.of(memory, snapshot.now, settings)
        if fate.goes and fate.goes.rule not in CURVE_RULES:
            deeds.append(letting_go(memory, fate.goes, snapshot))
        if fate.becomes_core:
            deeds.append(_making_core(memory))
        if fate.moves and not (fate.moves.to == "semantic" and memory.id in snapshot.demoted):
            deeds.append(_moving(memory, fate.moves))
    return Proposal(tuple(deeds))


def _moving(memory: Memory, move: Move) -> Deed:
    change = Change(memory_id=memory.id, action="moved", reason=move.reason, values={"layer": move.to})
    return Deed(summary=f"{memory.layer} → {move.to}", changes=(change,))


def _making_core(memory: Memory) -> Deed:
    reason = f"recalled {memory.access_count} times in {len(set(memory.sessions))} sessions"
    change = Change(memory_id=memory.id, action="made core", reason=reason, values={"core": True})
    return Deed(summary="made core", changes=(change,))
