"""Confirmation by voices, through the tools: a session for each voice, days between them."""

import io
from pathlib import Path

import pytest

from reverie.memory import Memory
from reverie.tools.capture import capture
from reverie.tools.consolidate import consolidate
from reverie.tools.export_jsonl import export
from reverie.tools.import_jsonl import import_memories
from reverie.tools.recall import recall
from reverie.tools.remember import remember
from reverie.tools.requests import (
    CapturedText,
    CaptureRequest,
    ConsolidateRequest,
    RecallRequest,
    RememberRequest,
    ReviseRequest,
)
from reverie.tools.results import Remembered
from reverie.tools.revise import revise
from reverie.tools.session import Session
from tests.conftest import ManualClock, OpenSession

pytestmark = pytest.mark.anyio

FACT = "the harbour office closes at nine on every weekday of the season"


async def say(session: Session, content: str = FACT, **fields: str) -> Remembered:
    return await remember(session, RememberRequest(content=content, layer="semantic", kind="fact", **fields))  # type: ignore[arg-type]


async def the_memory(session: Session, memory_id: str) -> Memory:
    return (await session.store.get([memory_id]))[memory_id]


async def test_an_agent_counts_once_for_each_other_session_on_another_day(
    open_session: OpenSession, clock: ManualClock
) -> None:
    first = await open_session()
    kept = await say(first)
    again = [(await say(first)).confirmed for _ in range(5)]
    same_day = await say(await open_session())
    clock.advance(days=1)
    in_the_first = await say(first)
    second = await open_session()
    another_day = await say(second)
    repeated = await say(second)
    assert [*again, same_day.confirmed, in_the_first.confirmed] == [False] * 7
    assert (another_day.confirmed, repeated.confirmed) == (True, False)
    memory = await the_memory(first, kept.id)
    assert (memory.confirmations, memory.trust, memory.confidence) == (1, 0.7, 1.0)
    [voice] = memory.confirmed_by
    assert voice == f"ai 2026-03-03T09:30Z {second.store.session}"
    [event] = [one for one in await first.store.journal.about(kept.id) if one.action == "confirmed"]
    assert event.reason == f"said by {voice}"


async def test_what_a_session_recalled_and_says_again_is_an_echo_and_no_voice(
    open_session: OpenSession, clock: ManualClock
) -> None:
    first = await open_session()
    kept = await say(first)
    clock.advance(days=3)
    second = await open_session()
    await recall(second, RecallRequest(query="when does the harbour office close"))
    assert not (await say(second)).confirmed
    assert not (await say(second, FACT + " from April")).confirmed, "in other words it is still what it was shown"
    assert (await say(second, source="human")).confirmed, "the person agrees"
    assert (await the_memory(first, kept.id)).confirmed_by == ("human",)


async def test_a_person_a_document_and_the_code_count_once_each_and_trust_stays(
    open_session: OpenSession, clock: ManualClock
) -> None:
    session = await open_session()
    kept = await say(session)
    for _ in range(3):
        clock.advance(days=2)
        for source in ("human", "ingest", "code_scan"):
            await say(session, source=source)
    memory = await the_memory(session, kept.id)
    assert (memory.confirmed_by, memory.confirmations) == (("human", "ingest", "code_scan"), 3)
    assert memory.trust == 0.7


async def test_the_transcript_of_a_session_is_no_second_voice_on_the_same_day(
    open_session: OpenSession, clock: ManualClock
) -> None:
    session = await open_session()
    kept = await say(session)
    captured = CaptureRequest(client="codex", session="s1", items=(CapturedText(text=FACT, kind="fact", turn=1),))
    assert (await capture(session, captured)).left_out == {"known": 1}
    assert (await the_memory(session, kept.id)).confirmed_by == ()
    clock.advance(days=2)
    hook = await open_session()
    later = CaptureRequest(client="codex", session="s2", items=(CapturedText(text=FACT, kind="fact", turn=1),))
    assert (await capture(hook, later)).left_out == {"known": 1}
    assert (await the_memory(hook, kept.id)).confirmed_by == ("interaction 2026-03-04T09:30Z s2",)


async def test_a_night_that_merges_repetitions_joins_their_voices(
    open_session: OpenSession, clock: ManualClock
) -> None:
    first = await open_session()
    for end in ("", ".", "!"):  # three copies by one agent in one session
        await say(first, f"{FACT}{end}")
    clock.advance(days=2)
    second = await open_session()
    await say(second, f"{FACT} …")
    await consolidate(second, ConsolidateRequest(steps=("dedupe",)))
    [left] = [memory for memory in await second.store.find() if memory.status == "active"]
    assert left.confirmations == 1, "two agents said it, the one that is left and one more"
    await consolidate(second, ConsolidateRequest(steps=("dedupe",)))
    assert (await the_memory(second, left.id)).confirmations == 1


async def test_an_import_joins_voices_and_a_claim_without_names_counts_nothing(
    open_session: OpenSession, clock: ManualClock, tmp_path: Path
) -> None:
    session = await open_session()
    kept = await say(session)
    await say(session, source="human")
    file = tmp_path / "export.jsonl"
    await export(session, str(file), progress=lambda *_: None)
    clock.advance(days=1)
    await say(await open_session())
    both = await the_memory(session, kept.id)
    assert both.confirmations == 2
    await import_memories(session, io.BytesIO(file.read_bytes()), lambda _: None)
    after = await the_memory(session, kept.id)
    assert (after.confirmed_by, after.confirmations) == (both.confirmed_by, 2), "an older file takes no voice away"
    claims = b'{"id": "claims", "content": "the quay is lit", "confirmations": 50, "confirmed_by": ["human", "x"]}'
    await import_memories(session, io.BytesIO(claims), lambda _: None, trust=True)
    assert (await the_memory(session, "claims")).confirmations == 1


async def test_a_corrected_text_keeps_the_voices_only_if_it_says_the_same(session: Session) -> None:
    kept = await say(session, "The harbour office closes at 9 on weekdays")
    await say(session, "The harbour office closes at 9 on weekdays", source="human")
    spelled = await revise(session, ReviseRequest(id=kept.id, content="the harbour office closes at 9 on weekdays."))
    assert (await the_memory(session, spelled.id)).confirmed_by == ("human",)
    other = await revise(session, ReviseRequest(id=spelled.id, content="The harbour office closes at 8 on weekdays"))
    assert ((m := await the_memory(session, other.id)).confirmed_by, m.confirmations) == ((), 0)
