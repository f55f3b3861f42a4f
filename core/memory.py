"""A memory: its fields and anchors, the names of kinds, layers, tiers and statuses, and its JSON form.

JSON is the form of exports, of the journal and of `inspect`.
"""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from reverie.errors import InvalidInput
from reverie.ids import ID_PATTERN
from reverie.time import iso, parse_iso


def clamped(value: float, low: float = 0.0, high: float = 1.0) -> float:
    """Return the value limited to [low, high]; NaN counts as low, the cautious end."""
    if value != value:
        return low
    return min(max(value, low), high)


Layer = Literal["working", "episodic", "semantic", "procedural", "codebase"]
Kind = Literal[
    "fact",
    "decision",
    "preference",
    "event",
    "error_fix",
    "how_to",
    "rejected",
    "code",
    "peer_card",
    "bridge",
    "digest",
]
Source = Literal["human", "ai", "interaction", "ingest", "code_scan", "dream", "import"]
Status = Literal["active", "challenged", "superseded", "expired", "quarantined"]
Tier = Literal["goldfish", "standard", "elephant", "permanent"]
Visibility = Literal["team", "personal"]
OutcomeResult = Literal["worked", "failed", "reversed", "superseded"]
StepName = Literal[
    "sweep", "forget", "dedupe", "cluster", "digest", "peer_cards", "synthesis", "beliefs", "drift", "prune"
]
"""The steps of a dream, in order."""

Verdict = Literal[
    "merge",
    "separate",
    "bridge",
    "no_bridge",
    "outdated",
    "holds",
    "revise",
    "forget",
    "keep",
    "drop",
    "worked",
    "failed",
    "reversed",
    "superseded",
]
"""The answers to review questions; the kind of a question says which of them it takes."""
Freshness = Literal["verified", "changed", "moved", "missing", "unverifiable", "unanchored"]

LAYERS: tuple[Layer, ...] = get_args(Layer)
KINDS: tuple[Kind, ...] = get_args(Kind)
SOURCES: tuple[Source, ...] = get_args(Source)
STATUSES: tuple[Status, ...] = get_args(Status)
TIERS: tuple[Tier, ...] = get_args(Tier)
VISIBILITIES: tuple[Visibility, ...] = get_args(Visibility)
RESULTS: tuple[OutcomeResult, ...] = get_args(OutcomeResult)

LADDER: tuple[Layer, ...] = ("working", "episodic", "semantic", "procedural")
"""The layers along which a memory is promoted and demoted; codebase is not one of them."""

GLOBAL_PROJECT = "global"
"""The project of memories that belong to no repository; visible from every project."""


LOCAL_PERSON = ""
"""The person of this machine, who works through stdio, the engine or the command line, and needs no name."""


def author_of(session: str | None) -> str | None:
    """Return the person in the id of a session: over HTTP it is `USER/ID`, on this machine only an id."""
    user, slash, _ = (session or "").rpartition("/")
    return user if slash else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A file, symbol or manifest entry that a memory refers to, and whether it is still as it was."""

    path: str
    symbol: str | None = None
    kind: str = "file"
    digest: str | None = None
    span: tuple[int, int] | None = None
    commit: str | None = None
    freshness: Freshness = "unverifiable"
    now_at: str | None = None
    note: str | None = None
    file_digest: str | None = None  # of the whole file around a symbol; while it matches, nothing is parsed
    root: str | None = None  # where a folder without git was seen; in a repository the project names the root
    missing_on: tuple[str, ...] = ()  # the days on which a check found it gone


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One memory, without its vector."""

    # identity
    id: str
    content: str
    content_hash: str
    title: str
    kind: Kind
    layer: Layer
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    # scope
    project: str = GLOBAL_PROJECT
    branch: str | None = None
    session: str | None = None
    visibility: Visibility = "team"
    # provenance
    author: str | None = None  # who said it, by their token; None: the person of this machine, or a dream
    source: Source = "ai"
    source_ref: str | None = None
    trust: float
    confidence: float = 1.0
    derived_from: tuple[str, ...] = ()
    # vitals
    importance: float = 0.5
    surprise: float | None = None  # None: there was nothing to compare with
    valence: float = 0.0
    stability: float
    confirmations: int = 0
    confirmed_by: tuple[str, ...] = ()  # the distinct sources behind `confirmations`
    created_at: datetime
    happened_at: datetime
    last_accessed_at: datetime | None = None
    access_count: int = 0
    access_times: tuple[datetime, ...] = ()  # the most recent ones, oldest first
    sessions: tuple[str, ...] = ()
    core: bool = False
    pinned: bool = False
    tier: Tier | None = None
    forget_after: datetime | None = None
    # status
    status: Status = "active"
    expired_at: datetime | None = None
    status_reason: str | None = None
    superseded_by: str | None = None
    outcome: str | None = None  # how a decision turned out, as lifecycle/outcomes.py writes it
    updated_at: datetime
    # evidence
    anchors: tuple[Anchor, ...] = ()
    # vector stamp
    embedder: str
    precision: int = 32

    @property
    def owner(self) -> str | None:
        """The only person who sees this memory, who may be LOCAL_PERSON; None if everybody in its project does."""
        return (self.author or LOCAL_PERSON) if self.visibility == "personal" else None


FIELDS = tuple(field.name for field in dataclasses.fields(Memory))

