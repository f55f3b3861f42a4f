"""Amounts that newer memories state anew: found by what they count, not by how alike the texts are."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from reverie.dream.snapshot import DREAMT_KINDS, Snapshot
from reverie.lifecycle.quantities import Amount, amounts_in, restated, surely_restated
from reverie.memory import Memory

_MOST_COMPARED = 100
_COMMON_SHARE = 0.1
_COMMON_AT_LEAST = 6

SAME_SUBJECT = 0.5
"""Texts further apart than this cosine speak of different things, whatever words stand beside their numbers."""


@dataclass(frozen=True, slots=True)
class Update:
    """A newer memory that states an amount of an older one differently, and whether nothing else can be meant."""

    newer: Memory
    reason: str
    is_sure: bool = False


def updates_in(snapshot: Snapshot) -> dict[str, Update]:
    """Return for each memory whose amount was stated anew the latest sure news, or else the earliest, by its id."""
    places = {memory.id: place for place, memory in enumerate(snapshot.memories)}
    found: dict[str, Update] = {}
    for shelf in _shelves(snapshot).values():
        for place, (newer, amount) in enumerate(shelf):
            if not amount.is_news:
                continue
            for older, before in shelf[max(0, place - _MOST_COMPARED) : place]:
                known = found.get(older.id)
                if older.id == newer.id or not restated(before, amount):
                    continue
                cosine = float(snapshot.vectors[places[older.id]] @ snapshot.vectors[places[newer.id]])
                sure = cosine >= SAME_SUBJECT and surely_restated(
                    before, amount, _amounts(snapshot, older), _amounts(snapshot, newer)
                )
                if known is None or (sure and (not known.is_sure or _when(newer) > _when(known.newer))):
                    reason = f"{before.value} {amount.unit} became {amount.value}"
                    found[older.id] = Update(newer, reason, is_sure=sure)
    return found


def _shelves(snapshot: Snapshot) -> dict[tuple[str, str, str], list[tuple[Memory, Amount]]]:
    """Return the amounts of each project by unit and by each telling word beside them, the oldest first."""
    stated = [
        (memory, amount)
        for memory in snapshot.memories
        if memory.kind not in DREAMT_KINDS and memory.layer not in ("working", "codebase")
        for amount in _amounts(snapshot, memory)
    ]
    common = _common_words(stated)
    shelves: dict[tuple[str, str, str], list[tuple[Memory, Amount]]] = {}
    for memory, amount in sorted(stated, key=lambda pair: _when(pair[0])):
        for word in amount.context - common:
            shelves.setdefault((memory.project, amount.unit, word), []).append((memory, amount))
    return shelves


def _amounts(snapshot: Snapshot, memory: Memory) -> tuple[Amount, ...]:
    return snapshot.reading.amounts(memory, amounts_in)


def _when(memory: Memory) -> tuple[datetime, datetime, str]:
    return memory.happened_at, memory.created_at, memory.id


def _common_words(stated: Sequence[tuple[Memory, Amount]]) -> frozenset[str]:
    """Return the words that stand beside so many amounts that they tell nothing apart."""
    counts = Counter(word for _, amount in stated for word in amount.context)
    most = max(_COMMON_AT_LEAST, _COMMON_SHARE * len(stated))
    return frozenset(word for word, count in counts.items() if count > most)
