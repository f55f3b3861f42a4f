"""What came of a decision: it worked, failed, was reversed or superseded; and which of two accounts holds.

A memory keeps it as one text, its field `outcome`:

    failed 2026-03-01 k3v9q0x81m2n4p5r                  told by that memory, whose text recall shows
    worked 2026-03-01: releases no longer wait          told with the correction of the decision, in these words

The text of another memory is never copied: it may be purged one day.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from reverie.memory import RESULTS, Memory, OutcomeResult

WARNINGS: Final = ("failed", "reversed")
"""Results of what somebody tried and should not simply try again."""

LONGEST_NOTE = 300
_WRITTEN: Final = re.compile(
    rf"(?P<result>{'|'.join(RESULTS)}) (?P<day>\d{{4}}-\d\d-\d\d)"
    r"(?: (?P<by>[A-Za-z0-9_.:-]{1,64}?))?(?:: (?P<note>.+))?",
    re.DOTALL,
)
_GIVEN: Final = re.compile(
    rf"\s*(?:it )?(?P<result>{'|'.join(RESULTS)})\b\s*(?:[:,;–—-]+\s*|(?=because\b|since\b|by\b|$))(?P<note>.*)",
    re.DOTALL | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a decision, the day it was told, the memory that tells it, or a note that does."""

    result: OutcomeResult
    day: str
    reported_by: str = ""
    note: str = ""

    @property
    def written(self) -> str:
        """The outcome as a memory keeps it."""
        start = " ".join(filter(None, (self.result, self.day, self.reported_by)))
        return f"{start}: {self.note}" if self.note else start

    @property
    def is_warning(self) -> bool:
        """Whether the decision is no advice any more."""
        return self.result in WARNINGS

    def said(self, newer: str = "") -> str:
        """Say it in a few words; `told` is the text of the memory that tells it."""
        start = f"tried, {self.result}" if self.is_warning else self.result
        why = " ".join((self.note or newer).split())
        return f"{start}: {why}" if why else start


def outcome_on(result: OutcomeResult, at: datetime, *, reported_by: str = "", note: str = "") -> Outcome:
    """Return an outcome as it is told at a moment."""
    return Outcome(result, f"{at.astimezone(UTC):%Y-%m-%d}", reported_by, " ".join(note.split())[:LONGEST_NOTE])


def read_outcome(written: str | None) -> Outcome | None:
    """Return the outcome that a memory keeps; None if it keeps none that can be read."""
    found = _WRITTEN.fullmatch(written) if written else None
    if found is None:
        return None
    result = next(one for one in RESULTS if one == found["result"])
    return Outcome(result, found["day"], found["by"] or "", found["note"] or "")


def given_outcome(reason: str, at: datetime) -> Outcome | None:
    """Return the outcome that a reason gives by beginning with its result: `failed: the broker could not keep up`."""
    found = _GIVEN.fullmatch(reason)
    if found is None:
        return None
    result = next(one for one in RESULTS if one == found["result"].lower())
    return outcome_on(result, at, note=found["note"].strip(" ."))


def followed_by(decision: Memory, newer: Outcome) -> str | None:
    """Return the outcome that a decision has after one more account, or None if that changes nothing.

    The later account holds. That something else took its place says less than that it failed.
    """
    known = read_outcome(decision.outcome)
    is_later = known is None or newer.day >= known.day
    return newer.written if is_later and _replaces(known, newer) else None


def settled(accounts: Sequence[Outcome]) -> Outcome | None:
    """Return the outcome after several accounts, the earliest first: the same whoever was heard first."""
    known: Outcome | None = None
    for newer in accounts:
        known = newer if _replaces(known, newer) else known
    return known


def _replaces(known: Outcome | None, newer: Outcome) -> bool:
    if known is None:
        return True
    return newer.result != known.result and not (newer.result == "superseded" and known.is_warning)


def joined_outcome(heir: Memory, others: tuple[Memory, ...]) -> str | None:
    """Return the outcome of several memories that become one: the heir's, or else the latest."""
    known = [o for one in others if (o := read_outcome(one.outcome)) is not None]
    return heir.outcome or (max(known, key=lambda one: one.day).written if known else None)
