"""The seven forgetting curves, functions from a trace of a memory to its retention in [0, 1]; and `retention_of`,
which applies the curve that the domain has chosen.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from reverie.lifecycle.expiry import effective_age, is_lasting, threshold_seconds, tier_in_force
from reverie.lifecycle.vitals import (
    adjusted_importance_of,
    age_days,
    age_factor,
    half_life_days,
    idle_days,
    in_bounds,
    recall_factor,
)
from reverie.memory import Layer, Memory, Tier, clamped
from reverie.parameters import STANDARD, Parameters
from reverie.settings import RetentionMode
from reverie.time import SECONDS_PER_DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The inputs of the curves: one memory at one moment."""

    layer: Layer = "episodic"
    age_days: float
    idle_days: float
    importance: float = 0.5
    trust: float = 1.0
    stability: float = 0.25
    accesses: int = 0
    core: bool = False
    lasting: bool = False
    tier: Tier | None = None
    parameters: Parameters = STANDARD


Curve = Callable[[Trace], float]

# 002: half-lives

HUBER_KNEE = 1.0
"""Half-lives up to which huber equals l2, so that half is left after one half-life."""

HUBER_END = 6.0
"""Half-lives at which huber's line reaches zero; any value from 5.27 keeps it above l2 up to five half-lives."""

MAX_REINFORCEMENT = 0.3


def l2(trace: Trace) -> float:
    """Halve with every half-life."""
    return _reinforced(trace, _halving)


def huber(trace: Trace) -> float:
    """Halve up to the knee, then lose a tenth per half-life: more than l2 is left between 1 and 5.8 half-lives."""
    return _reinforced(trace, _huber)


def elastic(trace: Trace) -> float:
    """Blend a straight line for unimportant memories with a longer half-life for important ones."""
    importance = clamped(trace.importance)
    return _reinforced(
        trace,
        lambda t: (1.0 - importance) * max(0.0, 1.0 - t) + importance * _halving(t / importance_boost(importance)),
    )


def reinforcement(accesses: int, parameters: Parameters = STANDARD) -> float:
    """Return what recalls add to a half-life curve."""
    return min(MAX_REINFORCEMENT, parameters.reinforcement * math.log1p(max(0, accesses)))


def _reinforced(trace: Trace, curve: Callable[[float], float]) -> float:
    if trace.lasting or trace.layer == "working":  # neither has a half-life
        return 1.0
    half_lives = max(0.0, trace.idle_days) / half_life_days(trace.trust, trace.parameters)
    return clamped(curve(half_lives) + reinforcement(trace.accesses, trace.parameters))


def _halving(half_lives: float) -> float:
    return float(2.0**-half_lives)


def _huber(half_lives: float) -> float:
    if half_lives <= HUBER_KNEE:
        return _halving(half_lives)
    return _halving(HUBER_KNEE) * max(0.0, HUBER_END - half_lives) / (HUBER_END - HUBER_KNEE)


# 001: stability

CORE_FLOOR = 0.60
FLOOR = 0.02
BOOST_PER_IMPORTANCE = 2.0
MAX_BOOST = 3.0
FREQUENCY_PER_LOG_ACCESS = 0.1
MAX_FREQUENCY_BOOST = 2.0


def exponential(trace: Trace) -> float:
    """Fade at a rate that stability, importance and layer slow down."""
    return max(floor(trace), math.exp(-max(0.0, trace.idle_days) / rate_days(trace)))


def power(trace: Trace) -> float:
    """Fade fast at first and ever more slowly after, with a long tail."""
    return max(floor(trace), float((1.0 + max(0.0, trace.idle_days) / rate_days(trace)) ** -trace.parameters.gamma))


def floor(trace: Trace) -> float:
    """Return the retention below which these two curves never fall."""
    return CORE_FLOOR if trace.core else FLOOR


def rate_days(trace: Trace) -> float:
    """Return the time scale S·B·F·β in days."""
    beta = beta_days(trace.layer, trace.parameters)
    beta = max(beta, trace.parameters.semantic_days) if trace.core else beta
    return in_bounds(trace.stability) * importance_boost(trace.importance) * frequency_boost(trace.accesses) * beta


def beta_days(layer: Layer, parameters: Parameters = STANDARD) -> float:
    """Return β of a layer; infinite for a layer that does not decay."""
    if layer == "episodic":
        return parameters.episodic_days
    return parameters.semantic_days if layer == "semantic" else math.inf


def importance_boost(importance: float) -> float:
    """Return B: 1 for no importance, 3 for the highest."""
    return min(MAX_BOOST, 1.0 + BOOST_PER_IMPORTANCE * clamped(importance))


def frequency_boost(accesses: int) -> float:
    """Return F, the boost for recalls, which only one of the seed's two implementations has; 1 without recalls."""
    return min(MAX_FREQUENCY_BOOST, 1.0 + FREQUENCY_PER_LOG_ACCESS * math.log1p(max(0, accesses)))


# 000 and 004: counted from the writing


def lifespan(trace: Trace) -> float:
    """Fall along a straight line to zero at the end of the tier's lifespan, which recalls extend."""
    threshold = threshold_seconds(trace.tier, trace.parameters)
    if threshold is None or trace.lasting:
        return 1.0
    age = max(0.0, trace.age_days) * SECONDS_PER_DAY
    return clamped(1.0 - effective_age(age, trace.accesses, threshold, trace.parameters) / threshold)


def strength(trace: Trace) -> float:
    """Return strength now divided by strength when fresh; salience and confidence cancel out."""
    return clamped(age_factor(trace.layer, trace.age_days, trace.parameters) * recall_factor(trace.accesses))


CURVES: Mapping[RetentionMode, Curve] = {
    "huber": huber,
    "l2": l2,
    "elastic": elastic,
    "exponential": exponential,
    "power": power,
    "lifespan": lifespan,
    "strength": strength,
}


def retention_of(
    memory: Memory,
    now: datetime,
    mode: RetentionMode,
    default_tier: Tier | None = None,
    parameters: Parameters = STANDARD,
) -> float:
    """Return the retention of a memory, from 1 (fresh) towards 0, by the curve of this mode."""
    if not memory.content.strip():
        return 0.0
    if memory.pinned:
        return 1.0
    left = CURVES[mode](trace_of(memory, now, default_tier, parameters))
    return max(CORE_FLOOR, left) if memory.core else left


def trace_of(
    memory: Memory, now: datetime, default_tier: Tier | None = None, parameters: Parameters = STANDARD
) -> Trace:
    """Return the inputs of the curves for a memory at this moment."""
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
        parameters=parameters,
    )
