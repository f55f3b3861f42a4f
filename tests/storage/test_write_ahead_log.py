import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from reverie.errors import StoreUnavailable
from reverie.storage.lance_table import Table
from reverie.storage.rows import Embedded
from reverie.storage.scope import Scope
from reverie.tools.recall import Request as Question
from reverie.tools.recall import recall
from reverie.tools.remember import Request, remember
from reverie.tools.session import Workspace

pytestmark = pytest.mark.anyio

Make = Callable[..., Embedded]
OpenWorkspace = Callable[..., Awaitable[Workspace]]


def _folder(home: Path) -> Path:
    return home / "domains" / "default" / "tables-1" / "additions"


async def test_a_run_of_new_memories_reaches_the_table_in_one_commit(workspace: Workspace, make: Make) -> None:
    table = workspace.store.database.unsettled("semantic")
    before = await table.version()
    for number in range(10):
        await workspace.store.add([make(f"lamp number {number}")], actor="test", at=workspace.now)
    assert await table.count() == 0  # they stand in the file
    assert await workspace.store.count() == 10  # and whoever counts brings them to the table
    assert await table.version() == before + 1
    assert await table.count() == 10


async def test_every_field_survives_the_way_through_the_file(workspace: Workspace, make: Make) -> None:
    item = make("it's \x00 a\nlong 'text' " * 40, tags=("a'b", "\u2028"), pinned=True)
    await workspace.store.add([item], actor="test", at=workspace.now)
    assert await workspace.store.find() == [item.memory]
    [hit] = await workspace.store.nearest(item.vector, Scope(), 1)
    assert hit.similarity == pytest.approx(1.0)
    assert await workspace.store.database.table("passages").count() == len(item.passages) > 0


async def test_another_session_reads_what_was_written_the_moment_before(open_workspace: OpenWorkspace) -> None:
    writer, reader = await open_workspace(), await open_workspace()
    kept = await remember(writer, Request(content="The harbour master keeps the keys"))
    answer, _ = await recall(reader, Question(query="who keeps the harbour keys"))
    assert [row.id for row in answer.results] == [kept.id]


async def test_another_session_repeating_it_at_once_is_told_so(open_workspace: OpenWorkspace) -> None:
    one, two = await open_workspace(), await open_workspace()
    first = await remember(one, Request(content="The harbour master keeps the keys"))
    second = await remember(two, Request(content="The harbour master keeps the keys"))
    assert (second.id, second.duplicate_of) == (first.id, first.id)
    assert await two.store.count() == 1


async def test_it_reaches_the_table_by_itself_when_nobody_reads(workspace: Workspace, make: Make) -> None:
    await workspace.store.add([make("on its own")], actor="test", at=workspace.now)
    table = workspace.store.database.unsettled("semantic")
    for _ in range(100):
        if await table.count():
            break
        await asyncio.sleep(0.05)
    assert await table.count() == 1


async def test_a_settling_cut_short_after_the_commit_doubles_nothing(
    workspace: Workspace, make: Make, home: Path
) -> None:
    await workspace.store.add([make("once"), make("only " * 200)], actor="test", at=workspace.now)
    written = (_folder(home) / "waiting.jsonl").read_bytes()
    passages = await workspace.store.database.table("passages").count()
    (_folder(home) / "settling-cut-short.jsonl").write_bytes(written)
    await workspace.store.add([make("and another")], actor="test", at=workspace.now)
    assert await workspace.store.count() == 3
    assert await workspace.store.database.table("passages").count() == passages
    assert list(_folder(home).iterdir()) == []


async def test_a_settling_cut_short_before_the_commit_loses_nothing(
    open_workspace: OpenWorkspace, make: Make, home: Path
) -> None:
    writer = await open_workspace()
    await writer.store.add([make("set aside, then killed")], actor="test", at=writer.now)
    await writer.store.database.additions.stop()
    (_folder(home) / "waiting.jsonl").rename(_folder(home) / "settling-0.jsonl")
    reader = await open_workspace()
    assert [memory.content for memory in await reader.store.find()] == ["set aside, then killed"]


async def test_while_the_tables_cannot_be_written_what_they_hold_is_read(
    workspace: Workspace, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    await workspace.store.add([make("there before")], actor="test", at=workspace.now)
    assert await workspace.store.count() == 1

    async def full(self: Table, rows: object) -> int:
        raise StoreUnavailable("The disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(Table, "add", full)
        await workspace.store.add([make("has to wait")], actor="test", at=workspace.now)
        assert await workspace.store.count() == 1
    assert await workspace.store.count() == 2


async def test_many_at_once_go_straight_to_the_tables(workspace: Workspace, make: Make, home: Path) -> None:
    await workspace.store.add([make(f"row {n}") for n in range(60)], actor="test", at=workspace.now)
    assert list(_folder(home).iterdir()) == []
    assert await workspace.store.database.unsettled("semantic").count() == 60
