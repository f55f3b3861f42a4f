"""Every command of `reverie`, declared once: its help, what it takes, and the function that runs it.

A command that is a tool takes that tool's request. Most are answered by the machine's engine; then nothing heavy is
imported here, and no event loop either. The others, and all of them where there is no engine, open the store in this
process, after `load_tools`, which knows how to import quickly.
"""

import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from reverie.cli import requests as own
from reverie.cli.terminal import INTERRUPTED, give_up_on_stdout, interruptible, note
from reverie.errors import InvalidInput
from reverie.server.endpoint import EngineUnavailable
from reverie.server.engine_client import EngineSession, store_taken_over
from reverie.settings import Settings, load_settings
from reverie.tools import requests
from reverie.tools.requests import Request

if TYPE_CHECKING:
    from reverie.tools.session import Session

CommandSession: TypeAlias = "Session | EngineSession"
"""What a command works with that only calls tools: a session in this process, or one in the engine."""

Group = Literal["Every day", "Change memories", "Dreams", "Code", "The store", "More"]
GROUPS: tuple[Group, ...] = get_args(Group)

_TICK_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a command may take besides its request."""

    json: bool = False
    yes: bool = False
    all_projects: bool = False
    no_engine: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command; `run` is `module:function` in this folder.

    The function takes a session, the request and the options; where no store is opened for it, the last two.
    """

    name: str
    help: str
    group: Group
    run: str
    request: type[Request] = own.NoRequest
    opens_store: bool = True
    through_engine: bool = False  # it only calls tools, which the engine answers if there is one
    loads_tools: bool = True  # it needs LanceDB and the tools in this process
    asks: bool = False  # it shows what it would do and asks; --yes does it without asking
    finds_ids: bool = False  # it takes ids, and --all-projects finds them in other projects too


