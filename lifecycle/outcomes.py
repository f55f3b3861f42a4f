"""The outcome of a decision: it worked, failed, was reversed or superseded; and which of two reports counts.

A memory keeps its outcome as one text, in the field `outcome`:

    failed 2026-03-01 k3v9q0x81m2n4p5r                  reported by that memory, whose text recall shows
    worked 2026-03-01: releases no longer wait          reported in these words when the decision was revised

The text of another memory is never copied, because that memory may be purged.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from reverie.memory import RESULTS, Memory, OutcomeResult

WARNINGS: Final = ("failed", "reversed")
"""Results that warn against trying the same again."""

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
    """The result of a decision, the day it was reported, and the memory or the note that reports it."""

    result: OutcomeResult
    day: str
    reported_by: str = ""
    note: str = ""

    @property
    def written(self) -> str:
        """The outcome as the field of a memory."""
        start = " ".join(filter(None, (self.result, self.day, self.reported_by)))
        return f"{start}: {self.note}" if self.note else start

    @property
    def is_warning(self) -> bool:
        """Whether the decision should not be followed any more."""
        return self.result in WARNINGS

    def described(self, report: str = "") -> str:
        """Describe the outcome in a few words; `report` is the text of the memory that reports it."""
        start = f"tried, {self.result}" if self.is_warning else self.result
        why = " ".join((self.note or report).split())
        return f"{start}: {why}" if why else start


def outcome_on(result: OutcomeResult, at: datetime, *, reported_by: str = "", note: str = "") -> Outcome:
    """Return an outcome that is reported at a moment."""
    return Outcome(result, f"{at.astimezone(UTC):%Y-%m-%d}", reported_by, " ".join(note.split())[:LONGEST_NOTE])


def read_outcome(written: str | None) -> Outcome | None:
    """Read the field of a memory; None if it is empty or cannot be read."""
    found = _WRITTEN.fullmatch(written) if written else None
    if found is None:
        return None
    result = next(one for one in RESULTS if one == found["result"])
    return Outcome(result, found["day"], found["by"] or "", found["note"] or "")


def given_outcome(reason: str, at: datetime) -> Outcome | None:
    """Return the outcome in a reason that begins with a result, as in `failed: the broker could not keep up`."""
    found = _GIVEN.fullmatch(reason)
    if found is None:
        return None
    result = next(one for one in RESULTS if one == found["result"].lower())
    return outcome_on(result, at, note=found["note"].strip(" ."))


def updated_outcome(decision: Memory, newer: Outcome) -> str | None:
    """Return the outcome of a decision after one more report, or None if that changes nothing.

    The later report counts, but `superseded` does not replace a warning, which says more.
    """
    known = read_outcome(decision.outcome)
    is_later = known is None or newer.day >= known.day
    return newer.written if is_later and _replaces(known, newer) else None


def combined_outcome(reports: Sequence[Outcome]) -> Outcome | None:
    """Return the outcome after several reports, the earliest first; the order of processing makes no difference."""
    known: Outcome | None = None
    for newer in reports:
        known = newer if _replaces(known, newer) else known
    return known


def _replaces(known: Outcome | None, newer: Outcome) -> bool:
    if known is None:
        return True
    return newer.result != known.result and not (newer.result == "superseded" and known.is_warning)


def joined_outcome(heir: Memory, others: tuple[Memory, ...]) -> str | None:
    """Return the outcome of merged memories: the heir's, or else the latest."""
    known = [o for one in others if (o := read_outcome(one.outcome)) is not None]
    return heir.outcome or (max(known, key=lambda one: one.day).written if known else None)
