"""A store without memories belongs to no embedder: the one that is set takes it over."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import numpy as np
import pytest

from reverie.embeddings.base import Embedding, QueryEmbedding
from reverie.errors import WrongEmbedder
from reverie.settings import Settings
from reverie.tools import forget, recall, remember
from reverie.tools.doctor import Doctor
from reverie.tools.requests import ForgetRequest, RecallRequest, RememberRequest
from reverie.tools.session import Session
from tests.tiny_embedder import TinyEmbedder

pytestmark = pytest.mark.anyio

OpenSession = Callable[..., Awaitable[Session]]

LAMP = "The lamp on the pier burns oil"


class OtherEmbedder(TinyEmbedder):
    """Another model with vectors of the same length."""

    @property
    def stamp(self) -> str:
        return "other:64"


class WideEmbedder(TinyEmbedder):
    """Another model with longer vectors."""

    @property
    def stamp(self) -> str:
        return "wide:96"

    @property
    def dimensions(self) -> int:
        return 96

    def read(self, question: str) -> QueryEmbedding:
        [embedding] = self.embed([question])
        return QueryEmbedding(embedding.vector)

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        return [
            Embedding(np.concatenate([one.vector, np.zeros(32, np.float32)]), (), one.pieces)
            for one in super().embed(texts)
        ]


async def _keep(session: Session) -> str:
    return (await remember.remember(session, RememberRequest(content=LAMP))).id


async def _works(session: Session) -> None:
    kept = await _keep(session)
    answer = await recall.recall(session, RecallRequest(query="which lamp"))
    assert [row.id for row in answer.results] == [kept]


@pytest.mark.parametrize("other", [OtherEmbedder(), WideEmbedder()])
async def test_a_new_store_takes_the_embedder_that_is_set(open_session: OpenSession, other: TinyEmbedder) -> None:
    await open_session()
    session = await open_session(embedder=other)
    assert session.store.database.stamp.embedder == other.stamp
    await _works(session)


@pytest.mark.parametrize("other", [OtherEmbedder(), WideEmbedder()])
async def test_a_store_whose_memories_were_all_purged_is_empty_and_keeps_its_journal(
    open_session: OpenSession, other: TinyEmbedder
) -> None:
    first = await open_session()
    gone = await _keep(first)
    await forget.forget(first, ForgetRequest(ids=[gone], purge=True))
    session = await open_session(embedder=other)
    assert [event.action for event in await session.store.journal.about(gone)] == ["remembered", "purged"]
    await remember.remember(session, RememberRequest(content="The bell on the quay is cracked"))


async def test_a_memory_that_was_forgotten_still_binds_the_store(open_session: OpenSession) -> None:
    first = await open_session()
    await forget.forget(first, ForgetRequest(ids=[await _keep(first)]))
    with pytest.raises(WrongEmbedder):
        await open_session(embedder=WideEmbedder())
    assert (await open_session()).store.database.stamp.embedder == "tiny:64"


async def test_sessions_that_take_an_empty_store_over_at_once_do_it_once(open_session: OpenSession) -> None:
    await open_session()
    sessions = await asyncio.gather(*(open_session(embedder=WideEmbedder()) for _ in range(4)))
    assert {session.store.database.generation for session in sessions} == {2}
    await _works(sessions[0])


async def test_the_doctor_finds_nothing_wrong_with_an_empty_store_of_another_embedder(
    open_session: OpenSession, home: object
) -> None:
    session = await open_session()
    settings = Settings(home=str(home))
    checks = await Doctor(settings, embedder=OtherEmbedder()).examine()
    assert "store's embedder" not in [check.name for check in checks]
    await _keep(session)
    checks = await Doctor(settings, embedder=OtherEmbedder()).examine()
    assert "store's embedder" in [check.name for check in checks]
