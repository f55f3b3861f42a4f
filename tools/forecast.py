"""What lies ahead: `reverie curves` and `reverie forecast`.

Curves are the seven forgetting curves as points, for a typical memory or for one in the store. A forecast says what a
sweep in so many days would expire, move and keep if nothing is recalled until then.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from reverie.dream.sweep import demoted_ids, planned_for
from reverie.errors import InvalidInput
from reverie.ids import creation_order
from reverie.lifecycle.curves import CURVES, Trace, retention_of
from reverie.lifecycle.rules import due_expiry, due_move
from reverie.lifecycle.vitals import age_days, first_stability, idle_days, last_touched
from reverie.memory import Memory, Tier
from reverie.parameters import STANDARD, Parameters
from reverie.settings import RETENTION_MODES, RetentionMode
from reverie.storage.vital_columns import vital_columns
from reverie.time import iso, later
from reverie.tools.requests import checked_number
from reverie.tools.session import Session

TYPICAL_IMPORTANCE = 0.5
TYPICAL = Trace(
    age_days=0.0, idle_days=0.0, importance=TYPICAL_IMPORTANCE, stability=first_stability(TYPICAL_IMPORTANCE)
)
"""An episode from a human, of medium importance, never recalled."""

_ROOM_BEYOND = 1.1


@dataclass(frozen=True, slots=True)
class CurvePosition:
    """Where a memory is on its curve: the days since its last recall, and the retention by its domain's curve."""

    id: str
    title: str
    day: float
    retention: float
    described: str


@dataclass(frozen=True, slots=True)
class Curves:
    """The retention on each day under every curve; `chosen` is the curve of the domain."""

    subject: str
    chosen: RetentionMode
    days: list[float]
    left: dict[RetentionMode, list[float]]
    position: CurvePosition | None = None
    parameters: Parameters = STANDARD


def typical_curves(
    chosen: RetentionMode,
    days: float,
    points: int,
    tier: Tier | None = None,
    parameters: Parameters = STANDARD,
) -> Curves:
    """Return the curves of a typical memory from its writing on."""
    at = _spread(days, points)
    typical = replace(TYPICAL, tier=tier, parameters=parameters)
    left = {
        mode: [CURVES[mode](replace(typical, age_days=day, idle_days=day)) for day in at] for mode in RETENTION_MODES
    }
    return Curves("an episode a human told, importance 0.5, never recalled", chosen, at, left, parameters=parameters)


def curves_of(
    memory: Memory,
    now: datetime,
    chosen: RetentionMode,
    days: float,
    points: int,
    tier: Tier | None = None,
    parameters: Parameters = STANDARD,
) -> Curves:
    """Return the curves of one memory from its last recall on, and its position on them.

    They depend on its layer, kind, trust, importance, stability, recalls and pin.
    """
    idle = idle_days(memory, now)
    at = _spread(max(days, idle * _ROOM_BEYOND), points)
    since = last_touched(memory)
    left = {
        mode: [retention_of(memory, later(since, day) or now, mode, tier, parameters) for day in at]
        for mode in RETENTION_MODES
    }
    position = CurvePosition(
        memory.id, memory.title, idle, retention_of(memory, now, chosen, tier, parameters), _described(memory, now)
    )
    return Curves(
        "this memory since its last recall" if memory.access_count else "this memory since its writing",
        chosen,
        at,
        left,
        position,
        parameters,
    )


def _spread(days: float, points: int) -> list[float]:
    return [days * number / (points - 1) for number in range(points)]


def _described(memory: Memory, now: datetime) -> str:
    parts: Sequence[str] = (
        memory.layer,
        memory.kind,
        f"trust {memory.trust:g}",
        f"importance {memory.importance:g}",
        f"{memory.access_count} recalls",
        f"{age_days(memory, now):.0f} days old",
        *(["pinned"] if memory.pinned else []),
        *(["core"] if memory.core else []),
    )
    return ", ".join(parts)


LONGEST_DAYS = 36_500.0


@dataclass(frozen=True, slots=True)
class ForecastExpiry:
    """A memory that would expire: when, by which rule, and why."""

    id: str
    title: str
    layer: str
    project: str
    at: str
    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class ForecastMove:
    """A memory that would move to another layer."""

    id: str
    title: str
    from_layer: str
    to_layer: str
    reason: str


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a sweep on a day to come would do; `kept` counts memories by the layer that they would be in."""

    projects: list[str] | Literal["all"]
    at: str
    days: float
    curve: str
    expired: list[ForecastExpiry]
    moved: list[ForecastMove]
    made_core: list[str]
    kept: dict[str, int]
    total_expired: int  # more than are named, where only so many are
    total_moved: int


async def forecast(session: Session, days: float, *, all_projects: bool = False, most: int | None = None) -> Forecast:
    """Plan a sweep for a day to come, for this project or the whole domain; changes nothing.

    The rules are applied to columns of the whole store at once. With `most`, only so many of the memories that go,
    those that go first, and of those that move are read and named; all are counted.

    Raises:
        InvalidInput: if the days are out of range or end outside the calendar.
        StoreError: if the store cannot be read.
    """
    now, settings = session.now, session.settings
    try:
        then = now + timedelta(days=checked_number("days", days, 0.0, LONGEST_DAYS))
    except OverflowError:
        raise InvalidInput("days", f"{days:g} days from now there is no calendar", "Give fewer.") from None
    await session.accesses.count_if_possible()
    columns = await vital_columns(session.store)
    seen = session.visible_from(session.here.project)
    planned = await asyncio.to_thread(planned_for, columns, None if all_projects else seen, now, then, settings, most)
    planned = planned.without_promotions_of(await demoted_ids(session.store, planned.promoted))
    ending = [index for index, _ in planned.ending]
    memories = {memory.id: memory for memory in await columns.memories(session.store, ending)}
    expired = []
    for memory_id, (_, at) in zip(columns.ids_of(ending), planned.ending, strict=True):
        memory = memories.get(memory_id)
        expiry = memory and due_expiry(memory, then, settings.retention, settings.tier, settings.parameters)
        if memory and expiry:  # or else it changed while we looked
            expired.append(
                ForecastExpiry(
                    memory.id, memory.title, memory.layer, memory.project, iso(at), expiry.rule, expiry.reason
                )
            )
    moved = []
    for memory in await columns.memories(session.store, planned.moving[:most]):
        move = due_move(memory, then, settings.parameters)
        if move:
            moved.append(ForecastMove(memory.id, memory.title, memory.layer, move.to, move.reason))
    return Forecast(
        projects="all" if all_projects else list(seen),
        at=iso(then),
        days=days,
        curve=settings.retention,
        expired=sorted(expired, key=lambda one: (one.rule, one.at, creation_order(one.id))),
        moved=moved,
        made_core=columns.ids_of(planned.made_core),
        kept=planned.kept,
        total_expired=planned.total_ending,
        total_moved=len(planned.moving),
    )
