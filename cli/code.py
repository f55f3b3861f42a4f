"""The commands that look at the code: `reverie index` and `reverie drift`."""

import time
from argparse import Namespace
from typing import TYPE_CHECKING

from reverie.cli.terminal import Progress, columns, counted, say, say_json
from reverie.recall.results import freshness_word
from reverie.tools.drift import drift
from reverie.tools.index_codebase import index_codebase
from reverie.tools.requests import IndexRequest

if TYPE_CHECKING:
    from reverie.tools.results import Drifted, Indexed
    from reverie.tools.session import Session


async def run_index(session: "Session", given: Namespace) -> int:
    """Scan a project and say what was written."""
    bar = Progress("Indexing")
    started = time.perf_counter()

    async def show(done: int, total: int, message: str) -> None:
        bar.show(done / (total or 1), f"{done // 2:,} of {total // 2:,} files")

    try:
        result = await index_codebase(
            session,
            IndexRequest(path=given.path, project=given.project, max_files=given.max_files),
            show,
        )
    finally:
        bar.done()
    if given.json:
        say_json(result)
    else:
        say(*_told_index(result, time.perf_counter() - started))
    return 0


async def run_drift(session: "Session", given: Namespace) -> int:
    """Check the evidence of this project's memories and tell what no longer holds."""
    result = await drift(session, dry_run=given.dry_run)
    if given.json:
        say_json(result)
    else:
        say(*_told_drift(result))
    return 0


def _told_index(result: "Indexed", seconds: float) -> list[str]:
    lines = [
        f"Indexed {counted(result.files, 'file')} with {counted(result.symbols, 'definition')} of {result.project} "
        f"in {seconds:.1f} s: {result.memories:,} new, {result.updated:,} updated, {result.removed:,} removed."
    ]
    if result.skipped:
        lines.append(
            "Left out: " + ", ".join(f"{count:,} {reason}" for reason, count in result.skipped.items()) + "."
        )
    return lines


def _told_drift(result: "Drifted") -> list[str]:
    if not result.checked:
        return ["No memory of this project names code that is here."]
    found = ", ".join(
        f"{count:,} {freshness_word(freshness)}" for freshness, count in sorted(result.freshness.items())
    )
    lines = [f"Checked {counted(result.checked, 'memory')}: {found}."]
    rows = [(row.id, freshness_word(row.freshness), row.action, row.evidence or row.title) for row in result.memories]
    lines += columns(rows) if rows else []
    if result.dry_run:
        lines.append("Nothing was changed.")
    elif result.drift_id:
        lines.append(f"To take this back: restore with dream_id={result.drift_id}.")
    return lines
