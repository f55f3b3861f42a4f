import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from reverie.memory import Memory
from reverie.storage.accesses import record
from reverie.tools import remember
from reverie.tools.pin import pin
from reverie.tools.results import Remembered
from reverie.tools.sweep import sweep
from reverie.tools.workspace import Workspace

pytestmark = pytest.mark.anyio

Keep = Callable[..., Awaitable[Remembered]]
OpenWorkspace = Callable[..., Awaitable[Workspace]]


async def _recalled(workspace: Workspace, memory_id: str, times: int, *, apart: timedelta) -> None:
    for number in range(times):
        async with workspace.store.changing():
            await record(workspace.store, [memory_id], workspace.now + number * apart)


async def _memory(workspace: Workspace, kept: Remembered) -> Memory:
    return await workspace.store.resolve(kept.id)


async def test_what_is_past_its_time_to_live_expires_with_its_reason(
    workspace: Workspace, keep: Keep, clock: Callable[[], object]
) -> None:
    kept = await keep("the fair is in town", forget_after="2d")
    assert (await sweep(workspace)).let_go == {}
    clock.advance(days=2, seconds=1)  # type: ignore[attr-defined]
    assert (await sweep(workspace)).let_go == {"ttl-expired": [kept.id]}
    memory = await _memory(workspace, kept)
    assert (memory.status, memory.status_reason, memory.expired_at) == ("expired", "ttl-expired", workspace.now)
    event = (await workspace.store.journal.about(kept.id))[-1]
    assert (event.action, event.actor) == ("ttl-expired", "sweep")


async def test_a_working_memory_becomes_episodic_after_half_an_hour(
    workspace: Workspace, keep: Keep, clock: Callable[[], object]
) -> None:
    kept = await keep("writing the parser", layer="working")
    clock.advance(minutes=29)  # type: ignore[attr-defined]
    assert (await sweep(workspace)).moved == {}
    clock.advance(minutes=1)  # type: ignore[attr-defined]
    assert (await sweep(workspace)).moved == {"working → episodic": [kept.id]}
    assert (await _memory(workspace, kept)).layer == "episodic"


async def test_a_working_memory_recalled_twice_becomes_episodic(workspace: Workspace, keep: Keep) -> None:
    kept = await keep("writing the parser", layer="working")
    await _recalled(workspace, kept.id, 2, apart=timedelta(minutes=11))
    assert (await sweep(workspace)).moved == {"working → episodic": [kept.id]}


async def test_an_important_and_often_recalled_episode_becomes_knowledge(workspace: Workspace, keep: Keep) -> None:
    kept = await keep("the harbour froze", layer="episodic", importance=0.9, source="human")
    await _recalled(workspace, kept.id, 5, apart=timedelta(days=1))
    assert (await sweep(workspace)).moved == {"episodic → semantic": [kept.id]}


async def test_promotion_stays_in_reach_after_a_hundred_sweeps(workspace: Workspace, keep: Keep) -> None:
    kept = await keep("the harbour froze", layer="episodic", importance=0.9, source="human")
    for _ in range(100):
        await sweep(workspace)
    assert (await _memory(workspace, kept)).importance == 0.9
    await _recalled(workspace, kept.id, 5, apart=timedelta(days=1))
    assert (await sweep(workspace)).moved == {"episodic → semantic": [kept.id]}


async def test_ten_spaced_recalls_in_three_sessions_make_a_memory_core(
    open_workspace: OpenWorkspace, clock: Callable[[], object]
) -> None:
    sessions = [await open_workspace() for _ in range(3)]
    kept = await remember.remember(sessions[0], remember.Request(content="the harbour froze", layer="semantic"))
    for number in range(12):
        clock.advance(days=2)  # type: ignore[attr-defined]
        session = sessions[number % 3]
        async with session.store.changing():
            await record(session.store, [kept.id], session.now)
    assert (await sweep(sessions[0])).made_core == [kept.id]
    assert (await _memory(sessions[1], kept)).core


