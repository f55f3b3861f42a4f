"""What a session was shown and sends back is recognised; what differs in substance is news."""

from collections.abc import Awaitable, Callable

import pytest

from reverie.recall.results import Recalled
from reverie.tools import recall, remember
from reverie.tools.brief import brief
from reverie.tools.forget import forget
from reverie.tools.inspect import inspect
from reverie.tools.render import render
from reverie.tools.requests import BriefRequest, ForgetRequest, InspectRequest, RecallRequest, RememberRequest
from reverie.tools.results import Remembered
from reverie.tools.session import LONGEST_SERVED, MOST_SERVED, ServedTexts, Session

pytestmark = pytest.mark.anyio

Keep = Callable[..., Awaitable[Remembered]]
Ask = Callable[..., Awaitable[Recalled]]
OpenSession = Callable[..., Awaitable[Session]]

KEPT = "The deploy of billing runs on Friday at 14:00, after `make smoke`; it isn't allowed before."


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(KEPT, id="by the letter"),
        pytest.param(KEPT.upper(), id="in capitals"),
        pytest.param(KEPT.replace(",", "").replace(";", " -").rstrip("."), id="other punctuation"),
        pytest.param("\n  " + KEPT.replace(" ", "  ") + "\n", id="other blanks"),
        pytest.param(KEPT.replace("The deploy", "Deploy").replace("isn't", "is not"), id="articles, contractions"),
        pytest.param(KEPT.replace("; it", " and it"), id="joined by a word instead of a sign"),
        pytest.param(f"- {KEPT}", id="as a list item"),
        pytest.param(f"Remember that {KEPT}", id="remember that"),
        pytest.param(f'As noted: "{KEPT}"', id="as noted, quoted"),
        pytest.param(f"- a-memory (procedural, how_to, strong, 2d): {KEPT}", id="with recall's label"),
        pytest.param(f"{KEPT} [a-memory]", id="with the id after it"),
    ],
)
def test_a_restated_text_is_recognised(text: str) -> None:
    served = ServedTexts()
    served.note([("another", "The lamp burns oil."), ("a-memory", KEPT)])
    assert served.restated_by(text) == "a-memory"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(KEPT.replace("14:00", "15:00"), id="another hour"),
        pytest.param(KEPT.replace("isn't", "is"), id="not a negation any more"),
        pytest.param(KEPT.replace("before", "after"), id="the opposite"),
        pytest.param(KEPT.replace("billing", "invoicing"), id="another word"),
        pytest.param(KEPT + " Ask Ada first.", id="says more"),
        pytest.param(KEPT.replace("after `make smoke`; it", "after `make smoke` and review; it"), id="joins a thing"),
        pytest.param(KEPT.replace(" on Friday", ""), id="says less"),
        pytest.param(KEPT.replace("make smoke", "make fire"), id="another command"),
        pytest.param("The lamp burns oil.", id="something else"),
        pytest.param(f"{KEPT} [another-id]", id="an id that was not served"),
        pytest.param("", id="nothing"),
    ],
)
def test_a_text_that_differs_in_substance_is_news(text: str) -> None:
    served = ServedTexts()
    served.note([("a-memory", KEPT)])
    assert served.restated_by(text) is None


def test_the_latest_texts_are_held_and_no_more() -> None:
    served = ServedTexts()
    served.note([("first", "The first lamp."), ("second", "The second lamp.")])
    served.note([("first", "The first lamp.")])
    served.note((f"id-{number}", f"Lamp number {number}.") for number in range(MOST_SERVED - 1))
    assert served.restated_by("the second lamp") is None
    assert served.restated_by("the first lamp") == "first"
    served.note([("long", "lamp " * LONGEST_SERVED)])
    assert served.restated_by("lamp " * LONGEST_SERVED) is None


async def test_a_recalled_text_that_comes_back_is_not_stored_and_the_answer_says_so(
    session: Session, keep: Keep, ask: Ask
) -> None:
    kept = await keep(KEPT)
    await ask("when does billing deploy")
    answer = await keep(f"Remember that {KEPT.lower()}")
    assert (answer.id, answer.duplicate_of, await session.store.count()) == (kept.id, kept.id, 1)
    assert f"echo of {kept.id}" in answer.warnings[0]
    assert "echo" in render(answer)


