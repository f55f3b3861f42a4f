"""Moving up by merit (002-layers, 002-promotion, 001-core)."""

from datetime import datetime

from reverie.lifecycle.elapsed import SECONDS_PER_DAY, age_days
from reverie.lifecycle.importance import importance_of
from reverie.lifecycle.lasting import LIVING
from reverie.lifecycle.verdict import Move
from reverie.memory import Memory

WORKING_DAYS = 30 * 60 / SECONDS_PER_DAY
WORKING_ACCESSES = 2

SEMANTIC_IMPORTANCE = 0.7
SEMANTIC_ACCESSES = 5

CORE_ACCESSES = 10
CORE_STABILITY = 0.85
CORE_SESSIONS = 3


def leaves_working(memory: Memory, now: datetime) -> Move | None:
    """Decide whether a working memory becomes episodic: after 30 minutes or 2 recalls."""
    if memory.layer != "working" or memory.status not in LIVING:
        return None
    if memory.access_count >= WORKING_ACCESSES:
        return Move("episodic", f"recalled {memory.access_count} times while working")
    if age_days(memory, now) >= WORKING_DAYS:
        return Move("episodic", "older than 30 minutes")
    return None


def becomes_semantic(memory: Memory, now: datetime) -> Move | None:
    """Decide whether an episodic memory has earned a place among what is known for good."""
    if memory.layer != "episodic" or memory.status != "active":
        return None
    if memory.access_count < SEMANTIC_ACCESSES:
        return None
    importance = importance_of(memory, now).value
    if importance < SEMANTIC_IMPORTANCE:
        return None
    return Move("semantic", f"importance {importance:.2f} and {memory.access_count} recalls")


def becomes_core(memory: Memory) -> bool:
    """Say whether a memory is to be made core now; False if it already is."""
    return (
        not memory.core
        and memory.status == "active"
        and memory.access_count >= CORE_ACCESSES
        and memory.stability >= CORE_STABILITY
        and len(set(memory.sessions)) >= CORE_SESSIONS
    )