async def test_after_ninety_one_days_exactly_the_faded_are_archived(
    workspace: Workspace, keep: Keep, clock: Callable[[], object]
) -> None:
    faded = await keep("ship moon harbour", layer="episodic", importance=0.2)
    pinned = await keep("lamp stone river", layer="episodic", importance=0.2, pin=True)
    recalled = await keep("glass iron wool", layer="episodic", importance=0.2)
    important = await keep("salt rope anchor", layer="episodic", importance=0.9)
    known = await keep("table chair window", layer="semantic", importance=0.2)
    practised = await keep("paper ink feather", layer="procedural", importance=0.2)
    decided = await keep("coal tar pitch", layer="episodic", kind="decision", importance=0.2)
    await _recalled(workspace, recalled.id, 3, apart=timedelta(minutes=11))
    clock.advance(days=90)  # type: ignore[attr-defined]
    assert (await sweep(workspace)).let_go == {}
    clock.advance(days=1)  # type: ignore[attr-defined]
    assert (await sweep(workspace)).let_go == {"archived": [faded.id]}
    for kept in (pinned, recalled, important, known, practised, decided):
        assert (await _memory(workspace, kept)).status == "active"


async def test_a_second_sweep_at_the_same_moment_changes_nothing(
    workspace: Workspace, keep: Keep, clock: Callable[[], object]
) -> None:
    for number, layer in enumerate(("working", "episodic", "semantic", "episodic")):
        await keep(f"thing {number} of {layer}", layer=layer, importance=0.1, tier=["", "standard"][number % 2])
    clock.advance(days=200)  # type: ignore[attr-defined]
    first = await sweep(workspace)
    assert first.let_go
    before = await workspace.store.find()
    events = await workspace.store.database.table("events").count()
    again = await sweep(workspace)
    assert (again.let_go, again.moved, again.made_core) == ({}, {}, [])
    assert await workspace.store.find() == before
    assert await workspace.store.database.table("events").count() == events


async def test_sessions_that_sweep_at_once_act_once(
    open_workspace: OpenWorkspace, clock: Callable[[], object]
) -> None:
    sessions = [await open_workspace() for _ in range(4)]
    kept = await remember.remember(sessions[0], remember.Request(content="the fair", forget_after="1d"))
    clock.advance(days=2)  # type: ignore[attr-defined]
    answers = await asyncio.gather(*(sweep(session) for session in sessions))
    assert sum(answer.let_go == {"ttl-expired": [kept.id]} for answer in answers) == 1
    actions = [event.action for event in await sessions[0].store.journal.about(kept.id)]
    assert actions == ["remembered", "ttl-expired"]


async def test_tiers_let_go_of_what_fades_and_of_nothing_else(
    workspace: Workspace, keep: Keep, clock: Callable[[], object]
) -> None:
    fish = await keep("ship moon harbour", layer="episodic", tier="goldfish")
    week = await keep("lamp stone river", layer="episodic", tier="standard")
    await keep("glass iron wool", layer="semantic", tier="goldfish")
    await keep("salt rope anchor", layer="episodic", tier="permanent")
    clock.advance(hours=9)  # type: ignore[attr-defined]
    assert (await sweep(workspace)).let_go == {"tier-expired": [fish.id]}
    clock.advance(days=7)  # type: ignore[attr-defined]
    assert (await sweep(workspace)).let_go == {"tier-expired": [week.id]}
    clock.advance(days=80)  # type: ignore[attr-defined]
    assert (await sweep(workspace)).let_go == {}


async def test_a_domain_may_have_a_tier_for_all(open_workspace: OpenWorkspace, clock: Callable[[], object]) -> None:
    workspace = await open_workspace(tier="standard")
    kept = await remember.remember(workspace, remember.Request(content="ship moon", layer="episodic"))
    clock.advance(days=8)  # type: ignore[attr-defined]
    assert (await sweep(workspace)).let_go == {"tier-expired": [kept.id]}


async def test_a_pin_outlasts_every_rule(workspace: Workspace, keep: Keep, clock: Callable[[], object]) -> None:
    kept = await keep("ship moon", layer="episodic", importance=0.0, tier="goldfish", forget_after="1h")
    await pin(workspace, kept.id)
    clock.advance(days=4000)  # type: ignore[attr-defined]
    assert (await sweep(workspace)).let_go == {}
    assert (await _memory(workspace, kept)).status == "active"
