import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from reverie.dream.sweep import plan_due
from reverie.lifecycle.rules import becomes_core, due_expiry, due_move
from reverie.memory import KINDS, LAYERS, STATUSES, TIERS, Memory
from reverie.parameters import Parameters
from reverie.recall.results import Recalled
from reverie.storage.access_log import record
from reverie.storage.rows import Embedded
from reverie.tools import remember
from reverie.tools.consolidate import consolidate
from reverie.tools.inspect import inspect
from reverie.tools.recall import recall
from reverie.tools.requests import (
    ConsolidateRequest,
    InspectRequest,
    MoveRequest,
    PinRequest,
    RecallRequest,
    RememberRequest,
)
from reverie.tools.results import Remembered
from reverie.tools.revise import demote, pin
from reverie.tools.session import Session
from reverie.tools.sweep import sweep

pytestmark = pytest.mark.anyio

Keep = Callable[..., Awaitable[Remembered]]
OpenSession = Callable[..., Awaitable[Session]]


async def _recalled(session: Session, memory_id: str, times: int, *, apart: timedelta) -> None:
    for number in range(times):
        async with session.store.changing():
            await record(session.store, {memory_id: session.now + number * apart})


async def _memory(session: Session, kept: Remembered) -> Memory:
    return await session.store.resolve(kept.id)


async def test_what_is_past_its_time_to_live_expires_with_its_reason(
    session: Session, keep: Keep, clock: Callable[[], object]
) -> None:
    kept = await keep("the fair is in town", forget_after="2d")
    assert (await sweep(session)).expired == {}
    clock.advance(days=2, seconds=1)  # type: ignore[attr-defined]
    assert (await sweep(session)).expired == {"ttl-expired": [kept.id]}
    memory = await _memory(session, kept)
    assert (memory.status, memory.status_reason, memory.expired_at) == ("expired", "ttl-expired", session.now)
    event = (await session.store.journal.about(kept.id))[-1]
    assert (event.action, event.actor) == ("ttl-expired", "sweep")


@pytest.mark.rule("002-layers")
async def test_a_working_memory_becomes_episodic_after_half_an_hour(
    session: Session, keep: Keep, clock: Callable[[], object]
) -> None:
    kept = await keep("writing the parser", layer="working")
    clock.advance(minutes=29)  # type: ignore[attr-defined]
    assert (await sweep(session)).moved == {}
    clock.advance(minutes=1)  # type: ignore[attr-defined]
    assert (await sweep(session)).moved == {"working → episodic": [kept.id]}
    assert (await _memory(session, kept)).layer == "episodic"


async def test_a_working_memory_recalled_twice_becomes_episodic(session: Session, keep: Keep) -> None:
    kept = await keep("writing the parser", layer="working")
    await _recalled(session, kept.id, 2, apart=timedelta(minutes=11))
    assert (await sweep(session)).moved == {"working → episodic": [kept.id]}


async def test_an_important_and_often_recalled_episode_becomes_knowledge(session: Session, keep: Keep) -> None:
    kept = await keep("the harbour froze", layer="episodic", importance=0.9, source="human")
    await _recalled(session, kept.id, 5, apart=timedelta(days=1))
    assert (await sweep(session)).moved == {"episodic → semantic": [kept.id]}


async def test_a_demotion_is_not_undone_by_the_next_sweep(session: Session, keep: Keep) -> None:
    kept = await keep("the harbour froze", layer="semantic", importance=0.9, source="human")
    await _recalled(session, kept.id, 5, apart=timedelta(days=1))
    await demote(session, MoveRequest(id=kept.id))
    assert (await sweep(session)).moved == {}
    assert (await _memory(session, kept)).layer == "episodic"


async def test_what_was_served_a_moment_ago_is_not_expired_as_untouched(
    session: Session, keep: Keep, ask: Callable[..., Awaitable[Recalled]], clock: Callable[[], object]
) -> None:
    kept = await keep("ship moon harbour", layer="episodic", importance=0.1)
    clock.advance(days=91)  # type: ignore[attr-defined]
    assert [row.id for row in (await ask("moon harbour")).results] == [kept.id]
    assert (await sweep(session)).expired == {}
    assert (await _memory(session, kept)).status == "active"


@pytest.mark.rule("002-promotion")
async def test_promotion_stays_in_reach_after_a_hundred_sweeps(session: Session, keep: Keep) -> None:
    kept = await keep("the harbour froze", layer="episodic", importance=0.9, source="human")
    for _ in range(100):
        await sweep(session)
    assert (await _memory(session, kept)).importance == 0.9
    await _recalled(session, kept.id, 5, apart=timedelta(days=1))
    assert (await sweep(session)).moved == {"episodic → semantic": [kept.id]}


