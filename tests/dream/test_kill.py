"""SIGKILL at every write of a dream, and of its undoing: the next dream leaves the store as an unbroken one does."""

import io
import json
import shutil
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reverie.memory import LAYERS, to_record
from reverie.settings import Settings
from reverie.storage.audit import audit
from reverie.tools.consolidate import consolidate
from reverie.tools.import_jsonl import import_memories
from reverie.tools.remember import remember
from reverie.tools.requests import ConsolidateRequest, RememberRequest, RestoreRequest
from reverie.tools.restore import restore
from reverie.tools.session import Session
from tests.conftest import START, ManualClock
from tests.killed_process import KilledProcess, killed_process
from tests.tiny_embedder import TinyEmbedder

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LONG = [f"{part}{number}" for part in ("door", "stair", "lamp", "rail") for number in range(4)]

# What the process does that is killed: it dreams, or undoes the last dream.
STEP = """
from reverie.tools.consolidate import consolidate
from reverie.tools.requests import ConsolidateRequest, RestoreRequest
from reverie.tools.restore import restore

async def step(session, what):
    if what == "undo":
        session.all_projects = True  # the dream is of several
        [record] = await session.store.dream_log.all()
        await restore(session, RestoreRequest(dream_id=record.id))
    else:
        await consolidate(session, ConsolidateRequest())
"""


@pytest.fixture
def process() -> Iterator[KilledProcess]:
    with killed_process(STEP) as running:
        yield running


async def opened(home: Path, clock: ManualClock) -> Session:
    return await Session.open(Settings(home=str(home)), embedder=TinyEmbedder(), clock=clock, folder=home)


async def everything(session: Session) -> dict[str, dict[str, Any]]:
    rows = await session.store.find()
    counted = [await table.count() for table in session.store.database.memory_tables.values()]
    assert len(rows) == sum(counted), "a row is there twice"
    vectors = [
        await session.store.database.table(name).rows(["id", "precision", "vector", "packed"])
        for name in (*LAYERS, "passages")
    ]
    assert sum(map(len, vectors)) > len(rows), "nothing here has passages"
    held = {row["id"]: row for table in vectors for row in table.to_pylist()}
    return {memory.id: to_record(memory) for memory in rows} | {f"vector of {one}": row for one, row in held.items()}


@pytest.fixture
async def filled(home: Path, clock: ManualClock) -> Path:
    """A store in which most steps have something to do."""
    session = await opened(home, clock)
    long = " ".join(f"The {word} of the lighthouse was painted by the keeper's son." for word in LONG)
    await remember(session, RememberRequest(content=long, layer="episodic", source="human"))
    clock.advance(days=20)
    fresh = {"content": long.replace("painted", "oiled"), "layer": "episodic", "precision": 2, "project": "p"}
    await import_memories(session, io.BytesIO(json.dumps(fresh).encode()), lambda _: None)

    async def keep(content: str, **arguments: Any) -> None:
        await remember(session, RememberRequest(content=content, **arguments))

    for number, word in enumerate(("tea", "oslo", "lexer", "monday", "parser")):
        await keep(f"We know that Alice has thing number {number} {word}", layer="semantic")
    await keep("The worker fills the cache of the Exporter", layer="semantic")
    await keep("the worker fills the cache, of the Exporter!", layer="semantic")
    await keep("The Billing service listens on port 8080 in production", layer="semantic")
    await keep("It is to be gone tomorrow", forget_after="1d", layer="episodic")
    await keep("Working on the parser right now", layer="working")
    clock.advance(days=3)
    await keep("The Billing service listens on port 9090 in production", layer="semantic")
    for number in range(3):
        await keep(f"Decided to ship release {number} of the Importer", kind="decision", layer="episodic")
    await session.close()
    return home


async def finished(home: Path, clock: ManualClock, step: Callable[[Session], Awaitable[Any]]) -> dict[str, Any]:
    session = await opened(home, clock)
    try:
        await step(session)
        assert (await audit(session.store)).faults == []  # the journal tells of rows that were never written
        return await everything(session)
    finally:
        await session.close()


async def dreamt_once(session: Session) -> None:
    await consolidate(session, ConsolidateRequest())


async def test_a_dream_killed_at_any_write_is_rolled_back_and_dreamt_again(
    filled: Path, clock: ManualClock, tmp_path: Path, process: KilledProcess
) -> None:
    whole = tmp_path / "whole"
    shutil.copytree(filled, whole)
    expected = await finished(whole, clock, dreamt_once)
    kills = 0
    async for home in process.kills(filled, clock.moment, "dream"):
        kills += 1
        assert await finished(home, clock, dreamt_once) == expected, f"killed at write {kills}"
    assert kills >= 6
    assert clock.moment > START


async def test_an_undo_killed_at_any_write_is_finished_by_the_next_dream_or_the_next_try(
    filled: Path, clock: ManualClock, tmp_path: Path, process: KilledProcess
) -> None:
    before = await finished(filled, clock, everything)
    dreamt = tmp_path / "dreamt"
    shutil.copytree(filled, dreamt)
    await finished(dreamt, clock, dreamt_once)

    async def undo_again(session: Session) -> None:
        session.all_projects = True  # the dream is of several
        [record] = await session.store.dream_log.all()
        if record.status != "undone":
            await restore(session, RestoreRequest(dream_id=record.id))

    kills = 0
    async for home in process.kills(dreamt, clock.moment, "undo"):
        kills += 1
        assert await finished(home, clock, undo_again) == before, f"killed at write {kills}"
    assert kills >= 4
