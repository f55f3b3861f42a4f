"""A dream with a real language model, however poor: it finishes, keeps to its budget, damages nothing, and is undone.

Run it with a server that speaks OpenAI's chat API on loopback; CONTRIBUTING.md says which packages give a small one:

    REAL_MODEL_URL=http://127.0.0.1:8000/v1 scripts/test tests/dream/test_with_a_real_model.py -m real_model -s
"""

import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from reverie.llm import client
from reverie.llm.connection import Timeouts
from reverie.memory import Memory, to_record
from reverie.tools.consolidate import consolidate
from reverie.tools.requests import ConsolidateRequest, RestoreRequest
from reverie.tools.restore import restore
from reverie.tools.results import Remembered
from reverie.tools.session import Session

URL = os.environ.get("REAL_MODEL_URL", "")

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.real_model,
    pytest.mark.skipif(not URL, reason="REAL_MODEL_URL names no server"),
]

Keep = Callable[..., Awaitable[Remembered]]

EXPORTER = "the Exporter job of the billing team writes one invoice file to the archive bucket every single night"
TAILS = ("as auditors want it", "when traffic stays low", "before reports get built", "with checks run twice",
         "since customers asked once")  # fmt: skip
BUDGET_CENTS = 2.0
STEPS_THAT_ASK = {"merge", "bridge", "belief", "digest", "card"}


async def a_small_store(keep: Keep, clock: Any) -> None:
    """Something for every question that a dream asks a model: a merge, a bridge, a belief, a day and a card."""
    for tail in TAILS:
        await keep(f"{EXPORTER} {tail}", layer="semantic")
    for number, word in enumerate(("copies", "moves", "stores"), 1):
        for name, tag in (("Alfa", "finance"), ("Bravo", "platform")):
            text = f"Each time {name} {word} nightly ledgers into cold storage batch {number}"
            await keep(text, layer="semantic", tags=[tag])
    for number in range(1, 6):
        await keep(
            f"The Gateway service of Alice Johnson does not retry request {number} after 3 s", layer="semantic"
        )
    await keep("The Billing service listens on port 8080 in production", layer="semantic")
    clock.advance(days=1)
    await keep("The Billing service listens on port 9090 in production", layer="semantic")
    for number in range(4):
        await keep(f"Today the deploy number {number} failed because of a missing index", layer="episodic")


async def everything(session: Session) -> dict[str, dict[str, Any]]:
    return {memory.id: to_record(memory) for memory in await session.store.find()}


async def test_a_dream_with_a_real_model_finishes_in_budget_damages_nothing_and_is_undone(
    session: Session, keep: Keep, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", URL)
    monkeypatch.setenv("OPENAI_API_KEY", "no-key-is-needed-on-loopback")
    monkeypatch.setenv("NO_PROXY", "*")
    # A busy machine must not decide what is tried here: with a dream's own patience a slow model is not heard at all.
    monkeypatch.setattr(client, "TIMEOUTS", Timeouts(answer=300.0, total=600.0, pauses=(0.0,)))
    session.settings = replace(session.settings, llm="openai:local", llm_price=(0.5, 2.0))
    await a_small_store(keep, clock)
    texts = {memory.id: memory.content for memory in await session.store.find()}
    nights = []
    for _ in range(2):
        before = await everything(session)
        dreamt = await consolidate(session, ConsolidateRequest(budget_cents=BUDGET_CENTS))
        nights.append((dreamt.dream_id, before))
        assert dreamt.cost_cents <= BUDGET_CENTS
        _tell(dreamt, await session.store.dream_log.all())
        found = {memory.id: memory for memory in await session.store.find()}
        assert {one: found[one].content for one in texts} == texts  # nothing lost, no text changed
        _assert_undamaged(list(found.values()), texts)
        clock.advance(days=1)
    asked = {call["purpose"] for record in await session.store.dream_log.all() for call in record.report["calls"]}
    assert asked
    assert asked <= STEPS_THAT_ASK
    for dream_id, before in reversed(nights):
        await restore(session, RestoreRequest(dream_id=dream_id))
        assert await everything(session) == before


def _assert_undamaged(memories: list[Memory], texts: dict[str, str]) -> None:
    """What a model caused to be written rests on memories that are there, and what it retired has a successor."""
    known = {memory.id for memory in memories}
    for memory in memories:
        if memory.id not in texts:
            assert memory.source == "dream"
            assert memory.derived_from
            assert set(memory.derived_from) <= known
            assert memory.trust <= 0.7
        elif memory.status == "superseded":
            assert memory.superseded_by in known
        else:
            assert memory.status in ("active", "challenged")


def _tell(dreamt: Any, records: Any) -> None:
    """Write what the model did: somebody runs this to see it."""
    told = [f"cost {dreamt.cost_cents} cents, {dreamt.duration_ms:.0f} ms, {len(dreamt.questions)} questions"]
    told += [f"  call {call}" for record in records for call in record.report["calls"]]
    told += [f"  {step.name} {step.notes}" for step in dreamt.steps]
    sys.stdout.write("\n" + "\n".join(told) + "\n")
