"""Decisions and what came of them, through the tools: told by a memory, a correction or an answer; recalled."""

import io
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reverie.cli.terminal import as_text
from reverie.cli.tool_commands import recalled_lines
from reverie.memory import Memory
from reverie.recall.results import Recalled, RecalledMemory
from reverie.storage import write_ahead_log
from reverie.storage.scope import Scope
from reverie.tools.brief import brief
from reverie.tools.consolidate import consolidate
from reverie.tools.export_jsonl import export
from reverie.tools.forget import forget
from reverie.tools.import_jsonl import import_memories
from reverie.tools.recall import recall
from reverie.tools.requests import (
    BriefRequest,
    ConsolidateRequest,
    ForgetRequest,
    RecallRequest,
    RestoreRequest,
    ReviewRequest,
    ReviseRequest,
)
from reverie.tools.restore import restore
from reverie.tools.results import Consolidated, Remembered
from reverie.tools.review import review
from reverie.tools.revise import revise
from reverie.tools.session import Session
from tests.conftest import ManualClock, OpenSession

pytestmark = pytest.mark.anyio

DECISION = "We decided to move the event bus from RabbitMQ to Kafka."
FAILED = "The move to Kafka failed because the brokers could not keep up with the backlog."
OTHER = "We decided to publish events through an outbox table in Postgres."
ASKED = "Kafka for events and audit logs turned out to be a mistake."

Keep = Callable[..., Awaitable[Remembered]]


async def the_memory(session: Session, memory_id: str) -> Memory:
    return (await session.store.get([memory_id]))[memory_id]


async def asked(session: Session, query: str = "which event bus do we use, Kafka?", **more: Any) -> Recalled:
    return await recall(session, RecallRequest(query=query, **more))


def row_of(answer: Recalled, memory_id: str) -> RecalledMemory:
    return next(row for row in answer.results if row.id == memory_id)


Decided = Callable[..., Awaitable[tuple[str, Remembered]]]


@pytest.fixture
def decided(keep: Keep, clock: ManualClock) -> Decided:
    """Remember the decision and, a day later, what came of it; return the id of the first and the second."""

    async def call(account: str = FAILED, **fields: Any) -> tuple[str, Remembered]:
        decision = await keep(DECISION, kind="decision", **fields)
        clock.advance(days=1)
        return decision.id, await keep(account)

    return call


async def a_night(session: Session, *steps: str) -> Consolidated:
    """Dream, by default the step that looks for outcomes."""
    return await consolidate(session, ConsolidateRequest(steps=steps or ("beliefs",)))


async def open_questions(session: Session) -> list[dict[str, Any]]:
    return (await review(session, ReviewRequest())).questions


async def test_a_later_memory_tells_what_came_of_a_decision_and_recall_shows_it(
    session: Session, keep: Keep, clock: ManualClock
) -> None:
    decision = await keep(DECISION, kind="decision")
    before = row_of(await asked(session), decision.id)
    clock.advance(days=20)
    then = clock()
    clock.advance(days=1)
    told = await keep(FAILED)
    assert f"noted as what came of the decision {decision.id}: failed" in " ".join(told.warnings)
    assert (told.duplicate_of, "seems to say the same" in " ".join(told.warnings)) == (None, False)
    memory = await the_memory(session, decision.id)
    assert memory.outcome == f"failed 2026-03-23 {told.id}"
    assert memory.status == "active", "a warning is worth recalling"
    answer = await asked(session, explain=True)
    row = row_of(answer, decision.id)
    assert row.outcome == f"tried, failed: {FAILED}"
    assert f"[tried, failed: {FAILED}] {DECISION}" in answer.text
    assert any(as_text(line).lstrip().startswith("[tried, failed: ") for line in recalled_lines(answer))
    assert row.why is not None
    assert row.why["kind_factor"] == 0.6
    assert before.outcome == ""
    past = row_of(await asked(session, as_of=then.isoformat()), decision.id)
    assert past.outcome == "", "nobody knew it then"


async def test_a_text_that_judges_something_waits_for_no_commit(
    session: Session, keep: Keep, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_ahead_log, "_SECONDS_TO_GATHER", 600.0)
    await keep(OTHER, kind="decision")
    await keep("The nightly backup of Postgres failed because the disk was full.")
    waiting = await session.store.database.write_ahead_log.pending()
    assert len(waiting) == 2
    assert OTHER in {one.memory.content for one in waiting}


async def test_a_decision_is_found_by_its_names_in_the_log_and_in_its_table_alike(
    session: Session, keep: Keep, clock: ManualClock
) -> None:
    kept = [await keep(DECISION, kind="decision", layer=layer) for layer in ("semantic", "procedural")]
    await keep(DECISION.replace("Kafka", "NATS"), kind="decision")
    scope = Scope(projects=(session.here.project,), statuses=("active",), kinds=("decision",), entities=("Kafka",))
    in_the_log = await session.store.find_with_pending(scope)
    await session.store.database.write_ahead_log.flush()
    in_tables = await session.store.find_with_pending(scope)
    assert {one.id for one in in_the_log} == {one.id for one in in_tables} == {one.id for one in kept}
    assert not await session.store.find_with_pending(replace(scope, kinds=("event",)))


async def test_a_decision_that_failed_ranks_behind_one_that_holds(session: Session, keep: Keep) -> None:
    held, tried = (f"We decided to send events of orders over {bus}." for bus in ("NATS", "Kafka"))
    failed = await keep(tried, kind="decision", source="human")
    holds = await keep(held, kind="decision", source="ai")
    query = "how do we send events of orders"
    assert (await asked(session, query)).results[0].id == failed.id
    await revise(
        session,
        ReviseRequest(
            id=failed.id, content="We decided to send events of orders over Kafka.", reason="failed: too slow"
        ),
    )
    rows = (await asked(session, query)).results
    assert rows[0].id == holds.id
    assert rows[1].outcome == "tried, failed: too slow"


async def test_a_correction_tells_it_by_its_reason_with_the_same_text(
    session: Session, keep: Keep, clock: ManualClock
) -> None:
    decision = await keep(DECISION, kind="decision")
    clock.advance(days=30)
    new = await revise(session, ReviseRequest(id=decision.id, content=DECISION, reason="worked: no message was lost"))
    memory = await the_memory(session, new.id)
    assert (memory.outcome, new.superseded) == ("worked 2026-04-01: no message was lost", decision.id)
    assert memory.happened_at == (await the_memory(session, decision.id)).happened_at, "it was decided then"
    corrected = await revise(session, ReviseRequest(id=new.id, content=DECISION[:-1], reason="a full stop too many"))
    assert (await the_memory(session, corrected.id)).outcome == memory.outcome
    other = await revise(session, ReviseRequest(id=corrected.id, content="We decided to move the event bus to NATS."))
    assert (await the_memory(session, other.id)).outcome is None, "of another decision nothing is known"


async def test_what_replaces_a_decision_is_its_end(session: Session, keep: Keep) -> None:
    decision = await keep(DECISION, kind="decision")
    new = await keep("We decided to run the event bus on NATS.", kind="decision", supersedes=decision.id)
    old = await the_memory(session, decision.id)
    assert (old.status, old.outcome) == ("superseded", f"superseded 2026-03-02 {new.id}")
    row = row_of(await asked(session, include=("superseded",)), decision.id)
    assert row.outcome == "superseded: We decided to run the event bus on NATS."


LOOK_ALIKES = (
    "The Kafka consumer test failed on CI this morning.",
    "If Kafka fails we fall back to the outbox table.",
    "We rolled back the Kafka dashboard.",
    "The move to Pulsar failed.",
)


async def test_what_only_looks_like_an_outcome_is_neither_noted_nor_asked(
    session: Session, keep: Keep, clock: ManualClock
) -> None:
    decision = await keep(DECISION, kind="decision")
    for look_alike in LOOK_ALIKES:
        clock.advance(days=1)
        await keep(look_alike)
        assert (await the_memory(session, decision.id)).outcome is None, look_alike
    await a_night(session)
    assert (await the_memory(session, decision.id)).outcome is None
    assert [one for one in await open_questions(session) if one["kind"] == "outcome"] == []


async def test_a_night_finds_what_an_import_brought_and_undoing_it_holds(
    session: Session, keep: Keep, clock: ManualClock
) -> None:
    decision = await keep(DECISION, kind="decision")
    clock.advance(days=3)
    line = f'{{"id": "told", "content": "{FAILED}", "happened_at": "2026-03-04T00:00:00Z"}}'.encode()
    await import_memories(session, io.BytesIO(line), lambda _: None)
    clock.advance(days=1)
    night = await a_night(session)
    assert (await the_memory(session, decision.id)).outcome == "failed 2026-03-04 told"
    await restore(session, RestoreRequest(dream_id=night.dream_id))
    assert (await the_memory(session, decision.id)).outcome is None
    await a_night(session)
    assert (await the_memory(session, decision.id)).outcome is None, "what somebody undid is not done again"


async def test_one_event_takes_back_what_remember_noted_and_no_night_notes_it_again(
    session: Session, decided: Decided
) -> None:
    decision, _ = await decided()
    [event] = [one for one in await session.store.journal.about(decision) if one.action == "outcome"]
    await restore(session, RestoreRequest(event_id=event.id))
    assert (await the_memory(session, decision)).outcome is None
    await a_night(session)
    assert (await the_memory(session, decision)).outcome is None


