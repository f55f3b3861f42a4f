"""One LanceDB table: operations are retried where that helps, and failures become errors of ours."""

import asyncio
import os
import random
import re
import warnings
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from lancedb import AsyncTable
from lancedb.index import FTS, Bitmap, BTree, IvfRq
from lancedb.query import MatchQuery

from reverie.errors import ReverieError, StoreBusy, StoreDamaged, StoreUnavailable
from reverie.storage.filters import Condition, equals, everything, literal, one_of
from reverie.storage.remote_tables import RemoteTable
from reverie.storage.rows import RowLocation, Vector

Result = TypeVar("Result")

ATTEMPTS = 12
_FIRST_PAUSE = 0.01
_LONGEST_PAUSE = 0.5

_CONFLICT = ("commit conflict", "conflict", "concurrent", "retryable", "please retry")
_FULL = ("no space left", "os error 28", "disk quota", "file too large", "os error 27", "os error 122")
_DENIED = (
    "permission denied",
    "read-only file system",
    "os error 13",
    "os error 30",
    "operation not permitted",
)
_VANISHED = ("not found", "no such file", "os error 2)")

LANCE_ERRORS = (RuntimeError, ValueError, OSError)
_PANICS = ("RustPanic", "PanicException")  # classes that no module exports; the second is no Exception
_WHERE_IN_RUST = re.compile(r",\s+/\S+\.rs:\d+(:\d+)?.*")


async def retried(
    table: str,
    attempt: Callable[[], Awaitable[Result]],
    attempts: int = ATTEMPTS,
    remote: RemoteTable | None = None,
) -> Result:
    """Run one LanceDB operation, again with growing random pauses while others get in its way.

    Raises:
        StoreBusy: if the conflict lasts through every attempt.
        StoreUnavailable: if the disk is full or the folder may not be written.
        StoreDamaged: if the table cannot be read.
    """
    pause = _FIRST_PAUSE
    for remaining in reversed(range(attempts)):
        try:
            return await attempt()
        except BaseException as error:
            if not _is_fault(error):
                raise
            text = str(error).lower()
            if remote is not None:
                remote.expire()
                if (known := remote.state.error_for(table, error)) is not None:
                    raise known from error
            # A version that another process has just cleaned up reads as a missing file: the next try
            # opens the newest version.
            passing = _says(text, _CONFLICT) or _says(text, _VANISHED)
            if not passing or not remaining:
                raise translated(table, error) from error
        # Jitter needs no cryptographic dice.
        await asyncio.sleep(pause * (0.5 + random.random()))  # noqa: S311
        pause = min(pause * 2, _LONGEST_PAUSE)
    raise AssertionError("unreachable")


def translated(table: str, error: BaseException) -> ReverieError:
    """Return the error that says what happened to this table and what to try."""
    text = str(error).lower()
    first_line = _WHERE_IN_RUST.sub("", str(error).splitlines()[0])[:200] if str(error) else type(error).__name__
    if _says(text, _FULL):
        return StoreUnavailable(
            f"The disk that holds the memories is full ({table}). Free some space and try again; "
            "nothing was half-written."
        )
    if _says(text, _DENIED):
        return StoreUnavailable(
            f"The data folder may not be written ({table}: {first_line}). Check the owner and permissions "
            "of REVERIE_HOME, or set REVERIE_HOME to a folder of yours."
        )
    if _says(text, _CONFLICT):
        return StoreBusy(f"Other processes kept changing {table!r}. Nothing was written; try again in a moment.")
    return StoreDamaged(table, first_line)


def _is_fault(error: BaseException) -> bool:
    """Whether it came from LanceDB: nothing of ours, and no cancellation."""
    if isinstance(error, ReverieError):
        return False
    return isinstance(error, LANCE_ERRORS) or type(error).__name__ in _PANICS


def _says(text: str, signs: tuple[str, ...]) -> bool:
    return any(sign in text for sign in signs)


