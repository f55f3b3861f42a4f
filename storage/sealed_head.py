"""The last link of the journal, kept outside the data folder and sealed with the key of the installation.

Whoever can write the data folder can write a whole new chain, or put an older copy of the folder in its place. What
they cannot do is move the head that lies in the user's configuration folder, nor seal an event.

The head follows each append, under the lock of the journal's file, by one small write that is not forced to the
disk. A process killed between the two leaves the head one append behind: the events after it carry seals of their
own.
"""

import hashlib
import json
import logging
import os
from dataclasses import dataclass, replace
from pathlib import Path

from reverie.errors import KeyUnavailable
from reverie.installation import Installation
from reverie.storage.chain import Link

_FOLDER = "heads"
_PURPOSE = "journal"
_LENGTH = 1_024  # each write covers the whole file, so that a shorter head leaves nothing of a longer one

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Head:
    """How far the journal had come when this installation last wrote to it."""

    link: Link
    since: int  # events up to this number were there before the head was kept, and were taken as found
    lost: Link | None = None  # an earlier head that the journal did not lead on from


@dataclass(frozen=True, slots=True)
class Known:
    """What the configuration folder knows of a journal: its head, or why it cannot tell."""

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

    def known(self) -> Known:
        """Return the head of this folder's journal. Call it before the journal is read, not after."""
        if not self._installation.has_key:
            return Known(None, f"there is no key in {self._installation.folder}")
        try:
            head, seal = self._read()
        except FileNotFoundError:
            return Known(None, f"this installation has not written to {self._folder} yet")
        except (OSError, ValueError, KeyError, TypeError) as error:
            return Known(None, f"the head in {self._file} cannot be read ({error})")
        if not self.fits(head.link, seal):
            return Known(None, f"the head in {self._file} was sealed with another key")
        return Known(head)

    def follow(self, previous: Link, previous_seal: str | None, last: Link, seal: str | None) -> None:
        """Move the head on to the last of the events that were just written after a link."""
        if seal is None:
            return
        # Whoever appends moves the head: as long as the journal stands where we left it, so does the head.
        head = self._left if self._left is not None and self._left.link == previous else self.known().head
        if head is None:
            head = Head(last, since=previous.number)
        elif head.link == previous or (previous.number > head.link.number and self.fits(previous, previous_seal)):
            head = replace(head, link=last)
        else:  # the journal goes on from another place than we left it at: that must not be lost by going on
            head = replace(head, link=last, lost=head.lost or head.link)
        self._write(head, seal)

    def accept(self, link: Link, seal: str | None) -> None:
        """Take the journal as it is, up to a link."""
        if seal is not None:
            self._write(Head(link, since=link.number), seal)

    def _read(self) -> tuple[Head, str]:
        kept = json.loads(self._file.read_bytes())
        lost = kept["lost"]
        return Head(Link(*kept["link"]), int(kept["since"]), Link(*lost) if lost else None), str(kept["seal"])

    def _write(self, head: Head, seal: str) -> None:
        kept = {
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
                written = os.write(descriptor, json.dumps(kept).encode().ljust(_LENGTH) + b"\n")
                os.ftruncate(descriptor, written)
            finally:
                os.close(descriptor)
        except OSError as error:
            self._complain(error)
        else:
            self._left = head

    def _complain(self, error: Exception) -> None:
        """Say once what is missing: without a key everything works but the proof."""
        if not self._complained:
            self._complained = True
            log.warning("The journal is not sealed: %s", error)


def _bytes_of(link: Link) -> bytes:
    return f"{link.number} {link.hash}".encode()
