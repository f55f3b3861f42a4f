"""`reverie projects`: listing projects, renaming and merging them, moving memories between them."""

import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.cli.terminal import columns, counted, note, say, say_json
from reverie.codebase.folder_identity import mark_folder
from reverie.errors import InvalidInput
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

if TYPE_CHECKING:
    from reverie.tools.session import Session


_TAKES = {
    "list": (0, 0, ""),
    "rename": (1, 2, "[OLD] NEW"),
    "merge": (1, 2, "FROM [INTO]"),
    "move": (2, 101, "ID... PROJECT"),
    "undo": (1, 1, "ID"),
    "mark": (0, 1, "[NAME]"),
}


async def run_projects(session: "Session", given: Namespace) -> int:
    """Do what was asked with projects; anything that changes memories is shown first and asked about."""
    session.all_projects = True  # the command is about all of them
    action, arguments = given.action, given.arguments
    fewest, most, takes = _TAKES[action]
    if not fewest <= len(arguments) <= most:
        raise InvalidInput("arguments", f"{action} takes {takes or 'none'}", f"`reverie projects {action} {takes}`")
    match action:
        case "list":
            return await _list(session, given)
        case "mark":
            return await _mark(session, given, arguments[0] if arguments else "")
        case "undo":
            return await _undo(session, given, arguments[0])
        case _:
            return await _regroup(session, given)


async def _list(session: "Session", given: Namespace) -> int:
    listed = await list_projects(session)
    if given.json:
        say_json(as_plain(listed))
        return 0
    say(*columns([("project", "memories", "also known as"), *map(_row, listed)]))
    say(*(f"note: {look_alike(one)}" for one in session.recognised.alike))
    return 0


def _row(one: Listed) -> tuple[str, str, str]:
    name = f"{one.name} (here)" if one.is_here else one.name
    return name, f"{sum(one.memories.values()):,}", ", ".join([*one.aliases, *one.remotes])


async def _regroup(session: "Session", given: Namespace) -> int:
    planned = await _done(session, given, dry_run=True)
    told = f"{counted(planned.memories, 'memory')} of {', '.join(planned.source) or 'no project'} to {planned.target}"
    if given.dry_run:
        _tell(given, planned, f"Would take {told}.")
        return 0
    if not given.yes and not _agrees(f"Take {told}?"):
        note("Nothing was changed. Add --yes to do it without being asked, --dry-run to only look.")
        return 1
    result = await _done(session, given, dry_run=False)
    undo = f" `reverie projects undo {result.change_id}` takes it back." if result.change_id else ""
    _tell(given, result, f"Took {told}.{undo}")
    return 0


async def _done(session: "Session", given: Namespace, *, dry_run: bool) -> Regrouped:
    *first, last = given.arguments
    match given.action:
        case "rename":
            return await rename(session, first[0] if first else "", last, dry_run=dry_run)
        case "merge":
            return await merge(session, given.arguments[0], last if first else "", dry_run=dry_run)
        case _:
            return await move_memories(session, first, last, dry_run=dry_run)


async def _undo(session: "Session", given: Namespace, change_id: str) -> int:
    if given.dry_run or not (given.yes or _agrees(f"Take back {change_id}?")):
        note("Nothing was changed. Add --yes to do it without being asked.")
        return 0 if given.dry_run else 1
    undone = await undo_change(session, change_id)
    if given.json:
        say_json({"change_id": change_id, "memories": undone})
    else:
        say(f"Took back {counted(undone, 'memory')}.")
    return 0


async def _mark(session: "Session", given: Namespace, name: str) -> int:
    folder = session.seen.root or Path.cwd()
    if session.seen.commit is not None or session.seen.remotes:
        raise InvalidInput("mark", f"{folder} is a git repository, which has an identity", "Rename it if you like.")
    if given.dry_run or not (given.yes or _agrees(f"Write {folder / '.reverie'}?")):
        note(f"Nothing was written. Add --yes to write {folder / '.reverie'}.")
        return 0 if given.dry_run else 1
    mark_folder(folder, name)
    await session.change_folder(folder)  # so that the store knows the marker before the folder is moved
    if given.json:
        say_json({"file": str(folder / ".reverie"), "project": session.here.project})
    else:
        say(f"{folder} is known by its marker now, wherever it is moved.")
    return 0


def _tell(given: Namespace, result: Regrouped, sentence: str) -> None:
    if given.json:
        say_json(as_plain(result))
    else:
        say(sentence)


def _agrees(question: str) -> bool:
    """Ask the person at the terminal; where there is none, the answer is no."""
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().casefold() in ("y", "yes")