@pytest.mark.rule("002-importance")
@pytest.mark.parametrize(("apart", "layer"), [(timedelta(days=6), "semantic"), (timedelta(minutes=12), "episodic")])
async def test_a_memory_that_is_recalled_for_two_months_is_promoted_and_one_asked_for_in_a_row_is_not(
    session: Session, keep: Keep, clock: Callable[[], object], apart: timedelta, layer: str
) -> None:
    kept = await keep("the harbour froze", layer="episodic", source="ai")
    for _ in range(10):
        clock.advance(seconds=apart.total_seconds())  # type: ignore[attr-defined]
        assert (await recall(session, RecallRequest(query="harbour froze"))).results
        await session.accesses.keep()
    await session.accesses.count()
    await consolidate(session, ConsolidateRequest())
    memory = await _memory(session, kept)
    assert (memory.access_count, memory.layer) == (10, layer)


async def test_a_domain_forgets_and_promotes_by_its_own_parameters(
    open_session: OpenSession, clock: Callable[[], object]
) -> None:
    own = Parameters(half_life_days=3, archive_days=10, archive_importance=0.5, promote_recalls=2, lifespan_days=40)
    session = await open_session(parameters=own)
    told = [
        await remember.remember(session, RememberRequest(content=text, layer="episodic", importance=importance))
        for text, importance in (("the lamp burns gas", 0.3), ("the harbour froze", 0.9))
    ]
    await _recalled(session, told[1].id, 2, apart=timedelta(days=1))
    clock.advance(days=12)  # type: ignore[attr-defined]
    swept = await sweep(session)
    assert swept.expired == {"archived": [told[0].id]}
    assert swept.moved == {"episodic → semantic": [told[1].id]}
    left = (await inspect(session, InspectRequest(ids=[told[1].id]))).memories[0]["retention"]
    assert left["now"] == 1.0  # semantic by now, which has no half-life


@pytest.mark.rule("001-core")
async def test_ten_spaced_recalls_in_three_sessions_make_a_memory_core(
    open_session: OpenSession, clock: Callable[[], object]
) -> None:
    sessions = [await open_session() for _ in range(3)]
    kept = await remember.remember(sessions[0], RememberRequest(content="the harbour froze", layer="semantic"))
    for number in range(12):
        clock.advance(days=2)  # type: ignore[attr-defined]
        session = sessions[number % 3]
        async with session.store.changing():
            await record(session.store, {kept.id: session.now})
    assert (await sweep(sessions[0])).made_core == [kept.id]
    assert (await _memory(sessions[1], kept)).core


async def test_after_ninety_one_days_exactly_the_faded_are_archived(
    session: Session, keep: Keep, clock: Callable[[], object]
) -> None:
    faded = await keep("ship moon harbour", layer="episodic", importance=0.2)
    pinned = await keep("lamp stone river", layer="episodic", importance=0.2, pin=True)
    recalled = await keep("glass iron wool", layer="episodic", importance=0.2)
    important = await keep("salt rope anchor", layer="episodic", importance=0.9)
    known = await keep("table chair window", layer="semantic", importance=0.2)
    practised = await keep("paper ink feather", layer="procedural", importance=0.2)
    decided = await keep("coal tar pitch", layer="episodic", kind="decision", importance=0.2)
    await _recalled(session, recalled.id, 3, apart=timedelta(minutes=11))
    clock.advance(days=90)  # type: ignore[attr-defined]
    assert (await sweep(session)).expired == {}
    clock.advance(days=1)  # type: ignore[attr-defined]
    assert (await sweep(session)).expired == {"archived": [faded.id]}
    for kept in (pinned, recalled, important, known, practised, decided):
        assert (await _memory(session, kept)).status == "active"


async def test_a_second_sweep_at_the_same_moment_changes_nothing(
    session: Session, keep: Keep, clock: Callable[[], object]
) -> None:
    for number, layer in enumerate(("working", "episodic", "semantic", "episodic")):
        await keep(f"thing {number} of {layer}", layer=layer, importance=0.1, tier=["", "standard"][number % 2])
    clock.advance(days=200)  # type: ignore[attr-defined]
    first = await sweep(session)
    assert first.expired
    before = await session.store.find()
    events = await session.store.database.table("events").count()
    again = await sweep(session)
    assert (again.expired, again.moved, again.made_core) == ({}, {}, [])
    assert await session.store.find() == before
    assert await session.store.database.table("events").count() == events


async def test_sessions_that_sweep_at_once_act_once(open_session: OpenSession, clock: Callable[[], object]) -> None:
    sessions = [await open_session() for _ in range(4)]
    kept = await remember.remember(sessions[0], RememberRequest(content="the fair", forget_after="1d"))
    clock.advance(days=2)  # type: ignore[attr-defined]
    answers = await asyncio.gather(*(sweep(session) for session in sessions))
    assert sum(answer.expired == {"ttl-expired": [kept.id]} for answer in answers) == 1
    actions = [event.action for event in await sessions[0].store.journal.about(kept.id)]
    assert actions == ["remembered", "ttl-expired"]


