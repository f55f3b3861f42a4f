"""Every tool, declared once: its name, when to call it, its request, its result and its function.

MCP server, command line and README are derived from this. To add a tool, write its request (`tools/requests.py`),
its result (`tools/results.py`), its text (`tools/render.py`) and its function, and declare it here. Nothing heavy is
imported before a tool is called: a handshake only needs to describe them.
"""

from collections.abc import Awaitable, Callable
from importlib import import_module
from time import perf_counter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from reverie.declaration import declaration
from reverie.recall.results import Recalled
from reverie.tools import requests, results
from reverie.tools.requests import Request
from reverie.tools.results import CommandResult, Result

if TYPE_CHECKING:
    from reverie.tools.session import Session

Progress = Callable[[int, int, str], Awaitable[None]]
"""Receives how much of how much is done, and what comes next."""

RequestT = TypeVar("RequestT", bound=Request)
ResultT = TypeVar("ResultT", bound=Result | CommandResult)
ResultT_co = TypeVar("ResultT_co", bound=Result | CommandResult, covariant=True)


@declaration
class AnyTool:
    """One tool, its request and result as a loop over all tools sees them; `function` is `module:function`."""

    name: str
    title: str
    description: str  # what the model reads: first when to call it
    request: type[Request]
    result: type[object]
    function: str  # imported at the first call
    reads: bool = False  # it changes nothing
    destroys: bool = False  # it may take something away
    repeatable: bool = False  # a second call with the same arguments changes nothing more
    always_loaded: bool = False  # some clients show only names until a model asks: these are used before it would
    reports_progress: bool = False  # its function takes a `progress` too

    @property
    def module(self) -> str:
        """Where its function is."""
        return self.function.partition(":")[0]


@declaration
class Tool(AnyTool, Generic[RequestT, ResultT_co]):
    """One tool with the types of its request and its result."""

    request: type[RequestT]
    result: type[ResultT_co]


async def ignore_progress(done: int, total: int, message: str) -> None:
    """Report to nobody."""


class RemoteSession:
    """A session in another process, where its tools run."""

    async def warm(self) -> None:
        """Have the next call wait for the embedding model and the tokenizer."""
        raise NotImplementedError

    async def warm_model(self) -> None:
        """Have the next call wait for the embedding model."""
        raise NotImplementedError

    async def run(self, tool: AnyTool, request: Request, progress: Progress) -> Any:
        """Run a tool there.

        Raises:
            ReverieError: saying what went wrong and what to try.
        """
        raise NotImplementedError


async def call(
    tool: Tool[RequestT, ResultT],
    session: "Session | RemoteSession",
    request: RequestT,
    progress: Progress = ignore_progress,
) -> ResultT:
    """Run a tool.

    Raises:
        ReverieError: saying what went wrong and what to try.
    """
    result = await _run(tool, session, request, progress)
    if not isinstance(result, tool.result):
        raise TypeError(f"{tool.name} gives a {tool.result.__name__}, not a {type(result).__name__}.")
    return result


async def call_any(
    tool: AnyTool, session: "Session", request: Request, progress: Progress = ignore_progress
) -> Result:
    """Run a tool whose types are only known at run time.

    Raises:
        ReverieError: saying what went wrong and what to try.
        TypeError: if the request is another tool's.
    """
    result: Result = await _run(tool, session, request, progress)
    return result


async def _run(tool: AnyTool, session: "Session | RemoteSession", request: Request, progress: Progress) -> Any:
    if not isinstance(request, tool.request):
        raise TypeError(f"{tool.name} takes a {tool.request.__name__}, not a {type(request).__name__}.")
    if isinstance(session, RemoteSession):
        return await session.run(tool, request, progress)
    if named := getattr(request, "project", ""):  # of every tool alike: nothing found would say less than it knows
        session.refuse_other_projects(named)
    module, _, name = tool.function.partition(":")
    function: Callable[..., Awaitable[Any]] = getattr(import_module(module), name)
    began = perf_counter()
    result = await (function(session, request, progress) if tool.reports_progress else function(session, request))
    session.domain.call_times.note(tool.name, perf_counter() - began)
    return result


