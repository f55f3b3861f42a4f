"""Near-identical memories: the newer stays, with the recalls and voices of those it repeats (003-contradiction).

Texts are compared only with those that share one of their rarest tokens (the prefix filter of set-similarity
joins: two texts more than 0.9 alike must share one of the rarest tenth), so a store of a hundred thousand is not
compared all with all.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from reverie.dream.judge import Judge
from reverie.dream.plan import Change, ChangeSet, Proposal
from reverie.dream.snapshot import Snapshot
from reverie.ids import creation_order
from reverie.lifecycle.access import inherited
from reverie.memory import Memory
from reverie.settings import Settings
from reverie.text.compare import CONTRADICTION_SIMILARITY, restates

_MOST_COMPARED = 200
"""Of texts that share a rare token only so many, the latest, are compared; more than that is a template."""

_ANOTHER_DAY = timedelta(days=1)


def dedupe(snapshot: Snapshot, settings: Settings, judge: Judge) -> Proposal:
    """Supersede each memory that a newer one says again, word for word but for what carries no meaning."""
    held = sorted(snapshot.told, key=lambda memory: (memory.created_at, creation_order(memory.id)), reverse=True)
    alike = _Alike(held, snapshot)
    gone: set[str] = set()
    change_sets = []
    for place, newer in enumerate(held):
        if newer.id in gone:
            continue
        again = [
            older
            for older in alike.candidates(place)
            if older.id not in gone
            and older.id != newer.id
            and _same_place(older, newer)
            and alike.says(older, newer)
        ]
        twins = [older for older in again if older.trust <= newer.trust]
        if twins:
            gone |= {twin.id for twin in twins}
            change_sets.append(_standing_in(newer, twins, snapshot))
        elif again:  # only more trusted ones say it: then this one gives way
            gone.add(newer.id)
            change_sets.append(_standing_in(again[0], [newer], snapshot))
    return Proposal(tuple(change_sets))


def _same_place(one: Memory, other: Memory) -> bool:
    """Say whether two memories may be taken for one: same scope and standing, and no deadline of their own."""
    if one.kind == "event" and abs(one.happened_at - other.happened_at) >= _ANOTHER_DAY:
        return False  # what happens twice is two events
    return (
        (one.project, one.layer, one.kind, one.tier) == (other.project, other.layer, other.kind, other.tier)
        and not (one.pinned or other.pinned)
        and one.forget_after is None
        and other.forget_after is None
    )


def _standing_in(heir: Memory, twins: Sequence[Memory], snapshot: Snapshot) -> ChangeSet:
    vitals = inherited(heir, twins)
    kept: dict[str, Any] = {name: value for name, value in vitals.items() if value != getattr(heir, name)}
    reason = f"says the same as {heir.id}"
    changes = [
        Change(
            memory_id=twin.id,
            action="duplicate",
            reason=reason,
            values={
                "status": "superseded",
                "superseded_by": heir.id,
                "expired_at": snapshot.now,
                "status_reason": reason,
            },
        )
        for twin in twins
    ]
    if kept:
        told = f"takes over from {', '.join(twin.id for twin in twins[:3])}"
        changes.append(Change(memory_id=heir.id, action="inherited", reason=told, values=kept))
    return ChangeSet(summary="said again", changes=tuple(changes))


class _Alike:
    """An index of texts by their rarest tokens."""

    def __init__(self, held: Sequence[Memory], snapshot: Snapshot) -> None:
        self._held = held
        self._forms = [snapshot.reading.of(memory).forms for memory in held]
        self._counts = {memory.id: forms for memory, forms in zip(held, self._forms, strict=True)}
        frequency = Counter(form for forms in self._forms for form in set(forms))
        self._prefixes = [_rarest(forms, frequency) for forms in self._forms]
        # What restates has the same numbers, names and paths: most texts have hardly anybody to be compared with.
        self._shelf = [(memory.project, memory.layer, snapshot.reading.of(memory).facts) for memory in held]
        self._by_token: dict[tuple[tuple[str, str, int], str], list[int]] = {}
        for place, shelf in enumerate(self._shelf):
            for form in self._prefixes[place]:
                self._by_token.setdefault((shelf, form), []).append(place)

    def candidates(self, place: int) -> Iterator[Memory]:
        """Yield the older memories that may be near-identical, the latest first."""
        length = len(self._forms[place])
        seen: set[int] = set()
        for form in self._prefixes[place]:
            for other in _after(self._by_token[self._shelf[place], form], place)[:_MOST_COMPARED]:
                shorter, longer = sorted((length, len(self._forms[other])))
                if other not in seen and shorter > CONTRADICTION_SIMILARITY * longer:
                    seen.add(other)
                    yield self._held[other]

    def says(self, one: Memory, other: Memory) -> bool:
        """Say whether two texts are more than 0.9 alike by tokens, and restate each other."""
        if one.content_hash == other.content_hash:
            return True
        left, right = Counter(self._counts[one.id]), Counter(self._counts[other.id])
        union = (left | right).total()
        similar = union > 0 and (left & right).total() / union > CONTRADICTION_SIMILARITY
        return similar and restates(one.content, other.content)


def _rarest(forms: Sequence[str], frequency: Counter[str]) -> list[str]:
    """Return the tokens of which two texts more than 0.9 alike must share one."""
    distinct = sorted(set(forms), key=lambda form: (frequency[form], form))
    return distinct[: len(forms) - int(CONTRADICTION_SIMILARITY * len(forms)) + 1]


def _after(places: Sequence[int], place: int) -> Sequence[int]:
    """Return those that come after: places are in order, so halving finds where."""
    low, high = 0, len(places)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if places[middle] <= place else (low, middle)
    return places[low:]