@pytest.mark.rule("000-tiers")
async def test_tiers_expire_what_fades_and_nothing_else(
    session: Session, keep: Keep, clock: Callable[[], object]
) -> None:
    fish = await keep("ship moon harbour", layer="episodic", tier="goldfish")
    week = await keep("lamp stone river", layer="episodic", tier="standard")
    await keep("glass iron wool", layer="semantic", tier="goldfish")
    await keep("salt rope anchor", layer="episodic", tier="permanent")
    clock.advance(hours=9)  # type: ignore[attr-defined]
    assert (await sweep(session)).expired == {"tier-expired": [fish.id]}
    clock.advance(days=7)  # type: ignore[attr-defined]
    assert (await sweep(session)).expired == {"tier-expired": [week.id]}
    clock.advance(days=80)  # type: ignore[attr-defined]
    assert (await sweep(session)).expired == {}


async def test_a_domain_may_have_a_tier_for_all(open_session: OpenSession, clock: Callable[[], object]) -> None:
    session = await open_session(tier="standard")
    kept = await remember.remember(session, RememberRequest(content="ship moon", layer="episodic"))
    clock.advance(days=8)  # type: ignore[attr-defined]
    assert (await sweep(session)).expired == {"tier-expired": [kept.id]}


@pytest.mark.rule("002-pin")
async def test_a_pin_outlasts_every_rule(session: Session, keep: Keep, clock: Callable[[], object]) -> None:
    kept = await keep("ship moon", layer="episodic", importance=0.0, tier="goldfish", forget_after="1h")
    await pin(session, PinRequest(id=kept.id))
    clock.advance(days=4000)  # type: ignore[attr-defined]
    assert (await sweep(session)).expired == {}
    assert (await _memory(session, kept)).status == "active"


def _any_memory(dice: random.Random, session: Session, number: int) -> Memory:
    written = session.now - timedelta(days=dice.choice([0.01, 0.5, 6, 20, 91, 100, 140, 200, 400, 1100]))
    touched = written + (session.now - written) * dice.random()
    accesses = dice.choice([0, 0, 0, 1, 2, 3, 5, 10, 12])
    return Memory(
        id=f"memory-{number:04}",
        content=f"thing {number}",
        content_hash=str(number),
        title="thing",
        kind=dice.choice(KINDS),
        layer=dice.choice((*LAYERS, "episodic", "episodic", "episodic")),
        status=dice.choice((*STATUSES, "active", "active", "active", "active")),
        trust=dice.choice([0.4, 0.5, 0.7, 1.0]),
        importance=dice.choice([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.69, 0.7, 0.9, 1.0]),
        surprise=dice.choice([None, 0.0, 0.2, 0.5, 0.8, 1.0, 2.0]),
        stability=dice.random(),
        created_at=written,
        happened_at=written,
        updated_at=written,
        access_count=accesses,
        last_accessed_at=touched if accesses else None,
        access_times=(touched,) * accesses,
        sessions=tuple(f"s{n}" for n in range(min(accesses, 4))),
        core=dice.random() < 0.1,
        pinned=dice.random() < 0.1,
        tier=dice.choice((None, None, None, *TIERS)),
        forget_after=dice.choice([None, None, None, session.now, session.now - timedelta(days=1)]),
        embedder=session.embedder.stamp,
    )


@pytest.mark.slow
async def test_what_the_sweep_does_not_read_no_rule_would_touch(
    open_session: OpenSession, subtests: pytest.Subtests
) -> None:
    first = await open_session()
    dice = random.Random(11)  # noqa: S311 - the same memories every time
    memories = [_any_memory(dice, first, number) for number in range(1500)]
    [embedding] = await first.embed(["thing"])
    await first.store.add([Embedded(memory, embedding.vector) for memory in memories], actor="test", at=first.now)
    stored = await first.store.find()
    for retention, tier in itertools.product(["huber", "strength", "lifespan"], [None, "elephant"]):
        with subtests.test(retention=retention, tier=tier):
            session = await open_session(retention=retention, tier=tier)
            now, curve = session.now, session.settings.retention
            expiries = tuple((one, due) for one in stored if (due := due_expiry(one, now, curve, tier)))
            staying = [one for one in stored if one.id not in {gone.id for gone, _ in expiries}]
            moves = tuple((one, due) for one in staying if (due := due_move(one, now)))
            cores = tuple(one for one in staying if becomes_core(one))
            plan = await plan_due(session.store, session.settings, now)
            assert min(len(expiries), len(moves), len(cores)) > 0
            assert (plan.expiries, plan.moves, plan.cores) == (expiries, moves, cores)
            assert plan.seen < len(stored)


async def test_a_pinned_working_memory_still_becomes_episodic(
    session: Session, keep: Keep, clock: Callable[[], object]
) -> None:
    kept = await keep("writing the parser", layer="working", pin=True)
    clock.advance(minutes=30)  # type: ignore[attr-defined]
    assert (await sweep(session)).moved == {"working → episodic": [kept.id]}
