"""`reverie drift`: runs the drift step for the memories of this project, outside of a dream."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime

from reverie.dream.batch import make_batch, read_undone_keys, write
from reverie.dream.drift import Found, check_all, drift_change_sets, last_restored
from reverie.dream.plan import ChangeSet, Proposal, StepPlan, resolve_conflicts
from reverie.dream.review import withdraw_moot
from reverie.memory import LADDER, Memory
from reverie.storage.dream_records import WITHDRAWN
from reverie.storage.filters import differs, none_of, one_of
from reverie.storage.scope import RECALLED
from reverie.tools.results import Drifted, DriftedMemory
from reverie.tools.session import Session

ACTOR = "drift"


async def drift(session: Session, *, dry_run: bool = False) -> Drifted:
    """Check the code that this project's memories name, and act on what no longer fits.

    Raises:
        StoreError: if the store cannot be read or written; the next run finishes one that was cut short.
    """
    now, store = session.now, session.store
    found = await _check_anchors(session)
    plan = await _plan(session, found, now)
    batch_id = ""
    if plan.change_sets and not dry_run:
        async with store.changing():
            # Checking took a while: plan again with the memories as they are now.
            found = await _reread(session, found, plan.change_sets)
            plan = await _plan(session, found, now)
            memories = [memory for memory, _ in found]
            batch_id = store.new_id()
            batch = make_batch(plan.change_sets, memories, store, batch_id=batch_id, at=now, actor=ACTOR)
            await write(batch, store, now)
            await withdraw_moot(store, now)
        batch_id = batch_id if batch.events else ""
        session.maintenance.note_write()
    return _result(found, plan.change_sets, await _elsewhere(session), batch_id, dry_run=dry_run)


async def _check_anchors(session: Session) -> Found:
    where = differs("anchors", "[]") & one_of("status", RECALLED)
    where &= one_of("project", session.visible_from(session.here.project))
    # What a scan of the code wrote is updated by the next scan.
    memories = [memory for memory in await session.store.find(where, LADDER) if memory.source != "code_scan"]
    return await asyncio.to_thread(check_all, session.evidence, memories)


async def _plan(session: Session, found: Found, now: datetime) -> StepPlan:
    store = session.store
    asked = {one.id: one.status for one in await store.review_queue.all() if one.status != WITHDRAWN}
    change_sets = drift_change_sets(found, now, await last_restored(store, found, now), asked)
    undone_keys = await read_undone_keys(store) if change_sets else frozenset[str]()
    memories = {memory.id: memory for memory, _ in found}
    return resolve_conflicts("drift", Proposal(tuple(change_sets)), memories, undone_keys)


async def _reread(session: Session, found: Found, change_sets: Sequence[ChangeSet]) -> Found:
    """Read the memories to be changed again; those that are gone or have other anchors by now are left out."""
    planned = {change.memory_id for change_set in change_sets for change in change_set.changes}
    planned |= {one for change_set in change_sets for asked in change_set.questions for one in asked.memory_ids}
    current = await session.store.get(sorted(planned))
    return [
        (current.get(memory.id, memory), checked)
        for memory, checked in found
        if memory.id not in planned or _is_as_checked(current.get(memory.id), memory)
    ]


def _is_as_checked(current: Memory | None, checked: Memory) -> bool:
    return current is not None and current.anchors == checked.anchors and current.status in RECALLED


async def _elsewhere(session: Session) -> int:
    """Count the anchored memories of projects whose code is not here."""
    elsewhere = none_of("project", session.visible_from(session.here.project))
    return await session.store.count(differs("anchors", "[]") & one_of("status", RECALLED) & elsewhere, LADDER)


def _result(
    found: Found, change_sets: Sequence[ChangeSet], elsewhere: int, batch_id: str, *, dry_run: bool
) -> Drifted:
    counts: dict[str, int] = {}
    for _, checked in found:
        counts[checked.freshness] = counts.get(checked.freshness, 0) + 1
    if elsewhere:
        counts["unverifiable"] = counts.get("unverifiable", 0) + elsewhere
    actions = _actions(change_sets)
    notable = [
        DriftedMemory(
            id=memory.id,
            title=memory.title,
            freshness=checked.freshness,
            evidence=checked.note,
            action=actions.get(memory.id, "pinned: left alone" if memory.pinned else "none"),
        )
        for memory, checked in found
        if checked.freshness in ("missing", "moved") or memory.id in actions
    ]
    return Drifted(len(found), counts, notable, batch_id, dry_run)


def _actions(change_sets: Sequence[ChangeSet]) -> Mapping[str, str]:
    return {change.memory_id: change.action for change_set in change_sets for change in change_set.changes}
