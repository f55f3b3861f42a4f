"""What a recall changes in a memory (000-recall-extends), and what a memory inherits from those it replaces."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from reverie.lifecycle.strength import grown
from reverie.memory import TIERS, Memory
from reverie.time import aware, days_between, last_touched

KEPT_ACCESS_TIMES = 32
"""Recall times kept for activation; older recalls enter through a closed form."""

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
    """Return the heir's recalls and confirmations with those of the others added."""
    family = (heir, *others)
    confirmers = _confirmers(heir, others)
    return {
        "access_count": sum(memory.access_count for memory in family),
        "last_accessed_at": _latest(memory.last_accessed_at for memory in family),
        "access_times": tuple(sorted(moment for memory in family for moment in memory.access_times))[
            -KEPT_ACCESS_TIMES:
        ],
        "sessions": _distinct(family)[-KEPT_SESSIONS:],
        "stability": max(memory.stability for memory in family),
        "confirmed_by": confirmers,
        "confirmations": len(confirmers),
    }


def highest_importance(members: Sequence[Memory]) -> float:
    """Return the highest importance that was set."""
    return max(memory.importance for memory in members)


def longest_tier(members: Sequence[Memory]) -> Any:
    """Return the longest of the tiers; None if any member has no tier of its own."""
    tiers = [memory.tier for memory in members]
    return None if None in tiers else max((tier for tier in tiers if tier), key=TIERS.index)


def _confirmers(heir: Memory, others: Sequence[Memory]) -> tuple[str, ...]:
    """Return the sources that confirm the heir: its confirmers, and the sources and confirmers of the others."""
    found = (*heir.confirmed_by, *(source for other in others for source in (other.source, *other.confirmed_by)))
    return tuple(dict.fromkeys(source for source in found if source != heir.source))


def _latest(moments: Any) -> datetime | None:
    return max((moment for moment in moments if moment is not None), default=None)


def _distinct(family: Sequence[Memory]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(session for memory in reversed(family) for session in memory.sessions))
