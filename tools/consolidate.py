"""The `consolidate` tool: one dream, a preview of it, or the daily one if it is due (000-nightly)."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from reverie.dream.cycle import DreamReport, StepReport, dream
from reverie.dream.drift import ANCHORED, UPHELD, EveryProject, evidence_of_others, settles
from reverie.dream.judge import Judge, ModelJudge, Rules
from reverie.dream.reading import DreamContext
from reverie.dream.snapshot import EvidenceChecker
from reverie.dream.steps import STEPS
from reverie.embeddings.tokens import count_tokens
from reverie.errors import StoreError
from reverie.llm.client import LanguageModel, model_from
from reverie.tools.catalog import Progress, ignore_progress
from reverie.tools.dreams import last_dream
from reverie.tools.requests import ConsolidateRequest
from reverie.tools.results import Consolidated, Skipped, StepDone
from reverie.tools.session import Session

_MOST_SHOWN = 200

_under_way: set["asyncio.Task[DreamReport]"] = set()


async def consolidate(
    session: Session,
    request: ConsolidateRequest,
    progress: Progress = ignore_progress,
    *,
    unless_since: datetime | None = None,
) -> Consolidated:
    """Run one dream over the store, or plan it and change nothing; none if there was one since the given moment.

    What everybody sees is one dream, the personal memories of each person are another. Whoever calls this dreams
    about what they see; the store itself, when a dream is due, about all.

    Raises:
        StoreBusy: if another session is dreaming, or has dreamt since that moment.
        StoreError: if the store cannot be read or written.
    """
    projects = session.names_of(request.project) if request.project else ()
    model = model_from(session.settings, request.budget_cents, count_tokens)
    judge: Judge = Rules() if model is None else ModelJudge(model)
    began = time.perf_counter()
    await session.accesses.count()  # what was recalled a moment ago must not count as unused
    context = DreamContext(
        store=session.store,
        settings=session.settings,
        embedder=session.embedder,
        judge=judge,
        evidence=await evidence_for(session),
    )

    async def dream_about(owner: str | None) -> DreamReport:
        return await _as_task(
            dream(
                context,
                session.now,
                steps=tuple(name for name in STEPS if name in request.steps) or tuple(STEPS),
                projects=projects,
                owner=owner,
                dry_run=request.dry_run,
                unless_since=unless_since if owner is None else None,
                tell=progress if owner is None else ignore_progress,
            )
        )

    try:
        report = await dream_about(None)
        personal = {owner: await dream_about(owner) for owner in await session.store.owners()}
    finally:
        if model is not None:
            model.close()
    if not request.dry_run:
        with suppress(StoreError):  # the dream is done; a sweep archives what is due as well
            await session.store.archive.take_in(session.now)
        session.maintenance.note_write()
        note_own(session, report.dream_id, unless_since)
    own = personal.get(session.person)
    if own is not None and not request.dry_run:
        note_own(session, own.dream_id, unless_since)
    # Nobody hears of the dreams about other people's memories.
    report = report if own is None else replace(report, steps=_side_by_side(report.steps, own.steps))
    changes = await _visible_changes(session, report)
    result = _result(report, changes, model, (time.perf_counter() - began) * 1000)
    personal_id = "" if own is None else own.dream_id
    return replace(result, project=projects[0] if projects else "all", personal_dream_id=personal_id)


def _side_by_side(steps: Sequence[StepReport], own: Sequence[StepReport]) -> tuple[StepReport, ...]:
    """Return what two dreams did, step by step."""
    others = {step.name: step for step in own}
    joined = [
        step
        if (other := others.get(step.name)) is None
        else replace(
            step,
            planned=step.planned + other.planned,
            applied=step.applied + other.applied,
            skipped=(*step.skipped, *other.skipped),
            notes=tuple(dict.fromkeys((*step.notes, *other.notes))),
            change_sets=(*step.change_sets, *other.change_sets),
        )
        for step in steps
    ]
    return (*joined, *(step for step in own if step.name not in {one.name for one in steps}))


async def evidence_for(session: Session) -> EvidenceChecker:
    """Return what checks memories against the code of every project that a session of this machine stood in."""
    projects = await session.store.projects.read()
    counted = await session.store.count_by_project()
    events = [event for action in (ANCHORED, UPHELD) for event in await session.store.journal.with_action(action)]
    others = await asyncio.to_thread(evidence_of_others, projects, session.evidence.names, counted.keys())
    return EveryProject(
        session.evidence, others, frozenset(event.memory_id for event in events if settles(event)), session.now
    )


def note_own(session: Session, dream_id: str, unless_since: datetime | None) -> None:
    """Let a session undo a dream that it was asked for, in all projects; not one that ran because it was due."""
    if unless_since is None:
        session.served.note_ids([dream_id])


async def until_written() -> None:
    """Wait for dreams that were cancelled while they wrote: they finish writing."""
    if _under_way:
        await asyncio.wait(_under_way)


async def _as_task(work: Any) -> DreamReport:
    """Run a dream as a task of its own: if the caller is cancelled, so is the dream, unless it is already writing."""
    task: asyncio.Task[DreamReport] = asyncio.create_task(work)
    _under_way.add(task)
    task.add_done_callback(_under_way.discard)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.cancel()
        raise


async def _visible_changes(session: Session, report: DreamReport) -> list[dict[str, str]]:
    """Return the first changes to memories that this session may see; the steps count all changes."""
    change_sets = [(step.name, change_set) for step in report.steps for change_set in step.change_sets]
    listed = [
        {"step": name, "action": change.action, "id": change.memory_id, "reason": change.reason}
        for name, change_set in change_sets
        for change in change_set.changes
    ]
    new_memories = {new.memory.id: new.memory for _, change_set in change_sets for new in change_set.new_memories}
    listed += [
        {"step": name, "action": "written", "id": new.memory.id, "reason": f"{new.memory.kind}: {new.reason}"}
        for name, change_set in change_sets
        for new in change_set.new_memories
    ]
    visible: list[dict[str, str]] = []
    for start in range(0, len(listed), _MOST_SHOWN):
        part = listed[start : start + _MOST_SHOWN]
        memories = new_memories | await session.store.get([change["id"] for change in part])
        visible += [one for one in part if (memory := memories.get(one["id"])) is not None and session.sees(memory)]
        if len(visible) >= _MOST_SHOWN:
            break
    return visible[:_MOST_SHOWN]


def _result(
    report: DreamReport, changes: list[dict[str, str]], model: LanguageModel | None, duration_ms: float
) -> Consolidated:
    return Consolidated(
        dream_id=report.dream_id,
        dry_run=report.dry_run,
        steps=[_step(step) for step in report.steps],
        changes=changes,
        questions=[
            q.id
            for step in report.steps
            for change_set in step.change_sets
            for q in change_set.questions
            if q.model_verdict is None
        ],
        cost_cents=0.0 if model is None else round(model.spent_cents, 4),
        duration_ms=round(duration_ms, 1),
    )


def _step(step: StepReport) -> StepDone:
    notes = [*(f"{summary}: {count}" for summary, count in step.summaries.items()), *step.notes]
    return StepDone(
        name=step.name,
        planned=step.planned,
        applied=step.applied,
        skipped=[Skipped(one.memory_id, one.reason) for one in step.skipped[:_MOST_SHOWN]],
        notes=notes,
    )


A_DAY = timedelta(hours=24)

Dream = Callable[..., Awaitable[Consolidated]]


async def dream_if_due(session: Session, dream: Dream = consolidate) -> Consolidated | None:
    """Dream if the last dream is a day ago, or the creation of the store if there was none.

    Raises:
        StoreBusy: if another session is dreaming, or has dreamt since this one looked.
        StoreError: if the store cannot be read or written.
    """
    session = session.in_nobodys_name()
    record = await last_dream(session.store)
    if record is not None:
        since = record.started_at
    else:
        since = await session.store.created_at()
    if session.now - since < A_DAY:
        return None
    return await dream(session, ConsolidateRequest(), unless_since=since)
