"""What a dream need not look at again: projects in which nothing changed, and pairs of texts that were compared.

One digest stands for the living memories of a project: it is the same again only if none of them has changed. A
dream compares these with the digests that it left, instead of reading every memory. Nothing here is about time, so
a clock that was set back misleads nobody. Three small columns are read, sorted and hashed by Arrow, without a
Python value for each row.

Pairs that the pair classifier found to be no update are hashes in a file beside the tables: to compare a pair takes
two milliseconds, and a project's neighbours are mostly those of the night before. The file has no text, and nothing
that cannot be computed again: without it, or with that of another version, every pair is compared.
"""

import asyncio
import hashlib
import logging
import os
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from pyarrow.compute import call_function

from reverie.memory import LAYERS, Memory
from reverie.storage.filters import Condition
from reverie.storage.store import MemoryStore

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_BYTES = 16


class LivingRows:
    """Which memories are alive, in which project, and in which version."""

    def __init__(self, rows: pa.Table) -> None:
        """Take the columns `project`, `id` and `line` of all of them, sorted by project and line."""
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def digests(self) -> dict[str, str]:
        """Return the digest of each project."""
        lines, found, start = self._rows.column("line").combine_chunks(), {}, 0
        for project, size in self.sizes().items():
            found[project] = _hashed([_bytes_of(lines.slice(start, size))])
            start += size
        return found

    def sizes(self) -> dict[str, int]:
        """Return how many rows each project has, in the order of the rows."""
        names = self._rows.column("project").combine_chunks().dictionary_encode()
        counts = np.bincount(names.indices.to_numpy(), minlength=len(names.dictionary))
        return dict(zip(names.dictionary.to_pylist(), counts.tolist(), strict=True))

    def projects_of(self, ids: Iterable[str]) -> dict[str, str]:
        """Return the projects of these memories; those that are not alive are left out."""
        wanted = pa.table({"id": pa.array(sorted(set(ids)), pa.string())})
        here = wanted.join(self._rows.select(["id", "project"]), keys="id", join_type="inner")
        return dict(zip(here.column("id").to_pylist(), here.column("project").to_pylist(), strict=True))


async def read_living_rows(store: MemoryStore, where: Condition) -> LivingRows:
    """Read the small columns of every memory that a condition matches."""
    where = store.viewer.narrowed(where) or where
    parts = await asyncio.gather(
        *(store.database.table(layer).rows(["project", "id", "updated_at"], where) for layer in LAYERS)
    )
    return LivingRows(await asyncio.to_thread(_sorted, parts))


def digest_of(memories: Iterable[Memory]) -> str:
    """Return the digest that these memories of one project will have once they are stored like this."""
    lines = sorted(f"{memory.id} {memory.layer} {_micros(memory.updated_at)}\n".encode() for memory in memories)
    return _hashed(lines)


def digests_by_project(memories: Iterable[Memory]) -> dict[str, str]:
    """Return the digests that these memories will have, project by project."""
    by_project: dict[str, list[Memory]] = {}
    for memory in memories:
        by_project.setdefault(memory.project, []).append(memory)
    return {project: digest_of(own) for project, own in by_project.items()}


def combined(digest: str, others: Mapping[str, str]) -> str:
    """Return a digest of a project's rows and of named values beside them."""
    return _hashed([digest.encode(), *(f"\n{name} {value}".encode() for name, value in sorted(others.items()))])


def _sorted(parts: Sequence[pa.Table]) -> pa.Table:
    tables = []
    for layer, part in zip(LAYERS, parts, strict=True):
        micros = part.column("updated_at").cast(pa.int64()).cast(pa.string())
        parts_of_line = [part.column("id"), pa.scalar(layer), micros, pa.scalar(" ")]
        line = call_function("binary_join_element_wise", parts_of_line)
        ended = call_function("binary_join_element_wise", [line, pa.scalar(""), pa.scalar("\n")])
        tables.append(part.select(["project", "id"]).append_column("line", ended))
    # Arrow sorts texts by their bytes, as digest_of does.
    return pa.concat_tables(tables).sort_by([("project", "ascending"), ("line", "ascending")])


def _bytes_of(lines: pa.Array) -> memoryview:
    """Return the texts of a slice one after the other, as they are in memory."""
    offsets = np.frombuffer(lines.buffers()[1], np.int32)[lines.offset : lines.offset + len(lines) + 1]
    return memoryview(lines.buffers()[2])[int(offsets[0]) : int(offsets[-1])]


def _hashed(parts: Iterable[bytes | memoryview]) -> str:
    digest = hashlib.blake2b(digest_size=_BYTES)
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def _micros(moment: datetime) -> int:
    return (moment - _BEGINNING) // _MICROSECOND


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
