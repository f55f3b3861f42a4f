import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from reverie.storage.purge import purge
from reverie.storage.rows import Embedded
from reverie.storage.scope import Scope
from reverie.tools.session import Session

pytestmark = pytest.mark.anyio

Make = Callable[..., Embedded]
OpenSession = Callable[..., Awaitable[Session]]


def _files_that_hold(home: Path, words: list[bytes]) -> list[str]:
    return [
        str(path.relative_to(home))
        for path in home.rglob("*")
        if path.is_file() and any(word in path.read_bytes() for word in words)
    ]


async def test_no_byte_of_a_purged_memory_is_left_on_disk(session: Session, make: Make, home: Path) -> None:
    secret = make("the zanzibarword opens the quagmirevault", title="zanzibarword", tags=("zanzibartag",))
    others = [make(f"an ordinary thing number {n}") for n in range(40)]
    await session.store.add([*others[:20], secret, *others[20:]], actor="test", at=session.now)
    async with session.store.changing():
        [edited] = await session.store.change(
            [secret.memory],
            {"title": "zanzibartitle"},
            action="edited",
            actor="test",
            at=session.now,
            reason="quagmirereason",
        )
    words = [b"zanzibar", b"quagmire"]
    assert _files_that_hold(home, words)
    async with session.store.changing():
        await purge(session.store, [edited], actor="forget", at=session.now)
    assert _files_that_hold(home, words) == []
    assert await session.store.count() == 40
    assert len(await session.store.matching("ordinary", Scope(), 100)) == 40


async def test_that_a_memory_was_purged_stays_on_record(session: Session, make: Make) -> None:
    item = make("gone for good")
    await session.store.add([item], actor="remember", at=session.now)
    async with session.store.changing():
        await purge(session.store, [item.memory], actor="forget", at=session.now)
    events = await session.store.journal.about(item.memory.id)
    assert [event.action for event in events] == ["remembered", "purged"]
    assert all(not event.before and not event.after for event in events)


async def test_the_last_memory_of_a_table_can_be_purged(session: Session, make: Make, home: Path) -> None:
    item = make("the onlyzanzibar one")
    await session.store.add([item], actor="test", at=session.now)
    async with session.store.changing():
        await purge(session.store, [item.memory], actor="forget", at=session.now)
    assert _files_that_hold(home, [b"onlyzanzibar"]) == []
    assert await session.store.find() == []


async def test_a_long_memory_takes_its_passages_along(session: Session, make: Make) -> None:
    item = make(" ".join(f"word{n}" for n in range(300)))
    await session.store.add([item], actor="test", at=session.now)
    assert await session.store.database.table("passages").count() > 3
    async with session.store.changing():
        await purge(session.store, [item.memory], actor="forget", at=session.now)
    assert await session.store.database.table("passages").count() == 0


async def test_a_session_that_was_reading_goes_on_after_a_purge(open_session: OpenSession, make: Make) -> None:
    mine, other = await open_session(), await open_session()
    items = [make(f"lamp number {n}") for n in range(10)]
    await mine.store.add(items, actor="test", at=mine.now)
    assert len(await other.store.matching("lamp", Scope(), 50)) == 10
    async with mine.store.changing():
        await purge(mine.store, [items[0].memory], actor="forget", at=mine.now)
    assert len(await other.store.matching("lamp", Scope(), 50)) == 9
    assert len(await other.store.nearest(items[0].vector, Scope(), 50)) == 9
    assert items[0].memory.id not in await other.store.get([items[0].memory.id])


async def test_tables_that_a_killed_reembedding_left_behind_are_purged_too(
    session: Session, make: Make, home: Path
) -> None:
    item = make("the leftzanzibar one")
    await session.store.add([item, make("an ordinary one")], actor="test", at=session.now)
    await session.store.journal.flush()
    await session.store.find()
    domain = home / "domains" / "default"
    shutil.copytree(domain / "tables-1", domain / "tables-0")
    async with session.store.changing():
        await purge(session.store, [item.memory], actor="forget", at=session.now)
    assert _files_that_hold(home, [b"leftzanzibar"]) == []
    assert (domain / "tables-0").is_dir()  # what else is in there may have come late, and is carried over