_TEXTS = ("content", "content_hash", "title", "project", "embedder")
_OPTIONAL_TEXTS = ("branch", "session", "author", "source_ref", "status_reason", "superseded_by", "outcome")
_TEXT_LISTS = ("tags", "entities", "derived_from", "confirmed_by", "sessions")
_MOMENTS = ("created_at", "happened_at", "updated_at")
_OPTIONAL_MOMENTS = ("last_accessed_at", "forget_after", "expired_at")
_FLAGS = ("core", "pinned")
_COUNTS = ("confirmations", "access_count", "precision")
_SHARES = ("trust", "confidence", "importance", "stability")
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "kind": KINDS,
    "layer": LAYERS,
    "source": SOURCES,
    "status": STATUSES,
    "tier": TIERS,
    "visibility": VISIBILITIES,
}


def to_record(memory: Memory) -> dict[str, Any]:
    """Return every field under its name, as JSON values."""
    return {name: encode(getattr(memory, name)) for name in FIELDS}


def encode(value: Any) -> Any:
    """Return a field's value as JSON."""
    match value:
        case datetime():
            return iso(value)
        case tuple() | list():
            return [encode(item) for item in value]
        case Anchor():
            return {name: encode(part) for name, part in dataclasses.asdict(value).items()}
        case _:
            return value


def decode(name: str, value: Any) -> Any:
    """Read a field's value from JSON, checked.

    Raises:
        InvalidInput: naming the field and what it takes.
    """
    if value is None and (name in _OPTIONAL_TEXTS or name in _OPTIONAL_MOMENTS or name in ("tier", "surprise")):
        return None
    if name == "id":
        return _matching_id(value)
    if name in _TEXTS or name in _OPTIONAL_TEXTS:
        return _text(name, value)
    if name in _TEXT_LISTS:
        return tuple(_text(name, item) for item in _list(name, value))
    if name in _MOMENTS or name in _OPTIONAL_MOMENTS:
        return _moment(name, value)
    if name == "access_times":
        return tuple(_moment(name, item) for item in _list(name, value))
    if name in _FLAGS:
        return _flag(name, value)
    if name in _COUNTS:
        return _count(name, value)
    if name in _CHOICES:
        return _choice(name, value)
    if name == "anchors":
        return tuple(_anchor(item) for item in _list(name, value))
    if name in _SHARES:
        return _number(name, value, 0.0, 1.0)
    if name == "surprise":
        return _number(name, value, 0.0, 2.0)
    if name == "valence":
        return _number(name, value, -1.0, 1.0)
    raise InvalidInput(name, "is not a field of a memory", f"The fields are: {', '.join(FIELDS)}.")


def _matching_id(value: Any) -> str:
    if not isinstance(value, str) or not ID_PATTERN.fullmatch(value):
        raise InvalidInput("id", f"{value!r} is not an id", "Use 1 to 64 characters of A-Z a-z 0-9 _ . : -")
    return value


def checked_text(name: str, value: str) -> str:
    """Return a text that can be stored.

    Raises:
        InvalidInput: if it holds half of a surrogate pair, which no file can keep.
    """
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidInput(name, "holds a broken character (a lone surrogate)", "Send valid Unicode.") from None
    return value


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidInput(name, f"{value!r} is not a text", "Give a string.")
    return checked_text(name, value)


def _list(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidInput(name, f"{value!r} is not a list", "Give a list.")
    return value


def _moment(name: str, value: Any) -> datetime:
    if isinstance(value, str):
        return parse_iso(value, name)
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    raise InvalidInput(name, f"{value!r} is not a moment in time", "Give an ISO moment.")


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(name, f"{value!r} is neither true nor false", "Give true or false.")
    return value


def _count(name: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**53:
        raise InvalidInput(name, f"{value!r} is not a count", "Give a whole number from 0.")
    return value


def _number(name: str, value: Any, lowest: float, highest: float) -> float:
    # Only a float can be infinite, and `math.isfinite` fails on an int that does not fit into one.
    endless = isinstance(value, float) and not math.isfinite(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or endless:
        raise InvalidInput(name, f"{value!r} is not a number", f"Give one from {lowest:g} to {highest:g}.")
    if not lowest <= value <= highest:
        raise InvalidInput(name, f"{str(value)[:20]} is out of range", f"Give one from {lowest:g} to {highest:g}.")
    return float(value)


def _choice(name: str, value: Any) -> str:
    if value not in _CHOICES[name]:
        raise InvalidInput(name, f"{value!r} is unknown", f"It is one of: {', '.join(_CHOICES[name])}.")
    return str(value)


def _anchor(value: Any) -> Anchor:
    if not isinstance(value, dict) or not isinstance(value.get("path"), str):
        raise InvalidInput("anchors", f"{value!r} is not an anchor", "Give objects with at least a path.")
    known = {field.name for field in dataclasses.fields(Anchor)}
    unknown = value.keys() - known
    if unknown:
        raise InvalidInput(
            "anchors", f"{sorted(unknown)[0]!r} is unknown", f"The parts are: {', '.join(sorted(known))}."
        )
    parts = {name: part for name, part in value.items() if part is not None}
    span = parts.pop("span", None)
    if span is not None and not (isinstance(span, list) and len(span) == 2 and all(isinstance(n, int) for n in span)):
        raise InvalidInput("anchors", f"the span {span!r} is not two line numbers", "Give [first, last].")
    missing_on = tuple(_text("anchors", day) for day in _list("anchors", parts.pop("missing_on", [])))
    if any(not isinstance(part, str) for part in parts.values()):
        raise InvalidInput("anchors", "a part is not a text", "Give strings.")
    if parts.get("freshness", "verified") not in get_args(Freshness):
        raise InvalidInput(
            "anchors",
            f"freshness {parts['freshness']!r} is unknown",
            f"It is one of: {', '.join(get_args(Freshness))}.",
        )
    texts: dict[str, Any] = {name: checked_text("anchors", part) for name, part in parts.items()}
    return Anchor(**texts, span=None if span is None else (span[0], span[1]), missing_on=missing_on)
