"""Rules of the lifecycle checklist, each reached through a tool and told by inspect, recall, sweep or dream."""

import io
import json
import math
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from reverie.dream.steps import STEPS
from reverie.recall.results import Recalled
from reverie.time import iso
from reverie.tools.consolidate import consolidate
from reverie.tools.import_jsonl import import_memories
from reverie.tools.inspect import inspect
from reverie.tools.requests import ConsolidateRequest, InspectRequest
from reverie.tools.results import Remembered
from reverie.tools.session import Session
from reverie.tools.sweep import sweep

pytestmark = pytest.mark.anyio

Keep = Callable[..., Awaitable[Remembered]]
Ask = Callable[..., Awaitable[Recalled]]
OpenSession = Callable[..., Awaitable[Session]]


async def imported(session: Session, **fields: Any) -> dict[str, Any]:
    """Import one memory and return what inspect says of it."""
    line = json.dumps({"id": "the-memory", "content": "ships are built in Gdynia", "kind": "fact", **fields})
    await import_memories(session, io.BytesIO(line.encode()), lambda _: None)
    return await seen(session, "the-memory")


async def seen(session: Session, memory_id: str) -> dict[str, Any]:
    [memory] = (await inspect(session, InspectRequest(ids=[memory_id]))).memories
    return memory


@pytest.mark.rule("001-exponential")
async def test_inspect_tells_the_exponential_curve(open_session: OpenSession) -> None:
    session = await open_session(retention="exponential")
    memory = await imported(session, layer="semantic", stability=0.3, importance=0.7)
    assert memory["retention"]["30"] == pytest.approx(0.707, abs=0.0005)


@pytest.mark.rule("001-frequency")
async def test_recalls_stretch_the_exponential_curve(open_session: OpenSession) -> None:
    session = await open_session(retention="exponential")
    memory = await imported(session, layer="semantic", stability=0.3, importance=0.7, access_count=9)
    assert memory["retention"]["30"] == pytest.approx(math.exp(-30 / (86.4 * (1 + 0.1 * math.log(10)))), abs=0.0005)


@pytest.mark.rule("001-power")
async def test_inspect_tells_the_power_curve(open_session: OpenSession) -> None:
    session = await open_session(retention="power")
    memory = await imported(session, layer="semantic", stability=0.3, importance=0.5)  # a rate of 72 days
    told = [memory["retention"][days] for days in ("30", "90", "365")]
    assert told == pytest.approx([0.605, 0.310, 0.074], abs=0.0005)


@pytest.mark.rule("002-retention")
async def test_inspect_tells_the_default_curve(session: Session, keep: Keep) -> None:
    kept = await keep("the crane is yellow", layer="episodic", kind="event", source="human")
    told = (await seen(session, kept.id))["retention"]
    assert (told["now"], told["30"], told["90"]) == pytest.approx((1.0, 0.5, 0.3))


@pytest.mark.rule("000-decays-or-not")
async def test_episodes_fade_and_knowledge_does_not(session: Session, keep: Keep) -> None:
    episode = await keep("the crane was painted", layer="episodic", kind="event")
    decision = await keep("we decided on yellow cranes", layer="episodic", kind="decision")
    known = await keep("cranes are yellow", layer="semantic")
    left = [(await seen(session, one.id))["retention"]["365"] for one in (episode, decision, known)]
    assert left == [0.0, 1.0, 1.0]


@pytest.mark.rule("000-effective-age")
async def test_a_recall_adds_a_fifth_to_a_lifespan(session: Session, clock: Any) -> None:
    await imported(session, layer="episodic", tier="standard", access_count=2)
    clock.advance(days=9)  # 7 · (1 + 0.2 · 2) = 9.8
    assert (await sweep(session)).expired == {}
    clock.advance(days=1)
    assert (await sweep(session)).expired == {"tier-expired": ["the-memory"]}


@pytest.mark.rule("001-stability-growth")
async def test_a_recall_after_a_day_makes_a_memory_hold(session: Session, keep: Keep, ask: Ask, clock: Any) -> None:
    kept = await keep("the crane is yellow", layer="episodic")
    clock.advance(days=1)
    await ask("crane yellow")
    memory = await seen(session, kept.id)
    assert (memory["access_count"], memory["stability"]) == (1, pytest.approx(0.3625))


