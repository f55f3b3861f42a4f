"""What a recall does to a memory (000-recall-extends), and what a merged memory inherits of the recalls of its
parts.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from reverie.lifecycle.strength import grown
from reverie.memory import TIERS, Memory
from reverie.time import aware, days_between, last_touched

KEPT_ACCESS_TIMES = 32
"""Exact times kept for activation; older ones enter through the closed form."""

KEPT_SESSIONS = 8
"""Distinct sessions kept, the latest ones; more than the three that core asks for."""


def after_access(memory: Memory, at: datetime, session: str) -> Memory:
    """Return the memory as one more recall leaves it.

    A recall reported late, with a time before the last one, is counted and put in its place, but neither
    moves `last_accessed_at` back nor adds stability.
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


INHERITED: Final = (
    "access_count",
    "last_accessed_at",
    "access_times",
    "sessions",
    "stability",
    "confirmed_by",
    "confirmations",
)


def inherited(heir: Memory, others: Sequence[Memory]) -> dict[str, Any]:
    """Return the heir's vitals with those of the others carried over: counts summed, the latest access kept."""
    family = (heir, *others)
    voices = _voices(heir, others)
    return {
        "access_count": sum(memory.access_count for memory in family),
        "last_accessed_at": _latest(memory.last_accessed_at for memory in family),
        "access_times": tuple(sorted(moment for memory in family for moment in memory.access_times))[
            -KEPT_ACCESS_TIMES:
        ],
        "sessions": _distinct(family)[-KEPT_SESSIONS:],
        "stability": max(memory.stability for memory in family),
        "confirmed_by": voices,
        "confirmations": len(voices),
    }


def highest_importance(members: Sequence[Memory]) -> float:
    """Return the highest importance that was set."""
    return max(memory.importance for memory in members)


def longest_tier(members: Sequence[Memory]) -> Any:
    """Return the tier that lives longest; none if any member has none of its own."""
    tiers = [memory.tier for memory in members]
    return None if None in tiers else max((tier for tier in tiers if tier), key=TIERS.index)


def _voices(heir: Memory, others: Sequence[Memory]) -> tuple[str, ...]:
    """Return who else has said it: the sources and confirmers of the others, the heir's own left out."""
    heard = (*heir.confirmed_by, *(voice for other in others for voice in (other.source, *other.confirmed_by)))
    return tuple(dict.fromkeys(voice for voice in heard if voice != heir.source))


def _latest(moments: Any) -> datetime | None:
    return max((moment for moment in moments if moment is not None), default=None)


def _distinct(family: Sequence[Memory]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(session for memory in reversed(family) for session in memory.sessions))
