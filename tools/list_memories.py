"""Listing memories for a person: by project, layer, kind, tag, status and age, newest first."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from reverie.lifecycle.rules import expired_if_overdue
from reverie.lifecycle.vitals import strength_of, strength_word
from reverie.memory import LAYERS, Layer, Memory
from reverie.storage.filters import Condition, everything, has_any, one_of, since
from reverie.storage.scope import RECALLED
from reverie.time import age_days, iso, last_touched, parse_moment
from reverie.tools.requests import ListOrder, ListRequest
from reverie.tools.session import Session


@dataclass(frozen=True)
class ListedMemory:
    """One memory on one line."""

    id: str
    title: str
    layer: str
    kind: str
    status: str
    strength: float
    strength_word: str
    pinned: bool
    tags: list[str]
    project: str
    age_days: float
    created_at: str


@dataclass(frozen=True)
class MemoryList:
    """The memories asked for, how many fit, and how many of those are in each layer."""

    memories: list[ListedMemory]
    total: int
    layers: dict[str, int]
    project: str


async def list_memories(session: Session, request: ListRequest) -> MemoryList:
    """Return the memories that fit every filter, without counting that as an access.

    Raises:
        InvalidInput: if `since` is no moment.
    """
    now = session.now
    wanted = request.status or RECALLED
    await session.accesses.count_if_possible()  # strength comes from recalls
    found = await session.store.find(_condition(session, request, now), _layers(request))
    newest_first = [expired_if_overdue(memory, now, session.settings.tier) for memory in reversed(found)]
    fitting = [memory for memory in newest_first if memory.status in wanted]
    if request.sort == "oldest":
        fitting.reverse()
    else:
        fitting.sort(key=lambda memory: _ORDERS[request.sort](memory, now))
    counts = Counter(memory.layer for memory in fitting)
    return MemoryList(
        [_listed(memory, now) for memory in fitting[: request.limit]],
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


_ORDERS: Mapping[ListOrder, Callable[[Memory, datetime], float]] = {
    "newest": lambda memory, now: 0.0,
    "used": lambda memory, now: -last_touched(memory).timestamp(),
    "strongest": lambda memory, now: -strength_of(memory, now),
    "weakest": lambda memory, now: strength_of(memory, now),
    "important": lambda memory, now: -memory.importance,
}
"""What each order sorts by, lowest first; among equals the newest comes first."""


def _listed(memory: Memory, now: datetime) -> ListedMemory:
    strength = strength_of(memory, now)
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