@pytest.mark.rule("002-importance")
async def test_inspect_explains_an_importance_by_nine_factors(session: Session, keep: Keep) -> None:
    memory = await seen(session, (await keep("the crane is yellow")).id)
    assert len(memory["factors"]) == 9
    assert sum(factor["share"] for factor in memory["factors"]) == pytest.approx(memory["composite_importance"])


@pytest.mark.rule("002-trust")
@pytest.mark.parametrize(("source", "trust"), [("human", 1.0), ("ai", 0.7), ("ingest", 0.5)])
async def test_trust_comes_from_the_source(session: Session, keep: Keep, source: str, trust: float) -> None:
    assert (await seen(session, (await keep("the crane is yellow", source=source)).id))["trust"] == trust


@pytest.mark.rule("002-trust")
async def test_a_file_is_trusted_by_half_at_most(session: Session) -> None:
    assert (await imported(session, trust=0.9))["trust"] == 0.5


@pytest.mark.rule("002-dream")
async def test_a_dream_goes_through_all_steps(session: Session, keep: Keep) -> None:
    await keep("the crane is yellow")
    told = await consolidate(session, ConsolidateRequest())
    assert [step.name for step in told.steps] == list(STEPS)


@pytest.mark.rule("000-nightly")
async def test_a_dream_writes_the_note_of_the_day(session: Session, keep: Keep, ask: Ask) -> None:
    for number in range(3):
        await keep(f"crane {number} was painted {('red', 'blue', 'green')[number]}", layer="episodic", kind="event")
    await consolidate(session, ConsolidateRequest())
    [note] = (await ask("crane painted", kinds=["digest"])).results
    assert "was painted" in note.content
    assert len(note.content) <= 1_200


@pytest.mark.rule("003-contradiction")
async def test_of_two_texts_with_the_same_tokens_the_older_is_superseded(
    session: Session, keep: Keep, clock: Any
) -> None:
    older = await keep("the crane on the northern quay is yellow", layer="semantic")
    clock.advance(days=1)
    newer = await keep("The crane on the northern quay is yellow!", layer="semantic")
    await consolidate(session, ConsolidateRequest())
    memory = await seen(session, older.id)
    assert (memory["status"], memory["superseded_by"]) == ("superseded", newer.id)


@pytest.mark.rule("003-low-value")
async def test_what_is_hardly_worth_keeping_goes_after_half_a_year(session: Session, clock: Any) -> None:
    used = iso(session.now)
    await imported(session, layer="episodic", importance=0.2, access_count=3, last_accessed_at=used)
    clock.advance(days=180)
    assert (await sweep(session)).expired == {}
    clock.advance(days=1)
    assert (await sweep(session)).expired == {"low-value": ["the-memory"]}


@pytest.mark.rule("004-actr")
async def test_inspect_tells_the_activation(session: Session, keep: Keep, clock: Any) -> None:
    kept = await keep("the crane is yellow")
    clock.advance(seconds=10)
    factors = {factor["name"]: factor["value"] for factor in (await seen(session, kept.id))["factors"]}
    assert factors["activation"] == pytest.approx(1 / (1 + math.exp(-(5 - 1.151293))))


@pytest.mark.rule("004-strength")
async def test_inspect_tells_the_strength(session: Session, clock: Any) -> None:
    await imported(session, layer="semantic", importance=0.8, confidence=0.95, access_count=2)
    clock.advance(days=7)
    assert (await seen(session, "the-memory"))["strength"] == pytest.approx(1.387, abs=0.0005)


@pytest.mark.rule("004-multiply")
async def test_without_confidence_there_is_no_strength(session: Session, keep: Keep) -> None:
    assert (await seen(session, (await keep("the crane is yellow", confidence=0.0)).id))["strength"] == 0.0


@pytest.mark.rule("000-domains")
async def test_a_domain_is_a_folder_of_its_own(open_session: OpenSession, clock: Any) -> None:
    one, other = await open_session(domain="alfred"), await open_session(domain="batman")
    for session in (one, other):
        await imported(session, layer="episodic", tier="goldfish")
    clock.advance(days=1)
    assert (await sweep(one)).expired == {"tier-expired": ["the-memory"]}
    assert (await other.store.resolve("the-memory")).status == "active"
