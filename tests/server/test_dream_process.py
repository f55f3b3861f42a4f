"""A dream in a process of its own: the same dream, told as it goes, stopped with whoever wanted it."""

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path

import pytest

from reverie.dream.cycle import dream_lock
from reverie.dream.steps import STEPS
from reverie.errors import InvalidInput, StoreBusy, StoreError
from reverie.parameters import Parameters
from reverie.server import dream_process as apart
from reverie.server.dream_process import consolidate_in_process, consolidated_from
from reverie.settings import Settings
from reverie.tools.consolidate import consolidate
from reverie.tools.recall import recall
from reverie.tools.remember import remember
from reverie.tools.requests import ConsolidateRequest, RecallRequest, RememberRequest
from reverie.tools.session import Session

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="children are looked for in /proc"),
    pytest.mark.slow,
]

TEXT = "The nightly backup of the billing database runs on the second replica and is kept for ninety days"


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    """A session with the embedder of its settings, as a server has it, and a memory said twice."""
    home = tmp_path / "home"
    session = await Session.open(Settings(home=str(home), project="tests"), folder=tmp_path)
    for mark in ("", "!"):
        await remember(session, RememberRequest(content=TEXT + mark, layer="semantic"))
    yield session
    await asyncio.gather(*apart._ending)
    await session.close()


def children() -> list[int]:
    """Return the processes of dreams that this one has started; other tests may have left a server beside them."""
    started: list[int] = []
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            started += map(int, (task / "children").read_text().split())
    return [child for child in started if _is_a_dream(child)]


