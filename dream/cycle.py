"""One dream: read the store once, plan, write one batch, report. One at a time across all processes."""

import asyncio
import gc
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence, Set
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import numpy as np

from reverie.dream.batch import (
    ACTOR,
    Batch,
    Undo,
    make_batch,
    read_undone_keys,
    undo_events,
    withdraw_questions,
    write,
)
from reverie.dream.derived_memories import may_be_promoted
from reverie.dream.drift import last_restored
from reverie.dream.evidence import EveryProject
from reverie.dream.judge import Judge, Rules
from reverie.dream.plan import ChangeSet, SkippedChange, StepName
from reverie.dream.review import withdraw_moot
from reverie.dream.snapshot import EvidenceCheck, EvidenceChecker, NoEvidence, Snapshot, Vectors, in_order
from reverie.dream.steps import KEEP_LOGS_FOR, STEPS, Plan, Planner, by_step
from reverie.dream.sweep import demoted_among
from reverie.embeddings.base import Embedder
from reverie.errors import StoreBusy
from reverie.lifecycle.expiry import LIVING
from reverie.lifecycle.rules import due_move, overdue
from reverie.memory import Memory
from reverie.settings import Settings
from reverie.storage.bulk import read_all, read_versions
from reverie.storage.dream_records import OPEN, WITHDRAWN, DreamRecord, DreamStatus, ReviewQuestion
from reverie.storage.filters import one_of
from reverie.storage.maintenance import fold_old_logs, old_logs
from reverie.storage.rows import Embedded
from reverie.storage.store import MemoryStore

OnProgress = Callable[[int, int, str], Awaitable[None]]
"""Called with how many of how many stages are done, and the name of the next."""

_TEXTS_AT_ONCE = 64
_TURN_SECONDS = 0.0003
_LATELY = timedelta(hours=20)


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamContext:
    """What a dream works with."""

    store: MemoryStore
    settings: Settings
    embedder: Embedder
    judge: Judge = field(default_factory=Rules)
    evidence: EvidenceChecker = field(default_factory=NoEvidence)


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
    dry_run: bool = False,
    unless_since: datetime | None = None,
    tell: OnProgress = ignore_progress,
) -> DreamReport:
    """Run one dream, or only plan it; with `unless_since`, only if there was none since that moment.

    Cancelled while it reads or plans, it leaves the store as it was. Once it has begun to write it finishes.

    Raises:
        StoreBusy: if another session is dreaming, or has dreamt since that moment.
        StoreError: if the store cannot be read or written; the next dream undoes what was half written.
    """
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
    if any(record.started_at > since for record in records if record.status != "rolled back"):
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
    snapshot = await read(context, now, projects)
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
    report = await _uninterrupted(_write(context, snapshot, planner.plan, embedded, "prune" in steps))
    await tell(stages, stages, "done")
    return report


async def read(context: DreamContext, now: datetime, projects: Sequence[str] = ()) -> Snapshot:
    """Read everything that a dream needs, once."""
    store = context.store
    where = one_of("status", LIVING)
    if projects:
        where &= one_of("project", projects)
    memories, vectors = await read_all(store, where)
    asked = await store.review_queue.all()
    accesses, events = await old_logs(store, now - KEEP_LOGS_FOR)
    checks = await asyncio.to_thread(_checked, context.evidence, memories)
    records = await store.dream_log.all()
    changed = (memory for memory in memories if memory.updated_at != memory.created_at)  # others were never demoted
    promotable = [memory for memory in changed if _may_become_semantic(memory, now, context.settings)]
    anchored = [(m, checks[m.id].checked) for m in memories if m.anchors and m.id in checks]
    living = {memory.id for memory in memories}
    snapshot = Snapshot(
        now=now,
        memories=in_order(memories),
        vectors=vectors,
        embedder=context.embedder.stamp,
        embed=_embedding(context.embedder),
        asked={one.id: one.status for one in asked if one.status != WITHDRAWN},
        open_questions={one.id: (one.kind, one.memory_ids) for one in asked if _is_open(one, living)},
        bridges_asked_lately=sum(
            one.kind == "bridge" and one.status != WITHDRAWN and now - one.asked_at < _LATELY for one in asked
        ),
        demoted=frozenset(await demoted_among(store, promotable)),
        checks=checks,
        restored=await last_restored(store, anchored, now),
        undone_keys=await read_undone_keys(store),
        old_accesses=accesses,
        old_events=events,
    )
    return replace(snapshot, as_left=bool(memories) and snapshot.fingerprint == _last_fingerprint(records))


