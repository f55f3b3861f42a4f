"""Questions about the past: what was active then is found, in the layer, status and words it had then."""

import shutil
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from reverie.errors import StoreError
from reverie.ids import content_hash
from reverie.recall.results import Recalled
from reverie.storage.filters import equals
from reverie.storage.rows import Embedded
from reverie.time import iso
from reverie.tools.consolidate import consolidate
from reverie.tools.forget import forget
from reverie.tools.page import browse
from reverie.tools.page_catalog import BrowseRequest
from reverie.tools.requests import ConsolidateRequest, ForgetRequest, MoveRequest, RestoreRequest, ReviseRequest
from reverie.tools.restore import restore
from reverie.tools.results import Remembered
from reverie.tools.revise import promote, revise
from reverie.tools.session import Session
from reverie.tools.sweep import sweep

pytestmark = pytest.mark.anyio

Keep = Callable[..., Awaitable[Remembered]]
Ask = Callable[..., Awaitable[Recalled]]

LAMP = "the lamp burns oil"


class Days:
    """The moments between the steps of a story, one step a day."""

    def __init__(self, clock: Any) -> None:
        self._clock = clock
        self.between: list[str] = []

    def go_on(self) -> str:
        """Let a day pass and return the moment in its middle."""
        self._clock.advance(hours=12)
        self.between.append(iso(self._clock()))
        self._clock.advance(hours=12)
        return self.between[-1]


@pytest.fixture
def days(clock: Any) -> Days:
    return Days(clock)


def _seen(answer: Recalled) -> dict[str, tuple[str, str]]:
    return {row.id: (row.layer, row.status) for row in answer.results}


async def _mark(session: Session, memory_id: str, **values: Any) -> None:
    async with session.store.changing():
        memory = await session.store.resolve(memory_id)
        await session.store.change([memory], values, action="dreamt", actor="dream", at=session.now, batch="d1")


def _lose_the_journal(folder: Path) -> None:
    [journal] = folder.rglob("events.lance")
    shutil.rmtree(journal)


async def test_a_memory_is_absent_before_it_was_made_and_there_from_that_moment(
    clock: Any, keep: Keep, ask: Ask
) -> None:
    made = clock()
    kept = await keep(LAMP)
    clock.advance(days=1)
    assert _seen(await ask("lamp", as_of=iso(made - timedelta(microseconds=1)))) == {}
    assert list(_seen(await ask("lamp", as_of=iso(made)))) == [kept.id]
    assert list(_seen(await ask("lamp", as_of="2030-01-01"))) == [kept.id]


async def test_a_promoted_memory_is_told_in_the_layer_it_had_then(
    session: Session, days: Days, keep: Keep, ask: Ask
) -> None:
    kept = await keep(LAMP, layer="episodic")
    await keep("the lamp stands in the harbour", layer="semantic")
    then = days.go_on()
    await promote(session, MoveRequest(id=kept.id))
    later = days.go_on()
    await promote(session, MoveRequest(id=kept.id))
    days.go_on()
    assert _seen(await ask("lamp burns", as_of=then))[kept.id] == ("episodic", "active")
    assert _seen(await ask("lamp burns", as_of=later))[kept.id] == ("semantic", "active")
    assert _seen(await ask("lamp burns"))[kept.id] == ("procedural", "active")


async def test_the_layers_asked_for_are_those_of_then(session: Session, days: Days, keep: Keep, ask: Ask) -> None:
    kept = await keep(LAMP, layer="episodic")
    then = days.go_on()
    await promote(session, MoveRequest(id=kept.id))
    assert list(_seen(await ask("lamp", as_of=then, layers=["episodic"]))) == [kept.id]
    assert _seen(await ask("lamp", as_of=then, layers=["semantic"])) == {}
    assert _seen(await ask("lamp", layers=["episodic"])) == {}


async def test_of_a_revised_memory_the_words_of_then_are_told(
    session: Session, days: Days, keep: Keep, ask: Ask
) -> None:
    first = await keep(LAMP)
    oil = days.go_on()
    second = await revise(session, ReviseRequest(id=first.id, content="the lamp burns gas"))
    gas = days.go_on()
    third = await revise(session, ReviseRequest(id=second.id, content="the lamp is electric"))
    days.go_on()
    for moment, kept in ((oil, first.id), (gas, second.id), ("", third.id)):
        assert _seen(await ask("lamp", as_of=moment)) == {kept: ("semantic", "active")}


