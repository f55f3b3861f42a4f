"""Who had followed a link when an engine ended, for the next engine: so that an open page goes on after a restart.

A file in the runtime folder, which only its owner can enter, with the port and with digests of cookies and keys: from
it nobody learns either. It counts for some minutes after the page was last in use. See decision 0033.
"""

import hashlib
import json
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from reverie.errors import InvalidInput
from reverie.time import iso, parse_iso, system_clock

KEPT_FOR = timedelta(minutes=15)
_CLOCKS_DIFFER = timedelta(minutes=1)
_LARGEST = 1_000_000


@dataclass(frozen=True, slots=True)
class KeptVisitor:
    """A browser that followed a link: the digests of its cookie and key, and where its session works."""

    cookie: bytes
    key: bytes
    folder: str
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class KeptPage:
    """The port that a page was served on, and its visitors."""

    port: int
    visitors: tuple[KeptVisitor, ...]


class KeptPageFile:
    """Reads and writes what is kept of the page of one store."""

    def __init__(self, folder: str, store: str, now: Callable[[], datetime] = system_clock) -> None:
        name = hashlib.sha256(store.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        self.path = os.path.join(folder, f"page-{name}.json")
        self._now = now

    def write(self, port: int, visitors: Sequence[KeptVisitor]) -> None:
        """Write it anew; where nothing can be written, a restart loses the visitors."""
        kept = {
            "at": iso(self._now()),
            "port": port,
            "visitors": [
                {
                    "cookie": one.cookie.hex(),
                    "key": one.key.hex(),
                    "folder": one.folder,
                    "environment": dict(one.environment),
                }
                for one in visitors
            ],
        }
        new = f"{self.path}.{os.getpid()}"
        try:
            with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _NO_LINK, 0o600), "wb") as file:
                file.write(json.dumps(kept).encode())
            os.replace(new, self.path)
        except OSError:
            return

    def read(self) -> KeptPage | None:
        """Return what is kept; None if it is too old, cannot be read, or others could have written it."""
        try:
            with open(os.open(self.path, os.O_RDONLY | _NO_LINK), "rb") as file:
                if not _is_private(os.fstat(file.fileno())):
                    return None
                kept = json.loads(file.read(_LARGEST))
            age = self._now() - parse_iso(str(kept["at"]), "at")
            if not -_CLOCKS_DIFFER <= age <= KEPT_FOR:
                return None
            return KeptPage(int(kept["port"]), tuple(_visitor(one) for one in kept["visitors"]))
        except (OSError, ValueError, KeyError, TypeError, InvalidInput):
            return None

    def remove(self) -> None:
        """Keep nobody."""
        try:
            os.unlink(self.path)
        except OSError:
            return


_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


def _is_private(found: os.stat_result) -> bool:
    if os.name != "posix":
        return True
    is_file = stat.S_ISREG(found.st_mode) and not stat.S_IMODE(found.st_mode) & 0o077
    return is_file and found.st_uid == os.getuid()


def _visitor(one: Mapping[str, object]) -> KeptVisitor:
    environment = one["environment"]
    if not isinstance(environment, dict):
        raise TypeError("an environment is an object")
    return KeptVisitor(
        bytes.fromhex(str(one["cookie"])),
        bytes.fromhex(str(one["key"])),
        str(one["folder"]),
        {str(name): str(value) for name, value in environment.items()},
    )
