"""What the projects of a store are recognised by: one row of the meta table for each.

A project keeps the name under which its memories were first stored. Whatever else a session learns of it (other
remotes, its root commits, its folders) is stored with that name, so that it is recognised again when a remote
is added, renamed or gone. Two things decide which project a folder is, in this order:

1. the folder on this machine, unless the root commits say that another repository is there now;
2. the remote that names it, or, where there is none, its root commit.

A root commit alone never joins two repositories that have remotes: forks and copies of a template share it. They are
reported as look-alikes, and `reverie projects merge` joins them.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from reverie.errors import StoreDamaged
from reverie.storage.database import Database
from reverie.storage.filters import one_of

_ROW = "project:"
_BEFORE = "projects-before:"
_TOLD = "told first steps: "
_MOST_PLACES = 20
_MOST_NAMES = 50
_LOCAL = ("git:", "folder:", "marker:")


@dataclass(frozen=True, slots=True)
class ProjectRecord:
    """One project: its name, and what it is known by."""

    name: str
    aliases: tuple[str, ...] = ()  # other names that its memories may carry, or that named it once
    remotes: tuple[str, ...] = ()  # remotes other than the one that names it
    root_commits: tuple[str, ...] = ()
    places: tuple[str, ...] = ()  # folders on this machine
    commits: tuple[str, ...] = ()  # what a shallow clone had instead of root commits
    left: tuple[str, ...] = ()  # folders on this machine in which another repository was seen since

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that its memories may carry, its own first."""
        return (self.name, *self.aliases)

    def joined(self, other: "ProjectRecord") -> "ProjectRecord":
        """Return this project with everything that the other is known by; its newest places are kept."""
        aliases = tuple(dict.fromkeys((*self.aliases, *other.names)))
        places = tuple(dict.fromkeys((*self.places, *other.places)))[-_MOST_PLACES:]
        left = dict.fromkeys((*self.left, *other.left))
        return replace(
            self,
            aliases=tuple(alias for alias in aliases if alias != self.name)[:_MOST_NAMES],
            remotes=tuple(dict.fromkeys((*self.remotes, *other.remotes)))[:_MOST_NAMES],
            root_commits=tuple(dict.fromkeys((*self.root_commits, *other.root_commits)))[:_MOST_NAMES],
            places=places,
            commits=tuple(dict.fromkeys((*self.commits, *other.commits)))[-_MOST_PLACES:],
            left=tuple(place for place in left if place not in places)[-_MOST_PLACES:],
        )

    def without_place(self, place: str) -> "ProjectRecord":
        """Return this project after another repository was seen in one of its folders."""
        return replace(
            self,
            places=tuple(one for one in self.places if one != place),
            left=tuple(dict.fromkeys((*self.left, place)))[-_MOST_PLACES:],
        )

    @property
    def has_remotes(self) -> bool:
        """Whether it ever had a remote: a name that is no root commit's, folder's or marker's is one."""
        return bool(self.remotes) or any(not name.startswith(_LOCAL) for name in self.names)

    @property
    def as_row(self) -> tuple[str, str]:
        """The key and value of its row."""
        values = {name: value for name, value in asdict(self).items() if value and name != "name"}
        return f"{_ROW}{self.name}", json.dumps(values, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class ProjectSighting:
    """What a session sees of the project in its folder."""

    name: str  # what it would be called if it were new
    remotes: tuple[str, ...] = ()
    root_commits: tuple[str, ...] = ()
    place: str | None = None
    commit: str | None = None  # what is checked out

    @property
    def is_hosted(self) -> bool:
        """Whether a remote gave it its name."""
        return self.name in self.remotes

    def known_as(self, name: str) -> ProjectRecord:
        """Return this as an entry under a name."""
        others = tuple(remote for remote in self.remotes if remote != self.name)
        places = (self.place,) if self.place else ()
        commits = (self.commit,) if self.commit and not self.root_commits else ()
        return ProjectRecord(
            name, (self.name,) if self.name != name else (), others, self.root_commits, places, commits
        )


class Projects:
    """Every project that the store knows, as of one version of its meta table."""

    def __init__(self, known: Mapping[str, ProjectRecord] | None = None) -> None:
        self.known = dict(known or {})
        self._owners = {alias: one.name for one in self.known.values() for alias in one.aliases}
        self._owners |= {name: name for name in self.known}

    def canonical(self, name: str) -> str:
        """Return the name under which a project's memories are kept now."""
        return self._owners.get(name, name)

    def is_known(self, name: str) -> bool:
        """Whether a name is some project's own or another name of it."""
        return name in self._owners

    def names_of(self, name: str) -> tuple[str, ...]:
        """Return every name that the memories of a project may carry, the present one first."""
        own = self.canonical(name)
        return self.known[own].names if own in self.known else (own,)

    def at(self, place: str | None) -> list[ProjectRecord]:
        """Return the projects that were seen in a folder: more than one only while another takes its place."""
        return [one for one in self.known.values() if place in one.places]

    def named(self, seen: ProjectSighting) -> ProjectRecord | None:
        """Return the project of this name; a remote that was never its name needs a root commit in common."""
        own = self.canonical(seen.name)
        if own in self.known:
            return self.known[own]
        if not seen.is_hosted:
            return None
        sharing = [one for one in self.sharing_roots(seen) if seen.name in one.remotes]
        return sharing[0] if len(sharing) == 1 else None

    def local_root(self, seen: ProjectSighting) -> ProjectRecord | None:
        """Return the only project with this root commit, where one of the two has never had a remote."""
        sharing = [one for one in self.sharing_roots(seen) if not (seen.remotes and one.has_remotes)]
        return sharing[0] if len(sharing) == 1 else None

    def sharing_roots(self, seen: ProjectSighting) -> Iterator[ProjectRecord]:
        """Return every project that has a root commit of this one."""
        return (one for one in self.known.values() if set(one.root_commits) & set(seen.root_commits))


class ProjectTable:
    """Reads and writes the rows of projects."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self) -> Projects:
        """Read every project that the store knows."""
        return Projects(_parsed(await self._database.read_meta()))

    async def version(self) -> int:
        """Return a number that changes whenever any of the rows does."""
        return await self._database.raw_table("meta").version()

    async def write(
        self, changed: Iterable[ProjectRecord], removed: Sequence[str] = (), *, undo_as: str | None = None
    ) -> None:
        """Write records and remove others, in that order; what they replace can be undone under `undo_as`.

        Call it inside `changing()`.
        """
        changed = list(changed)
        rows = dict(one.as_row for one in changed)
        if undo_as is not None:
            before = (await self.read()).known
            touched = {name: before.get(name) for name in (*(one.name for one in changed), *removed)}
            replaced = {name: one.as_row[1] if one else None for name, one in touched.items()}
            rows[f"{_BEFORE}{undo_as}"] = json.dumps(replaced, ensure_ascii=False)
        await self._database.write_meta(rows)
        if removed:
            await self._database.table("meta").delete(one_of("id", [f"{_ROW}{name}" for name in removed]))

    async def is_first_notice(self, project: str) -> bool:
        """Return whether nobody was told yet what could be done in a new project, and note that somebody is now."""
        key = f"{_TOLD}{project}"
        if key in await self._database.read_meta():
            return False
        await self._database.write_meta({key: "told"})
        return True

    async def undo(self, batch: str) -> bool:
        """Put back the records that a batch replaced; say whether there were any. Call it inside `changing()`."""
        meta = await self._database.read_meta()
        written = meta.get(f"{_BEFORE}{batch}")
        if written is None:
            return False
        replaced: dict[str, str | None] = json.loads(written)
        rows = {f"{_ROW}{name}": value for name, value in replaced.items() if value is not None}
        if rows:
            await self._database.write_meta(rows)
        new = [f"{_ROW}{name}" for name, value in replaced.items() if value is None]
        await self._database.table("meta").delete(one_of("id", [*new, f"{_BEFORE}{batch}"]))
        return True


def _parsed(meta: Mapping[str, str]) -> dict[str, ProjectRecord]:
    found = {}
    for key, value in sorted(meta.items()):
        if key.startswith(_ROW):
            name = key.removeprefix(_ROW)
            try:
                values: dict[str, Any] = json.loads(value)
                found[name] = ProjectRecord(name, **{part: tuple(values.get(part, ())) for part in _PARTS})
            except (ValueError, TypeError, AttributeError) as error:
                raise StoreDamaged("meta", f"{key}: {error}") from error
    return found


_PARTS = ("aliases", "remotes", "root_commits", "places", "commits", "left")
