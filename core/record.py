"""A memory as JSON: the form of exports, of the journal and of `inspect`."""

import dataclasses
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, get_args

from reverie.errors import InvalidInput
from reverie.ids import ID_PATTERN
from reverie.memory import KINDS, LAYERS, SOURCES, STATUSES, TIERS, Anchor, Freshness, Memory
from reverie.time import iso, parse_iso

FIELDS = tuple(field.name for field in dataclasses.fields(Memory))

_TEXTS = ("content", "content_hash", "title", "project", "embedder")
_OPTIONAL_TEXTS = ("branch", "session", "source_ref", "status_reason", "superseded_by")
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
    # Only a float may be infinite, and a huge int cannot be asked: it does not fit into one.
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
