"""The chain that runs through the journal: each event's hash covers the one before it.

Changing, removing or inserting an event breaks every hash after it. The texts of an event enter by their digest,
so that a purge can blank them and leave the chain whole.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CHAINED = ("id", "at", "action", "memory_id", "actor", "session", "batch")
TEXTS = ("reason", "before", "after")


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
    return Link(number, _sha256([previous.hash, number, *(row[name] for name in CHAINED), digest]))


def _sha256(values: list[Any]) -> str:
    return hashlib.sha256(json.dumps(values, ensure_ascii=False).encode()).hexdigest()
