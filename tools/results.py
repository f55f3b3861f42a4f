"""What each tool answers with. Plain values, so that the server can describe them before anything is loaded.

Without slots: the MCP library would take a slot for a default value and leave out the schema.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

IndexState = Literal["ready", "warming", "lexical_only"]
Fits = Literal["well", "weak", "none"]

_DIGITS = 3
_SUBJECTS: Final = frozenset(
    {"results", "memories", "questions", "resolved", "forgotten", "restored", "steps", "changes", "counts"}
)
"""What a tool is asked for: an empty one is an answer. Every other empty field is left out."""

_VERBATIM: Final = ("before", "after")  # what an event changed: a field that was emptied says so


def lean(result: Any) -> dict[str, Any]:
    """Return a result as a client is sent it: floats to three digits, without empty fields and repeated titles."""
    whole = asdict(result)
    slim = _slim(whole)
    return {name: slim.get(name, whole[name]) for name in whole if name in slim or name in _SUBJECTS}


def as_sent(structure: Mapping[str, Any]) -> str:
    """Write a structure the way its tokens are counted."""
    return json.dumps(structure, ensure_ascii=False)


def repeats(title: str, content: str) -> bool:
    """Whether a title only says how the content begins."""
    return " ".join(content.split()).startswith(" ".join(title.rstrip(" .…").split()))


def freshness_word(freshness: str, since: str = "") -> str:
    """Return freshness as texts tell it: what is there and the same is unchanged, which does not make it true."""
    if freshness != "verified":
        return freshness
    return f"unchanged since {since[:10]}" if since else "unchanged since seen"


def _slim(value: Any) -> Any:
    if isinstance(value, dict):
        slim = {name: part if name in _VERBATIM else _slim(part) for name, part in value.items()}
        title, content = slim.get("title"), slim.get("content")
        if isinstance(title, str) and isinstance(content, str) and repeats(title, content):
            del slim["title"]
        return {name: part for name, part in slim.items() if not _is_empty(part)}
    if isinstance(value, float):
        return round(value, _DIGITS)
    return [_slim(item) for item in value] if isinstance(value, list | tuple) else value


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str | list | dict) and not value)


@dataclass(frozen=True)
class Conflict:
    """A memory that the new one cannot both be true with."""

    id: str
    content: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Remembered:
    """What became of a text that was to be remembered."""

    id: str
    layer: str
    kind: str
    status: str
    importance: float
    surprise: float | None
    duplicate_of: str | None
    confirmed: bool
    conflicts: list[Conflict]
    anchors: list[dict[str, Any]]
    redactions: list[str]
    warnings: list[str]
    project: str = ""


@dataclass(frozen=True, kw_only=True)
class RecalledMemory:
    """One row of an answer."""

    id: str
    content: str
    title: str
    layer: str
    kind: str
    score: float
    strength: float
    strength_word: str
    freshness: str
    evidence: str  # what became of what it was seen in, in a few words; empty while that holds
    trust: float
    source: str
    status: str
    age_days: float
    created_at: str
    pinned: bool
    why: dict[str, float] | None = None


@dataclass(frozen=True, kw_only=True)
class Recalled:
    """The memories that answer a question, best first, and what was left out."""

    results: list[RecalledMemory]
    fits: Fits
    total_matches: int
    filtered: dict[str, int]
    tokens: int
    index_state: IndexState
    scope: dict[str, Any]


@dataclass(frozen=True)
class Inspected:
    """Everything that is known about some memories."""

    memories: list[dict[str, Any]]


@dataclass(frozen=True)
class Revised:
    """A correction: the new memory and the one it stands in for."""

    id: str
    superseded: str | None  # none while the new text is held back
    layer: str
    kind: str
    status: str
    redactions: list[str]
    warnings: list[str]
    project: str = ""


@dataclass(frozen=True)
class Skipped:
    """A memory that was left as it is, and why."""

    id: str
    reason: str


@dataclass(frozen=True)
class Forgotten:
    """What was, or in a dry run would be, let go."""

    forgotten: list[str]
    skipped: list[Skipped]
    dry_run: bool
    project: str = ""


@dataclass(frozen=True)
class Restored:
    """What was brought back."""

    restored: list[str]
    skipped: list[Skipped]
    project: str = ""


@dataclass(frozen=True)
class Moved:
    """A memory's way from one layer to another."""

    id: str
    from_layer: str
    to_layer: str
    project: str = ""


@dataclass(frozen=True)
class Pinned:
    """Whether a memory is pinned now."""

    id: str
    pinned: bool
    project: str = ""


@dataclass(frozen=True, kw_only=True)
class Status:
    """How the store is doing: `counts` is of this project, `elsewhere` of what is kept beside it."""

    counts: dict[str, dict[str, int]]
    elsewhere: dict[str, int]
    home: str
    domain: str
    project: str
    embedder: str
    index_state: IndexState
    last_dream: str | None
    disk_bytes: int
    version: str
    health: list[str]


@dataclass(frozen=True, kw_only=True)
class StepDone:
    """What one step of a dream did, or in a dry run would do."""

    name: str
    planned: int
    applied: int
    skipped: list[Skipped]
    notes: list[str]


@dataclass(frozen=True, kw_only=True)
class Consolidated:
    """What a dream did, or in a dry run would do."""

    dream_id: str
    dry_run: bool
    steps: list[StepDone]
    changes: list[dict[str, str]]
    questions: list[str]
    cost_cents: float
    duration_ms: float
    project: str = ""


@dataclass(frozen=True, kw_only=True)
class Reviewed:
    """What still waits for an answer, and what was decided."""

    questions: list[dict[str, Any]]
    resolved: list[dict[str, str]]
    project: str = ""


@dataclass(frozen=True)
class Briefing:
    """What a session should start with."""

    text: str
    tokens: int
    memories: list[str]
    more: int = 0  # how many others there are


@dataclass(frozen=True, kw_only=True)
class DriftedMemory:
    """A memory whose evidence is not where or what it was, and what was done about it."""

    id: str
    title: str
    freshness: str
    evidence: str
    action: str


@dataclass(frozen=True)
class Drifted:
    """What checking the evidence of memories found; `drift_id` undoes it through restore."""

    checked: int
    freshness: dict[str, int]
    memories: list[DriftedMemory]
    drift_id: str
    dry_run: bool


@dataclass(frozen=True, kw_only=True)
class Indexed:
    """What a scan of the code wrote."""

    project: str
    files: int
    symbols: int
    memories: int
    updated: int
    removed: int
    skipped: dict[str, int]
