"""What each tool takes: one request class per tool, its fields with their defaults, help and limits.

The MCP schema, the command line, the checks and the README's table are derived from these classes. A request that
exists is valid: it checks itself when it is made. Nothing heavy is imported here, because a handshake needs it.

Empty texts and lists stand for what was not given.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from types import UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from reverie.declaration import declaration
from reverie.errors import InvalidInput
from reverie.memory import KINDS, Kind, Layer, Source, Status, StepName, Tier, Verdict, Visibility, checked_text

LONGEST_CONTENT = 100_000
LONGEST_LABEL = 200
MOST_TAGS = 50
MOST_FILES = 100
LONGEST_PATH = 1_000
MOST_IDS = 100
LONGEST_QUERY = 10_000


def checked_content(argument: str, content: str) -> str:
    """Return a text that can be remembered.

    Raises:
        InvalidInput: if it is empty, too long, or not valid Unicode.
    """
    if not content.strip():
        raise InvalidInput(argument, "there is no text to remember", "Say what should be remembered.")
    if len(content) > LONGEST_CONTENT:
        raise InvalidInput(
            argument,
            f"{len(content):,} characters is more than a memory holds ({LONGEST_CONTENT:,})",
            "Remember the conclusions, or split the text.",
        )
    return checked_text(argument, content)


def checked_query(argument: str, query: str) -> str:
    """Return a query that can be searched for.

    Raises:
        InvalidInput: if it is empty, too long, or not valid Unicode.
    """
    if not query.strip():
        raise InvalidInput(argument, "there is nothing to look for", "Ask in a few words what you want to know.")
    if len(query) > LONGEST_QUERY:
        raise InvalidInput(argument, f"{len(query):,} characters is too long", f"Ask in at most {LONGEST_QUERY:,}.")
    return checked_text(argument, query)


def checked_label(argument: str, text: str) -> str:
    """Return a short text such as a title or a project.

    Raises:
        InvalidInput: if it is too long or not valid Unicode.
    """
    if len(text) > LONGEST_LABEL:
        raise InvalidInput(
            argument, f"{len(text)} characters is too long", f"Give at most {LONGEST_LABEL} characters."
        )
    return checked_text(argument, text)


def checked_tags(argument: str, tags: Sequence[str]) -> tuple[str, ...]:
    """Return tags without repetitions.

    Raises:
        InvalidInput: if there are too many, or one is empty or too long.
    """
    if len(tags) > MOST_TAGS:
        raise InvalidInput(argument, f"{len(tags)} tags are too many", f"Give at most {MOST_TAGS}.")
    if any(not tag.strip() for tag in tags):
        raise InvalidInput(argument, "a tag is empty", "Leave it out.")
    return tuple(dict.fromkeys(checked_label(argument, tag) for tag in tags))


def checked_files(argument: str, files: Sequence[str]) -> None:
    """Pass paths that a memory may name as its evidence; whether they lie in the project is checked later.

    Raises:
        InvalidInput: if there are too many, or one is too long.
    """
    if len(files) > MOST_FILES:
        raise InvalidInput(argument, f"{len(files)} files are too many", f"Give at most {MOST_FILES}.")
    if any(len(file) > LONGEST_PATH for file in files):
        raise InvalidInput(argument, "a path is too long", f"Give at most {LONGEST_PATH:,} characters.")


def checked_ids(ids: Sequence[str], argument: str = "ids") -> list[str]:
    """Return ids without repetitions.

    Raises:
        InvalidInput: if there are none, too many, or one is empty.
    """
    if not ids:
        raise InvalidInput(argument, "no id was given", "Use recall to find the ids.")
    if len(ids) > MOST_IDS:
        raise InvalidInput(argument, f"{len(ids)} ids are too many for one call", f"Give at most {MOST_IDS}.")
    if any(not memory_id.strip() for memory_id in ids):
        raise InvalidInput(argument, "an id is empty", "Use recall to find the right one.")
    return list(dict.fromkeys(ids))


def checked_number(argument: str, value: float, lowest: float, highest: float) -> float:
    """Return a number within its range.

    Raises:
        InvalidInput: if it is outside, or not a number.
    """
    if not lowest <= value <= highest:  # false for NaN too
        raise InvalidInput(argument, f"{value:g} is out of range", f"Give a number from {lowest:g} to {highest:g}.")
    return value


def checked_choices(argument: str, values: Sequence[str], allowed: Sequence[str]) -> None:
    """Pass words that are all among the allowed ones.

    Raises:
        InvalidInput: naming those that are.
    """
    for value in values:
        if value not in allowed:
            raise InvalidInput(argument, f"{value!r} is unknown", f"It takes: {', '.join(allowed)}.")


HiddenStatus = Literal["expired", "superseded", "quarantined"]
TokenScope = Literal["read", "write", "admin"]  # what the token of a person allows over HTTP
ListOrder = Literal["newest", "oldest", "used", "strongest", "weakest", "important"]

MOST_RESULTS = 100
FEWEST_TOKENS = 50
MOST_TOKENS = 20_000
STRONGEST = 100.0
MOST_CENTS = 10_000.0
MOST_QUESTIONS = 50
MOST_FILES_INDEXED = 1_000_000
MOST_LISTED = 10_000


@dataclass(frozen=True, slots=True)
class Range:
    """The lowest and the highest number that a field takes."""

    lowest: float
    highest: float


@dataclass(frozen=True, slots=True)
class Check:
    """A check of a field that takes more than a range: a function of the field's name and its value."""

    function: Callable[[str, Any], object]


