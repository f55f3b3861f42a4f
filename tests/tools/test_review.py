"""Questions and answers: what is needed to decide is shown; a wrong answer changes nothing, a right one is kept."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from reverie.errors import InvalidInput
from reverie.memory import to_record
from reverie.tools.consolidate import consolidate
from reverie.tools.forget import forget
from reverie.tools.requests import ConsolidateRequest, ForgetRequest, PinRequest, RestoreRequest, ReviewRequest
from reverie.tools.restore import restore
from reverie.tools.results import Remembered
from reverie.tools.review import review
from reverie.tools.revise import pin
from reverie.tools.session import Session

pytestmark = pytest.mark.anyio

Keep = Callable[..., Awaitable[Remembered]]
BASE = "the Exporter job of the billing team writes one invoice file to the archive bucket every single night"
TAILS = ("as auditors want it", "when traffic stays low", "before reports get built", "with checks run twice",
         "since customers asked once")  # fmt: skip
TEXT = f"{BASE}, {', '.join(TAILS)}"


async def everything(session: Session) -> dict[str, Any]:
    return {memory.id: to_record(memory) for memory in await session.store.find()}


@pytest.fixture
async def merge_question(session: Session, keep: Keep) -> dict[str, Any]:
    for tail in TAILS:
        await keep(f"{BASE} {tail}", layer="semantic")
    await consolidate(session, ConsolidateRequest(steps=["cluster"]))
    [question] = (await review(session, ReviewRequest())).questions
    return question


@pytest.fixture
async def belief_question(session: Session, keep: Keep, clock: Any) -> dict[str, Any]:
    await keep("The Billing service listens on port 8080 in production", layer="semantic", confidence=0.9)
    clock.advance(days=1)
    await keep("The Billing service listens on port 9090 in production", layer="semantic")
    await consolidate(session, ConsolidateRequest(steps=["beliefs"]))
    [question] = (await review(session, ReviewRequest())).questions
    return question


async def test_a_question_carries_what_is_needed_to_decide_it(merge_question: dict[str, Any]) -> None:
    assert merge_question["kind"] == "merge"
    assert merge_question["verdicts"] == ["merge", "separate"]
    assert {memory["content"] for memory in merge_question["memories"]} == {f"{BASE} {tail}" for tail in TAILS}
    assert merge_question["evidence"] == ["5 memories with a cosine above 0.8 and a shared subject"]


async def test_a_merge_is_applied_and_can_be_undone_by_the_questions_id(
    session: Session, merge_question: dict[str, Any]
) -> None:
    before = await everything(session)
    answer = await review(
        session, ReviewRequest(decisions=[{"question_id": merge_question["id"], "verdict": "merge", "text": TEXT}])
    )
    assert (answer.questions, answer.resolved[0]["verdict"]) == ([], "merge")
    active = [memory for memory in await session.store.find() if memory.status == "active"]
    assert [memory.content for memory in active] == [TEXT]
    events = await session.store.journal.of_batch(merge_question["id"])
    assert {event.actor for event in events} == {"review"}
    await restore(session, RestoreRequest(dream_id=merge_question["id"]))
    assert await everything(session) == before
    assert [question["id"] for question in (await review(session, ReviewRequest())).questions] == [
        merge_question["id"]
    ]


WRONG_ANSWERS = [
    ({"question_id": "qnothing", "verdict": "merge", "text": TEXT}, "no question has the id"),
    ({"question_id": "", "verdict": "merge"}, "no question has the id"),
    ({"verdict": "burn"}, "'burn' is no verdict"),
    ({"verdict": "outdated"}, "It takes: merge, separate"),
    ({"verdict": "merge"}, "merge needs a text"),
    ({"verdict": "merge", "text": "an invoice is written"}, "it leaves out 1, exporter"),
    ({"verdict": "separate", "reason": "x"}, "'reason' is unknown"),
]


async def test_a_wrong_answer_is_an_error_that_changes_nothing(
    session: Session, merge_question: dict[str, Any], subtests: pytest.Subtests
) -> None:
    for decision, complaint in WRONG_ANSWERS:
        with subtests.test(complaint):
            before = await everything(session)
            with pytest.raises(InvalidInput, match=complaint):
                await review(session, ReviewRequest(decisions=[{"question_id": merge_question["id"]} | decision]))
            assert await everything(session) == before
            assert len((await review(session, ReviewRequest())).questions) == 1


async def test_one_wrong_answer_among_right_ones_changes_nothing(
    session: Session, merge_question: dict[str, Any]
) -> None:
    right = {"question_id": merge_question["id"], "verdict": "separate"}
    with pytest.raises(InvalidInput):
        await review(session, ReviewRequest(decisions=[right, {"question_id": "qnothing", "verdict": "separate"}]))
    with pytest.raises(InvalidInput, match="answered twice"):
        await review(session, ReviewRequest(decisions=[right, right]))
    assert len((await review(session, ReviewRequest())).questions) == 1


async def test_separate_is_remembered_and_not_asked_again(session: Session, merge_question: dict[str, Any]) -> None:
    await review(session, ReviewRequest(decisions=[{"question_id": merge_question["id"], "verdict": "separate"}]))
    assert (await consolidate(session, ConsolidateRequest(steps=["cluster"]))).questions == []
    with pytest.raises(InvalidInput, match="is separate, not open"):
        await review(session, ReviewRequest(decisions=[{"question_id": merge_question["id"], "verdict": "separate"}]))


async def test_a_pinned_member_keeps_a_merge_from_happening(session: Session, merge_question: dict[str, Any]) -> None:
    await pin(session, PinRequest(id=merge_question["memories"][0]["id"]))
    before = await everything(session)
    with pytest.raises(InvalidInput, match="is pinned"):
        await review(
            session,
            ReviewRequest(decisions=[{"question_id": merge_question["id"], "verdict": "merge", "text": TEXT}]),
        )
    assert await everything(session) == before


async def test_a_question_about_something_forgotten_is_withdrawn_by_the_next_night(
    session: Session, merge_question: dict[str, Any]
) -> None:
    await forget(session, ForgetRequest(ids=[merge_question["memories"][0]["id"]]))
    await consolidate(session, ConsolidateRequest())
    assert merge_question["id"] not in [
        question["id"] for question in (await review(session, ReviewRequest())).questions
    ]


async def test_a_belief_that_is_outdated_gives_way_to_the_newer(
    session: Session, belief_question: dict[str, Any]
) -> None:
    old, newer = (memory["id"] for memory in belief_question["memories"])
    assert (await session.store.resolve(old)).status == "challenged"
    await review(session, ReviewRequest(decisions=[{"question_id": belief_question["id"], "verdict": "outdated"}]))
    memory = await session.store.resolve(old)
    assert (memory.status, memory.superseded_by) == ("superseded", newer)


async def test_a_belief_that_holds_is_as_sure_as_before(session: Session, belief_question: dict[str, Any]) -> None:
    old = belief_question["memories"][0]["id"]
    assert (await session.store.resolve(old)).confidence == pytest.approx(0.54)
    await review(session, ReviewRequest(decisions=[{"question_id": belief_question["id"], "verdict": "holds"}]))
    memory = await session.store.resolve(old)
    assert (memory.status, memory.status_reason, memory.confidence) == ("active", None, 0.9)
    assert (await consolidate(session, ConsolidateRequest(steps=["beliefs"]))).changes == []


async def test_a_belief_is_revised_and_its_history_kept(session: Session, belief_question: dict[str, Any]) -> None:
    old = belief_question["memories"][0]["id"]
    text = "The Billing service listens on ports 8080 and 9090 in production"
    await review(
        session, ReviewRequest(decisions=[{"question_id": belief_question["id"], "verdict": "revise", "text": text}])
    )
    memory = await session.store.resolve(old)
    revised = await session.store.resolve(memory.superseded_by or "")
    assert (revised.content, revised.derived_from, revised.status) == (text, (old,), "active")


async def test_a_purge_takes_the_questions_and_the_cards_about_it_along(
    session: Session, keep: Keep, belief_question: dict[str, Any]
) -> None:
    kept = [await keep(f"We know that Alice wrote part {n} {word}", layer="semantic")
            for n, word in enumerate(("aa", "bb", "cc", "dd", "ee"))]  # fmt: skip
    await consolidate(session, ConsolidateRequest(steps=["peer_cards"]))
    old = belief_question["memories"][0]["id"]
    await forget(session, ForgetRequest(ids=[old, kept[0].id], purge=True))
    assert (await review(session, ReviewRequest())).questions == []
    assert [memory for memory in await session.store.find() if memory.kind == "peer_card"] == []
