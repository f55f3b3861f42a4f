import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta

import pytest

from reverie.errors import StoreBusy
from reverie.lifecycle.vitals import after_access
from reverie.memory import Memory
from reverie.storage import access_log as accesses
from reverie.storage.access_log import AccessRecorder, record
from reverie.storage.filters import Condition
from reverie.storage.lance_table import Table
from reverie.storage.locks import ProcessLock
from reverie.storage.purge import purge
from reverie.storage.rows import Embedded
from reverie.tools.session import Session

pytestmark = pytest.mark.anyio

Make = Callable[..., Embedded]
OpenSession = Callable[..., Awaitable[Session]]


async def _kept(session: Session, item: Embedded) -> Memory:
    await session.store.add([item], actor="test", at=session.now)
    return item.memory


async def test_the_store_counts_as_the_lifecycle_says(session: Session, make: Make) -> None:
    start = session.now
    first = await _kept(session, make("one"))
    second = await _kept(session, make("two", last_accessed_at=start - timedelta(days=9), stability=0.6))
    expected = {memory.id: memory for memory in (first, second)}
    for days in (0.01, 1, 1.5, 40):
        at = start + timedelta(days=days)
        async with session.store.changing():
            await record(session.store, {first.id: at, second.id: at})
        expected = {i: after_access(memory, at, session.store.session) for i, memory in expected.items()}
    assert await session.store.get([first.id, second.id]) == expected


async def test_only_the_latest_access_times_are_kept(session: Session, make: Make) -> None:
    memory = await _kept(session, make("often"))
    expected = memory
    for minute in range(40):
        at = session.now + timedelta(minutes=minute)
        async with session.store.changing():
            await record(session.store, {memory.id: at})
        expected = after_access(expected, at, session.store.session)
    found = await session.store.resolve(memory.id)
    assert (found.access_count, len(found.access_times)) == (40, 32)
    assert found == expected


async def test_a_memory_served_again_within_ten_minutes_counts_once(session: Session, make: Make) -> None:
    memory = await _kept(session, make("served"))
    recorder = AccessRecorder(session.store)
    for minute in (0, 3, 9.9, 10, 12, 21):
        recorder.note([memory], session.now + timedelta(minutes=minute))
    await recorder.count()
    assert (await session.store.resolve(memory.id)).access_count == 3  # at 0, 10 and 21 minutes


async def test_noting_an_access_writes_nothing_yet(session: Session, make: Make) -> None:
    memory = await _kept(session, make("served"))
    version = await session.store.database.table("semantic").version()
    recorder = AccessRecorder(session.store)
    recorder.note([memory], session.now)
    assert await session.store.database.table("semantic").version() == version
    await recorder.count()


async def test_a_memory_that_moved_meanwhile_is_still_counted(session: Session, make: Make) -> None:
    memory = await _kept(session, make("served"))
    recorder = AccessRecorder(session.store)
    recorder.note([memory], session.now)
    async with session.store.changing():
        await session.store.move(memory, "procedural", actor="test", at=session.now)
    await recorder.count()
    assert (await session.store.resolve(memory.id)).access_count == 1


async def test_sessions_that_count_at_once_all_count(open_session: OpenSession, make: Make) -> None:
    sessions = [await open_session() for _ in range(6)]
    memory = await _kept(sessions[0], make("popular"))
    recorders = [AccessRecorder(session.store) for session in sessions]
    for recorder in recorders:
        recorder.note([memory], sessions[0].now)
    await asyncio.gather(*(recorder.count() for recorder in recorders))
    found = await sessions[0].store.resolve(memory.id)
    assert found.access_count == 6
    assert set(found.sessions) == {session.store.session for session in sessions}
    assert await sessions[0].store.database.table("accesses").count() == 6


