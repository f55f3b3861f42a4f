"""Locks are taken in one order: the log of new memories first, then the journal.

A flush of memories to a bucket flushes the journal too. Whoever took the two the other way round could wait for it
while it waits for them: for thirty seconds, and then one of the two was refused.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from datetime import timedelta

import pytest

from reverie.storage import journal
from reverie.storage.audit import accept
from reverie.storage.database import FLUSH_LOCK, Stamp
from reverie.storage.locks import PATIENCE_SECONDS, ProcessLock
from reverie.storage.maintenance import fold_old_logs
from reverie.storage.reembed import Made, reembed
from reverie.tools.forget import forget
from reverie.tools.remember import remember
from reverie.tools.requests import ForgetRequest, RememberRequest
from reverie.tools.session import Session
from tests.conftest import ManualClock

pytestmark = pytest.mark.anyio

_HELD: ContextVar[tuple[str, ...]] = ContextVar("locks of this task", default=())


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str]]:
    """Note for each lock that is taken which ones its task has already."""
    pairs: set[tuple[str, str]] = set()
    original = ProcessLock.held

    @asynccontextmanager
    async def held(self: ProcessLock, patience: float = PATIENCE_SECONDS) -> AsyncIterator[None]:
        name = self._path.name
        pairs.update((one, name) for one in _HELD.get())
        before = _HELD.set((*_HELD.get(), name))
        try:
            async with original(self, patience):
                yield
        finally:
            _HELD.reset(before)

    monkeypatch.setattr(ProcessLock, "held", held)
    return pairs


@pytest.fixture
async def stocked(session: Session) -> Session:
    """A store that does with every flush of memories what one in a bucket does."""
    session.store.database.write_ahead_log.flush_events = session.store.journal.flush
    for number in range(3):
        await remember(session, RememberRequest(content=f"The lighthouse has {number} lamps of kind {number}."))
    return session


def right(taken: set[tuple[str, str]]) -> bool:
    return (journal.FLUSH_LOCK, FLUSH_LOCK) not in taken


async def test_a_flush_takes_the_log_first(stocked: Session, taken: set[tuple[str, str]]) -> None:
    await stocked.store.database.write_ahead_log.flush()
    assert (FLUSH_LOCK, journal.FLUSH_LOCK) in taken  # else nothing here proves anything


async def test_so_does_a_purge(stocked: Session, taken: set[tuple[str, str]]) -> None:
    kept = await remember(stocked, RememberRequest(content="The lighthouse keeper is called Ida."))
    await forget(stocked, ForgetRequest(ids=(kept.id,), purge=True))
    assert right(taken)
    assert (FLUSH_LOCK, journal.FLUSH_LOCK) in taken


async def test_so_does_re_embedding(stocked: Session, taken: set[tuple[str, str]]) -> None:
    loop, waits = asyncio.get_running_loop(), ["The lighthouse got a new door meanwhile."]

    def embed(texts: Sequence[str]) -> list[Made]:
        while waits:  # it is in the log when the tables are copied
            late = remember(stocked, RememberRequest(content=waits.pop()))
            asyncio.run_coroutine_threadsafe(late, loop).result()
        return [(one.vector, one.passages, one.pieces) for one in stocked.embedder.embed(texts)]

    home = stocked.store.database.home
    await reembed(home, Stamp("other:64", 64), embed, now=stocked.now, progress=lambda _done, _all: None)
    assert right(taken)


async def test_so_do_folding_and_accepting(stocked: Session, taken: set[tuple[str, str]], clock: ManualClock) -> None:
    clock.advance(days=400)
    late = await remember(stocked, RememberRequest(content="The lighthouse was painted red."))
    async with stocked.store.changing():
        await fold_old_logs(stocked.store, stocked.now - timedelta(days=90), stocked.now)
    await accept(stocked.store, actor="tests", at=stocked.now)
    assert right(taken)
    assert late.id in await stocked.store.get([late.id])
