"""Logs past ninety days are folded; memories and their counts are not touched."""

import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from reverie.memory import to_record
from reverie.tools.recall import recall
from reverie.tools.requests import MoveRequest, PinRequest, RecallRequest
from reverie.tools.results import Consolidated, Remembered
from reverie.tools.revise import demote, pin
from reverie.tools.session import Session

pytestmark = pytest.mark.anyio

Keep = Callable[..., Awaitable[Remembered]]
RunDream = Callable[..., Awaitable[Consolidated]]


@pytest.mark.rule("002-dream")
async def test_old_accesses_and_events_are_folded_into_counts(
    session: Session, keep: Keep, run_dream: RunDream, clock: Any
) -> None:
    kept = await keep("The lamp of the harbour burns oil", layer="semantic")
    down = await keep("The bell of the harbour rings twice", layer="semantic")
    demoted_at = session.now
    await demote(session, MoveRequest(id=down.id))
    await recall(session, RecallRequest(query="lamp harbour oil"))
    await session.accesses.count()
    before = to_record(await session.store.resolve(kept.id))
    clock.advance(days=91)
    await keep("A new day begins here", layer="semantic")
    result = await run_dream("prune")
    [step] = result.steps
    assert step.notes == [
        "2 accesses past 90 days, already in the counts",
        "1 events past 90 days that replaced nothing, folded into counts",
    ]
    assert to_record(await session.store.resolve(kept.id)) == before
    assert await session.store.database.table("accesses").count() == 0
    [folded] = await session.store.journal.about("")
    assert json.loads(folded.reason or "")["counts"] == {"remembered": 1}
    [demotion] = await session.store.journal.about(down.id)
    assert (demotion.actor, demotion.at) == ("demote", demoted_at)
    assert (await run_dream("prune")).steps[0].notes == []


async def test_logs_of_ninety_days_are_kept(session: Session, keep: Keep, run_dream: RunDream, clock: Any) -> None:
    kept = await keep("The lamp of the harbour burns oil")
    await pin(session, PinRequest(id=kept.id))
    clock.advance(days=90)
    await run_dream("prune")
    events = session.store.database.table("events")
    await session.store.journal.flush()
    assert await events.count() == 2
    clock.moment += timedelta(seconds=1)
    await run_dream("prune")
    await session.store.journal.flush()
    assert sorted((await events.rows(["action"])).column("action").to_pylist()) == ["folded", "pinned"]
