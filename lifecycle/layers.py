"""Moving between layers: the ladder working → episodic → semantic → procedural, and promotion by merit
(002-layers, 002-promotion, 001-core).
"""

from datetime import datetime
from typing import Literal

from reverie.errors import MoveRefused
from reverie.lifecycle.expiry import LIVING, Move
from reverie.lifecycle.importance import importance_of
from reverie.memory import LADDER, Layer, Memory
from reverie.time import SECONDS_PER_DAY, age_days

Direction = Literal["up", "down"]


def next_up(layer: Layer) -> Layer:
    """Return the layer above.

    Raises:
        MoveRefused: if there is none, or the layer is not on the ladder.
    """
    rung = _rung(layer) + 1
    if rung == len(LADDER):
        raise MoveRefused(f"{layer} is the highest layer. Use pin to protect the memory instead.")
    return LADDER[rung]


def next_down(layer: Layer) -> Layer:
    """Return the layer below.

    Raises:
        MoveRefused: if there is none, or the layer is not on the ladder.
    """
    rung = _rung(layer) - 1
    if rung < 0:
        raise MoveRefused(f"{layer} is the lowest layer. Use forget to let the memory go instead.")
    return LADDER[rung]


def checked_move(from_layer: Layer, to: Layer | None, direction: Direction) -> Layer:
    """Return the layer that a move ends in: the given one, or the next in that direction.

    Raises:
        MoveRefused: if the move touches codebase, goes nowhere, or goes the other way.
    """
    if to is None:
        return next_up(from_layer) if direction == "up" else next_down(from_layer)
    start, end = _rung(from_layer), _rung(to)
    if start == end:
        raise MoveRefused(f"The memory is already {to}. Name another layer, or leave `to` out.")
    if (end > start) != (direction == "up"):
        this, other = ("promote", "demote") if direction == "up" else ("demote", "promote")
        raise MoveRefused(f"{from_layer} to {to} is not a way to {this}. Use {other} for it.")
    return to


def _rung(layer: Layer) -> int:
    if layer not in LADDER:
        raise MoveRefused(
            f"{layer} stands beside the ladder: its memories come from reading code and follow it: nothing "
            f"moves into or out of it. Use one of {', '.join(LADDER)}, or remember anew what the code says."
        )
    return LADDER.index(layer)


WORKING_DAYS = 30 * 60 / SECONDS_PER_DAY
WORKING_ACCESSES = 2

SEMANTIC_IMPORTANCE = 0.7
SEMANTIC_ACCESSES = 5

CORE_ACCESSES = 10
CORE_STABILITY = 0.85
CORE_SESSIONS = 3


def leaves_working(memory: Memory, now: datetime) -> Move | None:
    """Return the move of a working memory to episodic, after 30 minutes or 2 recalls, or None."""
    if memory.layer != "working" or memory.status not in LIVING:
        return None
    if memory.access_count >= WORKING_ACCESSES:
        return Move("episodic", f"recalled {memory.access_count} times while working")
    if age_days(memory, now) >= WORKING_DAYS:
        return Move("episodic", "older than 30 minutes")
    return None


def becomes_semantic(memory: Memory, now: datetime) -> Move | None:
    """Return the move of an episodic memory to semantic, by importance and recalls, or None."""
    if memory.layer != "episodic" or memory.status != "active":
        return None
    if memory.access_count < SEMANTIC_ACCESSES:
        return None
    importance = importance_of(memory, now).value
    if importance < SEMANTIC_IMPORTANCE:
        return None
    return Move("semantic", f"importance {importance:.2f} and {memory.access_count} recalls")


def becomes_core(memory: Memory) -> bool:
    """Whether a memory becomes core now; False if it already is."""
    return (
        not memory.core
        and memory.status == "active"
        and memory.access_count >= CORE_ACCESSES
        and memory.stability >= CORE_STABILITY
        and len(set(memory.sessions)) >= CORE_SESSIONS
    )
