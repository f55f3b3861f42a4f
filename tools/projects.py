"""The projects of a store: listing them, renaming and joining them, moving memories between them.

Every change is one batch of ordinary events, so that `reverie projects undo`, or restore with the batch's id, takes
it back. What the store knows a project by is written before its memories: a change that is cut short leaves memories
under a name that is an alias by then, and they stay in view.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from reverie.codebase.identity import NO_PROJECT
from reverie.dream.batch import undo_batch
from reverie.errors import InvalidInput
from reverie.memory import GLOBAL_PROJECT, Memory
from reverie.storage.projects import ProjectRecord
from reverie.tools.requests import checked_ids, checked_label
from reverie.tools.resolve import resolved
from reverie.tools.screening import cleaned
from reverie.tools.session import Session

_AT_ONCE = 1_000
_NOT_A_REPOSITORY = (GLOBAL_PROJECT, NO_PROJECT)


@dataclass(frozen=True, slots=True)
class Listed:
    """One project: how many memories it has by status, and what it is known by."""

    name: str
    memories: Mapping[str, int]
    is_here: bool
    aliases: Sequence[str] = ()
    remotes: Sequence[str] = ()
    root_commits: Sequence[str] = ()
    places: Sequence[str] = ()
    commits: Sequence[str] = ()
    left: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Regrouped:
    """Memories that moved to another project; `change_id` undoes it."""

    source: Sequence[str]
    target: str
    memories: int
    change_id: str
    dry_run: bool


async def list_projects(session: Session) -> list[Listed]:
    """Return every project that has memories, and the session's own, the largest first."""
    counts: dict[str, Counter[str]] = {}
    projects = await session.store.projects.read()
    for name, by_status in (await session.store.count_by_project()).items():
        counts.setdefault(projects.canonical(name), Counter()).update(by_status)
    here = session.here.project
    listed = []
    for name in counts.keys() | {here}:
        known = {
            part: value
            for part, value in asdict(projects.known.get(name, ProjectRecord(name))).items()
            if part != "name"
        }
        listed.append(Listed(name, dict(counts.get(name, {})), name == here, **known))
    return sorted(listed, key=lambda one: (-sum(one.memories.values()), one.name))


async def rename(session: Session, old: str, new: str, *, dry_run: bool = False) -> Regrouped:
    """Give a project another name.

    Raises:
        InvalidInput: if there is no such project, or the new name is another project's.
    """
    old, new = session.project_for(old), _checked_name("new name", new)
    owner = session.recognised.projects.canonical(new)
    if owner != old and await session.whole_store.count(session.of_project(new)):
        raise InvalidInput(
            "new name", f"{new} has memories of its own", f"`reverie projects merge {old} {new}` joins."
        )
    if old == new:
        raise InvalidInput("new name", f"it is called {new} already", "`reverie projects` lists the names.")
    return await _regroup(session, old, new, action="renamed", dry_run=dry_run)


async def merge(session: Session, source: str, target: str = "", *, dry_run: bool = False) -> Regrouped:
    """Join a project to another, or to the session's.

    Raises:
        InvalidInput: if there is no such project, or both are one already.
    """
    source, target = session.project_for(source), session.project_for(_checked_name("target", target, empty=True))
    if source == target:
        raise InvalidInput("projects", f"{source} and {target} are one project", "`reverie projects` lists them.")
    return await _regroup(session, source, target, action="merged", dry_run=dry_run)


async def move_memories(session: Session, ids: list[str], target: str, *, dry_run: bool = False) -> Regrouped:
    """Move single memories to another project, such as out of `global`.

    Raises:
        MemoryNotFound: if an id is unknown; then nothing is moved.
    """
    target = session.project_for(_checked_name("to", target))
    store, batch = session.store, session.store.new_id()
    async with store.changing():
        found = [await resolved(session, memory_id) for memory_id in checked_ids(ids)]
        going = [memory for memory in found if memory.project != target]
        sources = tuple(sorted({memory.project for memory in going}))
        if going and not dry_run:
            await _write(session, going, target, batch)
    return Regrouped(sources, target, len(going), "" if dry_run or not going else batch, dry_run)


async def undo_change(session: Session, change_id: str) -> int:
    """Undo a rename, merge or move; return how many memories changed.

    Raises:
        InvalidInput: if there is no such change.
    """
    store = session.store
    async with store.changing():
        events = await store.journal.of_batch(change_id)
        if not all(event.actor == "projects" for event in events):
            raise InvalidInput("id", f"{change_id} is no change of projects", "restore takes back other changes.")
        undone: tuple[str, ...] = ()
        if events:
            at, embedder = session.now, session.embedder
            undone = (await undo_batch(store, change_id, actor="projects", at=at, embedder=embedder)).restored
        known = await store.projects.undo(change_id)
    if not events and not known:
        raise InvalidInput("id", f"no change of projects has the id {change_id!r}", "Give the id that it told.")
    await session.refresh()
    session.maintenance.note_write()
    return len(undone)


async def _regroup(session: Session, source: str, target: str, *, action: str, dry_run: bool) -> Regrouped:
    """Move everything of one project to another, which gets all its names."""
    if source == GLOBAL_PROJECT or target in _NOT_A_REPOSITORY:
        raise InvalidInput(
            "projects",
            f"`{GLOBAL_PROJECT}` and `{NO_PROJECT}` are no projects to be joined",
            "`reverie projects move` moves single memories.",
        )
    store, batch = session.whole_store, session.store.new_id()  # what others keep for themselves goes along
    async with store.changing():
        projects = await store.projects.read()
        names = projects.names_of(source)
        found = await store.find(session.of_project(source))
        seen = sum(map(session.store.viewer.sees, found))
        if not found and source not in projects.known:
            raise InvalidInput("project", f"no project is called {source}", "`reverie projects` lists them.")
        if dry_run:
            return Regrouped((source,), target, seen, "", dry_run=True)
        known = projects.known.get(target, ProjectRecord(target)).joined(
            projects.known.get(source, ProjectRecord(source))
        )
        if source in _NOT_A_REPOSITORY:  # sessions without a project go on to keep theirs there
            known = replace(known, aliases=tuple(alias for alias in known.aliases if alias != source))
        await store.projects.write([known], [name for name in names if name in projects.known], undo_as=batch)
        await _write(session, [memory for memory in found if memory.project != target], target, batch)
    await session.refresh()
    return Regrouped((source,), target, seen, batch, dry_run=False)


async def _write(session: Session, memories: Sequence[Memory], target: str, batch: str) -> None:
    """Write the project of memories, their passages and their events; call it inside `changing()`."""
    for start in range(0, len(memories), _AT_ONCE):
        await session.store.change(
            memories[start : start + _AT_ONCE],
            {"project": target},
            action="regrouped",
            actor="projects",
            at=session.now,
            reason=f"to {target}",
            batch=batch,
        )
    session.maintenance.note_write()


def _checked_name(argument: str, name: str, *, empty: bool = False) -> str:
    name = checked_label(argument, name).strip()
    if not name and not empty:
        raise InvalidInput(argument, "there is no name", "Name a project.")
    clean, found = cleaned(name)
    if found or not name.isprintable():
        raise InvalidInput(argument, "that is no name for a project", "Give a short name without secrets.")
    return clean


def as_plain(result: Any) -> Any:
    """Return a result as JSON values."""
    return [asdict(one) for one in result] if isinstance(result, list) else asdict(result)
