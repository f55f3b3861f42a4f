"""The sweep: what has earned a move, what has become core, and what is due to be let go. Plans only."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from reverie.lifecycle.fate import fate_of, move_of
from reverie.lifecycle.promotion import becomes_core
from reverie.lifecycle.verdict import LetGo, Move
from reverie.memory import Memory, Tier
from reverie.settings import RetentionMode


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
