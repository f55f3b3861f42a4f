"""The dedupe step: of near-identical memories the newer stays, with the recalls and confirmations of the others
(003-contradiction).

Texts are compared only with those that share one of their rarest tokens (the prefix filter of set-similarity
joins: two texts more than 0.9 alike must share one of the rarest tenth), so a store of a hundred thousand is not
compared all with all.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from reverie.dream.judge import Judge
from reverie.dream.plan import Change, ChangeSet, Proposal
from reverie.dream.snapshot import Snapshot
from reverie.ids import creation_order
from reverie.lifecycle.vitals import inherited
from reverie.memory import Memory
from reverie.settings import Settings
from reverie.text.compare import CONTRADICTION_SIMILARITY, restates

_MOST_COMPARED = 200
"""Of the texts that share a rare token only the latest are compared; more than these come from a template."""

_ANOTHER_DAY = timedelta(days=1)


def dedupe(snapshot: Snapshot, settings: Settings, judge: Judge) -> Proposal:
    """Supersede each memory that a newer one repeats in the same words."""
    newest_first = sorted(
        snapshot.original_memories, key=lambda memory: (memory.created_at, creation_order(memory.id)), reverse=True
    )
    index = _TokenIndex(newest_first, snapshot)
    gone: set[str] = set()
    change_sets = []
    for row, newer in enumerate(newest_first):
        if newer.id in gone:
            continue
        repeated = [
            older
            for older in index.candidates(row)
            if older.id not in gone
            and older.id != newer.id
            and _may_be_one(older, newer)
            and index.is_restated(older, newer)
        ]
        twins = [older for older in repeated if older.trust <= newer.trust]
        if twins:
            gone |= {twin.id for twin in twins}
            change_sets.append(_superseding(newer, twins, snapshot))
        elif repeated:  # only more trusted ones say it: then this one is superseded
            gone.add(newer.id)
            change_sets.append(_superseding(repeated[0], [newer], snapshot))
    return Proposal(tuple(change_sets))


def _may_be_one(one: Memory, other: Memory) -> bool:
    """Whether one of two memories may replace the other: same project, layer, kind and tier, no pin, no deadline."""
    if one.kind == "event" and abs(one.happened_at - other.happened_at) >= _ANOTHER_DAY:
        return False  # the same event on two days is two events
    return (
        (one.project, one.layer, one.kind, one.tier) == (other.project, other.layer, other.kind, other.tier)
        and not (one.pinned or other.pinned)
        and one.forget_after is None
        and other.forget_after is None
    )


def _superseding(heir: Memory, twins: Sequence[Memory], snapshot: Snapshot) -> ChangeSet:
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
        taken_over = f"takes over from {', '.join(twin.id for twin in twins[:3])}"
        changes.append(Change(memory_id=heir.id, action="inherited", reason=taken_over, values=kept))
    return ChangeSet(summary="said again", changes=tuple(changes))


class _TokenIndex:
    """An index of texts by their rarest tokens."""

    def __init__(self, memories: Sequence[Memory], snapshot: Snapshot) -> None:
        self._memories = memories
        self._forms = [snapshot.texts.of(memory).forms for memory in memories]
        self._forms_by_id = {memory.id: forms for memory, forms in zip(memories, self._forms, strict=True)}
        frequency = Counter(form for forms in self._forms for form in set(forms))
        self._prefixes = [_rarest(forms, frequency) for forms in self._forms]
        # A restatement has the same numbers, names and paths, so most texts have few others to be compared with.
        self._groups = [(memory.project, memory.layer, snapshot.texts.of(memory).facts) for memory in memories]
        self._by_token: dict[tuple[tuple[str, str, int], str], list[int]] = {}
        for row, group in enumerate(self._groups):
            for form in self._prefixes[row]:
                self._by_token.setdefault((group, form), []).append(row)

    def candidates(self, row: int) -> Iterator[Memory]:
        """Yield the older memories that may be near-identical, the latest first."""
        length = len(self._forms[row])
        seen: set[int] = set()
        for form in self._prefixes[row]:
            same = self._by_token[self._groups[row], form]
            for other in same[bisect_right(same, row) :][:_MOST_COMPARED]:
                shorter, longer = sorted((length, len(self._forms[other])))
                if other not in seen and shorter > CONTRADICTION_SIMILARITY * longer:
                    seen.add(other)
                    yield self._memories[other]

    def is_restated(self, one: Memory, other: Memory) -> bool:
        """Whether two texts are more than 0.9 alike by tokens, and restate each other."""
        if one.content_hash == other.content_hash:
            return True
        left, right = Counter(self._forms_by_id[one.id]), Counter(self._forms_by_id[other.id])
        union = (left | right).total()
        similar = union > 0 and (left & right).total() / union > CONTRADICTION_SIMILARITY
        return similar and restates(one.content, other.content)


def _rarest(forms: Sequence[str], frequency: Counter[str]) -> list[str]:
    """Return the tokens of which two texts more than 0.9 alike must share one."""
    distinct = sorted(set(forms), key=lambda form: (frequency[form], form))
    return distinct[: len(forms) - int(CONTRADICTION_SIMILARITY * len(forms)) + 1]
