"""The long unbroken runs of a text, where tokens are: a small part of prose and code, searched for all the rest."""

import re
from bisect import bisect_right
from dataclasses import dataclass

_RUN = re.compile(r"[A-Za-z0-9_\-.:/~=+$!%@?&;]{16,}")


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs on lines of their own, and where each began in the text."""

    text: str
    _starts: list[int]
    _origins: list[int]

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Return where a stretch of a run stands in the text."""
        number = bisect_right(self._starts, start) - 1
        shift = self._origins[number] - self._starts[number]
        return start + shift, end + shift


def runs_of(text: str) -> Runs:
    """Collect the runs of a text that are long enough to hold a token."""
    parts: list[str] = []
    starts: list[int] = []
    origins: list[int] = []
    length = 0
    for run in _RUN.finditer(text):
        parts.append(run[0])
        starts.append(length)
        origins.append(run.start())
        length += len(run[0]) + 1
    return Runs("\n".join(parts), starts, origins)
