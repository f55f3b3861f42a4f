"""The rules of age and merit for many memories at once: rules.py over arrays of columns.

A forecast applies the rules to every memory of a store at one moment, and to many at the moments of a bisection.
`tests/lifecycle/test_arrays.py` proves that each result is that of the rule for one memory. Moments are whole
microseconds since 1970.
"""

from dataclasses import dataclass, fields, replace
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from reverie.lifecycle.curves import (
    BOOST_PER_IMPORTANCE,
    CORE_FLOOR,
    FLOOR,
    FREQUENCY_PER_LOG_ACCESS,
    HUBER_END,
    HUBER_KNEE,
    MAX_BOOST,
    MAX_FREQUENCY_BOOST,
    MAX_REINFORCEMENT,
    beta_days,
)
from reverie.lifecycle.expiry import LASTING_LAYERS, Rule, threshold_seconds
from reverie.lifecycle.rules import (
    CORE_ACCESSES,
    CORE_SESSIONS,
    CORE_STABILITY,
    LOW_VALUE_AFTER_DAYS,
    LOW_VALUE_IMPORTANCE,
    WORKING_ACCESSES,
    WORKING_DAYS,
)
from reverie.lifecycle.vitals import (
    BASE_WEIGHT,
    DECAY,
    DISTRUST_SPEEDUP,
    DOUBT_WEIGHT,
    EARNED_WEIGHTS,
    FULL_CONFIRMATIONS,
    FULL_FREQUENCY,
    FULL_SPREAD,
    KEPT_WEIGHTS,
    LAYER_BOOST,
    MAX_ADJUSTMENT,
    MAX_IMPORTANCE,
    MAX_STABILITY,
    MIN_IMPORTANCE,
    MIN_STABILITY,
    RETRIEVAL_NOISE,
    RETRIEVAL_THRESHOLD,
    SHORTEST_AGE_SECONDS,
    SPACED_SECONDS,
    decay_per_day,
)
from reverie.memory import LAYERS, TIERS, Layer, Tier
from reverie.parameters import STANDARD, Parameters
from reverie.settings import RetentionMode
from reverie.time import SECONDS_PER_DAY

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NEVER: Final = np.iinfo(np.int64).min
"""The value of a moment that does not exist."""

RULES: Final[tuple[Rule | None, ...]] = (
    None,
    "ttl-expired",
    "tier-expired",
    "lifespan-expired",
    "archived",
    "low-value",
)
"""The rules in the order in which they are applied; a verdict is an index into them."""

_WORKING, _EPISODIC, _SEMANTIC = (LAYERS.index(layer) for layer in ("working", "episodic", "semantic"))
_LASTING = np.array([layer in LASTING_LAYERS for layer in LAYERS])
_BOOST = np.array([LAYER_BOOST[layer] for layer in LAYERS])
_SAME_AGE = 1e-9
_MICROS = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Vitals:
    """The fields that the rules read, one array per field."""

    layer: NDArray[np.int8]  # an index into LAYERS
    is_living: Bools
    is_active: Bools
    is_blank: Bools
    has_lasting_kind: Bools
    pinned: Bools
    core: Bools
    created: Ints
    last_accessed: Ints  # NEVER if it was not
    forget_after: Ints  # NEVER if there is no deadline
    access_count: Ints
    access_times: Ints  # a row of kept moments for each memory, filled up with NEVER
    sessions: Ints  # how many different ones
    importance: Floats
    surprise: Floats  # NaN if there was nothing to compare with
    trust: Floats
    stability: Floats
    confirmations: Floats
    confidence: Floats
    valence: Floats
    tier: NDArray[np.int8]  # an index into TIERS, -1 for none

    def __len__(self) -> int:
        """Return how many memories there are."""
        return len(self.layer)

    def at(self, rows: NDArray[Any]) -> Self:
        """Return some of the memories, by index or by a mask."""
        some = replace(self, **{one.name: getattr(self, one.name)[rows] for one in fields(self)})
        widest = int((some.access_times != NEVER).sum(axis=1).max(initial=0))
        return replace(some, access_times=some.access_times[:, :widest])


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """The verdict on each memory: an index into RULES, its layer afterwards, and whether it becomes core."""

    rule: NDArray[np.int8]
    layer: NDArray[np.int8]
    becomes_core: Bools


