"""Recognising the project of a session: what it was called before a remote was added, renamed or removed."""

import asyncio
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from reverie.codebase.identity import ProjectIdentity, has_commit, path_name, readable_part, root_commits
from reverie.errors import StoreBusy, StoreDamaged
from reverie.storage.projects import ProjectRecord, Projects, ProjectSighting
from reverie.storage.store import MemoryStore

PATIENCE_AT_START = 0.5
"""Seconds to wait for other writers; what could not be noted then is noted at a later call, without waiting."""


_FEW = 5


@dataclass(frozen=True, slots=True)
class LookAlike:
    """Another project with memories that looks like the session's, and why."""

    name: str
    memories: int
    why: str


def look_alike(one: LookAlike) -> str:
    """Return a note about a project that looks like the session's, and how to join them."""
    count = "1 memory is" if one.memories == 1 else f"{one.memories} memories are"
    return (
        f"{count} kept under {one.name}, which looks like this project ({one.why}); "
        f"`reverie projects merge {one.name}` joins them"
    )


@dataclass(frozen=True, slots=True)
class RecognisedProject:
    """The session's project, all projects of the store, and those that look the same."""

    project: str
    projects: Projects
    alike: tuple[LookAlike, ...] = ()
    is_noted: bool = True  # whether the store knows all that was seen


@dataclass(frozen=True, slots=True)
class _Decision:
    """Which project it is, what to write about it, and which others look like it."""

    project: str
    changed: tuple[ProjectRecord, ...]
    removed: tuple[str, ...]
    alike: tuple[LookAlike, ...]


async def recognise(store: MemoryStore, here: ProjectIdentity, patience: float = 0.0) -> RecognisedProject:
    """Return the project that the store knows a folder as, and record what is new about it.

    A layer that cannot be read is told by whoever asks for it; until it is mended, nothing is noted.
    """
    projects = await store.projects.read()
    try:
        return await _recognised(store, here, projects, patience)
    except StoreDamaged:
        seen = ProjectSighting(here.project, here.remotes, await _root_commits(here), here.place, here.commit)
        fitting = await _fitting(projects, seen, here.root)
        return RecognisedProject(fitting[0].name if fitting else seen.name, projects)


async def _root_commits(here: ProjectIdentity) -> tuple[str, ...]:
    if here.root is None or here.commit is None:
        return ()
    return await asyncio.to_thread(root_commits, here.root)


async def _recognised(
    store: MemoryStore, here: ProjectIdentity, projects: Projects, patience: float
) -> RecognisedProject:
    seen = ProjectSighting(here.project, here.remotes, (), here.place, here.commit)
    if here.place is None:
        return RecognisedProject(projects.canonical(seen.name), projects)
    known = next((one for one in projects.at(here.place) if _says_nothing_new(one, seen)), None)
    if known is not None:
        seen = replace(seen, root_commits=known.root_commits)
        return RecognisedProject(known.name, projects, await _alike(store, projects, seen, known))
    seen = replace(seen, root_commits=await _root_commits(here))
    decision = await _decide(store, projects, seen, here.root)
    if not decision.changed:
        return RecognisedProject(decision.project, projects, decision.alike)
    try:
        async with store.write_lock.held(patience=patience):
            projects = await store.projects.read()  # again, now that no other session notes anything
            decision = await _decide(store, projects, seen, here.root)
            await store.projects.write(decision.changed, decision.removed)
    except StoreBusy:
        return RecognisedProject(decision.project, projects, decision.alike, is_noted=False)
    return RecognisedProject(decision.project, await store.projects.read(), decision.alike)


def _says_nothing_new(known: ProjectRecord, seen: ProjectSighting) -> bool:
    return (
        seen.name in known.names
        and set(seen.remotes) <= {*known.names, *known.remotes}
        and bool(known.root_commits or known.commits or seen.commit is None)
    )


