"""The commands that look at the code: `reverie index` and `reverie drift`."""

import time
from typing import TYPE_CHECKING

from reverie.cli.commands import Options
from reverie.cli.requests import DriftRequest
from reverie.cli.terminal import DONE, Progress, columns, counted, say, say_json
from reverie.recall.results import freshness_word
from reverie.tools import catalog
from reverie.tools.drift import drift
from reverie.tools.requests import IndexRequest

if TYPE_CHECKING:
    from reverie.tools.results import Drifted, Indexed
    from reverie.tools.session import Session


async def run_index(session: "Session", request: IndexRequest, options: Options) -> int:
    """Scan a project and say what was written."""
    bar = Progress("Indexing")
    started = time.perf_counter()

    async def show(done: int, total: int, _message: str) -> None:
        bar.show(done / (total or 1), f"{done // 2:,} of {total // 2:,} files")

    try:
        result = await catalog.call(catalog.INDEX_CODEBASE, session, request, show)
    finally:
        bar.done()
    if options.json:
        say_json(result)
    else:
        say(*_index_lines(result, time.perf_counter() - started))
    return DONE


async def run_drift(session: "Session", request: DriftRequest, options: Options) -> int:
    """Check the evidence of this project's memories and report what no longer holds."""
    result = await drift(session, dry_run=request.dry_run)
    if options.json:
        say_json(result)
    else:
        say(*_drift_lines(result))
    return DONE


def _index_lines(result: "Indexed", seconds: float) -> list[str]:
    lines = [
        f"Indexed {counted(result.files, 'file')} with {counted(result.symbols, 'definition')} of {result.project} "
        f"in {seconds:.1f} s: {result.memories:,} new, {result.updated:,} updated, {result.removed:,} removed."
    ]
    if result.skipped:
        lines.append(
            "Left out: " + ", ".join(f"{count:,} {reason}" for reason, count in result.skipped.items()) + "."
        )
    return lines


def _drift_lines(result: "Drifted") -> list[str]:
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
        lines.append(f"`reverie restore --dream-id {result.drift_id}` undoes this.")
    return lines
