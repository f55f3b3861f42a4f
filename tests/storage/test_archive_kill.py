"""SIGKILL at every write of a move to the archive and back, and several processes: none lost, none doubled."""

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reverie.memory import to_record
from reverie.settings import Settings
from reverie.storage.audit import audit
from reverie.storage.scope import RETIRED
from reverie.tools.forget import forget
from reverie.tools.remember import remember
from reverie.tools.requests import ForgetRequest, RememberRequest, RestoreRequest
from reverie.tools.restore import restore
from reverie.tools.session import Session
from reverie.tools.sweep import sweep
from tests.conftest import ManualClock
from tests.killed_process import KilledProcess, killed_process
from tests.tiny_embedder import IMPORT, TinyEmbedder

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

PROCESSES = 3
KILLS = 6

# What the process does that is killed: it archives what is due, or restores what is archived.
STEP = """
from reverie.tools.requests import RestoreRequest
from reverie.tools.restore import restore
from reverie.tools.sweep import sweep

async def step(session, *ids):
    if ids:
        await restore(session, RestoreRequest(ids=ids))
    else:
        await sweep(session)
"""

# A real process that forgets, archives and restores for as long as it lives.
RESTLESS = """
import asyncio, random, sys
from datetime import datetime, timedelta
from pathlib import Path
TINY_EMBEDDER
from reverie.errors import ReverieError
from reverie.settings import Settings
from reverie.storage import archive
from reverie.tools.forget import forget
from reverie.tools.requests import ForgetRequest, RestoreRequest
from reverie.tools.restore import restore
from reverie.tools.session import Session
from reverie.tools.sweep import sweep

archive.GRACE = timedelta(days=-1)
home, now, dice, ids = sys.argv[1], datetime.fromisoformat(sys.argv[2]), random.Random(sys.argv[3]), sys.argv[4:]

async def main():
    settings = Settings(home=home, project="tests")
    session = await Session.open(settings, embedder=TinyEmbedder(), clock=lambda: now, folder=Path(home))
    while True:
        some = dice.sample(ids, 3)
        try:
            if dice.random() < 0.5:
                await forget(session, ForgetRequest(ids=some, reason="a trial"))
            else:
                await restore(session, RestoreRequest(ids=some))
            await sweep(session)
        except ReverieError:
            pass  # it is forgotten or restored already, or others were in the way for long
        print(".", flush=True)

asyncio.run(main())
""".replace("TINY_EMBEDDER", IMPORT)


async def opened(home: Path, clock: ManualClock) -> Session:
    settings = Settings(home=str(home), project="tests")
    return await Session.open(settings, embedder=TinyEmbedder(), clock=clock, folder=home)


async def everything(session: Session) -> dict[str, dict[str, Any]]:
    """Return every memory, and insist that each has one row and that the journal agrees.

    A kill between an event and its row is reported by every audit; it is no fault of a move, which has no event.
    """
    rows = await session.store.find()
    counted = {name: await table.count() for name, table in session.store.database.memory_tables.items()}
    assert len(rows) == sum(counted.values()), "a row is there twice"
    faults = (await audit(session.store)).faults
    assert [fault for fault in faults if "the process was killed in between" not in fault] == []
    return {memory.id: to_record(memory) for memory in rows}


@pytest.fixture
async def filled(home: Path, clock: ManualClock) -> Path:
    """A store with memories in three layers, one of them long, of which half are forgotten for two days."""
    session = await opened(home, clock)
    kept = []
    for number in range(6):
        layer = ("working", "episodic", "semantic")[number % 3] if number else "semantic"
        words = " ".join(f"word{number}x{n}" for n in range(80 if number in (1, 4) else 8))
        kept.append((await remember(session, RememberRequest(content=f"Thing {words}", layer=layer))).id)
    await forget(session, ForgetRequest(ids=kept[:4], reason="a trial"))
    clock.advance(minutes=1)
    await session.close()
    clock.advance(days=2)
    return home


def statuses(found: dict[str, Any]) -> dict[str, Any]:
    """Return what does not depend on which session restored a memory, and when it was recalled."""
    return {one: known["status"] if isinstance(known, dict) else known for one, known in found.items()}


