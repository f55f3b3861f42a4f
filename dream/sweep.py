"""The sweep: which memories move up, become core or expire by the rules of age and merit, and applying that.

A dream runs it as its steps `sweep` and `forget`; a server also runs it every few minutes. `forecast` asks for the
sweep of a day to come, over the columns of the whole store at once.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np

from reverie.dream.batch import make_batch, read_undone_keys, write
from reverie.dream.fading import fading
from reverie.dream.judge import Judge
from reverie.dream.plan import Change, ChangeSet, Proposal, was_undone
from reverie.dream.snapshot import RuleVerdicts, Snapshot
from reverie.lifecycle.arrays import endings_of, first_to_end, verdicts_of
from reverie.lifecycle.expiry import LIVING, Expiry, Move
from reverie.lifecycle.rules import (
    CORE_ACCESSES,
    LOW_VALUE_AFTER_DAYS,
    LOW_VALUE_IMPORTANCE,
)
from reverie.lifecycle.vitals import BASE_WEIGHT
from reverie.memory import LAYERS, Layer, Memory
from reverie.settings import Settings
from reverie.storage import filters
from reverie.storage.filters import Condition
from reverie.storage.store import MemoryStore
from reverie.storage.vital_columns import VitalColumns

ACTOR = "sweep"
CURVE_RULES = frozenset({"archived", "low-value"})
"""The rules that the dream's step `forget` applies; `sweep` applies the others."""


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """What a sweep does, memory by memory. A memory is in it once, or twice if it moves and becomes core."""

    expiries: tuple[tuple[Memory, Expiry], ...]
    moves: tuple[tuple[Memory, Move], ...]
    cores: tuple[Memory, ...]
    seen: int

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.expiries or self.moves or self.cores)

    @property
    def memories(self) -> dict[str, Memory]:
        """The memories to be changed, by id."""
        expiring, moving = (memory for memory, _ in self.expiries), (memory for memory, _ in self.moves)
        return {memory.id: memory for memory in (*expiring, *moving, *self.cores)}

    def without_promotions_of(self, demoted: Iterable[str]) -> "SweepPlan":
        """Return the plan without promotions to semantic of memories that somebody demoted."""
        ids = set(demoted)
        return replace(self, moves=tuple((m, move) for m, move in self.moves if not _promotes(m, move, ids)))

    def change_sets(self, now: datetime) -> list[ChangeSet]:
        """Return the plan as changes to apply."""
        return [
            *(_expiring(memory, expiry, now) for memory, expiry in self.expiries),
            *(_making_core(memory) for memory in self.cores),
            *(_moving(memory, move) for memory, move in self.moves),
        ]


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep did: the ids of memories by rule and by move."""

    expired: dict[str, list[str]]
    moved: dict[str, list[str]]
    made_core: list[str]
    seen: int


def plan_sweep(
    memories: Iterable[Memory], now: datetime, settings: Settings, verdicts: RuleVerdicts | None = None
) -> SweepPlan:
    """Apply the rules to each memory at this moment; the same moment gives the same plan. Changes nothing."""
    verdicts = verdicts or RuleVerdicts()
    judged = [(memory, verdicts.of(memory, now, settings)) for memory in memories]
    return SweepPlan(
        tuple((memory, verdict.expires) for memory, verdict in judged if verdict.expires),
        tuple((memory, verdict.moves) for memory, verdict in judged if verdict.moves),
        tuple(memory for memory, verdict in judged if verdict.becomes_core),
        len(judged),
    )


# the steps of a dream


def sweep(snapshot: Snapshot, settings: Settings, judge: Judge) -> Proposal:
    """Move up what has earned it, make core, and expire what is past its deadline or its tier."""
    plan = _planned(snapshot, settings)
    others = tuple((memory, expiry) for memory, expiry in plan.expiries if expiry.rule not in CURVE_RULES)
    return Proposal(tuple(replace(plan, expiries=others).change_sets(snapshot.now)))


def forget(snapshot: Snapshot, settings: Settings, judge: Judge) -> Proposal:
    """Expire what is archived or of low value: faded by the forgetting curve, or unimportant and unused.

    Of the others it packs the vectors by how far they have faded.
    """
    expiries = _planned(snapshot, settings).expiries
    faded = tuple((memory, expiry) for memory, expiry in expiries if expiry.rule in CURVE_RULES)
    packed = fading(snapshot, settings, {memory.id for memory, _ in expiries})
    return Proposal((*(_expiring(memory, expiry, snapshot.now) for memory, expiry in faded), *packed))


def _planned(snapshot: Snapshot, settings: Settings) -> SweepPlan:
    plan = plan_sweep(snapshot.memories, snapshot.now, settings, snapshot.rule_verdicts)
    return plan.without_promotions_of(snapshot.demoted)


# the sweep between dreams


async def sweep_store(store: MemoryStore, settings: Settings, now: datetime) -> Swept:
    """Expire, move and make core whatever is due at this moment.

    Any number of processes may sweep at once: each waits for the lock and reads again, so every due moment is acted
    on once.

    Raises:
        StoreError: if the store cannot be read or written; the next sweep finishes one that was cut short.
    """
    if not await _due_change_sets(store, await plan_due(store, settings, now), now):  # mostly, and without the lock
        return Swept({}, {}, [], 0)
    async with store.changing():
        plan = await plan_due(store, settings, now)
        change_sets = await _due_change_sets(store, plan, now)
        memories = list(plan.memories.values())
        await write(make_batch(change_sets, memories, store, batch_id=None, at=now, actor=ACTOR), store, now)
    return _swept(change_sets, plan.memories, plan.seen)


async def _due_change_sets(store: MemoryStore, plan: SweepPlan, now: datetime) -> list[ChangeSet]:
    """Return the changes of a plan without those that somebody undid before."""
    if plan.is_empty:
        return []
    undone_keys = await read_undone_keys(store)
    return [one for one in plan.change_sets(now) if not was_undone(one, undone_keys, plan.memories)]


async def plan_due(store: MemoryStore, settings: Settings, now: datetime) -> SweepPlan:
    """Plan a sweep over the memories that some rule could act on now, without reading all of a large store."""
    memories = await store.find_few({layer: _could_be_due(layer, now, settings) for layer in LAYERS})
    return await heed_demotions(store, plan_sweep(memories, now, settings))


async def heed_demotions(store: MemoryStore, plan: SweepPlan) -> SweepPlan:
    """Return the plan without promotions that somebody decided against by demoting the memory."""
    promoted = [memory for memory, move in plan.moves if move.to == "semantic"]
    return plan.without_promotions_of(await demoted_among(store, promoted))


async def demoted_among(store: MemoryStore, memories: Iterable[Memory]) -> list[str]:
    """Return the ids of the memories whose last move between layers was a demotion by somebody."""
    return await demoted_ids(store, [memory.id for memory in memories])


async def demoted_ids(store: MemoryStore, ids: Collection[str]) -> list[str]:
    """Return those of some ids whose memory's last move between layers was a demotion by somebody."""
    if not ids:
        return []
    ever = {event.memory_id for event in await store.journal.by_actor("demote")}
    demoted = []
    for memory_id in (one for one in ids if one in ever):
        moves = [event for event in await store.journal.about(memory_id) if event.action == "moved"]
        if moves and moves[-1].actor == "demote":
            demoted.append(memory_id)
    return demoted


