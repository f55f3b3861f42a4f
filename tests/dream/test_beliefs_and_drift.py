"""Beliefs are challenged by evidence only; drift mends, challenges, and expires last of all."""

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from reverie.codebase.evidence import EvidenceState
from reverie.dream.beliefs import CONFIDENCE_FLOOR, is_due, lowered_confidence
from reverie.dream.judge import BeliefVerdict, Rules
from reverie.dream.snapshot import EvidenceCheck
from reverie.memory import Anchor, Memory
from reverie.settings import Settings
from reverie.tools.consolidate import consolidate
from reverie.tools.remember import remember
from reverie.tools.requests import ConsolidateRequest, RememberRequest, ReviewRequest
from reverie.tools.review import review
from reverie.tools.session import Session
from tests.dream.conftest import NOW, a_memory, planned
from tests.tiny_embedder import TinyEmbedder

OLD = a_memory(1, "The Billing service listens on port 8080 in production")
NEW = a_memory(2, "The Billing service listens on port 9090 in production")


class Sure(Rules):
    """Gives one verdict and keeps what it was shown."""

    def __init__(self, verdict: BeliefVerdict | None) -> None:
        self.verdict = verdict
        self.shown: list[tuple[str, ...]] = []

    def still_holds(self, belief: Memory, evidence: Sequence[str]) -> BeliefVerdict | None:
        self.shown.append(tuple(evidence))
        return self.verdict


@pytest.mark.parametrize(
    "newer",
    [
        pytest.param("The Billing service listens on port 9090 in production", id="a number"),
        pytest.param("The Billing service no longer listens on port 8080 in production", id="a negation"),
    ],
)
@pytest.mark.rule("002-dream")
def test_newer_evidence_challenges_lowers_confidence_and_asks(newer):
    [change_set] = planned([OLD, a_memory(2, newer)], "beliefs").change_sets
    [change] = change_set.changes
    assert (change.memory_id, change.action) == (OLD.id, "challenged")
    assert change.values["status"] == "challenged"
    assert change.values["confidence"] == pytest.approx(0.6)
    assert "importance" not in change.values
    [question] = change_set.questions
    assert question.memory_ids == (OLD.id, "m0002")
    assert any(newer in line for line in question.evidence)


def test_the_newer_is_not_challenged_by_the_older():
    assert {
        change.memory_id for change_set in planned([OLD, NEW], "beliefs").change_sets for change in change_set.changes
    } == {OLD.id}


def test_the_judge_is_shown_the_evidence_and_its_word_counts():
    upholding = Sure("holds")
    [change_set] = planned([OLD, NEW], "beliefs", judge=upholding).change_sets
    assert (change_set.changes, change_set.questions[0].model_verdict) == ((), "holds")
    assert upholding.shown == [
        ("numbers differ: 8080 / 9090", f"m0002 says since {NEW.happened_at:%Y-%m-%d}: {NEW.content}")
    ]
    [change_set] = planned([OLD, NEW], "beliefs", judge=Sure("outdated")).change_sets
    assert change_set.changes[0].values["status"] == "challenged"


def test_no_evidence_asks_nobody():
    judge = Sure("outdated")
    old = replace(OLD, created_at=NOW - timedelta(days=400), updated_at=NOW - timedelta(days=400))
    assert planned([old], "beliefs", judge=judge).is_empty
    assert judge.shown == []


def test_a_stranger_may_raise_a_question_but_no_doubt():
    [change_set] = planned([OLD, replace(NEW, source="ingest", trust=0.5)], "beliefs").change_sets
    assert (change_set.changes, len(change_set.questions)) == ((), 1)


def test_a_question_that_was_answered_is_not_raised_again():
    [change_set] = planned([OLD, NEW], "beliefs").change_sets
    assert planned([OLD, NEW], "beliefs", asked={change_set.questions[0].id: "holds"}).is_empty


def test_a_pinned_belief_is_not_challenged():
    assert planned([replace(OLD, pinned=True), NEW], "beliefs").is_empty


def test_other_numbers_on_another_subject_are_no_evidence():
    assert planned(
        [OLD, a_memory(2, "Alice has 9090 reasons to dislike the production dashboard")], "beliefs"
    ).is_empty


@pytest.mark.parametrize(("confidence", "expected"), [(1.0, 0.6), (0.5, 0.3), (0.3, CONFIDENCE_FLOOR), (0.1, 0.1)])
def test_confidence_is_lowered_to_a_floor_and_never_raised(confidence, expected):
    assert lowered_confidence(replace(OLD, confidence=confidence)) == pytest.approx(expected)


def test_what_the_code_bears_out_is_confirmed_once_and_due_again_later():
    anchored = replace(OLD, anchors=(Anchor(path="a.py", freshness="verified"),))
    check = EvidenceCheck(EvidenceState("verified", anchored.anchors), "a.py is as it was")
    [change_set] = planned([anchored], "beliefs", checks={OLD.id: check}).change_sets
    assert change_set.changes[0].values == {"confirmed_by": ("code_scan",), "confirmations": 1}
    confirmed = replace(anchored, confirmed_by=("code_scan",), confirmations=1, updated_at=NOW)
    assert not is_due(confirmed, NOW + timedelta(days=27))
    assert is_due(confirmed, NOW + timedelta(days=28))
    assert is_due(replace(confirmed, confirmations=0), NOW + timedelta(days=14))


