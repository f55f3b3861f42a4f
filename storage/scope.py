"""Which memories a question may see. Scope is part of the storage query, never a filter after it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import Any

from reverie.memory import LAYERS, Kind, Layer, Memory, Status
from reverie.storage import filters
from reverie.storage.as_of import PastState
from reverie.storage.filters import Condition

RECALLED: tuple[Status, ...] = ("active", "challenged")
"""The statuses that recall sees unless more are asked for."""

_LET_GO: tuple[Status, ...] = ("superseded", "expired")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The projects, layers, kinds, tags and times that a question is limited to."""

    projects: tuple[str, ...] | None = None  # None: every project
    statuses: tuple[Status, ...] = RECALLED
    layers: tuple[Layer, ...] = LAYERS
    kinds: tuple[Kind, ...] | None = None
    tags: tuple[str, ...] | None = None
    since: datetime | None = None
    before: datetime | None = None
    as_of: datetime | None = None
    past: PastState | None = None  # what the journal tells of that moment; see MemoryStore.looking_back

    @property
    def tables(self) -> tuple[Layer, ...]:
        """The tables to look in: the wanted layers, and those that memories have moved to since `as_of`."""
        if self.past is None:
            return self.layers
        return tuple(layer for layer in LAYERS if layer in self.layers or layer in self.past.tables)

    @property
    def is_plain(self) -> bool:
        """Whether only project and status decide, as for nearly every question."""
        narrowed = (self.kinds, self.tags, self.since, self.before, self.as_of)
        return all(part is None for part in narrowed)

    def condition(self) -> Condition:
        """Return the WHERE clause that holds a layer table to this scope."""
        fits = reduce(Condition.__and__, self._parts())
        if self.past is None:
            return fits
        if self.layers != LAYERS:  # tables are searched that were not asked for, for what was elsewhere then
            fits &= filters.one_of("layer", self.layers)
        if self.past.absent:
            fits &= filters.none_of("id", self.past.absent)
        return fits | filters.one_of("id", self.past.present) if self.past.present else fits

    def admits(self, values: Mapping[str, Any]) -> bool:
        """Say whether a memory with these values, as they were at `as_of`, is in scope."""
        happened_at = values["happened_at"]
        return (
            (self.as_of is None or values["created_at"] <= self.as_of)
            and values["status"] in self.statuses
            and values["layer"] in self.layers
            and (self.projects is None or values["project"] in self.projects)
            and (self.kinds is None or values["kind"] in self.kinds)
            and (self.tags is None or not set(self.tags).isdisjoint(values["tags"]))
            and (self.since is None or happened_at >= self.since)
            and (self.before is None or happened_at < self.before)
        )

    def as_asked(self, memory: Memory) -> Memory:
        """Return a memory as it was at the moment asked about."""
        return memory if self.past is None else self.past.as_it_was(memory)

    def _parts(self) -> Iterable[Condition]:
        fits = filters.one_of("status", self.statuses)
        if self.as_of is not None:
            # By the row alone; what the journal knows better is in `past`.
            let_go_since = filters.one_of("status", _LET_GO) & filters.after("expired_at", self.as_of)
            fits = (fits | let_go_since) & filters.not_after("created_at", self.as_of)
        yield fits
        if self.projects is not None:
            yield filters.one_of("project", self.projects)
        if self.kinds is not None:
            yield filters.one_of("kind", self.kinds)
        if self.tags is not None:
            yield filters.has_any("tags", self.tags)
        if self.since is not None:
            yield filters.since("happened_at", self.since)
        if self.before is not None:
            yield filters.before("happened_at", self.before)
