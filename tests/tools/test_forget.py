from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from reverie.errors import InvalidInput, MemoryNotFound
from reverie.lifecycle.vitals import after_access
from reverie.tools.consolidate import consolidate
from reverie.tools.forget import forget
from reverie.tools.requests import ConsolidateRequest, ForgetRequest, PinRequest, RestoreRequest, ReviseRequest
from reverie.tools.restore import restore
from reverie.tools.results import Remembered, Skipped
from reverie.tools.revise import pin, revise
from reverie.tools.session import Session

pytestmark = pytest.mark.anyio

Keep = Callable[..., Awaitable[Remembered]]


def _files_that_hold(home: Path, word: bytes) -> list[Path]:
    return [path for path in home.rglob("*") if path.is_file() and word in path.read_bytes()]


async def test_forgetting_is_soft_with_a_reason_and_an_event(session: Session, keep: Keep) -> None:
    kept = await keep("the lamp burns oil")
    answer = await forget(session, ForgetRequest(ids=[kept.id[:9]], reason="it's out"))
    assert (answer.forgotten, answer.skipped, answer.dry_run) == ([kept.id], [], False)
    memory = await session.store.resolve(kept.id)
    assert (memory.status, memory.expired_at, memory.status_reason) == ("expired", session.now, "it's out")
    assert [event.action for event in await session.store.journal.about(kept.id)] == ["remembered", "forgotten"]


async def test_a_pinned_memory_is_skipped_by_every_way_of_forgetting(
    session: Session, keep: Keep, clock: Callable[[], object]
) -> None:
    kept = await keep("the lamp burns oil", tags=["x"], importance=0.0, layer="episodic")
    await pin(session, PinRequest(id=kept.id))
    clock.advance(minutes=1)  # type: ignore[attr-defined] # a filter tells only what fits it
    requests = [
        ForgetRequest(ids=[kept.id]),
        ForgetRequest(ids=[kept.id], purge=True),
        ForgetRequest(min_strength=100),
        ForgetRequest(older_than="0d"),
        ForgetRequest(layer="episodic"),
        ForgetRequest(tag="x"),
        ForgetRequest(project=session.here.project),
        ForgetRequest(tag="x", purge=True),
    ]
    for request in requests:
        answer = await forget(session, request)
        assert (answer.forgotten, answer.skipped) == ([], [Skipped(kept.id, "pinned")])
    assert (await session.store.resolve(kept.id)).status == "active"


@pytest.mark.rule("003-dry-run")
async def test_a_dry_run_tells_and_changes_nothing(session: Session, keep: Keep) -> None:
    kept = await keep("the lamp burns oil")
    for purge in (False, True):
        answer = await forget(session, ForgetRequest(ids=[kept.id], dry_run=True, purge=purge))
        assert (answer.forgotten, answer.dry_run) == ([kept.id], True)
    assert (await session.store.resolve(kept.id)).status == "active"
    assert len(await session.store.journal.about(kept.id)) == 1


async def test_filters_are_joined(session: Session, keep: Keep, clock: Callable[[], object]) -> None:
    old = await keep("lamp one", layer="episodic", tags=["x"])
    clock.advance(days=100)  # type: ignore[attr-defined]
    fresh = await keep("harbour two", layer="episodic", tags=["x"])
    other = await keep("invoice three", layer="semantic", tags=["x"])
    await keep("elsewhere four", layer="episodic", tags=["x"], project="there")
    answer = await forget(session, ForgetRequest(older_than="90d", tag="x", dry_run=True))
    assert answer.forgotten == [old.id]
    assert (await forget(session, ForgetRequest(layer="episodic", dry_run=True))).forgotten == [old.id, fresh.id]
    assert (await forget(session, ForgetRequest(tag="x", dry_run=True))).forgotten == [old.id, fresh.id, other.id]


@pytest.mark.rule("004-forget")
async def test_the_weak_are_forgotten_by_their_strength(
    session: Session, keep: Keep, clock: Callable[[], object]
) -> None:
    faded = await keep("lamp one", layer="episodic", importance=0.5)
    lasting = await keep("harbour two", layer="semantic", importance=0.5)
    clock.advance(days=30)  # type: ignore[attr-defined] # an episodic memory has a hundredth left, a semantic half
    answer = await forget(session, ForgetRequest(min_strength=0.05))
    assert answer.forgotten == [faded.id]
    assert (await session.store.resolve(lasting.id)).status == "active"


