"""The audit journal: what changed, before and after, by what and why. Enough to undo it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from reverie.record import decode, encode
from reverie.storage.filters import Condition, after, differs, equals
from reverie.storage.schema import side_schema
from reverie.storage.table import Table

_COLUMNS = ("id", "at", "action", "memory_id", "actor", "session", "batch", "reason", "before", "after")
_NOTHING = "{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One change of one memory."""

    id: str
    at: datetime
    action: str
    memory_id: str
    actor: str
    session: str
    batch: str | None = None
    reason: str | None = None
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)


class Journal:
    """Writes and reads events."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def write(self, events: Sequence[Event]) -> None:
        """Append events. They are written before what they tell of, so that no change goes unrecorded."""
        if events:
            schema = side_schema("events", 1)
            await self._table.add(pa.Table.from_pylist([_to_row(event) for event in events], schema=schema))

    async def about(self, memory_id: str) -> list[Event]:
        """Return everything that happened to a memory, oldest first."""
        return await self._read(equals("memory_id", memory_id))

    async def with_id(self, event_id: str) -> Event | None:
        """Return one event, or None."""
        found = await self._read(equals("id", event_id))
        return found[0] if found else None

    async def of_batch(self, batch: str) -> list[Event]:
        """Return the events of one batch of changes, oldest first."""
        return await self._read(equals("batch", batch))

    async def changes_after(self, moment: datetime) -> list[Event]:
        """Return every change of a memory that was there before it, later than a moment, oldest first."""
        return await self._read(after("at", moment) & differs("before", _NOTHING))

    async def forget_texts(self, of: Condition) -> None:
        """Blank the texts of events about purged memories; that they happened stays on record."""
        await self._table.update(of, {"before": _NOTHING, "after": _NOTHING, "reason": None})

    async def _read(self, where: Condition) -> list[Event]:
        rows = (await self._table.rows(_COLUMNS, where)).to_pylist()
        return sorted((_from_row(row) for row in rows), key=lambda event: event.id)


def _to_row(event: Event) -> dict[str, Any]:
    row = {name: getattr(event, name) for name in _COLUMNS}
    for side in ("before", "after"):
        row[side] = json.dumps({name: encode(value) for name, value in row[side].items()}, ensure_ascii=False)
    return row


def _from_row(row: Mapping[str, Any]) -> Event:
    values = dict(row)
    for side in ("before", "after"):
        values[side] = {name: decode(name, value) for name, value in json.loads(values[side]).items()}
    return Event(**{**values, "at": values["at"].astimezone(UTC)})
