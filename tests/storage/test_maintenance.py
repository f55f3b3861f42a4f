import asyncio
from collections.abc import Awaitable, Callable

import pytest

from reverie.memory import LAYERS
from reverie.storage import candidates as vectors
from reverie.storage import maintenance as upkeep_module
from reverie.storage.maintenance import Upkeep
from reverie.storage.rows import Embedded
from reverie.storage.scope import Scope
from reverie.tools.session import Workspace

pytestmark = pytest.mark.anyio

Make = Callable[..., Embedded]
OpenWorkspace = Callable[..., Awaitable[Workspace]]


async def _add_singly(workspace: Workspace, make: Make, count: int) -> None:
    for number in range(count):
        await workspace.store.add([make(f"lamp number {number}")], actor="test", at=workspace.now)
        await workspace.store.database.additions.settle()


async def test_pieces_are_merged_and_nothing_is_lost(workspace: Workspace, make: Make) -> None:
    await _add_singly(workspace, make, 20)
    table = workspace.store.database.table("semantic")
    assert await table.fragments() == 20
    assert "semantic" in await Upkeep(workspace.store.database, workspace.store.journal).run()
    assert await table.fragments() == 1
    assert await workspace.store.count() == 20
    assert len(await workspace.store.matching("lamp", Scope(), 50)) == 20


async def test_a_tidy_store_is_left_alone(workspace: Workspace, make: Make) -> None:
    await _add_singly(workspace, make, 3)
    versions = [await workspace.store.database.table(layer).version() for layer in LAYERS]
    assert await Upkeep(workspace.store.database, workspace.store.journal).run() == []
    assert [await workspace.store.database.table(layer).version() for layer in LAYERS] == versions


async def test_many_single_writes_never_leave_many_pieces(workspace: Workspace, make: Make) -> None:
    for number in range(120):
        await workspace.store.add([make(f"lamp number {number}")], actor="test", at=workspace.now)
        await workspace.store.database.additions.settle()
        workspace.upkeep.note_write()
        await asyncio.sleep(0)
    for _ in range(200):  # the last round of upkeep runs when the writing has ceased
        if await workspace.store.database.table("semantic").fragments() <= 6:
            break
        await asyncio.sleep(0.05)
    assert await workspace.store.database.table("semantic").fragments() <= 6
    assert await workspace.store.count() == 120


async def test_one_process_at_a_time_does_the_work(workspace: Workspace, make: Make) -> None:
    await _add_singly(workspace, make, 20)
    async with workspace.store.database.upkeep_lock.held():
        other = Upkeep(workspace.store.database, workspace.store.journal)
        assert await other.run() == []
    assert await other.run() != []


async def test_a_session_that_reads_while_another_tidies_is_not_disturbed(
    open_workspace: OpenWorkspace, make: Make
) -> None:
    writer, reader = await open_workspace(), await open_workspace()
    await _add_singly(writer, make, 30)
    question = make("lamp number 7").vector

    async def read() -> None:
        for _ in range(15):
            assert len(await reader.store.nearest(question, Scope(), 50)) == 30
            assert len(await reader.store.matching("lamp", Scope(), 50)) == 30

    await asyncio.gather(read(), Upkeep(writer.store.database, writer.store.journal).run())


async def test_a_large_store_gets_its_indexes_and_still_finds_exactly(
    workspace: Workspace, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep_module, "MOST_ON_SHELVES", 250)
    monkeypatch.setattr(upkeep_module, "FEWEST_ROWS_TO_INDEX_VECTORS", 256)
    monkeypatch.setattr(upkeep_module, "FEWEST_ROWS_TO_INDEX_VALUES", 256)
    monkeypatch.setattr(vectors, "MOST_ON_SHELVES", 250)
    items = [make(f"lamp{n} of street{n % 17} in town{n % 5} number {n}") for n in range(300)]
    await workspace.store.add(items, actor="test", at=workspace.now)
    await Upkeep(workspace.store.database, workspace.store.journal).run()
    table = workspace.store.database.table("semantic")
    assert {"vector", "project", "status", "content_hash"} <= await table.indexed_columns()
    late = make("lamp of a street nobody knew")
    await workspace.store.add([late], actor="test", at=workspace.now)
    for item in (*items[::60], late):
        [best, *_] = await workspace.store.nearest(item.vector, Scope(), 3)
        assert best.similarity > 0.999
    assert await Upkeep(workspace.store.database, workspace.store.journal).run() == []
