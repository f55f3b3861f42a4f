"""Turning change sets into one journalled batch: for dreams, sweeps, drift runs and answers in review."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from reverie.dream.plan import ChangeSet, ProposedQuestion, SkippedChange
from reverie.dream.snapshot import changed
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
    """Change sets as rows and events, ready to be written; `too_late` are those that are left out."""

    added: tuple[Memory, ...]
    edits: tuple[Edit, ...]
    events: tuple[Event, ...]
    questions: tuple[ProposedQuestion, ...]
    too_late: tuple[tuple[ChangeSet, SkippedChange], ...]


def make_batch(
    change_sets: Sequence[ChangeSet],
    memories: Sequence[Memory],
    store: MemoryStore,
    *,
    batch_id: str | None,
    at: datetime,
    actor: str = ACTOR,
    versions: Mapping[str, RowVersion] | None = None,
) -> Batch:
    """Lay change sets out as one batch; nothing is written yet.

    `memories` are what the plan was made from. With `versions`, the rows as they are now, a change set is left out
    if it touches a memory that changed since; without, the caller read the memories inside `changing()`.
    """
    current = {memory.id: memory for memory in memories}
    written: dict[str, Memory] = {}
    late = set() if versions is None else _changed_since(memories, versions)
    events: list[Event] = []
    questions: list[ProposedQuestion] = []
    too_late: list[tuple[ChangeSet, SkippedChange]] = []
    for change_set in change_sets:
        stale = [memory_id for memory_id in _touched(change_set) if memory_id in late]
        if stale:
            too_late.append((change_set, SkippedChange(stale[0], "changed during the dream")))
            late |= {new.memory.id for new in change_set.new_memories}
            late |= {change.memory_id for change in change_set.changes}
            continue
        for new in change_set.new_memories:
            current[new.memory.id] = written[new.memory.id] = new.memory
            after = {name: getattr(new.memory, name) for name in FIELDS}
            events.append(
                store.event(
                    "remembered", new.memory, actor=actor, at=at, reason=new.reason, batch=batch_id, after=after
                )
            )
        for change in change_set.changes:
            before = current[change.memory_id]
            after_change = changed(before, change, at)
            names = (*change.values, "updated_at")
            events.append(
                store.event(
                    change.action,
                    before,
                    actor=actor,
                    at=at,
                    reason=change.reason,
                    batch=batch_id,
                    before={name: getattr(before, name) for name in names},
                    after={name: getattr(after_change, name) for name in names},
                )
            )
            current[change.memory_id] = after_change
        questions += change_set.questions
    edits = [Edit(memory, current[memory.id]) for memory in memories if current[memory.id] is not memory]
    added = [current[memory_id] for memory_id in written]
    return Batch(tuple(added), tuple(edits), tuple(events), tuple(questions), tuple(too_late))


async def write(batch: Batch, store: MemoryStore, at: datetime, embedded: Sequence[Embedded] = ()) -> None:
    """Write a batch: the journal first, new rows before retired ones. Call it inside `changing()`.

    `embedded` are the batch's new memories with their vectors.
    """
    await store.journal.write(batch.events)
    await write_batch(store, embedded, batch.edits)
    await store.review_queue.write([review_question(question, at) for question in batch.questions])


def review_question(question: ProposedQuestion, at: datetime) -> ReviewQuestion:
    """Return a proposed question as a row of the review queue."""
    return ReviewQuestion(
        id=question.id,
        asked_at=at,
        kind=question.kind,
        memory_ids=question.memory_ids,
        status=question.model_verdict or OPEN,
        body={
            "ask": question.ask,
            "evidence": list(question.evidence),
            "verdicts": list(question.verdicts),
            "about": list(question.about),
        },
    )


def _changed_since(memories: Iterable[Memory], versions: Mapping[str, RowVersion]) -> set[str]:
    return {memory.id for memory in memories if versions.get(memory.id) != version_of(memory)}


def _touched(change_set: ChangeSet) -> list[str]:
    """Return every memory that a change set changes, derives from or asks about."""
    return [
        *(change.memory_id for change in change_set.changes),
        *(parent for new in change_set.new_memories for parent in new.memory.derived_from),
        *(memory_id for question in change_set.questions for memory_id in question.memory_ids),
    ]