@dataclass(frozen=True, slots=True)
class Help:
    """What a field means. Every client pays for the words in the schema, so few fields have them there."""

    text: str
    in_schema: bool = False


@dataclass(frozen=True, slots=True)
class Positional:
    """On the command line the field has no flag; with `stdin`, `-` reads its value from there."""

    metavar: str
    stdin: bool = False


@dataclass(frozen=True, slots=True)
class CommandLine:
    """Where the command line differs: another flag, default, help or name of the value, or no such option."""

    flag: str = ""
    default: str | None = None
    help: str = ""
    metavar: str = ""
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Argument:
    """One field of a request, as schema, command line and checks read it."""

    name: str
    annotation: object  # without metadata: `str`, `tuple[Layer, ...]`
    default: object  # MISSING if it is required
    help: Help
    range: Range | None
    check: Check | None
    positional: Positional | None
    command_line: CommandLine

    @property
    def is_required(self) -> bool:
        """Whether a caller has to give it."""
        return self.default is MISSING

    @property
    def is_list(self) -> bool:
        """Whether it takes several values."""
        return get_origin(self.annotation) is tuple

    @property
    def item(self) -> object:
        """The type of the value, or in a list the type of one."""
        return get_args(self.annotation)[0] if self.is_list else self.annotation

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that it takes, if it takes only some."""
        return tuple(filter(None, _words(self.item)))

    def validate(self, value: Any) -> None:
        """Pass a value that the field takes.

        Raises:
            InvalidInput: saying what is wrong and what to try.
        """
        for text in value if self.is_list else (value,):
            if isinstance(text, str):
                checked_text(self.name, text)
        if self.range is not None:
            checked_number(self.name, value, self.range.lowest, self.range.highest)
        if self.choices and value != self.default:
            checked_choices(self.name, value if self.is_list else [value], self.choices)
        if self.check is not None:
            self.check.function(self.name, value)


@declaration
class Request:
    """What a caller wants of a tool. Lists become tuples, mappings become the items they describe, all is checked.

    Raises:
        InvalidInput: if a field does not take its value.
    """

    def __post_init__(self) -> None:
        for argument in arguments_of(type(self)):
            value = getattr(self, argument.name)
            if argument.is_list and isinstance(value, list | tuple):
                value = tuple(_item(argument, one) for one in value)
                if argument.choices:  # a word that is said again says nothing new
                    value = tuple(dict.fromkeys(value))
                object.__setattr__(self, argument.name, value)
            argument.validate(value)


def _item(argument: Argument, given: object) -> object:
    """Return an item of a list as its type has it: one with parts may be given as a mapping, as JSON has it."""
    kind = argument.item
    if not (isinstance(kind, type) and is_dataclass(kind)) or isinstance(given, kind):
        return given
    if not isinstance(given, Mapping):
        raise InvalidInput(argument.name, "an item is not an object", f"Give: {', '.join(_parts(kind))}.")
    parts = _parts(kind)
    unknown = sorted(str(name) for name in given.keys() - parts.keys())
    if unknown:
        raise InvalidInput(argument.name, f"{unknown[0]!r} is unknown", f"Give: {', '.join(sorted(parts))}.")
    values = {name: value for name, value in given.items() if value is not None}
    for name, value in values.items():
        wanted, word = (int, "a whole number") if parts[name].annotation is int else (str, "a text")
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise InvalidInput(argument.name, f"a part is not {word}: {name}", f"Give {word}.")
        if isinstance(value, str) and len(checked_text(argument.name, value)) > LONGEST_CONTENT:
            raise InvalidInput(argument.name, f"a part is too long: {name}", f"Give at most {LONGEST_CONTENT:,}.")
    missing = [name for name, part in parts.items() if part.is_required and name not in values]
    if missing:
        raise InvalidInput(argument.name, f"{missing[0]!r} is missing", f"Give: {', '.join(parts)}.")
    return kind(**values)


def _parts(kind: type) -> dict[str, Argument]:
    """Return the parts of an item by name: texts, words and whole numbers."""
    hints = get_type_hints(kind, include_extras=True)
    return {one.name: _argument(one.name, hints[one.name], one.default) for one in fields(kind)}


_arguments: dict[type[Request], tuple[Argument, ...]] = {}


def arguments_of(request: type[Request]) -> tuple[Argument, ...]:
    """Return the fields of a request in their order."""
    if request not in _arguments:
        hints = get_type_hints(request, include_extras=True)
        _arguments[request] = tuple(_argument(one.name, hints[one.name], one.default) for one in fields(request))
    return _arguments[request]


MetadataT = TypeVar("MetadataT")


def _argument(name: str, hint: object, default: object) -> Argument:
    annotation, *metadata = get_args(hint) if get_origin(hint) is Annotated else (hint,)

    def last(kind: type[MetadataT]) -> MetadataT | None:  # what a field adds to a named type overrides it
        return next((part for part in reversed(metadata) if isinstance(part, kind)), None)

    return Argument(
        name=name,
        annotation=annotation,
        default=default,
        help=last(Help) or Help(""),
        range=last(Range),
        check=last(Check),
        positional=last(Positional),
        command_line=last(CommandLine) or CommandLine(),
    )


def _words(annotation: object) -> tuple[str, ...]:
    """Return the words of a Literal, or of a union of them."""
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    if get_origin(annotation) in (Union, UnionType):
        return tuple(word for part in get_args(annotation) for word in _words(part))
    return ()


_ID: Final = Help("full id, or a unique beginning of 8 characters or more")
_IDS: Final = Help("full ids, or unique beginnings of 8 characters or more")
_WHEN: Final = CommandLine(metavar="WHEN", help="7d, or a moment")
_MEMORY: Final = Positional("ID")
_MEMORIES: Final = Positional("ID")

Content = Annotated[str, Check(checked_content)]
Label = Annotated[str, Check(checked_label)]
Project = Annotated[str, Check(checked_label), Help("instead of the project of this folder")]
Share = Annotated[float, Range(0, 1), CommandLine(metavar="0..1")]
Tokens = Annotated[
    int, Range(FEWEST_TOKENS, MOST_TOKENS), CommandLine(metavar="TOKENS"), Help("how long an answer at most")
]


@declaration
class RememberRequest(Request):
    """A text to keep, and what is known about it."""

    content: Annotated[
        Content,
        Help("one self-contained statement", in_schema=True),
        Positional("TEXT", stdin=True),
        CommandLine(help="what to keep; - reads it from stdin"),
    ]
    layer: Annotated[Layer | Literal["auto"], Help("where it belongs")] = "auto"
    kind: Annotated[Kind | Literal["auto"], Help("what it is")] = "auto"
    title: Annotated[Label, Help("a short line for lists")] = ""
    tags: Annotated[tuple[str, ...], Check(checked_tags), Help("words to find it by")] = ()
    importance: Annotated[Share, Help("how much it matters")] = 0.5
    confidence: Annotated[Share, Help("how sure it is")] = 1.0
    source: Annotated[
        Source,
        Help("human if the user said it", in_schema=True),
        CommandLine(default="human", help="who says so"),
    ] = "ai"
    files: Annotated[
        tuple[str, ...], Check(checked_files), Help("paths or path::symbol it speaks of", in_schema=True)
    ] = ()
    project: Project = ""
    happened_at: Annotated[
        str,
        Help("ISO moment", in_schema=True),
        CommandLine(metavar="MOMENT", help="2026-03-01, or 2d for two days ago"),
    ] = ""
    forget_after: Annotated[
        str,
        Help("ISO moment or span such as 30d", in_schema=True),
        CommandLine(metavar="WHEN", help="30d, or a moment"),
    ] = ""
    tier: Annotated[Tier | Literal[""], Help("how long it lives unused", in_schema=True)] = ""
    pin: Annotated[bool, Help("never forget it")] = False
    supersedes: Annotated[str, Help("id of the memory it replaces", in_schema=True), CommandLine(metavar="ID")] = ""
    valence: Annotated[float, Range(-1, 1), Help("how bad or good it was"), CommandLine(metavar="-1..1")] = 0.0
    visibility: Annotated[Visibility, Help("personal: only its author sees it", in_schema=True)] = "team"


@declaration
class ReviseRequest(Request):
    """A corrected text for a memory."""

    id: Annotated[str, _ID, _MEMORY]
    content: Annotated[
        Content,
        Help("the corrected text"),
        Positional("TEXT", stdin=True),
        CommandLine(help="the corrected text; - reads it from stdin"),
    ]
    reason: Annotated[
        Label,
        Help("why; of a decision also what came of it: “failed: …”, worked, reversed, superseded"),
    ] = ""
    visibility: Annotated[Visibility | Literal[""], Help("change who sees it; only its author may")] = ""


@declaration
class ForgetRequest(Request):
    """Which memories to forget: by id, or all that fit every filter given."""

    ids: Annotated[tuple[str, ...], _IDS, _MEMORIES] = ()
    min_strength: Annotated[
        float,
        Range(0, STRONGEST),
        Help("all weaker than this", in_schema=True),
        CommandLine(metavar="STRENGTH"),
    ] = 0.0
    older_than: Annotated[str, Help("span such as 90d", in_schema=True), CommandLine(metavar="SPAN")] = ""
    project: Annotated[Label, Help("all of this project")] = ""
    layer: Annotated[Layer | Literal[""], Help("all of this layer")] = ""
    tag: Annotated[str, Help("all with this tag")] = ""
    reason: Annotated[Label, Help("why they are forgotten")] = ""
    purge: Annotated[bool, Help("cannot be undone; only if the user asks", in_schema=True)] = False
    dry_run: Annotated[bool, Help("only say what would be forgotten")] = False


@declaration
class RecallRequest(Request):
    """A query and its limits."""

    query: Annotated[
        str, Check(checked_query), Help("what you want to know, in plain words", in_schema=True), Positional("QUERY")
    ]
    entity: Annotated[Label, Help("only what names this, by any of its names", in_schema=True)] = ""
    limit: Annotated[int, Range(1, MOST_RESULTS), Help("how many at most")] = 8
    max_tokens: Tokens = 1500
    layers: Annotated[tuple[Layer, ...], Help("only these layers")] = ()
    kinds: Annotated[tuple[Kind, ...], Help("only these kinds")] = ()
    tags: Annotated[tuple[str, ...], Check(checked_tags), Help("only memories with one of these")] = ()
    project: Project = ""
    all_projects: Annotated[bool, Help("look everywhere")] = False
    since: Annotated[str, Help("ISO moment or span such as 7d", in_schema=True), _WHEN] = ""
    before: Annotated[str, Help("ISO moment or span such as 7d"), _WHEN] = ""
    as_of: Annotated[str, Help("answer with what was known then", in_schema=True), CommandLine(metavar="WHEN")] = ""
    min_strength: Annotated[
        float, Range(0, STRONGEST), Help("only what is stronger"), CommandLine(metavar="STRENGTH")
    ] = 0.0
    include: Annotated[tuple[HiddenStatus, ...], Help("also memories with these statuses")] = ()
    explain: Annotated[bool, Help("say why each was found")] = False
    client_session: Annotated[
        Label, Help("for hooks: only what fits well and this session of the client was not shown, or nothing")
    ] = ""

    def __post_init__(self) -> None:
        if self.client_session:  # a hook passes on whatever a person typed: too long or empty is no mistake of theirs
            object.__setattr__(self, "query", self.query[:LONGEST_QUERY] if self.query.strip() else "?")
        super().__post_init__()


@declaration
class BriefRequest(Request):
    """Which project to brief about, and how long."""

    project: Project = ""
    max_tokens: Tokens = 800


@declaration
class InspectRequest(Request):
    """Which memories to show in full."""

    ids: Annotated[tuple[str, ...], _IDS, _MEMORIES]


@declaration
class StatusRequest(Request):
    """Nothing: the status of the store takes no arguments."""


@declaration
class RestoreRequest(Request):
    """What to bring back: memories, or all that a dream or an event changed."""

    ids: Annotated[tuple[str, ...], _IDS, _MEMORIES] = ()
    dream_id: Annotated[str, Help("the dream to undo"), CommandLine(metavar="ID")] = ""
    event_id: Annotated[str, Help("the event to undo"), CommandLine(metavar="ID")] = ""


@declaration
class IndexRequest(Request):
    """Which code to read."""

    path: Annotated[
        str,
        Help("folder; default this project", in_schema=True),
        Positional("PATH"),
        CommandLine(help="a folder; without it, this project"),
    ] = ""
    project: Annotated[Label, Help("instead of the project of that folder")] = ""
    max_files: Annotated[
        int, Range(1, MOST_FILES_INDEXED), Help("how many at most"), CommandLine(metavar="FILES")
    ] = 20_000


@declaration
class MoveRequest(Request):
    """Which memory to move, and where to."""

    id: Annotated[str, _ID, _MEMORY]
    to: Annotated[Layer | Literal[""], Help("the layer; without it, the next one")] = ""


@declaration
class PinRequest(Request):
    """Which memory to pin."""

    id: Annotated[str, _ID, _MEMORY]
    pinned: Annotated[bool, Help("false takes the pin away"), CommandLine(hidden=True)] = True


@declaration
class ConsolidateRequest(Request):
    """What a dream may do."""

    dry_run: Annotated[bool, Help("show what it would do, by reason; change nothing")] = False
    steps: Annotated[tuple[StepName, ...], Help("only these steps")] = ()
    project: Annotated[Label, Help("only the memories of this project")] = ""
    budget_cents: Annotated[
        float, Range(0, MOST_CENTS), Help("for a language model, if one is set"), CommandLine(metavar="CENTS")
    ] = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewDecision:
    """An answer to a question of a dream."""

    question_id: str
    verdict: Verdict
    text: str = ""


@declaration
class ReviewRequest(Request):
    """Answers to the questions of dreams, and how many open ones to show; an answer may be given as a mapping."""

    decisions: Annotated[
        tuple[ReviewDecision, ...],
        Help("answers: question_id, verdict, text"),
        CommandLine(
            flag="--answer",
            metavar="QUESTION=VERDICT",
            help="answer a question; QUESTION=VERDICT:TEXT for merge, bridge and revise",
        ),
    ] = ()
    limit: Annotated[int, Range(0, MOST_QUESTIONS), Help("how many questions to show")] = 10


@declaration
class ListRequest(Request):
    """Which memories to list, for people: no tool, because a model is better served by `recall`."""

    limit: Annotated[int, Range(1, MOST_LISTED), Help("how many at most")] = 20
    layer: Annotated[tuple[Layer, ...], Help("only these")] = ()
    kind: Annotated[tuple[Kind, ...], Help("only these")] = ()
    tag: Annotated[tuple[str, ...], Check(checked_tags), Help("only memories with one of these")] = ()
    status: Annotated[tuple[Status, ...], Help("instead of active and challenged")] = ()
    project: Project = ""
    all_projects: Annotated[bool, Help("look everywhere")] = False
    since: Annotated[str, Help("ISO moment or span such as 7d"), _WHEN] = ""
    sort: Annotated[ListOrder, Help("what comes first")] = "newest"


@declaration
class EntitiesRequest(Request):
    """Which project's names to list, for people: a model asks recall about one of them."""

    limit: Annotated[int, Range(1, MOST_LISTED), Help("how many at most")] = 30
    project: Project = ""
    all_projects: Annotated[bool, Help("look everywhere")] = False


