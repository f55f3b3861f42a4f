"""Which memories a query may see, now or as of a moment in the past, and which ones a person may see at all.

Scope is part of the storage query, never a filter after it. For a query with `as_of`, the journal says what the
memories that changed since were then. A `Viewer` is whoever looks: every read of a MemoryStore goes through the one
that it was opened for, so that no tool has to think of it.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import MISSING, dataclass, field, fields, replace
from datetime import datetime, timedelta
from functools import reduce
from typing import Any

import pyarrow as pa

from reverie.memory import FIELDS, LAYERS, LOCAL_PERSON, Kind, Layer, Memory, Status
from reverie.storage import filters
from reverie.storage.filters import Condition, one_of
from reverie.storage.journal import FOLDED, Event, Journal
from reverie.storage.lance_table import Table
from reverie.storage.schema import ARCHIVE

RECALLED: tuple[Status, ...] = ("active", "challenged")
"""The statuses that recall sees unless more are asked for."""

RETIRED: tuple[Status, ...] = ("superseded", "expired")
"""The statuses that leave the layer tables for the archive after a while."""

_SCOPE_COLUMNS = (
    *("id", "layer", "status", "project", "kind", "tags", "entities", "created_at", "happened_at", "content_hash"),
    *("author", "visibility"),
)
_FOLDED_AFTER = timedelta(days=90)
"""Older versions of Reverie folded every event of this age; now what a change replaced is kept."""

_NEEDED = frozenset(one.name for one in fields(Memory) if one.default is MISSING) | {
    "status",
    "project",
    "tags",
    "entities",
}
"""What must be known of a memory that has no row: a later version may add fields, which have defaults."""

_MOST_IDS = 1_000
"""Above this many ids it is quicker to read all rows than to name each."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """Whose eyes a store is read with: whose personal memories they see, and which projects.

    `owners` are the people whose personal memories are seen, None among them for what everybody sees.
    """

    owners: frozenset[str | None] | None = frozenset({None})  # None: everything
    projects: frozenset[str] | None = None  # None: every project; by all their names

    def sees(self, memory: Memory) -> bool:
        """Whether this is a memory for these eyes."""
        return self.sees_owner(memory.owner) and self.sees_project(memory.project)

    def sees_owner(self, owner: str | None) -> bool:
        """Whether the personal memories of somebody, or with None those of everybody, are seen."""
        return self.owners is None or owner in self.owners

    def sees_project(self, project: str) -> bool:
        """Whether any memory of a project is seen."""
        return self.projects is None or project in self.projects

    def admits(self, values: Mapping[str, Any]) -> bool:
        """Say whether a memory with these values is seen."""
        return self.sees_owner(owner_in(values)) and self.sees_project(values["project"])

    def condition(self) -> Condition:
        """Return the WHERE clause that limits a table of memories to what is seen."""
        parts = [] if self.projects is None else [filters.one_of("project", sorted(self.projects))]
        if self.owners is not None:
            theirs = (_owned_by(owner) for owner in sorted(self.owners, key=lambda owner: owner or ""))
            parts.append(reduce(Condition.__or__, theirs, filters.one_of("id", ())))
        return reduce(Condition.__and__, parts) if parts else filters.everything()

    def narrowed(self, where: Condition | None) -> Condition | None:
        """Return a condition limited to what is seen."""
        if self == EVERYBODY:
            return where
        return self.condition() if where is None else where & self.condition()


EVERYBODY = Viewer(owners=None)
"""The eyes of the store itself: for maintenance, and for whoever decides what somebody else may see."""

TEAM = Viewer()
"""Sees what everybody sees, and nobody's personal memories."""


def viewer_of(person: str, projects: frozenset[str] | None = None) -> Viewer:
    """Return the eyes of a person: what everybody sees and what is theirs."""
    return Viewer(frozenset({None, person}), projects)


def owner_in(values: Mapping[str, Any]) -> str | None:
    """Return the owner of a memory by its values, as `Memory.owner` does; rows of before have neither of them."""
    return (values.get("author") or LOCAL_PERSON) if values.get("visibility") == "personal" else None


