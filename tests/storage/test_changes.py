"""Many changes at once: exactly what is given is written, and everything a row holds goes with it."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from reverie.memory import Memory
from reverie.storage.bulk import Edit, remove_strays, write_batch
from reverie.storage.rows import Embedded
from reverie.tools.session import Session
from tests.dream.conftest import a_memory

pytestmark = pytest.mark.anyio

VECTOR = np.eye(64, dtype=np.float32)[3]


async def written(session: Session, count: int = 3) -> list[Memory]:
    memories = [a_memory(number, f"Note {number} of the harbour") for number in range(count)]
    await write_batch(session.store, [Embedded(memory, VECTOR, (), b"pieces") for memory in memories])
    return memories


async def row(session: Session, layer: str, memory_id: str) -> dict[str, Any]:
    rows = (await session.store.database.table(layer).lance.query().to_arrow()).to_pylist()
    [found] = [one for one in rows if one["id"] == memory_id]
    return found


async def test_a_move_takes_along_everything_a_row_holds(session: Session) -> None:
    memory = (await written(session))[0]
    before = await row(session, "semantic", memory.id)
    await write_batch(session.store, (), [Edit(memory, replace(memory, layer="episodic"))])
    after = await row(session, "episodic", memory.id)
    assert after == before | {"layer": "episodic"}
    assert (after["pieces"], after["vector"]) == (b"pieces", [VECTOR.tolist()])
    assert await session.store.database.table("semantic").count() == 2


async def test_each_row_gets_its_own_values_and_keeps_the_rest(session: Session) -> None:
    memories = await written(session)
    edits = [
        Edit(m, replace(m, status="superseded", superseded_by=f"x{n}", updated_at=m.updated_at + timedelta(n)))
        for n, m in enumerate(memories[:2])
    ]
    await write_batch(session.store, (), edits)
    found = await session.store.get([memory.id for memory in memories])
    assert list(found.values()) == [edits[0].after, edits[1].after, memories[2]]


async def test_doing_it_twice_does_no_harm(session: Session) -> None:
    memories = await written(session)
    await written(session)
    edits = [Edit(memories[0], replace(memories[0], layer="episodic"))]
    for _ in range(2):
        await write_batch(session.store, (), edits, [memories[1]])
    assert {memory.id: memory.layer for memory in await session.store.find()} == {
        "m0000": "episodic",
        "m0002": "semantic",
    }


async def test_a_second_row_left_by_a_move_cut_short_is_removed(session: Session) -> None:
    memory = (await written(session, 1))[0]
    await write_batch(session.store, [Embedded(replace(memory, layer="episodic"), VECTOR)])
    await remove_strays(session.store, {memory.id: "episodic"})
    counts = {layer: await table.count() for layer, table in session.store.database.memory_tables.items()}
    assert (counts["episodic"], counts["semantic"]) == (1, 0)