REMEMBER = Tool(
    name="remember",
    title="Remember",
    description=("When something will matter in a later session: a fact, decision, preference, fix or how-to."),
    request=requests.RememberRequest,
    result=results.Remembered,
    function="reverie.tools.remember:remember",
    always_loaded=True,
)
REVISE = Tool(
    name="revise",
    title="Correct a memory",
    description="When a memory is wrong or out of date: write the corrected text; the old one stays in history.",
    request=requests.ReviseRequest,
    result=results.Revised,
    function="reverie.tools.revise:revise",
    destroys=True,
)
FORGET = Tool(
    name="forget",
    title="Forget memories",
    description="When memories should no longer be recalled. By ids or filters; can be restored, but purge destroys.",
    request=requests.ForgetRequest,
    result=results.Forgotten,
    function="reverie.tools.forget:forget",
    destroys=True,
    repeatable=True,
)
RECALL = Tool(
    name="recall",
    title="Recall",
    description="Before starting a task, and whenever earlier work may hold the answer: search by meaning and words.",
    request=requests.RecallRequest,
    result=Recalled,
    function="reverie.tools.recall:recall",
    reads=True,
    always_loaded=True,
)
BRIEF = Tool(
    name="brief",
    title="Session brief",
    description="When a session starts: what matters most about this project, on one page.",
    request=requests.BriefRequest,
    result=results.Briefing,
    function="reverie.tools.brief:brief",
    reads=True,
    always_loaded=True,
)
INSPECT = Tool(
    name="inspect",
    title="Inspect memories",
    description="When you need all of a memory: text, history, evidence and outlook.",
    request=requests.InspectRequest,
    result=results.Inspected,
    function="reverie.tools.inspect:inspect",
    reads=True,
)
STATUS = Tool(
    name="status",
    title="Memory status",
    description="When memory seems empty, slow or wrong: counts and what needs attention.",
    request=requests.StatusRequest,
    result=results.Status,
    function="reverie.tools.status:status",
    reads=True,
)
RESTORE = Tool(
    name="restore",
    title="Restore memories",
    description=("When something was forgotten or changed by mistake: bring it back, or undo a dream or event."),
    request=requests.RestoreRequest,
    result=results.Restored,
    function="reverie.tools.restore:restore",
    repeatable=True,
)
INDEX_CODEBASE = Tool(
    name="index_codebase",
    title="Index the code",
    description="When a project is new or its code changed much: read its signatures.",
    request=requests.IndexRequest,
    result=results.Indexed,
    function="reverie.tools.index_codebase:index_codebase",
    repeatable=True,
    reports_progress=True,
)
PROMOTE = Tool(
    name="promote",
    title="Move a memory up",
    description="When a memory proved lasting: move it up a layer.",
    request=requests.MoveRequest,
    result=results.Moved,
    function="reverie.tools.revise:promote",
)
DEMOTE = Tool(
    name="demote",
    title="Move a memory down",
    description="When a memory matters less than its layer says: move it down.",
    request=requests.MoveRequest,
    result=results.Moved,
    function="reverie.tools.revise:demote",
)
PIN = Tool(
    name="pin",
    title="Pin a memory",
    description="When a memory must never be forgotten or merged; pinned=false unpins.",
    request=requests.PinRequest,
    result=results.Pinned,
    function="reverie.tools.revise:pin",
    repeatable=True,
)
CONSOLIDATE = Tool(
    name="consolidate",
    title="Dream",
    description="When work pauses: merge, forget, check and tidy memories. restore(dream_id) undoes it.",
    request=requests.ConsolidateRequest,
    result=results.Consolidated,
    function="reverie.tools.consolidate:consolidate",
    destroys=True,
    repeatable=True,
    reports_progress=True,
)
REVIEW = Tool(
    name="review",
    title="Answer a dream's questions",
    description="When a dream left questions: read them without decisions, then answer.",
    request=requests.ReviewRequest,
    result=results.Reviewed,
    function="reverie.tools.review:review",
    destroys=True,
)

TOOLS: tuple[AnyTool, ...] = (
    REMEMBER,
    REVISE,
    FORGET,
    RECALL,
    BRIEF,
    INSPECT,
    STATUS,
    RESTORE,
    INDEX_CODEBASE,
    PROMOTE,
    DEMOTE,
    PIN,
    CONSOLIDATE,
    REVIEW,
)
"""In the order in which clients list them."""

LIST = Tool(
    name="list",
    title="List memories",
    description="For people: a model is better served by recall.",
    request=requests.ListRequest,
    result=results.MemoryList,
    function="reverie.tools.inspect:list_memories",
    reads=True,
)
NAMED = Tool(
    name="named",
    title="Name memories",
    description="What ids mean, in short.",
    request=requests.NamedRequest,
    result=results.NamedMemories,
    function="reverie.tools.inspect:named_memories",
    reads=True,
)
UNDO_PLAN = Tool(
    name="undo_plan",
    title="Plan an undo",
    description="What undoing a dream or an event would undo.",
    request=requests.RestoreRequest,
    result=results.UndoPlan,
    function="reverie.tools.restore:undo_plan",
    reads=True,
)

ENTITIES = Tool(
    name="entities",
    title="List names",
    description="What memories name, for people: a model asks recall about one.",
    request=requests.EntitiesRequest,
    result=results.EntityList,
    function="reverie.tools.entities:list_entities",
    reads=True,
)

CONTEXT = Tool(
    name="context",
    title="Context for a session",
    description="What a hook puts into a session: the briefing, or what fits a prompt or an error.",
    request=requests.ContextRequest,
    result=results.SessionContext,
    function="reverie.tools.brief:session_context",
    reads=True,
)
CAPTURE = Tool(
    name="capture",
    title="Capture a session",
    description="What was found in a session's transcript: kept, or asked about.",
    request=requests.CaptureRequest,
    result=results.Captured,
    function="reverie.tools.capture:capture",
)
TRANSCRIPT = Tool(
    name="transcript",
    title="Read a transcript",
    description="Reads a session's transcript on this machine: what is worth keeping is kept, or asked about.",
    request=requests.TranscriptRequest,
    result=results.Captured,
    function="reverie.tools.capture:capture_transcript",
)

FOR_COMMANDS: tuple[AnyTool, ...] = (LIST, NAMED, UNDO_PLAN, ENTITIES, CONTEXT, CAPTURE)
"""What commands and hooks call besides the tools, in this process or in the engine; no client is shown them."""

FOR_HOOKS: tuple[AnyTool, ...] = (TRANSCRIPT,)
"""What hooks alone call: it opens a file that the caller names, so the page and its API do not offer it."""
