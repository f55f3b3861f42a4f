import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta

import pytest

from reverie.errors import StoreBusy
from reverie.lifecycle.access import after_access
from reverie.memory import Memory
from reverie.storage import access_log as accesses
from reverie.storage.access_log import AccessRecorder, record
from reverie.storage.filters import Condition
from reverie.storage.lance_table import Table
from reverie.storage.purge import purge
from reverie.storage.rows import Embedded
from reverie.tools.session import Workspace

pytestmark = pytest.mark.anyio

Make = Callable[..., Embedded]
OpenWorkspace = Callable[..., Awaitable[Workspace]]


async def _kept(workspace: Workspace, item: Embedded) -> Memory:
    await workspace.store.add([item], actor="test", at=workspace.now)
    return item.memory


async def test_the_store_counts_as_the_lifecycle_says(workspace: Workspace, make: Make) -> None:
    start = workspace.now
    first = await _kept(workspace, make("one"))
    second = await _kept(workspace, make("two", last_accessed_at=start - timedelta(days=9), stability=0.6))
    expected = {memory.id: memory for memory in (first, second)}
    for days in (0.01, 1, 1.5, 40):
        at = start + timedelta(days=days)
        async with workspace.store.changing():
            await record(workspace.store, {first.id: at, second.id: at})
        expected = {i: after_access(memory, at, workspace.store.session) for i, memory in expected.items()}
    assert await workspace.store.get([first.id, second.id]) == expected


async def test_only_the_latest_access_times_are_kept(workspace: Workspace, make: Make) -> None:
    memory = await _kept(workspace, make("often"))
    expected = memory
    for minute in range(40):
        at = workspace.now + timedelta(minutes=minute)
        async with workspace.store.changing():
            await record(workspace.store, {memory.id: at})
        expected = after_access(expected, at, workspace.store.session)
    found = await workspace.store.resolve(memory.id)
    assert (found.access_count, len(found.access_times)) == (40, 32)
    assert found == expected


async def test_a_memory_served_again_within_ten_minutes_counts_once(workspace: Workspace, make: Make) -> None:
    memory = await _kept(workspace, make("served"))
    recorder = AccessRecorder(workspace.store)
    for minute in (0, 3, 9.9, 10, 12, 21):
        recorder.note([memory], workspace.now + timedelta(minutes=minute))
    await recorder.count()
    assert (await workspace.store.resolve(memory.id)).access_count == 3  # at 0, 10 and 21 minutes


async def test_noting_an_access_writes_nothing_yet(workspace: Workspace, make: Make) -> None:
    memory = await _kept(workspace, make("served"))
    version = await workspace.store.database.table("semantic").version()
    recorder = AccessRecorder(workspace.store)
    recorder.note([memory], workspace.now)
    assert await workspace.store.database.table("semantic").version() == version
    await recorder.count()


async def test_a_memory_that_moved_meanwhile_is_still_counted(workspace: Workspace, make: Make) -> None:
    memory = await _kept(workspace, make("served"))
    recorder = AccessRecorder(workspace.store)
    recorder.note([memory], workspace.now)
    async with workspace.store.changing():
        await workspace.store.move(memory, "procedural", actor="test", at=workspace.now)
    await recorder.count()
    assert (await workspace.store.resolve(memory.id)).access_count == 1


async def test_sessions_that_count_at_once_all_count(open_workspace: OpenWorkspace, make: Make) -> None:
    sessions = [await open_workspace() for _ in range(6)]
    memory = await _kept(sessions[0], make("popular"))
    recorders = [AccessRecorder(session.store) for session in sessions]
    for recorder in recorders:
        recorder.note([memory], sessions[0].now)
    await asyncio.gather(*(recorder.count() for recorder in recorders))
    found = await sessions[0].store.resolve(memory.id)
    assert found.access_count == 6
    assert set(found.sessions) == {session.store.session for session in sessions}
    assert await sessions[0].store.database.table("accesses").count() == 6


async def test_memories_served_at_different_moments_are_counted_in_one_write(
    workspace: Workspace, make: Make
) -> None:
    memories = [await _kept(workspace, make(f"thing {number}")) for number in range(3)]
    recorder = AccessRecorder(workspace.store)
    moments = [workspace.now + timedelta(seconds=number, microseconds=number) for number in range(3)]
    for memory, moment in zip(memories, moments, strict=True):
        recorder.note([memory], moment)
    before = await workspace.store.database.table("semantic").version()
    await recorder.count()
    assert await workspace.store.database.table("semantic").version() == before + 1
    found = await workspace.store.get([memory.id for memory in memories])
    session = workspace.store.session
    assert list(found.values()) == [after_access(m, at, session) for m, at in zip(memories, moments, strict=True)]


async def test_what_a_session_noted_before_it_ended_is_counted_by_the_next(
    open_workspace: OpenWorkspace, make: Make
) -> None:
    first, second = await open_workspace(), await open_workspace()
    memory = await _kept(first, make("served"))
    version = await first.store.database.table("semantic").version()
    first.accesses.note([memory], first.now)
    await first.close()
    assert await second.store.database.table("semantic").version() == version  # ending costs no commit
    await second.accesses.count()
    found = await second.store.resolve(memory.id)
    assert (found.access_count, found.sessions) == (1, (first.store.session,))


async def test_a_counting_that_was_cut_short_counts_nothing_twice_and_loses_nothing(
    workspace: Workspace, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    early, late = await _kept(workspace, make("one")), await _kept(workspace, make("two", layer="episodic"))
    workspace.accesses.note([early, late], workspace.now)
    await workspace.accesses.keep()
    update_by = Table.update_by

    async def cut_short(self: Table, expressions: Mapping[str, str], where: Condition) -> int:
        if self.name == "episodic":
            raise StoreBusy("the power went out")
        return await update_by(self, expressions, where)

    with monkeypatch.context() as patch:
        patch.setattr(Table, "update_by", cut_short)
        with pytest.raises(StoreBusy):
            await workspace.accesses.count()
    for _ in range(2):
        await workspace.accesses.count()
    found = await workspace.store.get([early.id, late.id])
    assert [memory.access_count for memory in found.values()] == [1, 1]


async def test_a_memory_purged_before_it_is_counted_is_passed_over(workspace: Workspace, make: Make) -> None:
    gone, kept = await _kept(workspace, make("gone")), await _kept(workspace, make("kept"))
    workspace.accesses.note([gone, kept], workspace.now)
    async with workspace.store.changing():
        await purge(workspace.store, [gone], actor="test", at=workspace.now)
    await workspace.accesses.count()
    assert (await workspace.store.resolve(kept.id)).access_count == 1
    assert await workspace.store.database.table("accesses").count() == 1


async def test_what_cannot_be_written_waits_up_to_a_limit(
    workspace: Workspace, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accesses, "MOST_NOTED", 2)
    memories = [await _kept(workspace, make(f"thing {number}")) for number in range(3)]
    recorder = AccessRecorder(workspace.store)
    recorder.note(memories, workspace.now)
    await recorder.count()
    found = await workspace.store.get([memory.id for memory in memories])
    assert [memory.access_count for memory in found.values()] == [0, 1, 1]


async def test_upkeep_comes_to_know_of_counting(workspace: Workspace, make: Make) -> None:
    memory = await _kept(workspace, make("served"))
    told: list[str] = []
    recorder = AccessRecorder(workspace.store, lambda: told.append("wrote"))
    recorder.note([memory], workspace.now)
    await recorder.count()
    await recorder.count()
    assert told == ["wrote"]
