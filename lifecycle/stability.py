"""How firmly a memory sits, and how recalls make it sit firmer (001-exponential, 001-stability-growth).

first stability = 0.1 + 0.3·importance
after a recall  = S + (1 − S) · 0.3 · gap / (gap + 1 day)

The gain grows with the gap since the last recall (spaced beats massed) and shrinks as S nears 1. With 0.3,
ten daily recalls carry a memory of middling importance just past the 0.85 that core asks for.
"""

from reverie.lifecycle.scale import clamped

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
    """Keep a stability where the curves can divide by it."""
    return clamped(stability, MIN_STABILITY, MAX_STABILITY)


def grown(stability: float, gap_days: float) -> float:
    """Return the stability after a recall that came so many days after the last."""
    held = in_bounds(stability)
    gap = max(0.0, gap_days)
    spacing = gap / (gap + HALF_GAIN_GAP_DAYS)
    return in_bounds(held + (MAX_STABILITY - held) * MAX_GAIN * spacing)
