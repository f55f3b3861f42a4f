"""What the page asks for besides the tools: requests, results and declarations of the same form as in the catalog.

Each is a call of the page's API. No client of MCP is shown them, and nothing heavy is imported before one is called.
"""

from typing import Annotated, Any, Literal

from reverie.declaration import declaration
from reverie.memory import Freshness, Kind, Layer, Source, Status
from reverie.recall.results import RecalledMemory
from reverie.tools.catalog import AnyTool
from reverie.tools.requests import (
    Check,
    Help,
    HiddenStatus,
    Project,
    Range,
    Request,
    checked_query,
    checked_tags,
)
from reverie.tools.results import Skipped

MOST_ON_A_PAGE = 200
LONGEST_DAYS = 36_500.0

BrowseOrder = Literal["newest", "oldest", "used", "important"]


@declaration
class BrowseRequest(Request):
    """Which page of which memories to list."""

    offset: Annotated[int, Range(0, 10_000_000), Help("how many to leave out")] = 0
    limit: Annotated[int, Range(1, MOST_ON_A_PAGE), Help("how many at most")] = 40
    layers: Annotated[tuple[Layer, ...], Help("only these layers")] = ()
    kinds: Annotated[tuple[Kind, ...], Help("only these kinds")] = ()
    sources: Annotated[tuple[Source, ...], Help("only from these")] = ()
    statuses: Annotated[tuple[Status, ...], Help("instead of active and challenged")] = ()
    freshness: Annotated[tuple[Freshness, ...], Help("only with evidence last seen so")] = ()
    tags: Annotated[tuple[str, ...], Check(checked_tags), Help("only memories with one of these")] = ()
    pinned: Annotated[bool, Help("only pinned ones")] = False
    project: Project = ""
    all_projects: Annotated[bool, Help("look everywhere")] = False
    since: Annotated[str, Help("ISO moment or span such as 7d")] = ""
    before: Annotated[str, Help("ISO moment or span such as 7d")] = ""
    as_of: Annotated[str, Help("what was known then")] = ""
    ahead: Annotated[float, Range(0, LONGEST_DAYS), Help("give the retention in so many days")] = 0.0
    sort: Annotated[BrowseOrder, Help("what comes first")] = "newest"


@declaration
class PageRow:
    """One memory of a list."""

    id: str
    title: str
    content: str  # its beginning
    layer: str
    kind: str
    status: str
    source: str
    project: str
    tags: list[str]
    pinned: bool
    strength: float
    strength_word: str
    retention: float
    created_at: str


@declaration
class Browsed:
    """A page of a list, how many memories fit in all, and how many of those are in each layer."""

    memories: list[PageRow]
    total: int
    layers: dict[str, int]
    project: str


@declaration
class SearchRequest(Request):
    """A question, and the limits that recall takes."""

    query: Annotated[str, Check(checked_query), Help("what you want to know, in plain words")]
    limit: Annotated[int, Range(1, 100), Help("how many at most")] = 20
    layers: Annotated[tuple[Layer, ...], Help("only these layers")] = ()
    kinds: Annotated[tuple[Kind, ...], Help("only these kinds")] = ()
    tags: Annotated[tuple[str, ...], Check(checked_tags), Help("only memories with one of these")] = ()
    project: Project = ""
    all_projects: Annotated[bool, Help("look everywhere")] = False
    since: Annotated[str, Help("ISO moment or span such as 7d")] = ""
    before: Annotated[str, Help("ISO moment or span such as 7d")] = ""
    as_of: Annotated[str, Help("answer with what was known then")] = ""
    include: Annotated[tuple[HiddenStatus, ...], Help("also memories with these statuses")] = ()
    why_not: Annotated[bool, Help("also say what was passed over, by a second and wider search")] = True
    shown: Annotated[
        tuple[str, ...], Help("the ids of the answers, if you have them: the first search is left out")
    ] = ()


@declaration
class PassedOver:
    """A memory that a search did not return although it is near, and why."""

    id: str
    title: str
    content: str
    layer: str
    kind: str
    status: str
    project: str
    pinned: bool
    score: float
    reason: str


@declaration
class Searched:
    """What recall answers, with the parts of each score, and what it passed over."""

    results: list[RecalledMemory]
    passed_over: list[PassedOver]
    fits: str
    total_matches: int
    filtered: dict[str, int]
    index_state: str
    project: str


@declaration
class CurveRequest(Request):
    """Which memory's forgetting curve to compute, and how far ahead."""

    id: Annotated[str, Help("full id, or a unique beginning of 8 characters or more")]
    days: Annotated[float, Range(1, LONGEST_DAYS), Help("how far ahead")] = 365.0
    points: Annotated[int, Range(2, 400), Help("how many points")] = 120


