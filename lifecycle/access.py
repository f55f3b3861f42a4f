"""What a recall does to a memory (000-recall-extends).

The caller decides what counts as one access and writes the result atomically; the seed read the count, added
one and wrote it back, and lost updates.
"""

from dataclasses import replace
from datetime import datetime

from reverie.lifecycle.elapsed import aware, days_between, last_touched
from reverie.lifecycle.stability import grown
from reverie.memory import Memory

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
