"""What a step proposes, and which of it a dream applies.

A change set is applied completely or not at all. A question changes nothing. A change that somebody undid is not
proposed again while the reason for it is the same.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from reverie.ids import memory_id
from reverie.lifecycle.rules import WHOLE
from reverie.memory import Memory, StepName, Verdict
from reverie.storage.dream_records import DreamRecord
from reverie.storage.journal import Event

QuestionKind = Literal["merge", "bridge", "belief", "drift", "moved", "outcome"]

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
    """A question that rules must not decide alone, with the evidence needed to decide it.

    `model_verdict` is the verdict of a language model, if there is one. It is stored so that nobody is asked again.
    """

    kind: QuestionKind
    memory_ids: tuple[str, ...]
    ask: str
    evidence: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    about: tuple[str, ...] = ()
    proposal: str = ""  # the text that `revise` takes if the answer brings none
    model_verdict: Verdict | None = None

    @property
    def id(self) -> str:
        """The id depends only on what is asked, so every dream gives the same question the same id."""
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
    """What one step would do, and its notes for the report."""

    change_sets: tuple[ChangeSet, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SkippedChange:
    """The memory because of which a change set is not applied, and the reason."""

    memory_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class StepPlan:
    """A step's change sets after conflicts are resolved."""

    name: StepName
    planned: int = 0
    change_sets: tuple[ChangeSet, ...] = ()
    skipped: tuple[SkippedChange, ...] = ()
    notes: tuple[str, ...] = field(default=())


def resolve_conflicts(
    name: StepName, proposal: Proposal, memories: Mapping[str, Memory], undone_keys: frozenset[str]
) -> StepPlan:
    """Keep the change sets that touch only living, unpinned memories; give a reason for each one that is skipped.

    `memories` are the living ones after the steps before, so what those retired is not among them. Within one step
    the first change set that retires a memory wins. Change sets that somebody undid before are only counted.
    """
    wanted = [one for one in proposal.change_sets if not was_undone(one, undone_keys, memories)]
    undone = len(proposal.change_sets) - len(wanted)
    notes = (*proposal.notes, f"not done again, because it was undone: {undone}") if undone else proposal.notes
    kept: list[ChangeSet] = []
    skipped: list[SkippedChange] = []
    retired: set[str] = set()
    for change_set in wanted:
        conflict = _conflict(change_set, memories, retired)
        if conflict is not None:
            skipped.append(conflict)
            continue
        kept.append(change_set)
        retired |= {c.memory_id for c in change_set.changes if c.values.get("status") in ("expired", "superseded")}
    return StepPlan(name, len(wanted), tuple(kept), tuple(skipped), notes)


def _conflict(change_set: ChangeSet, memories: Mapping[str, Memory], retired: set[str]) -> SkippedChange | None:
    for change in change_set.changes:
        memory = memories.get(change.memory_id)
        if memory is None or change.memory_id in retired:
            return SkippedChange(change.memory_id, "already retired in this dream")
        if memory.pinned and change.values != {"precision": WHOLE}:
            return SkippedChange(change.memory_id, "pinned")
    for new in change_set.new_memories:
        gone = [parent for parent in new.memory.derived_from if parent in retired]
        if gone:
            return SkippedChange(gone[0], "already retired in this dream")
    return None


def question_id(kind: QuestionKind, memory_ids: tuple[str, ...], about: tuple[str, ...] = ()) -> str:
    """Return a question's id: a hash of its subject if it has one, otherwise of the memories it is about."""
    return "q" + short_hash((kind, *(about or sorted(memory_ids))), 15)


def derived_memory_id(now: datetime, *sources: str) -> str:
    """Return the id of a memory that a dream writes: a hash of its moment and its sources, so planning is repeatable.

    As with every memory id, the first eight characters are random enough to tell it from others, also from what
    another dream makes of the same sources.
    """
    moment = int(now.timestamp() * 1000)
    return memory_id(int(hashlib.sha256("\0".join((*sources, str(moment))).encode()).hexdigest(), 16), moment)


def short_hash(parts: tuple[str, ...], digits: int) -> str:
    """Return a hash of some texts in so many base-32 digits."""
    number = int(hashlib.sha256("\0".join(parts).encode()).hexdigest(), 16)
    written = []
    for _ in range(digits):
        number, digit = divmod(number, 32)
        written.append(_BASE32[digit])
    return "".join(reversed(written))


_WRITTEN = "remembered"
_KEY_DIGITS = 12


def keys_of_events(events: Sequence[Event], present: Mapping[str, Memory]) -> list[str]:
    """Return the keys of the changes that these events made; the record of an undone dream stores them."""
    found = []
    for event in events:
        if event.action == _WRITTEN:
            found.append(key_of_new(event.after.get("kind", ""), event.after.get("derived_from", ())))
        elif event.memory_id in present:
            found.append(key_of_change(event.memory_id, event.after, present[event.memory_id].access_count))
    return sorted({key for key in found if key is not None})


def keys_of_undone_dreams(records: Iterable[DreamRecord]) -> frozenset[str]:
    """Return the keys of every change that somebody undid together with its dream."""
    undone = (record for record in records if record.status in ("undone", "undoing"))
    # "refused" is the name of the stored report field.
    return frozenset(key for record in undone for key in record.report.get("refused", ()))


def keys_of_restored(events: Iterable[Event]) -> frozenset[str]:
    """Return the keys of the changes that "restored" events reversed.

    An expired memory needs none: restoring it changes the fields that the rules of expiry look at.
    """
    keys = (
        key_of_change(event.memory_id, event.before, 0)
        for event in events
        if event.before.get("status") in ("superseded", "challenged") or event.before.get("outcome")
    )
    return frozenset(key for key in keys if key is not None)


def was_undone(change_set: ChangeSet, undone_keys: frozenset[str], memories: Mapping[str, Memory]) -> bool:
    """Whether somebody undid a part of this change set before."""
    if not undone_keys:
        return False
    keys = [key_of_new(new.memory.kind, new.memory.derived_from) for new in change_set.new_memories]
    keys += [
        key_of_change(change.memory_id, change.values, memories[change.memory_id].access_count)
        for change in change_set.changes
        if change.memory_id in memories
    ]
    return any(key in undone_keys for key in keys)


def key_of_change(memory_id: str, values: Mapping[str, Any], recalls: int) -> str | None:
    """Return the key of a change, or None for one that only accompanies another.

    The key covers the reason: the successor, the contradiction, or the number of recalls that a rule judged by.
    """
    match values:
        case {"status": "superseded", "superseded_by": successor}:
            return short_hash((memory_id, "superseded", str(successor)), _KEY_DIGITS)
        case {"status": "challenged", "status_reason": reason}:
            return short_hash((memory_id, "challenged", str(reason)), _KEY_DIGITS)
        case {"outcome": str() as outcome}:
            return short_hash((memory_id, "outcome", outcome), _KEY_DIGITS)
        case {"status": "expired"}:
            return short_hash((memory_id, "expired", str(recalls)), _KEY_DIGITS)
        case {"layer": "semantic"}:
            return short_hash((memory_id, "promoted", str(recalls)), _KEY_DIGITS)
        case {"precision": int(bits)} if bits != WHOLE:
            return short_hash((memory_id, "precision", str(bits), str(recalls)), _KEY_DIGITS)
        case _:
            return None


def key_of_new(kind: str, derived_from: Sequence[str]) -> str | None:
    """Return the key of a memory that a dream wrote, or None if it is derived from nothing."""
    return short_hash((kind, *sorted(derived_from)), _KEY_DIGITS) if derived_from else None