def test_what_the_code_refutes_is_challenged_with_the_receipt():
    check = EvidenceCheck(EvidenceState("unanchored"), "config.toml says port 9999", refuted=True)
    [change_set] = planned([OLD], "beliefs", checks={OLD.id: check}).change_sets
    assert change_set.changes[0].values["status_reason"] == "challenged: config.toml says port 9999"
    assert change_set.questions[0].evidence == ("config.toml says port 9999",)


# -- drift -----------------------------------------------------------------------------------------------------

SEEN = replace(OLD, anchors=(Anchor(path="src/billing.py", freshness="verified"),))
GONE = Anchor(path="src/billing.py", freshness="missing")


def looked(freshness, anchor, note="") -> EvidenceCheck:
    return EvidenceCheck(EvidenceState(freshness, (anchor,), note), note)


def drifted(memory: Memory, check: EvidenceCheck, now=NOW, **parts):
    plan = planned([memory], "drift", checks={memory.id: check}, now=now, **parts)
    return plan, plan.outcome.by_id.get(memory.id)


def test_a_moved_anchor_is_mended():
    moved = Anchor(path="src/billing.py", freshness="moved", now_at="lib/billing.py")
    _, after = drifted(SEEN, looked("moved", moved))
    assert after is not None
    assert (after.anchors[0].now_at, after.status) == ("lib/billing.py", "active")


def test_a_missing_anchor_challenges_and_expires_only_after_three_days():
    missing = looked("missing", GONE, "src/billing.py is gone")
    memory: Memory | None = SEEN
    asked: dict[str, str] = {}
    for day in range(3):
        assert memory is not None
        plan, memory = drifted(memory, missing, NOW + timedelta(days=day), asked=asked)
        asked |= {question.id: "open" for change_set in plan.change_sets for question in change_set.questions}
        if memory is not None:
            assert memory.status == "challenged"
            assert drifted(memory, missing, NOW + timedelta(days=day, minutes=5), asked=asked)[0].is_empty
    assert memory is None
    assert len(asked) == 1  # one question for the three days
    assert plan.change_sets[0].changes[0].values["status"] == "expired"


def test_what_is_found_again_is_active_again():
    _, challenged = drifted(SEEN, looked("missing", GONE, "gone"))
    assert challenged is not None
    _, after = drifted(challenged, looked("verified", Anchor(path="src/billing.py", freshness="verified")))
    assert after is not None
    assert (after.status, after.status_reason) == ("active", None)


def test_what_cannot_be_looked_at_is_never_held_against_a_memory():
    plan, _ = drifted(SEEN, looked("unverifiable", replace(GONE, freshness="unverifiable")))
    assert plan.is_empty


def test_a_pinned_memory_does_not_drift():
    plan, _ = drifted(replace(SEEN, pinned=True), looked("missing", GONE))
    assert plan.is_empty


# -- in a real repository ----------------------------------------------------------------------------------------


@pytest.fixture
def repository(tmp_path):
    """A real git repository with a manifest and a module."""
    root = tmp_path / "repo"
    (root / "src").mkdir(parents=True)
    (root / "src" / "billing.py").write_text("def charge():\n    return 8080\n")
    (root / "pyproject.toml").write_text('[project]\nname = "x"\ndependencies = ["numpy>=2.2"]\n')
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    return root


@pytest.fixture
async def at_work(home, clock, repository):
    """A session in that repository."""
    root = repository
    session = await Session.open(Settings(home=str(home)), embedder=TinyEmbedder(), clock=clock, folder=root)
    yield session, root
    await session.close()


@pytest.mark.anyio
async def test_a_dream_in_a_repository_follows_a_deleted_file_for_three_days(at_work, clock):
    session, root = at_work
    kept = await remember(session, RememberRequest(content="Charging is done in src/billing.py", layer="semantic"))
    (root / "src" / "billing.py").unlink()
    seen = []
    for _ in range(3):
        await consolidate(session, ConsolidateRequest(steps=["drift"]))
        memory = await session.store.resolve(kept.id)
        seen.append(memory.status)
        clock.advance(days=1)
    assert seen == ["challenged", "challenged", "expired"]


@pytest.mark.anyio
async def test_a_dream_refutes_what_the_manifest_contradicts_and_shows_the_receipt(at_work, clock):
    session, root = at_work
    kept = await remember(
        session, RememberRequest(content="We depend on numpy 2.2.1 in pyproject.toml", layer="semantic")
    )
    (root / "pyproject.toml").write_text('[project]\nname = "x"\ndependencies = ["numpy>=3.0"]\n')
    clock.advance(days=1)
    result = await consolidate(session, ConsolidateRequest(steps=["beliefs"]))
    assert (await session.store.resolve(kept.id)).status == "challenged"
    [question] = (await review(session, ReviewRequest())).questions
    assert question["id"] == result.questions[0]
    assert any("pyproject.toml" in line for line in question["evidence"])


@pytest.mark.anyio
async def test_a_dream_confirms_an_old_belief_that_the_code_bears_out(at_work, clock):
    session, _ = at_work
    kept = await remember(session, RememberRequest(content="Charging is done in src/billing.py", layer="semantic"))
    clock.advance(days=15)
    await consolidate(session, ConsolidateRequest(steps=["beliefs"]))
    memory = await session.store.resolve(kept.id)
    assert (memory.confirmations, memory.confirmed_by) == (1, ("code_scan",))
