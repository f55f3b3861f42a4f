"""Which memories a question may see. Scope is part of the storage query, never a filter after it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import reduce

from reverie.memory import LAYERS, Kind, Layer, Memory, Status
from reverie.storage import filters
from reverie.storage.filters import Condition

RECALLED: tuple[Status, ...] = ("active", "challenged")
"""The statuses that recall sees unless more are asked for."""


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

    @property
    def is_plain(self) -> bool:
        """Whether only project and status decide, as for nearly every question."""
        narrowed = (self.kinds, self.tags, self.since, self.before, self.as_of)
        return all(part is None for part in narrowed)

    def admits(self, memory: Memory) -> bool:
        """Whether a memory that no table holds yet is in scope; for plain scopes only."""
        if not self.is_plain:
            raise ValueError("only the tables can answer this")
        mine = self.projects is None or memory.project in self.projects
        return mine and memory.status in self.statuses and memory.layer in self.layers

    def condition(self) -> Condition:
        """Return the WHERE clause that holds a layer table to this scope."""
        return reduce(Condition.__and__, self._parts())

    def _parts(self) -> Iterable[Condition]:
        if self.as_of is None:
            yield filters.one_of("status", self.statuses)
        else:
            # What was active then may have been let go or replaced since; quarantine is never lifted by asking.
            yield filters.active_at(self.as_of)
            if "quarantined" not in self.statuses:
                yield filters.differs("status", "quarantined")
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