def _may_become_semantic(memory: Memory, now: datetime, settings: Settings) -> bool:
    """Whether the sweep or the digest could promote a memory to semantic."""
    move = due_move(memory, now, settings.parameters)
    return (move is not None and move.to == "semantic") or (
        memory.layer == "episodic" and may_be_promoted(memory, now)
    )


def _is_open(asked: ReviewQuestion, living: Set[str]) -> bool:
    """Whether a question waits for an answer about memories that this dream reads."""
    return asked.status == OPEN and all(memory_id in living for memory_id in asked.memory_ids)


def _last_fingerprint(records: Sequence[DreamRecord]) -> str | None:
    """Return the fingerprint of the store after the last dream, if that had all steps and was not undone."""
    last = next((record for record in records if record.status != "rolled back"), None)
    # "morning" is the name of the stored report field.
    return None if last is None or last.status != "done" else last.report.get("morning")


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


async def _write(
    context: DreamContext, snapshot: Snapshot, plan: Plan, vectors: Mapping[str, Embedded], prunes: bool
) -> DreamReport:
    store, now = context.store, snapshot.now
    dream_id = store.new_id()
    dream_log = store.dream_log
    async with store.changing():
        batch = make_batch(
            plan.change_sets, snapshot.memories, store, batch_id=dream_id, at=now, versions=await read_versions(store)
        )
        report = _report(dream_id, plan, batch.too_late, context.judge, dry_run=False)
        stored = _stored_report(report, batch) | {"calls": list(context.judge.calls)}
        if not batch.too_late and {step.name for step in plan.steps} == set(STEPS):
            stored["morning"] = plan.outcome.fingerprint
        begun = DreamRecord(id=dream_id, started_at=now, finished_at=None, status="applying", report=stored)
        embedded = [replace(vectors[memory.id], memory=memory) for memory in batch.added]
        if batch.events or batch.questions:
            await dream_log.write(begun)
            await write(batch, store, now, embedded)
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


def _embedding(embedder: Embedder) -> Callable[[Sequence[str]], Vectors]:
    def embed(texts: Sequence[str]) -> Vectors:
        parts = [
            embedding.vector
            for start in range(0, len(texts), _TEXTS_AT_ONCE)
            for embedding in embedder.embed(texts[start : start + _TEXTS_AT_ONCE])
        ]
        return np.stack(parts)

    return embed


def _embedded(memories: Sequence[Memory], embedder: Embedder) -> list[Embedded]:
    """Embed new memories for search, passages included; planning needed only their vectors."""
    made = [
        embedding
        for start in range(0, len(memories), _TEXTS_AT_ONCE)
        for embedding in embedder.embed([memory.content for memory in memories[start : start + _TEXTS_AT_ONCE]])
    ]
    return [Embedded(m, e.vector, e.passages, e.pieces) for m, e in zip(memories, made, strict=True)]


def _checked(evidence: EvidenceChecker, memories: Sequence[Memory]) -> dict[str, EvidenceCheck]:
    if isinstance(evidence, NoEvidence):
        return {}
    if isinstance(evidence, EveryProject):
        evidence.choose(memories)
    found = ((memory.id, evidence.check(memory)) for memory in memories)
    return {memory_id: check for memory_id, check in found if check is not None}


async def _uninterrupted(work: Awaitable[DreamReport]) -> DreamReport:
    """Finish the work even if the caller is cancelled."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise
