import asyncio
from collections.abc import Awaitable, Callable

import pytest

from reverie.memory import LAYERS
from reverie.storage import maintenance as upkeep_module
from reverie.storage.maintenance import Maintenance
from reverie.storage.rows import Embedded
from reverie.storage.scope import Scope
from reverie.tools.session import Session

pytestmark = pytest.mark.anyio

Make = Callable[..., Embedded]
OpenSession = Callable[..., Awaitable[Session]]


async def _add_singly(session: Session, make: Make, count: int) -> None:
    for number in range(count):
        await session.store.add([make(f"lamp number {number}")], actor="test", at=session.now)
        await session.store.database.write_ahead_log.flush()


async def test_pieces_are_merged_and_nothing_is_lost(session: Session, make: Make) -> None:
    await _add_singly(session, make, 20)
    table = session.store.database.table("semantic")
    assert await table.fragments() == 20
    assert "semantic" in await Maintenance(session.store).run()
    assert await table.fragments() == 1
    assert await session.store.count() == 20
    assert len(await session.store.matching("lamp", Scope(), 50)) == 20


async def test_a_tidy_store_is_left_alone(session: Session, make: Make) -> None:
    await _add_singly(session, make, 3)
    versions = [await session.store.database.table(layer).version() for layer in LAYERS]
    assert await Maintenance(session.store).run() == []
    assert [await session.store.database.table(layer).version() for layer in LAYERS] == versions


async def test_many_single_writes_never_leave_many_pieces(session: Session, make: Make) -> None:
    for number in range(120):
        await session.store.add([make(f"lamp number {number}")], actor="test", at=session.now)
        await session.store.database.write_ahead_log.flush()
        session.maintenance.note_write()
        await asyncio.sleep(0)
    for _ in range(200):  # the last round of upkeep runs when the writing has ceased
        if await session.store.database.table("semantic").fragments() <= 6:
            break
        await asyncio.sleep(0.05)
    assert await session.store.database.table("semantic").fragments() <= 6
    assert await session.store.count() == 120


async def test_one_process_at_a_time_does_the_work(session: Session, make: Make) -> None:
    await _add_singly(session, make, 20)
    async with session.store.database.maintenance_lock.held():
        other = Maintenance(session.store)
        assert await other.run() == []
    assert await other.run() != []


async def test_a_session_that_reads_while_another_tidies_is_not_disturbed(
    open_session: OpenSession, make: Make
) -> None:
    writer, reader = await open_session(), await open_session()
    await _add_singly(writer, make, 30)
    question = make("lamp number 7").vector

    async def read() -> None:
        for _ in range(15):
            assert len(await reader.store.nearest(question, Scope(), 50)) == 30
            assert len(await reader.store.matching("lamp", Scope(), 50)) == 30

    await asyncio.gather(read(), Maintenance(writer.store).run())


async def test_a_large_store_gets_its_indexes_and_still_finds_exactly(
    open_session: OpenSession, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await open_session(search_memory=0)
    monkeypatch.setattr(upkeep_module, "FEWEST_ROWS_TO_INDEX_VECTORS", 256)
    monkeypatch.setattr(upkeep_module, "FEWEST_ROWS_TO_INDEX_VALUES", 256)
    items = [make(f"lamp{n} of street{n % 17} in town{n % 5} number {n}") for n in range(300)]
    await session.store.add(items, actor="test", at=session.now)
    await Maintenance(session.store).run()
    table = session.store.database.table("semantic")
    assert {"vector", "project", "status", "content_hash"} <= await table.indexed_columns()
    late = make("lamp of a street nobody knew")
    await session.store.add([late], actor="test", at=session.now)
    for item in (*items[::60], late):
        [best, *_] = await session.store.nearest(item.vector, Scope(), 3)
        assert best.similarity > 0.999
    assert await Maintenance(session.store).run() == []
