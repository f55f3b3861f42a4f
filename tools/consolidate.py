"""One dream, a preview of it, or the daily one if it is due (000-nightly)."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from reverie.dream.cycle import Dreamer, Tell, Told, dream, say_nothing
from reverie.dream.judge import Judge, Rules
from reverie.dream.model_judge import ModelJudge
from reverie.dream.plan import StepName
from reverie.dream.snapshot import Evidence, ProjectEvidence
from reverie.dream.steps import STEPS
from reverie.embeddings.tokens import count_tokens
from reverie.llm.client import Budget, LanguageModel, price_of
from reverie.time import parse_iso
from reverie.tools.arguments import checked_choices, checked_label, checked_number
from reverie.tools.dreams import last_dream
from reverie.tools.results import Consolidated, Skipped, StepDone
from reverie.tools.session import Workspace

BUDGET_CENTS = 20.0
MOST_CENTS = 10_000.0
_MOST_SHOWN = 200
_ALL = "all"

_under_way: set["asyncio.Task[Told]"] = set()


async def consolidate(
    workspace: Workspace,
    *,
    dry_run: bool = False,
    steps: Sequence[str] = (),
    project: str = "",
    budget_cents: float = BUDGET_CENTS,
    unless_since: datetime | None = None,
    tell: Tell = say_nothing,
) -> Consolidated:
    """Run one dream over the store, or plan it and change nothing; none if there was one since the given moment.

    Raises:
        InvalidInput: if an argument is wrong.
        StoreBusy: if another session is dreaming, or has dreamt since that moment.
        StoreError: if the store cannot be read or written.
    """
    chosen = _chosen(steps)
    projects = workspace.names_of(checked_label("project", project)) if project else ()
    model = _model(workspace, checked_number("budget_cents", budget_cents, 0.0, MOST_CENTS))
    judge: Judge = Rules() if model is None else ModelJudge(model)
    began = time.perf_counter()
    await workspace.accesses.count()  # what was served a moment ago is not to be judged as untouched
    dreamer = Dreamer(
        store=workspace.store,
        settings=workspace.settings,
        embedder=workspace.embedder,
        judge=judge,
        evidence=evidence_for(workspace),
    )
    try:
        told = await _apart(
            dream(
                dreamer,
                workspace.now,
                steps=chosen,
                projects=projects,
                dry_run=dry_run,
                unless_since=unless_since,
                tell=tell,
            )
        )
    finally:
        if model is not None:
            model.close()
    if not dry_run:
        workspace.upkeep.note_write()
        note_own(workspace, told.dream_id, unless_since)
    changes = await _changes_here(workspace, told)
    answered = _answered(told, changes, model, (time.perf_counter() - began) * 1000)
    return replace(answered, project=projects[0] if projects else "all")


def evidence_for(workspace: Workspace) -> Evidence:
    """Return what looks at the code of this session's project: the one place where the two are connected."""
    return ProjectEvidence(workspace.evidence)


def note_own(workspace: Workspace, dream_id: str, unless_since: datetime | None) -> None:
    """Let a session undo the dream that it was asked for, whole; one that it ran by itself is the store's."""
    if unless_since is None:
        workspace.served.note_ids([dream_id])


def check_arguments(steps: Sequence[str], project: str, budget_cents: float) -> None:
    """Refuse what a dream does not take, before anything is begun.

    Raises:
        InvalidInput: naming the argument.
    """
    _chosen(steps)
    checked_label("project", project)
    checked_number("budget_cents", budget_cents, 0.0, MOST_CENTS)


async def until_written() -> None:
    """Wait for dreams that were cancelled while they wrote: they finish what they have begun."""
    if _under_way:
        await asyncio.wait(_under_way)


async def _apart(work: Any) -> Told:
    """Run a dream as a task of its own: whoever asked may go, and what has begun to be written is finished."""
    task: asyncio.Task[Told] = asyncio.create_task(work)
    _under_way.add(task)
    task.add_done_callback(_under_way.discard)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.cancel()
        raise


def _chosen(steps: Sequence[str]) -> tuple[StepName, ...]:
    wanted = checked_choices("steps", steps, (*STEPS, _ALL))
    if not wanted or _ALL in wanted:
        return tuple(STEPS)
    return tuple(name for name in STEPS if name in wanted)


def _model(workspace: Workspace, budget_cents: float) -> LanguageModel | None:
    if workspace.settings.llm is None:
        return None
    name = workspace.settings.llm.partition(":")[2].strip()
    price = price_of(name, workspace.settings.llm_price)
    return LanguageModel(name, Budget(budget_cents), price, count_tokens)


async def _changes_here(workspace: Workspace, told: Told) -> list[dict[str, str]]:
    """List the first changes that a session may see; the steps count all of them."""
    deeds = [(step.name, deed) for step in told.steps for deed in step.deeds]
    listed = [
        {"step": name, "action": change.action, "id": change.memory_id, "reason": change.reason}
        for name, deed in deeds
        for change in deed.changes
    ]
    news = {new.memory.id: new.memory for _, deed in deeds for new in deed.news}
    listed += [
        {"step": name, "action": "written", "id": new.memory.id, "reason": f"{new.memory.kind}: {new.reason}"}
        for name, deed in deeds
        for new in deed.news
    ]
    here: list[dict[str, str]] = []
    for start in range(0, len(listed), _MOST_SHOWN):
        part = listed[start : start + _MOST_SHOWN]
        memories = news | await workspace.store.get([change["id"] for change in part])
        here += [one for one in part if (memory := memories.get(one["id"])) is not None and workspace.sees(memory)]
        if len(here) >= _MOST_SHOWN:
            break
    return here[:_MOST_SHOWN]


def _answered(
    told: Told, changes: list[dict[str, str]], model: LanguageModel | None, duration_ms: float
) -> Consolidated:
    return Consolidated(
        dream_id=told.dream_id,
        dry_run=told.dry_run,
        steps=[_step(step, told) for step in told.steps],
        changes=changes,
        questions=[q.id for step in told.steps for deed in step.deeds for q in deed.questions if q.settled is None],
        cost_cents=0.0 if model is None else round(model.spent_cents, 4),
        duration_ms=round(duration_ms, 1),
    )


def _step(step: Any, told: Told) -> StepDone:
    notes = [*(f"{summary}: {count}" for summary, count in step.summaries.items()), *step.notes]
    return StepDone(
        name=step.name,
        planned=step.planned,
        applied=step.applied,
        skipped=[Skipped(refusal.memory_id, refusal.reason) for refusal in step.skipped[:_MOST_SHOWN]],
        notes=notes + (list(told.notes) if step is told.steps[-1] else []),
    )


A_DAY = timedelta(hours=24)

Dream = Callable[..., Awaitable[Consolidated]]


async def dream_if_due(workspace: Workspace, dream: Dream = consolidate) -> Consolidated | None:
    """Dream if the last dream, or where there was none the store's beginning, is a day ago.

    Raises:
        StoreBusy: if another session is dreaming just now, or did so while this one was looking.
        StoreError: if the store cannot be read or written.
    """
    night = await last_dream(workspace)
    if night is not None:
        since = night.started_at
    else:
        since = parse_iso((await workspace.store.database.read_meta())["created_at"], "created_at")
    if workspace.now - since < A_DAY:
        return None
    return await dream(workspace, unless_since=since)
