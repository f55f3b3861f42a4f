"""Attack: a loop that has run away, or a caller who sends more than anybody needs."""

import pytest

from reverie.errors import InvalidInput, RateLimited
from reverie.server.app import RateLimit
from reverie.tools.inspect import inspect
from reverie.tools.requests import InspectRequest

pytestmark = pytest.mark.anyio


TOO_MUCH = (
    ({"content": "a" * 100_001}, "100,001"),
    ({"content": "a" * 50_000_000}, "50,000,000"),
    ({"content": "x", "title": "t" * 201}, "title"),
    ({"content": "x", "tags": [f"t{n}" for n in range(51)]}, "51 tags"),
    ({"content": "x", "tags": ["t" * 201]}, "tags"),
    ({"content": "x", "project": "p" * 201}, "project"),
    ({"content": "x", "files": [f"f{n}.py" for n in range(101)]}, "files"),
    ({"content": "x", "files": ["f" * 5_000]}, "files"),
)


async def test_what_is_too_much_for_one_memory_is_refused(session, keep):
    for arguments, says in TOO_MUCH:
        with pytest.raises(InvalidInput, match=says):
            await keep(**arguments)
        assert await session.store.count() == 0, says


async def test_too_many_ids_are_refused(session):
    with pytest.raises(InvalidInput, match="101 ids"):
        await inspect(session, InspectRequest(ids=[f"memory-{n}" for n in range(101)]))


class Hands:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self):
        return self.now


async def test_a_session_writes_only_so_often_a_minute():
    clock = Hands()
    rate_limit = RateLimit(writes_per_minute=3, clock=clock)
    for _ in range(3):
        async with rate_limit.kept(writes=True):
            pass
    clock.now = 20.0
    with pytest.raises(RateLimited, match=r"3 times within a minute.*40 seconds"):
        async with rate_limit.kept(writes=True):
            pass
    async with rate_limit.kept(writes=False):
        pass  # reading goes on
    clock.now = 60.0
    async with rate_limit.kept(writes=True):
        pass


async def test_only_so_many_calls_wait_at_once():
    rate_limit = RateLimit(most_waiting=1)
    async with rate_limit.kept(writes=False):
        with pytest.raises(RateLimited, match="calls wait"):
            async with rate_limit.kept(writes=False):
                pass
    async with rate_limit.kept(writes=False):
        pass  # and afterwards it is free again
