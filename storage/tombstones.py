"""Remembering, by fingerprint only, what was purged, so that no import and no echo brings it back.

The fingerprints lie in one small file beside the tables. Whether a text is among them is asked before every write,
and asking the file system whether the file has grown takes microseconds.
"""

import hashlib
import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from weakref import WeakKeyDictionary

from reverie.errors import StoreUnavailable
from reverie.storage.database import Database

FILE = "purged"

_known: WeakKeyDictionary[Database, tuple[int, frozenset[str]]] = WeakKeyDictionary()


def tombstone_of(content: str) -> str:
    """Return the fingerprint of a text, the same for a copy with other spaces, capitals or compositions."""
    plain = " ".join(unicodedata.normalize("NFKC", content).casefold().split())
    return hashlib.sha256(plain.encode()).hexdigest()


def purged_among(database: Database, contents: Iterable[str]) -> set[str]:
    """Return those of the texts that were purged from this store.

    Raises:
        StoreUnavailable: if the file cannot be read.
    """
    stones = _stones(database)
    return {content for content in contents if tombstone_of(content) in stones} if stones else set()


def bury(database: Database, contents: Iterable[str]) -> None:
    """Note that these texts were purged. Call it inside `changing()`.

    Raises:
        StoreUnavailable: if it cannot be written.
    """
    fresh = {tombstone_of(content) for content in contents} - _stones(database)
    if not fresh:
        return
    try:
        descriptor = os.open(_file(database), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with open(descriptor, "a", encoding="ascii") as file:
            file.write("".join(f"{stone}\n" for stone in sorted(fresh)))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise _unavailable(database, error) from error


def _stones(database: Database) -> frozenset[str]:
    file = _file(database)
    try:
        size = file.stat().st_size
        known = _known.get(database)
        if known is None or known[0] != size:
            known = _known[database] = (size, frozenset(file.read_text("ascii").split()))
    except FileNotFoundError:
        return frozenset()
    except (OSError, UnicodeDecodeError) as error:
        raise _unavailable(database, error) from error
    return known[1]


def _file(database: Database) -> Path:
    return database.generations.folder / FILE


def _unavailable(database: Database, error: Exception) -> StoreUnavailable:
    return StoreUnavailable(
        f"The list of what was purged, {_file(database)}, cannot be used ({error}). Check its owner and permissions."
    )
