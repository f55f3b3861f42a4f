"""The vitals of a memory: trust, importance, surprise, stability and strength, and what a recall changes in them.

002-trust, 002-importance, 002-surprise, 004-actr, 004-strength, 004-multiply, 004-rank, 001-exponential,
001-stability-growth, 000-recall-extends. The half-life of a memory depends on how far its source is trusted:

    half-life = 30 / (1 + 4·(1 − trust)) days

A human's memory halves in 30 days, an assistant's in 13.6, an ingested one in 10: three times as fast.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from statistics import fmean
from typing import Any, Literal, get_args

from reverie.lifecycle.voices import joined
from reverie.memory import TIERS, Layer, Memory, Source, clamped
from reverie.parameters import STANDARD, Parameters
from reverie.time import SECONDS_PER_DAY, aware, days_between, seconds_between


def age_days(memory: Memory, now: datetime) -> float:
    """Count the days since the memory was written."""
    return days_between(memory.created_at, now)


def last_touched(memory: Memory) -> datetime:
    """Return the moment of the last recall, or of the writing if there was none."""
    return memory.last_accessed_at or memory.created_at


def idle_days(memory: Memory, now: datetime) -> float:
    """Count the days since the memory was last recalled, or written if it never was."""
    return days_between(last_touched(memory), now)


IMPORT_TRUST_CAP = 0.5
"""An import may bring its own trust, but a file cannot prove that a human wrote it."""

SOURCE_TRUST: Mapping[Source, float] = {
    "human": 1.0,
    "ai": 0.7,
    "interaction": 0.6,
    "ingest": 0.5,
    "code_scan": 0.5,
    "dream": 0.4,
    "import": IMPORT_TRUST_CAP,
}

DISTRUST_SPEEDUP = 4.0


def trust_of(source: Source) -> float:
    """Return the trust of a source."""
    return SOURCE_TRUST[source]


def imported_trust(given: float | None) -> float:
    """Return the trust of an imported memory: its own if it brings one, but never above the cap."""
    if given is None:
        return IMPORT_TRUST_CAP
    return clamped(given, high=IMPORT_TRUST_CAP)


def derived_trust(parents: Iterable[float]) -> float:
    """Return the trust of a memory made from others: that of the least trusted of them.

    Raises:
        ValueError: if there are no parents; then nothing was derived.
    """
    return clamped(min(parents))


def half_life_days(trust: float, parameters: Parameters = STANDARD) -> float:
    """Return after how many days half of a memory of this trust is left."""
    return parameters.half_life_days / (1.0 + DISTRUST_SPEEDUP * (1.0 - clamped(trust)))


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

BASE_WEIGHT = 0.75
"""The part of the base that neither disuse nor distrust reduces."""

KEPT_WEIGHTS: Mapping[FactorName, float] = {"recency": 0.10, "trust": 0.10, "activation": 0.05}
"""The rest of the base, kept by recent use and trust. With `BASE_WEIGHT` they add up to 1."""

EARNED_WEIGHTS: Mapping[FactorName, float] = {
    "frequency": 0.25,
    "stability": 0.35,
    "confirmations": 0.08,
    "valence": 0.04,
    "layer": 0.03,
}
"""Shares of the rest, 1 - base, that use earns. Their sum is at most `BASE_WEIGHT`, so that of two memories with the
same use the one with the higher base stays more important."""

LAYER_BOOST: Mapping[Layer, float] = {
    "semantic": 1.0,
    "procedural": 0.9,
    "codebase": 0.7,
    "episodic": 0.5,
    "working": 0.4,
}

DOUBT_WEIGHT = 0.5
"""The part of the base that lost confidence removes: a memory judged untrue matters less until it is confirmed."""

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


def importance_of(memory: Memory, now: datetime, parameters: Parameters = STANDARD) -> Importance:
    """Return the importance at this moment: the kept part of the base, and what use earns."""
    base = adjusted_importance_of(memory) * (1.0 - DOUBT_WEIGHT * (1.0 - clamped(memory.confidence)))
    values: Mapping[FactorName, float] = {
        "base": base,
        "frequency": frequency(memory.access_count),
        "recency": recency(idle_days(memory, now), memory.trust, parameters),
        "valence": clamped(abs(memory.valence)),
        "stability": spread(memory.access_times),
        "layer": LAYER_BOOST[memory.layer],
        "trust": clamped(memory.trust),
        "confirmations": clamped(memory.confirmations / FULL_CONFIRMATIONS),
        "activation": retrieval_probability(activation_of(memory, now)),
    }
    weights = weights_at(base)
    factors = tuple(
        Factor(name, values[name], weights[name], share=values[name] * weights[name]) for name in FACTOR_NAMES
    )
    return Importance(clamped(math.fsum(factor.share for factor in factors)), factors)


def weights_at(base: float) -> dict[FactorName, float]:
    """Return the weights of the nine factors: kept weights scale with the base, earned weights with 1 - base."""
    kept = {name: weight * base for name, weight in KEPT_WEIGHTS.items()}
    earned = {name: weight * (1.0 - base) for name, weight in EARNED_WEIGHTS.items()}
    return {"base": BASE_WEIGHT, **kept, **earned}


def frequency(accesses: int) -> float:
    """Return the number of recalls on a log scale, 1 from twenty on."""
    return clamped(math.log1p(max(0, accesses)) / math.log1p(FULL_FREQUENCY))


def recency(idle: float, trust: float, parameters: Parameters = STANDARD) -> float:
    """Return how recent the last recall is; it halves faster for less trusted memories."""
    return float(2.0 ** (-max(0.0, idle) / half_life_days(trust, parameters)))


def spread(access_times: Sequence[datetime]) -> float:
    """Return how spaced the recalls are: 0 for one burst, 1 from five on that are each half a day after the last."""
    spaced = 0
    counted: datetime | None = None
    for moment in sorted(access_times):
        if counted is None or seconds_between(counted, moment) >= SPACED_SECONDS:
            spaced, counted = spaced + 1, moment
    return clamped((spaced - 1) / (FULL_SPREAD - 1))


MIN_STABILITY = 0.01
MAX_STABILITY = 1.0
STABILITY_AT_NO_IMPORTANCE = 0.1
STABILITY_PER_IMPORTANCE = 0.3

MAX_GAIN = 0.3
"""The share of the distance to 1 that a recall after a very long gap adds."""

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

STRONG = 0.7
MODERATE = 0.2


def age_factor(layer: Layer, days: float, parameters: Parameters = STANDARD) -> float:
    """Return the factor by which age weakens a memory of this layer."""
    return math.exp(-decay_per_day(layer, parameters) * max(0.0, days))


def decay_per_day(layer: Layer, parameters: Parameters = STANDARD) -> float:
    """Return the decay of a layer. Code does not fade, as in 002: drift watches it."""
    decays: Mapping[Layer, float] = {
        "working": DEFAULT_DECAY_PER_DAY,
        "episodic": parameters.episodic_decay,
        "semantic": parameters.semantic_decay,
        "procedural": parameters.procedural_decay,
        "codebase": 0.0,
    }
    return decays[layer]


def recall_factor(accesses: int) -> float:
    """Return the factor by which recalls strengthen a memory: 1 without any, growing ever more slowly."""
    return 1.0 + math.log1p(max(0, accesses))


def strength_of(memory: Memory, now: datetime, parameters: Parameters = STANDARD) -> float:
    """Return the raw strength; its salience is the set importance moved by surprise."""
    return (
        age_factor(memory.layer, age_days(memory, now), parameters)
        * recall_factor(memory.access_count)
        * adjusted_importance_of(memory)
        * clamped(memory.confidence)
    )


def bounded(strength: float) -> float:
    """Map a raw strength to [0, 1) for ranking, keeping the order."""
    return strength / (1.0 + strength)


def strength_word(strength: float) -> StrengthWord:
    """Return the word for a raw strength."""
    if strength >= STRONG:
        return "strong"
    return "moderate" if strength >= MODERATE else "faint"


KEPT_ACCESS_TIMES = 32
"""Recall times kept for activation; a closed form estimates older recalls."""

KEPT_SESSIONS = 8
"""The latest distinct sessions kept; core needs three."""


def after_access(memory: Memory, at: datetime, session: str) -> Memory:
    """Return the memory as one more recall leaves it.

    A recall that is reported late, with a time before the last one, is counted and sorted in, but neither moves
    `last_accessed_at` back nor adds stability.
    """
    last = last_touched(memory)
    return replace(
        memory,
        access_count=memory.access_count + 1,
        last_accessed_at=max(aware(at), memory.last_accessed_at or at),
        access_times=tuple(sorted((*memory.access_times, at))[-KEPT_ACCESS_TIMES:]),
        sessions=_with(memory.sessions, session),
        stability=grown(memory.stability, days_between(last, at)),
    )


def _with(sessions: tuple[str, ...], session: str) -> tuple[str, ...]:
    if not session or session in sessions:
        return sessions
    return (*sessions, session)[-KEPT_SESSIONS:]


def inherited(heir: Memory, others: Sequence[Memory]) -> dict[str, Any]:
    """Return the heir's recalls and confirmations with those of the others added."""
    family = (heir, *others)
    return {
        "access_count": sum(memory.access_count for memory in family),
        "last_accessed_at": _latest(memory.last_accessed_at for memory in family),
        "access_times": tuple(sorted(moment for memory in family for moment in memory.access_times))[
            -KEPT_ACCESS_TIMES:
        ],
        "sessions": _distinct(family)[-KEPT_SESSIONS:],
        "stability": max(memory.stability for memory in family),
        **joined(heir, others),
    }


def highest_importance(members: Sequence[Memory]) -> float:
    """Return the highest importance that was set."""
    return max(memory.importance for memory in members)


def longest_tier(members: Sequence[Memory]) -> Any:
    """Return the longest of the tiers; None if any member has no tier of its own."""
    tiers = [memory.tier for memory in members]
    return None if None in tiers else max((tier for tier in tiers if tier), key=TIERS.index)


def _latest(moments: Any) -> datetime | None:
    return max((moment for moment in moments if moment is not None), default=None)


def _distinct(family: Sequence[Memory]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(session for memory in reversed(family) for session in memory.sessions))
