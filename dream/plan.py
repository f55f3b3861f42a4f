"""What a step proposes, and how proposals are settled.

A change is applied whole or not at all; a question leaves everything as it is. What somebody undid is not proposed
again while its grounds are the same.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from reverie.ids import memory_id
from reverie.memory import Memory
from reverie.storage.dream_log import DreamRecord
from reverie.storage.journal import Event

StepName = Literal[
    "sweep",
    "forget",
    "dedupe",
    "cluster",
    "digest",
    "peer_cards",
    "synthesis",
    "beliefs",
    "drift",
    "prune",
]
QuestionKind = Literal["merge", "bridge", "belief", "drift"]
Verdict = Literal["merge", "separate", "bridge", "no_bridge", "outdated", "holds", "revise", "forget"]

_BASE32 = "0123456789abcdefghjkmnpqrstvwxyz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """New values for some fields of a memory; a new `layer` moves it."""

    memory_id: str
    action: str
    reason: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """A memory to be written."""

    memory: Memory
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedQuestion:
    """Something that rules alone must not decide, with what is needed to decide it.

    `settled` holds the verdict when a language model gave one: kept so that it is not asked again.
    """

    kind: QuestionKind
    memory_ids: tuple[str, ...]
    ask: str
    evidence: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    about: tuple[str, ...] = ()
    settled: Verdict | None = None

    @property
    def id(self) -> str:
        """The same question has the same id, whichever night asks it."""
        return question_id(self.kind, self.memory_ids, self.about)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSet:
    """Changes that belong together: all of them are applied, or none."""

    summary: str
    new_memories: tuple[NewMemory, ...] = ()
    changes: tuple[Change, ...] = ()
    questions: tuple[ProposedQuestion, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposal:
    """What one step would do, and what it has to say about it."""

    change_sets: tuple[ChangeSet, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """A deed that was set aside, and why."""

    memory_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class StepPlan:
    """A step's deeds after conflicts were settled."""

    name: StepName
    planned: int = 0
    change_sets: tuple[ChangeSet, ...] = ()
    refused: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = field(default=())


def question_id(kind: QuestionKind, memory_ids: tuple[str, ...], about: tuple[str, ...] = ()) -> str:
    """Name a question by what it is about: its subject if it has one, or else the memories themselves."""
    return "q" + hashed((kind, *(about or sorted(memory_ids))), 15)


def derived_memory_id(now: datetime, *ground: str) -> str:
    """Name a memory by the night and by what it was made from, so that planning needs no dice.

    As with every memory, the first eight characters tell it apart: also from what another night makes of the same.
    """
    moment = int(now.timestamp() * 1000)
    return memory_id(int(hashlib.sha256("\0".join((*ground, str(moment))).encode()).hexdigest(), 16), moment)


def hashed(parts: tuple[str, ...], digits: int) -> str:
    """Return a short name for some texts, always the same."""
    return _written(int(hashlib.sha256("\0".join(parts).encode()).hexdigest(), 16), digits)


def _written(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 32)
        digits.append(_BASE32[digit])
    return "".join(reversed(digits))


_WRITTEN = "remembered"
_HASH_DIGITS = 12


def refused_changes(events: Sequence[Event], present: Mapping[str, Memory]) -> list[str]:
    """Return what undoing these events refuses; kept with the night that is undone."""
    found = []
    for event in events:
        if event.action == _WRITTEN:
            found.append(key_of_new(event.after.get("kind", ""), event.after.get("derived_from", ())))
        elif event.memory_id in present:
            found.append(key_of_change(event.memory_id, event.after, present[event.memory_id].access_count))
    return sorted({key for key in found if key is not None})


def refused_by(dream_log: Iterable[DreamRecord]) -> frozenset[str]:
    """Return everything that was refused by undoing a night."""
    undone = (record for record in dream_log if record.status in ("undone", "undoing"))
    return frozenset(key for record in undone for key in record.report.get("refused", ()))


def refused_by_restoring(events: Iterable[Event]) -> frozenset[str]:
    """Return what was refused by bringing a single memory back; what had faded has its reprieve already."""
    keys = (
        key_of_change(event.memory_id, event.before, 0)
        for event in events
        if event.before.get("status") in ("superseded", "challenged")
    )
    return frozenset(key for key in keys if key is not None)


def is_refused(change_set: ChangeSet, refused: frozenset[str], memories: Mapping[str, Memory]) -> bool:
    """Say whether a part of a deed was undone before."""
    if not refused:
        return False
    keys = [key_of_new(new.memory.kind, new.memory.derived_from) for new in change_set.new_memories]
    keys += [
        key_of_change(change.memory_id, change.values, memories[change.memory_id].access_count)
        for change in change_set.changes
        if change.memory_id in memories
    ]
    return any(key in refused for key in keys)


def key_of_change(memory_id: str, values: Mapping[str, Any], recalls: int) -> str | None:
    """Return how a change is known, or None if undoing it refuses nothing: it came with another."""
    match values:
        case {"status": "superseded", "superseded_by": heir}:
            return hashed((memory_id, "superseded", str(heir)), _HASH_DIGITS)
        case {"status": "challenged", "status_reason": reason}:
            return hashed((memory_id, "challenged", str(reason)), _HASH_DIGITS)
        case {"status": "expired"}:
            return hashed((memory_id, "expired", str(recalls)), _HASH_DIGITS)
        case {"layer": "semantic"}:
            return hashed((memory_id, "promoted", str(recalls)), _HASH_DIGITS)
        case _:
            return None


def key_of_new(kind: str, derived_from: Sequence[str]) -> str | None:
    """Return how a memory that a dream wrote is known, or None if it rests on nothing."""
    return hashed((kind, *sorted(derived_from)), _HASH_DIGITS) if derived_from else None
