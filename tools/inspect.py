"""Looking at memories: everything that is known about some and what lies ahead of them, or a list of many."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from reverie.lifecycle.outlook import outlook_of
from reverie.lifecycle.vitals import age_days, importance_of, last_touched, strength_of, strength_word
from reverie.memory import LAYERS, Layer, Memory, author_of, encode, to_record
from reverie.parameters import Parameters
from reverie.recall.features import freshness_of
from reverie.storage.filters import Condition, everything, has_any, one_of, since
from reverie.storage.journal import Event
from reverie.storage.scope import RECALLED
from reverie.time import iso, parse_moment
from reverie.tools.entities import aliases_of
from reverie.tools.requests import InspectRequest, ListOrder, ListRequest, NamedRequest
from reverie.tools.resolve import resolved_each, resolved_to_read
from reverie.tools.results import Inspected, ListedMemory, MemoryList, NamedMemories, NamedMemory
from reverie.tools.session import Session


async def inspect(session: Session, request: InspectRequest) -> Inspected:
    """Describe memories in full.

    Raises:
        MemoryNotFound: if an id is unknown.
    """
    await session.accesses.count_if_possible()
    found = await resolved_to_read(session, request.ids)
    memories = [session.as_read(memory) for memory in found]
    # What was read by its whole id alone is not in scope for that: a later change must not reach it.
    session.served.note((memory.id, memory.content) for memory in memories if session.sees(memory))
    checked = await freshness_of(session.evidence, memories)
    memories = [replace(memory, anchors=checked[memory.id].anchors) for memory in memories]
    lineages = await _lineages(session, memories)
    return Inspected(
        [
            await _described(session, memory, lineages[memory.id]) | {"freshness": checked[memory.id].freshness}
            for memory in memories
        ]
    )


async def _described(session: Session, memory: Memory, lineage: dict[str, list[str]]) -> dict[str, Any]:
    now = session.now
    importance = importance_of(memory, now, session.settings.parameters)
    outlook = outlook_of(memory, now, session.settings.retention, session.settings.tier, session.settings.parameters)
    strength = strength_of(memory, now, session.settings.parameters)
    return to_record(memory) | {
        "composite_importance": importance.value,
        "factors": [asdict(factor) for factor in importance.factors],
        "strength": strength,
        "strength_word": strength_word(strength),
        "retention": outlook.retention,
        "outlook": outlook.sentence,
        "lineage": lineage,
        "entity_aliases": await aliases_of(session, memory),
        "events": [_shown(event) for event in await session.store.journal.about(memory.id)],
    }


async def _lineages(session: Session, memories: list[Memory]) -> dict[str, dict[str, list[str]]]:
    """Name, for each of them, the memories that it came from, and those that came from it or stand in for it."""
    ids = [memory.id for memory in memories]
    children = await session.store.find(has_any("derived_from", ids))
    replaced = await session.store.find(one_of("superseded_by", ids))
    return {
        memory.id: {
            "derived_from": list(memory.derived_from),
            "supersedes": [other.id for other in replaced if other.superseded_by == memory.id],
            "superseded_by": [memory.superseded_by] if memory.superseded_by else [],
            "derived": [
                other.id for other in children if memory.id in other.derived_from and other.id != memory.superseded_by
            ],
        }
        for memory in memories
    }


def _shown(event: Event) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": event.id, "at": iso(event.at), "action": event.action, "actor": event.actor}
    if author := author_of(event.session):
        shown["by"] = author
    if event.reason:
        shown["reason"] = event.reason
    if event.before or event.after:
        shown["before"] = {name: encode(value) for name, value in event.before.items()}
        shown["after"] = {name: encode(value) for name, value in event.after.items()}
    return shown


async def named_memories(session: Session, request: NamedRequest) -> NamedMemories:
    """Return the memories that ids name, in short.

    Raises:
        MemoryNotFound: if an id is unknown, or names what may not be changed from here although it is to be.
        AmbiguousId: if a prefix fits several.
        InvalidInput: if there are none, too many, or a prefix is too short to be meant.
    """
    find = resolved_each if request.to_change else resolved_to_read
    return NamedMemories(
        [NamedMemory(one.id, one.layer, one.kind, one.title, one.content) for one in await find(session, request.ids)]
    )


async def list_memories(session: Session, request: ListRequest) -> MemoryList:
    """Return the memories that fit every filter, without counting that as an access.

    Raises:
        InvalidInput: if `since` is no moment.
    """
    now, parameters = session.now, session.settings.parameters
    wanted = request.status or RECALLED
    await session.accesses.count_if_possible()  # strength comes from recalls
    found = await session.store.find(_condition(session, request, now), _layers(request))
    newest_first = [session.as_read(memory) for memory in reversed(found)]
    fitting = [memory for memory in newest_first if memory.status in wanted]
    if request.sort == "oldest":
        fitting.reverse()
    else:
        fitting.sort(key=lambda memory: _ORDERS[request.sort](memory, now, parameters))
    counts = Counter(memory.layer for memory in fitting)
    return MemoryList(
        [_listed(memory, now, parameters) for memory in fitting[: request.limit]],
        len(fitting),
        {layer: counts[layer] for layer in LAYERS if counts[layer]},
        "" if request.all_projects else session.project_for(request.project),
    )


def _layers(request: ListRequest) -> list[Layer]:
    return [layer for layer in LAYERS if not request.layer or layer in request.layer]


def _condition(session: Session, request: ListRequest, now: datetime) -> Condition:
    where = everything()
    if not request.all_projects:
        project = session.project_for(request.project)
        where &= one_of("project", session.visible_from(project))
    if request.kind:
        where &= one_of("kind", request.kind)
    if request.tag:
        where &= has_any("tags", request.tag)
    if request.since:
        where &= since("created_at", parse_moment(request.since, "since", now=now, forward=False))
    return where


_ORDERS: Mapping[ListOrder, Callable[[Memory, datetime, Parameters], float]] = {
    "newest": lambda memory, now, parameters: 0.0,
    "used": lambda memory, now, parameters: -last_touched(memory).timestamp(),
    "strongest": lambda memory, now, parameters: -strength_of(memory, now, parameters),
    "weakest": lambda memory, now, parameters: strength_of(memory, now, parameters),
    "important": lambda memory, now, parameters: -memory.importance,
}
"""What each order sorts by, lowest first; among equals the newest comes first."""


def _listed(memory: Memory, now: datetime, parameters: Parameters) -> ListedMemory:
    strength = strength_of(memory, now, parameters)
    return ListedMemory(
        id=memory.id,
        title=memory.title or memory.content,
        layer=memory.layer,
        kind=memory.kind,
        status=memory.status,
        strength=round(strength, 3),
        strength_word=strength_word(strength),
        pinned=memory.pinned,
        tags=list(memory.tags),
        project=memory.project,
        age_days=round(age_days(memory, now), 2),
        created_at=iso(memory.created_at),
    )
