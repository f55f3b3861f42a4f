"""Forgetting by a filter that someone asked for (004-forget): only a pin refuses."""

from datetime import datetime, timedelta

from reverie.lifecycle.elapsed import aware
from reverie.lifecycle.lasting import LIVING
from reverie.lifecycle.strength import strength_of
from reverie.lifecycle.verdict import LetGo
from reverie.memory import Memory

MIN_STRENGTH = 0.05
"""The strength below which the seed suggests to let go."""


def below_strength(memory: Memory, now: datetime, min_strength: float = MIN_STRENGTH) -> LetGo | None:
    """Decide whether a memory is weaker than the least strength asked for."""
    strength = strength_of(memory, now)
    if not _may_go(memory) or strength >= min_strength:
        return None
    return LetGo("below-strength", f"its strength {strength:.3f} is below {min_strength:g}")


def older_than(memory: Memory, now: datetime, span: timedelta) -> LetGo | None:
    """Decide whether a memory was written longer ago than the span, however strong it is."""
    if not _may_go(memory) or aware(now) - aware(memory.created_at) <= span:
        return None
    return LetGo("older-than", f"it is older than {span.total_seconds() / 86_400:g} days")


def _may_go(memory: Memory) -> bool:
    return memory.status in LIVING and not memory.pinned
