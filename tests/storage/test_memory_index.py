"""The vectors in memory must say what the tables say, whoever changed them."""

from collections.abc import Awaitable, Callable

import numpy as np
import pytest

from reverie.storage.rows import Embedded
from reverie.storage.scope import Scope
from reverie.tools.session import Session

pytestmark = pytest.mark.anyio

Make = Callable[..., Embedded]
OpenSession = Callable[..., Awaitable[Session]]


async def test_memory_and_disk_give_the_same_neighbours(open_session: OpenSession, make: Make) -> None:
    session, on_disk = await open_session(), await open_session(search_memory=0)
    words = ["ship", "moon", "harbour", "lamp", "stone", "river", "glass", "iron", "wool", "salt"]
    rng = np.random.default_rng(7)
    items = [make(" ".join(rng.choice(words, 6)) + f" {n}", layer=["semantic", "episodic"][n % 2]) for n in range(60)]
    await session.store.add(items, actor="test", at=session.now)
    question = make("ship moon lamp").vector
    from_memory = await session.store.nearest(question, Scope(), 10)
    from_disk = await on_disk.store.nearest(question, Scope(), 10)
    assert [round(hit.similarity, 4) for hit in from_memory] == [round(hit.similarity, 4) for hit in from_disk]


async def test_scope_decides_before_the_nearest_are_counted(session: Session, make: Make) -> None:
    near = [make(f"the lamp {n}", project="theirs") for n in range(30)]
    ours = make("something far away", project="ours")
    gone = make("the lamp itself", project="ours", status="expired")
    await session.store.add([*near, ours, gone], actor="test", at=session.now)
    hits = await session.store.nearest(make("the lamp").vector, Scope(projects=("ours", "global")), 5)
    assert [hit.id for hit in hits] == [ours.memory.id]


async def test_a_session_follows_what_another_one_changes(open_session: OpenSession, make: Make) -> None:
    mine, other = await open_session(), await open_session()
    items = [make("the lamp one"), make("the lamp two"), make("the lamp three")]
    await mine.store.add(items, actor="test", at=mine.now)
    question = make("the lamp").vector

    async def seen(by: Session) -> set[str]:
        return {hit.id for hit in await by.store.nearest(question, Scope(), 10)}

    ids = {item.memory.id for item in items}
    assert await seen(mine) == await seen(other) == ids
    async with other.store.changing():
        await other.store.change([items[0].memory], {"status": "expired"}, action="x", actor="test", at=other.now)
        await other.store.move(items[1].memory, "episodic", actor="test", at=other.now)
    late = make("the lamp four")
    await other.store.add([late], actor="test", at=other.now)
    assert await seen(mine) == await seen(other) == (ids - {items[0].memory.id}) | {late.memory.id}


async def test_narrower_questions_are_answered_from_the_tables(session: Session, make: Make) -> None:
    tagged, plain = make("the lamp one", tags=("x'y",)), make("the lamp two")
    await session.store.add([tagged, plain], actor="test", at=session.now)
    hits = await session.store.nearest(make("the lamp").vector, Scope(tags=("x'y",)), 5)
    assert [hit.id for hit in hits] == [tagged.memory.id]


async def test_the_end_of_a_long_memory_is_found_by_its_passage(session: Session, make: Make) -> None:
    long = make(" ".join(f"word{n}" for n in range(400)) + " the treasure lies under the old oak")
    await session.store.add([long, make("the lamp")], actor="test", at=session.now)
    question = make("treasure under the old oak").vector
    best = await session.store.vectors.nearest_passages(question, Scope(), 5)
    assert next(iter(best)) == long.memory.id
    whole = next(hit for hit in await session.store.nearest(question, Scope(), 5) if hit.id == long.memory.id)
    assert best[long.memory.id] > whole.similarity + 0.2
