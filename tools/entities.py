"""The names in memories: found when one is written, listed with their aliases, and found anew for a whole store."""

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from reverie.codebase.manifests import dependency_names
from reverie.memory import LAYERS, Layer, Memory
from reverie.storage.bulk import Edit, write_batch
from reverie.text.aliases import Entity, entities_of, entity_named
from reverie.text.entities import Known, names_in
from reverie.text.word_lists import is_ordinary
from reverie.tools.requests import EntitiesRequest
from reverie.tools.results import EntityList, ListedEntity, Reindexed
from reverie.tools.session import Session

REINDEXED = "reindexed"
"""The journal's word for names that were found anew."""

_AT_ONCE = 1_000
_OTHER_LAYERS: tuple[Layer, ...] = tuple(layer for layer in LAYERS if layer != "codebase")


async def with_names(session: Session, memories: Sequence[Memory]) -> list[Memory]:
    """Return memories with the names in their texts; what the project and its manifests name already helps.

    Memories of one call share a project nearly always, so its names are read once.
    """
    projects = {memory.project for memory in memories}
    known = {project: await _known_names(session, project) for project in projects}
    return [replace(memory, entities=names_in(memory.content, known[memory.project])) for memory in memories]


async def _known_names(session: Session, project: str) -> Known:
    """Return what says whether a project uses a name in its memories, its code or its manifests."""
    named = await session.store.entity_names.known(session.store.viewer, session.visible_from(project))
    if session.here.root is None or project != session.here.project:
        return named.__contains__
    packages = await asyncio.to_thread(_packages, session)
    return lambda name: name in named or name in packages


def _packages(session: Session) -> frozenset[str]:
    tree = session.evidence.tree
    return frozenset() if tree is None else _without_ordinary(dependency_names(tree))


@lru_cache(maxsize=8)
def _without_ordinary(packages: frozenset[str]) -> frozenset[str]:
    return frozenset(name.casefold() for name in packages if not is_ordinary(name))


async def spellings_of(session: Session, name: str, projects: Sequence[str] | None) -> tuple[str, ...]:
    """Return every spelling that memories of these projects use for what a name means."""
    return tuple(
        entity_named(name, await session.store.entity_names.counts(session.store.viewer, projects)).spellings
    )


async def entities_in(session: Session, projects: Sequence[str] | None) -> list[Entity]:
    """Return what the memories of these projects name, code left out, the most named first."""
    return entities_of(await session.store.entity_names.counts(session.store.viewer, projects, _OTHER_LAYERS))


async def aliases_of(session: Session, memory: Memory) -> dict[str, list[str]]:
    """Return, for the names in a memory that have others in its project, the one that stands for all and the rest."""
    if not memory.entities:
        return {}
    names = session.names_of(memory.project)
    counts = await session.store.entity_names.counts(session.eyes_for(memory), names, _OTHER_LAYERS)
    joined = {spelling: entity for entity in entities_of(counts) for spelling in entity.spellings}
    found = {joined[name].name: list(joined[name].aliases) for name in memory.entities if name in joined}
    return {name: aliases for name, aliases in found.items() if aliases}


async def list_entities(session: Session, request: EntitiesRequest) -> EntityList:
    """Return what the memories of a project name, with aliases and counts."""
    project = session.project_for(request.project)
    found = await entities_in(session, None if request.all_projects else session.visible_from(project))
    return EntityList(
        [ListedEntity(one.name, list(one.aliases), one.count) for one in found[: request.limit]],
        len(found),
        "" if request.all_projects else project,
    )


async def reindex(session: Session, project: str = "") -> Reindexed:
    """Find the names in every memory again, of one project or of all: one batch, which restore takes back.

    What a project names is found first, and helps with each of its texts then. Names of code, which a scan reads,
    and of what a dream wrote about an entity stay as they are.
    """
    store, now = session.whole_store, session.now
    batch = store.new_id()
    async with store.changing():
        every = await store.find(session.of_project(session.project_for(project)) if project else None, _OTHER_LAYERS)
        memories = [memory for memory in every if memory.source != "dream"]
        names = await asyncio.to_thread(_found_anew, memories)
        changed = [memory for memory in memories if memory.entities != names[memory.id]]
        for start in range(0, len(changed), _AT_ONCE):
            part = changed[start : start + _AT_ONCE]
            await store.journal.write(
                [
                    store.event(
                        REINDEXED,
                        memory,
                        actor="reindex",
                        at=now,
                        batch=batch,
                        before={"entities": memory.entities},
                        after={"entities": names[memory.id]},
                    )
                    for memory in part
                ]
            )
            edits = [Edit(one, replace(one, entities=names[one.id], updated_at=now)) for one in part]
            await write_batch(store, edits=edits)
    session.maintenance.note_write()
    return Reindexed(len(memories), len(changed), batch if changed else "")


def _found_anew(memories: Sequence[Memory]) -> Mapping[str, tuple[str, ...]]:
    named: dict[tuple[str, str | None], Counter[str]] = {}
    for memory in memories:
        if memory.status in ("active", "challenged"):
            partition = (memory.project, memory.owner)
            named.setdefault(partition, Counter()).update(map(str.casefold, names_in(memory.content)))
    known: dict[tuple[str, str | None], Collection[str]] = {one: frozenset(names) for one, names in named.items()}
    return {memory.id: names_in(memory.content, known.get((memory.project, memory.owner), ())) for memory in memories}
