"""`reverie audit`: whether the journal is as it was written, and what it says."""

import json
from argparse import Namespace
from dataclasses import asdict
from typing import TYPE_CHECKING

from reverie.errors import AmbiguousId, InvalidInput, MemoryNotFound
from reverie.guard.fence import harmless_line
from reverie.identity import SHORTEST_PREFIX
from reverie.memory import Memory
from reverie.server.terminal import counted, say, say_json
from reverie.storage.audit import Audit, accept, audit
from reverie.tools.arguments import checked_number

if TYPE_CHECKING:
    from reverie.storage.journal import Row
    from reverie.tools.workspace import Workspace

_LONGEST_REASON = 60
_IDS_AT_ONCE = 500


async def run_audit(workspace: "Workspace", given: Namespace) -> int:
    """Follow the chain of events, compare the rows with it, and print the last events; 1 if something was tampered
    with. With `--accept` the person takes the store as it is."""
    most = int(checked_number("last", given.last, 1, 1_000_000))
    journal = workspace.store.journal
    if given.accept:
        return await _accept(workspace, given)
    found = await audit(workspace.store)
    rows = await journal.rows()
    workspace.all_projects = given.all_projects
    last = await _in_scope(workspace, rows)
    if given.about:
        last = _about(last, given.about)
    last = last[-most:]
    if given.json:
        say_json({**asdict(found), "intact": found.intact, "last": last})
    else:
        elsewhere = [] if given.all_projects else ["Shown is this project; --all-projects shows all."]
        say(*map(_told_event, last), *([""] if last else []), *_told(found), *elsewhere)
    return 0 if found.intact else 1


async def _accept(workspace: "Workspace", given: Namespace) -> int:
    found = await accept(workspace.store, actor="audit", at=workspace.now)
    if given.json:
        say_json({**asdict(found), "intact": found.intact, "accepted": True})
    else:
        say(
            *(f"- {fault}" for fault in found.faults),
            f"Accepted as it is, with {counted(len(found.faults), 'fault')}; the journal says so."
            if found.faults
            else "There was nothing to accept but the present state; the journal says so.",
        )
    return 0


async def _in_scope(workspace: "Workspace", rows: "list[Row]") -> "list[Row]":
    """Leave out what happened to memories of other projects, also to those that are no longer there."""
    if workspace.all_projects:
        return rows
    ids = list(dict.fromkeys(row["memory_id"] for row in rows if row["memory_id"]))
    memories: dict[str, Memory] = {}
    for start in range(0, len(ids), _IDS_AT_ONCE):
        memories |= await workspace.store.get(ids[start : start + _IDS_AT_ONCE])
    projects = {memory.id: memory.project for memory in memories.values()}
    for row in rows:  # of what is gone its own events tell whose it was
        told = json.loads(row["after"]).get("project") or json.loads(row["before"]).get("project")
        if told and row["memory_id"] not in memories:
            projects[row["memory_id"]] = told
    hidden = {one for one, project in projects.items() if not workspace.sees_project(project)}
    return [row for row in rows if row["memory_id"] not in hidden]


def _about(rows: "list[Row]", given: str) -> "list[Row]":
    """Return the events of the one memory that an id names, which may be gone by now."""
    ids = {row["memory_id"] for row in rows if row["memory_id"]}
    found = [given] if given in ids else sorted(one for one in ids if one.startswith(given))
    if found != [given] and len(given) < SHORTEST_PREFIX:
        raise InvalidInput("--about", f"{given!r} is too short", f"Give at least {SHORTEST_PREFIX} characters.")
    if not found:
        raise MemoryNotFound(given)
    if len(found) > 1:
        raise AmbiguousId(given, found)
    return [row for row in rows if row["memory_id"] == found[0]]


def _told(found: Audit) -> list[str]:
    unchecked = [f"Not checked: {reason}." for reason in found.unchecked]
    if not found.intact:
        return [
            "The store was tampered with:",
            *(f"- {fault}" for fault in found.faults),
            *unchecked,
            "If you did it on purpose, as by restoring a backup, `reverie audit --accept` takes the store as it is.",
        ]
    lines = [
        f"The journal is as it was written: {counted(found.events, 'event')}, each linked to the one before.",
        f"{counted(found.memories, 'memory')} as the last event about each left it.",
    ]
    if found.folded:
        lines.append(
            f"{counted(found.folded, 'earlier event')} that replaced nothing were folded away after 90 days."
        )
    if found.purged:
        lines.append(f"{counted(found.purged, 'event')} had their texts removed by a purge.")
    lines += unchecked
    return [*lines, f"Its last link is {found.head.number} {found.head.hash}: note it elsewhere to compare later."]


def _told_event(row: "Row") -> str:
    reason = harmless_line(row["reason"] or "")[:_LONGEST_REASON]
    what = f"{row['number']:>6}  {row['at'][:19]}  {row['action']:<12} {row['memory_id']:<18} by {row['actor']}"
    return f"{what}: {reason}" if reason else what
