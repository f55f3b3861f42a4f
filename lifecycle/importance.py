"""What a memory is worth: surprise when it is written, nine factors whenever it is read.

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
"""A use this very moment would count infinitely; ACT-R's usual remedy is one unit of time."""

RETRIEVAL_THRESHOLD = -5.0
"""The activation at which a memory comes to mind half the time: one use about six hours ago (e^10 s)."""

RETRIEVAL_NOISE = 1.0
_SAME_AGE = 1e-9


def base_level(ages_seconds: Iterable[float], older: float = 0.0, *, decay: float = DECAY) -> float:
    """Return the activation from the ages of single uses, and a sum that stands for older ones.

    No use at all gives minus infinity: nothing was ever there.
    """
    total = older + math.fsum(_shown(age) ** -decay for age in ages_seconds)
    return math.log(total) + BASELINE if total > 0.0 else -math.inf


def older_uses(count: int, nearest_seconds: float, farthest_seconds: float, *, decay: float = DECAY) -> float:
    """Return what so many uses add to the sum if all that is known is between which ages they lie."""
    near, far = sorted((_shown(nearest_seconds), _shown(farthest_seconds)))
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
    """Return ACT-R's chance that a memory of this activation comes to mind: a logistic of its distance from
    the threshold."""
    return 1.0 / (1.0 + math.exp(-(activation - RETRIEVAL_THRESHOLD) / RETRIEVAL_NOISE))


def _last_use(memory: Memory, now: datetime) -> float:
    return seconds_between(memory.last_accessed_at or memory.created_at, now)


def _shown(age_seconds: float) -> float:
    return max(SHORTEST_AGE_SECONDS, age_seconds)


NEIGHBOURS = 5
DUPLICATE_SIMILARITY = 0.92
MAX_ADJUSTMENT = 0.3
MIN_IMPORTANCE = 0.05
MAX_IMPORTANCE = 1.0


def surprise_from(similarities: Sequence[float]) -> float | None:
    """Return the surprise from the cosine similarities to the nearest memories, best first.

    An empty store gives None: with nothing to compare, nothing is known about novelty.
    """
    nearest = sorted(similarities, reverse=True)[:NEIGHBOURS]
    if not nearest:
        return None
    if is_duplicate(nearest[0]):
        nearest = nearest[:1]
    return clamped(fmean(1.0 - similarity for similarity in nearest))


def is_duplicate(similarity: float) -> bool:
    """Say whether two memories lie so near that the second is flagged as a repetition."""
    return similarity >= DUPLICATE_SIMILARITY


def adjusted_importance(importance: float, surprise: float | None) -> float:
    """Return the importance as set, moved by surprise; unchanged where there was nothing to compare with."""
    if surprise is None:
        return importance
    shift = MAX_ADJUSTMENT * (2.0 * clamped(surprise) - 1.0)
    return clamped(importance + shift, MIN_IMPORTANCE, MAX_IMPORTANCE)


def adjusted_importance_of(memory: Memory) -> float:
    """Return a memory's importance as set and moved by its surprise, within [0, 1]."""
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
