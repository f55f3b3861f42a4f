"""A dream in a process of its own, so that a recall of this one does not wait for its turn with the interpreter.

The two speak in lines of JSON over the child's pipes. The child's stdin stays open for as long as the dream is
wanted: when it closes, because the caller cancelled or this process died, the child stops thinking or finishes
writing. A small store is dreamt about here: that takes less time than starting a process.
"""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from reverie.dream.cycle import Tell, say_nothing
from reverie.errors import EmbedderError, ReverieError, StoreBusy, StoreError, StoreUnavailable
from reverie.lifecycle.lasting import LIVING
from reverie.moments import iso
from reverie.storage.filters import one_of
from reverie.tools.consolidate import BUDGET_CENTS, check_arguments, consolidate, note_own
from reverie.tools.results import Consolidated, Skipped, StepDone
from reverie.tools.workspace import Workspace

FEWEST_APART = 2_000
"""Of fewer memories a dream thinks for about a second."""

_LONGEST_LINE = 64 * 1024 * 1024
_TOLD_AS_THEY_ARE: dict[str, type[ReverieError]] = {
    kind.__name__: kind for kind in (StoreBusy, StoreUnavailable, EmbedderError)
}

_leaving: set["asyncio.Task[int]"] = set()


async def consolidate_apart(
    workspace: Workspace,
    *,
    dry_run: bool = False,
    steps: Sequence[str] = (),
    project: str = "",
    budget_cents: float = BUDGET_CENTS,
    unless_since: datetime | None = None,
    tell: Tell = say_nothing,
    fewest: int = FEWEST_APART,
) -> Consolidated:
    """Run one dream, in another process if the store is large; otherwise as `consolidate` does.

    Raises:
        InvalidInput: if an argument is wrong.
        StoreBusy: if another session is dreaming.
        StoreError: if the store cannot be read or written, or the process died.
    """
    check_arguments(steps, project, budget_cents)
    wanted: dict[str, Any] = {"dry_run": dry_run, "steps": list(steps), "project": project}
    wanted["budget_cents"] = budget_cents
    process = None
    if await workspace.store.count(one_of("status", LIVING)) >= fewest:
        process = await _started(workspace)
    if process is None:
        return await consolidate(workspace, **wanted, unless_since=unless_since, tell=tell)
    try:
        await workspace.accesses.keep()  # the other process counts what this session has just been served
        told = await _told(process, _request(workspace, wanted, unless_since), tell)
    finally:
        _let_go(process)
    if not dry_run:
        workspace.upkeep.note_write()
        note_own(workspace, told.dream_id, unless_since)
    return told


async def _started(workspace: Workspace) -> asyncio.subprocess.Process | None:
    """Start the other process, or return None where the system does not let us."""
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # or a folder `reverie` of the user's project would be taken for us
            "-m",
            "reverie.server.night",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            cwd=workspace.settings.home,  # the session's folder may be gone by now
            limit=_LONGEST_LINE,
            start_new_session=os.name == "posix",  # Ctrl-C is for us; the pipe tells the other
        )
    except OSError:
        return None


def _request(workspace: Workspace, wanted: dict[str, Any], unless_since: datetime | None) -> dict[str, Any]:
    settings = replace(workspace.settings, clock=iso(workspace.now))
    return {
        "settings": asdict(settings),
        "folder": str(workspace.folder),
        "wanted": wanted,
        "unless_since": iso(unless_since) if unless_since else None,
    }


async def _told(process: asyncio.subprocess.Process, request: dict[str, Any], tell: Tell) -> Consolidated:
    assert process.stdin is not None  # noqa: S101 - it was asked for
    assert process.stdout is not None  # noqa: S101 - as was this
    process.stdin.write(json.dumps(request).encode() + b"\n")
    async for line in process.stdout:
        match _read(line):
            case {"stage": [int(done), int(total), str(message)]}:
                await tell(done, total, message)
            case {"error": str(kind), "message": str(message)}:
                raise _TOLD_AS_THEY_ARE.get(kind, StoreError)(message)
            case {"told": dict(told)}:
                return consolidated_from(told)
    raise StoreError(
        f"The process that dreamt ended without an answer (exit code {await process.wait()}). The next dream takes "
        "back what it may have left half written; try again, or run `reverie dream` to see what happens."
    )


def _read(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None  # a library's chatter


def consolidated_from(told: dict[str, Any]) -> Consolidated:
    """Return a result as it was before it went through the pipe."""
    steps = [
        StepDone(**{**step, "skipped": [Skipped(**skipped) for skipped in step["skipped"]]}) for step in told["steps"]
    ]
    return Consolidated(**{**told, "steps": steps})


def _let_go(process: asyncio.subprocess.Process) -> None:
    """Say that nobody waits any more, and see the process out without waiting for it here."""
    assert process.stdin is not None  # noqa: S101 - it was asked for
    process.stdin.close()
    leaving = asyncio.create_task(process.wait())
    _leaving.add(leaving)
    leaving.add_done_callback(_leaving.discard)