async def _decide(store: MemoryStore, projects: Projects, seen: ProjectSighting, root: Path | None) -> _Decision:
    fitting = await _fitting(projects, seen, root)
    unnoted = [name for name in _earlier_names(seen, root) if not projects.is_known(name)]
    counts = await _counted(store, [*(name for one in fitting for name in one.names), *unnoted])

    def has_memories(one: ProjectRecord) -> bool:
        return any(counts[name] for name in one.names)

    if fitting:
        chosen = next((one for one in fitting if has_memories(one)), fitting[0])
    else:
        chosen = ProjectRecord(next((name for name in unnoted if counts[name]), seen.name))
    absorbed = [one for one in fitting if one is not chosen and not has_memories(one)]
    known = seen.known_as(chosen.name)
    owner = projects.canonical(seen.name)
    if owner not in (chosen.name, *(one.name for one in absorbed)) and (
        projects.is_known(seen.name) or counts[owner]
    ):
        known = replace(known, aliases=())  # that name has memories of its own
    for one in (*absorbed, known):
        chosen = chosen.joined(one)
    changed = [chosen] if projects.known.get(chosen.name) != chosen else []
    gone = {one.name for one in absorbed}
    displaced = [
        one.without_place(seen.place)
        for one in projects.known.values()
        if seen.place is not None and seen.place in one.places and one.name not in (*gone, chosen.name)
    ]
    changed += displaced
    projects = Projects({**projects.known, **{one.name: one for one in displaced}})
    apart = [ProjectRecord(name) for name in unnoted if counts[name] and name != chosen.name]
    alike = await _alike(store, projects, seen, chosen, [*apart, *(one for one in fitting if one.name not in gone)])
    return _Decision(chosen.name, tuple(changed), tuple(gone), alike)


async def _fitting(projects: Projects, seen: ProjectSighting, root: Path | None) -> list[ProjectRecord]:
    """Return the projects that this may be, the most certain first."""
    found = [one for one in projects.at(seen.place) if await _lies_here(one, seen, root)]
    found += [one for one in [projects.named(seen)] if one is not None]
    local = projects.local_root(seen)
    if local is not None and not (seen.remotes and _lies_elsewhere(local, seen)):
        found.append(local)
    return list({one.name: one for one in found}.values())


async def _lies_here(one: ProjectRecord, seen: ProjectSighting, root: Path | None) -> bool:
    """Return whether the repository in a folder is the one seen before: it still has a commit of it, if any."""
    if seen.name in one.names:
        return True
    then = (*one.root_commits, *one.commits)
    if seen.commit is None or not then or root is None:
        return not (seen.is_hosted and one.has_remotes)
    if not set(then).isdisjoint(seen.root_commits):
        return True
    # Its history may have been rewritten, or be shallow.
    return any([await asyncio.to_thread(has_commit, root, commit) for commit in then[:_FEW]])


def _earlier_names(seen: ProjectSighting, root: Path | None) -> list[str]:
    """Return names that this project may have had before the store recorded projects, or before git."""
    by_root = [_root_name(commit) for commit in seen.root_commits]
    by_path = [path_name(root)] if root is not None and str(root) == seen.place else []
    return list(dict.fromkeys((seen.name, *by_root, *by_path)))


def _root_name(commit: str) -> str:
    return f"git:{commit[:12]}"


def _lies_elsewhere(one: ProjectRecord, seen: ProjectSighting) -> bool:
    return any(place != seen.place and os.path.isdir(place) for place in one.places)


async def _alike(
    store: MemoryStore,
    projects: Projects,
    seen: ProjectSighting,
    own: ProjectRecord,
    others: Iterable[ProjectRecord] = (),
) -> tuple[LookAlike, ...]:
    """Return the projects with memories that share a root commit, a folder, or a name with a folder that is gone."""
    why = {
        one.name: "another history in the same folder"  # begun anew; two remotes say that they are two projects
        for one in projects.known.values()
        if seen.place in one.left and not (seen.is_hosted and one.has_remotes)
    }
    why |= {one.name: "seen in the same repository" for one in others}
    by_root = [projects.canonical(_root_name(commit)) for commit in seen.root_commits]
    why |= dict.fromkeys([*by_root, *(one.name for one in projects.sharing_roots(seen))], "the same root commit")
    readable = readable_part(seen.name)
    if readable is not None:
        why |= {
            one.name: "the same name, in a folder that is gone"
            for one in projects.known.values()
            if readable_part(one.name) == readable and not _lies_elsewhere(one, seen)
        }
    why.pop(own.name, None)
    names = {name: one for one in why for name in projects.names_of(one)}
    counts = Counter[str]()
    for name, number in (await _counted(store, names)).items():
        counts[names[name]] += number
    return tuple(LookAlike(name, counts[name], reason) for name, reason in why.items() if counts[name])


async def _counted(store: MemoryStore, names: Iterable[str]) -> Counter[str]:
    """Count the memories of each of these names, of any status."""
    wanted = list(dict.fromkeys(names))
    found = await store.count_by_project(wanted) if wanted else {}
    return Counter({name: counts.total() for name, counts in found.items()})