@declaration
class CurveOf:
    """The curve of a memory: retention by days from now, its recalls, and where it would expire."""

    id: str
    curve: str
    days: list[float]  # from now; below zero is the past since it was last used
    retention: list[float]
    now: float
    archived_below: float
    recalls: list[float]  # days from now, below zero
    written: float  # days from now, below zero
    ends: float | None  # days from now
    ends_at: str | None
    rule: str | None
    outlook: str


@declaration
class EvidenceRequest(Request):
    """Whose evidence to compare with the code."""

    id: Annotated[str, Help("full id, or a unique beginning of 8 characters or more")]


@declaration
class EvidenceLine:
    """A line of code: unchanged, gone, new, or how many lines are left out."""

    kind: str
    before: int | None
    after: int | None
    text: str


@declaration
class EvidencePart:
    """One anchor as it is now, whether the text seen then is known, and the code beside it."""

    path: str
    symbol: str | None
    kind: str
    span: list[int]
    freshness: str
    now_at: str | None
    note: str | None
    commit: str | None
    kept: str
    why: str
    lines: list[EvidenceLine]


@declaration
class EvidenceOf:
    """A memory's evidence beside the code it was seen in."""

    id: str
    freshness: str
    anchors: list[EvidencePart]


@declaration
class ForecastRequest(Request):
    """How far to look ahead, and where."""

    days: Annotated[float, Range(0, LONGEST_DAYS), Help("how far ahead")] = 90.0
    all_projects: Annotated[bool, Help("look everywhere")] = False


@declaration
class ForecastResult:
    """What would expire, move and stay by a day to come."""

    at: str
    days: float
    curve: str
    expired: list[dict[str, Any]]
    total_expired: int
    moved: list[dict[str, Any]]
    total_moved: int
    kept: dict[str, int]


@declaration
class SweepDone:
    """What a sweep did: ids by rule and by move."""

    expired: dict[str, list[str]]
    moved: dict[str, list[str]]
    made_core: list[str]
    seen: int


@declaration
class NightsRequest(Request):
    """How many dreams to list."""

    limit: Annotated[int, Range(1, 500), Help("how many at most")] = 50


@declaration
class Nights:
    """The dreams, the latest first."""

    dreams: list[dict[str, Any]]
    total: int


@declaration
class NightRequest(Request):
    """Which dream to describe."""

    id: Annotated[str, Help("the dream")]
    limit: Annotated[int, Range(1, 1_000), Help("how many changes at most")] = 200


@declaration
class NightChange:
    """One change of a dream: what it did to a memory, by which rule, and the values before and after."""

    event_id: str
    action: str
    id: str
    title: str
    content: str
    reason: str
    before: dict[str, Any]
    after: dict[str, Any]
    derived_from: list[str]
    superseded_by: str | None
    is_gone: bool  # purged since


@declaration
class Night:
    """What one dream did, step by step and memory by memory."""

    id: str
    at: str
    status: str
    steps: list[dict[str, Any]]
    changes: list[NightChange]
    total_changes: int
    questions: list[Any]
    notes: list[str]
    named: dict[str, str]  # how the other memories begin that the changes name


@declaration
class HeldRequest(Request):
    """How much of the quarantine to show."""

    limit: Annotated[int, Range(1, 500), Help("how many at most")] = 100


@declaration
class HeldMemory:
    """A memory in quarantine, why it is held, and the words in it that gave the reason."""

    id: str
    title: str
    content: str
    reason: str
    marks: list[str]
    source: str
    project: str
    created_at: str


@declaration
class Quarantine:
    """What is held back for review."""

    held: list[HeldMemory]


@declaration
class DecideRequest(Request):
    """Which held memories to release, and which to forget."""

    release: Annotated[tuple[str, ...], Help("ids that may be recalled after all")] = ()
    forget: Annotated[tuple[str, ...], Help("ids to forget")] = ()


@declaration
class HeldDecided:
    """Which memories were released and forgotten, and which were not in quarantine."""

    released: list[str]
    forgotten: list[str]
    skipped: list[Skipped]


@declaration
class NothingRequest(Request):
    """Nothing: the call takes no arguments."""


@declaration
class ProjectsListed:
    """The projects of the store, the largest first, and the one that the page was opened in."""

    projects: list[dict[str, Any]]
    here: str


@declaration
class Overview:
    """What a chart of the store shows, and the clock of the store."""

    now: str
    first: str | None
    total: int
    layers: dict[str, int]
    statuses: dict[str, int]
    precisions: dict[str, int]
    months: dict[str, int]
    open_questions: int
    held: int


@declaration
class CallDurations:
    """How long the last recalls of this engine took: how many, the middle, and what one in twenty passes."""

    count: int
    p50: float | None
    p95: float | None
    milliseconds: list[float]


@declaration
class HookRun:
    """The last run of a hook for one event of a client."""

    event: str
    client: str
    at: str
    ms: int
    outcome: str


@declaration
class Health:
    """How the engine, its recalls and the hooks are doing, and what each layer takes on disk."""

    recall: CallDurations
    hooks: list[HookRun]
    bytes: dict[str, int]  # by layer; `history` is the journal, `other` the rest
    engine: dict[str, Any]


