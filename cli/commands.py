"""What each command of `reverie` does: open the store, call the tool, tell the result.

Everything heavy is imported by the command that needs it, after `load_tools`, which knows how to do so quickly.
"""

import asyncio
import os
import sys
from argparse import Namespace
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.cli.render import told_recalled, told_remembered, told_status
from reverie.cli.terminal import INTERRUPTED, give_up_on_stdout, note, say, say_json
from reverie.server.startup import load_tools
from reverie.settings import Settings, load_settings
from reverie.tools.requests import RecallRequest, RememberRequest, StatusRequest

if TYPE_CHECKING:
    from reverie.tools.session import Session


_TICK_SECONDS = 0.2

Command = Callable[[Settings, Namespace], Coroutine[Any, Any, int]]


def run(command: str, given: Namespace) -> int:
    """Run a command other than `serve` and return its exit code.

    Raises:
        ReverieError: telling what went wrong and what to try.
    """
    if command == "demo":
        from reverie.cli.demo import demo

        return asyncio.run(demo(as_json=given.json))
    load_tools()
    if command == "doctor":
        from reverie.cli.admin import run_doctor

        return asyncio.run(run_doctor(given))
    return _until_interrupted(_COMMANDS[command](load_settings(), given))


def _until_interrupted(work: Coroutine[Any, Any, int]) -> int:
    """Run a command; after Ctrl-C finish what has begun to be written, and leave at once.

    A thread that thinks or embeds cannot be stopped, and nobody waits for its result: an orderly exit would.
    """
    with asyncio.Runner() as runner:
        try:
            return runner.run(_awake(work))
        except KeyboardInterrupt:
            dreaming = sys.modules.get("reverie.tools.consolidate")
            if dreaming is not None:
                runner.run(dreaming.until_written())
            note("")
            give_up_on_stdout()
            os._exit(INTERRUPTED)


async def _awake(work: Coroutine[Any, Any, int]) -> int:
    """Run a command on a loop that wakes up often: a signal that comes just before it sleeps would wait for it."""

    loop = asyncio.get_running_loop()
    ticking: asyncio.Handle

    def tick() -> None:
        nonlocal ticking
        ticking = loop.call_later(_TICK_SECONDS, tick)

    tick()
    try:
        return await work
    finally:
        ticking.cancel()


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator["Session"]:
    """Open the store for one command; whatever happens, what waits to be written is written."""
    from reverie.tools.session import Session

    session = await Session.open(settings, folder=Path.cwd())
    try:
        yield session
    finally:
        await session.close()


async def _status(settings: Settings, given: Namespace) -> int:
    from reverie.tools.status import status

    async with opened(settings) as session:
        await session.warm()
        result = await status(session, StatusRequest())
    if given.json:
        say_json(result)
    else:
        say(*told_status(result))
    return 0


async def _remember(settings: Settings, given: Namespace) -> int:
    from reverie.cli.files import text_from_stdin
    from reverie.tools.remember import remember

    request = RememberRequest(
        content=text_from_stdin() if given.text == "-" else given.text,
        layer=given.layer,
        kind=given.kind,
        title=given.title,
        tags=given.tags,
        importance=given.importance,
        confidence=given.confidence,
        source=given.source,
        files=given.files,
        project=given.project,
        happened_at=given.happened_at,
        forget_after=given.forget_after,
        tier=given.tier,
        pin=given.pin,
        supersedes=given.supersedes,
        valence=given.valence,
    )
    async with opened(settings) as session:
        result = await remember(session, request)
    if given.json:
        say_json(result)
    else:
        say(*told_remembered(result))
    return 0


async def _recall(settings: Settings, given: Namespace) -> int:
    from reverie.tools.recall import recall

    request = RecallRequest(
        query=given.query,
        limit=given.limit,
        max_tokens=given.max_tokens,
        layers=given.layers,
        kinds=given.kinds,
        tags=given.tags,
        project=given.project,
        all_projects=given.all_projects,
        since=given.since,
        before=given.before,
        as_of=given.as_of,
        min_strength=given.min_strength,
        include=given.include,
        explain=given.explain,
    )
    async with opened(settings) as session:
        await session.warm()
        result = await recall(session, request)
        if given.json:
            say_json(result)
        else:
            say(*told_recalled(result))
    return 0


async def _reembed(settings: Settings, given: Namespace) -> int:
    from reverie.cli.admin import run_reembed

    return await run_reembed(settings, given)


async def _dream(settings: Settings, given: Namespace) -> int:
    from reverie.cli.dreams import run_dream

    async with opened(settings) as session:
        await session.warm()
        return await run_dream(session, given)


async def _curves(settings: Settings, given: Namespace) -> int:
    from reverie.cli.plots import run_curves

    return await run_curves(settings, given, opened)


async def _forecast(settings: Settings, given: Namespace) -> int:
    from reverie.cli.plots import run_forecast

    return await run_forecast(settings, given, opened)


def _in_store(module: str, function: str) -> Command:
    """Return a command that opens the store and leaves the rest to a module of its own, imported only then."""

    async def command(settings: Settings, given: Namespace) -> int:
        run: Callable[[Session, Namespace], Awaitable[int]]
        run = getattr(import_module(f"reverie.cli.{module}"), function)
        async with opened(settings) as session:
            return await run(session, given)

    return command


_COMMANDS: Mapping[str, Command] = {
    "status": _status,
    "remember": _remember,
    "recall": _recall,
    "export": _in_store("files", "run_export"),
    "import": _in_store("files", "run_import"),
    "purge": _in_store("admin", "run_purge"),
    "quarantine": _in_store("admin", "run_quarantine"),
    "audit": _in_store("admin", "run_audit"),
    "projects": _in_store("projects", "run_projects"),
    "reembed": _reembed,
    "dream": _dream,
    "dreams": _in_store("dreams", "run_dreams"),
    "curves": _curves,
    "forecast": _forecast,
    "index": _in_store("code", "run_index"),
    "drift": _in_store("code", "run_drift"),
}