async def test_what_is_gone_already_is_said_so(session: Session, keep: Keep) -> None:
    kept = await keep("the lamp burns oil")
    await forget(session, ForgetRequest(ids=[kept.id]))
    answer = await forget(session, ForgetRequest(ids=[kept.id]))
    assert (answer.forgotten, answer.skipped) == ([], [Skipped(kept.id, "already expired")])


async def test_a_purge_leaves_no_byte_behind(session: Session, keep: Keep, home: Path) -> None:
    kept = await keep("the zanzibarlamp burns oil", title="zanzibartitle")
    await keep("another thing")
    answer = await forget(session, ForgetRequest(ids=[kept.id], purge=True))
    assert answer.forgotten == [kept.id]
    assert _files_that_hold(home, b"zanzibar") == []
    with pytest.raises(MemoryNotFound):
        await session.store.resolve(kept.id)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"ids": ["a" * 8], "tag": "x"},
        {"older_than": "long ago"},
        {"layer": "attic"},
        {"min_strength": -1},
        {"ids": [""]},
        {"ids": ["x" * 9] * 1 + [str(n) * 9 for n in range(101)]},
    ],
)
async def test_a_wrong_request_changes_nothing(session: Session, keep: Keep, arguments: dict[str, Any]) -> None:
    kept = await keep("the lamp burns oil", tags=["x"])
    with pytest.raises(InvalidInput):
        await forget(session, ForgetRequest(**arguments))
    assert (await session.store.resolve(kept.id)).status == "active"


async def test_one_unknown_id_means_that_none_is_forgotten(session: Session, keep: Keep) -> None:
    kept = await keep("the lamp burns oil")
    with pytest.raises(MemoryNotFound):
        await forget(session, ForgetRequest(ids=[kept.id, "not-a-memory"]))
    assert (await session.store.resolve(kept.id)).status == "active"


async def test_what_was_forgotten_can_be_brought_back_whole(session: Session, keep: Keep) -> None:
    kept = await keep("the lamp burns oil")
    before = await session.store.resolve(kept.id)
    await forget(session, ForgetRequest(ids=[kept.id]))
    answer = await restore(session, RestoreRequest(ids=[kept.id]))
    assert answer.restored == [kept.id]
    # Whole, and recalled once: bringing a memory back is a use of it.
    assert await session.store.resolve(kept.id) == after_access(before, session.now, session.store.session)


async def test_a_purge_names_what_may_still_say_the_same(session: Session, keep: Keep) -> None:
    text = "The backup of the billing database runs nightly on the second replica"
    older = await keep(text, layer="semantic")
    newer = await keep(text + "!", layer="semantic")
    elsewhere = await keep(text, layer="semantic", project="elsewhere")
    await consolidate(session, ConsolidateRequest(steps=["dedupe"]))
    assert (await session.store.resolve(older.id)).superseded_by == newer.id
    first = await revise(session, ReviseRequest(id=newer.id, content="The backup runs on the third replica"))
    second = await revise(session, ReviseRequest(id=first.id, content="The backup runs on the fourth replica"))
    answer = await forget(session, ForgetRequest(ids=[older.id], purge=True))
    assert {one.id: one.reason.partition(";")[0] for one in answer.skipped} == {
        newer.id: "took its place, and may say the same",
        elsewhere.id: "a copy, word for word",
    }
    answer = await forget(session, ForgetRequest(ids=[newer.id], purge=True))
    assert {one.id for one in answer.skipped} == {first.id, second.id}
    assert {one.reason for one in answer.skipped} == {"made from what was purged; purge it too if need be"}


async def test_a_filter_reports_only_what_matches_it(
    session: Session, keep: Keep, clock: Callable[[], object]
) -> None:
    old = await keep("lamp one", layer="episodic", importance=0.1, pin=True)
    clock.advance(days=100)  # type: ignore[attr-defined]
    fresh = await keep("harbour two", layer="episodic", importance=0.9, pin=True)
    answer = await forget(session, ForgetRequest(older_than="90d"))
    assert (answer.forgotten, answer.skipped) == ([], [Skipped(old.id, "pinned")])
    answer = await forget(session, ForgetRequest(min_strength=0.05))
    assert fresh.id not in [one.id for one in answer.skipped]
