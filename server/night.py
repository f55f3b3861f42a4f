"""The other end of apart.py: dream once as the first line on stdin asks, and tell of it line by line on stdout."""

import asyncio
import contextlib
import json
import os
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.errors import ReverieError
from reverie.moments import parse_iso
from reverie.server.parts import load_tools
from reverie.settings import Settings

if TYPE_CHECKING:
    from reverie.tools.results import Consolidated

_NICER = 5
"""A dream takes what processor time the sessions leave."""


def main() -> int:
    """Dream once and return the exit code."""
    if hasattr(os, "nice"):  # Windows has no such thing
        os.nice(_NICER)
    request = json.loads(sys.stdin.buffer.readline())
    load_tools()
    return asyncio.run(_dream_while_wanted(request))


async def _dream_while_wanted(request: dict[str, Any]) -> int:
    from reverie.tools.consolidate import until_written

    dreaming = asyncio.create_task(_dreamt(request))
    _cancel_when_left(dreaming, asyncio.get_running_loop())
    try:
        _say({"told": asdict(await dreaming)})
    except ReverieError as error:
        _say({"error": type(error).__name__, "message": str(error)})
    except asyncio.CancelledError:
        await until_written()
        os._exit(0)  # a thread may still be thinking, and nobody wants to know
    return 0


async def _dreamt(request: dict[str, Any]) -> "Consolidated":
    from reverie.tools.consolidate import consolidate
    from reverie.tools.workspace import Workspace

    settings = request["settings"]
    price = settings["llm_price"]
    workspace = await Workspace.open(
        Settings(**{**settings, "llm_price": tuple(price) if price else None}), folder=Path(request["folder"])
    )
    try:
        since = request["unless_since"]
        return await consolidate(
            workspace,
            **request["wanted"],
            unless_since=parse_iso(since, "unless_since") if since else None,
            tell=_tell,
        )
    finally:
        await workspace.close()


async def _tell(done: int, total: int, message: str) -> None:
    _say({"stage": [done, total, message]})


def _say(what: dict[str, Any]) -> None:
    """Write a line; that nobody reads it any more is told by stdin."""
    try:
        sys.stdout.write(json.dumps(what) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        return


def _cancel_when_left(dreaming: "asyncio.Task[Consolidated]", loop: asyncio.AbstractEventLoop) -> None:
    """Cancel the dream when stdin ends: the session that wanted it has gone, or has thought better of it."""

    def watch() -> None:
        while os.read(0, 1):
            pass
        with contextlib.suppress(RuntimeError):  # the loop is closed: all is told
            loop.call_soon_threadsafe(dreaming.cancel)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    raise SystemExit(main())
