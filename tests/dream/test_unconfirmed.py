"""Beliefs that nothing has confirmed for long are asked about, a few at a time, each once; verdicts have receipts."""

from datetime import timedelta
from typing import Any

import pytest

from reverie.memory import Memory
from reverie.tools.consolidate import consolidate
from reverie.tools.inspect import inspect
from reverie.tools.recall import recall
from reverie.tools.remember import remember
from reverie.tools.requests import (
    ConsolidateRequest,
    InspectRequest,
    RecallRequest,
    RememberRequest,
    RestoreRequest,
    ReviewRequest,
    ReviseRequest,
)
from reverie.tools.restore import restore
from reverie.tools.review import review
from reverie.tools.revise import revise
from reverie.tools.session import Session
from tests.conftest import ManualClock, OpenSession
from tests.dream.conftest import NOW, a_memory, planned

pytestmark = pytest.mark.anyio

OLD = NOW - timedelta(days=120)


async def say(session: Session, content: str, **fields: Any) -> str:
    request = RememberRequest(content=content, layer="semantic", kind="fact", source="human", **fields)
    return (await remember(session, request)).id


async def dream(session: Session) -> None:
    await consolidate(session, ConsolidateRequest(steps=("beliefs",)))


async def open_questions(session: Session) -> list[dict[str, Any]]:
    return (await review(session, ReviewRequest())).questions


async def answer(session: Session, question: dict[str, Any], verdict: str) -> None:
    decision = {"question_id": question["id"], "verdict": verdict}
    await review(session, ReviewRequest(decisions=(decision,)))  # type: ignore[arg-type]


async def importance(session: Session, memory_id: str) -> float:
    [shown] = (await inspect(session, InspectRequest(ids=(memory_id,)))).memories
    return float(shown["composite_importance"])


def leaned_on(number: int, **changes: Any) -> Memory:
    fields: dict[str, Any] = {
        "created_at": OLD,
        "happened_at": OLD,
        "updated_at": OLD,
        "access_count": 10 + number,
        "sessions": ("a", "b", "c"),
        "last_accessed_at": NOW - timedelta(days=2),
    }
    return a_memory(number, f"Service{number} answers on its port {7000 + number}", **(fields | changes))


@pytest.mark.parametrize(
    ("changes", "is_asked"),
    [
        ({}, True),
        ({"access_count": 9}, False),
        ({"sessions": ("a", "b")}, False),
        ({"last_accessed_at": NOW - timedelta(days=61)}, False),
        ({"updated_at": NOW - timedelta(days=89)}, False),
        ({"confirmations": 1, "confirmed_by": ("human",)}, False),  # confirmed once: asked after twice as long
        ({"pinned": True}, False),
        ({"kind": "event"}, False),
        ({"layer": "episodic"}, False),
    ],
)
def test_a_belief_is_asked_about_if_it_is_recalled_often_and_long_unconfirmed(
    changes: dict[str, Any], is_asked: bool
) -> None:
    plan = planned([leaned_on(1, **changes)], "beliefs")
    questions = [question for one in plan.change_sets for question in one.questions]
    assert bool(questions) == is_asked
    assert all(not one.changes for one in plan.change_sets), "nothing contradicts it, nothing is changed"


def test_a_night_asks_about_three_the_most_recalled_first() -> None:
    plan = planned([leaned_on(number) for number in range(1, 8)], "beliefs")
    assert [q.memory_ids[0] for one in plan.change_sets for q in one.questions] == ["m0007", "m0006", "m0005"]


async def test_a_belief_the_project_leans_on_is_asked_once_and_a_new_voice_counts(
    open_session: OpenSession, clock: ManualClock
) -> None:
    first = await open_session()
    known = await say(first, "The harbour office closes at nine")
    clock.advance(days=80)
    for _ in range(4):
        one = await open_session()
        for _ in range(3):
            clock.advance(hours=12)
            await recall(one, RecallRequest(query="when does the harbour office close"))
        await one.accesses.count_if_possible()
    await dream(first)
    assert await open_questions(first) == [], "not long enough"
    clock.advance(days=10)
    reviewer = await open_session()
    await dream(reviewer)
    [question] = await open_questions(reviewer)
    assert question["memories"][0]["id"] == known
    assert "nothing has confirmed it since 2026-03-02" in question["evidence"][0]
    assert "recalled 12 times in 4 sessions" in question["evidence"][1]
    await answer(reviewer, question, "holds")
    memory = (await reviewer.store.get([known]))[known]
    assert (memory.confirmations, len(memory.confirmed_by)) == (1, 1)
    upheld = [one for one in await reviewer.store.journal.about(known) if one.action == "upheld"]
    assert question["id"] in (upheld[0].reason or "")
    clock.advance(days=400)
    await recall(reviewer, RecallRequest(query="when does the harbour office close"))
    await dream(reviewer)
    assert await open_questions(reviewer) == [], "what was answered is not asked again"


async def test_a_fact_whose_neighbour_was_corrected_is_asked_about_with_what_changed(
    open_session: OpenSession, clock: ManualClock
) -> None:
    session = await open_session()
    known = await say(session, "The Exporter of tenants writes its nightly report to the bucket")
    other = await say(session, "The Exporter of tenants writes its nightly report at three")
    clock.advance(days=100)
    await dream(session)
    assert await open_questions(session) == []
    text = "The Exporter of tenants writes its nightly report at noon to the archive"
    new = (await revise(session, ReviseRequest(id=other, content=text))).id
    clock.advance(days=1)
    await dream(session)
    [question] = await open_questions(session)
    assert [memory["id"] for memory in question["memories"]] == [known]
    assert f"changed since: {new}, 2026-06-10: {text}" in question["evidence"]
    await answer(session, question, "outdated")
    assert (await session.store.get([known]))[known].status == "expired"
    await restore(session, RestoreRequest(dream_id=question["id"]))
    assert (await session.store.get([known]))[known].status == "active"


async def test_a_challenge_has_a_receipt_lowers_confidence_and_importance_and_holds_raises_them(
    session: Session, clock: ManualClock
) -> None:
    known = await say(session, "The timeout of the Exporter is 30 seconds")
    clock.advance(days=1)
    await say(session, "The timeout of the Exporter is now 60 seconds")
    before = await importance(session, known)
    await dream(session)
    belief = (await session.store.get([known]))[known]
    assert (belief.status, belief.confidence) == ("challenged", 0.6)
    assert await importance(session, known) < 0.9 * before
    [event] = [one for one in await session.store.journal.about(known) if one.action == "challenged"]
    assert (event.reason or "").endswith("judged by rule, certain; confidence 1 → 0.6")
    [question] = await open_questions(session)
    assert any("says since 2026-03-03" in line for line in question["evidence"])
    await answer(session, question, "holds")
    assert (await session.store.get([known]))[known].confidence == 1.0
    assert await importance(session, known) == pytest.approx(before, abs=0.01)
