"""The review queue: what dreams would not decide alone. The texts asked about are read when it is shown."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from reverie.storage.filters import Condition, equals, has_any, one_of, starts_with
from reverie.storage.lance_table import Table
from reverie.storage.schema import side_schema

OPEN = "open"
WITHDRAWN = "withdrawn"
_COLUMNS = ("id", "asked_at", "kind", "memory_ids", "status", "body")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewQuestion:
    """A question on record: open, withdrawn, or answered with the verdict that is its status."""

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
        """Put questions on record, over what was known of them."""
        if questions:
            rows = [
                {name: getattr(asked, name) for name in _COLUMNS}
                | {"memory_ids": list(asked.memory_ids), "body": json.dumps(dict(asked.body), ensure_ascii=False)}
                for asked in questions
            ]
            await self._table.upsert(pa.Table.from_pylist(rows, schema=side_schema("questions", 1)))

    async def all(self) -> list[ReviewQuestion]:
        """Return everything ever asked, oldest first."""
        return await self._read(None)

    async def open(self) -> list[ReviewQuestion]:
        """Return what still waits for an answer, oldest first."""
        return await self._read(equals("status", OPEN))

    async def named(self, question_id: str) -> list[ReviewQuestion]:
        """Return the question with this id, or those whose ids begin so."""
        return await self._read(equals("id", question_id)) or await self._read(starts_with("id", question_id))

    async def close(self, ids: Sequence[str], status: str) -> None:
        """Note how questions ended."""
        if ids:
            await self._table.update(one_of("id", ids), {"status": status})

    async def remove(self, ids: Sequence[str]) -> None:
        """Take questions off the record, as if they had not been asked."""
        if ids:
            await self._table.delete(one_of("id", ids))

    async def forget_about(self, memory_ids: Iterable[str]) -> None:
        """Take away every question about memories that are purged."""
        await self._table.delete(has_any("memory_ids", list(memory_ids)))

    async def _read(self, where: Condition | None) -> list[ReviewQuestion]:
        rows = (await self._table.rows(_COLUMNS, where)).to_pylist()
        return sorted(map(_from_row, rows), key=lambda asked: (asked.asked_at, asked.id))


def _from_row(row: Mapping[str, Any]) -> ReviewQuestion:
    return ReviewQuestion(
        id=row["id"],
        asked_at=row["asked_at"].astimezone(UTC),
        kind=row["kind"],
        memory_ids=tuple(row["memory_ids"]),
        status=row["status"],
        body=json.loads(row["body"]),
    )
