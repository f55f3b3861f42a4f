"""Following the code: memories whose evidence moved are repaired, those whose evidence is gone are challenged."""

import asyncio
from datetime import datetime

from reverie.codebase.drift import DriftChange, DriftPlan, check_all, plan_drift
from reverie.dream.apply import asked_from
from reverie.dream.drift import question_about
from reverie.dream.review import withdraw_moot
from reverie.memory import LADDER, Memory
from reverie.storage.filters import differs, none_of, one_of
from reverie.storage.review_queue import OPEN, WITHDRAWN
from reverie.storage.scope import RECALLED
from reverie.tools.results import Drifted, DriftedMemory
from reverie.tools.session import Session

_RESTORING = ("restored", "undone")


async def drift(session: Session, *, dry_run: bool = False) -> Drifted:
    """Check what this project's memories were seen in, and act on what no longer holds.

    Raises:
        StoreError: if the store cannot be read or written; a run cut short is finished by the next.
    """
    now = session.now
    plan = await planned_drift(session, now)
    batch = ""
    if plan.changes and not dry_run:
        batch = session.store.new_id()
        plan = DriftPlan(await _apply(session, plan, now, batch), plan.found)
        session.maintenance.note_write()
    others = await _others(session)
    return _told(plan, others, batch, dry_run=dry_run)


async def planned_drift(session: Session, now: datetime) -> DriftPlan:
    """Check every anchored memory of this project and plan what to do; nothing is written."""
    where = differs("anchors", "[]") & one_of("status", RECALLED)
    where &= one_of("project", session.visible_from(session.here.project))
    # What a scan of the code wrote is kept in step by the next scan.
    memories = [memory for memory in await session.store.find(where, LADDER) if memory.source != "code_scan"]
    found = await asyncio.to_thread(check_all, session.evidence, memories)
    plan = plan_drift(found, now)
    expiring = [change.memory for change in plan.changes if change.action == "expired"]
    restored = {memory.id: at for memory in expiring if (at := await _last_restored(session, memory))}
    return plan_drift(found, now, restored) if restored else plan


async def _last_restored(session: Session, memory: Memory) -> datetime | None:
    events = await session.store.journal.about(memory.id)
    return max((event.at for event in events if event.action in _RESTORING), default=None)


async def _apply(session: Session, plan: DriftPlan, now: datetime, batch: str) -> tuple[DriftChange, ...]:
    """Write what still applies: checking took a while, and others may have changed a memory meanwhile."""
    store = session.store
    checked = {memory.id: found for memory, found in plan.found}
    questions = store.review_queue
    applied: list[DriftChange] = []
    async with store.changing():
        answered = {one.id for one in await questions.all() if one.status not in (OPEN, WITHDRAWN)}
        fresh = await store.get([change.memory.id for change in plan.changes])
        for change in plan.changes:
            memory = fresh.get(change.memory.id)
            if memory is None or not _is_as_planned(memory, change.memory):
                continue
            question = question_about(memory, checked[memory.id]) if change.action == "challenged" else None
            if question is not None and question.id in answered:
                continue  # somebody said that it holds without this
            await store.change(
                [memory],
                change.values,
                action=change.action,
                actor="drift",
                at=now,
                reason=change.reason,
                batch=batch,
            )
            if question is not None:
                await questions.write([asked_from(question, now)])
            applied.append(change)
        await withdraw_moot(store, now)
    return tuple(applied)


def _is_as_planned(memory: Memory, planned: Memory) -> bool:
    same = ("status", "anchors", "pinned", "layer")
    return all(getattr(memory, name) == getattr(planned, name) for name in same)


async def _others(session: Session) -> int:
    """Count the anchored memories of projects that are not here to be looked at."""
    elsewhere = none_of("project", session.visible_from(session.here.project))
    return await session.store.count(differs("anchors", "[]") & one_of("status", RECALLED) & elsewhere, LADDER)


def _told(plan: DriftPlan, others: int, batch: str, *, dry_run: bool) -> Drifted:
    counts: dict[str, int] = {}
    for _, checked in plan.found:
        counts[checked.freshness] = counts.get(checked.freshness, 0) + 1
    if others:
        counts["unverifiable"] = counts.get("unverifiable", 0) + others
    actions = {change.memory.id: change.action for change in plan.changes}
    notable = [
        DriftedMemory(
            id=memory.id,
            title=memory.title,
            freshness=checked.freshness,
            evidence=checked.note,
            action=actions.get(memory.id, "pinned: left alone" if memory.pinned else "none"),
        )
        for memory, checked in plan.found
        if checked.freshness in ("missing", "moved") or memory.id in actions
    ]
    return Drifted(len(plan.found), counts, notable, batch, dry_run)