async def test_memories_served_at_different_moments_are_counted_in_one_write(session: Session, make: Make) -> None:
    memories = [await _kept(session, make(f"thing {number}")) for number in range(3)]
    recorder = AccessRecorder(session.store)
    moments = [session.now + timedelta(seconds=number, microseconds=number) for number in range(3)]
    for memory, moment in zip(memories, moments, strict=True):
        recorder.note([memory], moment)
    before = await session.store.database.table("semantic").version()
    await recorder.count()
    assert await session.store.database.table("semantic").version() == before + 1
    found = await session.store.get([memory.id for memory in memories])
    session = session.store.session
    assert list(found.values()) == [after_access(m, at, session) for m, at in zip(memories, moments, strict=True)]


async def test_what_a_session_noted_before_it_ended_is_counted_by_the_next(
    open_session: OpenSession, make: Make
) -> None:
    first, second = await open_session(), await open_session()
    memory = await _kept(first, make("served"))
    version = await first.store.database.table("semantic").version()
    first.accesses.note([memory], first.now)
    await first.close()
    assert await second.store.database.table("semantic").version() == version  # ending costs no commit
    await second.accesses.count()
    found = await second.store.resolve(memory.id)
    assert (found.access_count, found.sessions) == (1, (first.store.session,))


async def test_who_leaves_waits_for_what_is_on_its_way_to_the_file(session: Session, make: Make) -> None:
    memory = await _kept(session, make("served"))
    recorder = AccessRecorder(session.store)
    folder = session.store.folder
    async with ProcessLock(folder / "locks" / "accesses.lock").held():  # as another process does while it writes
        recorder.note([memory], session.now)
        await asyncio.sleep(0.05)  # the write behind the answer has begun, and waits for the lock
        leaving = asyncio.create_task(recorder.keep())
        await asyncio.sleep(0.05)
        assert not leaving.done()
    await leaving
    assert memory.id.encode() in (folder / "accesses" / "waiting.jsonl").read_bytes()
    await recorder.stop()


async def test_a_counting_that_was_cut_short_counts_nothing_twice_and_loses_nothing(
    session: Session, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    early, late = await _kept(session, make("one")), await _kept(session, make("two", layer="episodic"))
    session.accesses.note([early, late], session.now)
    await session.accesses.keep()
    update_by = Table.update_by

    async def cut_short(self: Table, expressions: Mapping[str, str], where: Condition) -> int:
        if self.name == "episodic":
            raise StoreBusy("the power went out")
        return await update_by(self, expressions, where)

    with monkeypatch.context() as patch:
        patch.setattr(Table, "update_by", cut_short)
        with pytest.raises(StoreBusy):
            await session.accesses.count()
    for _ in range(2):
        await session.accesses.count()
    found = await session.store.get([early.id, late.id])
    assert [memory.access_count for memory in found.values()] == [1, 1]


async def test_a_memory_purged_before_it_is_counted_is_passed_over(session: Session, make: Make) -> None:
    gone, kept = await _kept(session, make("gone")), await _kept(session, make("kept"))
    session.accesses.note([gone, kept], session.now)
    async with session.store.changing():
        await purge(session.store, [gone], actor="test", at=session.now)
    await session.accesses.count()
    assert (await session.store.resolve(kept.id)).access_count == 1
    assert await session.store.database.table("accesses").count() == 1


async def test_what_cannot_be_written_waits_up_to_a_limit(
    session: Session, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accesses, "MOST_NOTED", 2)
    memories = [await _kept(session, make(f"thing {number}")) for number in range(3)]
    recorder = AccessRecorder(session.store)
    recorder.note(memories, session.now)
    await recorder.count()
    found = await session.store.get([memory.id for memory in memories])
    assert [memory.access_count for memory in found.values()] == [0, 1, 1]


async def test_upkeep_comes_to_know_of_counting(session: Session, make: Make) -> None:
    memory = await _kept(session, make("served"))
    told: list[str] = []
    recorder = AccessRecorder(session.store, lambda: told.append("wrote"))
    recorder.note([memory], session.now)
    await recorder.count()
    await recorder.count()
    assert told == ["wrote"]
