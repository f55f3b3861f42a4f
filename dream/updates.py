"""Amounts that newer memories state anew: found by what they count, not by how alike the texts are."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from reverie.dream.snapshot import DREAMT_KINDS, Snapshot
from reverie.lifecycle.quantities import Amount, amounts_in, restated
from reverie.memory import Memory

_MOST_COMPARED = 100
_COMMON_SHARE = 0.1
_COMMON_AT_LEAST = 6


@dataclass(frozen=True, slots=True)
class Update:
    """A newer memory that states an amount of an older one differently."""

    newer: Memory
    reason: str


def updates_in(snapshot: Snapshot) -> dict[str, Update]:
    """Return for each memory whose amount was stated anew the earliest such news, by the older one's id."""
    stated = [
        (memory, amount)
        for memory in snapshot.memories
        if memory.kind not in DREAMT_KINDS and memory.layer not in ("working", "codebase")
        for amount in snapshot.reading.amounts(memory, amounts_in)
    ]
    common = _common_words(stated)
    shelves: dict[tuple[str, str, str], list[tuple[Memory, Amount]]] = {}
    for memory, amount in sorted(stated, key=lambda pair: (pair[0].happened_at, pair[0].created_at, pair[0].id)):
        for word in amount.context - common:
            shelves.setdefault((memory.project, amount.unit, word), []).append((memory, amount))
    found: dict[str, Update] = {}
    for shelf in shelves.values():
        for place, (newer, amount) in enumerate(shelf):
            if amount.is_news:
                for older, before in shelf[max(0, place - _MOST_COMPARED) : place]:
                    if older.id != newer.id and older.id not in found and restated(before, amount):
                        found[older.id] = Update(newer, f"{before.value} {amount.unit} became {amount.value}")
    return found


def _common_words(stated: Sequence[tuple[Memory, Amount]]) -> frozenset[str]:
    """Return the words that stand beside so many amounts that they tell nothing apart."""
    counts = Counter(word for _, amount in stated for word in amount.context)
    most = max(_COMMON_AT_LEAST, _COMMON_SHARE * len(stated))
    return frozenset(word for word, count in counts.items() if count > most)
