"""Bridges: asked within a project and between it and what is global, and always where somebody sees both sides."""

import json

import pytest

from reverie.tools.consolidate import consolidate
from reverie.tools.recall import recall
from reverie.tools.remember import remember
from reverie.tools.requests import ConsolidateRequest, RecallRequest, RememberRequest, ReviewRequest
from reverie.tools.review import review
from reverie.tools.session import Session
from tests.model_server import KEY, Api, says, serving

from ..conftest import OpenSession

pytestmark = pytest.mark.anyio

WORDS = ("copies", "moves", "stores")


async def tell(session: Session, name: str, *, what: str = "nightly ledgers", tag: str, project: str = "") -> None:
    """Say three things about a subject, in the words that are said about others too."""
    for number, word in enumerate(WORDS, 1):
        text = f"Each time {name} {word} {what} into cold storage batch {number}"
        await remember(
            session,
            RememberRequest(content=text, layer="semantic", tags=[tag], project=project or session.here.project),
        )


async def asked_in(session: Session) -> set[frozenset[str]]:
    """Return the pairs that a session is asked about."""
    shown = (await review(session, ReviewRequest(limit=50))).questions
    stored = {one.id: one for one in await session.store.review_queue.all()}
    return {frozenset(stored[one["id"]].body["about"][:2]) for one in shown if one["kind"] == "bridge"}


async def test_every_bridge_is_asked_where_both_sides_are_seen_and_nowhere_else(open_session: OpenSession) -> None:
    north, south = await open_session(project="north"), await open_session(project="south")
    await tell(north, "Alfa", tag="finance")
    await tell(north, "Bravo", tag="platform")
    await tell(south, "Charlie", tag="finance")
    await tell(north, "Golf", tag="shared", project="global")
    await consolidate(north, ConsolidateRequest(steps=["synthesis"]))
    seen = {session.here.project: await asked_in(session) for session in (north, south)}
    assert seen["north"] == {frozenset(pair) for pair in (("alfa", "bravo"), ("alfa", "golf"), ("bravo", "golf"))}
    assert seen["south"] == {frozenset(("charlie", "golf"))}
    shown = seen["north"] | seen["south"]
    stored = await north.store.review_queue.open()
    assert {frozenset(one.body["about"][:2]) for one in stored} == shown  # no question that nobody sees


async def test_an_answer_writes_the_bridge_in_the_project_that_may_know_both_sides(open_session: OpenSession) -> None:
    north, south = await open_session(project="north"), await open_session(project="south")
    await tell(north, "Alfa", tag="finance")
    await tell(north, "Golf", tag="shared", project="global")
    await consolidate(south, ConsolidateRequest(steps=["synthesis"]))  # whoever dreams
    assert await asked_in(south) == set()
    [question] = (await review(north, ReviewRequest())).questions
    text = "Alfa and Golf fill the same cold storage"
    answer = {"question_id": question["id"], "verdict": "bridge", "text": text}
    await review(north, ReviewRequest(decisions=[answer]))
    [bridge] = [memory for memory in await north.store.find() if memory.kind == "bridge"]
    assert (bridge.project, bridge.content, len(bridge.derived_from)) == ("north", text, 6)
    asked = RecallRequest(query="what fills the cold storage", limit=20)
    assert [bridge.id in {row.id for row in (await recall(one, asked)).results} for one in (north, south)] == [
        True,
        False,
    ]
    again = await consolidate(north, ConsolidateRequest(steps=["synthesis"]))
    assert again.questions == []


async def test_what_is_global_on_both_sides_is_asked_of_everybody(open_session: OpenSession) -> None:
    north, south = await open_session(project="north"), await open_session(project="south")
    await tell(north, "Golf", tag="finance", project="global")
    await tell(north, "Hotel", tag="platform", project="global")
    await consolidate(south, ConsolidateRequest(steps=["synthesis"]))
    assert await asked_in(north) == await asked_in(south) == {frozenset(("golf", "hotel"))}


async def test_no_project_takes_the_whole_share_of_a_day(open_session: OpenSession) -> None:
    busy, quiet = await open_session(project="a-busy"), await open_session(project="z-quiet")
    for number, name in enumerate(("Alfa", "Bravo", "Delta", "Kilo", "Lima")):
        await tell(busy, name, tag=f"team{number}")
    await tell(quiet, "Oscar", tag="finance")
    await tell(quiet, "Papa", tag="platform")
    await consolidate(busy, ConsolidateRequest(steps=["synthesis"]))
    assert await asked_in(quiet) == {frozenset(("oscar", "papa"))}
    assert len(await asked_in(busy)) == 4


async def test_a_model_confirms_a_bridge_and_is_shown_only_what_one_session_may_see(
    open_session: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = Api()
    api.script = [says({"connected": True, "text": "They fill the same cold storage"})]
    with serving(api) as address:
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("NO_PROXY", "*")
        north = await open_session(project="north", llm="openai:some-model", llm_price=(1.0, 1.0))
        await tell(north, "Alfa", tag="finance")
        await tell(north, "Bravo", tag="platform")
        await tell(north, "Charlie", tag="finance", project="south")
        await consolidate(north, ConsolidateRequest(steps=["synthesis"]))
    assert "Alfa" in json.dumps(api.requests)
    assert "Charlie" not in json.dumps(api.requests)
    [bridge] = [memory for memory in await north.store.find() if memory.kind == "bridge"]
    assert (bridge.project, set(bridge.entities)) == ("north", {"alfa", "bravo"})
    assert await asked_in(north) == set()
