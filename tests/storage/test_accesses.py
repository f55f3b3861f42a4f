import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from reverie.lifecycle.access import after_access
from reverie.memory import Memory
from reverie.storage.accesses import AccessRecorder, record
from reverie.storage.rows import Embedded
from reverie.tools.workspace import Workspace

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
    await recorder.flush()
    assert (await workspace.store.resolve(memory.id)).access_count == 3  # at 0, 10 and 21 minutes


async def test_noting_an_access_writes_nothing_yet(workspace: Workspace, make: Make) -> None:
    memory = await _kept(workspace, make("served"))
    version = await workspace.store.database.table("semantic").version()
    recorder = AccessRecorder(workspace.store)
    recorder.note([memory], workspace.now)
    assert await workspace.store.database.table("semantic").version() == version
    await recorder.flush()


async def test_a_memory_that_moved_meanwhile_is_still_counted(workspace: Workspace, make: Make) -> None:
    memory = await _kept(workspace, make("served"))
    recorder = AccessRecorder(workspace.store)
    recorder.note([memory], workspace.now)
    async with workspace.store.changing():
        await workspace.store.move(memory, "procedural", actor="test", at=workspace.now)
    await recorder.flush()
    assert (await workspace.store.resolve(memory.id)).access_count == 1


async def test_sessions_that_count_at_once_all_count(open_workspace: OpenWorkspace, make: Make) -> None:
    sessions = [await open_workspace() for _ in range(6)]
    memory = await _kept(sessions[0], make("popular"))
    recorders = [AccessRecorder(session.store) for session in sessions]
    for recorder in recorders:
        recorder.note([memory], sessions[0].now)
    await asyncio.gather(*(recorder.flush() for recorder in recorders))
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
    await recorder.flush()
    assert await workspace.store.database.table("semantic").version() == before + 1
    found = await workspace.store.get([memory.id for memory in memories])
    session = workspace.store.session
    assert list(found.values()) == [after_access(m, at, session) for m, at in zip(memories, moments, strict=True)]


async def test_upkeep_comes_to_know_of_counting(workspace: Workspace, make: Make) -> None:
    memory = await _kept(workspace, make("served"))
    told: list[str] = []
    recorder = AccessRecorder(workspace.store, lambda: told.append("wrote"))
    recorder.note([memory], workspace.now)
    await recorder.flush()
    await recorder.flush()
    assert told == ["wrote"]
