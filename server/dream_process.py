"""A dream in a process of its own, so that recall does not wait for the interpreter lock: both ends of the pipe."""

import asyncio
import contextlib
import json
import os
import sys
import threading
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.errors import EmbedderError, ReverieError, StoreBusy, StoreError, StoreUnavailable
from reverie.lifecycle.expiry import LIVING
from reverie.parameters import Parameters
from reverie.server.engine import load_tools
from reverie.settings import Settings
from reverie.storage.filters import one_of
from reverie.storage.scope import Viewer
from reverie.time import iso, parse_iso
from reverie.tools.catalog import Progress, ignore_progress
from reverie.tools.consolidate import consolidate, note_own
from reverie.tools.requests import ConsolidateRequest
from reverie.tools.results import Consolidated, Skipped, StepDone
from reverie.tools.session import Session

if TYPE_CHECKING:
    from reverie.tools.results import Consolidated


FEWEST_FOR_A_PROCESS = 2_000
"""With fewer memories a dream takes about a second, and runs in this process."""

_LONGEST_LINE = 64 * 1024 * 1024
_ERRORS_BY_NAME: dict[str, type[ReverieError]] = {
    kind.__name__: kind for kind in (StoreBusy, StoreUnavailable, EmbedderError)
}

_ending: set["asyncio.Task[int]"] = set()


async def consolidate_in_process(
    session: Session,
    request: ConsolidateRequest,
    progress: Progress = ignore_progress,
    *,
    unless_since: datetime | None = None,
    fewest: int = FEWEST_FOR_A_PROCESS,
) -> Consolidated:
    """Run one dream, in another process if the store is large; otherwise as `consolidate` does.

    Raises:
        StoreBusy: if another session is dreaming.
        StoreError: if the store cannot be read or written, or the process died.
    """
    process = None
    if await session.store.count(one_of("status", LIVING)) >= fewest:
        process = await _start(session)
    if process is None:
        return await consolidate(session, request, progress, unless_since=unless_since)
    try:
        await session.accesses.keep()  # the other process counts what this session has just recalled
        result = await _result_from(process, _message(session, request, unless_since), progress)
    finally:
        _release(process)
    if not request.dry_run:
        session.maintenance.note_write()
        for dream_id in filter(None, (result.dream_id, result.personal_dream_id)):
            note_own(session, dream_id, unless_since)
    return result


async def _start(session: Session) -> asyncio.subprocess.Process | None:
    """Start the other process, or return None if the system refuses."""
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # else a folder `reverie` in the user's project would be imported
            "-m",
            "reverie.server.dream_process",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            cwd=session.settings.domain_folder,  # the session's folder may be gone
            limit=_LONGEST_LINE,
            start_new_session=os.name == "posix",  # Ctrl-C is for us; the other process watches the pipe
        )
    except OSError:
        return None


def _message(session: Session, request: ConsolidateRequest, unless_since: datetime | None) -> dict[str, Any]:
    settings = replace(session.settings, clock=iso(session.now))
    return {
        "settings": asdict(settings),
        "folder": str(session.folder),
        "session": session.store.session,  # the journal names who asked for the dream
        "person": session.person,
        "owners": _listed(session.store.viewer.owners),  # whose personal memories it is about
        "projects": _listed(session.store.viewer.projects),
        "request": asdict(request),
        "unless_since": iso(unless_since) if unless_since else None,
    }


def _listed(names: frozenset[str | None] | frozenset[str] | None) -> list[str | None] | None:
    return None if names is None else list(names)


