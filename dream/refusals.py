"""What somebody undid is not done again while its ground is the same.

A change is known by what it does to which memory and on what ground: superseding by the one that took its place,
doubting by the reason, letting go and promoting by how often the memory had been recalled. What a dream wrote is
known by its kind and by the memories it was made from.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reverie.dream.plan import Deed, hashed
from reverie.memory import Memory
from reverie.storage.journal import Event
from reverie.storage.nights import Night

_WRITTEN = "remembered"
_DIGITS = 12


def refused_changes(events: Sequence[Event], present: Mapping[str, Memory]) -> list[str]:
    """Return what undoing these events refuses; kept with the night that is undone."""
    found = []
    for event in events:
        if event.action == _WRITTEN:
            found.append(key_of_new(event.after.get("kind", ""), event.after.get("derived_from", ())))
        elif event.memory_id in present:
            found.append(key_of_change(event.memory_id, event.after, present[event.memory_id].access_count))
    return sorted({key for key in found if key is not None})


def refused_by(nights: Iterable[Night]) -> frozenset[str]:
    """Return everything that was refused by undoing a night."""
    undone = (night for night in nights if night.status in ("undone", "undoing"))
    return frozenset(key for night in undone for key in night.report.get("refused", ()))


def refused_by_restoring(events: Iterable[Event]) -> frozenset[str]:
    """Return what was refused by bringing a single memory back; what had faded has its reprieve already."""
    keys = (
        key_of_change(event.memory_id, event.before, 0)
        for event in events
        if event.before.get("status") in ("superseded", "challenged")
    )
    return frozenset(key for key in keys if key is not None)


def is_refused(deed: Deed, refused: frozenset[str], memories: Mapping[str, Memory]) -> bool:
    """Say whether a part of a deed was undone before."""
    if not refused:
        return False
    keys = [key_of_new(new.memory.kind, new.memory.derived_from) for new in deed.news]
    keys += [
        key_of_change(change.memory_id, change.values, memories[change.memory_id].access_count)
        for change in deed.changes
        if change.memory_id in memories
    ]
    return any(key in refused for key in keys)


def key_of_change(memory_id: str, values: Mapping[str, Any], recalls: int) -> str | None:
    """Return how a change is known, or None if undoing it refuses nothing: it came with another."""
    match values:
        case {"status": "superseded", "superseded_by": heir}:
            return hashed((memory_id, "superseded", str(heir)), _DIGITS)
        case {"status": "challenged", "status_reason": reason}:
            return hashed((memory_id, "challenged", str(reason)), _DIGITS)
        case {"status": "expired"}:
            return hashed((memory_id, "expired", str(recalls)), _DIGITS)
        case {"layer": "semantic"}:
            return hashed((memory_id, "promoted", str(recalls)), _DIGITS)
        case _:
            return None


def key_of_new(kind: str, derived_from: Sequence[str]) -> str | None:
    """Return how a memory that a dream wrote is known, or None if it rests on nothing."""
    return hashed((kind, *sorted(derived_from)), _DIGITS) if derived_from else None
