"""Expiring memories, or removing them for good when a purge is asked for."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from reverie.errors import InvalidInput
from reverie.lifecycle.rules import below_strength, older_than
from reverie.memory import LAYERS, Memory
from reverie.storage.filters import has_any, one_of
from reverie.storage.purge import Reach, purge, reach_of
from reverie.storage.scope import RECALLED
from reverie.storage.store import MemoryStore
from reverie.time import parse_span
from reverie.tools.requests import ForgetRequest
from reverie.tools.resolve import resolved_each
from reverie.tools.results import Forgotten, Skipped
from reverie.tools.screening import cleaned
from reverie.tools.session import Session

_TOO = "purge it too if need be"
_MOST_GENERATIONS = 20


async def traces_of(store: MemoryStore, gone: Sequence[Memory]) -> list[Skipped]:
    """Name the copies, earlier versions, successors and everything made from memories that were purged."""
    ids = {memory.id for memory in gone}
    earlier = {parent for memory in gone for parent in memory.derived_from}
    earlier |= _ids(await store.find(one_of("superseded_by", sorted(ids))))
    reasons = {
        "made from what was purged": await _made_from(store, ids),
        "an earlier version": earlier,
        "took its place, and may say the same": {memory.superseded_by for memory in gone if memory.superseded_by},
        "a copy, word for word": _ids(
            await store.find(one_of("content_hash", sorted({memory.content_hash for memory in gone})))
        ),
    }
    skipped: dict[str, str] = {}
    for reason, found in reasons.items():
        for memory_id in await store.get(sorted(found - ids)):
            skipped.setdefault(memory_id, f"{reason}; {_TOO}")
    return [Skipped(memory_id, reason) for memory_id, reason in skipped.items()]


async def _made_from(store: MemoryStore, ids: Iterable[str]) -> set[str]:
    """Return what was merged or revised from these, and from that in turn."""
    made: set[str] = set()
    parents = set(ids)
    for _ in range(_MOST_GENERATIONS):
        parents = _ids(await store.find(has_any("derived_from", sorted(parents)))) - made if parents else set()
        made |= parents
    return made


def _ids(memories: Iterable[Memory]) -> set[str]:
    return {memory.id for memory in memories}


_LIVING = (*RECALLED, "quarantined")


async def forget(session: Session, request: ForgetRequest) -> Forgotten:
    """Expire memories, with a reason and a way back; or purge them. Pinned ones are never touched.

    Raises:
        InvalidInput: if nothing says which memories are meant.
        MemoryNotFound: if an id is unknown; then nothing is forgotten.
    """
    now = session.now
    reason = cleaned(request.reason)[0] or "forgotten on request"
    if request.ids:
        return await _apply(session, request, await _by_ids(session, request), reason, now)
    await session.accesses.count_if_possible()  # strength comes from recalls
    async with session.store.changing():  # so that a filter is judged on what is there when it is applied
        chosen = await _by_filters(session, request, now)
        session.served.note_ids(memory.id for memory in chosen)
        return await _write(session, request, chosen, reason, now)


async def _apply(
    session: Session, request: ForgetRequest, chosen: Sequence[Memory], reason: str, now: datetime
) -> Forgotten:
    async with session.store.changing():
        current = await session.store.get([memory.id for memory in chosen])
        return await _write(session, request, list(current.values()), reason, now)


async def _write(
    session: Session, request: ForgetRequest, chosen: Sequence[Memory], reason: str, now: datetime
) -> Forgotten:
    skipped = [Skipped(memory.id, "pinned") for memory in chosen if memory.pinned]
    going = [memory for memory in chosen if not memory.pinned]
    if not request.purge:
        skipped += [Skipped(m.id, f"already {m.status}") for m in going if m.status not in _LIVING]
        going = [memory for memory in going if memory.status in _LIVING]
    reach = Reach()
    if going and request.purge:
        if request.dry_run:
            reach = await reach_of(session.store, going)
        else:
            reach = await purge(session.store, going, actor="forget", at=now)
        skipped += _beside(reach)
        named = {item.id for item in skipped} | {memory.id for memory in reach.along}
        skipped += [item for item in await traces_of(session.store, going) if item.id not in named]
    elif going and not request.dry_run:
        values = {"status": "expired", "expired_at": now, "status_reason": reason}
        await session.store.change(going, values, action="forgotten", actor="forget", at=now, reason=reason)
    if going and not request.dry_run:
        session.maintenance.note_write()
    project = session.project_for(request.project) if request.project else session.project_of(going)
    return Forgotten([memory.id for memory in (*going, *reach.along)], skipped, request.dry_run, project)


def _beside(reach: Reach) -> list[Skipped]:
    """Say what a purge leaves although it is touched by it."""
    return [
        *(Skipped(memory.id, "stays: what a dream had put in its place goes") for memory in reach.back),
        *(Skipped(memory.id, "pinned, and written by a dream from what goes") for memory in reach.pinned),
    ]


async def _by_ids(session: Session, request: ForgetRequest) -> list[Memory]:
    if request.min_strength or request.older_than or request.layer or request.tag or request.project:
        raise InvalidInput("ids", "cannot be combined with filters", "Give either ids or filters.")
    return await resolved_each(session, request.ids)


async def _by_filters(session: Session, request: ForgetRequest, now: datetime) -> list[Memory]:
    """Return the living memories of one project that fit every filter given; that one is pinned is told later."""
    if not (request.min_strength or request.older_than or request.project or request.layer or request.tag):
        raise InvalidInput(
            "ids",
            "nothing says what to forget",
            "Give ids, or a filter: min_strength, older_than, project, layer, tag.",
        )
    where = one_of("status", RECALLED) & session.of_project(session.project_for(request.project))
    if request.tag:
        where &= has_any("tags", [request.tag])
    layers = [layer for layer in LAYERS if request.layer in ("", layer)]
    found = await session.store.find(where, layers)
    if request.min_strength:
        least, parameters = request.min_strength, session.settings.parameters
        found = [memory for memory in found if below_strength(replace(memory, pinned=False), now, least, parameters)]
    if request.older_than:
        span = parse_span(request.older_than, "older_than")
        found = [memory for memory in found if older_than(replace(memory, pinned=False), now, span)]
    return found
