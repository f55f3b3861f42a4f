"""Lifespans and their extension by recall (000-effective-age, 000-tiers).

effective age = age − accesses · threshold · 0.20; expired when it is above the threshold

Solved for the age, a memory lives threshold · (1 + 0.2·accesses): five recalls turn three years into six, not
into the "forever" that the seed speaks of.
"""

from collections.abc import Mapping
from datetime import datetime

from reverie.lifecycle.elapsed import SECONDS_PER_DAY, later, seconds_between
from reverie.lifecycle.lasting import LIVING, why_held
from reverie.lifecycle.verdict import LetGo
from reverie.memory import Memory, Tier

LIFESPAN_SECONDS = 94_608_000.0
"""Three years: the threshold of a memory without a tier."""

TIER_SECONDS: Mapping[Tier, float | None] = {
    "goldfish": 8 * 3600.0,
    "standard": 7 * SECONDS_PER_DAY,
    "elephant": 90 * SECONDS_PER_DAY,
    "permanent": None,
}
ACCESS_LIFE_BONUS = 0.20


def tier_in_force(memory: Memory, default: Tier | None = None) -> Tier | None:
    """Return the memory's own tier, or else its domain's."""
    return memory.tier or default


def threshold_seconds(tier: Tier | None) -> float | None:
    """Return how long a memory that is never recalled may live, or None for ever."""
    return LIFESPAN_SECONDS if tier is None else TIER_SECONDS[tier]


def effective_age(age_seconds: float, accesses: int, threshold: float) -> float:
    """Return the age that counts, each recall taking a fifth of the threshold off; it may be negative."""
    return age_seconds - max(0, accesses) * threshold * ACCESS_LIFE_BONUS


def tier_expired(memory: Memory, now: datetime, default: Tier | None = None) -> LetGo | None:
    """Decide whether a memory has outlived its tier, or three years without one.

    What is pinned, core or lasting never does.
    """
    tier = tier_in_force(memory, default)
    threshold = threshold_seconds(tier)
    if threshold is None or memory.status not in LIVING or why_held(memory):
        return None
    age = seconds_between(memory.created_at, now)
    if effective_age(age, memory.access_count, threshold) <= threshold:
        return None
    recalled = f"even with {memory.access_count} recalls" if memory.access_count else "and was never recalled"
    if tier is None:
        return LetGo("lifespan-expired", f"it has outlived its three years {recalled}")
    return LetGo("tier-expired", f"it has outlived its tier {tier} {recalled}")


def expiry_by_tier(memory: Memory, default: Tier | None = None) -> datetime | None:
    """Return the moment after which the tier lets go, or None if it never will."""
    threshold = threshold_seconds(tier_in_force(memory, default))
    if threshold is None or why_held(memory):
        return None
    life = threshold * (1.0 + ACCESS_LIFE_BONUS * max(0, memory.access_count))
    return later(memory.created_at, life / SECONDS_PER_DAY)
