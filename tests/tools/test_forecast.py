from collections.abc import Awaitable, Callable

import pytest

from reverie.errors import InvalidInput
from reverie.storage.access_log import record
from reverie.tools.forecast import forecast
from reverie.tools.results import Remembered
from reverie.tools.session import Session
from reverie.tools.sweep import sweep

pytestmark = pytest.mark.anyio

Keep = Callable[..., Awaitable[Remembered]]


async def test_what_is_forecast_is_what_the_sweep_does_on_that_day(
    session: Session, keep: Keep, clock: Callable[[], object]
) -> None:
    faded = await keep("ship moon harbour", layer="episodic", importance=0.1)
    fair = await keep("lamp stone river", layer="semantic", forget_after="30d")
    open_task = await keep("glass iron wool", layer="working", importance=0.9, tier="permanent")
    await keep("salt rope anchor", layer="semantic")
    ahead = await forecast(session, 91)
    assert [(going.rule, going.id) for going in ahead.expired] == [("archived", faded.id), ("ttl-expired", fair.id)]
    assert [(move.id, move.from_layer, move.to_layer) for move in ahead.moved] == [
        (open_task.id, "working", "episodic")
    ]
    assert ahead.kept == {"episodic": 1, "semantic": 1}
    clock.advance(days=91)  # type: ignore[attr-defined]
    swept = await sweep(session)
    assert swept.expired == {"archived": [faded.id], "ttl-expired": [fair.id]}
    assert swept.moved == {"working → episodic": [open_task.id]}


async def test_each_going_memory_is_told_with_its_title_day_and_reason(session: Session, keep: Keep) -> None:
    await keep("The fair is in town.\nBring a coat.", forget_after="30d")
    [going] = (await forecast(session, 90)).expired
    assert (going.title, going.at) == ("The fair is in town.", "2026-04-01T09:30:01Z")
    assert going.reason == "it was to be forgotten after 2026-04-01T09:30:00Z"


async def test_what_is_about_to_become_core_is_told(
    session: Session, keep: Keep, clock: Callable[[], object]
) -> None:
    kept = await keep("the harbour froze", layer="semantic")
    for number in range(12):
        clock.advance(days=2)  # type: ignore[attr-defined]
        session.store.session = f"session-{number}"
        async with session.store.changing():
            await record(session.store, {kept.id: session.now})
    assert (await forecast(session, 0)).made_core == [kept.id]


async def test_a_forecast_changes_nothing(session: Session, keep: Keep) -> None:
    await keep("ship moon harbour", layer="episodic", importance=0.1, tier="goldfish")
    await keep("glass iron wool", layer="working")
    before = await session.store.find()
    events = len(await session.store.journal.rows())
    assert (await forecast(session, 1000)).expired
    assert await session.store.find() == before
    assert len(await session.store.journal.rows()) == events


async def test_an_empty_store_has_an_empty_future(session: Session) -> None:
    ahead = await forecast(session, 90)
    assert (ahead.expired, ahead.moved, ahead.made_core, ahead.kept) == ([], [], [], {})


@pytest.mark.parametrize("days", [-1.0, 1e9, float("nan")])
async def test_days_out_of_range_are_refused(session: Session, days: float) -> None:
    with pytest.raises(InvalidInput):
        await forecast(session, days)
