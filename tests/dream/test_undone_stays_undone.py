"""What was undone stays undone, until there is another reason for it."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from reverie.tools.requests import RestoreRequest
from reverie.tools.restore import restore
from reverie.tools.results import Consolidated, Remembered
from reverie.tools.session import Session
from reverie.tools.sweep import sweep

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

Keep = Callable[..., Awaitable[Remembered]]
RunDream = Callable[..., Awaitable[Consolidated]]

TEXT = "The nightly backup of the billing database runs on the second replica and is kept for ninety days"


async def status(session: Session, memory_id: str) -> str:
    return (await session.store.resolve(memory_id)).status


def notes(dream: Consolidated) -> dict[str, list[str]]:
    return {step.name: step.notes for step in dream.steps if step.notes}


async def test_a_supersession_that_was_undone_is_not_repeated_and_counted_in_the_open(
    session: Session, keep: Keep, run_dream: RunDream, clock: Any
) -> None:
    older, newer = await keep(TEXT, layer="semantic"), await keep(TEXT + "!", layer="semantic")
    await restore(session, RestoreRequest(dream_id=(await run_dream("dedupe")).dream_id))
    clock.advance(days=1)
    again = await run_dream("dedupe")
    assert notes(again) == {"dedupe": ["not done again, because it was undone: 1"]}
    assert [step.planned for step in again.steps] == [0]
    assert {await status(session, one.id) for one in (older, newer)} == {"active"}


async def test_another_memory_that_says_the_same_is_another_reason(
    session: Session, keep: Keep, run_dream: RunDream, clock: Any
) -> None:
    older, newer = await keep(TEXT, layer="semantic"), await keep(TEXT + "!", layer="semantic")
    await restore(session, RestoreRequest(dream_id=(await run_dream("dedupe")).dream_id))
    clock.advance(days=1)
    newest = await keep(TEXT + ".", layer="semantic")
    assert notes(await run_dream("dedupe")) == {"dedupe": ["said again: 1"]}
    statuses = [await status(session, one.id) for one in (older, newer, newest)]
    assert statuses == ["superseded", "superseded", "active"]


async def test_a_doubt_that_was_undone_is_not_raised_again_by_the_same_memory(
    session: Session, keep: Keep, run_dream: RunDream, clock: Any
) -> None:
    belief = await keep("The exporter keeps backups for 30 days", layer="semantic")
    clock.advance(days=1)
    await keep("The exporter keeps backups for 90 days", layer="semantic")
    first = await run_dream("beliefs")
    assert await status(session, belief.id) == "challenged"
    await restore(session, RestoreRequest(dream_id=first.dream_id))
    clock.advance(days=1)
    assert notes(await run_dream("beliefs")) == {"beliefs": ["not done again, because it was undone: 1"]}
    await keep("The exporter keeps backups for 60 days", layer="semantic")
    clock.advance(days=1)
    await run_dream("beliefs")
    assert await status(session, belief.id) == "challenged"


async def test_an_undone_expiry_is_not_repeated_by_the_sweep_until_the_memory_is_recalled(
    session: Session, keep: Keep, run_dream: RunDream, clock: Any
) -> None:
    kept = await keep("Lunch was soup", layer="episodic", importance=0.05)
    clock.advance(days=400)
    first = await run_dream()
    assert await status(session, kept.id) == "expired"
    await restore(session, RestoreRequest(dream_id=first.dream_id))
    clock.advance(days=1)
    await run_dream()
    await sweep(session)
    assert await status(session, kept.id) == "active"
    session.accesses.note([await session.store.resolve(kept.id)], session.now)
    await session.accesses.count()
    clock.advance(days=400)
    await sweep(session)
    assert await status(session, kept.id) == "expired"


async def test_a_card_that_was_undone_is_written_when_there_is_more_to_say(
    session: Session, keep: Keep, run_dream: RunDream, clock: Any
) -> None:
    subjects = ("oil", "rope", "sails", "anchors", "lamps")
    for what in subjects:
        await keep(f"In the harbour Marisol repairs the {what}", layer="semantic")
    first = await run_dream("peer_cards")
    assert "card written: 1" in notes(first)["peer_cards"]
    await restore(session, RestoreRequest(dream_id=first.dream_id))
    clock.advance(days=1)
    assert notes(await run_dream("peer_cards")) == {"peer_cards": ["not done again, because it was undone: 1"]}
    await keep("In the harbour Marisol repairs the windows", layer="semantic")
    assert notes(await run_dream("peer_cards")) == {"peer_cards": ["card written: 1"]}


async def test_an_undo_that_was_cut_short_counts_as_well(
    session: Session, keep: Keep, run_dream: RunDream, clock: Any
) -> None:
    older = await keep(TEXT, layer="semantic")
    await keep(TEXT + "!", layer="semantic")
    undone = (await run_dream("dedupe")).dream_id
    await restore(session, RestoreRequest(dream_id=undone))
    dream_log = session.store.dream_log
    [record] = await dream_log.named(undone)
    await dream_log.write(replace(record, status="undoing"))  # as if killed before the last word of it
    clock.advance(days=1)
    await run_dream("dedupe")
    assert [one.status for one in await dream_log.all()] == ["done", "undone"]
    assert await status(session, older.id) == "active"


async def test_a_single_memory_that_was_brought_back_stays_as_well(
    session: Session, keep: Keep, run_dream: RunDream, clock: Any
) -> None:
    older = await keep(TEXT, layer="semantic")
    await keep(TEXT + "!", layer="semantic")
    await run_dream("dedupe")
    await restore(session, RestoreRequest(ids=[older.id]))
    clock.advance(days=1)
    assert notes(await run_dream("dedupe")) == {"dedupe": ["not done again, because it was undone: 1"]}
    assert await status(session, older.id) == "active"
