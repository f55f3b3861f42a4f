"""Where a memory may move: working → episodic → semantic → procedural, and never into or out of codebase."""

from typing import Literal

from reverie.errors import MoveRefused
from reverie.memory import LADDER, Layer

Direction = Literal["up", "down"]


def next_up(layer: Layer) -> Layer:
    """Return the layer above.

    Raises:
        MoveRefused: if there is none, or the layer stands beside the ladder.
    """
    rung = _rung(layer) + 1
    if rung == len(LADDER):
        raise MoveRefused(f"{layer} is the highest layer. Use pin to protect the memory instead.")
    return LADDER[rung]


def next_down(layer: Layer) -> Layer:
    """Return the layer below.

    Raises:
        MoveRefused: if there is none, or the layer stands beside the ladder.
    """
    rung = _rung(layer) - 1
    if rung < 0:
        raise MoveRefused(f"{layer} is the lowest layer. Use forget to let the memory go instead.")
    return LADDER[rung]


def checked_move(from_layer: Layer, to: Layer | None, direction: Direction) -> Layer:
    """Return the layer a move ends in: the wanted one, or the next in that direction.

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
