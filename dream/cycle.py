"""One dream: read the store once, plan, write one batch, report. One at a time across all processes."""

import asyncio
import gc
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from reverie.dream.batch import (
    ACTOR,
    Batch,
    Undo,
    make_batch,
    touched_ids,
    undo_events,
    withdraw_questions,
    write,
)
from reverie.dream.fading import embedded_again, lifted
from reverie.dream.judge import Judge
from reverie.dream.plan import ChangeSet, SkippedChange
from reverie.dream.reading import FINGERPRINTS, TEXTS_AT_ONCE, DreamContext, Reading, fingerprints_after, read
from reverie.dream.review import withdraw_moot
from reverie.dream.snapshot import Snapshot
from reverie.dream.steps import KEEP_LOGS_FOR, STEPS, Plan, Planner, by_step
from reverie.embeddings.base import Embedder
from reverie.errors import StoreBusy
from reverie.lifecycle.rules import overdue
from reverie.memory import Memory, StepName
from reverie.storage.bulk import Edit, read_versions
from reverie.storage.dream_records import OWNER, DreamRecord, DreamStatus
from reverie.storage.maintenance import fold_old_logs
from reverie.storage.rows import Embedded
from reverie.storage.store import MemoryStore

OnProgress = Callable[[int, int, str], Awaitable[None]]
"""Called with how many of how many stages are done, and the name of the next."""

_TURN_SECONDS = 0.0003


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport:
    """What a step did, or in a dry run would do."""

    name: StepName
    planned: int
    applied: int
    skipped: tuple[SkippedChange, ...]
    notes: tuple[str, ...]
    change_sets: tuple[ChangeSet, ...]

    @property
    def summaries(self) -> dict[str, int]:
        """What was done and how often."""
        return dict(Counter(change_set.summary for change_set in self.change_sets))


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamReport:
    """What a dream did, or in a dry run would do."""

    dream_id: str
    dry_run: bool
    steps: tuple[StepReport, ...]
    notes: tuple[str, ...] = ()


async def ignore_progress(done: int, total: int, message: str) -> None:
    """Report to nobody."""


@asynccontextmanager
async def dream_lock(store: MemoryStore) -> AsyncIterator[None]:
    """Hold the dream lock for the length of the block.

    Raises:
        StoreBusy: at once, if another session is dreaming.
    """
    async with store.dream_lock.held_if_free() as ours:
        if not ours:
            raise StoreBusy(
                "Another session is dreaming on this store right now. Remembering and recalling go on meanwhile; "
                "try again in a minute, or see `reverie dreams` for what it did."
            )
        yield


async def dream(
    context: DreamContext,
    now: datetime,
    *,
    steps: Sequence[StepName] = tuple(STEPS),
    projects: Sequence[str] = (),
    owner: str | None = None,
    dry_run: bool = False,
    unless_since: datetime | None = None,
    tell: OnProgress = ignore_progress,
) -> DreamReport:
    """Run one dream, or only plan it; with `unless_since`, only if there was none since that moment.

    It reads what everybody sees or, with an owner, the personal memories of one person. Never both, and never those
    of two people: so no step can join what different people may not both see.

    Cancelled while it reads or plans, it leaves the store as it was. Once it has begun to write it finishes.

    Raises:
        StoreBusy: if another session is dreaming, or has dreamt since that moment.
        StoreError: if the store cannot be read or written; the next dream undoes what was half written.
    """
    eyes = replace(context.store.viewer, owners=frozenset({owner}))
    context = replace(context, store=context.store.seen_by(eyes), owner=owner)
    async with dream_lock(context.store):
        if unless_since is not None:
            await _refuse_if_dreamt_since(context.store, unless_since)
        with _short_thread_turns():
            return await _run(context, now, steps, projects, tell, dry_run=dry_run)


