"""`reverie forecast`: what a sweep in so many days would expire, move and keep if nothing is recalled until then."""

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from reverie.dream.sweep import heed_demotions, plan_sweep
from reverie.errors import InvalidInput
from reverie.ids import creation_order
from reverie.lifecycle.expiry import LIVING
from reverie.lifecycle.outlook import ending_of
from reverie.memory import LAYERS
from reverie.storage.filters import one_of
from reverie.time import iso
from reverie.tools.arguments import checked_number
from reverie.tools.session import Session

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
    let_go: list[ForecastExpiry]
    moved: list[ForecastMove]
    made_core: list[str]
    kept: dict[str, int]


async def forecast(session: Session, days: float, *, all_projects: bool = False) -> Forecast:
    """Plan a sweep for a day to come, for this project or the whole domain; changes nothing.

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
    memories = await session.store.find(one_of("status", LIVING))
    plan = await heed_demotions(session.store, plan_sweep(memories, then, settings))
    seen = session.visible_from(session.here.project)
    shown = {memory.id for memory in memories if all_projects or memory.project in seen}
    let_go = []
    for memory, expiry in plan.expiries:
        if memory.id not in shown:
            continue
        ending = ending_of(memory, now, settings.retention, settings.tier)
        at = then if ending is None else min(max(ending.at, now), then)
        let_go.append(
            ForecastExpiry(memory.id, memory.title, memory.layer, memory.project, iso(at), expiry.rule, expiry.reason)
        )
    going = {memory.id for memory, _ in plan.expiries}
    moving = {memory.id: move.to for memory, move in plan.moves}
    layers = Counter(moving.get(memory.id, memory.layer) for memory in memories if memory.id in shown - going)
    return Forecast(
        projects="all" if all_projects else list(seen),
        at=iso(then),
        days=days,
        curve=settings.retention,
        let_go=sorted(let_go, key=lambda one: (one.rule, one.at, creation_order(one.id))),
        moved=[
            ForecastMove(memory.id, memory.title, memory.layer, move.to, move.reason)
            for memory, move in plan.moves
            if memory.id in shown
        ],
        made_core=[memory.id for memory in plan.cores if memory.id in shown],
        kept={layer: layers[layer] for layer in LAYERS if layers[layer]},
    )
