"""The chain that runs through the journal: each event's hash covers the one before it.

Changing, removing or inserting an event breaks every hash after it. The texts of an event enter by their digest,
so that a purge can blank them and leave the chain whole. An event also says in what state it left its memory, so
that a row which was changed behind the journal shows.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

from reverie.memory import Anchor, Memory
from reverie.record import FIELDS, encode

CHAINED = ("id", "at", "action", "memory_id", "actor", "session", "batch")
TEXTS = ("reason", "before", "after")

GONE = "gone"
"""The state of a memory that an event left without a row."""

_UNTIED = ("access_count", "access_times", "last_accessed_at", "stability", "sessions")
"""Recalls count these without an event."""

_OF_THE_ROW = ("id", "updated_at", "embedder", "precision")
"""How a row is stored, not what it says."""

_TEXT = ("content", "content_hash", "title")
_STANDING = ("status", "status_reason", "expired_at", "superseded_by", "layer", "project", "pinned")
_OTHERS = tuple(name for name in sorted(FIELDS) if name not in (*_UNTIED, *_OF_THE_ROW, *_TEXT, *_STANDING))
PARTS: Mapping[str, tuple[str, ...]] = {"text": _TEXT, "standing": _STANDING, "other fields": _OTHERS}
"""What a state tells apart: the text, the standing (status, layer, project, pin), and everything else."""

_DEFAULTS = {one.name: one.default for one in fields(Memory)}
_DIGITS = 24


@dataclass(frozen=True, slots=True)
class Link:
    """A place in the chain: the number of an event and its hash."""

    number: int
    hash: str


START = Link(0, "")


def text_digest(row: Mapping[str, Any]) -> str:
    """Return the digest of what an event says, apart from what happened when to whom."""
    return _sha256([row[name] for name in TEXTS])


def link_after(previous: Link, row: Mapping[str, Any], digest: str) -> Link:
    """Return the link of an event that follows another; its moment must be text."""
    number = previous.number + 1
    state = row.get("state")  # events from before states were kept have none, and keep their hashes
    covered = [previous.hash, number, *(row[name] for name in CHAINED), digest, *([state] if state else [])]
    return Link(number, _sha256(covered))


def state_of(memory: Memory) -> str:
    """Return the digests of what a row must keep saying until the next event about it.

    What has its default is left out, so that a field which a later version adds changes no state of an older row.
    """
    parts = ([said for name in names if (said := _said(memory, name))] for names in PARTS.values())
    return ".".join(_sha256(part)[:_DIGITS] for part in parts)


def _said(memory: Memory, name: str) -> list[Any]:
    """Return a field's name and value; nothing if it has its default."""
    value = getattr(memory, name)
    if value == _DEFAULTS.get(name, MISSING):
        return []
    if name == "anchors":
        return [name, [_parts_of(anchor) for anchor in value]]
    return [name, encode(value)]


def _parts_of(anchor: Anchor) -> dict[str, Any]:
    # Where a folder was seen depends on who looks.
    parts = {one.name: (getattr(anchor, one.name), one.default) for one in fields(Anchor) if one.name != "root"}
    return {name: encode(value) for name, (value, default) in sorted(parts.items()) if value != default}


def differing(state: str, other: str) -> list[str]:
    """Name the parts in which two states differ."""
    pairs = zip(PARTS, state.split("."), other.split("."), strict=True)
    return [part for part, one, two in pairs if one != two]


def _sha256(values: list[Any]) -> str:
    return hashlib.sha256(json.dumps(values, ensure_ascii=False).encode()).hexdigest()
