"""How long the last calls of each tool took, in this process: a few hundred numbers that nothing is written of."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import quantiles

MOST_KEPT = 500


@dataclass(frozen=True, slots=True)
class Times:
    """The milliseconds of calls, oldest first, with their middle and the one that a twentieth takes longer than."""

    milliseconds: list[float]
    p50: float | None
    p95: float | None


@dataclass(slots=True)
class CallTimes:
    """Keeps the durations of the last calls by the tool's name."""

    _kept: dict[str, deque[float]] = field(default_factory=dict)

    def note(self, tool: str, seconds: float) -> None:
        """Note that a call took so long; the oldest goes when there are too many."""
        self._kept.setdefault(tool, deque(maxlen=MOST_KEPT)).append(1_000 * seconds)

    def of(self, tool: str) -> Times:
        """Return what is known of a tool."""
        kept = list(self._kept.get(tool, ()))
        return Times(kept, percentile(kept, 50), percentile(kept, 95))


def percentile(values: Sequence[float], percent: int) -> float | None:
    """Return the value that so many percent do not pass; None of nothing."""
    if len(values) < 2:
        return values[0] if values else None
    return quantiles(values, n=100, method="inclusive")[percent - 1]
