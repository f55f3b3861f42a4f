"""Dreaming by itself (REVERIE_DREAM=auto): once a day, when nobody asks anything, one session for all."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from reverie.errors import StoreBusy
from reverie.server.engine import SECONDS_IDLE, dream_while_serving
from reverie.tools.consolidate import consolidate, dream_if_due
from reverie.tools.dreams import dreams
from reverie.tools.remember import remember
from reverie.tools.requests import ConsolidateRequest, RememberRequest
from reverie.tools.session import Session

pytestmark = [pytest.mark.anyio, pytest.mark.rule("000-nightly"), pytest.mark.slow]

OpenSession = Callable[..., Awaitable[Session]]
PATIENCE = 120.0
TEXT = "The nightly backup of the billing database runs on the second replica and is kept for ninety days"


async def looked(*sessions: Session, idle_for: float = SECONDS_IDLE) -> None:
    """Let each session look three times whether a dream is due; one that was told not to look ends at once."""
    await asyncio.gather(*(_looked(session, idle_for) for session in sessions))


async def _looked(session: Session, idle_for: float) -> None:
    looks = 0
    enough = asyncio.Event()

    def idle_seconds() -> float:
        nonlocal looks
        looks += 1
        if looks > 3:  # the third look is over, dream and all
            enough.set()
            return 0.0
        return idle_for

    watching = asyncio.create_task(dream_while_serving(lambda: session, idle_seconds, look_every=0.001))
    seen = asyncio.create_task(enough.wait())
    await asyncio.wait({watching, seen}, return_when=asyncio.FIRST_COMPLETED)
    if watching.done():
        watching.result()
    for task in (watching, seen):
        task.cancel()
    await asyncio.gather(watching, seen, return_exceptions=True)


async def test_the_first_dream_is_due_a_day_after_the_store_was_begun(session: Session, clock: Any) -> None:
    clock.advance(hours=23, minutes=59)
    assert await dream_if_due(session) is None
    clock.advance(minutes=1)
    assert await dream_if_due(session) is not None
    assert await dream_if_due(session) is None


async def test_the_next_is_due_a_day_after_the_last_whoever_asked_for_that(session: Session, clock: Any) -> None:
    clock.advance(hours=20)
    await consolidate(session, ConsolidateRequest())
    clock.advance(hours=20)
    assert await dream_if_due(session) is None
    clock.advance(hours=4)
    assert await dream_if_due(session) is not None


async def test_an_idle_session_dreams_when_a_day_has_passed(session: Session, clock: Any) -> None:
    for mark in ("", "!"):
        await remember(session, RememberRequest(content=TEXT + mark, layer="semantic"))
    await looked(session)
    assert await dreams(session) == []
    clock.advance(days=1)
    await looked(session)
    assert [night.summary for night in await dreams(session)] == ["said again"]
    clock.advance(days=1)
    await looked(session)
    assert [night.summary for night in await dreams(session)] == ["nothing to do", "said again"]


async def test_a_session_that_is_asked_things_does_not(session: Session, clock: Any) -> None:
    clock.advance(days=3)
    await looked(session, idle_for=SECONDS_IDLE - 1)
    assert await dreams(session) == []


async def test_nor_does_one_that_was_told_to_leave_it(open_session: OpenSession, clock: Any) -> None:
    manual = await open_session(dream="manual")
    clock.advance(days=3)
    await looked(manual)
    assert await dreams(manual) == []


async def test_two_sessions_dream_once(open_session: OpenSession, clock: Any) -> None:
    sessions = [await open_session() for _ in range(2)]
    clock.advance(days=1)
    await looked(*sessions)
    assert len(await dreams(sessions[0])) == 1


async def test_of_two_that_found_a_dream_due_the_later_leaves_it(open_session: OpenSession, clock: Any) -> None:
    first, second = await open_session(), await open_session()
    clock.advance(days=1)

    async def after_the_other(session: Session, request: ConsolidateRequest, **arguments: Any) -> Any:
        await dream_if_due(first)
        return await consolidate(session, request, **arguments)

    with pytest.raises(StoreBusy, match="has dreamt on this store meanwhile"):
        await dream_if_due(second, after_the_other)
    assert len(await dreams(first)) == 1


LOOK = """
import asyncio, sys
from pathlib import Path
from reverie.server.engine import SECONDS_IDLE, dream_while_serving, load_tools
load_tools()
from reverie.settings import load_settings
from reverie.tools.session import Session
from reverie.tools.dreams import dreams

async def main():
    session = await Session.open(load_settings(), folder=Path.cwd())
    watching = asyncio.create_task(dream_while_serving(lambda: session, lambda: SECONDS_IDLE, look_every=0.0))
    async with asyncio.timeout(110):
        while not await dreams(session):
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.5)
    watching.cancel()
    await session.close()

asyncio.run(main())
"""


@pytest.mark.slow
def test_two_processes_dream_once_by_a_clock_that_was_moved_on(tmp_path: Path, called: Callable[..., Any]) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REVERIE_")}
    environment |= {"REVERIE_HOME": str(tmp_path / "home"), "REVERIE_PROJECT": "tests", "REVERIE_ENGINE": "off"}
    assert called(tmp_path, "remember", TEXT).returncode == 0
    moved_on = environment | {"REVERIE_CLOCK": "+1d"}
    processes = [subprocess.Popen([sys.executable, "-c", LOOK], env=moved_on, cwd=tmp_path) for _ in range(2)]
    assert [process.wait(PATIENCE) for process in processes] == [0, 0]
    listed = json.loads(called(tmp_path, "dreams", "--json").stdout)
    assert [dream["status"] for dream in listed] == ["done"]