COMMANDS: tuple[Command, ...] = (
    Command(
        name="remember",
        help="keep a fact, decision, preference, fix or how-to",
        group="Every day",
        run="tool_commands:run_remember",
        request=requests.RememberRequest,
        through_engine=True,
    ),
    Command(
        name="recall",
        help="find memories by meaning and by words",
        group="Every day",
        run="tool_commands:run_recall",
        request=requests.RecallRequest,
        through_engine=True,
    ),
    Command(
        name="list",
        help="list memories, newest first",
        group="Every day",
        run="memories:run_list",
        request=requests.ListRequest,
        through_engine=True,
    ),
    Command(
        name="entities",
        help="list the people, services, tables … that memories name",
        group="Every day",
        run="memories:run_entities",
        request=requests.EntitiesRequest,
        through_engine=True,
    ),
    Command(
        name="show",
        help="show memories in full, with evidence, retention and history",
        group="Every day",
        run="memories:run_show",
        request=requests.InspectRequest,
        finds_ids=True,
        through_engine=True,
    ),
    Command(
        name="brief",
        help="show what a session of an assistant starts with",
        group="Every day",
        run="tool_commands:run_brief",
        request=requests.BriefRequest,
        through_engine=True,
    ),
    Command(
        name="status",
        help="show what is remembered and how the store is doing",
        group="Every day",
        run="tool_commands:run_status",
        request=requests.StatusRequest,
        through_engine=True,
    ),
    Command(
        name="page",
        help="open the page: see, correct and forget what is remembered",
        group="Every day",
        run="engine:run_page",
        request=own.PageRequest,
        opens_store=False,
        loads_tools=False,
    ),
    Command(
        name="edit",
        help="correct a memory in your editor ($VISUAL or $EDITOR)",
        group="Change memories",
        run="memories:run_edit",
        request=own.EditRequest,
        finds_ids=True,
        through_engine=True,
    ),
    Command(
        name="revise",
        help="correct a memory; the old text is kept as history",
        group="Change memories",
        run="tool_commands:run_revise",
        request=requests.ReviseRequest,
        finds_ids=True,
        through_engine=True,
    ),
    Command(
        name="pin",
        help="keep a memory from being forgotten, merged or archived",
        group="Change memories",
        run="tool_commands:run_pin",
        request=requests.PinRequest,
        finds_ids=True,
        through_engine=True,
    ),
    Command(
        name="unpin",
        help="take a pin away",
        group="Change memories",
        run="tool_commands:run_unpin",
        request=requests.PinRequest,
        finds_ids=True,
        through_engine=True,
    ),
    Command(
        name="promote",
        help="move a memory up a layer",
        group="Change memories",
        run="tool_commands:run_promote",
        request=requests.MoveRequest,
        finds_ids=True,
        through_engine=True,
    ),
    Command(
        name="demote",
        help="move a memory down a layer",
        group="Change memories",
        run="tool_commands:run_demote",
        request=requests.MoveRequest,
        finds_ids=True,
        through_engine=True,
    ),
    Command(
        name="forget",
        help="forget memories by id or by filter; restore brings them back",
        group="Change memories",
        run="forgetting:run_forget",
        request=requests.ForgetRequest,
        asks=True,
        finds_ids=True,
        through_engine=True,
    ),
    Command(
        name="restore",
        help="bring forgotten memories back, or undo a dream or an event",
        group="Change memories",
        run="forgetting:run_restore",
        request=requests.RestoreRequest,
        asks=True,
        finds_ids=True,
        through_engine=True,
    ),
    Command(
        name="purge",
        help="remove memories for good: text, index, history, old versions",
        group="Change memories",
        run="forgetting:run_purge",
        request=own.PurgeRequest,
        asks=True,
        finds_ids=True,
    ),
    Command(
        name="quarantine",
        help="list what is held back for review, and decide about it",
        group="Change memories",
        run="forgetting:run_quarantine",
        request=own.QuarantineRequest,
        asks=True,
        finds_ids=True,
    ),
    Command(
        name="dream",
        help="run a dream: merge, forget, check, tidy; for cron too",
        group="Dreams",
        run="dreams:run_dream",
        request=requests.ConsolidateRequest,
        through_engine=True,
    ),
    Command(
        name="dreams",
        help="list the dreams, show one, or undo it",
        group="Dreams",
        run="dreams:run_dreams",
        request=own.DreamsRequest,
        asks=True,
        finds_ids=True,
    ),
    Command(
        name="review",
        help="answer what dreams left open",
        group="Dreams",
        run="dreams:run_review",
        request=requests.ReviewRequest,
        finds_ids=True,
        through_engine=True,
    ),
    Command(
        name="curves",
        help="draw the forgetting curves, with a memory's position on them",
        group="Dreams",
        run="plots:run_curves",
        request=own.CurvesRequest,
        opens_store=False,
        finds_ids=True,
    ),
    Command(
        name="forecast",
        help="say what would be forgotten, moved and kept; change nothing",
        group="Dreams",
        run="plots:run_forecast",
        request=own.ForecastRequest,
        finds_ids=True,
    ),
    Command(
        name="tune",
        help="fit the rates of forgetting to your own recalls; change nothing",
        group="Dreams",
        run="plots:run_tune",
        request=own.TuneRequest,
    ),
    Command(
        name="index",
        help="read a project's files and signatures; again only what changed",
        group="Code",
        run="projects:run_index",
        request=requests.IndexRequest,
        through_engine=True,
    ),
    Command(
        name="drift",
        help="check the code that memories name; mark what moved or is gone",
        group="Code",
        run="projects:run_drift",
        request=own.DriftRequest,
    ),
    Command(
        name="projects",
        help="list, rename and merge projects, move memories between them",
        group="The store",
        run="projects:run_projects",
        request=own.ProjectsRequest,
        asks=True,
    ),
    Command(
        name="export",
        help="write every memory to a JSON Lines file, or to Markdown",
        group="The store",
        run="files:run_export",
        request=own.ExportRequest,
    ),
    Command(
        name="import",
        help="read memories from an export, CLAUDE.md or another program",
        group="The store",
        run="files:run_import",
        request=own.ImportRequest,
        asks=True,
    ),
    Command(
        name="sync",
        help="keep a folder of Markdown files and the store in step",
        group="The store",
        run="files:run_sync",
        request=own.SyncRequest,
        asks=True,
    ),
    Command(
        name="audit",
        help="prove that nothing was tampered with; show the last events",
        group="The store",
        run="admin:run_audit",
        request=own.AuditRequest,
        finds_ids=True,
    ),
    Command(
        name="reembed",
        help="convert the store to the embedder that is set now",
        group="The store",
        run="admin:run_reembed",
        opens_store=False,
    ),
    Command(
        name="move",
        help="move all memories to another folder or bucket, or copy them there",
        group="The store",
        run="move:run_move",
        request=own.MoveHomeRequest,
        opens_store=False,
    ),
    Command(
        name="reindex",
        help="find the names in memories again",
        group="The store",
        run="memories:run_reindex",
        request=own.ReindexRequest,
    ),
    Command(
        name="doctor",
        help="check data folder, tables, embedder, lock; say what to do",
        group="The store",
        run="admin:run_doctor",
        request=own.DoctorRequest,
        opens_store=False,
    ),
    Command(
        name="tokens",
        help="make, list and revoke tokens for clients over HTTP",
        group="The store",
        run="tokens:run_tokens",
        request=own.TokensRequest,
        opens_store=False,
        loads_tools=False,
    ),
    Command(
        name="engine",
        help="show the engine that sessions share; stop it, or read its log",
        group="The store",
        run="engine:run_engine",
        request=own.EngineRequest,
        opens_store=False,
        loads_tools=False,
    ),
    Command(
        name="setup",
        help="connect your assistants; finds them, shows a plan and asks",
        group="More",
        run="setup:run_setup",
        request=own.SetupRequest,
        opens_store=False,
        loads_tools=False,
        asks=True,
    ),
    Command(
        name="uninstall",
        help="disconnect assistants: files are as before; memories stay",
        group="More",
        run="setup:run_uninstall",
        request=own.UninstallRequest,
        opens_store=False,
        loads_tools=False,
        asks=True,
    ),
    Command(
        name="demo",
        help="watch an assistant remember and recall, on a temporary store",
        group="More",
        run="demo:run_demo",
        opens_store=False,
        loads_tools=False,
    ),
)
"""All commands but `serve` and `completion`, which need neither a store nor the tools."""