@declaration
class NamedRequest(Request):
    """Which memories a command means, and whether it is about to change them."""

    ids: Annotated[tuple[str, ...], _IDS, _MEMORIES]
    to_change: Annotated[bool, Help("only what may be changed from here")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedText:
    """A statement from a transcript, and the turn in which it was made.

    Raises:
        InvalidInput: if it is empty, too long, or of no kind.
    """

    text: str
    kind: Kind
    turn: int = 0

    def __post_init__(self) -> None:
        checked_content("text", self.text)
        checked_choices("kind", [self.kind], KINDS)


@declaration
class SaidText:
    """What the person said in a turn of a session."""

    text: str
    turn: int = 0


@declaration
class CaptureRequest(Request):
    """What a hook found in a session's transcript: which client's, which session, and the statements."""

    client: Annotated[str, Check(checked_label), Help("whose session it was")]
    session: Annotated[str, Check(checked_label), Help("its id there")]
    items: Annotated[tuple[CapturedText, ...], Help("statements with kind and turn, found by rule")] = ()
    said: Annotated[tuple[SaidText, ...], Help("what the person said, for a model to read")] = ()


@declaration
class TranscriptRequest(Request):
    """Which session's transcript is to be read, where it is, and where the session worked."""

    client: Annotated[str, Check(checked_label), Help("whose session it was")]
    session: Annotated[str, Check(checked_label), Help("its id there")]
    transcript: Annotated[str, Help("the path of its transcript")] = ""
    summary: Annotated[str, Help("the client's own summary")] = ""
    folder: Annotated[str, Help("the project's folder")] = ""


@declaration
class ContextRequest(Request):
    """What a hook would put into a session: about a query, or the briefing if there is none."""

    query: Annotated[str, Help("a prompt or an error")] = ""
    max_tokens: Tokens = 300
    shown: Annotated[tuple[str, ...], _IDS] = ()
    client_session: Annotated[Label, Help("the client's name for the session it is for")] = ""
