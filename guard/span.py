"""A stretch of a text and what it is."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """From where to where in a text something of a kind stands."""

    start: int
    end: int
    kind: str