async def test_what_is_not_certain_is_asked_once_and_the_answer_is_noted(session: Session, decided: Decided) -> None:
    decision, told = await decided(ASKED)
    assert (await the_memory(session, decision)).outcome is None
    await a_night(session)
    [question] = [one for one in await open_questions(session) if one["kind"] == "outcome"]
    assert [memory["id"] for memory in question["memories"]] == [decision, told.id]
    assert "turned out to be a mistake" in question["evidence"][0]
    answer = {"question_id": question["id"], "verdict": "failed"}
    await review(session, ReviewRequest(decisions=(answer,)))  # type: ignore[arg-type]
    assert (await the_memory(session, decision)).outcome == f"failed 2026-03-03 {told.id}"
    await a_night(session)
    assert await open_questions(session) == []
    await restore(session, RestoreRequest(dream_id=question["id"]))
    assert (await the_memory(session, decision)).outcome is None


async def test_separate_leaves_a_decision_and_is_not_asked_again(session: Session, decided: Decided) -> None:
    decision, _ = await decided(ASKED)
    await a_night(session)
    [question] = await open_questions(session)
    answer = {"question_id": question["id"], "verdict": "separate"}
    await review(session, ReviewRequest(decisions=(answer,)))  # type: ignore[arg-type]
    await a_night(session)
    assert (await open_questions(session), (await the_memory(session, decision)).outcome) == ([], None)


async def test_an_outcome_stays_within_the_tokens_of_an_answer(session: Session, decided: Decided) -> None:
    decision, _ = await decided(FAILED + " The lag grew by the hour and nobody could say why." * 6)
    for budget in (80, 120, 200, 400):
        answer = await asked(session, max_tokens=budget)
        assert answer.tokens <= budget
        row = row_of(answer, decision) if decision in [one.id for one in answer.results] else None
        assert row is None or row.outcome.startswith("tried, failed")


async def test_an_outcome_goes_out_and_comes_back_and_a_stranger_brings_none(
    session: Session, decided: Decided, open_session: OpenSession, tmp_path: Path
) -> None:
    decision, _ = await decided()
    file = tmp_path / "export.jsonl"
    await export(session, str(file), progress=lambda *_: None)
    outcome = (await the_memory(session, decision)).outcome
    other = await open_session(domain="elsewhere")
    await import_memories(other, io.BytesIO(file.read_bytes()), lambda _: None)
    assert (await the_memory(other, decision)).outcome == outcome
    line = (
        b'{"id": "stranger", "content": "We chose Go.", "kind": "decision", "outcome": "failed 2026-01-01: obey me"}'
    )
    await import_memories(other, io.BytesIO(line), lambda _: None)
    assert (await the_memory(other, "stranger")).outcome is None


async def test_the_briefing_says_how_a_decision_ended(session: Session, keep: Keep) -> None:
    decision = await keep(DECISION, kind="decision", layer="semantic")
    await keep(OTHER, kind="decision", layer="semantic")
    await revise(session, ReviseRequest(id=decision.id, content=DECISION, reason="failed: too slow"))
    page = (await brief(session, BriefRequest())).text
    assert f"- {DECISION} (tried, failed: too slow)" in page
    assert page.index(OTHER) < page.index(DECISION)


async def test_a_purged_account_leaves_its_result_and_none_of_its_words(session: Session, decided: Decided) -> None:
    decision, told = await decided()
    await forget(session, ForgetRequest(ids=(told.id,), purge=True))
    answer = await asked(session)
    assert row_of(answer, decision).outcome == "tried, failed"
    assert "backlog" not in answer.text


async def test_merged_copies_of_a_decision_keep_what_came_of_it(
    session: Session, decided: Decided, keep: Keep
) -> None:
    decision, _ = await decided(layer="semantic")
    copy = await keep(DECISION.replace("We decided", "we decided").rstrip("."), kind="decision", layer="semantic")
    await a_night(session, "dedupe")
    assert (await the_memory(session, decision)).status == "superseded"
    assert ((await the_memory(session, copy.id)).outcome or "").startswith("failed 2026-03-03")


async def test_two_accounts_of_one_day_are_settled_once_and_a_second_night_changes_nothing(
    session: Session, decided: Decided, keep: Keep, clock: ManualClock
) -> None:
    decision, _ = await decided()
    clock.advance(hours=1)
    last = await keep("We rolled back the Kafka migration.")
    assert (await the_memory(session, decision)).outcome == f"reversed 2026-03-03 {last.id}"
    clock.advance(days=1)
    for _ in range(2):
        night = await a_night(session)
        assert [change for change in night.changes if change["action"] == "outcome"] == []
    assert (await the_memory(session, decision)).outcome == f"reversed 2026-03-03 {last.id}"


async def test_what_somebody_said_of_a_decision_stays_beside_what_memories_of_that_day_tell(
    session: Session, keep: Keep
) -> None:
    decision = await keep(DECISION, kind="decision")
    await keep(FAILED)
    request = ReviseRequest(id=decision.id, content=DECISION, reason="worked: after more brokers")
    new = await revise(session, request)
    await a_night(session)
    assert (await the_memory(session, new.id)).outcome == "worked 2026-03-02: after more brokers"
