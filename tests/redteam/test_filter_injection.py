"""Attack: a filter value that ends its quotes and says something else to the database."""

import pytest

from reverie.errors import ReverieError
from reverie.tools.brief import brief
from reverie.tools.forget import forget
from reverie.tools.inspect import inspect
from reverie.tools.requests import BriefRequest, ForgetRequest, InspectRequest, RestoreRequest
from reverie.tools.restore import restore

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

INJECTIONS = [
    "' OR '1'='1",
    "x') OR TRUE --",
    "'; DELETE FROM semantic; --",
    "\\' OR 1=1 --",
    "' UNION SELECT * FROM meta --",
    "%",
    "_" * 16,
    "x\x00' OR TRUE",
    "ʼ OR TRUE",
    '" OR ""="',
    "${jndi:ldap://x}",
]


@pytest.fixture
async def store_of_three(keep):
    """Three memories, none of which an injection may reach."""
    return [(await keep(f"Lamp {n}.", project="theirs", tags=["lamp"], pin=True)).id for n in range(3)]


async def test_no_filter_of_any_tool_lets_it_out(session, ask, store_of_three):
    for text in INJECTIONS:
        await _let_out_by_no_filter(session, ask, text)


async def _let_out_by_no_filter(session, ask, text):
    for arguments in (
        {"project": text},
        {"tags": [text]},
        {"project": text, "tags": [text], "include": ["expired"]},
    ):
        answer, _ = await ask("lamp", **arguments)
        assert answer.results == [], text
    answer, _ = await ask(text)
    assert answer.results == [], text
    for filters in ({"tag": text}, {"project": text}, {"project": text, "tag": text}):
        done = await forget(session, ForgetRequest(**filters))
        assert (done.forgotten, done.skipped) == ([], []), text
    assert "Lamp" not in (await brief(session, BriefRequest(project=text))).text, text
    padded = f"{text}-padded-to-eight"
    for attempt in (
        lambda: inspect(session, InspectRequest(ids=[padded])),
        lambda: forget(session, ForgetRequest(ids=[padded], purge=True)),
        lambda: restore(session, RestoreRequest(ids=[padded])),
        lambda: restore(session, RestoreRequest(event_id=padded)),
        lambda: restore(session, RestoreRequest(dream_id=padded)),
    ):
        with pytest.raises(ReverieError):
            await attempt()
    assert await session.store.count() == 3, text


async def test_no_chosen_value_of_remember_takes_it(session, keep):
    for field in ("layer", "kind", "source", "tier", "happened_at", "forget_after", "supersedes"):
        for text in INJECTIONS:
            with pytest.raises(ReverieError):
                await keep("A note.", **{field: f"{text}-padded-to-eight"})
        assert await session.store.count() == 0, field


async def test_no_chosen_value_of_recall_takes_it(ask):
    for field in ("layers", "kinds", "include"):
        for text in INJECTIONS:
            with pytest.raises(ReverieError):
                await ask("lamp", **{field: [text]})


async def test_no_moment_takes_it(ask):
    for field in ("since", "before", "as_of"):
        for text in INJECTIONS:
            with pytest.raises(ReverieError):
                await ask("lamp", **{field: text})
