"""What recall answers with, and the lean form in which results are sent."""

import json
from collections.abc import Mapping
from dataclasses import field, fields, is_dataclass
from typing import Any, Final, Literal

from reverie.declaration import declaration

IndexState = Literal["ready", "warming", "lexical_only"]
Fits = Literal["well", "weak", "none"]

_DIGITS = 3
_SUBJECTS: Final = frozenset(
    {"results", "memories", "questions", "resolved", "forgotten", "restored", "steps", "changes", "counts"}
)
"""What a tool is asked for: an empty one is an answer. Every other empty field is left out."""

_VERBATIM: Final = ("before", "after")  # what an event changed: a field that was emptied says so


NOT_STRUCTURED: Final = "not structured"
"""Metadata of a field that is only for the text of an answer, not for its structure."""


def lean(result: Any) -> dict[str, Any]:
    """Return a result as a client is sent it: floats to three digits, without empty fields and repeated titles."""
    full = structured(result)
    slim = _slim(full)
    return {name: slim.get(name, full[name]) for name in full if name in slim or name in _SUBJECTS}


def structured(result: Any) -> dict[str, Any]:
    """Return a result as plain values, without the fields that are only for its text."""
    hidden = text_only_fields(type(result))
    return {name: _plain(getattr(result, name)) for name in _field_names(type(result)) if name not in hidden}


def _plain(value: Any) -> Any:
    """Return a value without classes of ours: like `dataclasses.asdict`, which copies every text and number too."""
    if isinstance(value, str | int | float) or value is None:
        return value
    if is_dataclass(value):
        return {name: _plain(getattr(value, name)) for name in _field_names(type(value))}
    if isinstance(value, list | tuple):
        return type(value)(map(_plain, value))
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return value


_names_by_type: dict[type, tuple[str, ...]] = {}  # `fields` makes its list anew each time


def _field_names(result: type) -> tuple[str, ...]:
    if result not in _names_by_type:
        _names_by_type[result] = tuple(one.name for one in fields(result))
    return _names_by_type[result]


def text_only_fields(result: type) -> tuple[str, ...]:
    """Return the names of the fields of a result that its structure leaves out."""
    return tuple(one.name for one in fields(result) if NOT_STRUCTURED in one.metadata)


def as_sent(structure: Mapping[str, Any]) -> str:
    """Write a structure the way its tokens are counted."""
    return json.dumps(structure, ensure_ascii=False)


def repeats(title: str, content: str) -> bool:
    """Whether a title only says how the content begins."""
    return " ".join(content.split()).startswith(" ".join(title.rstrip(" .…").split()))


def freshness_word(freshness: str, since: str = "") -> str:
    """Return freshness as texts say it: `verified` means unchanged, not true."""
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


@declaration
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
    author: str = ""  # who said it, where others than the reader have spoken
    visibility: str = ""  # personal, if only the reader sees it
    outcome: str = ""  # what came of a decision, and who says so: "tried, failed: …"
    why: dict[str, float] | None = None


@declaration
class Recalled:
    """The memories that answer a question, best first, and what was left out."""

    results: list[RecalledMemory]
    fits: Fits
    total_matches: int
    filtered: dict[str, int]
    tokens: int
    index_state: IndexState
    scope: dict[str, Any]
    text: str = field(default="", metadata={NOT_STRUCTURED: True})  # the rows as a model reads them