_PROBES = 20  # partitions searched
_REFINE = 10  # how many times the wanted rows are compared again at full precision
_MANIFEST = ".manifest"
_NOTHING = "\u2205null"
_HIGHEST = 2**64 - 1
_WHOLE = equals("precision", 32)  # in a table of vectors: those that are not packed
TEXT_INDEX = FTS(language="English", stem=True, ascii_folding=True, max_token_length=None)


KEEP_REMOTE_VERSIONS_FOR = timedelta(minutes=10)
"""In an object store a version costs nothing but room, and another host may be reading it slowly."""

First = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class TextHit:
    """A memory found by its words: its table and row id, and its BM25 score."""

    id: str
    table: str
    row_id: int
    score: float

    @property
    def location(self) -> RowLocation:
        """Where its row was found."""
        return RowLocation(self.table, self.row_id)


class Table:
    """A named table; reads always see the newest version."""

    def __init__(
        self,
        name: str,
        lance: AsyncTable,
        versions: Path | None = None,
        first: First | None = None,
        remote: RemoteTable | None = None,
    ) -> None:
        self.name = name
        self.lance = lance
        self._versions = versions  # the folder of a table on a local disk that has a file for each version
        self._first = first or _nothing
        self._remote = remote  # what keeps a table in an object store up to date

    def after(self, first: First) -> "Table":
        """Return the same table with an action that runs before anything in it is read or changed."""
        return Table(self.name, self.lance, self._versions, first, self._remote)

    async def _do(self, operation: Callable[[], Awaitable[Result]], attempts: int = ATTEMPTS) -> Result:
        await self._first()
        remote = self._remote
        if remote is None:
            return await retried(self.name, operation, attempts)
        return await retried(self.name, lambda: remote.run(operation, writes=False), attempts, remote)

    async def _change(self, operation: Callable[[], Awaitable[Result]], attempts: int = ATTEMPTS) -> Result:
        """Run an operation that makes a new version and may depend on what is there."""
        await self._first()
        return await self._commit(operation, attempts)

    async def _commit(self, operation: Callable[[], Awaitable[Result]], attempts: int = ATTEMPTS) -> Result:
        remote = self._remote
        if remote is None:
            return await retried(self.name, operation, attempts)
        result = await retried(self.name, lambda: remote.run(operation, writes=True), attempts, remote)
        remote.note_commit()
        return result

    async def version(self) -> int:
        """Return the number of the newest version."""
        await self._first()
        remote = self._remote
        if remote is not None:
            return await retried(self.name, remote.version, remote=remote)
        newest = _newest_in(self._versions) if self._versions else None
        return await retried(self.name, self.lance.version) if newest is None else newest

    async def count(self, where: Condition | None = None) -> int:
        """Count rows."""
        return await self._do(lambda: self.lance.count_rows(where.sql if where else None))

    async def rows(
        self,
        columns: Sequence[str],
        where: Condition | None = None,
        limit: int | None = None,
        *,
        with_row_ids: bool = False,
    ) -> pa.Table:
        """Read rows in no particular order; with row ids, each has its own as `_rowid`."""

        async def read() -> pa.Table:
            query = self.lance.query().select(list(columns))
            if with_row_ids:
                query = query.with_row_id()
            if where is not None:
                query = query.where(where.sql)
            if limit is not None:
                query = query.limit(limit)
            return await query.to_arrow()

        return await self._do(read)

    async def rows_with_flags(
        self, columns: Sequence[str], flags: Mapping[str, Condition], where: Condition
    ) -> pa.Table:
        """Read rows with their row ids, and for each condition by its name whether the row meets it, in one scan."""
        selected = {name: name for name in columns} | {name: condition.sql for name, condition in flags.items()}
        query = self.lance.query
        return await self._do(lambda: query().select(selected).with_row_id().where(where.sql).to_arrow())

    async def row_ids(self, where: Condition) -> dict[str, int]:
        """Return the row ids of the matching rows by memory id, for `take_by_id`."""

        return _row_ids(await self.rows(["id"], where, with_row_ids=True))

    async def all_row_ids(self) -> np.ndarray:
        """Return the row id of every row."""
        rows = await self._do(lambda: self.lance.query().select(["_rowid"]).to_arrow())
        return np.asarray(rows.column("_rowid").to_numpy().astype(np.int64))

    async def take(self, row_ids: np.ndarray, columns: Sequence[str]) -> pa.Table:
        """Read the rows that still have these row ids, each with its own as `_rowid`."""

        async def take() -> pa.Table:
            query = self.lance.take_row_ids(row_ids.tolist()).with_row_id()
            return await query.select(list(columns)).to_arrow()

        return await self._do(take)

    async def take_by_id(self, row_ids: Mapping[str, int], columns: Sequence[str]) -> pa.Table:
        """Read the rows of memories by their row ids.

        Reading many columns by a condition touches every fragment of the table; this touches the rows alone.
        Rows that another process rewrote meanwhile are read by a condition after all: one query, one version, in
        which a row is there or gone.
        """

        async def take() -> pa.Table:
            query = self.lance.take_row_ids(list(row_ids.values()))
            return await query.select(["id", *_without_id(columns)]).to_arrow()

        rows = await self._do(take)
        missing = row_ids.keys() - set(rows.column("id").to_pylist())
        if missing:
            moved = await self.rows(["id", *_without_id(columns)], one_of("id", sorted(missing)))
            rows = pa.concat_tables([rows, moved])
        return rows.select(columns)

    async def matching(self, text: str, where: Condition, limit: int) -> list[TextHit]:
        """Search the text index by BM25, best first."""

        async def read() -> pa.Table:
            match = MatchQuery(text, "search_text")  # type: ignore[call-arg] # pydantic fills in the rest
            query = self.lance.query().nearest_to_text(match)
            return await query.where(where.sql).limit(limit).with_row_id().select(["id", "_score"]).to_arrow()

        rows = await self._do(read)
        scores = rows.column("_score").to_pylist()
        return [
            TextHit(memory_id, self.name, row_id, score)
            for (memory_id, row_id), score in zip(_row_ids(rows).items(), scores, strict=True)
        ]

    async def nearest(self, vector: Vector, where: Condition, columns: Sequence[str], limit: int) -> pa.Table:
        """Search by vector; `_distance` is the cosine distance."""

        async def read() -> pa.Table:
            query = self.lance.query().nearest_to(vector).column("vector").distance_type("cosine")
            if where != everything():  # LanceDB evaluates it for every row
                query = query.where(where.sql)
            query = query.nprobes(_PROBES).refine_factor(_REFINE).limit(limit)
            return await query.select([*columns, "_distance"]).to_arrow()

        return await self._do(read)

    async def add(self, rows: pa.Table, attempts: int = ATTEMPTS) -> int:
        """Append rows; all land together or none does. Returns the version that holds them."""
        result = await self._commit(lambda: self.lance.add(rows), attempts)
        return int(result.version)

    async def upsert(self, rows: pa.Table) -> None:
        """Write rows, replacing any that share an id."""

        async def write() -> None:
            await self.lance.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows)

        await self._change(write)

    async def merge(self, rows: pa.Table) -> None:
        """Set the given columns of the rows that have these ids; other columns and rows stay as they are."""
        await self._commit(lambda: self.lance.merge_insert("id").when_matched_update_all().execute(rows))

    async def update(self, where: Condition, values: Mapping[str, Any]) -> None:
        """Set columns of the matching rows to literal values, leaving every other column as it is."""
        await self.update_by({column: literal(value) for column, value in values.items()}, where)

    async def update_by(self, expressions: Mapping[str, str], where: Condition) -> int:
        """Set columns of the matching rows by SQL expressions over their present values; return the version."""
        result = await self._change(lambda: self.lance.update(updates_sql=dict(expressions), where=where.sql))
        return int(result.version)

    async def touch_one(self) -> None:
        """Rewrite one row unchanged, which puts it in a fragment of its own."""
        first = await self.rows(["id"], limit=1)
        if len(first):
            await self.update_by({"id": "id"}, one_of("id", first.column("id").to_pylist()))

    async def rewrite_nulls(self, columns: Sequence[str]) -> None:
        """Rewrite every row, with nothing behind the nulls of text columns.

        Where LanceDB has packed a column by a dictionary, a null reads as a null but carries the bytes of the first
        word of it, and a merge of fragments writes those out: a text that no row has any more.
        """
        nothing = literal(_NOTHING)
        await self.update_by(
            {column: f"nullif(coalesce({column}, {nothing}), {nothing})" for column in columns}, everything()
        )

    async def delete(self, where: Condition) -> None:
        """Remove the matching rows from the newest version."""
        await self._change(lambda: self.lance.delete(where.sql))

    async def fragments(self) -> int:
        """Count the fragments of the table on disk."""
        stats: Any = await self._do(self.lance.stats)  # typed as a class, given as a dict
        return int(stats["fragment_stats"]["num_fragments"])

    async def indexed_columns(self) -> set[str]:
        """Return the columns that have an index."""
        indexes = await self._do(self.lance.list_indices)
        return {column for index in indexes for column in index.columns}

    async def index_text(self) -> None:
        """Rebuild the full-text index."""
        await self._change(lambda: self.lance.create_index("search_text", config=TEXT_INDEX, replace=True))

    async def index_values(self, column: str, *, few_distinct: bool = False) -> None:
        """Build a scalar index: a bitmap where there are few distinct values, a tree otherwise."""
        config = Bitmap() if few_distinct else BTree()
        await self._change(lambda: self.lance.create_index(column, config=config, replace=True))

    async def index_vectors(self) -> None:
        """Rebuild the approximate vector index, for as many whole vectors as there are; without any there is none."""
        count = await self.count(_WHOLE)
        if count:
            config = IvfRq(distance_type="cosine", num_partitions=max(1, round(count**0.5 / 2)))
            await self._change(lambda: self.lance.create_index("vector", config=config, replace=True))
        else:
            await self._drop_vector_index()

    async def _drop_vector_index(self) -> None:
        indexes = await self._do(self.lance.list_indices)
        for name in [index.name for index in indexes if "vector" in index.columns]:
            await self._change(partial(self.lance.drop_index, name))

    async def tidy(self, keep_versions_for: timedelta, *, every_file: bool = False) -> None:
        """Merge small fragments, bring the indexes up to date, drop versions older than the given age.

        `every_file` also removes what no version names: the remains of writes that were cut short, but also the files
        of a write under way. Only where nobody else can be writing, which in an object store nobody can say.
        """
        if self._remote is not None:
            every_file = False
            keep_versions_for = (
                max(keep_versions_for, KEEP_REMOTE_VERSIONS_FOR) if keep_versions_for else timedelta(0)
            )
        if "vector" in await self.indexed_columns() and not await self.count(_WHOLE):
            await self._drop_vector_index()  # LanceDB fails to update the index of a column that has only nulls
        with warnings.catch_warnings():
            # LanceDB warns that an age of zero fails readers of older versions; ours open the newest and go on.
            warnings.simplefilter("ignore", UserWarning)
            # Few attempts: it is a lot of work to repeat, and the next maintenance comes soon.
            await self._change(
                lambda: self.lance.optimize(cleanup_older_than=keep_versions_for, delete_unverified=every_file),
                attempts=3,
            )


async def _nothing() -> None:
    """Do nothing first."""


def _newest_in(folder: Path) -> int | None:
    """Read the newest version off the names of the files; None if they are not named as we know it.

    LanceDB takes a millisecond for the same, and every search asks five tables. It counts the names down, so that
    the newest comes first in a listing.
    """
    try:
        names = os.listdir(folder)
    except OSError:
        return None
    numbers = [name.removesuffix(_MANIFEST) for name in names if name.endswith(_MANIFEST)]
    if not numbers or any(len(number) != len(str(_HIGHEST)) for number in numbers):
        return None
    return _HIGHEST - int(min(numbers))


def _row_ids(rows: pa.Table) -> dict[str, int]:
    return dict(zip(rows.column("id").to_pylist(), rows.column("_rowid").to_pylist(), strict=True))


def _without_id(columns: Sequence[str]) -> list[str]:
    return [column for column in columns if column != "id"]
