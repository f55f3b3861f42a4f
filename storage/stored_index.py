"""The stored form of an index: arrays in one file that is mapped into memory, and what it was made from.

It is a cache. A file is written beside its place and then put there, so that a kill leaves the old one or the new
one. It is used only if it was made for the same table, model, columns and splitting of texts, in a layout that this
version knows, and if the checksum of every array is right: otherwise the index is built from the table. It has ids,
labels and the hashes of words; it has no text and no vector.

Pages of a mapped file that nobody touches take no memory, and those that are changed are copied: the file stays as
it is. On Windows a mapped file cannot be removed, which a purge must be able to do, so there it is read.
"""

import json
import logging
import mmap
import os
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from reverie.text.tokenize import terms

Arrays = Mapping[str, np.ndarray]

_MAGIC = b"reverie index 1\n"
_LENGTHS = 16  # bytes for the length and the checksum of the header, as numbers in hexadecimal
_PAGE = 4_096
_READ_AT_ONCE = 1 << 20
_ENDING = ".index"

_SAMPLE = (
    "The lamps were burning while HTTPServer2 retried snake_case paths in src/core-api/limits.py; naïve cafés didn't "
    "relate generously, national organisations' analyses classified happily 1,024.5 v2.3 日本語の文章 Сервер слушает"
)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MadeFor:
    """What an index must have been made for to be used."""

    table: str
    embedder: str
    dimensions: int
    columns: tuple[str, ...]
    words: str


@cache
def splitting_of_texts() -> str:
    """Return a digest that changes with the way texts are split into terms."""
    return blake2b(json.dumps(terms(_SAMPLE)).encode(), digest_size=8).hexdigest()


class StoredIndexes:
    """The folder of the stored indexes of one generation of tables."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, table: str) -> Path:
        """Return the file of a table's index."""
        return self._folder / f"{table}{_ENDING}"

    def write(self, made_for: MadeFor, facts: Mapping[str, Any], arrays: Arrays) -> None:
        """Replace the stored index of a table. Call it with the lock of maintenance held.

        Raises:
            OSError: if it cannot be written; the old one is then still there.
        """
        self._folder.mkdir(mode=0o700, exist_ok=True)
        for left in self._folder.glob(f"{made_for.table}{_ENDING}.*"):
            left.unlink(missing_ok=True)  # of a process that was killed
        path = self.path(made_for.table)
        fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        try:
            with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                _write(file, made_for, facts, arrays)
            os.replace(fresh, path)
        finally:
            fresh.unlink(missing_ok=True)

    def read(self, made_for: MadeFor) -> tuple[Mapping[str, Any], Arrays] | None:
        """Return facts and arrays of the stored index of a table; None if there is none that fits and is whole."""
        path = self.path(made_for.table)
        try:
            with path.open("rb") as file:
                found = _read(file, made_for)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.info("The stored index %s is not used: %s", path.name, error)
            return None
        return found

    def size(self, table: str) -> int:
        """Return the bytes of a stored index; 0 if there is none."""
        try:
            return self.path(table).stat().st_size
        except FileNotFoundError:
            return 0

    def remove(self) -> None:
        """Remove every stored index, and what is left of unfinished ones. Call it with the lock of maintenance held.

        Raises:
            OSError: if one cannot be removed.
        """
        for path in self._folder.glob(f"*{_ENDING}*"):
            path.unlink(missing_ok=True)


def _write(file: Any, made_for: MadeFor, facts: Mapping[str, Any], arrays: Arrays) -> None:
    described: dict[str, Any] = {}
    offset = 0
    solid = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    for name, array in solid.items():
        described[name] = [array.dtype.str, len(array), offset, crc32(array.view(np.uint8).data)]
        offset += -(-array.nbytes // _PAGE) * _PAGE
    header = json.dumps({"for": asdict(made_for), "facts": dict(facts), "arrays": described}).encode()
    head = _MAGIC + f"{len(header):08x}{crc32(header):08x}".encode() + header
    file.write(head.ljust(-(-len(head) // _PAGE) * _PAGE, b"\0"))
    for array in solid.values():
        file.write(array.view(np.uint8).data)
        file.write(b"\0" * (-array.nbytes % _PAGE))


def _read(file: Any, made_for: MadeFor) -> tuple[Mapping[str, Any], Arrays]:
    """Map the arrays of an open file.

    Raises:
        ValueError: saying why the file cannot be used.
    """
    if file.read(len(_MAGIC)) != _MAGIC:
        raise ValueError("another layout")
    lengths = file.read(_LENGTHS)
    length, checksum = int(lengths[:8], 16), int(lengths[8:], 16)
    written = file.read(length)
    if len(written) != length or crc32(written) != checksum:
        raise ValueError("its header is damaged")
    header = json.loads(written)
    if header["for"] != json.loads(json.dumps(asdict(made_for))):
        raise ValueError(f"it was made for {header['for']}")
    start = -(-(len(_MAGIC) + _LENGTHS + length) // _PAGE) * _PAGE
    for name, (kind, count, offset, expected) in header["arrays"].items():
        if _checksum(file, start + offset, count * np.dtype(kind).itemsize) != expected:
            raise ValueError(f"{name} is damaged")
    mapped = _mapped(file)
    arrays = {
        name: np.frombuffer(mapped, np.dtype(kind), count, start + offset) if count else np.zeros(0, np.dtype(kind))
        for name, (kind, count, offset, _) in header["arrays"].items()
    }
    return header["facts"], arrays


def _checksum(file: Any, start: int, size: int) -> int:
    """Return the checksum of a part of a file, read so that no page of the mapping is touched."""
    file.seek(start)
    found, left = 0, size
    while left and (part := file.read(min(left, _READ_AT_ONCE))):
        found, left = crc32(part, found), left - len(part)
    if left:
        raise ValueError("it is cut short")
    return found


def _mapped(file: Any) -> Any:
    if os.name == "nt":
        file.seek(0)
        return bytearray(file.read())
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
