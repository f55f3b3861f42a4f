"""`reverie projects`, and the commands that look at the code of a project: `reverie index` and `reverie drift`.

Projects are listed, renamed and merged, and memories move between them.
"""

import time
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.cli.commands import Options
from reverie.cli.requests import DriftRequest, ProjectsRequest
from reverie.cli.terminal import DONE, FAILED, Progress, agreed, columns, counted, say, say_json
from reverie.codebase.identity import mark_folder
from reverie.errors import InvalidInput
from reverie.recall.results import freshness_word
from reverie.tools import catalog
from reverie.tools.drift import drift
from reverie.tools.project_identity import look_alike
from reverie.tools.projects import (
    Listed,
    Regrouped,
    as_plain,
    list_projects,
    merge,
    move_memories,
    rename,
    undo_change,
)
from reverie.tools.requests import IndexRequest

if TYPE_CHECKING:
    from reverie.tools.results import Drifted, Indexed
    from reverie.tools.session import Session


_TAKES = {
    "list": (0, 0, ""),
    "rename": (1, 2, "[OLD] NEW"),
    "merge": (1, 2, "FROM [INTO]"),
    "move": (2, 101, "ID... PROJECT"),
    "undo": (1, 1, "ID"),
    "mark": (0, 1, "[NAME]"),
}


async def run_projects(session: "Session", request: ProjectsRequest, options: Options) -> int:
    """List or change projects; before memories change, show the change and ask."""
    session.all_projects = True  # the command is about all of them
    action = request.action
    fewest, most, takes = _TAKES[action]
    if not fewest <= len(request.names) <= most:
        raise InvalidInput("arguments", f"{action} takes {takes or 'none'}", f"`reverie projects {action} {takes}`")
    match action:
        case "list":
            return await _list(session, options)
        case "mark":
            return await _mark(session, request, options)
        case "undo":
            return await _undo(session, request, options)
        case _:
            return await _regroup(session, request, options)


async def _list(session: "Session", options: Options) -> int:
    listed = await list_projects(session)
    if options.json:
        say_json(as_plain(listed))
        return DONE
    say(*columns([("project", "memories", "also known as"), *map(_row, listed)]))
    say(*(f"note: {look_alike(one)}" for one in session.recognised.alike))
    return DONE


def _row(one: Listed) -> tuple[str, str, str]:
    name = f"{one.name} (here)" if one.is_here else one.name
    return name, f"{sum(one.memories.values()):,}", ", ".join([*one.aliases, *one.remotes])


async def _regroup(session: "Session", request: ProjectsRequest, options: Options) -> int:
    planned = await _regrouped(session, request, dry_run=True)
    change = (
        f"{counted(planned.memories, 'memory')} of {', '.join(planned.source) or 'no project'} to {planned.target}"
    )
    if request.dry_run:
        _print(options, planned, f"Would move {change}.")
        return DONE
    if not agreed(f"Would move {change}.", question="Do it?", yes=options.yes):
        return FAILED
    result = await _regrouped(session, request, dry_run=False)
    undo = f" `reverie projects undo {result.change_id}` undoes this." if result.change_id else ""
    _print(options, result, f"Moved {change}.{undo}")
    return DONE


async def _regrouped(session: "Session", request: ProjectsRequest, *, dry_run: bool) -> Regrouped:
    *first, last = request.names
    match request.action:
        case "rename":
            return await rename(session, first[0] if first else "", last, dry_run=dry_run)
        case "merge":
            return await merge(session, request.names[0], last if first else "", dry_run=dry_run)
        case _:
            return await move_memories(session, first, last, dry_run=dry_run)


async def _undo(session: "Session", request: ProjectsRequest, options: Options) -> int:
    [change_id] = request.names
    events = await session.store.journal.of_batch(change_id)
    plan = f"Would undo {change_id}, which changed {counted(len(events), 'memory')}."
    if request.dry_run:
        say(plan)
        return DONE
    if not agreed(plan, question="Do it?", yes=options.yes):
        return FAILED
    undone = await undo_change(session, change_id)
    if options.json:
        say_json({"change_id": change_id, "memories": undone})
    else:
        say(f"Undone for {counted(undone, 'memory')}.")
    return DONE


async def _mark(session: "Session", request: ProjectsRequest, options: Options) -> int:
    folder = session.seen.root or Path.cwd()
    if session.seen.commit is not None or session.seen.remotes:
        raise InvalidInput(
            "mark",
            f"{folder} is a git repository, which has an identity",
            "Use `reverie projects rename` to rename it.",
        )
    plan = f"Would write {folder / '.reverie'}."
    if request.dry_run:
        say(plan)
        return DONE
    if not agreed(plan, question="Do it?", yes=options.yes):
        return FAILED
    mark_folder(folder, request.names[0] if request.names else "")
    await session.change_folder(folder)  # the store must know the marker before the folder is moved
    if options.json:
        say_json({"file": str(folder / ".reverie"), "project": session.here.project})
    else:
        say(f"{folder} is recognised by its marker now, wherever it is moved.")
    return DONE


def _print(options: Options, result: Regrouped, sentence: str) -> None:
    if options.json:
        say_json(as_plain(result))
    else:
        say(sentence)


async def run_index(session: "Session", request: IndexRequest, options: Options) -> int:
    """Index a project, and report what was written."""
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
