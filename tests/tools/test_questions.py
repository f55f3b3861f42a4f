"""The loop of every kind of question: a dream asks, review shows it, each verdict answers it, no dream asks again."""

import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from reverie.dream.plan import question_id
from reverie.lifecycle.outcomes import RESULTS
from reverie.settings import Settings
from reverie.storage.dream_records import OPEN, WITHDRAWN, ReviewQuestion
from reverie.tools.consolidate import consolidate
from reverie.tools.drift import drift
from reverie.tools.forget import forget
from reverie.tools.remember import remember
from reverie.tools.requests import ConsolidateRequest, ForgetRequest, PinRequest, RememberRequest, ReviewRequest
from reverie.tools.review import review
from reverie.tools.revise import pin
from reverie.tools.session import Session
from tests.tiny_embedder import TinyEmbedder

pytestmark = pytest.mark.anyio

BASE = "the Exporter job of the billing team writes one invoice file to the archive bucket every single night"
TAILS = ("as auditors want it", "when traffic stays low", "before reports get built", "with checks run twice",
         "since customers asked once")  # fmt: skip


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A real git repository with a manifest and a module."""
    root = tmp_path / "repo"
    (root / "src").mkdir(parents=True)
    (root / "src" / "billing.py").write_text("def charge():\n    return 8080\n")
    (root / "src" / "refunds.py").write_text("def refund():\n    return 1\n")
    (root / "pyproject.toml").write_text('[project]\nname = "x"\ndependencies = ["numpy>=2.2"]\n')
    (root / "package.json").write_text('{"name": "x", "scripts": {"lint": "eslint ."}}\n')
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    return root


@pytest.fixture
async def at_work(home: Path, clock: Any, repository: Path) -> AsyncIterator[Session]:
    """A session in that repository."""
    session = await Session.open(Settings(home=str(home)), embedder=TinyEmbedder(), clock=clock, folder=repository)
    yield session
    await session.close()


async def keep(session: Session, content: str, **arguments: Any) -> str:
    return (await remember(session, RememberRequest(content=content, layer="semantic", **arguments))).id


async def a_merge(session: Session, clock: Any, root: Path) -> None:
    for tail in TAILS:
        await keep(session, f"{BASE} {tail}")


async def a_bridge(session: Session, clock: Any, root: Path) -> None:
    for number, word in enumerate(("copies", "moves", "stores"), 1):
        await keep(
            session, f"Each time Alfa {word} nightly ledgers into cold storage batch {number}", tags=["finance"]
        )
        await keep(
            session, f"Each time Bravo {word} nightly ledgers into cold storage batch {number}", tags=["platform"]
        )


async def a_belief(session: Session, clock: Any, root: Path) -> None:
    await keep(session, "The Billing service listens on port 8080 in production")
    clock.advance(days=1)
    await keep(session, "The Billing service listens on port 9090 in production")


async def a_possible_conflict(session: Session, clock: Any, root: Path) -> None:
    await keep(session, "The nightly release notes are stored in Confluence")
    clock.advance(days=1)
    await keep(session, "The nightly release notes are stored in Notion")


async def a_refuted_claim(session: Session, clock: Any, root: Path) -> None:
    await keep(session, "We depend on numpy 2.2.1 in pyproject.toml")
    (root / "pyproject.toml").write_text('[project]\nname = "x"\ndependencies = ["numpy>=3.0"]\n')
    clock.advance(days=1)


async def a_missing_file(session: Session, clock: Any, root: Path) -> None:
    await keep(session, "Charging is done in src/billing.py")
    (root / "src" / "billing.py").unlink()


async def a_moved_file(session: Session, clock: Any, root: Path) -> None:
    await keep(session, "Charging is done in src/billing.py")
    (root / "lib").mkdir()
    (root / "src" / "billing.py").rename(root / "lib" / "billing.py")


async def an_outcome(session: Session, clock: Any, root: Path) -> None:
    await keep(session, "We decided to move the event bus from RabbitMQ to Kafka.", kind="decision")
    clock.advance(days=1)
    await keep(session, "Kafka for events and audit logs turned out to be a mistake.")


MERGED = f"{BASE}, {', '.join(TAILS)}"
LOOPS = [
    (a_merge, "merge", "merge", MERGED),
    (a_merge, "merge", "separate", ""),
    (a_bridge, "bridge", "bridge", "Alfa and Bravo fill the same cold storage"),
    (a_bridge, "bridge", "no_bridge", ""),
    (a_belief, "belief", "outdated", ""),
    (a_belief, "belief", "holds", ""),
    (a_belief, "belief", "revise", "The Billing service listens on ports 8080 and 9090 in production"),
    (a_belief, "belief", "forget", ""),
    (a_possible_conflict, "belief", "outdated", ""),
    (a_possible_conflict, "belief", "holds", ""),
    (a_possible_conflict, "belief", "revise", "Release notes were stored in Confluence until the move"),
    (a_possible_conflict, "belief", "forget", ""),
    (a_refuted_claim, "belief", "outdated", ""),
    (a_refuted_claim, "belief", "holds", ""),
    (a_refuted_claim, "belief", "revise", "We depend on numpy 3.0.0 in pyproject.toml"),
    (a_refuted_claim, "belief", "forget", ""),
    (a_missing_file, "drift", "holds", ""),
    (a_missing_file, "drift", "forget", ""),
    (a_missing_file, "drift", "revise", "Refunds and charging are done in src/refunds.py"),
    (a_moved_file, "moved", "revise", ""),
    (a_moved_file, "moved", "holds", ""),
    (a_moved_file, "moved", "forget", ""),
    *((an_outcome, "outcome", result, "") for result in (*RESULTS, "separate")),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("situation", "kind", "verdict", "text"), LOOPS, ids=[f"{s.__name__} {v}" for s, _, v, _ in LOOPS]
)
async def test_the_loop_closes(
    at_work: Session,
    clock: Any,
    repository: Path,
    situation: Callable[..., Any],
    kind: str,
    verdict: str,
    text: str,
) -> None:
    await situation(at_work, clock, repository)
    asked = (await consolidate(at_work, ConsolidateRequest())).questions
    [shown] = (await review(at_work, ReviewRequest())).questions
    assert (asked, shown["kind"]) == ([shown["id"]], kind)
    assert verdict in shown["verdicts"]
    answer = await review(
        at_work, ReviewRequest(decisions=[{"question_id": shown["id"], "verdict": verdict, "text": text}])
    )
    assert (answer.questions, len(answer.resolved)) == ([], 1)
    for days in (0, 1, 7):  # in the same night, in the next, and a week later
        clock.advance(days=days)
        assert (await consolidate(at_work, ConsolidateRequest())).questions == []
    assert (await review(at_work, ReviewRequest())).questions == []


async def test_what_is_not_certain_is_asked_and_nothing_is_changed(
    at_work: Session, clock: Any, repository: Path
) -> None:
    await a_possible_conflict(at_work, clock, repository)
    told = await consolidate(at_work, ConsolidateRequest())
    assert [change for change in told.changes if change["action"] == "challenged"] == []
    assert {memory.status for memory in await at_work.store.find()} == {"active"}
    [question] = (await review(at_work, ReviewRequest())).questions
    assert question["evidence"][0] == "may conflict: names differ: Confluence / Notion"


async def test_a_revised_memory_is_anchored_to_the_code_as_it_is_now(
    at_work: Session, clock: Any, repository: Path
) -> None:
    await keep(at_work, "Linting is `npm run lint`, see src/refunds.py")
    (repository / "package.json").write_text('{"name": "x", "scripts": {"check": "eslint ."}}\n')
    (repository / "src" / "refunds.py").write_text("def refund():\n    return 2\n")
    clock.advance(days=1)
    await consolidate(at_work, ConsolidateRequest(steps=["beliefs"]))
    [question] = (await review(at_work, ReviewRequest())).questions
    answer = {"question_id": question["id"], "verdict": "revise", "text": "Linting is `npm run check`"}
    await review(at_work, ReviewRequest(decisions=[answer]))
    [revised] = [memory for memory in await at_work.store.find() if memory.status == "active"]
    assert {(anchor.path, anchor.symbol) for anchor in revised.anchors} >= {("src/refunds.py", None)}
    assert all(anchor.symbol != "lint" for anchor in revised.anchors)
    checked = at_work.evidence.check(revised.project, revised.branch, revised.anchors, thorough=True)
    assert checked.freshness == "verified"


async def test_a_question_is_gone_when_the_code_is_found_again(
    at_work: Session, clock: Any, repository: Path
) -> None:
    await a_missing_file(at_work, clock, repository)
    assert len((await consolidate(at_work, ConsolidateRequest())).questions) == 1
    (repository / "src" / "billing.py").write_text("def charge():\n    return 8080\n")
    clock.advance(days=1)
    await consolidate(at_work, ConsolidateRequest())
    assert (await review(at_work, ReviewRequest())).questions == []
    assert {memory.status for memory in await at_work.store.find()} == {"active"}


async def test_the_command_drift_asks_what_it_challenges(at_work: Session, clock: Any, repository: Path) -> None:
    await a_missing_file(at_work, clock, repository)
    await drift(at_work)
    [question] = (await review(at_work, ReviewRequest())).questions
    assert (question["kind"], question["verdicts"]) == ("drift", ["holds", "forget", "revise"])
    assert (await consolidate(at_work, ConsolidateRequest())).questions == []  # asked once, whoever finds it
    await review(at_work, ReviewRequest(decisions=[{"question_id": question["id"], "verdict": "holds"}]))
    clock.advance(days=1)
    assert (await drift(at_work)).memories == []
    assert (await review(at_work, ReviewRequest())).questions == []


async def test_a_question_disappears_at_once_with_a_memory_it_is_about(
    at_work: Session, clock: Any, repository: Path
) -> None:
    await a_belief(at_work, clock, repository)
    await consolidate(at_work, ConsolidateRequest())
    [question] = (await review(at_work, ReviewRequest())).questions
    await forget(at_work, ForgetRequest(ids=[question["memories"][1]["id"]]))
    assert (await review(at_work, ReviewRequest())).questions == []


async def test_a_pinned_memory_may_be_said_to_hold(at_work: Session, clock: Any, repository: Path) -> None:
    await a_belief(at_work, clock, repository)
    await consolidate(at_work, ConsolidateRequest())
    [question] = (await review(at_work, ReviewRequest())).questions
    await pin(at_work, PinRequest(id=question["memories"][0]["id"]))
    await review(at_work, ReviewRequest(decisions=[{"question_id": question["id"], "verdict": "holds"}]))
    memory = await at_work.store.resolve(question["memories"][0]["id"])
    assert (memory.status, memory.pinned) == ("active", True)


async def test_no_bridge_is_asked_about_between_projects(at_work: Session, clock: Any) -> None:
    for number, word in enumerate(("copies", "moves", "stores"), 1):
        await keep(at_work, f"Each time Alfa {word} nightly ledgers into cold storage batch {number}", project="one")
        await keep(at_work, f"Each time Bravo {word} nightly ledgers into cold storage batch {number}", project="two")
    assert (await consolidate(at_work, ConsolidateRequest())).questions == []


async def test_questions_across_projects_of_an_old_store_are_withdrawn_and_do_not_stop_synthesis(
    at_work: Session, clock: Any, repository: Path
) -> None:
    ones = [await keep(at_work, f"Subject {number} of the first project", project="one") for number in range(5)]
    others = [await keep(at_work, f"Subject {number} of the second project", project="two") for number in range(5)]
    questions = at_work.store.review_queue
    old = [
        ReviewQuestion(
            id=question_id("bridge", (), (one, other)),
            asked_at=at_work.now,
            kind="bridge",
            memory_ids=(one, other),
            status=OPEN,
            body={"ask": "?", "evidence": [], "verdicts": ["bridge", "no_bridge"], "about": [one, other]},
        )
        for one, other in zip(ones, others, strict=True)
    ]
    await questions.write(old)
    await a_bridge(at_work, clock, repository)
    assert len((await consolidate(at_work, ConsolidateRequest())).questions) == 1
    known = {asked.id: asked.status for asked in await questions.all()}
    assert {known[asked.id] for asked in old} == {WITHDRAWN}
    events = await at_work.store.journal.with_action("question withdrawn")
    assert sorted(event.reason.split(":")[0] for event in events if event.reason) == sorted(asked.id for asked in old)