def run(command: Command, values: dict[str, Any], options: Options) -> int:
    """Run a command and return its exit code.

    Raises:
        ReverieError: saying what went wrong and what to try.
        NobodyToAsk: if it asks before a change, and there is no terminal.
    """
    request = command.request(**_with_stdin(command.request, values))
    if _is_for_the_engine(command, request, options):
        load_settings()  # a wrong one is an error here: no engine is started for it
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
    """Return a session in the engine, which is started if need be; None if there is none to be had."""
    try:
        session = EngineSession(os.environ, os.getcwd(), all_projects=options.all_projects)
        session.connect()
    except (EngineUnavailable, OSError):
        return None
    return session


def _finished(work: Coroutine[Any, Any, int]) -> int:
    """Run a coroutine that waits for nothing, since calls to the engine block; so there is no need for asyncio."""
    try:
        work.send(None)
    except StopIteration as done:
        code: int = done.value
        return code
    raise RuntimeError("A command that the engine answers waits for something else.")


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
    """Have engines that run leave the store to this process for a while; their sessions wait.

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
    """Open the store for one command; whatever happens, what waits to be written is written."""
    from pathlib import Path

    from reverie.tools.session import Session

    session = await Session.open(settings, folder=Path.cwd())
    session.all_projects = all_projects
    try:
        yield session
    finally:
        await session.close()


def _until_interrupted(work: Coroutine[Any, Any, int]) -> int:
    """Run a command; after Ctrl-C finish what has begun to be written, and leave at once.

    A thread that computes or embeds cannot be stopped, and nobody waits for its result: an orderly exit would.
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
    """Run a command on a loop that wakes up often: a signal that comes just before it waits is noticed soon."""
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