def _owned_by(owner: str | None) -> Condition:
    if owner is None:
        return filters.is_empty("visibility") | filters.differs("visibility", "personal")
    is_theirs = filters.is_empty("author") if owner == LOCAL_PERSON else filters.equals("author", owner)
    return filters.equals("visibility", "personal") & is_theirs


@dataclass(frozen=True, slots=True)
class PastState:
    """What the memories that changed since a moment were then, and where that changes whether they are in scope."""

    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by id: fields as they were
    present: tuple[str, ...] = ()  # in scope then, but not as they are now
    absent: tuple[str, ...] = ()  # in scope as they are now, but not then
    tables: frozenset[str] = frozenset()  # the tables that those present then are in now
    known_from: datetime | None = (
        None  # earlier changes were folded by an older version: before this the rows alone decide
    )
    gone: tuple[Memory, ...] = ()  # in scope then, without a row now: what a dream wrote that was undone since
    reworded: tuple[str, ...] = ()  # in scope then, with another text than now

    def as_it_was(self, memory: Memory) -> Memory:
        """Return a memory with the fields it had then."""
        return replace(memory, **self.values.get(memory.id, {}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The projects, layers, kinds, tags and times that a query is limited to, and who asks."""

    viewer: Viewer = TEAM
    projects: tuple[str, ...] | None = None  # None: every project that the viewer sees
    statuses: tuple[Status, ...] = RECALLED
    layers: tuple[Layer, ...] = LAYERS
    kinds: tuple[Kind, ...] | None = None
    tags: tuple[str, ...] | None = None
    entities: tuple[str, ...] | None = None  # every spelling of the one asked for
    since: datetime | None = None
    before: datetime | None = None
    as_of: datetime | None = None
    past: PastState | None = None  # what the journal says of that moment; see MemoryStore.as_of_scope

    def __post_init__(self) -> None:
        """Leave out the projects that the viewer does not see."""
        seen = self.viewer.projects
        if seen is not None:
            projects = sorted(seen) if self.projects is None else [one for one in self.projects if one in seen]
            object.__setattr__(self, "projects", tuple(projects))

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables to look in: the wanted layers, those that memories have moved to since `as_of`, the archive."""
        moved_to = frozenset[str]() if self.past is None else self.past.tables
        layers = tuple(layer for layer in LAYERS if layer in self.layers or layer in moved_to)
        return (*layers, ARCHIVE) if self.reads_archive else layers

    @property
    def reads_archive(self) -> bool:
        """Whether it may see what is expired or superseded, or was not at the moment it is about."""
        return self.as_of is not None or not set(RETIRED).isdisjoint(self.statuses)

    @property
    def is_plain(self) -> bool:
        """Whether only project and status decide, as for nearly every query."""
        narrowed = (self.kinds, self.tags, self.entities, self.since, self.before, self.as_of)
        return all(part is None for part in narrowed)

    def condition(self) -> Condition:
        """Return the WHERE clause that limits a layer table to this scope.

        Who may see a memory is a matter of today, whatever it was like at `as_of`.
        """
        fits = reduce(Condition.__and__, self._parts())
        if self.layers != LAYERS and self.reads_archive:  # other tables are searched too
            fits &= filters.one_of("layer", self.layers)
        if self.past is not None and self.past.absent:
            fits &= filters.none_of("id", self.past.absent)
        if self.past is not None and self.past.present:
            fits |= filters.one_of("id", self.past.present)
        return fits if self.viewer == EVERYBODY else fits & self.viewer.condition()

    def admits(self, values: Mapping[str, Any]) -> bool:
        """Say whether a memory with these values, as they were at `as_of`, is in scope."""
        happened_at = values["happened_at"]
        return (
            self.viewer.admits(values)
            and (self.as_of is None or values["created_at"] <= self.as_of)
            and values["status"] in self.statuses
            and values["layer"] in self.layers
            and (self.projects is None or values["project"] in self.projects)
            and (self.kinds is None or values["kind"] in self.kinds)
            and (self.tags is None or not set(self.tags).isdisjoint(values["tags"]))
            and (self.entities is None or not set(self.entities).isdisjoint(values["entities"]))
            and (self.since is None or happened_at >= self.since)
            and (self.before is None or happened_at < self.before)
        )

    def as_asked(self, memory: Memory) -> Memory:
        """Return a memory as it was at the moment asked about."""
        return memory if self.past is None else self.past.as_it_was(memory)

    @property
    def no_longer_stored(self) -> tuple[Memory, ...]:
        """The memories in scope at `as_of` that no table has any more, only the journal."""
        return () if self.past is None else self.past.gone

    def _parts(self) -> Iterable[Condition]:
        fits = filters.one_of("status", self.statuses)
        if self.as_of is not None:
            # By the row alone; what the journal knows better is in `past`.
            retired_since = filters.one_of("status", RETIRED) & filters.after("expired_at", self.as_of)
            fits = (fits | retired_since) & filters.not_after("created_at", self.as_of)
        yield fits
        if self.projects is not None:
            yield filters.one_of("project", self.projects)
        if self.kinds is not None:
            yield filters.one_of("kind", self.kinds)
        if self.tags is not None:
            yield filters.has_any("tags", self.tags)
        if self.entities is not None:
            yield filters.has_any("entities", self.entities)
        if self.since is not None:
            yield filters.since("happened_at", self.since)
        if self.before is not None:
            yield filters.before("happened_at", self.before)


async def past_state_of(journal: Journal, tables: Mapping[str, Table], scope: Scope) -> PastState:
    """Read from the journal what the memories that changed since the scope's moment were then."""
    if scope.as_of is None:
        return PastState()
    values = _first_replaced(await journal.changes_after(scope.as_of))
    present, absent, where = list[str](), list[str](), set[str]()
    reworded, stored = list[str](), set[str]()
    for name, table in tables.items():
        rows = await _rows(table, values)
        stored |= rows.keys()
        fits_now = await _fitting(table, scope.condition(), list(rows)) if rows else set()
        for memory_id, row in rows.items():
            fitted = _fitted(scope, row, row | values[memory_id])
            if fitted and values[memory_id].get("content_hash", row["content_hash"]) != row["content_hash"]:
                reworded.append(memory_id)
            if fitted and not (memory_id in fits_now and row["layer"] in scope.layers):
                present.append(memory_id)
                where.add(name)
            elif memory_id in fits_now and not fitted:
                absent.append(memory_id)
    known_from = _known_from(await journal.with_action(FOLDED))
    gone = tuple(_gone(scope, values, stored))
    return PastState(
        values, tuple(present), tuple(absent), frozenset(where), known_from, gone, tuple(dict.fromkeys(reworded))
    )


def _gone(scope: Scope, values: Mapping[str, Mapping[str, Any]], stored: Set[str]) -> Iterable[Memory]:
    """Yield the memories in scope then that have no row now; what was purged since has no values left."""
    for memory_id, known in values.items():
        if memory_id not in stored and known.keys() >= _NEEDED and scope.admits(known):
            yield Memory(**{name: value for name, value in known.items() if name in FIELDS})


def _known_from(folds: Sequence[Event]) -> datetime | None:
    """Return from when on every change is kept; None if always."""
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
    rows = await table.rows(_SCOPE_COLUMNS, one_of("id", wanted) if len(wanted) <= _MOST_IDS else None)
    asked_for = pa.array([memory_id in wanted for memory_id in rows.column("id").to_pylist()], pa.bool_())
    return {row["id"]: row for row in rows.filter(asked_for).to_pylist()}


async def _fitting(table: Table, where: Condition, ids: Sequence[str]) -> set[str]:
    if len(ids) <= _MOST_IDS:
        where &= one_of("id", ids)
    found = (await table.rows(["id"], where)).column("id").to_pylist()
    return set(found) & set(ids)


def _fitted(scope: Scope, now: Mapping[str, Any], then: Mapping[str, Any]) -> bool:
    """Say whether a memory was in scope then; what is in quarantine now stays there whatever `as_of` says."""
    quarantined = now["status"] == "quarantined" and "quarantined" not in scope.statuses
    return not quarantined and scope.viewer.admits(now) and scope.admits(then)
