"""Strength (004-strength, 004-multiply, 004-rank) and stability (001-exponential, 001-stability-growth)."""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from reverie.lifecycle.importance import adjusted_importance_of
from reverie.memory import Layer, Memory, clamped
from reverie.time import age_days

MIN_STABILITY = 0.01
MAX_STABILITY = 1.0
STABILITY_AT_NO_IMPORTANCE = 0.1
STABILITY_PER_IMPORTANCE = 0.3

MAX_GAIN = 0.3
"""The share of what is missing to 1 that a recall after a very long gap adds."""

HALF_GAIN_GAP_DAYS = 1.0
"""The gap after which a recall adds half of the largest gain."""


def first_stability(importance: float) -> float:
    """Return the stability a new memory starts with."""
    return STABILITY_AT_NO_IMPORTANCE + STABILITY_PER_IMPORTANCE * clamped(importance)


def in_bounds(stability: float) -> float:
    """Clamp a stability to the range in which the curves can divide by it."""
    return clamped(stability, MIN_STABILITY, MAX_STABILITY)


def grown(stability: float, gap_days: float) -> float:
    """Return the stability after a recall that came so many days after the last."""
    start = in_bounds(stability)
    gap = max(0.0, gap_days)
    spacing = gap / (gap + HALF_GAIN_GAP_DAYS)
    return in_bounds(start + (MAX_STABILITY - start) * MAX_GAIN * spacing)


StrengthWord = Literal["strong", "moderate", "faint"]

DEFAULT_DECAY_PER_DAY = 0.1
DECAY_PER_DAY: Mapping[Layer, float] = {
    "working": DEFAULT_DECAY_PER_DAY,
    "episodic": 0.15,
    "semantic": 0.02,
    "procedural": 0.01,
    "codebase": 0.0,  # 002 wins over the seed's "else 0.1": code on disk does not fade, drift watches it
}

STRONG = 0.7
MODERATE = 0.2


def fading(layer: Layer, days: float) -> float:
    """Return the factor that age takes from a memory of this layer."""
    return math.exp(-DECAY_PER_DAY[layer] * max(0.0, days))


def practice(accesses: int) -> float:
    """Return the factor that recalls give: 1 without any, growing ever more slowly."""
    return 1.0 + math.log1p(max(0, accesses))


def strength_of(memory: Memory, now: datetime) -> float:
    """Return the raw strength; its salience is the set importance moved by surprise."""
    return (
        fading(memory.layer, age_days(memory, now))
        * practice(memory.access_count)
        * adjusted_importance_of(memory)
        * clamped(memory.confidence)
    )


def bounded(strength: float) -> float:
    """Bring a raw strength into [0, 1) for ranking, keeping its order."""
    return strength / (1.0 + strength)


def strength_word(strength: float) -> StrengthWord:
    """Return the word for a raw strength."""
    if strength >= STRONG:
        return "strong"
    return "moderate" if strength >= MODERATE else "faint"
