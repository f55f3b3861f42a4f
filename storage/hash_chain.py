"""The hash chain of the journal, and its head: stored outside the data folder, sealed with the installation's key."""

import hashlib
import json
import logging
import os
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import Any

from reverie.errors import KeyUnavailable
from reverie.installation import Installation
from reverie.memory import Anchor, Memory
from reverie.record import FIELDS, encode

CHAINED = ("id", "at", "action", "memory_id", "actor", "session", "batch")
TEXTS = ("reason", "before", "after")

GONE = "gone"
"""The state of a memory that an event left without a row."""

_COUNTERS = ("access_count", "access_times", "last_accessed_at", "stability", "sessions")
"""Recalls count these without an event."""

_ROW_FIELDS = ("id", "updated_at", "embedder", "precision")
"""Fields about the row, not about the memory."""

_TEXT = ("content", "content_hash", "title")
_STATUS = ("status", "status_reason", "expired_at", "superseded_by", "layer", "project", "pinned")
_OTHER_FIELDS = tuple(name for name in sorted(FIELDS) if name not in (*_COUNTERS, *_ROW_FIELDS, *_TEXT, *_STATUS))
PARTS: Mapping[str, tuple[str, ...]] = {"text": _TEXT, "standing": _STATUS, "other fields": _OTHER_FIELDS}
"""The parts of a state: the text, the standing (status, layer, project, pin), and everything else."""

_DEFAULTS = {one.name: one.default for one in fields(Memory)}
_DIGITS = 24


@dataclass(frozen=True, slots=True)
class Link:
    """A link of the chain: the number of an event and its hash."""

    number: int
    hash: str


START = Link(0, "")


def text_digest(row: Mapping[str, Any]) -> str:
    """Return the digest of the texts of an event."""
    return _sha256([row[name] for name in TEXTS])


def link_after(previous: Link, row: Mapping[str, Any], digest: str) -> Link:
    """Return the link of an event that follows another; its moment must be text."""
    number = previous.number + 1
    state = row.get("state")  # events from before states were kept have none, and keep their hashes
    covered = [previous.hash, number, *(row[name] for name in CHAINED), digest, *([state] if state else [])]
    return Link(number, _sha256(covered))


def state_of(memory: Memory) -> str:
    """Return the digests that the row of a memory must keep until the next event about it.

    What has its default is left out, so that a field which a later version adds changes no state of an older row.
    """
    parts = ([pair for name in names if (pair := _name_and_value(memory, name))] for names in PARTS.values())
    return ".".join(_sha256(part)[:_DIGITS] for part in parts)


def _name_and_value(memory: Memory, name: str) -> list[Any]:
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


_FOLDER = "heads"
_PURPOSE = "journal"
_LENGTH = 1_024  # each write covers the whole file, so that a shorter head leaves nothing of a longer one

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Head:
    """How far the journal had come when this installation last wrote to it."""

    link: Link
    since: int  # events up to this number are older than the head and are not proved by it
    lost: Link | None = None  # an earlier head that the journal did not continue from


@dataclass(frozen=True, slots=True)
class KnownHead:
    """The head of a journal as the configuration folder has it, or why there is none."""

    head: Head | None
    reason: str = ""


class SealedHead:
    """Reads and moves the head of one data folder."""

    def __init__(self, installation: Installation, folder: Path) -> None:
        self._installation = installation
        self._folder = str(folder.resolve())
        name = hashlib.sha256(self._folder.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        self._file = installation.folder / _FOLDER / f"{name}.json"
        self._left: Head | None = None  # as this process wrote it last
        self._complained = False

    def seal(self, link: Link) -> str | None:
        """Return the seal of an event; None where there is no key, which `reverie audit` then says."""
        try:
            return self._installation.seal(_PURPOSE, _bytes_of(link))
        except KeyUnavailable as error:
            self._complain(error)
            return None

    def fits(self, link: Link, seal: str | None) -> bool:
        """Whether this installation wrote an event."""
        if seal is None or not self._installation.has_key:
            return False
        try:
            return self._installation.fits(_PURPOSE, _bytes_of(link), seal)
        except KeyUnavailable as error:
            self._complain(error)
            return False

    def known(self) -> KnownHead:
        """Return the head of this folder's journal. Call it before the journal is read, not after."""
        if not self._installation.has_key:
            return KnownHead(None, f"there is no key in {self._installation.folder}")
        try:
            head, seal = self._read()
        except FileNotFoundError:
            return KnownHead(None, f"this installation has not written to {self._folder} yet")
        except (OSError, ValueError, KeyError, TypeError) as error:
            return KnownHead(None, f"the head in {self._file} cannot be read ({error})")
        if not self.fits(head.link, seal):
            return KnownHead(None, f"the head in {self._file} was sealed with another key")
        return KnownHead(head)

    def follow(self, previous: Link, previous_seal: str | None, last: Link, seal: str | None) -> None:
        """Move the head on to the last of the events that were just written after a link."""
        if seal is None:
            return
        # Whoever appends moves the head: while the journal ends where we left it, so does the head.
        head = self._left if self._left is not None and self._left.link == previous else self.known().head
        if head is None:
            head = Head(last, since=previous.number)
        elif head.link == previous or (previous.number > head.link.number and self.fits(previous, previous_seal)):
            head = replace(head, link=last)
        else:  # the journal continues from another link than ours: keep ours, or the audit could not see it
            head = replace(head, link=last, lost=head.lost or head.link)
        self._write(head, seal)

    def accept(self, link: Link, seal: str | None) -> None:
        """Take the journal as it is, up to a link."""
        if seal is not None:
            self._write(Head(link, since=link.number), seal)

    def _read(self) -> tuple[Head, str]:
        stored = json.loads(self._file.read_bytes())
        lost = stored["lost"]
        return Head(Link(*stored["link"]), int(stored["since"]), Link(*lost) if lost else None), str(stored["seal"])

    def _write(self, head: Head, seal: str) -> None:
        stored = {
            "folder": self._folder,
            "link": [head.link.number, head.link.hash],
            "since": head.since,
            "lost": [head.lost.number, head.lost.hash] if head.lost else None,
            "seal": seal,
        }
        self._left = None
        try:
            self._file.parent.mkdir(mode=0o700, exist_ok=True)
            descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT, 0o600)
            try:
                written = os.write(descriptor, json.dumps(stored).encode().ljust(_LENGTH) + b"\n")
                os.ftruncate(descriptor, written)
            finally:
                os.close(descriptor)
        except OSError as error:
            self._complain(error)
        else:
            self._left = head

    def _complain(self, error: Exception) -> None:
        """Log once what is missing: without a key everything works but the proof."""
        if not self._complained:
            self._complained = True
            log.warning("The journal is not sealed: %s", error)


def _bytes_of(link: Link) -> bytes:
    return f"{link.number} {link.hash}".encode()