async def _refuse_if_dreamt_since(store: MemoryStore, since: datetime) -> None:
    """Make sure that no dream began since: two sessions may find at the same time that one is due.

    Raises:
        StoreBusy: if one did.
    """
    records = await store.dream_log.all()
    done = (record for record in records if record.status != "rolled back" and record.owner is None)
    if any(record.started_at > since for record in done):
        raise StoreBusy("Another session has dreamt on this store meanwhile; the next dream is due in a day.")


@contextmanager
def _short_thread_turns() -> Iterator[None]:
    """Switch threads more often, so that a recall in this process does not wait: planning is minutes of plain Python.

    Garbage collection is off meanwhile: it would go through the millions of objects of a snapshot again and again,
    find nothing, and take time that grows faster than the store.
    """
    before, collecting = sys.getswitchinterval(), gc.isenabled()
    sys.setswitchinterval(_TURN_SECONDS)
    gc.disable()
    try:
        yield
    finally:
        sys.setswitchinterval(before)
        if collecting:
            gc.enable()


async def _run(
    context: DreamContext,
    now: datetime,
    steps: Sequence[StepName],
    projects: Sequence[str],
    tell: OnProgress,
    *,
    dry_run: bool,
) -> DreamReport:
    if not dry_run:
        await recover(context.store, context.embedder, now)
        async with context.store.changing():
            await withdraw_moot(context.store, now)
    stages = len(steps) + 2
    await tell(0, stages, "reading")
    reading = await read(context, now, projects)
    snapshot = reading.snapshot
    if "sweep" not in steps:  # which would expire them before any other step sees them
        tier, parameters = context.settings.tier, context.settings.parameters
        snapshot = snapshot.without(
            memory.id for memory in snapshot.memories if overdue(memory, now, tier, parameters)
        )
    planner = Planner(snapshot, context.settings, context.judge, steps)
    planned = 0
    while name := planner.next_step:
        await tell(min(planned + 1, stages - 1), stages, name)
        await asyncio.to_thread(planner.plan_next)
        planned += 1
    if dry_run:
        return _report("", planner.plan, (), context.judge, dry_run=True)
    await tell(stages - 1, stages, "writing")
    embedded = await _embed_new(context, planner.plan)
    again = await _embed_again(context, snapshot, planner.plan)
    report = await _uninterrupted(_write(context, reading, planner.plan, embedded, again, "prune" in steps))
    if snapshot.texts.compared is not None:
        await asyncio.to_thread(snapshot.texts.compared.save)
    await tell(stages, stages, "done")
    return report


async def recover(store: MemoryStore, embedder: Embedder, now: datetime) -> list[str]:
    """Undo what a killed dream left half written, and finish an undo that was killed."""
    dream_log = store.dream_log
    unfinished = await dream_log.unfinished()
    for record in unfinished:
        async with store.changing():
            undo = Undo(reason=record.id, actor=ACTOR, at=now, embedder=embedder)
            await undo_events(store, await store.journal.of_batch(record.id), undo)
            await withdraw_questions(store, list(record.report.get("questions", ())))
            ended: DreamStatus = "undone" if record.status == "undoing" else "rolled back"
            await dream_log.write(
                DreamRecord(
                    id=record.id, started_at=record.started_at, finished_at=now, status=ended, report=record.report
                )
            )
    return [record.id for record in unfinished]


async def _embed_new(context: DreamContext, plan: Plan) -> dict[str, Embedded]:
    """Embed what the dream will write; nothing is written yet, so this can still be interrupted."""
    written = {new.memory.id: new.memory for change_set in plan.change_sets for new in change_set.new_memories}
    final = [plan.outcome.by_id.get(memory_id, memory) for memory_id, memory in written.items()]
    return dict(zip(written, await asyncio.to_thread(_embedded, final, context.embedder), strict=True))