BulkAction = Literal["promote", "demote", "pin", "unpin", "forget", "restore", "undo"]


@declaration
class ChangeManyRequest(Request):
    """What to do with each of some memories."""

    action: Annotated[BulkAction, Help("undo takes the events that an earlier answer named")]
    ids: Annotated[tuple[str, ...], Help("memories, or events to undo")]
    reason: Annotated[str, Help("why, for the history")] = ""


@declaration
class ChangeOutcome:
    """What became of one memory: what was done, or why not; `event_id` undoes it."""

    id: str
    done: bool
    said: str
    event_id: str | None


@declaration
class ChangedMany:
    """One outcome for each memory, in the order asked for."""

    outcomes: list[ChangeOutcome]
    changed: int


@declaration
class Diagnosis:
    """What `doctor` says."""

    healthy: bool
    checks: list[dict[str, str]]


@declaration
class Audited:
    """What the audit found."""

    intact: bool
    events: int
    memories: int
    folded: int
    purged: int
    faults: list[str]
    unchecked: list[str]
    head: str


CheckName = Literal["doctor", "audit"]


@declaration
class ChecksRequest(Request):
    """Which checks to start, if any."""

    start: Annotated[tuple[CheckName, ...], Help("run these behind the answer, unless they run")] = ()
    older_than: Annotated[float, Range(0, 1_000_000), Help("only if the last verdict is older: minutes")] = 0.0


@declaration
class CheckState:
    """When a check was last done and how long it took, and how far it is if it runs."""

    running: bool
    share: float
    doing: str
    at: str | None
    seconds: float
    failure: str


@declaration
class Checks:
    """The last verdicts of this engine, and the checks that run."""

    doctor: CheckState
    diagnosis: Diagnosis | None
    audit: CheckState
    audited: Audited | None


def _call(
    name: str,
    title: str,
    description: str,
    request: type[Request],
    result: type[object],
    *,
    reads: bool = True,
    destroys: bool = False,
    module: str = "page",
    reports_progress: bool = False,
) -> AnyTool:
    return AnyTool(
        name=name,
        title=title,
        description=description,
        request=request,
        result=result,
        function=f"reverie.tools.{module}:{name}",
        reads=reads,
        destroys=destroys,
        reports_progress=reports_progress,
    )


FOR_PAGE: tuple[AnyTool, ...] = (
    _call("browse", "List a page of memories", "Memories that fit, newest first.", BrowseRequest, Browsed),
    _call(
        "search",
        "Search and explain",
        "What recall would answer, with why, and what it passed over. Does not count as a recall.",
        SearchRequest,
        Searched,
    ),
    _call("curve", "Forgetting curve", "How a memory fades, and when it would go.", CurveRequest, CurveOf),
    _call("evidence", "Compare evidence", "What was seen then beside the code now.", EvidenceRequest, EvidenceOf),
    _call("forecast", "Forecast", "What would expire by a day to come.", ForecastRequest, ForecastResult),
    _call("dreams", "List dreams", "Every dream, the latest first.", NightsRequest, Nights),
    _call("dream", "Describe a dream", "What one dream changed, before and after.", NightRequest, Night),
    _call("quarantine", "Show the quarantine", "What is held back for review.", HeldRequest, Quarantine),
    _call(
        "projects",
        "List projects",
        "The projects of the store.",
        NothingRequest,
        ProjectsListed,
        module="page_health",
    ),
    _call(
        "overview",
        "Count the store",
        "Sizes by layer, status, precision and month.",
        NothingRequest,
        Overview,
        module="page_health",
    ),
    _call(
        "health",
        "Health",
        "Recall times, hooks, sizes on disk and the engine.",
        NothingRequest,
        Health,
        module="page_health",
    ),
    _call(
        "doctor",
        "Diagnose",
        "What `reverie doctor` says; repairs nothing.",
        NothingRequest,
        Diagnosis,
        module="page_health",
    ),
    _call("audit", "Audit", "Whether anything was tampered with.", NothingRequest, Audited, module="page_health"),
    _call(
        "checks",
        "Last verdicts",
        "What doctor and audit last said, and when; starts them behind the answer, with events of progress.",
        ChecksRequest,
        Checks,
        module="page_health",
        reports_progress=True,
    ),
    _call(
        "change_many",
        "Change many memories",
        "Promote, demote, pin, forget or restore each of some memories; one outcome each.",
        ChangeManyRequest,
        ChangedMany,
        reads=False,
        destroys=True,
    ),
    _call(
        "decide_quarantine",
        "Decide about held memories",
        "Release held memories, or forget them.",
        DecideRequest,
        HeldDecided,
        reads=False,
        destroys=True,
    ),
    _call(
        "sweep",
        "Sweep now",
        "Expire, move and promote whatever is due.",
        NothingRequest,
        SweepDone,
        reads=False,
        destroys=True,
    ),
)
"""What the page calls besides the tools, by its API only."""
