"""Fitting the rates of forgetting to a user's own recalls.

A curve is right if memories are recalled in proportion to their retention. So the rate of recalls, t days after the
last use, is modelled as `a · R(t)`. `a`, how often a user recalls at all, is fitted too. The fitted rate is the one
that makes the observed recalls, and the gaps without one, most likely.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from reverie.lifecycle.curves import CURVES, Trace
from reverie.memory import Layer
from reverie.parameters import LIMITS, Parameters, with_parameter
from reverie.settings import RetentionMode

FITTED: Mapping[RetentionMode, Mapping[str, tuple[Layer, ...]]] = {
    "huber": {"half_life_days": ("episodic",)},
    "l2": {"half_life_days": ("episodic",)},
    "elastic": {"half_life_days": ("episodic",)},
    "exponential": {"episodic_days": ("episodic",), "semantic_days": ("semantic",)},
    "power": {"episodic_days": ("episodic",), "semantic_days": ("semantic",)},
    "strength": {
        "episodic_decay": ("episodic",),
        "semantic_decay": ("semantic",),
        "procedural_decay": ("procedural",),
    },
    "lifespan": {},
}
"""The rates of each curve, and the layers whose recalls determine them: those that fade."""

FEWEST_RECALLS = 30
"""With fewer recalls the interval spans an order of magnitude."""

WIDEST = 4.0
"""A fit is sure if the upper end of its interval is at most this many times the lower one."""

_LIKELY = 1.92  # half the 95 % point of chi-squared with one degree of freedom
_STEPS = 15
_REFINED = 40
_EXACT = 0.005
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
_NODES = (-math.sqrt(0.6), 0.0, math.sqrt(0.6))
_WEIGHTS = (5.0 / 9.0, 8.0 / 9.0, 5.0 / 9.0)
_PIECES = 2


@dataclass(frozen=True, slots=True)
class Gap:
    """The time from one use of a memory to the next, or to the end of its record."""

    trace: Trace  # the memory at the first of the two uses
    days: float
    recalled: bool  # whether a recall ended it


@dataclass(frozen=True, slots=True)
class Fit:
    """A rate that fits the recalls, and the interval in which it lies with 95 % certainty."""

    parameter: str
    now: float
    fitted: float
    low: float
    high: float
    recalls: int
    gaps: int

    @property
    def is_sure(self) -> bool:
        """Whether there were enough recalls, and they agree on a rate."""
        return self.recalls >= FEWEST_RECALLS and self.high <= WIDEST * self.low

    @property
    def differs(self) -> bool:
        """Whether the rate in force lies outside the interval."""
        return not self.low <= self.now <= self.high


def fit(gaps: Sequence[Gap], mode: RetentionMode, parameter: str, parameters: Parameters) -> Fit | None:
    """Return the rate that fits best, or None if there is no recall to fit it to."""
    layers = FITTED[mode][parameter]
    skips_lasting = parameter == "half_life_days"  # on the curves with a half-life, lasting memories do not fade
    relevant = [gap for gap in gaps if gap.trace.layer in layers and not (skips_lasting and gap.trace.lasting)]
    recalls = sum(gap.recalled for gap in relevant)
    if not recalls:
        return None
    lowest, highest = max(LIMITS[parameter].low, 1e-4), LIMITS[parameter].high

    def likelihood(logarithm: float) -> float:
        return _log_likelihood(relevant, mode, with_parameter(parameters, parameter, math.exp(logarithm)))

    width = (math.log(highest) - math.log(lowest)) / (_STEPS - 1)
    tried = [math.log(lowest) + step * width for step in range(_STEPS)]
    values = [likelihood(one) for one in tried]
    best = values.index(max(values))
    top = _peak(likelihood, tried[max(0, best - 1)], tried[min(_STEPS - 1, best + 1)])
    least = likelihood(top) - _LIKELY
    return Fit(
        parameter,
        getattr(parameters, parameter),
        math.exp(top),
        math.exp(_crossing(likelihood, least, top, tried[0])),
        math.exp(_crossing(likelihood, least, top, tried[-1])),
        recalls,
        len(relevant),
    )


def _log_likelihood(gaps: Sequence[Gap], mode: RetentionMode, parameters: Parameters) -> float:
    """Return how likely the recalls are under a curve, for the `a` that makes them likeliest."""
    traces = [(replace(gap.trace, parameters=parameters), gap) for gap in gaps]
    needed = math.fsum(_integral(trace, gap.days, mode) for trace, gap in traces)
    left = [_left(trace, gap.days, mode) for trace, gap in traces if gap.recalled]
    return math.fsum(math.log(max(one, 1e-300)) for one in left) - len(left) * math.log(max(needed, 1e-300))


def _left(trace: Trace, days: float, mode: RetentionMode) -> float:
    return CURVES[mode](replace(trace, idle_days=days, age_days=trace.age_days + days))


def _integral(trace: Trace, days: float, mode: RetentionMode) -> float:
    """Return the area under a curve from a use on: Gauss's rule on pieces that grow, as the curves fall at first."""
    total, start = 0.0, 0.0
    for piece in range(_PIECES):
        end = days * 4.0 ** (piece + 1 - _PIECES)
        half, middle = (end - start) / 2.0, (end + start) / 2.0
        total += half * math.fsum(
            weight * _left(trace, middle + half * node, mode) for node, weight in zip(_NODES, _WEIGHTS, strict=True)
        )
        start = end
    return total


def _peak(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function with one peak is highest, by the golden section."""
    for _ in range(_REFINED):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        low, high = (left, high) if function(left) < function(right) else (low, right)
        if high - low < _EXACT:
            break
    return (low + high) / 2.0


def _crossing(function: Callable[[float], float], least: float, top: float, end: float) -> float:
    """Return where a function falls to a value on the way from its top to an end; the end if it does not."""
    if function(end) >= least:
        return end
    inside, outside = top, end
    while abs(outside - inside) > _EXACT:
        middle = (inside + outside) / 2.0
        inside, outside = (middle, outside) if function(middle) >= least else (inside, middle)
    return (inside + outside) / 2.0