def _could_be_due(layer: Layer, now: datetime, settings: Settings) -> Condition:
    """Match every memory of a layer that some rule could act on now.

    It may match too much, never too little: the rules themselves decide.
    """
    living = filters.one_of("status", LIVING)
    if layer == "working":
        return living
    due = filters.not_after("forget_after", now)
    if layer == "episodic":
        due |= _could_leave_episodic(now, settings)
    return living & (due | (filters.equals("core", False) & filters.at_least("access_count", CORE_ACCESSES)))


def _could_leave_episodic(now: datetime, settings: Settings) -> Condition:
    """Match what may be promoted to semantic, outlive its tier, be archived or be of low value."""
    parameters = settings.parameters
    without_tier = _older(now, parameters.lifespan_days)
    outlived = filters.everything() if settings.tier is not None else filters.is_set("tier") | without_tier
    archived = (
        _older(now, parameters.archive_days)
        & filters.at_most("access_count", parameters.archive_recalls - 1)
        & filters.adjusted_importance_at_most(parameters.archive_importance / BASE_WEIGHT)
    )
    of_low_value = _older(now, LOW_VALUE_AFTER_DAYS) & filters.at_most("importance", LOW_VALUE_IMPORTANCE)
    fading = filters.equals("pinned", False) & (outlived | archived | of_low_value)
    return filters.at_least("access_count", parameters.promote_recalls) | fading


def _older(now: datetime, days: float) -> Condition:
    return filters.before("created_at", now - timedelta(days=days))


