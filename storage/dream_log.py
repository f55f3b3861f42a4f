"""The log of dreams: when each was, its status, its report. It has no texts of memories."""

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
UNFINISHED: tuple[DreamStatus, ...] = ("applying", "undoing")
_COLUMNS = ("id", "started_at", "finished_at", "status", "report")


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamRecord:
    """One dream."""

    id: str
    started_at: datetime
    finished_at: datetime | None
    status: DreamStatus
    report: Mapping[str, Any] = field(default_factory=dict)


class DreamLog:
    """Writes and reads the log."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def write(self, record: DreamRecord) -> None:
        """Write a dream, over what was logged of it before."""
        row = {name: getattr(record, name) for name in _COLUMNS} | {"report": json.dumps(dict(record.report))}
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
        rows = (await self._table.rows(_COLUMNS, where)).to_pylist()
        return sorted(map(_from_row, rows), key=lambda record: (record.started_at, record.id), reverse=True)


def _from_row(row: Mapping[str, Any]) -> DreamRecord:
    status = next(known for known in get_args(DreamStatus) if known == row["status"])
    finished = row["finished_at"]
    return DreamRecord(
        id=row["id"],
        started_at=row["started_at"].astimezone(UTC),
        finished_at=finished.astimezone(UTC) if finished else None,
        status=status,
        report=json.loads(row["report"]),
    )
