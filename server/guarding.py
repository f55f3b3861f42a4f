"""`reverie purge` and `reverie quarantine`: removing for good, and deciding about what is held back."""

from argparse import Namespace
from dataclasses import asdict
from typing import TYPE_CHECKING

from reverie.server.terminal import counted, paragraph, say, say_json
from reverie.tools.forget import Request, forget
from reverie.tools.quarantine import Decided, Held, decide, held_memories
from reverie.tools.results import Forgotten

if TYPE_CHECKING:
    from reverie.tools.workspace import Workspace


async def run_purge(workspace: "Workspace", given: Namespace) -> int:
    """Remove memories for good, and tell what was left; 1 if nothing could be removed."""
    workspace.all_projects = given.all_projects
    result = await forget(workspace, Request(ids=given.ids, purge=True, dry_run=given.dry_run))
    if given.json:
        say_json(result)
    else:
        say(*_told_purge(result, given.ids))
    return 0 if result.forgotten else 1


async def run_quarantine(workspace: "Workspace", given: Namespace) -> int:
    """List what is held back, or release or forget some of it."""
    workspace.all_projects = given.all_projects
    if given.release or given.forget:
        decided = await decide(workspace, release=given.release, discard=given.forget, actor="quarantine")
        if given.json:
            say_json(decided)
        else:
            say(*_told_decided(decided))
        return 0
    held = await held_memories(workspace)
    if given.json:
        say_json([asdict(one) for one in held])
    else:
        say(*_told_held(held))
    return 0


def _told_purge(result: Forgotten, asked: list[str]) -> list[str]:
    verb = "Would remove" if result.dry_run else "Removed"
    lines = [f"{verb} {counted(len(result.forgotten), 'memory')} for good."]
    along = [memory_id for memory_id in result.forgotten if not memory_id.startswith(tuple(asked))]
    lines += [f"Goes along, written by a dream from them: {', '.join(along)}."] if along else []
    lines += [f"Left {item.id}: {item.reason}." for item in result.skipped]
    if result.forgotten and not result.dry_run:
        lines.append("Files that you exported earlier are yours to delete.")
    return lines


def _told_decided(decided: Decided) -> list[str]:
    done = {"Released": decided.released, "Forgotten": decided.forgotten}
    lines = [f"{word} {', '.join(ids)}." for word, ids in done.items() if ids]
    return [*lines, *(f"Left {item.id}: it {item.reason}." for item in decided.skipped)]


def _told_held(held: list[Held]) -> list[str]:
    if not held:
        return ["Nothing is held back."]
    lines: list[str] = []
    for one in held:
        why = " ".join(one.reason.split())
        lines += [f"{one.id}  from {one.source}, {one.created_at[:10]}: {why}", paragraph(one.content), ""]
    return [*lines, "`reverie quarantine --release ID` lets one be recalled; `--forget ID` lets it go."]