def _is_a_dream(process: int) -> bool:
    try:
        return b"dream_process" in Path(f"/proc/{process}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False  # it has just ended


@pytest.fixture
def started(monkeypatch) -> list[int]:
    """Return the ids of the processes that were started, in which one that has ended since still counts."""
    ids: list[int] = []
    start = apart._start

    async def noted(session: Session) -> asyncio.subprocess.Process | None:
        process = await start(session)
        ids.extend([process.pid] if process else [])
        return process

    monkeypatch.setattr(apart, "_start", noted)
    return ids


async def superseded(session: Session) -> int:
    return sum(memory.status == "superseded" for memory in await session.store.find())


async def test_another_process_dreams_the_same_dream_and_tells_each_step(session, started):
    here = await consolidate(session, ConsolidateRequest(dry_run=True))
    heard: list[str] = []

    async def tell(done: int, total: int, message: str) -> None:
        heard.append(message)

    there = await consolidate_in_process(session, ConsolidateRequest(), tell, fewest=0)
    assert [(step.name, step.planned, step.notes) for step in there.steps] == [
        (step.name, step.planned, step.notes) for step in here.steps
    ]
    assert heard[: len(STEPS) + 1] == ["reading", *STEPS]
    assert heard[-1] == "done"
    assert len(started) == 1
    assert await superseded(session) == 1


async def test_it_forgets_and_promotes_by_the_parameters_of_the_domain(tmp_path):
    settings = Settings(
        home=str(tmp_path / "home"), project="tests", parameters=Parameters(promote_importance=0.3, promote_recalls=1)
    )
    session = await Session.open(settings, folder=tmp_path)
    await remember(session, RememberRequest(content=TEXT, layer="episodic", importance=0.6))
    await recall(session, RecallRequest(query=TEXT))
    await session.accesses.count()
    here = await consolidate(session, ConsolidateRequest(dry_run=True, steps=("sweep", "forget")))
    there = await consolidate_in_process(session, ConsolidateRequest(steps=("sweep", "forget")), fewest=0)
    assert [step.planned for step in there.steps] == [step.planned for step in here.steps]
    [memory] = await session.store.find()
    assert memory.layer == "semantic"
    await asyncio.gather(*apart._ending)
    await session.close()


async def test_a_small_store_is_not_worth_a_process(session, started):
    await consolidate_in_process(session, ConsolidateRequest())
    assert started == []
    assert await superseded(session) == 1


async def test_what_goes_wrong_there_is_told_here(session):
    async with dream_lock(session.store):
        with pytest.raises(StoreBusy, match="is dreaming on this store"):
            await consolidate_in_process(session, ConsolidateRequest(), fewest=0)
    assert await superseded(session) == 0


async def test_a_wrong_argument_is_refused_before_anything_is_started(session, started):
    with pytest.raises(InvalidInput, match="nap"):
        await consolidate_in_process(session, ConsolidateRequest(steps=["nap"]), fewest=0)
    assert started == []


KILLED_BEFORE_IT_SWEEPS = """
import os, signal, sys
from reverie.server import dream_process
send = dream_process._send
def send_or_die(message):
    if "sweep" in message.get("stage", ()):
        os.kill(os.getpid(), signal.SIGKILL)
    send(message)
dream_process._send = send_or_die
sys.exit(dream_process.main())
"""


async def test_a_process_that_is_killed_is_an_error_and_changes_nothing(session, monkeypatch):
    pipe = asyncio.subprocess.PIPE
    heard: list[str] = []

    async def start(_session: Session) -> asyncio.subprocess.Process:
        script = ("-P", "-c", KILLED_BEFORE_IT_SWEEPS)
        return await asyncio.create_subprocess_exec(sys.executable, *script, stdin=pipe, stdout=pipe)

    async def tell(done: int, total: int, message: str) -> None:
        heard.append(message)

    monkeypatch.setattr(apart, "_start", start)
    with pytest.raises(StoreError, match="ended without a result"):
        await consolidate_in_process(session, ConsolidateRequest(), tell, fewest=0)
    assert heard[0] == "reading"
    assert "sweep" not in heard
    assert await superseded(session) == 0
    await consolidate(session, ConsolidateRequest())
    assert await superseded(session) == 1


async def test_cancelled_it_changes_nothing_and_leaves_the_night_free(session):
    begun = asyncio.Event()

    async def tell(done: int, total: int, message: str) -> None:
        begun.set()
        await asyncio.sleep(60)  # as a client that takes its time

    dreaming = asyncio.create_task(consolidate_in_process(session, ConsolidateRequest(dry_run=True), tell, fewest=0))
    await begun.wait()
    dreaming.cancel()
    with pytest.raises(asyncio.CancelledError):
        await dreaming
    await asyncio.gather(*apart._ending)
    assert children() == []
    assert await superseded(session) == 0
    await consolidate(session, ConsolidateRequest())


async def test_it_leaves_when_the_session_that_wanted_it_is_gone(session):
    request = apart._message(session, ConsolidateRequest(), None)
    gone = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-P", "-m", "reverie.server.dream_process"],
        input=json.dumps(request).encode() + b"\n",  # and then stdin ends, long before a store could be opened
        capture_output=True,
        check=False,
        timeout=180,
    )
    assert gone.returncode == 0
    assert b"result" not in gone.stdout
    assert await superseded(session) == 0
    assert gone.stderr == b""


async def test_a_result_comes_through_the_pipe_as_it_was(session):
    told = await consolidate(session, ConsolidateRequest())
    assert consolidated_from(json.loads(json.dumps(asdict(told)))) == told


async def test_there_too_a_person_dreams_about_the_teams_and_their_own_alone(session):
    people = [
        await Session.elsewhere(session.domain, project="tests", session_id=f"{name}/1", person=name)
        for name in ("ann", "ben")
    ]
    for person in people:
        for mark in ("", "!"):
            asked = RememberRequest(content=TEXT + mark, layer="semantic", visibility="personal")
            await remember(person, asked)
    done = await consolidate_in_process(people[0], ConsolidateRequest(), fewest=0)
    assert done.personal_dream_id
    retired = {memory.owner for memory in await session.whole_store.find() if memory.status == "superseded"}
    assert retired == {None, "ann"}
    [record] = await session.store.dream_log.named(done.personal_dream_id)
    assert record.owner == "ann"
