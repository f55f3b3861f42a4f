from collections.abc import Awaitable, Callable

import pytest

from reverie.settings import RETENTION_MODES
from reverie.storage.access_log import record
from reverie.tools.forecast import curves_of, typical_curves
from reverie.tools.results import Remembered
from reverie.tools.session import Session

Keep = Callable[..., Awaitable[Remembered]]


def test_a_typical_memory_halves_in_a_month_under_huber() -> None:
    curves = typical_curves("huber", 60, 3)
    assert curves.days == [0, 30, 60]
    assert curves.left["huber"] == pytest.approx([1.0, 0.5, 0.4])
    assert curves.left["l2"] == pytest.approx([1.0, 0.5, 0.25])


@pytest.mark.parametrize("mode", RETENTION_MODES)
def test_every_curve_starts_at_one_and_never_rises(mode: str) -> None:
    left = typical_curves("huber", 365, 80).left[mode]  # type: ignore[index]
    assert left[0] == 1.0
    assert left == sorted(left, reverse=True)


def test_the_tier_of_the_domain_shapes_lifespan() -> None:
    assert typical_curves("lifespan", 7, 3, "standard").left["lifespan"] == pytest.approx([1.0, 0.5, 0.0])


@pytest.mark.anyio
async def test_a_memory_is_marked_where_it_stands(session: Session, keep: Keep, clock: Callable[[], object]) -> None:
    kept = await keep("the harbour froze", layer="episodic", source="ingest")
    clock.advance(days=10)  # type: ignore[attr-defined]
    curves = curves_of(await session.store.resolve(kept.id), session.now, "l2", 20, 3)
    assert curves.position is not None
    # A half-life of ten days, for what was taken in by itself.
    assert (curves.position.day, curves.position.retention) == (10, pytest.approx(0.5))
    assert curves.left["l2"] == pytest.approx([1.0, 0.5, 0.25])


@pytest.mark.anyio
async def test_the_days_count_from_the_last_recall_but_age_counts_on(
    session: Session, keep: Keep, clock: Callable[[], object]
) -> None:
    kept = await keep("the harbour froze", layer="episodic", source="human", tier="standard")
    clock.advance(days=3.5)  # type: ignore[attr-defined]
    async with session.store.changing():
        await record(session.store, {kept.id: session.now})
    curves = curves_of(await session.store.resolve(kept.id), session.now, "huber", 30, 2)
    assert curves.position is not None
    assert curves.position.day == 0
    # 3.5 of 7 days gone, and a fifth won back by the recall.
    assert curves.left["lifespan"][0] == pytest.approx(0.7)


@pytest.mark.anyio
async def test_the_range_reaches_beyond_where_an_old_memory_stands(
    session: Session, keep: Keep, clock: Callable[[], object]
) -> None:
    kept = await keep("the harbour froze", layer="episodic")
    clock.advance(days=1000)  # type: ignore[attr-defined]
    curves = curves_of(await session.store.resolve(kept.id), session.now, "huber", 30, 5)
    assert curves.days[-1] == pytest.approx(1100)


@pytest.mark.anyio
async def test_a_pinned_memory_stands_at_the_top_for_good(session: Session, keep: Keep) -> None:
    kept = await keep("the harbour froze", layer="episodic", pin=True)
    curves = curves_of(await session.store.resolve(kept.id), session.now, "huber", 300, 5)
    assert all(left == [1.0] * 5 for left in curves.left.values())