@pytest.fixture
def process() -> Iterator[KilledProcess]:
    with killed_process(STEP, project="tests") as running:
        yield running


async def finished(home: Path, clock: ManualClock, step: Callable[[Session], Awaitable[Any]]) -> dict[str, Any]:
    session = await opened(home, clock)
    try:
        before = {memory.id: memory.content for memory in await session.store.find()}
        await step(session)
        after = await everything(session)
        assert {one: record["content"] for one, record in after.items()} == before, "nothing was missing meanwhile"
        passages = [await session.store.database.table(n).count() for n in ("passages", "archived_passages")]
        return after | {"passages": passages}
    finally:
        await session.close()


async def test_a_move_to_the_archive_killed_at_any_write_is_finished_by_the_next_sweep(
    filled: Path, clock: ManualClock, tmp_path: Path, process: KilledProcess
) -> None:
    whole = tmp_path / "whole"
    shutil.copytree(filled, whole)
    expected = await finished(whole, clock, sweep)
    kills = 0
    async for home in process.kills(filled, clock.moment):
        kills += 1
        assert await finished(home, clock, sweep) == expected, f"killed at write {kills}"
    assert kills >= 6


async def test_a_restore_killed_at_any_write_is_finished_by_the_next_one(
    filled: Path, clock: ManualClock, tmp_path: Path, process: KilledProcess
) -> None:
    session = await opened(filled, clock)
    await sweep(session)
    gone = [memory.id for memory in await session.store.find() if memory.status in RETIRED]
    assert await session.store.archive.table.count() == len(gone) == 4
    await session.close()

    async def restored(session: Session) -> None:
        still_gone = [one.id for one in (await session.store.get(gone)).values() if one.status in RETIRED]
        if still_gone:
            await restore(session, RestoreRequest(ids=still_gone))

    whole = tmp_path / "whole"
    shutil.copytree(filled, whole)
    expected = await finished(whole, clock, restored)
    kills = 0
    async for home in process.kills(filled, clock.moment, *gone):
        kills += 1
        if kills % 2:  # a sweep in between does no harm
            await finished(home, clock, sweep)
        assert statuses(await finished(home, clock, restored)) == statuses(expected), f"killed at write {kills}"
    assert kills >= 4


def ended(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.communicate()  # waits, and closes the pipe


async def test_processes_that_archive_and_restore_at_once_and_are_killed_lose_and_double_nothing(
    home: Path, clock: ManualClock
) -> None:
    session = await opened(home, clock)
    ids = [
        (await remember(session, RememberRequest(content=f"Thing number {n} of {n * 7919 % 997}", layer=layer))).id
        for n, layer in enumerate(["semantic", "episodic", "procedural"] * 6)
    ]
    whole = {memory.id: memory.content for memory in await session.store.find()}

    def started(seed: int) -> "subprocess.Popen[bytes]":
        arguments = [sys.executable, "-c", RESTLESS, str(home), clock.moment.isoformat(), str(seed), *ids]
        return subprocess.Popen(arguments, stdout=subprocess.PIPE)

    working = [started(seed) for seed in range(PROCESSES)]
    try:
        for kill in range(KILLS):
            process = working[kill % PROCESSES]
            assert process.stdout is not None
            for _ in range(3):  # it has come around this often
                assert await asyncio.to_thread(process.stdout.readline) == b".\n"
                assert {memory.id: memory.content for memory in await session.store.find()} == whole
                assert len(await session.store.get(ids)) == len(ids)
            ended(process)
            working[kill % PROCESSES] = started(PROCESSES + kill)
    finally:
        for process in working:
            ended(process)
    clock.advance(days=2)
    await sweep(session)  # finishes whatever was cut short
    for memory in (await everything(session)).values():
        assert memory["content"] == whole[memory["id"]]
    places = {
        name: set((await table.rows(["id"])).column("id").to_pylist())
        for name, table in session.store.database.memory_tables.items()
    }
    retired = {memory.id for memory in await session.store.find() if memory.status in RETIRED}
    assert places["archive"] == retired
    await session.close()
