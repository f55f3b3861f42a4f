"""What a memory is worth right now: nine factors, computed whenever it is read (002-importance).

importance = Σ weight · value, each value within [0, 1], the weights summing to 1

Nothing computed here is ever stored: a score written over the base it was computed from would sink, or rise,
with every dream until no promotion could be reached. The weights keep a fresh human memory of base b within
0.15 of b on every layer, which needs a base of at least 0.7; 0.75 leaves room for the layers to differ.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from reverie.lifecycle.activation import activation_of, retrieval_probability
from reverie.lifecycle.elapsed import SECONDS_PER_DAY, idle_days, seconds_between
from reverie.lifecycle.scale import clamped
from reverie.lifecycle.surprise import adjusted_importance_of
from reverie.lifecycle.trust import half_life_days
from reverie.memory import Layer, Memory

FactorName = Literal[
    "base", "frequency", "recency", "valence", "stability", "layer", "trust", "confirmations", "activation"
]
FACTOR_NAMES: tuple[FactorName, ...] = get_args(FactorName)

WEIGHTS: Mapping[FactorName, float] = {
    "base": 0.75,
    "frequency": 0.05,
    "recency": 0.05,
    "valence": 0.01,
    "stability": 0.03,
    "layer": 0.03,
    "trust": 0.04,
    "confirmations": 0.02,
    "activation": 0.02,
}

LAYER_BOOST: Mapping[Layer, float] = {
    "semantic": 1.0,
    "procedural": 0.9,
    "codebase": 0.7,
    "episodic": 0.5,
    "working": 0.4,
}

FULL_FREQUENCY = 20
"""Recalls at which frequency counts in full."""

FULL_CONFIRMATIONS = 3
"""Distinct confirming sources at which corroboration counts in full."""

FULL_SPREAD = 5
"""Spaced recalls at which access counts as steady in full."""

SPACED_SECONDS = 0.5 * SECONDS_PER_DAY
"""Recalls closer than this belong to one burst: half a day keeps two working days apart."""


@dataclass(frozen=True, slots=True)
class Factor:
    """One reason for an importance: `share` is value · weight, and the nine shares add up to it."""

    name: FactorName
    value: float
    weight: float
    share: float


@dataclass(frozen=True, slots=True)
class Importance:
    """A composite importance that can explain itself."""

    value: float
    factors: tuple[Factor, ...]


def importance_of(memory: Memory, now: datetime) -> Importance:
    """Weigh the nine factors as they stand at this moment."""
    values: Mapping[FactorName, float] = {
        "base": adjusted_importance_of(memory),
        "frequency": frequency(memory.access_count),
        "recency": recency(idle_days(memory, now), memory.trust),
        "valence": clamped(abs(memory.valence)),
        "stability": spread(memory.access_times),
        "layer": LAYER_BOOST[memory.layer],
        "trust": clamped(memory.trust),
        "confirmations": clamped(memory.confirmations / FULL_CONFIRMATIONS),
        "activation": retrieval_probability(activation_of(memory, now)),
    }
    factors = tuple(
        Factor(name, values[name], WEIGHTS[name], share=values[name] * WEIGHTS[name]) for name in FACTOR_NAMES
    )
    return Importance(clamped(math.fsum(factor.share for factor in factors)), factors)


def frequency(accesses: int) -> float:
    """Return how often, on a log scale: the second recall says more than the twentieth."""
    return clamped(math.log1p(max(0, accesses)) / math.log1p(FULL_FREQUENCY))


def recency(idle: float, trust: float) -> float:
    """Return how recently, halving faster for what is trusted less."""
    return float(2.0 ** (-max(0.0, idle) / half_life_days(trust)))


def spread(access_times: Sequence[datetime]) -> float:
    """Return how steadily: recalls at least half a day after the last one counted, not those of a burst."""
    spaced = 0
    counted: datetime | None = None
    for moment in sorted(access_times):
        if counted is None or seconds_between(counted, moment) >= SPACED_SECONDS:
            spaced, counted = spaced + 1, moment
    return clamped(spaced / FULL_SPREAD)
