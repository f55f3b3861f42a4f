"""What was known at a moment in the past, told from the journal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from reverie.memory import LAYERS, Layer, Memory
from reverie.storage.filters import Condition, one_of
from reverie.storage.journal import FOLDED, Event, Journal
from reverie.storage.lance_table import Table

if TYPE_CHECKING:
    from reverie.storage.scope import Scope


_JUDGED_BY = ("id", "layer", "status", "project", "kind", "tags", "created_at", "happened_at")
_FOLDED_AFTER = timedelta(days=90)
"""Older versions folded away every event of this age; now what a change replaced is kept."""

_MOST_NAMED = 1_000
"""Above this many ids it is quicker to read the columns whole than to name each row."""


@dataclass(frozen=True, slots=True)
class PastState:
    """How the memories that changed since a moment stood then, and where that decides otherwise than the present."""

    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by id: fields as they were
    present: tuple[str, ...] = ()  # in scope then, but not as they are now
    absent: tuple[str, ...] = ()  # in scope as they are now, but not then
    tables: frozenset[Layer] = frozenset()  # where those present then lie now
    known_from: datetime | None = None  # before this an older version has folded changes away: rows alone speak

    def as_it_was(self, memory: Memory) -> Memory:
        """Return a memory with the fields it had then."""
        return replace(memory, **self.values.get(memory.id, {}))


async def past_state_of(journal: Journal, tables: Mapping[Layer, Table], scope: "Scope") -> PastState:
    """Tell how the memories that changed since the scope's moment stood then."""
    if scope.as_of is None:
        return PastState()
    values = _first_replaced(await journal.changes_after(scope.as_of))
    present, absent, where = list[str](), list[str](), set[Layer]()
    for layer in LAYERS:
        rows = await _rows(tables[layer], values)
        fits_now = await _fitting(tables[layer], scope.condition(), list(rows)) if rows else set()
        for memory_id, row in rows.items():
            fitted = _fitted(scope, row, row | values[memory_id])
            if fitted and not (memory_id in fits_now and layer in scope.layers):
                present.append(memory_id)
                where.add(layer)
            elif memory_id in fits_now and not fitted:
                absent.append(memory_id)
    known_from = _known_from(await journal.with_action(FOLDED))
    return PastState(values, tuple(present), tuple(absent), frozenset(where), known_from)


def _known_from(folds: Sequence[Event]) -> datetime | None:
    """Return from when on every change is kept; None if that is so for the whole life of the store."""
    cut = [fold.at - _FOLDED_AFTER for fold in folds if '"through"' in (fold.reason or "")]
    return max(cut, default=None)


def _first_replaced(events: Sequence[Event]) -> dict[str, dict[str, Any]]:
    """Return, of each memory and field, the value that the first of its changes replaced."""
    values: dict[str, dict[str, Any]] = {}
    for event in events:
        known = values.setdefault(event.memory_id, {})
        values[event.memory_id] = {**event.before, **known}
    return values


async def _rows(table: Table, wanted: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    if not wanted:
        return {}
    rows = await table.rows(_JUDGED_BY, one_of("id", wanted) if len(wanted) <= _MOST_NAMED else None)
    asked_for = pa.array([memory_id in wanted for memory_id in rows.column("id").to_pylist()], pa.bool_())
    return {row["id"]: row for row in rows.filter(asked_for).to_pylist()}


async def _fitting(table: Table, where: Condition, ids: Sequence[str]) -> set[str]:
    if len(ids) <= _MOST_NAMED:
        where &= one_of("id", ids)
    found = (await table.rows(["id"], where)).column("id").to_pylist()
    return set(found) & set(ids)


def _fitted(scope: "Scope", now: Mapping[str, Any], then: Mapping[str, Any]) -> bool:
    """Say whether a memory was in scope then; what is in quarantine now is not let out by asking about the past."""
    held_back = now["status"] == "quarantined" and "quarantined" not in scope.statuses
    return not held_back and scope.admits(then)
