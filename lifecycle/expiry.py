"""Expiry by deadline and by tier, which memories never decay, and the verdicts that rules return.

003-ttl, 000-effective-age, 000-tiers, 000-decays-or-not.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from reverie.memory import Kind, Layer, Memory, Status, Tier
from reverie.parameters import STANDARD, Parameters
from reverie.time import SECONDS_PER_DAY, aware, iso, later, seconds_between

Rule = Literal[
    "ttl-expired",
    "tier-expired",
    "lifespan-expired",
    "archived",
    "low-value",
    "below-strength",
    "older-than",
]


@dataclass(frozen=True, slots=True)
class Expiry:
    """The verdict that a memory expires: `rule` becomes its status reason, `reason` is for people."""

    rule: Rule
    reason: str


@dataclass(frozen=True, slots=True)
class Move:
    """The verdict that a memory moves to another layer."""

    to: Layer
    reason: str


LASTING_LAYERS: Final[frozenset[Layer]] = frozenset({"semantic", "procedural", "codebase"})
LASTING_KINDS: Final[frozenset[Kind]] = frozenset({"decision", "preference", "peer_card"})
LIVING: Final[frozenset[Status]] = frozenset({"active", "challenged"})
"""The statuses of memories that the rules apply to."""

_KIND_WORDS: Final[dict[Kind, str]] = {
    "decision": "decisions",
    "preference": "preferences",
    "peer_card": "peer cards",
}


def is_lasting(memory: Memory) -> bool:
    """Whether this memory does not decay."""
    return why_lasting(memory) is not None


def why_lasting(memory: Memory) -> str | None:
    """Return why this memory does not decay, or None if it does."""
    if memory.layer in LASTING_LAYERS:
        return f"{memory.layer} memories do not decay"
    if memory.kind in LASTING_KINDS and memory.layer != "working":
        return f"{_KIND_WORDS[memory.kind]} do not decay"
    return None


def why_protected(memory: Memory) -> str | None:
    """Return why no rule of age or importance may expire this memory, or None if one may."""
    if memory.pinned:
        return "it is pinned"
    if memory.core:
        return "it is a core memory"
    return why_lasting(memory)


def ttl_expired(memory: Memory, now: datetime) -> Expiry | None:
    """Return the verdict on a memory that is past its `forget_after`, or None.

    Somebody set the deadline, so only a pin overrides it; being core or in a lasting layer does not.
    """
    if memory.forget_after is None or memory.pinned or memory.status not in LIVING:
        return None
    if aware(now) <= aware(memory.forget_after):
        return None
    return Expiry("ttl-expired", f"it was to be forgotten after {iso(memory.forget_after)}")


TIER_SECONDS: Mapping[Tier, float | None] = {
    "goldfish": 8 * 3600.0,
    "standard": 7 * SECONDS_PER_DAY,
    "elephant": 90 * SECONDS_PER_DAY,
    "permanent": None,
}


def tier_in_force(memory: Memory, default: Tier | None = None) -> Tier | None:
    """Return the memory's own tier, or else its domain's."""
    return memory.tier or default


def threshold_seconds(tier: Tier | None, parameters: Parameters = STANDARD) -> float | None:
    """Return how long a memory lives without recalls, or None if it never expires."""
    return parameters.lifespan_days * SECONDS_PER_DAY if tier is None else TIER_SECONDS[tier]


def effective_age(age_seconds: float, accesses: int, threshold: float, parameters: Parameters = STANDARD) -> float:
    """Return the age less a fifth (`recall_bonus`) of the threshold for each recall; it may be negative."""
    return age_seconds - max(0, accesses) * threshold * parameters.recall_bonus


def tier_expired(
    memory: Memory, now: datetime, default: Tier | None = None, parameters: Parameters = STANDARD
) -> Expiry | None:
    """Return the verdict on a memory that has outlived its tier, or the domain's lifespan without one, or None.

    A pinned, core or lasting memory never does.
    """
    tier = tier_in_force(memory, default)
    threshold = threshold_seconds(tier, parameters)
    if threshold is None or memory.status not in LIVING or why_protected(memory):
        return None
    age = seconds_between(memory.created_at, now)
    if effective_age(age, memory.access_count, threshold, parameters) <= threshold:
        return None
    recalled = f"even with {memory.access_count} recalls" if memory.access_count else "and was never recalled"
    if tier is None:
        return Expiry("lifespan-expired", f"it has outlived its {_years(parameters)} {recalled}")
    return Expiry("tier-expired", f"it has outlived its tier {tier} {recalled}")


def _years(parameters: Parameters) -> str:
    days = parameters.lifespan_days
    return "three years" if days == STANDARD.lifespan_days else f"{days:g} days"


def expiry_by_tier(memory: Memory, default: Tier | None = None, parameters: Parameters = STANDARD) -> datetime | None:
    """Return the moment at which the tier expires the memory, or None if it never does."""
    threshold = threshold_seconds(tier_in_force(memory, default), parameters)
    if threshold is None or why_protected(memory):
        return None
    life = threshold * (1.0 + parameters.recall_bonus * max(0, memory.access_count))
    return later(memory.created_at, life / SECONDS_PER_DAY)
