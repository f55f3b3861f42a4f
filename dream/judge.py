"""Who decides what rules of age and likeness cannot: the same questions for every judge.

An answer of None means "I do not know", and then nothing happens but that a question is queued.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from reverie.ids import creation_order
from reverie.memory import Memory
from reverie.text.compare import restates

BeliefVerdict = Literal["outdated", "holds"]


@dataclass(frozen=True, slots=True)
class DayNote:
    """The day in a few lines, and which of the day's memories will matter for longer."""

    text: str
    durable: tuple[str, ...]


class Judge(Protocol):
    """Rules, or a language model in front of them."""

    def merged(self, members: Sequence[Memory]) -> str | None:
        """Return one text that says everything the members say, or None."""
        ...

    def bridged(self, one: str, other: str, ones: Sequence[Memory], others: Sequence[Memory]) -> str | None:
        """Return what connects two subjects, "" if nothing does, or None if unknown."""
        ...

    def still_holds(self, belief: Memory, evidence: Sequence[str]) -> BeliefVerdict | None:
        """Say whether a belief stands up to the evidence shown."""
        ...

    def day_note(self, ledger: Sequence[Memory], most_characters: int) -> DayNote | None:
        """Return the day's note in words, or None for the extractive one."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What went wrong while judging, for the report."""
        ...

    @property
    def calls(self) -> tuple[Mapping[str, Any], ...]:
        """Every call that was made and what it cost, for the report."""
        ...


class Rules:
    """Decides only what cannot be otherwise: that several texts say the same thing."""

    notes: tuple[str, ...] = ()
    calls: tuple[Mapping[str, Any], ...] = ()

    def merged(self, members: Sequence[Memory]) -> str | None:
        """Return the newest member's text if every other restates it."""
        newest = max(members, key=lambda memory: (memory.created_at, creation_order(memory.id)))
        if all(restates(newest.content, member.content) for member in members if member is not newest):
            return newest.content
        return None

    def bridged(self, one: str, other: str, ones: Sequence[Memory], others: Sequence[Memory]) -> str | None:
        """Rules see that two subjects lie close, not what that means."""
        return None

    def still_holds(self, belief: Memory, evidence: Sequence[str]) -> BeliefVerdict | None:
        """Rules gather evidence; whether it settles the matter is for someone who understands it."""
        return None

    def day_note(self, ledger: Sequence[Memory], most_characters: int) -> DayNote | None:
        """The extractive digest is the rule."""
        return None
