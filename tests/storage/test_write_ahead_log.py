import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from reverie.errors import StoreUnavailable
from reverie.storage.lance_table import Table
from reverie.storage.rows import Embedded
from reverie.storage.scope import Scope
from reverie.tools.recall import recall
from reverie.tools.remember import remember
from reverie.tools.requests import RecallRequest, RememberRequest
from reverie.tools.session import Session

pytestmark = pytest.mark.anyio

Make = Callable[..., Embedded]
OpenSession = Callable[..., Awaitable[Session]]


def _folder(home: Path) -> Path:
    return home / "domains" / "default" / "tables-1" / "additions"


async def test_a_run_of_new_memories_reaches_the_table_in_one_commit(session: Session, make: Make) -> None:
    table = session.store.database.raw_table("semantic")
    before = await table.version()
    for number in range(10):
        await session.store.add([make(f"lamp number {number}")], actor="test", at=session.now)
    assert await table.count() == 0  # they stand in the file
    assert await session.store.count() == 10  # and whoever counts brings them to the table
    assert await table.version() == before + 1
    assert await table.count() == 10


async def test_every_field_survives_the_way_through_the_file(session: Session, make: Make) -> None:
    item = make("it's \x00 a\nlong 'text' " * 40, tags=("a'b", "\u2028"), pinned=True)
    await session.store.add([item], actor="test", at=session.now)
    assert await session.store.find() == [item.memory]
    [hit] = await session.store.nearest(item.vector, Scope(), 1)
    assert hit.similarity == pytest.approx(1.0)
    assert await session.store.database.table("passages").count() == len(item.passages) > 0


async def test_another_session_reads_what_was_written_the_moment_before(open_session: OpenSession) -> None:
    writer, reader = await open_session(), await open_session()
    kept = await remember(writer, RememberRequest(content="The harbour master keeps the keys"))
    answer = await recall(reader, RecallRequest(query="who keeps the harbour keys"))
    assert [row.id for row in answer.results] == [kept.id]


async def test_another_session_repeating_it_at_once_is_told_so(open_session: OpenSession) -> None:
    one, two = await open_session(), await open_session()
    first = await remember(one, RememberRequest(content="The harbour master keeps the keys"))
    second = await remember(two, RememberRequest(content="The harbour master keeps the keys"))
    assert (second.id, second.duplicate_of) == (first.id, first.id)
    assert await two.store.count() == 1


async def test_it_reaches_the_table_by_itself_when_nobody_reads(session: Session, make: Make) -> None:
    await session.store.add([make("on its own")], actor="test", at=session.now)
    table = session.store.database.raw_table("semantic")
    for _ in range(100):
        if await table.count():
            break
        await asyncio.sleep(0.05)
    assert await table.count() == 1


async def test_a_settling_cut_short_after_the_commit_doubles_nothing(
    session: Session, make: Make, home: Path
) -> None:
    await session.store.add([make("once"), make("only " * 200)], actor="test", at=session.now)
    written = (_folder(home) / "waiting.jsonl").read_bytes()
    passages = await session.store.database.table("passages").count()
    (_folder(home) / "settling-cut-short.jsonl").write_bytes(written)
    await session.store.add([make("and another")], actor="test", at=session.now)
    assert await session.store.count() == 3
    assert await session.store.database.table("passages").count() == passages
    assert list(_folder(home).iterdir()) == []


async def test_a_settling_cut_short_before_the_commit_loses_nothing(
    open_session: OpenSession, make: Make, home: Path
) -> None:
    writer = await open_session()
    await writer.store.add([make("set aside, then killed")], actor="test", at=writer.now)
    await writer.store.database.write_ahead_log.stop()
    (_folder(home) / "waiting.jsonl").rename(_folder(home) / "settling-0.jsonl")
    reader = await open_session()
    assert [memory.content for memory in await reader.store.find()] == ["set aside, then killed"]


async def test_while_the_tables_cannot_be_written_what_they_hold_is_read(
    session: Session, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    await session.store.add([make("there before")], actor="test", at=session.now)
    assert await session.store.count() == 1

    async def full(self: Table, rows: object) -> int:
        raise StoreUnavailable("The disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(Table, "add", full)
        await session.store.add([make("has to wait")], actor="test", at=session.now)
        assert await session.store.count() == 1
    assert await session.store.count() == 2


async def test_many_at_once_go_straight_to_the_tables(session: Session, make: Make, home: Path) -> None:
    await session.store.add([make(f"row {n}") for n in range(60)], actor="test", at=session.now)
    assert list(_folder(home).iterdir()) == []
    assert await session.store.database.raw_table("semantic").count() == 60
