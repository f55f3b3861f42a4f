"""Statements that replace or repeat others in other words, with the bundled model, through the tools."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from reverie.embeddings.bundled import BundledEmbedder
from reverie.settings import Settings
from reverie.tools.consolidate import consolidate
from reverie.tools.recall import recall
from reverie.tools.remember import remember
from reverie.tools.requests import ConsolidateRequest, RecallRequest, RememberRequest, ReviewRequest
from reverie.tools.results import Remembered
from reverie.tools.review import review
from reverie.tools.session import Session
from tests.model_server import Api, named_in_settings, says

pytestmark = pytest.mark.anyio

UPDATES = (
    ("Karin Holm owns the seating planner.", "Seating planner: Abdul Rahimi has taken over ownership from Karin."),
    ("Nightly mails are sent by Mandrill.", "We dropped Mandrill for the nightly mails in favour of Postmark."),
    ("Drafts are thrown away after 10 days.", "Drafts are now kept for 6 weeks."),
    ("Seat plans have a night view.", "The night view was taken out of the seat plans, hardly anybody used it."),
    ("Nobody may publish a plan without a review.", "Editors are allowed to publish a plan without a review."),
)
BOTH_TRUE = (
    ("The seating planner is written in Elm.", "The menu editor is written in Kotlin."),
    ("On 3 May the seating planner crashed.", "On 9 June the seating planner crashed again."),
    ("The seat service writes to the table seat_rows.", "The seat service needs SEAT_DSN."),
)
RESTATED = (
    ("Karin Holm owns the seating planner.", "Karin Holm is responsible for the seating planner."),
    ("Uploads may not exceed 12 MB.", "12 MB is the maximum upload size."),
)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One store serves all tests, so its loop lasts as long as the module."""
    return "asyncio"


@pytest.fixture(scope="module")
async def kept(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Session]:
    folder: Path = tmp_path_factory.mktemp("pairs")
    settings = Settings(home=str(folder / "home"), project="seats")
    session = await Session.open(settings, embedder=BundledEmbedder(), folder=folder)
    await session.warm()
    yield session
    await session.close()


async def told(session: Session, project: str, older: str, newer: str) -> tuple[Remembered, Remembered]:
    """Remember two statements in a project of their own, a month apart."""
    first = await remember(session, RememberRequest(content=older, project=project, happened_at="30d"))
    return first, await remember(session, RememberRequest(content=newer, project=project))


async def questions_about(session: Session, ids: set[str]) -> list[dict[str, object]]:
    asked = await session.store.review_queue.open()
    return [one.body for one in asked if set(one.memory_ids) == ids]


@pytest.mark.parametrize(("number", "pair"), list(enumerate(UPDATES)))
async def test_an_update_in_other_words_is_reported_asked_about_and_changes_nothing(
    kept: Session, number: int, pair: tuple[str, str]
) -> None:
    project = f"update-{number}"
    first, second = await told(kept, project, *pair)
    [conflict] = second.conflicts
    assert conflict.id == first.id
    assert conflict.reason.startswith("may ")  # never more than may
    await consolidate(kept, ConsolidateRequest(project=project))
    assert (await kept.store.resolve(first.id)).status == "active"
    [question] = await questions_about(kept, {first.id, second.id})
    receipt, newer = question["evidence"]  # what was compared and how sure; the newer text with its date
    assert "may" in receipt or "likelihood" in receipt
    assert pair[1] in newer
    assert "since 20" in newer


@pytest.mark.parametrize(("number", "pair"), list(enumerate(BOTH_TRUE)))
async def test_two_statements_that_can_both_be_true_are_left_alone(
    kept: Session, number: int, pair: tuple[str, str]
) -> None:
    project = f"both-{number}"
    first, second = await told(kept, project, *pair)
    assert (second.conflicts, second.duplicate_of) == ([], None)
    result = await consolidate(kept, ConsolidateRequest(project=project))
    assert result.questions == []
    assert {(await kept.store.resolve(one.id)).status for one in (first, second)} == {"active"}


@pytest.mark.parametrize(("number", "pair"), list(enumerate(RESTATED)))
async def test_a_restatement_is_recognised_and_confirms_nothing_by_likelihood(
    kept: Session, number: int, pair: tuple[str, str]
) -> None:
    first, second = await told(kept, f"same-{number}", *pair)
    assert (second.duplicate_of, second.conflicts) == (first.id, [])
    assert second.confirmed is False


async def test_recall_puts_what_happened_later_first_also_if_it_was_written_earlier(kept: Session) -> None:
    new = await remember(
        kept, RememberRequest(content="Seating planner: Abdul Rahimi has taken over ownership from Karin.")
    )
    old = await remember(kept, RememberRequest(content="Karin Holm owns the seating planner.", happened_at="90d"))
    assert (old.conflicts, old.duplicate_of) == ([], None)  # what happened before replaces nothing
    found = await recall(kept, RecallRequest(query="owner of the seating planner"))
    ids = [row.id for row in found.results]
    assert ids.index(new.id) < ids.index(old.id)


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    with named_in_settings(monkeypatch) as api:
        yield api


async def test_a_language_model_is_shown_the_pair_and_its_verdict_challenges(kept: Session, api: Api) -> None:
    first, second = await told(kept, "model", *UPDATES[1])
    api.script = [says({"verdict": "outdated"})]
    before, kept.settings = kept.settings, replace(kept.settings, llm="openai:some-model", llm_price=(1.0, 1.0))
    try:
        await consolidate(kept, ConsolidateRequest(project="model", steps=["beliefs"]))
    finally:
        kept.settings = before
    assert all(text in api.requests[-1]["messages"][1]["content"] for text in UPDATES[1])
    challenged = await kept.store.resolve(first.id)
    assert (challenged.status, challenged.status_reason) == ("challenged", f"challenged: {second.id} says otherwise")
    assert challenged.confidence < 1.0


async def test_the_question_shows_both_texts_and_their_moments(kept: Session) -> None:
    first, second = await told(
        kept, "seats", "Seats are numbered by hand.", "Seat numbers are now assigned by a script."
    )
    await consolidate(kept, ConsolidateRequest(project="seats", steps=["beliefs"]))
    shown = (await review(kept, ReviewRequest(limit=50))).questions
    [question] = [one for one in shown if {m["id"] for m in one["memories"]} == {first.id, second.id}]
    assert [memory["content"] for memory in question["memories"]] == [
        "Seats are numbered by hand.",
        "Seat numbers are now assigned by a script.",
    ]
    assert all(memory["happened_at"] for memory in question["memories"])


async def test_of_the_best_answers_to_a_question_the_newer_goes_first_at_a_lower_likelihood(kept: Session) -> None:
    old = "The warehouse sync runs hourly."
    new = "Warehouse data is synchronised every ten minutes."
    first = await remember(kept, RememberRequest(content=old, project="warehouse", happened_at="30d"))
    second = await remember(kept, RememberRequest(content=new, project="warehouse"))
    assert second.conflicts == []  # not likely enough to be reported
    found = await recall(kept, RecallRequest(query="how often does the warehouse sync run", project="warehouse"))
    assert [row.id for row in found.results] == [second.id, first.id]
