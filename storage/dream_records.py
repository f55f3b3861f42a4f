"""What dreams leave behind: the log of dreams, and the review queue with the questions that they leave to the user.

Neither has texts of memories: the queue stores ids, and texts are read when it is shown.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, get_args

import pyarrow as pa

from reverie.storage.filters import Condition, equals, one_of, starts_with
from reverie.storage.lance_table import Table
from reverie.storage.schema import side_schema

DreamStatus = Literal["applying", "done", "undoing", "undone", "rolled back"]
OWNER = "owner"
"""The part of a dream's report that says whose personal memories it was about."""

UNFINISHED: tuple[DreamStatus, ...] = ("applying", "undoing")
_DREAM_COLUMNS = ("id", "started_at", "finished_at", "status", "report")


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamRecord:
    """One dream."""

    id: str
    started_at: datetime
    finished_at: datetime | None
    status: DreamStatus
    report: Mapping[str, Any] = field(default_factory=dict)

    @property
    def owner(self) -> str | None:
        """Whose personal memories it was about; None: what everybody sees."""
        return self.report.get(OWNER)


class DreamLog:
    """Writes and reads the log."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def write(self, record: DreamRecord) -> None:
        """Write a dream, over what was logged of it before."""
        row = {name: getattr(record, name) for name in _DREAM_COLUMNS} | {"report": json.dumps(dict(record.report))}
        await self._table.upsert(pa.Table.from_pylist([row], schema=side_schema("dreams", 1)))

    async def all(self) -> list[DreamRecord]:
        """Return every dream, the latest first."""
        return await self._read(None)

    async def unfinished(self) -> list[DreamRecord]:
        """Return the dreams that were cut short."""
        return await self._read(one_of("status", UNFINISHED))

    async def named(self, dream_id: str) -> Sequence[DreamRecord]:
        """Return the dream with this id, or those whose ids begin so."""
        return await self._read(equals("id", dream_id)) or await self._read(starts_with("id", dream_id))

    async def _read(self, where: Condition | None) -> list[DreamRecord]:
        rows = (await self._table.rows(_DREAM_COLUMNS, where)).to_pylist()
        return sorted(map(_dream_from_row, rows), key=lambda record: (record.started_at, record.id), reverse=True)


def _dream_from_row(row: Mapping[str, Any]) -> DreamRecord:
    status = next(known for known in get_args(DreamStatus) if known == row["status"])
    finished = row["finished_at"]
    return DreamRecord(
        id=row["id"],
        started_at=row["started_at"].astimezone(UTC),
        finished_at=finished.astimezone(UTC) if finished else None,
        status=status,
        report=json.loads(row["report"]),
    )


OPEN = "open"
WITHDRAWN = "withdrawn"
_QUESTION_COLUMNS = ("id", "asked_at", "kind", "memory_ids", "status", "body")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewQuestion:
    """A stored question; its status is open, withdrawn, or the verdict that answered it."""

    id: str
    asked_at: datetime
    kind: str
    memory_ids: tuple[str, ...]
    status: str
    body: Mapping[str, Any] = field(default_factory=dict)


class ReviewQueue:
    """Writes and reads the queue."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def write(self, questions: Sequence[ReviewQuestion]) -> None:
        """Write questions, over those with the same ids."""
        if questions:
            rows = [
                {name: getattr(asked, name) for name in _QUESTION_COLUMNS}
                | {"memory_ids": list(asked.memory_ids), "body": json.dumps(dict(asked.body), ensure_ascii=False)}
                for asked in questions
            ]
            await self._table.upsert(pa.Table.from_pylist(rows, schema=side_schema("questions", 1)))

    async def all(self) -> list[ReviewQuestion]:
        """Return everything ever asked, oldest first."""
        return await self._read(None)

    async def open(self) -> list[ReviewQuestion]:
        """Return the questions without an answer, oldest first."""
        return await self._read(equals("status", OPEN))

    async def count_open(self) -> int:
        """Count the questions without an answer."""
        return await self._table.count(equals("status", OPEN))

    async def named(self, question_id: str) -> list[ReviewQuestion]:
        """Return the question with this id, or those whose ids begin so."""
        return await self._read(equals("id", question_id)) or await self._read(starts_with("id", question_id))

    async def close(self, ids: Sequence[str], status: str) -> None:
        """Set the status of questions."""
        if ids:
            await self._table.update(one_of("id", ids), {"status": status})

    async def remove(self, ids: Sequence[str]) -> None:
        """Delete questions, as if they had not been asked."""
        if ids:
            await self._table.delete(one_of("id", ids))

    async def _read(self, where: Condition | None) -> list[ReviewQuestion]:
        rows = (await self._table.rows(_QUESTION_COLUMNS, where)).to_pylist()
        return sorted(map(_question_from_row, rows), key=lambda asked: (asked.asked_at, asked.id))


def _question_from_row(row: Mapping[str, Any]) -> ReviewQuestion:
    return ReviewQuestion(
        id=row["id"],
        asked_at=row["asked_at"].astimezone(UTC),
        kind=row["kind"],
        memory_ids=tuple(row["memory_ids"]),
        status=row["status"],
        body=json.loads(row["body"]),
    )