async def test_repetition_counts_for_nothing_a_person_counts_once_and_trust_never_rises(
    session: Session, keep: Keep, ask: Ask
) -> None:
    kept = await keep(KEPT, source="ingest")
    await ask("when does billing deploy")
    before = await session.store.resolve(kept.id)
    counted = [(await keep(KEPT + "!", source=source)).confirmed for source in ("ingest", "ai", "ai", "human", "ai")]
    assert counted == [False, False, False, True, False]
    after = await session.store.resolve(kept.id)
    assert (after.confirmations, after.confirmed_by) == (1, ("human",))
    assert (after.trust, after.confidence, after.importance) == (before.trust, before.confidence, before.importance)


async def test_what_an_assistant_said_itself_is_not_confirmed_by_its_echo(
    session: Session, keep: Keep, ask: Ask
) -> None:
    kept = await keep(KEPT)
    await ask("billing")
    assert not (await keep(KEPT + "!")).confirmed
    assert (await session.store.resolve(kept.id)).confirmations == 0


async def test_a_changed_number_is_stored_and_its_conflict_told(session: Session, keep: Keep, ask: Ask) -> None:
    kept = await keep("the lamp burns for 3 hours")
    await ask("lamp")
    changed = await keep("the lamp burns for 4 hours")
    assert changed.id != kept.id
    assert [conflict.id for conflict in changed.conflicts] == [kept.id]


async def test_a_text_cut_to_the_budget_is_recognised_as_it_was_shown(session: Session, keep: Keep) -> None:
    kept = await keep("The harbour lamp burns oil. " + "It is trimmed every day before the ships come in. " * 30)
    answer = await recall.recall(session, RecallRequest(query="harbour lamp", max_tokens=160))
    text = answer.text
    [row] = answer.results
    assert "cut: inspect" in row.content
    for shown in (row.content, row.content.partition(" […cut")[0], text):
        assert (await keep(shown)).id == kept.id


@pytest.mark.parametrize("way", ["brief", "inspect"])
async def test_what_brief_and_inspect_showed_is_recognised_too(session: Session, keep: Keep, way: str) -> None:
    kept = await keep(KEPT)
    if way == "brief":
        await brief(session, BriefRequest())
    else:
        await inspect(session, InspectRequest(ids=[kept.id]))
    assert (await keep(KEPT + "!")).id == kept.id


async def test_what_was_not_shown_in_this_session_is_compared_as_ever(
    session: Session, keep: Keep, open_session: OpenSession
) -> None:
    kept = await keep(KEPT)
    other = await open_session()
    repeated = await remember.remember(other, RememberRequest(content=KEPT + "!"))
    assert repeated.id != kept.id
    assert repeated.duplicate_of == kept.id


async def test_a_memory_forgotten_after_it_was_shown_may_be_kept_anew(session: Session, keep: Keep, ask: Ask) -> None:
    kept = await keep(KEPT)
    await ask("billing")
    await forget(session, ForgetRequest(ids=[kept.id]))
    assert (await keep(KEPT)).id != kept.id


async def test_a_correction_and_another_project_are_no_echo(session: Session, keep: Keep, ask: Ask) -> None:
    kept = await keep(KEPT, project="harbour")
    await ask("billing", all_projects=True)
    elsewhere = await keep(KEPT, project="mill")
    replacing = await keep(KEPT, project="harbour", supersedes=kept.id)
    assert len({kept.id, elsewhere.id, replacing.id}) == 3


async def test_what_an_echo_adds_is_kept(session: Session, keep: Keep, ask: Ask) -> None:
    kept = await keep(KEPT, tags=["deploy"])
    await ask("billing")
    await keep(KEPT + "!", tags=["friday"], pin=True)
    memory = await session.store.resolve(kept.id)
    assert (memory.tags, memory.pinned) == (("deploy", "friday"), True)
