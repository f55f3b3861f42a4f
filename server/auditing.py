"""`reverie audit`: whether the journal is as it was written, and what it says."""

from argparse import Namespace
from dataclasses import asdict
from typing import TYPE_CHECKING

from reverie.guard.fence import harmless_line
from reverie.server.terminal import counted, say, say_json
from reverie.storage.audit import Audit, audit
from reverie.tools.arguments import checked_number

if TYPE_CHECKING:
    from reverie.storage.journal import Row
    from reverie.tools.workspace import Workspace

_LONGEST_REASON = 60


async def run_audit(workspace: "Workspace", given: Namespace) -> int:
    """Follow the chain of events and print the last of them; 1 if somebody has tampered with it."""
    most = int(checked_number("last", given.last, 1, 1_000_000))
    journal = workspace.store.journal
    found = await audit(journal)
    rows = await journal.rows()
    about = [row for row in rows if not given.about or row["memory_id"].startswith(given.about)]
    last = about if given.all_projects else await _of_this_project(workspace, about, given.about)
    last = last[-most:]
    if given.json:
        say_json({**asdict(found), "intact": found.intact, "last": last})
    else:
        elsewhere = [] if given.all_projects else ["Shown is this project; --all-projects shows all."]
        say(*map(_told_event, last), *([""] if last else []), *_told(found), *elsewhere)
    return 0 if found.intact else 1


async def _of_this_project(workspace: "Workspace", rows: "list[Row]", named: str) -> "list[Row]":
    """Leave out what happened to memories of other projects, unless one is named whole."""
    memories = await workspace.store.get(list(dict.fromkeys(row["memory_id"] for row in rows if row["memory_id"])))
    seen = workspace.visible_from(workspace.here.project)
    hidden = {memory.id for memory in memories.values() if memory.project not in seen and memory.id != named}
    return [row for row in rows if row["memory_id"] not in hidden]


def _told(found: Audit) -> list[str]:
    if not found.intact:
        return ["The journal was tampered with:", *(f"- {fault}" for fault in found.faults)]
    lines = [f"The journal is as it was written: {counted(found.events, 'event')}, each linked to the one before."]
    if found.folded:
        lines.append(f"The first {found.folded:,} were folded into a summary after 90 days.")
    if found.purged:
        lines.append(f"{counted(found.purged, 'event')} had their texts removed by a purge.")
    return [*lines, f"Its last link is {found.head.number} {found.head.hash}: note it elsewhere to compare later."]


def _told_event(row: "Row") -> str:
    reason = harmless_line(row["reason"] or "")[:_LONGEST_REASON]
    what = f"{row['number']:>6}  {row['at'][:19]}  {row['action']:<12} {row['memory_id']:<18} by {row['actor']}"
    return f"{what}: {reason}" if reason else what
