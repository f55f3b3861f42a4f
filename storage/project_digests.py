"""One digest for the living memories of each project: it is the same again only if none of them has changed.

A dream compares these with the digests that it left, instead of reading every memory. Nothing here is about time, so
a clock that was set back misleads nobody. Three small columns are read, sorted and hashed by Arrow, without a Python
value for each row.
"""

import asyncio
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

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
