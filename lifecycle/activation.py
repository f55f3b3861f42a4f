"""ACT-R base-level activation (004-actr).

B = ln(Σ t_j^−d) + β        d = 0.5, t_j the seconds since the j-th use

Beyond the kept window, the standard hybrid approximation (Petrov 2006) spreads the m older uses evenly
between the oldest kept one, t_k ago, and the first, t_n ago:

Σ_old ≈ m · (t_n^(1−d) − t_k^(1−d)) / ((1−d)·(t_n − t_k))

As in ACT-R, writing a memory is its first use.
"""

import math
from collections.abc import Iterable
from datetime import datetime

from reverie.lifecycle.elapsed import seconds_between
from reverie.memory import Memory

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
