"""What the code on disk says about a memory; codebase/ answers, the steps `drift` and `beliefs` act on it."""

from dataclasses import dataclass
from typing import Protocol

from reverie.memory import Anchor, Freshness, Memory


@dataclass(frozen=True, slots=True)
class Check:
    """One look at what a memory was seen in.

    `receipt` says what was looked at and found, in words that a person can check; `anchors` are the memory's
    anchors as they should stand now, repaired where something moved. `refuted` says that what was found speaks
    against the text itself, not only that a file has changed.
    """

    verdict: Freshness
    receipt: str
    anchors: tuple[Anchor, ...]
    refuted: bool = False


class Evidence(Protocol):
    """Something that can look."""

    def check(self, memory: Memory) -> Check | None:
        """Look at what a memory names; None if it names nothing that can be looked at from here."""
        ...


class NoEvidence:
    """Where there is no project to look at: nothing is known, so nothing is held against a memory."""

    def check(self, memory: Memory) -> Check | None:
        """Return nothing."""
        return None