async def _result_from(
    process: asyncio.subprocess.Process, message: dict[str, Any], progress: Progress
) -> Consolidated:
    assert process.stdin is not None  # noqa: S101 - it was asked for
    assert process.stdout is not None  # noqa: S101 - as was this
    process.stdin.write(json.dumps(message).encode() + b"\n")
    async for line in process.stdout:
        match _read(line):
            case {"stage": [int(done), int(total), str(stage)]}:
                await progress(done, total, stage)
            case {"error": str(kind), "message": str(problem)}:
                raise _ERRORS_BY_NAME.get(kind, StoreError)(problem)
            case {"result": dict(result)}:
                return consolidated_from(result)
    raise StoreError(
        f"The process of the dream ended without a result (exit code {await process.wait()}). The next dream undoes "
        "what it left half written; try again, or run `reverie dream` to see the error."
    )


def _read(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None  # something that a library printed


def consolidated_from(values: dict[str, Any]) -> Consolidated:
    """Return the result that was sent through the pipe as plain values."""
    steps = [
        StepDone(**{**step, "skipped": [Skipped(**skipped) for skipped in step["skipped"]]})
        for step in values["steps"]
    ]
    return Consolidated(**{**values, "steps": steps})


def _release(process: asyncio.subprocess.Process) -> None:
    """Close its stdin, which ends the process, and collect its exit code in the background."""
    assert process.stdin is not None  # noqa: S101 - it was asked for
    process.stdin.close()
    ending = asyncio.create_task(process.wait())
    _ending.add(ending)
    ending.add_done_callback(_ending.discard)


_NICENESS = 5
"""Sessions get the processor first."""


def main() -> int:
    """Dream once and return the exit code."""
    if hasattr(os, "nice"):  # Windows has no such thing
        os.nice(_NICENESS)
    request = json.loads(sys.stdin.buffer.readline())
    load_tools()
    return asyncio.run(_dream_until_cancelled(request))


async def _dream_until_cancelled(request: dict[str, Any]) -> int:
    from reverie.tools.consolidate import until_written

    dreaming = asyncio.create_task(_dream(request))
    _cancel_when_stdin_ends(dreaming, asyncio.get_running_loop())
    try:
        _send({"result": asdict(await dreaming)})
    except ReverieError as error:
        _send({"error": type(error).__name__, "message": str(error)})
    except asyncio.CancelledError:
        await until_written()
        os._exit(0)  # do not wait for the thread that plans
    return 0


def _settings_from(sent: dict[str, Any]) -> Settings:
    """Return the settings as they were before they were written as JSON."""
    price, parameters = sent["llm_price"], Parameters(**sent["parameters"])
    return Settings(**{**sent, "llm_price": tuple(price) if price else None, "parameters": parameters})


async def _dream(request: dict[str, Any]) -> "Consolidated":
    from reverie.tools.consolidate import consolidate
    from reverie.tools.session import Session

    session = await Session.open(_settings_from(request["settings"]), folder=Path(request["folder"]))
    owners, projects = request["owners"], request["projects"]
    viewer = Viewer(None if owners is None else frozenset(owners), None if projects is None else frozenset(projects))
    session.store, session.person = session.store.for_session(request["session"], viewer), request["person"]
    try:
        since = request["unless_since"]
        return await consolidate(
            session,
            ConsolidateRequest(**request["request"]),
            _send_progress,
            unless_since=parse_iso(since, "unless_since") if since else None,
        )
    finally:
        await session.close()


async def _send_progress(done: int, total: int, message: str) -> None:
    _send({"stage": [done, total, message]})


def _send(what: dict[str, Any]) -> None:
    """Write a line; if nobody reads it, the end of stdin cancels the dream."""
    try:
        sys.stdout.write(json.dumps(what) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        return


def _cancel_when_stdin_ends(dreaming: "asyncio.Task[Consolidated]", loop: asyncio.AbstractEventLoop) -> None:
    """Cancel the dream when stdin ends: the session that asked for it has ended or was cancelled."""

    def watch_stdin() -> None:
        while os.read(0, 1):
            pass
        with contextlib.suppress(RuntimeError):  # the loop is closed: the result is sent
            loop.call_soon_threadsafe(dreaming.cancel)

    threading.Thread(target=watch_stdin, daemon=True).start()


if __name__ == "__main__":
    raise SystemExit(main())
