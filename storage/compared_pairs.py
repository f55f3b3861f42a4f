"""Pairs of texts that the pair classifier found to be no update, as hashes in a file beside the tables.

To compare a pair takes two milliseconds, and a project's neighbours are mostly those of the night before. The file
has no text, and nothing that cannot be computed again: without it, or with that of another version, every pair is
compared.
"""

import hashlib
import logging
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import numpy as np

FILE: Final = "compared-pairs.npz"
MOST_KEPT = 2_000_000
"""Of more than these only the pairs of the last dream are kept."""

log = logging.getLogger(__name__)


def pair_key(older_hash: str, newer_hash: str, cosine: float) -> int:
    """Return a number for two texts, by their content hashes, and their cosine as far as it counts."""
    text = f"{older_hash} {newer_hash} {cosine:.3f}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())


class ComparedPairs:
    """Which pairs are known to be no update. Only a dream uses it, and there is one at a time."""

    def __init__(self, folder: Path, version: str) -> None:
        """Take the folder of the domain, and what names the classifier: another one knows nothing of these."""
        self._path = folder / FILE
        self._version = version
        self._known: frozenset[int] | None = None
        self._used: set[int] = set()

    def __contains__(self, key: int) -> bool:
        """Whether a pair was compared before, in this dream or another."""
        if self._known is None:
            self._known = self._read()
        if key in self._known:
            self._used.add(key)
        return key in self._used

    def add(self, key: int) -> None:
        """Note that a pair is no update."""
        self._used.add(key)

    def save(self) -> None:
        """Write the file, if anything was compared; without it the next dream only takes longer."""
        known = self._known or frozenset()
        if self._used <= known:
            return
        kept = known | self._used
        try:
            self._write(kept if len(kept) <= MOST_KEPT else self._used)
        except OSError as error:
            log.warning("Could not write %s: %s", self._path, error)

    def _read(self) -> frozenset[int]:
        try:
            with self._path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
                if str(stored["version"]) != self._version:
                    return frozenset()
                return frozenset(stored["pairs"].tolist())
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):  # none yet, or cut short by a full disk
            return frozenset()

    def _write(self, keys: Iterable[int]) -> None:
        unfinished = self._path.with_suffix(".new")
        with unfinished.open("wb") as file:
            np.savez(file, version=np.array(self._version), pairs=np.array(sorted(keys), np.uint64))
        os.replace(unfinished, self._path)
