"""Nights on a real store: planned once, applied whole, undone to the letter."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from reverie.dream import batch as applying
from reverie.dream.cycle import recover
from reverie.errors import InvalidInput, StoreBusy
from reverie.memory import to_record
from reverie.storage.audit import audit
from reverie.tools.requests import ConsolidateRequest, PinRequest, RestoreRequest
from reverie.tools.restore import restore
from reverie.tools.results import Consolidated, Remembered
from reverie.tools.revise import pin
from reverie.tools.session import Session

pytestmark = pytest.mark.anyio

Keep = Callable[..., Awaitable[Remembered]]
RunDream = Callable[..., Awaitable[Consolidated]]

PORTS = "The Billing service listens on port {} in production"


async def everything(session: Session) -> dict[str, dict[str, Any]]:
    """Return every field of every memory, whatever its status."""
    return {memory.id: to_record(memory) for memory in await session.store.find()}


async def fill(session: Session, keep: Keep, clock: Any) -> None:
    """Remember enough for every step that works on memories to have something to do."""
    for number in range(6):
        await keep(f"The Billing service writes invoice batch to the archive bucket, note {number}", layer="semantic")
    await keep("Alice prefers small pull requests with one reviewer", layer="semantic")
    await keep("alice prefers small pull requests, with one reviewer!", layer="semantic")
    await keep(PORTS.format(8080), layer="semantic")
    clock.advance(days=3)
    await keep(PORTS.format(9090), layer="semantic")
    await keep("The scratch file of the parser is in the attic", layer="episodic", importance=0.1, source="ingest")
    await keep("It is to be gone tomorrow", forget_after="1d", layer="episodic")
    await keep("Working on the parser right now", layer="working")
    clock.advance(days=200)
    for number in range(4):
        await keep(f"Decided to ship release {number} of the Exporter on Friday", kind="decision", layer="episodic")


async def test_a_dream_changes_something_and_the_same_dream_again_nothing(
    session: Session, keep: Keep, run_dream: RunDream, clock: Any
) -> None:
    await fill(session, keep, clock)
    first = await run_dream()
    assert {step.name for step in first.steps if step.applied} >= {"sweep", "forget", "dedupe", "digest", "beliefs"}
    after = await everything(session)
    second = await run_dream()
    assert [(step.name, step.planned) for step in second.steps if step.planned] == []
    assert (second.changes, second.questions) == ([], [])
    assert await everything(session) == after


async def test_undoing_a_dream_brings_every_field_back(
    session: Session, keep: Keep, run_dream: RunDream, clock: Any
) -> None:
    await fill(session, keep, clock)
    before = await everything(session)
    result = await run_dream()
    assert await everything(session) != before
    await restore(session, RestoreRequest(dream_id=result.dream_id))
    assert await everything(session) == before
    assert await session.store.review_queue.open() == []
    with pytest.raises(InvalidInput, match="undone already"):
        await restore(session, RestoreRequest(dream_id=result.dream_id))


@pytest.mark.rule("003-dry-run")
async def test_a_dry_run_tells_the_same_plan_and_changes_nothing(
    session: Session, keep: Keep, run_dream: RunDream, clock: Any
) -> None:
    await fill(session, keep, clock)
    before = await everything(session)
    preview = await run_dream(dry_run=True)
    assert await everything(session) == before
    assert preview.dream_id == ""
    assert all(step.applied == 0 for step in preview.steps)
    done = await run_dream()
    assert preview.changes == done.changes
    assert preview.questions == done.questions


async def test_undoing_spares_what_somebody_changed_since(
    session: Session, keep: Keep, run_dream: RunDream, clock: Any
) -> None:
    await fill(session, keep, clock)
    result = await run_dream()
    [card] = [one["id"] for one in result.changes if one["action"] == "written" and "peer_card" in one["reason"]][:1]
    await pin(session, PinRequest(id=card))
    answer = await restore(session, RestoreRequest(dream_id=result.dream_id))
    assert [one.id for one in answer.skipped] == [card]
    assert (await session.store.resolve(card)).pinned


async def test_a_second_dream_at_the_same_time_gets_an_error(session: Session, keep: Keep, open_session: Any) -> None:
    from reverie.dream.cycle import dream_lock
    from reverie.tools.consolidate import consolidate

    other = await open_session()
    async with dream_lock(session.store):
        with pytest.raises(StoreBusy, match="is dreaming on this store"):
            await consolidate(other, ConsolidateRequest())
        await keep("Remembering goes on meanwhile")


async def test_a_dream_cut_short_after_the_journal_is_undone_without_a_fault_for_the_audit(
    session: Session, keep: Keep, run_dream: RunDream, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(session, keep, clock)
    before = await everything(session)

    async def killed(*_: Any) -> None:
        raise StoreBusy("killed before any row was written")

    with monkeypatch.context() as patch:
        patch.setattr(applying, "write_batch", killed)
        with pytest.raises(StoreBusy):
            await run_dream()
    assert (await audit(session.store)).faults  # rows that the journal tells of are not there
    await recover(session.store, session.embedder, session.now)
    assert await everything(session) == before
    assert (await audit(session.store)).faults == []
