"""Runs one command: in the machine's engine, or with the store opened in this process.

The engine answers most commands; then nothing heavy is imported here, and no event loop runs. The other commands, and
all of them where there is no engine, open the store after `load_tools`, which knows how to import quickly.
"""

import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from reverie.cli.commands import Command, Options
from reverie.cli.terminal import INTERRUPTED, give_up_on_stdout, interruptible, note
from reverie.errors import InvalidInput
from reverie.server.endpoint import EngineUnavailable
from reverie.server.engine_client import EngineSession, store_taken_over
from reverie.settings import Settings, load_settings
from reverie.tools import requests
from reverie.tools.requests import Request

if TYPE_CHECKING:
    from reverie.tools.session import Session

_TICK_SECONDS = 0.2


def run(command: Command, values: dict[str, Any], options: Options) -> int:
    """Run a command and return its exit code.

    Raises:
        ReverieError: saying what went wrong and what to try.
        NobodyToAsk: if it asks before a change, and there is no terminal.
    """
    request = command.request(**_with_stdin(command.request, values))
    if _is_for_the_engine(command, request, options):
        load_settings()  # a wrong setting is an error here; no engine is started for it
        session = _engine_session(options)
        if session is not None:
            try:
                return _finished(_function(command)(session, request, options))
            finally:
                session.close()
    import asyncio

    from reverie.server.engine import load_tools

    if not command.loads_tools:
        return asyncio.run(_run(command, request, options))
    load_tools()
    return _until_interrupted(_run(command, request, options))


def _is_for_the_engine(command: Command, request: Request, options: Options) -> bool:
    purges = isinstance(request, requests.ForgetRequest) and request.purge  # it needs the store alone
    is_off = options.no_engine or os.environ.get("REVERIE_ENGINE", "").strip() == "off"
    return command.through_engine and not purges and not is_off


def _engine_session(options: Options) -> EngineSession | None:
    """Return a session in the engine, which is started if none runs; None if it cannot be reached."""
    try:
        session = EngineSession(os.environ, os.getcwd(), all_projects=options.all_projects)
        session.connect()
    except (EngineUnavailable, OSError):
        return None
    return session


def _finished(work: Coroutine[Any, Any, int]) -> int:
    """Run a coroutine without asyncio: calls to the engine block, so it never waits."""
    try:
        work.send(None)
    except StopIteration as done:
        code: int = done.value
        return code
    raise RuntimeError("A command that the engine answers waited for something other than the engine.")


def _function(command: Command) -> Callable[..., Coroutine[Any, Any, int]]:
    module, _, name = command.run.partition(":")
    function: Callable[..., Coroutine[Any, Any, int]] = getattr(import_module(f"reverie.cli.{module}"), name)
    return function


async def _run(command: Command, request: Request, options: Options) -> int:
    function = _function(command)
    if not command.opens_store:
        return await function(request, options)
    async with opened(load_settings(), all_projects=options.all_projects) as session:
        return await function(session, request, options)


@contextmanager
def alone_with_the_store(*, if_needed: bool = True) -> Iterator[None]:
    """Make running engines close the store while this process uses it; their sessions wait.

    Raises:
        StoreBusy: if a session's call does not end in time, or another command has the store to itself.
    """
    with ExitStack() as taking:
        if if_needed:
            store = load_settings().domain_uri
            with interruptible():
                taking.enter_context(store_taken_over(os.environ, store))
        yield


def _with_stdin(request: type[Request], values: dict[str, Any]) -> dict[str, Any]:
    """Replace `-` by what stdin says, where an argument allows it."""
    return values | {
        argument.name: _text_from_stdin(argument.positional.metavar)
        for argument in requests.arguments_of(request)
        if argument.positional is not None and argument.positional.stdin and values.get(argument.name) == "-"
    }


def _text_from_stdin(argument: str) -> str:
    try:
        with interruptible():
            return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(argument, f"stdin is not UTF-8 at byte {error.start + 1}", "Convert it first.") from None


@asynccontextmanager
async def opened(settings: Settings, *, all_projects: bool = False) -> AsyncIterator["Session"]:
    """Open the store for one command; pending writes are finished even if the command fails."""
    from pathlib import Path

    from reverie.tools.session import Session

    session = await Session.open(settings, folder=Path.cwd())
    session.all_projects = all_projects
    try:
        yield session
    finally:
        await session.close()


def _until_interrupted(work: Coroutine[Any, Any, int]) -> int:
    """Run a command; after Ctrl-C finish the writes that have begun, and exit at once.

    An orderly exit would wait for threads that compute or embed, which cannot be stopped; nobody needs their result.
    """
    import asyncio

    with asyncio.Runner() as runner:
        try:
            return runner.run(_ticking(work))
        except KeyboardInterrupt:
            dreaming = sys.modules.get("reverie.tools.consolidate")
            if dreaming is not None:
                runner.run(dreaming.until_written())
            note("")
            give_up_on_stdout()
            os._exit(INTERRUPTED)


async def _ticking(work: Coroutine[Any, Any, int]) -> int:
    """Run a command on a loop that wakes up often, so that a signal just before a wait is noticed soon."""
    import asyncio

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