def verdicts_of(
    vitals: Vitals,
    now: int,
    mode: RetentionMode,
    default_tier: Tier | None = None,
    parameters: Parameters = STANDARD,
) -> Verdicts:
    """Apply the rules to every memory at one moment; an expiring memory neither moves nor becomes core."""
    at = np.full(len(vitals), now, np.int64)
    rule = _due(vitals, at, mode, default_tier, parameters)
    stays = rule == 0
    moved = np.where(stays, _layer_at(vitals, at, parameters), vitals.layer).astype(np.int8)
    return Verdicts(rule, moved, stays & _becomes_core(vitals))


def endings_of(
    vitals: Vitals,
    now: int,
    until: int,
    mode: RetentionMode,
    default_tier: Tier | None = None,
    parameters: Parameters = STANDARD,
) -> Ints:
    """Return when each memory expires if it is left alone, to the second, but no later than `until`."""
    subject = _after_next_sweeps(vitals, now, parameters)
    low = np.full(len(vitals), -1, np.int64)
    high = np.full(len(vitals), _seconds_until(now, until), np.int64)
    while (open_rows := np.flatnonzero(high - low > 1)).size:
        middle = (low[open_rows] + high[open_rows]) // 2
        due = _due(subject.at(open_rows), now + middle * _MICROS, mode, default_tier, parameters) > 0
        high[open_rows[due]] = middle[due]
        low[open_rows[~due]] = middle[~due]
    ends: Ints = np.minimum(now + high * _MICROS, max(now, until))
    return ends


def first_to_end(
    vitals: Vitals,
    most: int,
    now: int,
    until: int,
    mode: RetentionMode,
    default_tier: Tier | None = None,
    parameters: Parameters = STANDARD,
) -> Ints:
    """Return the indices of the `most` memories that expire first, or of all.

    This is a bisection over one moment for all memories, which halves the candidates each time.
    """
    subject = _after_next_sweeps(vitals, now, parameters)
    surely, perhaps = np.empty(0, np.int64), np.arange(len(vitals))
    low, high = -1, _seconds_until(now, until)
    while len(surely) + len(perhaps) > most and high - low > 1:
        middle = (low + high) // 2
        at = np.full(len(perhaps), now + middle * _MICROS, np.int64)
        due = _due(subject.at(perhaps), at, mode, default_tier, parameters) > 0
        if len(surely) + int(due.sum()) >= most:
            perhaps, high = perhaps[due], middle
        else:
            surely, perhaps, low = np.concatenate([surely, perhaps[due]]), perhaps[~due], middle
    # Those that are left beyond that end in the same second.
    return np.sort(np.concatenate([surely, perhaps[: most - len(surely)]]))


def _after_next_sweeps(vitals: Vitals, now: int, parameters: Parameters) -> Vitals:
    """Return the memories as the next sweeps leave them: moved by merit, and no longer in working."""
    layer = _layer_at(vitals, np.full(len(vitals), now, np.int64), parameters)
    return replace(
        vitals,
        layer=np.where(layer == _WORKING, _EPISODIC, layer).astype(np.int8),
        core=vitals.core | _becomes_core(vitals),
    )


