"""Importance: surprise when a memory is written, nine weighted factors whenever it is read.

002-importance, 002-surprise, 004-actr.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean
from typing import Literal, get_args

from reverie.lifecycle.trust import half_life_days
from reverie.memory import Layer, Memory, clamped
from reverie.time import SECONDS_PER_DAY, idle_days, seconds_between

DECAY = 0.5
BASELINE = 0.0

SHORTEST_AGE_SECONDS = 1.0
"""A use at this moment would count infinitely; ACT-R usually takes one unit of time instead."""

RETRIEVAL_THRESHOLD = -5.0
"""The activation at which a memory is retrieved half the time: one use about six hours ago (e^10 s)."""

RETRIEVAL_NOISE = 1.0
_SAME_AGE = 1e-9


def base_level(ages_seconds: Iterable[float], older: float = 0.0, *, decay: float = DECAY) -> float:
    """Return the activation from the ages of single uses, and `older`, the sum for uses without a kept time.

    No use at all gives minus infinity.
    """
    total = older + math.fsum(_at_least_shortest(age) ** -decay for age in ages_seconds)
    return math.log(total) + BASELINE if total > 0.0 else -math.inf


def older_uses(count: int, nearest_seconds: float, farthest_seconds: float, *, decay: float = DECAY) -> float:
    """Return what `count` uses add to the sum if only the range of their ages is known."""
    near, far = sorted((_at_least_shortest(nearest_seconds), _at_least_shortest(farthest_seconds)))
    if far - near <= _SAME_AGE * far:  # the quotient's limit, which rounding would spoil
        return count * float(near**-decay)
    rest = 1.0 - decay
    return count * float(far**rest - near**rest) / (rest * (far - near))


def activation_of(memory: Memory, now: datetime) -> float:
    """Return a memory's activation from its writing, its kept recalls and those beyond the window."""
    written = seconds_between(memory.created_at, now)
    kept = [seconds_between(moment, now) for moment in memory.access_times]
    forgotten = max(0, memory.access_count - len(kept))
    older = older_uses(forgotten, max(kept, default=_last_use(memory, now)), written) if forgotten else 0.0
    return base_level((written, *kept), older)


def retrieval_probability(activation: float) -> float:
    """Return ACT-R's probability of retrieval: a logistic function of the activation less the threshold."""
    return 1.0 / (1.0 + math.exp(-(activation - RETRIEVAL_THRESHOLD) / RETRIEVAL_NOISE))


def _last_use(memory: Memory, now: datetime) -> float:
    return seconds_between(memory.last_accessed_at or memory.created_at, now)


def _at_least_shortest(age_seconds: float) -> float:
    return max(SHORTEST_AGE_SECONDS, age_seconds)


NEIGHBOURS = 5
DUPLICATE_SIMILARITY = 0.92
MAX_ADJUSTMENT = 0.3
MIN_IMPORTANCE = 0.05
MAX_IMPORTANCE = 1.0


def surprise_from(similarities: Sequence[float]) -> float | None:
    """Return the surprise from the cosine similarities to the nearest memories.

    An empty store gives None: there is nothing to compare with.
    """
    nearest = sorted(similarities, reverse=True)[:NEIGHBOURS]
    if not nearest:
        return None
    if is_duplicate(nearest[0]):
        nearest = nearest[:1]
    return clamped(fmean(1.0 - similarity for similarity in nearest))


def is_duplicate(similarity: float) -> bool:
    """Whether a similarity is so high that the second memory is flagged as a repetition."""
    return similarity >= DUPLICATE_SIMILARITY


def adjusted_importance(importance: float, surprise: float | None) -> float:
    """Return the set importance moved by surprise; unchanged if there was nothing to compare with."""
    if surprise is None:
        return importance
    shift = MAX_ADJUSTMENT * (2.0 * clamped(surprise) - 1.0)
    return clamped(importance + shift, MIN_IMPORTANCE, MAX_IMPORTANCE)


def adjusted_importance_of(memory: Memory) -> float:
    """Return a memory's set importance moved by its surprise, within [0, 1]."""
    return clamped(adjusted_importance(memory.importance, memory.surprise))


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
"""Distinct confirming sources at which confirmations count in full."""

FULL_SPREAD = 5
"""Spaced recalls at which the spread counts in full."""

SPACED_SECONDS = 0.5 * SECONDS_PER_DAY
"""Recalls closer than this count as one: half a day separates two working days."""


@dataclass(frozen=True, slots=True)
class Factor:
    """One of nine factors of an importance: `share` is value · weight, and the shares add up to the importance."""

    name: FactorName
    value: float
    weight: float
    share: float


@dataclass(frozen=True, slots=True)
class Importance:
    """A composite importance with its factors."""

    value: float
    factors: tuple[Factor, ...]


def importance_of(memory: Memory, now: datetime) -> Importance:
    """Return the importance at this moment, the weighted sum of nine factors."""
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
    """Return the number of recalls on a log scale, 1 from twenty on."""
    return clamped(math.log1p(max(0, accesses)) / math.log1p(FULL_FREQUENCY))


def recency(idle: float, trust: float) -> float:
    """Return how recent the last recall is; it halves faster for less trusted memories."""
    return float(2.0 ** (-max(0.0, idle) / half_life_days(trust)))


def spread(access_times: Sequence[datetime]) -> float:
    """Return how spaced the recalls are: those at least half a day after the last one counted, 1 from five on."""
    spaced = 0
    counted: datetime | None = None
    for moment in sorted(access_times):
        if counted is None or seconds_between(counted, moment) >= SPACED_SECONDS:
            spaced, counted = spaced + 1, moment
    return clamped(spaced / FULL_SPREAD)
