"""How much of a memory is left: one dispatcher over the seven curves.

A pin holds 1, a core memory never falls below 0.60, a stub (nothing left of its text) retains 0; all else is
the domain's curve. What lasts (000-decays-or-not) does not decay under l2, huber, elastic and lifespan;
exponential, power and strength have a rate of their own for each layer and keep to it. Working memory has no
half-life: it is promoted before one could matter.
"""

from collections.abc import Mapping
from datetime import datetime

from reverie.lifecycle import curves
from reverie.lifecycle.curves import CORE_FLOOR, Curve, Trace
from reverie.lifecycle.elapsed import age_days, idle_days
from reverie.lifecycle.lasting import is_lasting
from reverie.lifecycle.surprise import adjusted_importance_of
from reverie.lifecycle.tiers import tier_in_force
from reverie.memory import Memory, Tier
from reverie.settings import RetentionMode

CURVES: Mapping[RetentionMode, Curve] = {
    "huber": curves.huber,
    "l2": curves.l2,
    "elastic": curves.elastic,
    "exponential": curves.exponential,
    "power": curves.power,
    "lifespan": curves.lifespan,
    "strength": curves.strength,
}


def retention_of(memory: Memory, now: datetime, mode: RetentionMode, default_tier: Tier | None = None) -> float:
    """Return how much of the memory is left, from 1 (fresh) towards 0 (gone)."""
    if not memory.content.strip():
        return 0.0
    if memory.pinned:
        return 1.0
    left = CURVES[mode](trace_of(memory, now, default_tier))
    return max(CORE_FLOOR, left) if memory.core else left


def trace_of(memory: Memory, now: datetime, default_tier: Tier | None = None) -> Trace:
    """Gather what the curves need to know of a memory at this moment."""
    return Trace(
        layer=memory.layer,
        age_days=age_days(memory, now),
        idle_days=idle_days(memory, now),
        importance=adjusted_importance_of(memory),
        trust=memory.trust,
        stability=memory.stability,
        accesses=memory.access_count,
        core=memory.core,
        lasting=is_lasting(memory),
        tier=tier_in_force(memory, default_tier),
    )
