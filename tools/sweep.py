"""Applying the rules of age and merit to the store."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from reverie.dream.plan import key_of_change, refused_by
from reverie.dream.sweep import SweepPlan, plan_sweep
from reverie.lifecycle.expiry import LIFESPAN_SECONDS, LIVING
from reverie.lifecycle.importance import WEIGHTS
from reverie.lifecycle.layers import CORE_ACCESSES, SEMANTIC_ACCESSES
from reverie.lifecycle.rules import (
    ARCHIVE_AFTER_DAYS,
    ARCHIVE_BELOW_ACCESSES,
    ARCHIVE_BELOW_IMPORTANCE,
    LOW_VALUE_AFTER_DAYS,
    LOW_VALUE_IMPORTANCE,
)
from reverie.memory import LAYERS, Layer, Memory
from reverie.storage import filters
from reverie.storage.filters import Condition
from reverie.time import SECONDS_PER_DAY
from reverie.tools.session import Session

_LIFESPAN_DAYS = LIFESPAN_SECONDS / SECONDS_PER_DAY


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep did: ids by reason."""

    let_go: dict[str, list[str]]
    moved: dict[str, list[str]]
    made_core: list[str]
    seen: int


async def sweep(session: Session) -> Swept:
    """Let go, move and make core whatever is due at this moment.

    Any number of processes may sweep at once: each waits for the lock and looks again, so every due moment is
    acted on once.

    Raises:
        StoreError: if the store cannot be read or written; a sweep cut short is finished by the next.
    """
    now = session.now
    await session.accesses.count()  # what was served a moment ago is not to be judged as untouched
    if (await _planned(session, now)).is_empty:  # the common case needs no lock
        return Swept({}, {}, [], 0)
    async with session.store.changing():
        plan = await _planned(session, now)
        await _apply(session, plan, now)
    session.maintenance.note_write()
    return _told(plan)


async def _planned(session: Session, now: datetime) -> SweepPlan:
    any_tier = session.settings.tier is not None
    memories = await session.store.find_few({layer: _worth_a_look(layer, now, any_tier=any_tier) for layer in LAYERS})
    plan = plan_sweep(memories, now, session.settings.retention, session.settings.tier)
    return await _heeding_refusals(session, await heeding_demotions(session, plan))


async def _heeding_refusals(session: Session, plan: SweepPlan) -> SweepPlan:
    """Return the plan without what somebody took back by undoing a dream, while nothing has changed since."""
    if plan.is_empty:
        return plan
    refused = refused_by(await session.store.dream_log.all())

    def stands(memory: Memory, values: Mapping[str, str]) -> bool:
        return key_of_change(memory.id, values, memory.access_count) not in refused

    return replace(
        plan,
        let_go=tuple(one for one in plan.let_go if stands(one[0], {"status": "expired"})),
        moves=tuple(one for one in plan.moves if stands(one[0], {"layer": one[1].to})),
    )


async def heeding_demotions(session: Session, plan: SweepPlan) -> SweepPlan:
    """Return the plan without promotions that someone has just decided against by demoting the memory."""
    moves = [
        (memory, move)
        for memory, move in plan.moves
        if move.to != "semantic" or not await _was_demoted(session, memory)
    ]
    return replace(plan, moves=tuple(moves))


async def _was_demoted(session: Session, memory: Memory) -> bool:
    moves = [event for event in await session.store.journal.about(memory.id) if event.action == "moved"]
    return bool(moves) and moves[-1].actor == "demote"


def _worth_a_look(layer: Layer, now: datetime, *, any_tier: bool) -> Condition:
    """Match every memory of a layer that some rule could act on now, so that a large store is not read whole.

    It may match too much, never too little: the rules themselves decide.
    """
    living = filters.one_of("status", LIVING)
    if layer == "working":
        return living
    due = filters.not_after("forget_after", now)
    if layer == "episodic":
        due |= _could_leave_episodic(now, any_tier=any_tier)
    return living & (due | (filters.equals("core", False) & filters.at_least("access_count", CORE_ACCESSES)))


def _could_leave_episodic(now: datetime, *, any_tier: bool) -> Condition:
    """Match what may have earned a place in semantic memory, outlived its tier, or faded."""
    outlived = filters.everything() if any_tier else filters.is_set("tier") | _older(now, _LIFESPAN_DAYS)
    archived = (
        _older(now, ARCHIVE_AFTER_DAYS)
        & filters.at_most("access_count", ARCHIVE_BELOW_ACCESSES - 1)
        & filters.adjusted_importance_at_most(ARCHIVE_BELOW_IMPORTANCE / WEIGHTS["base"])
    )
    of_low_value = _older(now, LOW_VALUE_AFTER_DAYS) & filters.at_most("importance", LOW_VALUE_IMPORTANCE)
    fading = filters.equals("pinned", False) & (outlived | archived | of_low_value)
    return filters.at_least("access_count", SEMANTIC_ACCESSES) | fading


def _older(now: datetime, days: float) -> Condition:
    return filters.before("created_at", now - timedelta(days=days))


async def _apply(session: Session, plan: SweepPlan, now: datetime) -> None:
    store = session.store
    by_rule: dict[tuple[str, str], list[Memory]] = {}
    for memory, verdict in plan.let_go:
        by_rule.setdefault((verdict.rule, verdict.reason), []).append(memory)
    for (rule, reason), memories in by_rule.items():
        values = {"status": "expired", "expired_at": now, "status_reason": rule}
        await store.change(memories, values, action=rule, actor="sweep", at=now, reason=reason)
    await store.change(list(plan.cores), {"core": True}, action="made core", actor="sweep", at=now)
    for memory, move in plan.moves:
        await store.move(memory, move.to, actor="sweep", at=now, reason=move.reason)


def _told(plan: SweepPlan) -> Swept:
    let_go: dict[str, list[str]] = {}
    for memory, verdict in plan.let_go:
        let_go.setdefault(verdict.rule, []).append(memory.id)
    moved: dict[str, list[str]] = {}
    for memory, move in plan.moves:
        moved.setdefault(f"{memory.layer} → {move.to}", []).append(memory.id)
    return Swept(let_go, moved, [memory.id for memory in plan.cores], plan.seen)
