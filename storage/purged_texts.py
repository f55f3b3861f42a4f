"""The hashes of purged texts, in one file of the domain, so that a purged text is not stored again."""

import hashlib
import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from reverie.errors import StoreUnavailable

_FILE = "purged"


class PurgedTexts:
    """Reads and appends the hashes; a copy with other spaces, capitals or compositions has the same one."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / _FILE
        self._size = 0
        self._hashes: frozenset[str] = frozenset()  # as of a file of that size

    def among(self, contents: Iterable[str]) -> set[str]:
        """Return those of the texts that were purged from this store.

        Raises:
            StoreUnavailable: if the file cannot be read.
        """
        hashes = self._read()
        return {content for content in contents if _hash_of(content) in hashes} if hashes else set()

    def add(self, contents: Iterable[str]) -> None:
        """Add texts. Call it inside `changing()`.

        Raises:
            StoreUnavailable: if the file cannot be written.
        """
        new = {_hash_of(content) for content in contents} - self._read()
        if not new:
            return
        try:
            descriptor = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with open(descriptor, "a", encoding="ascii") as file:
                file.write("".join(f"{one}\n" for one in sorted(new)))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise self._unavailable(error) from error

    def _read(self) -> frozenset[str]:
        try:
            size = self._file.stat().st_size
            if size != self._size:
                self._hashes = frozenset(self._file.read_text("ascii").split())
                self._size = size
        except FileNotFoundError:
            return frozenset()
        except (OSError, UnicodeDecodeError) as error:
            raise self._unavailable(error) from error
        return self._hashes

    def _unavailable(self, error: Exception) -> StoreUnavailable:
        return StoreUnavailable(
            f"The list of what was purged, {self._file}, cannot be used ({error}). Check its owner and permissions."
        )


def _hash_of(content: str) -> str:
    plain = " ".join(unicodedata.normalize("NFKC", content).casefold().split())
    return hashlib.sha256(plain.encode()).hexdigest()
