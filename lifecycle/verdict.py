"""What a rule decides about a memory, and why; None stands for leaving it as it is."""

from dataclasses import dataclass
from typing import Literal

from reverie.memory import Layer

Rule = Literal[
    "ttl-expired",
    "tier-expired",
    "lifespan-expired",
    "archived",
    "low-value",
    "below-strength",
    "older-than",
]


@dataclass(frozen=True, slots=True)
class LetGo:
    """The memory should be softly let go: `rule` is the status reason, `reason` is for people."""

    rule: Rule
    reason: str


@dataclass(frozen=True, slots=True)
class Move:
    """The memory should go to another layer."""

    to: Layer
    reason: str
