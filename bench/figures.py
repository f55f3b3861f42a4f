"""Tables of figures, the page they are written to, and what benchmarks share."""

import os
import platform
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def machine() -> str:
    """Say where and when the figures were measured."""
    where = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return f"{datetime.now(UTC):%Y-%m-%d}, {where}"


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """Lay rows out as a Markdown table whose first row is the heading."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def write_between(name: str, text: str, page: Path = PAGE) -> None:
    """Write a text into a page, by default docs/benchmarks.md, between the markers of that name.

    Raises:
        ValueError: if the page has no such markers.
    """
    opening, closing = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, _, rest = page.read_text("utf-8").partition(opening)
    _, found, after = rest.partition(closing)
    if not found:
        raise ValueError(f"{page.name} has no {opening} … {closing}")
    page.write_text(f"{before}{opening}\n{text}\n{closing}{after}", "utf-8")


def resident_megabytes() -> float:
    """Return how much memory this process takes; on Linux alone."""
    with open("/proc/self/status", encoding="ascii") as file:
        [kilobytes] = [int(line.split()[1]) for line in file if line.startswith("VmRSS")]
    return kilobytes / 1024


def say(text: str) -> None:
    """Tell whoever waits how far a benchmark is."""
    print(f"… {text}", file=sys.stderr, flush=True)
