"""Turning a plan into one journalled batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from reverie.dream.plan import ChangeSet, ProposedQuestion, Refusal
from reverie.dream.snapshot import Snapshot, changed
from reverie.memory import Memory
from reverie.storage.changes import Edit, write_batch
from reverie.storage.journal import Event
from reverie.storage.queries import RowVersion, version_of
from reverie.storage.review_queue import OPEN, ReviewQuestion
from reverie.storage.rows import FIELDS, Embedded
from reverie.storage.store import MemoryStore

ACTOR = "dream"


@dataclass(frozen=True, slots=True)
class Batch:
    """Deeds as rows and events, ready to be written; and those that came too late."""

    added: tuple[Memory, ...]
    edits: tuple[Edit, ...]
    events: tuple[Event, ...]
    questions: tuple[ProposedQuestion, ...]
    too_late: tuple[tuple[ChangeSet, Refusal], ...]


def batched(
    change_sets: Sequence[ChangeSet],
    snapshot: Snapshot,
    versions: Mapping[str, RowVersion],
    store: MemoryStore,
    batch: str,
    actor: str = ACTOR,
) -> Batch:
    """Lay deeds out as one batch, without those that touch what somebody changed while the dream was thinking."""
    at = snapshot.now
    standing = dict(snapshot.by_id)
    written: dict[str, Memory] = {}
    late = {memory.id for memory in snapshot.memories if versions.get(memory.id) != version_of(memory)}
    events: list[Event] = []
    questions: list[ProposedQuestion] = []
    too_late: list[tuple[ChangeSet, Refusal]] = []
    for change_set in change_sets:
        stale = [memory_id for memory_id in _touched(change_set) if memory_id in late]
        if stale:
            too_late.append((change_set, Refusal(stale[0], "changed while the dream was thinking")))
            late |= {new.memory.id for new in change_set.new_memories} | {
                change.memory_id for change in change_set.changes
            }
            continue
        for new in change_set.new_memories:
            standing[new.memory.id] = written[new.memory.id] = new.memory
            after = {name: getattr(new.memory, name) for name in FIELDS}
            events.append(
                store.event("remembered", new.memory, actor=actor, at=at, reason=new.reason, batch=batch, after=after)
            )
        for change in change_set.changes:
            before = standing[change.memory_id]
            after_change = changed(before, change, at)
            names = (*change.values, "updated_at")
            events.append(
                store.event(
                    change.action,
                    before,
                    actor=actor,
                    at=at,
                    reason=change.reason,
                    batch=batch,
                    before={name: getattr(before, name) for name in names},
                    after={name: getattr(after_change, name) for name in names},
                )
            )
            standing[change.memory_id] = after_change
        questions += change_set.questions
    edits = [Edit(memory, standing[memory.id]) for memory in snapshot.memories if standing[memory.id] is not memory]
    added = [standing[memory_id] for memory_id in written]
    return Batch(tuple(added), tuple(edits), tuple(events), tuple(questions), tuple(too_late))


async def write(batch: Batch, embedded: Sequence[Embedded], store: MemoryStore, at: datetime) -> None:
    """Write a batch: the journal first, what is new before what is retired. Call it inside `changing()`."""
    await store.journal.write(batch.events)
    await write_batch(store, embedded, batch.edits)
    await store.review_queue.write([asked_from(question, at) for question in batch.questions])


def asked_from(question: ProposedQuestion, at: datetime) -> ReviewQuestion:
    """Return a question as it goes on record."""
    return ReviewQuestion(
        id=question.id,
        asked_at=at,
        kind=question.kind,
        memory_ids=question.memory_ids,
        status=question.settled or OPEN,
        body={
            "ask": question.ask,
            "evidence": list(question.evidence),
            "verdicts": list(question.verdicts),
            "about": list(question.about),
        },
    )


def _touched(change_set: ChangeSet) -> list[str]:
    """Return every memory a deed changes, rests on or asks about."""
    return [
        *(change.memory_id for change in change_set.changes),
        *(parent for new in change_set.new_memories for parent in new.memory.derived_from),
        *(memory_id for question in change_set.questions for memory_id in question.memory_ids),
    ]