def _swept(change_sets: Sequence[ChangeSet], memories: Mapping[str, Memory], seen: int) -> Swept:
    swept = Swept({}, {}, [], seen)
    for change in (change for change_set in change_sets for change in change_set.changes):
        if "layer" in change.values:
            way = f"{memories[change.memory_id].layer} → {change.values['layer']}"
            swept.moved.setdefault(way, []).append(change.memory_id)
        elif "core" in change.values:
            swept.made_core.append(change.memory_id)
        else:
            swept.expired.setdefault(change.action, []).append(change.memory_id)
    return swept


# changes


def _promotes(memory: Memory, move: Move, ids: set[str]) -> bool:
    return move.to == "semantic" and memory.id in ids


def _expiring(memory: Memory, expiry: Expiry, now: datetime) -> ChangeSet:
    values = {"status": "expired", "expired_at": now, "status_reason": expiry.rule}
    change = Change(memory_id=memory.id, action=expiry.rule, reason=expiry.reason, values=values)
    # The stored reports of earlier dreams have this wording too.
    return ChangeSet(summary=f"expired ({expiry.rule})", changes=(change,))


def _moving(memory: Memory, move: Move) -> ChangeSet:
    change = Change(memory_id=memory.id, action="moved", reason=move.reason, values={"layer": move.to})
    return ChangeSet(summary=f"{memory.layer} → {move.to}", changes=(change,))


def _making_core(memory: Memory) -> ChangeSet:
    reason = f"recalled {memory.access_count} times in {len(set(memory.sessions))} sessions"
    change = Change(memory_id=memory.id, action="made core", reason=reason, values={"core": True})
    return ChangeSet(summary="made core", changes=(change,))


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class PlannedForecast:
    """What a sweep would do, by the indices of memories in their columns."""

    total_ending: int
    ending: list[tuple[int, datetime]]  # with the moment of each, the first first; all, or so many
    moving: list[int]
    promoted: dict[str, tuple[int, Layer]]  # of those that move to semantic, by id: the index and the layer now
    made_core: list[int]
    kept: dict[str, int]  # by the layer that they would be in

    def without_promotions_of(self, demoted: Collection[str]) -> "PlannedForecast":
        """Return the plan without promotions of memories that somebody demoted; they stay where they are."""
        stay = dict(self.promoted[one] for one in demoted if one in self.promoted)
        kept = Counter(self.kept)
        kept.update(stay.values())
        kept["semantic"] -= len(stay)
        return replace(
            self,
            moving=[index for index in self.moving if index not in stay],
            kept={layer: kept[layer] for layer in LAYERS if kept[layer] > 0},
        )


def planned_for(
    columns: VitalColumns,
    projects: Collection[str] | None,
    now: datetime,
    then: datetime,
    settings: Settings,
    most: int | None = None,
) -> PlannedForecast:
    """Apply the rules at a moment to come to the memories of some projects, or of all.

    With `most`, only so many of those that end are dated, the first.
    """
    vitals = columns.vitals
    rules = (settings.retention, settings.tier, settings.parameters)
    verdicts = verdicts_of(vitals, _micros(then), *rules)
    shown = np.ones(len(columns), np.bool_) if projects is None else np.isin(columns.projects, list(projects))
    ending = np.flatnonzero(shown & (verdicts.rule > 0))
    total = len(ending)
    if most is not None:
        ending = ending[first_to_end(vitals.at(ending), most, _micros(now), _micros(then), *rules)]
    ends = endings_of(vitals.at(ending), _micros(now), _micros(then), *rules)
    order = np.argsort(ends, kind="stable")[:most]
    moving = np.flatnonzero(shown & (verdicts.layer != vitals.layer))
    promoted = moving[verdicts.layer[moving] == LAYERS.index("semantic")]
    counts = np.bincount(verdicts.layer[shown & (verdicts.rule == 0)], minlength=len(LAYERS))
    return PlannedForecast(
        total_ending=total,
        ending=[(int(ending[one]), _EPOCH + int(ends[one]) * _MICROSECOND) for one in order],
        moving=moving.tolist(),
        promoted={
            memory_id: (int(one), LAYERS[vitals.layer[one]])
            for memory_id, one in zip(columns.ids_of(promoted), promoted, strict=True)
        },
        made_core=np.flatnonzero(shown & verdicts.becomes_core).tolist(),
        kept={layer: int(count) for layer, count in zip(LAYERS, counts, strict=True) if count},
    )


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND
