"""How strongly a memory is held right now (004-strength, 004-multiply, 004-rank).

strength = exp(−decay·age_days) · (1 + ln(1 + accesses)) · salience · confidence

The factors multiply, so that any of them at zero makes the whole zero. The result passes 1 when a memory is
recalled often; ranking therefore uses x / (1 + x), and the raw number is what is shown.
"""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from reverie.lifecycle.elapsed import age_days
from reverie.lifecycle.scale import clamped
from reverie.lifecycle.surprise import adjusted_importance_of
from reverie.memory import Layer, Memory

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
    """Return the raw strength; salience is the importance as set and moved by surprise."""
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
    """Say a raw strength in a word."""
    if strength >= STRONG:
        return "strong"
    return "moderate" if strength >= MODERATE else "faint"