async def test_a_memory_forgotten_and_restored_was_not_there_in_between(
    session: Session, days: Days, keep: Keep, ask: Ask
) -> None:
    kept = await keep(LAMP)
    before = days.go_on()
    await forget(session, ForgetRequest(ids=[kept.id]))
    gone = days.go_on()
    await restore(session, RestoreRequest(ids=[kept.id]))
    back = days.go_on()
    await forget(session, ForgetRequest(ids=[kept.id]))
    days.go_on()
    found = [bool(_seen(await ask("lamp", as_of=moment))) for moment in (before, gone, back, "")]
    assert found == [True, False, True, False]
    assert _seen(await ask("lamp", as_of=gone, include=["expired"])) == {kept.id: ("semantic", "expired")}
    assert _seen(await ask("lamp", as_of=back, include=["expired"])) == {kept.id: ("semantic", "active")}


async def test_a_memory_challenged_since_was_not_in_doubt_then(
    session: Session, days: Days, keep: Keep, ask: Ask
) -> None:
    kept = await keep(LAMP)
    then = days.go_on()
    await _mark(session, kept.id, status="challenged", status_reason="the file is missing")
    doubted = days.go_on()
    await restore(session, RestoreRequest(ids=[kept.id]))
    days.go_on()
    told = [_seen(await ask("lamp", as_of=moment))[kept.id][1] for moment in (then, doubted, "")]
    assert told == ["active", "challenged", "active"]


async def test_what_a_dream_merged_stands_apart_again_before_the_dream_and_after_it_is_undone(
    session: Session, days: Days, keep: Keep, ask: Ask
) -> None:
    one, two = await keep(LAMP), await keep("oil is what the lamp burns")
    faint = await keep("the lamp was bought on a Tuesday", layer="episodic")
    before = days.go_on()
    parent = await session.store.resolve(one.id)
    now = session.now
    derived = replace(
        parent, id="the-dream", source="dream", derived_from=(one.id, two.id), created_at=now, updated_at=now
    )
    [embedding] = await session.embed([derived.content])
    await session.store.add([Embedded(derived, embedding.vector)], actor="dream", at=now)
    for merged in (one.id, two.id):
        await _mark(session, merged, status="superseded", superseded_by=derived.id, expired_at=now)
    await _mark(session, faint.id, status="expired", expired_at=now, status_reason="faded")
    after = days.go_on()
    assert _seen(await ask("lamp", as_of=before)).keys() == {one.id, two.id, faint.id}
    assert set(_seen(await ask("lamp", as_of=before)).values()) == {("semantic", "active"), ("episodic", "active")}
    assert _seen(await ask("lamp", as_of=after)).keys() == {derived.id}
    await restore(session, RestoreRequest(dream_id="d1"))
    days.go_on()
    assert _seen(await ask("lamp", as_of=after)).keys() == {derived.id}
    assert {one.id, two.id, faint.id} <= _seen(await ask("lamp")).keys()


async def test_what_an_undone_dream_had_written_is_found_as_of_the_day_it_was_there(
    session: Session, clock: Any, days: Days, keep: Keep, ask: Ask
) -> None:
    for cargo in ("rope", "tar", "sail cloth", "lamp oil", "salt"):
        await keep(f"The schooner Meridian brings {cargo} to the lighthouse", layer="episodic")
    before = days.go_on()
    dreamt = await consolidate(session, ConsolidateRequest(steps=["peer_cards"]))
    [card] = [memory for memory in await session.store.find() if memory.kind == "peer_card"]
    there = days.go_on()
    await restore(session, RestoreRequest(dream_id=dreamt.dream_id))
    assert await session.store.get([card.id]) == {}
    after = days.go_on()
    for _ in range(2):  # the second time the journal is folded
        found = [
            [(row.id, row.content) for row in answer.results if row.kind == "peer_card"]
            for moment in (before, there, after)
            for answer in [await ask("what is the Meridian", as_of=moment)]
        ]
        assert found == [[], [(card.id, card.content)], []]
        listed = await browse(session, BrowseRequest(as_of=there, limit=3))
        assert (listed.memories[0].id, len(listed.memories), listed.total) == (card.id, 3, 6)
        clock.advance(days=200)
        await consolidate(session, ConsolidateRequest(steps=["prune"]))
    await session.accesses.count()  # a recall of what has no row counts nowhere
    await forget(session, ForgetRequest(ids=[card.derived_from[0]], purge=True))
    assert all(row.kind != "peer_card" for row in (await ask("what is the Meridian", as_of=there)).results)


