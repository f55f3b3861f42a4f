import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from reverie.storage.purge import purge
from reverie.storage.rows import Embedded
from reverie.storage.scope import Scope
from reverie.tools.session import Workspace

pytestmark = pytest.mark.anyio

Make = Callable[..., Embedded]
OpenWorkspace = Callable[..., Awaitable[Workspace]]


def _files_that_hold(home: Path, words: list[bytes]) -> list[str]:
    return [
        str(path.relative_to(home))
        for path in home.rglob("*")
        if path.is_file() and any(word in path.read_bytes() for word in words)
    ]


async def test_no_byte_of_a_purged_memory_is_left_on_disk(workspace: Workspace, make: Make, home: Path) -> None:
    secret = make("the zanzibarword opens the quagmirevault", title="zanzibarword", tags=("zanzibartag",))
    others = [make(f"an ordinary thing number {n}") for n in range(40)]
    await workspace.store.add([*others[:20], secret, *others[20:]], actor="test", at=workspace.now)
    async with workspace.store.changing():
        [edited] = await workspace.store.change(
            [secret.memory],
            {"title": "zanzibartitle"},
            action="edited",
            actor="test",
            at=workspace.now,
            reason="quagmirereason",
        )
    words = [b"zanzibar", b"quagmire"]
    assert _files_that_hold(home, words)
    async with workspace.store.changing():
        await purge(workspace.store, [edited], actor="forget", at=workspace.now)
    assert _files_that_hold(home, words) == []
    assert await workspace.store.count() == 40
    assert len(await workspace.store.matching("ordinary", Scope(), 100)) == 40


async def test_that_a_memory_was_purged_stays_on_record(workspace: Workspace, make: Make) -> None:
    item = make("gone for good")
    await workspace.store.add([item], actor="remember", at=workspace.now)
    async with workspace.store.changing():
        await purge(workspace.store, [item.memory], actor="forget", at=workspace.now)
    events = await workspace.store.journal.about(item.memory.id)
    assert [event.action for event in events] == ["remembered", "purged"]
    assert all(not event.before and not event.after for event in events)


async def test_the_last_memory_of_a_table_can_be_purged(workspace: Workspace, make: Make, home: Path) -> None:
    item = make("the onlyzanzibar one")
    await workspace.store.add([item], actor="test", at=workspace.now)
    async with workspace.store.changing():
        await purge(workspace.store, [item.memory], actor="forget", at=workspace.now)
    assert _files_that_hold(home, [b"onlyzanzibar"]) == []
    assert await workspace.store.find() == []


async def test_a_long_memory_takes_its_passages_along(workspace: Workspace, make: Make) -> None:
    item = make(" ".join(f"word{n}" for n in range(300)))
    await workspace.store.add([item], actor="test", at=workspace.now)
    assert await workspace.store.database.table("passages").count() > 3
    async with workspace.store.changing():
        await purge(workspace.store, [item.memory], actor="forget", at=workspace.now)
    assert await workspace.store.database.table("passages").count() == 0


async def test_a_session_that_was_reading_goes_on_after_a_purge(open_workspace: OpenWorkspace, make: Make) -> None:
    mine, other = await open_workspace(), await open_workspace()
    items = [make(f"lamp number {n}") for n in range(10)]
    await mine.store.add(items, actor="test", at=mine.now)
    assert len(await other.store.matching("lamp", Scope(), 50)) == 10
    async with mine.store.changing():
        await purge(mine.store, [items[0].memory], actor="forget", at=mine.now)
    assert len(await other.store.matching("lamp", Scope(), 50)) == 9
    assert len(await other.store.nearest(items[0].vector, Scope(), 50)) == 9
    assert items[0].memory.id not in await other.store.get([items[0].memory.id])


async def test_tables_that_a_killed_reembedding_left_behind_are_purged_too(
    workspace: Workspace, make: Make, home: Path
) -> None:
    item = make("the leftzanzibar one")
    await workspace.store.add([item, make("an ordinary one")], actor="test", at=workspace.now)
    await workspace.store.journal.settle()
    await workspace.store.find()
    domain = home / "domains" / "default"
    shutil.copytree(domain / "tables-1", domain / "tables-0")
    async with workspace.store.changing():
        await purge(workspace.store, [item.memory], actor="forget", at=workspace.now)
    assert _files_that_hold(home, [b"leftzanzibar"]) == []
    assert (domain / "tables-0").is_dir()  # what else is in there may have come late, and is carried over