async def _embed_again(context: DreamContext, snapshot: Snapshot, plan: Plan) -> dict[str, Embedded]:
    """Make the vectors that become finer; the plan says nothing of other memories that it retires."""
    after = plan.outcome.by_id
    kept = (Edit(memory, after[memory.id]) for memory in snapshot.memories if memory.id in after)
    return await embedded_again(lifted(kept), context.embedder)


async def _write(
    context: DreamContext,
    reading: Reading,
    plan: Plan,
    vectors: Mapping[str, Embedded],
    again: Mapping[str, Embedded],
    prunes: bool,
) -> DreamReport:
    store, snapshot, now = context.store, reading.snapshot, reading.snapshot.now
    dream_id = store.new_id()
    dream_log = store.dream_log
    async with store.changing():
        versions = await read_versions(store, touched_ids(plan.change_sets))
        batch = make_batch(plan.change_sets, snapshot.memories, store, batch_id=dream_id, at=now, versions=versions)
        report = _report(dream_id, plan, batch.too_late, context.judge, dry_run=False)
        stored = _stored_report(report, batch) | {"calls": list(context.judge.calls)}
        if context.owner is not None:
            stored[OWNER] = context.owner
        if not batch.too_late and plan.is_complete:
            stored[FINGERPRINTS] = fingerprints_after(reading, plan, context)
        begun = DreamRecord(id=dream_id, started_at=now, finished_at=None, status="applying", report=stored)
        embedded = [replace(vectors[memory.id], memory=memory) for memory in batch.added]
        if batch.events or batch.questions:
            await dream_log.write(begun)
            await write(batch, store, now, embedded, again)
        if prunes and (snapshot.old_accesses or snapshot.old_events):
            await fold_old_logs(store, now - KEEP_LOGS_FOR, now)
        await withdraw_moot(store, now)
        await dream_log.write(DreamRecord(id=dream_id, started_at=now, finished_at=now, status="done", report=stored))
    return report


def _stored_report(report: DreamReport, batch: Batch) -> dict[str, object]:
    """Return what the dream log stores of a report: numbers and ids, no texts."""
    return {
        "steps": [
            {
                "name": step.name,
                "planned": step.planned,
                "applied": step.applied,
                "skipped": len(step.skipped),
                "summaries": step.summaries,
                "notes": list(step.notes),
            }
            for step in report.steps
        ],
        "changes": len(batch.events),
        "written": [memory.id for memory in batch.added],
        "questions": [question.id for question in batch.questions],
        "notes": list(report.notes),
    }


def _report(
    dream_id: str, plan: Plan, too_late: Sequence[tuple[ChangeSet, SkippedChange]], judge: Judge, *, dry_run: bool
) -> DreamReport:
    late = {id(change_set): skipped for change_set, skipped in too_late}
    steps = []
    for part in by_step(plan):
        done = [change_set for change_set in part.change_sets if id(change_set) not in late]
        steps.append(
            StepReport(
                name=part.name,
                planned=part.planned,
                applied=0 if dry_run else len(done),
                skipped=(
                    *part.skipped,
                    *(late[id(change_set)] for change_set in part.change_sets if id(change_set) in late),
                ),
                notes=part.notes,
                change_sets=tuple(done),
            )
        )
    return DreamReport(dream_id=dream_id, dry_run=dry_run, steps=tuple(steps), notes=judge.notes)


def _embedded(memories: Sequence[Memory], embedder: Embedder) -> list[Embedded]:
    """Embed new memories for search, passages included; planning needed only their vectors."""
    made = [
        embedding
        for start in range(0, len(memories), TEXTS_AT_ONCE)
        for embedding in embedder.embed([memory.content for memory in memories[start : start + TEXTS_AT_ONCE]])
    ]
    return [Embedded(m, e.vector, e.passages, e.pieces) for m, e in zip(memories, made, strict=True)]


async def _uninterrupted(work: Awaitable[DreamReport]) -> DreamReport:
    """Finish the work even if the caller is cancelled."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise
