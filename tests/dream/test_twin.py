"""The twelve faults of a twin of ours, each as a test that we do not have it (they were read in its source)."""

import ast
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from reverie.dream.cycle import dream
from reverie.dream.judge import BeliefVerdict, Rules
from reverie.dream.reading import DreamContext
from reverie.errors import ModelError
from reverie.lifecycle.curves import Trace, huber, l2
from reverie.memory import Memory, to_record
from reverie.storage.packed_vectors import VECTOR_COLUMNS, matrix_of
from reverie.tools import recall
from reverie.tools.consolidate import consolidate
from reverie.tools.forget import forget
from reverie.tools.requests import ConsolidateRequest, ForgetRequest, PinRequest, RecallRequest
from reverie.tools.results import Consolidated, Remembered
from reverie.tools.revise import pin
from reverie.tools.session import Session
from tests.dream.conftest import NOW, a_memory, planned
from tests.tiny_embedder import TinyEmbedder

pytestmark = pytest.mark.slow

Keep = Callable[..., Awaitable[Remembered]]
RunDream = Callable[..., Awaitable[Consolidated]]
OpenSession = Callable[..., Awaitable[Session]]


async def found(session: Session, query: str, **arguments: Any) -> list[str]:
    answer = await recall.recall(session, RecallRequest(query=query, **arguments))
    return [row.content for row in answer.results]


async def family(keep: Keep, count: int = 5, **arguments: Any) -> list[str]:
    tails = ("as auditors want it", "when traffic stays low", "before reports get built", "with checks run twice",
             "since customers asked once", "while others still sleep")  # fmt: skip
    base = "the Exporter job of the billing team writes one invoice file to the archive bucket every single night"
    return [(await keep(f"{base} {tail}", layer="semantic", **arguments)).id for tail in tails[:count]]


@pytest.mark.anyio
async def test_1_a_relative_path_that_is_missing_where_the_server_stands_costs_no_memory(
    session: Session, keep: Keep, run_dream: RunDream, clock: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kept = await keep("The limits live in src/nowhere/limits.py", files=["src/nowhere/limits.py"], layer="semantic")
    for _ in range(2):
        clock.advance(days=1)
        await run_dream()
    assert (await session.store.resolve(kept.id)).status == "active"


@pytest.mark.anyio
async def test_2_no_dream_writes_a_vector_that_nothing_can_read(
    session: Session, keep: Keep, run_dream: RunDream, clock: Any
) -> None:
    await keep("The kestrel nests above the harbour gate", layer="episodic")
    clock.advance(days=80)
    await run_dream()
    assert await found(session, "kestrel nests above the harbour") == ["The kestrel nests above the harbour gate"]
    rows = await session.store.database.table("episodic").rows(["content", "precision", *VECTOR_COLUMNS])
    assert rows.column("precision").to_pylist() == [2]
    [meant] = TinyEmbedder().embed(rows.column("content").to_pylist())
    assert float(matrix_of(rows, 64)[0] @ meant.vector) > 0.5


class Failing(Rules):
    """A model that dies in the middle of a merge."""

    def merged(self, members: Sequence[Memory]) -> str | None:
        raise ModelError("the model died")


@pytest.mark.anyio
async def test_3_a_model_that_fails_during_a_merge_costs_no_member(session: Session, keep: Keep) -> None:
    ids = await family(keep)
    before = {memory.id: to_record(memory) for memory in await session.store.find()}
    dreamer = DreamContext(store=session.store, settings=session.settings, embedder=session.embedder, judge=Failing())
    with pytest.raises(ModelError):
        await dream(dreamer, session.now)
    assert {memory.id: to_record(memory) for memory in await session.store.find()} == before
    assert {(await session.store.resolve(one)).status for one in ids} == {"active"}


@pytest.mark.anyio
@pytest.mark.rule("002-promotion")
async def test_4_importance_as_set_is_what_it_was_after_many_dreams_and_promotion_is_still_reached(
    session: Session, keep: Keep, run_dream: RunDream, clock: Any
) -> None:
    kept = await keep(
        "The reactor sings when it is warm", layer="episodic", importance=1.0, source="human", kind="event"
    )
    for _ in range(4):
        clock.advance(days=1)
        await run_dream()
    assert (await session.store.resolve(kept.id)).importance == 1.0
    for _ in range(5):
        clock.advance(hours=1)
        await found(session, "reactor sings warm")
        await session.accesses.count()
    await run_dream()
    memory = await session.store.resolve(kept.id)
    assert (memory.layer, memory.importance) == ("semantic", 1.0)


def test_5_huber_is_never_harsher_than_l2() -> None:
    days = [half * 30.0 / 10 for half in range(51)]
    assert all(huber(Trace(age_days=d, idle_days=d)) >= l2(Trace(age_days=d, idle_days=d)) - 1e-12 for d in days)


@pytest.mark.anyio
async def test_6_a_pin_holds_in_every_step(session: Session, keep: Keep, run_dream: RunDream, clock: Any) -> None:
    pinned = [
        (await keep("It was to be gone", layer="episodic", forget_after="1d")).id,
        (await keep("It is worth nothing", layer="episodic", importance=0.05, source="ingest")).id,
        (await keep("It lived for eight hours", layer="episodic", tier="goldfish")).id,
        (await keep("Said twice by everybody here", layer="semantic")).id,
        (await keep("The Billing service listens on port 1 in production", layer="semantic")).id,
        *await family(keep),
    ]
    for one in pinned:
        await pin(session, PinRequest(id=one))
    before = {one: to_record(await session.store.resolve(one)) for one in pinned}
    clock.advance(days=400)
    await keep("Said twice by everybody here.", layer="semantic")
    await keep("The Billing service listens on port 2 in production", layer="semantic")
    await run_dream()
    assert {one: to_record(await session.store.resolve(one)) for one in pinned} == before


@pytest.mark.anyio
async def test_7_what_was_forgotten_does_not_come_back_through_a_card_a_cache_or_a_digest(
    session: Session, keep: Keep, run_dream: RunDream, clock: Any
) -> None:
    kept = [(await keep(f"We know that Alice has secret number {n}7 {word}", layer="semantic")).id
            for n, word in enumerate(("tea", "oslo", "lexer", "monday", "parser"))]  # fmt: skip
    await run_dream("peer_cards")
    assert any("Alice:" in text for text in await found(session, "Alice"))
    await forget(session, ForgetRequest(ids=kept[:2]))
    clock.advance(days=1)
    await run_dream()
    texts = await found(session, "Alice secret number", limit=50)
    assert texts
    assert not any("tea" in text or "oslo" in text for text in texts)


@pytest.mark.anyio
async def test_8_ten_dreams_leave_one_card(session: Session, keep: Keep, run_dream: RunDream, clock: Any) -> None:
    for number in range(10):
        await keep(f"We know that Alice did thing {number} {'abcdefghij'[number] * 3}", layer="semantic")
        await run_dream("peer_cards")
        clock.advance(days=1)
    living = [m for m in await session.store.find() if m.kind == "peer_card" and m.status == "active"]
    assert [card.entities for card in living] == [("Alice",)]


def test_9_a_belief_is_never_put_to_a_judge_without_evidence() -> None:
    class Watching(Rules):
        asked = 0

        def still_holds(self, belief: Memory, evidence: Sequence[str]) -> BeliefVerdict | None:
            self.asked += 1
            assert evidence
            return None

    judge = Watching()
    old = [
        a_memory(
            n, f"Belief number {n} about {word}", created_at=NOW.replace(year=2020), updated_at=NOW.replace(year=2020)
        )
        for n, word in enumerate(("stars", "bread", "locks", "rivers", "clocks"))
    ]
    assert planned(old, "beliefs", judge=judge).is_empty
    assert judge.asked == 0


def test_10_nothing_is_read_from_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "reverie.toml").write_text('dream = "nonsense"\n')
    (tmp_path / "config.yaml").write_text("llm: evil\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REVERIE_")}
    result = subprocess.run(
        [sys.executable, "-m", "reverie", "dream", "--dry-run", "--json"],
        cwd=tmp_path,
        env=environment | {"REVERIE_HOME": str(tmp_path / "home"), "REVERIE_PROJECT": "t", "REVERIE_ENGINE": "off"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert '"cost_cents": 0.0' in result.stdout


@pytest.mark.anyio
async def test_11_a_dream_keeps_projects_apart(session: Session, keep: Keep, run_dream: RunDream, clock: Any) -> None:
    text = "The nightly backup of the billing database runs on the second replica and is kept for ninety days"
    for project in ("alpha", "beta"):
        await keep(text, project=project, layer="semantic")
        for number in range(3):
            await keep(f"We know that Alice fixed item {number} of {project}", project=project, layer="semantic")
    clock.advance(hours=1)
    result = await run_dream()
    assert [one for one in result.changes if one["action"] in ("duplicate", "merged")] == []
    notes = [memory for memory in await session.store.find() if memory.kind in ("digest", "peer_card")]
    assert {memory.project for memory in notes} == {"alpha", "beta"}
    assert not any("alpha" in note.content and "beta" in note.content for note in notes)
    only = await consolidate(session, ConsolidateRequest(project="alpha", dry_run=True))
    assert {(await session.store.resolve(one["id"])).project for one in only.changes} <= {"alpha"}


def test_12_every_step_and_every_rule_of_the_lifecycle_has_a_test() -> None:
    from reverie.dream.steps import STEPS
    from tests.lifecycle.test_manifest import RULES, marked

    tests = "\n".join(path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    named = {
        node.value for node in ast.walk(ast.parse(tests)) if isinstance(node, ast.Constant) and node.value in STEPS
    }
    assert named == set(STEPS)
    assert {rule for rule, _ in marked()} >= RULES
