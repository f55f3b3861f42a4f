"""How finely a memory's vector is worth keeping (002-compression); storage/packed_vectors.py does the rounding."""

from typing import Final, Literal

from reverie.memory import Memory

Precision = Literal[32, 8, 4, 2]

WHOLE: Final = 32
"""The precision of a vector as the embedder made it."""

FEWEST_BITS: Final = 2

FULL_ABOVE = 0.8
EIGHT_BIT_ABOVE = 0.5
FOUR_BIT_ABOVE = 0.2


def precision_for(retention: float) -> Precision:
    """Return the bits per dimension that a memory of this retention deserves."""
    if retention > FULL_ABOVE:
        return 32
    if retention > EIGHT_BIT_ABOVE:
        return 8
    return 4 if retention > FOUR_BIT_ABOVE else 2


def precision_of(memory: Memory, retention: float) -> Precision:
    """Return the precision for a memory; a pin keeps all of it."""
    return 32 if memory.pinned else precision_for(retention)