async def test_a_memory_reworded_since_is_found_by_its_words_of_then(
    session: Session, days: Days, keep: Keep, ask: Ask
) -> None:
    kept = await keep(LAMP)
    await keep("the stove burns oil")
    then = days.go_on()
    text = "a buoy floats in the estuary"
    [embedding] = await session.embed([text])
    async with session.store.changing():
        memory = await session.store.resolve(kept.id)
        told = replace(memory, content=text, content_hash=content_hash(text), updated_at=session.now)
        await session.store.replace([Embedded(told, embedding.vector)], actor="import", at=session.now)
    days.go_on()
    first = [(await ask("lamp burns oil", as_of=moment, limit=1)).results[0].content for moment in (then, "")]
    assert first == [LAMP, "the stove burns oil"]
    assert [row.content for row in (await ask("lamp", as_of=then)).results].count(LAMP) == 1


async def test_what_the_sweep_expired_and_moved_is_as_it_was_before(
    session: Session, clock: Any, days: Days, keep: Keep, ask: Ask
) -> None:
    going = await keep("the lamp is lent out", layer="episodic", forget_after="2d")
    moving = await keep("the lamp is on the table", layer="working")
    then = days.go_on()
    clock.advance(days=3)
    await sweep(session)
    assert _seen(await ask("lamp")) == {moving.id: ("episodic", "active")}
    assert _seen(await ask("lamp", as_of=then)) == {
        going.id: ("episodic", "active"),
        moving.id: ("working", "active"),
    }


async def test_asking_about_the_past_does_not_lift_a_quarantine(
    session: Session, days: Days, keep: Keep, ask: Ask
) -> None:
    poisoned, released = await keep(LAMP), await keep("the lamp is never lit")
    await _mark(session, released.id, status="quarantined")
    then = days.go_on()
    await _mark(session, poisoned.id, status="quarantined")
    await restore(session, RestoreRequest(ids=[released.id]))
    days.go_on()
    assert _seen(await ask("lamp", as_of=then)) == {}
    assert _seen(await ask("lamp", as_of=then, include=["quarantined"])) == {
        poisoned.id: ("semantic", "active"),
        released.id: ("semantic", "quarantined"),
    }


async def test_a_tag_added_since_was_not_there_then(session: Session, days: Days, keep: Keep, ask: Ask) -> None:
    kept = await keep(LAMP)
    then = days.go_on()
    await keep(LAMP, tags=["light"])
    days.go_on()
    assert list(_seen(await ask("lamp", tags=["light"]))) == [kept.id]
    assert _seen(await ask("lamp", tags=["light"], as_of=then)) == {}


async def test_a_purged_memory_does_not_come_back(session: Session, days: Days, keep: Keep, ask: Ask) -> None:
    kept = await keep(LAMP)
    then = days.go_on()
    await forget(session, ForgetRequest(ids=[kept.id], purge=True))
    assert _seen(await ask("lamp", as_of=then)) == {}


async def test_a_journal_that_was_cut_still_lets_the_rows_speak(
    session: Session, days: Days, keep: Keep, ask: Ask
) -> None:
    kept = await keep(LAMP)
    then = days.go_on()
    await forget(session, ForgetRequest(ids=[kept.id]))
    gone = days.go_on()
    await session.store.database.table("events").delete(equals("memory_id", kept.id))
    assert list(_seen(await ask("lamp", as_of=then))) == [kept.id]
    assert _seen(await ask("lamp", as_of=gone)) == {}


async def test_since_and_before_are_about_when_it_happened(clock: Any, keep: Keep, ask: Ask) -> None:
    noon = datetime.fromisoformat("2026-01-10T12:00:00Z")
    early = await keep(LAMP, happened_at="2026-01-10T11:59:59Z")
    exact = await keep("the lamp burns gas", happened_at=iso(noon))
    clock.advance(days=1)
    assert list(_seen(await ask("lamp", since=iso(noon)))) == [exact.id]
    assert list(_seen(await ask("lamp", before=iso(noon)))) == [early.id]
    assert _seen(await ask("lamp", since="1d")) == {}
    assert _seen(await ask("lamp", before="9d")).keys() == {early.id, exact.id}


async def test_only_a_question_about_the_past_reads_the_journal(session: Session, keep: Keep, ask: Ask) -> None:
    await keep(LAMP)
    _lose_the_journal(Path(session.settings.domain_uri))
    assert len((await ask("lamp")).results) == 1
    with pytest.raises(StoreError):
        await ask("lamp", as_of="2026-03-01")
