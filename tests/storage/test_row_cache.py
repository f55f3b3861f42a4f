"""Cached rows must say what the tables say, whoever changed them and whatever is cached."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import numpy as np
import pyarrow as pa
import pytest

from reverie.storage.access_log import record
from reverie.storage.row_cache import RowCache, RowRoom
from reverie.storage.rows import Embedded
from reverie.storage.scope import Scope
from reverie.storage.store import NearMemories
from reverie.tools.session import Session

pytestmark = pytest.mark.anyio

Make = Callable[..., Embedded]
OpenSession = Callable[..., Awaitable[Session]]


def rows(*texts: str) -> pa.Table:
    return pa.table({"id": [text[:3] for text in texts], "content": list(texts)})


def contents_at(cache: RowCache, *indices: int) -> set[str]:
    return set(cache.rows(np.array(indices)).column("content").to_pylist())


def test_the_latest_row_of_an_index_is_the_one_that_is_returned() -> None:
    cache = RowCache(["id", "content"], RowRoom(1_000_000))
    cache.write(np.array([0, 1, 2]), rows("one", "two", "three"))
    cache.write(np.array([1]), rows("two again"))
    assert contents_at(cache, 0, 1, 2) == {"one", "two again", "three"}


def test_many_small_batches_are_merged_without_a_row_lost() -> None:
    cache = RowCache(["id", "content"], RowRoom(1_000_000))
    for index in range(40):
        cache.write(np.array([index]), rows(f"row {index}"))
    cache.write(np.array([7]), rows("row 7 again"))
    for index in range(40, 80):
        cache.write(np.array([index]), rows(f"row {index}"))
    assert contents_at(cache, *range(80)) == {f"row {index}" for index in range(80) if index != 7} | {"row 7 again"}


def test_what_is_too_much_is_not_cached_and_no_older_row_is_returned_for_it() -> None:
    cache = RowCache(["id", "content"], RowRoom(2_000))
    cache.write(np.array([0, 1]), rows("one", "two"))
    cache.write(np.array([1]), rows("x" * 5_000))
    assert (cache.has(0), cache.has(1)) == (True, False)


def test_of_too_many_rows_the_last_are_cached_and_all_caches_share_the_room() -> None:
    room = RowRoom(6_000)
    one, other = RowCache(["id", "content"], room), RowCache(["id", "content"], room)
    texts = [f"{n} " + "x" * 1_000 for n in range(10)]
    one.write(np.arange(10), rows(*texts))
    kept = [n for n in range(10) if one.has(n)]
    assert kept == list(range(10 - len(kept), 10))
    assert 4 <= len(kept) <= 5
    assert contents_at(one, *kept) == set(texts[-len(kept) :])
    assert one.nbytes <= 6_000
    other.write(np.array([0, 1]), rows(*texts[:2]))
    assert not other.has(0)
    one.clear()
    other.write(np.array([0, 1]), rows(*texts[:2]))
    assert (other.has(0), other.has(1)) == (True, True)


def test_the_bytes_are_those_of_the_parts_after_writes_merges_and_a_clear() -> None:
    cache = RowCache(["id", "content"], RowRoom(1_000_000))
    for index in range(40):
        cache.write(np.array([index % 7]), rows(f"row {index}"))
        assert cache.nbytes == sum(part.nbytes for part in cache._parts)
    cache.clear()
    assert cache.nbytes == 0


async def contents(session: Session, question: Embedded) -> dict[str, tuple[str, bool, int]]:
    hits = await session.store.nearest(question.vector, Scope(), 20)
    found = await session.store.memories_of(NearMemories(hits), Scope())
    return {i: (memory.title, memory.pinned, memory.access_count) for i, memory in found.items()}


async def test_two_changes_at_one_moment_are_both_seen_by_another_session(
    open_session: OpenSession, make: Make
) -> None:
    mine, other = await open_session(), await open_session()
    item = make("the lamp one", title="first")
    await mine.store.add([item], actor="test", at=mine.now)
    assert await contents(mine, item) == {item.memory.id: ("first", False, 0)}
    for values in ({"title": "second"}, {"pinned": True}):
        async with other.store.changing():
            [memory] = (await other.store.get([item.memory.id])).values()
            await other.store.change([memory], values, action="x", actor="test", at=other.now)
        await contents(mine, item)
    assert await contents(mine, item) == {item.memory.id: ("second", True, 0)}


async def test_counted_recalls_are_seen_by_the_session_that_counted_and_by_others(
    open_session: OpenSession, make: Make
) -> None:
    mine, other = await open_session(), await open_session()
    items = [make("the lamp one"), make("the lamp two")]
    await mine.store.add(items, actor="test", at=mine.now)
    for session in (mine, other):
        await contents(session, items[0])
    async with mine.store.changing():
        await record(mine.store, {items[0].memory.id: mine.now})
    for session in (mine, other):
        counts = {i: count for i, (_, _, count) in (await contents(session, items[0])).items()}
        assert counts == {items[0].memory.id: 1, items[1].memory.id: 0}


async def test_merging_the_fragments_of_a_table_changes_no_answer(open_session: OpenSession, make: Make) -> None:
    mine, other = await open_session(), await open_session()
    for number in range(8):
        await mine.store.add([make(f"the lamp {number}", title=f"lamp {number}")], actor="test", at=mine.now)
        await mine.store.nearest(make("x").vector, Scope(), 1)  # each in a piece of its own
    before = await contents(mine, make("the lamp"))
    await other.store.database.table("semantic").tidy(timedelta(seconds=30))
    assert len(before) == 8
    assert await contents(mine, make("the lamp")) == before


async def test_rows_that_are_not_cached_are_read_from_the_tables(open_session: OpenSession, make: Make) -> None:
    session = await open_session(search_memory=0)
    item = make("the lamp one", title="first")
    await session.store.add([item], actor="test", at=session.now)
    assert await contents(session, item) == {item.memory.id: ("first", False, 0)}


def test_a_few_rows_that_are_written_one_by_one_do_not_copy_the_many() -> None:
    cache = RowCache(["id", "content"], RowRoom(1_000_000))
    cache.write(np.arange(500), rows(*(f"row {n}" for n in range(500))))
    many = cache._parts[0]
    for n in range(100):
        cache.write(np.array([n]), rows(f"row {n} again"))
    assert cache._parts[0] is many
    assert len(cache._parts) <= 17
    assert contents_at(cache, *range(500)) == {f"row {n}" + " again" * (n < 100) for n in range(500)}


async def test_a_memory_of_the_cache_is_that_of_the_table_to_the_microsecond(
    open_session: OpenSession, make: Make
) -> None:
    cached, on_disk = await open_session(), await open_session(search_memory=0)
    moment = cached.now.replace(microsecond=123_457)
    item = make("the lamp one", happened_at=moment, forget_after=moment + timedelta(days=9), tags=("x",), pinned=True)
    await cached.store.add([item], actor="test", at=cached.now)
    found = []
    for session in (cached, cached, on_disk):  # the second time from what was read the first time
        hits = await session.store.nearest(item.vector, Scope(), 20)
        found.append(await session.store.memories_of(NearMemories(hits), Scope()))
    assert found[0] == found[1] == found[2]
    [memory] = found[0].values()
    assert (memory.happened_at, memory.forget_after) == (moment, moment + timedelta(days=9))