def _seconds_until(now: int, until: int) -> int:
    return max(0, -(-(until - now) // _MICROS))


def retentions_of(
    vitals: Vitals,
    at: Ints,
    mode: RetentionMode,
    default_tier: Tier | None = None,
    parameters: Parameters = STANDARD,
) -> Floats:
    """Return the retention of each memory, by the curve of this mode, each at a moment of its own."""
    left = np.asarray(_CURVES[mode](vitals, at, default_tier, parameters), np.float64)
    left = np.where(vitals.core, np.maximum(CORE_FLOOR, left), left)
    return np.where(vitals.is_blank, 0.0, np.where(vitals.pinned, 1.0, left))


def importances_of(vitals: Vitals, at: Ints, parameters: Parameters = STANDARD) -> Floats:
    """Return the composite importance of each memory at a moment of its own."""
    base = _adjusted_importance(vitals) * (1.0 - DOUBT_WEIGHT * (1.0 - _unit(vitals.confidence)))
    kept = (
        KEPT_WEIGHTS["recency"] * 2.0 ** (-_idle_days(vitals, at) / _half_life(vitals, parameters))
        + KEPT_WEIGHTS["trust"] * _unit(vitals.trust)
        + KEPT_WEIGHTS["activation"] * _retrieval(vitals, at)
    )
    earned = (
        EARNED_WEIGHTS["frequency"] * _unit(_log_accesses(vitals) / np.log1p(FULL_FREQUENCY))
        + EARNED_WEIGHTS["stability"] * _spread(vitals)
        + EARNED_WEIGHTS["confirmations"] * _unit(vitals.confirmations / FULL_CONFIRMATIONS)
        + EARNED_WEIGHTS["valence"] * _unit(np.abs(vitals.valence))
        + EARNED_WEIGHTS["layer"] * _BOOST[vitals.layer]
    )
    return _unit(BASE_WEIGHT * base + kept * base + earned * (1.0 - base))


# -- the rules ---------------------------------------------------------------------------------------------


def _layer_at(vitals: Vitals, at: Ints, parameters: Parameters) -> NDArray[np.int8]:
    """Return the layer that each memory has earned by its moment."""
    leaves = (
        (vitals.layer == _WORKING)
        & vitals.is_living
        & ((vitals.access_count >= WORKING_ACCESSES) | (_age_days(vitals, at) >= WORKING_DAYS))
    )
    layer = np.where(leaves, _EPISODIC, vitals.layer).astype(np.int8)
    rows = np.flatnonzero(
        (layer == _EPISODIC) & vitals.is_active & (vitals.access_count >= parameters.promote_recalls)
    )
    episodes = replace(vitals.at(rows), layer=layer[rows])
    layer[rows[importances_of(episodes, at[rows], parameters) >= parameters.promote_importance]] = _SEMANTIC
    return layer


def _becomes_core(vitals: Vitals) -> Bools:
    return (
        ~vitals.core
        & vitals.is_active
        & (vitals.access_count >= CORE_ACCESSES)
        & (vitals.stability >= CORE_STABILITY)
        & (vitals.sessions >= CORE_SESSIONS)
    )


def _due(
    vitals: Vitals, at: Ints, mode: RetentionMode, default_tier: Tier | None, parameters: Parameters
) -> NDArray[np.int8]:
    """Return the first rule that expires each memory at its moment, after the moves that it has earned."""
    layer = _layer_at(vitals, at, parameters)
    moved = replace(vitals, layer=layer, core=vitals.core | _becomes_core(vitals))
    tier = _tier(vitals, default_tier)
    may_end = moved.is_living & ~(moved.pinned | moved.core | _is_lasting(moved))
    rule = np.zeros(len(vitals), np.int8)

    may_fade = may_end & (tier != TIERS.index("permanent"))
    low = (vitals.importance <= LOW_VALUE_IMPORTANCE) & (_idle_days(vitals, at) > LOW_VALUE_AFTER_DAYS)
    rule[may_fade & low] = RULES.index("low-value")

    old = _age_days(vitals, at) > parameters.archive_days
    rows = np.flatnonzero(may_fade & old & (vitals.access_count < parameters.archive_recalls))
    few, then = moved.at(rows), at[rows]
    faded = retentions_of(few, then, mode, default_tier, parameters) < parameters.archive_retention
    rows, few, then = rows[faded], few.at(faded), then[faded]
    rule[rows[importances_of(few, then, parameters) < parameters.archive_importance]] = RULES.index("archived")

    threshold = _thresholds(tier, parameters)
    outlived = may_end & (_effective_age(vitals, at, threshold, parameters) > threshold)
    rule[outlived & (tier >= 0)] = RULES.index("tier-expired")
    rule[outlived & (tier < 0)] = RULES.index("lifespan-expired")

    late = moved.is_living & ~moved.pinned & (vitals.forget_after != NEVER) & (at > vitals.forget_after)
    rule[late] = RULES.index("ttl-expired")
    return rule


def _is_lasting(vitals: Vitals) -> Bools:
    return np.asarray(_LASTING[vitals.layer] | (vitals.has_lasting_kind & (vitals.layer != _WORKING)), np.bool_)


def _tier(vitals: Vitals, default: Tier | None) -> NDArray[np.int8]:
    return np.where(vitals.tier < 0, -1 if default is None else TIERS.index(default), vitals.tier).astype(np.int8)


def _thresholds(tier: NDArray[np.int8], parameters: Parameters) -> Floats:
    """Return how long a memory of each tier lives; what never expires lives for ever."""
    by_tier = [threshold_seconds(one, parameters) for one in (*TIERS, None)]  # the last for -1
    return np.array([np.inf if one is None else one for one in by_tier])[tier]


def _effective_age(vitals: Vitals, at: Ints, threshold: Floats, parameters: Parameters) -> Floats:
    with np.errstate(invalid="ignore"):  # for ever, put off by no recall
        bonus = np.maximum(0, vitals.access_count) * threshold * parameters.recall_bonus
    return _seconds(vitals.created, at) - np.where(np.isfinite(threshold), bonus, 0.0)


# -- the curves --------------------------------------------------------------------------------------------


def _halving(half_lives: Floats) -> Floats:
    return np.asarray(2.0**-half_lives, np.float64)


def _huber(half_lives: Floats) -> Floats:
    line = 2.0**-HUBER_KNEE * np.maximum(0.0, HUBER_END - half_lives) / (HUBER_END - HUBER_KNEE)
    return np.where(half_lives <= HUBER_KNEE, _halving(half_lives), line)


def _reinforced(vitals: Vitals, at: Ints, left: Floats, parameters: Parameters) -> Floats:
    added = np.minimum(MAX_REINFORCEMENT, parameters.reinforcement * _log_accesses(vitals))
    lasts = _is_lasting(vitals) | (vitals.layer == _WORKING)
    return np.where(lasts, 1.0, _unit(left + added))


def _half_lives(vitals: Vitals, at: Ints, parameters: Parameters) -> Floats:
    return _idle_days(vitals, at) / _half_life(vitals, parameters)


def _l2(vitals: Vitals, at: Ints, tier: Tier | None, parameters: Parameters) -> Floats:
    return _reinforced(vitals, at, _halving(_half_lives(vitals, at, parameters)), parameters)


def _huber_curve(vitals: Vitals, at: Ints, tier: Tier | None, parameters: Parameters) -> Floats:
    return _reinforced(vitals, at, _huber(_half_lives(vitals, at, parameters)), parameters)


def _elastic(vitals: Vitals, at: Ints, tier: Tier | None, parameters: Parameters) -> Floats:
    importance, half_lives = _adjusted_importance(vitals), _half_lives(vitals, at, parameters)
    line = (1.0 - importance) * np.maximum(0.0, 1.0 - half_lives)
    return _reinforced(vitals, at, line + importance * _halving(half_lives / _boost(importance)), parameters)


def _exponential(vitals: Vitals, at: Ints, tier: Tier | None, parameters: Parameters) -> Floats:
    return np.maximum(_floor(vitals), np.exp(-_idle_days(vitals, at) / _rate_days(vitals, parameters)))


def _power(vitals: Vitals, at: Ints, tier: Tier | None, parameters: Parameters) -> Floats:
    left = (1.0 + _idle_days(vitals, at) / _rate_days(vitals, parameters)) ** -parameters.gamma
    return np.maximum(_floor(vitals), left)


def _lifespan(vitals: Vitals, at: Ints, tier: Tier | None, parameters: Parameters) -> Floats:
    threshold = _thresholds(_tier(vitals, tier), parameters)
    left = _unit(1.0 - _effective_age(vitals, at, threshold, parameters) / threshold)
    return np.where(np.isinf(threshold) | _is_lasting(vitals), 1.0, left)


def _strength(vitals: Vitals, at: Ints, tier: Tier | None, parameters: Parameters) -> Floats:
    decay = _by_layer(vitals, lambda layer: decay_per_day(layer, parameters))
    return _unit(np.exp(-decay * _age_days(vitals, at)) * (1.0 + _log_accesses(vitals)))


_CURVES: Final = {
    "huber": _huber_curve,
    "l2": _l2,
    "elastic": _elastic,
    "exponential": _exponential,
    "power": _power,
    "lifespan": _lifespan,
    "strength": _strength,
}


def _floor(vitals: Vitals) -> Floats:
    return np.where(vitals.core, CORE_FLOOR, FLOOR)


def _rate_days(vitals: Vitals, parameters: Parameters) -> Floats:
    beta = _by_layer(vitals, lambda layer: beta_days(layer, parameters))
    beta = np.where(vitals.core, np.maximum(beta, parameters.semantic_days), beta)
    often = np.minimum(MAX_FREQUENCY_BOOST, 1.0 + FREQUENCY_PER_LOG_ACCESS * _log_accesses(vitals))
    stability = np.clip(np.nan_to_num(vitals.stability), MIN_STABILITY, MAX_STABILITY)
    return np.asarray(stability * _boost(_adjusted_importance(vitals)) * often * beta, np.float64)


def _boost(importance: Floats) -> Floats:
    return np.minimum(MAX_BOOST, 1.0 + BOOST_PER_IMPORTANCE * importance)


def _by_layer(vitals: Vitals, value: Any) -> Floats:
    layers: tuple[Layer, ...] = LAYERS
    return np.array([float(value(layer)) for layer in layers])[vitals.layer]


# -- the vitals --------------------------------------------------------------------------------------------


def _seconds(then: Ints, at: Ints) -> Floats:
    return np.asarray(np.maximum(0, at - then) / _MICROS, np.float64)


def _age_days(vitals: Vitals, at: Ints) -> Floats:
    return _seconds(vitals.created, at) / SECONDS_PER_DAY


def _idle_days(vitals: Vitals, at: Ints) -> Floats:
    return _seconds(_last_touched(vitals), at) / SECONDS_PER_DAY


def _last_touched(vitals: Vitals) -> Ints:
    return np.where(vitals.last_accessed == NEVER, vitals.created, vitals.last_accessed)


def _unit(values: Floats) -> Floats:
    return np.clip(np.nan_to_num(values), 0.0, 1.0)


def _half_life(vitals: Vitals, parameters: Parameters) -> Floats:
    return parameters.half_life_days / (1.0 + DISTRUST_SPEEDUP * (1.0 - _unit(vitals.trust)))


def _log_accesses(vitals: Vitals) -> Floats:
    return np.asarray(np.log1p(np.maximum(0, vitals.access_count)), np.float64)


def _adjusted_importance(vitals: Vitals) -> Floats:
    shift = MAX_ADJUSTMENT * (2.0 * _unit(vitals.surprise) - 1.0)
    moved = np.clip(vitals.importance + shift, MIN_IMPORTANCE, MAX_IMPORTANCE)
    return _unit(np.where(np.isnan(vitals.surprise), vitals.importance, moved))


def _spread(vitals: Vitals) -> Floats:
    """Return how spaced the recalls are; the moments of each memory are looked at in their order."""
    times = np.sort(vitals.access_times, axis=1)
    spaced = np.zeros(len(vitals), np.int64)
    counted = np.full(len(vitals), NEVER, np.int64)
    for moment in times.T:
        is_first = counted == NEVER
        is_later = _seconds(np.where(is_first, moment, counted), moment) >= SPACED_SECONDS
        apart = (moment != NEVER) & (is_first | is_later)
        spaced += apart
        counted = np.where(apart, moment, counted)
    return _unit((spaced - 1) / (FULL_SPREAD - 1))


def _retrieval(vitals: Vitals, at: Ints) -> Floats:
    """Return the probability of retrieval from the writing, the kept recalls and those beyond the window."""
    written = np.maximum(SHORTEST_AGE_SECONDS, _seconds(vitals.created, at))
    is_kept = vitals.access_times != NEVER
    ages = np.where(is_kept, np.maximum(0, at[:, None] - np.where(is_kept, vitals.access_times, 0)) / _MICROS, 0.0)
    uses = np.where(is_kept, np.maximum(SHORTEST_AGE_SECONDS, ages) ** -DECAY, 0.0).sum(axis=1)
    forgotten = np.maximum(0, vitals.access_count - is_kept.sum(axis=1))
    farthest_kept = np.where(is_kept, ages, -1.0).max(axis=1, initial=-1.0)
    nearest = np.where(farthest_kept < 0.0, _seconds(_last_touched(vitals), at), farthest_kept)
    total = written**-DECAY + uses + _older_uses(forgotten, nearest, written)
    return np.asarray(1.0 / (1.0 + np.exp(-(np.log(total) - RETRIEVAL_THRESHOLD) / RETRIEVAL_NOISE)), np.float64)


def _older_uses(count: Ints, nearest: Floats, farthest: Floats) -> Floats:
    one, two = np.maximum(SHORTEST_AGE_SECONDS, nearest), np.maximum(SHORTEST_AGE_SECONDS, farthest)
    near, far = np.minimum(one, two), np.maximum(one, two)
    is_same = far - near <= _SAME_AGE * far
    rest = 1.0 - DECAY
    apart = (far**rest - near**rest) / (rest * np.where(is_same, 1.0, far - near))
    return np.asarray(count * np.where(is_same, near**-DECAY, apart), np.float64)
