"""`reverie curves`: the seven forgetting curves as points, for a typical memory or for one in the store."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from reverie.lifecycle.curves import CURVES, Trace, retention_of
from reverie.lifecycle.vitals import first_stability
from reverie.memory import Memory, Tier
from reverie.settings import RETENTION_MODES, RetentionMode
from reverie.time import age_days, idle_days, last_touched, later

TYPICAL_IMPORTANCE = 0.5
TYPICAL = Trace(
    age_days=0.0, idle_days=0.0, importance=TYPICAL_IMPORTANCE, stability=first_stability(TYPICAL_IMPORTANCE)
)
"""An episode from a human, of medium importance, never recalled."""

_ROOM_BEYOND = 1.1


@dataclass(frozen=True, slots=True)
class CurvePosition:
    """Where a memory is on its curve: the days since its last recall, and the retention by its domain's curve."""

    id: str
    title: str
    day: float
    retention: float
    described: str


@dataclass(frozen=True, slots=True)
class Curves:
    """The retention on each day under every curve; `chosen` is the curve of the domain."""

    subject: str
    chosen: RetentionMode
    days: list[float]
    left: dict[RetentionMode, list[float]]
    standing: CurvePosition | None = None


def typical_curves(chosen: RetentionMode, days: float, points: int, tier: Tier | None = None) -> Curves:
    """Return the curves of a typical memory from its writing on."""
    at = _spread(days, points)
    left = {
        mode: [CURVES[mode](replace(TYPICAL, age_days=day, idle_days=day, tier=tier)) for day in at]
        for mode in RETENTION_MODES
    }
    return Curves("an episode a human told, importance 0.5, never recalled", chosen, at, left)


def curves_of(
    memory: Memory, now: datetime, chosen: RetentionMode, days: float, points: int, tier: Tier | None = None
) -> Curves:
    """Return the curves of one memory from its last recall on, and its position on them.

    They depend on its layer, kind, trust, importance, stability, recalls and pin.
    """
    idle = idle_days(memory, now)
    at = _spread(max(days, idle * _ROOM_BEYOND), points)
    since = last_touched(memory)
    left = {
        mode: [retention_of(memory, later(since, day) or now, mode, tier) for day in at] for mode in RETENTION_MODES
    }
    standing = CurvePosition(
        memory.id, memory.title, idle, retention_of(memory, now, chosen, tier), _described(memory, now)
    )
    return Curves(
        "this memory since its last recall" if memory.access_count else "this memory since its writing",
        chosen,
        at,
        left,
        standing,
    )


def _spread(days: float, points: int) -> list[float]:
    return [days * number / (points - 1) for number in range(points)]


def _described(memory: Memory, now: datetime) -> str:
    parts: Sequence[str] = (
        memory.layer,
        memory.kind,
        f"trust {memory.trust:g}",
        f"importance {memory.importance:g}",
        f"{memory.access_count} recalls",
        f"{age_days(memory, now):.0f} days old",
        *(["pinned"] if memory.pinned else []),
        *(["core"] if memory.core else []),
    )
    return ", ".join(parts)
