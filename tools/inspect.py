"""Everything that is known about a memory, and what lies ahead of it."""

from dataclasses import asdict, replace
from typing import Any

from reverie.lifecycle.outlook import outlook_of
from reverie.lifecycle.rules import expired_if_overdue
from reverie.lifecycle.vitals import importance_of, strength_of, strength_word
from reverie.memory import Memory
from reverie.recall.features import freshness_of
from reverie.record import encode, to_record
from reverie.storage.filters import equals, has_any
from reverie.storage.journal import Event
from reverie.time import iso
from reverie.tools.requests import InspectRequest
from reverie.tools.resolve import resolved_to_read
from reverie.tools.results import Inspected
from reverie.tools.session import Session


async def inspect(session: Session, request: InspectRequest) -> Inspected:
    """Describe memories in full.

    Raises:
        MemoryNotFound: if an id is unknown.
    """
    await session.accesses.count_if_possible()
    found = await resolved_to_read(session, request.ids)
    memories = [expired_if_overdue(memory, session.now, session.settings.tier) for memory in found]
    # What was read by its whole id alone is not in scope for that: a later change must not reach it.
    session.served.note((memory.id, memory.content) for memory in memories if session.sees(memory))
    checked = await freshness_of(session.evidence, memories)
    memories = [replace(memory, anchors=checked[memory.id].anchors) for memory in memories]
    return Inspected(
        [await _described(session, memory) | {"freshness": checked[memory.id].freshness} for memory in memories]
    )


async def _described(session: Session, memory: Memory) -> dict[str, Any]:
    now = session.now
    importance = importance_of(memory, now)
    outlook = outlook_of(memory, now, session.settings.retention, session.settings.tier)
    strength = strength_of(memory, now)
    return to_record(memory) | {
        "composite_importance": importance.value,
        "factors": [asdict(factor) for factor in importance.factors],
        "strength": strength,
        "strength_word": strength_word(strength),
        "retention": outlook.retention,
        "outlook": outlook.sentence,
        "lineage": await _lineage(session, memory),
        "events": [_shown(event) for event in await session.store.journal.about(memory.id)],
    }


async def _lineage(session: Session, memory: Memory) -> dict[str, list[str]]:
    """Name the memories that this one came from, and those that came from it or stand in for it."""
    children = await session.store.find(has_any("derived_from", [memory.id]))
    replaced = await session.store.find(equals("superseded_by", memory.id))
    return {
        "derived_from": list(memory.derived_from),
        "supersedes": [other.id for other in replaced],
        "superseded_by": [memory.superseded_by] if memory.superseded_by else [],
        "derived": [other.id for other in children if other.id != memory.superseded_by],
    }


def _shown(event: Event) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": event.id, "at": iso(event.at), "action": event.action, "actor": event.actor}
    if event.reason:
        shown["reason"] = event.reason
    if event.before or event.after:
        shown["before"] = {name: encode(value) for name, value in event.before.items()}
        shown["after"] = {name: encode(value) for name, value in event.after.items()}
    return shown
