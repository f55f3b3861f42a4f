"""Over random stores: pins hold in every step, a second dream finds nothing, no memory is ever lost."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reverie.codebase.evidence import EvidenceState
from reverie.dream.judge import BeliefVerdict, DayNote, Rules
from reverie.dream.snapshot import EvidenceCheck
from reverie.dream.steps import STEPS, plan_dream
from reverie.memory import Anchor, Memory
from reverie.settings import RETENTION_MODES, Settings
from tests.dream.conftest import NOW, a_memory, a_snapshot

WHO = ("Alice", "the Exporter", "Billing", "the cache")
DOES = (
    "writes one file to the archive bucket",
    "listens on port 8080",
    "listens on port 9090",
    "never sleeps",
    "sleeps",
)
WHEN = ("every night", "on Monday before the release", "", ".", "in production since v1.2")


class Eager(Rules):
    """Confirms everything it is asked, so that every step writes as much as it can."""

    def merged(self, members: Sequence[Memory]) -> str | None:
        return ". ".join(member.content for member in members)

    def bridged(self, one: str, other: str, ones: Sequence[Memory], others: Sequence[Memory]) -> str | None:
        return f"{one} and {other} belong together"

    def still_holds(self, belief: Memory, evidence: Sequence[str]) -> BeliefVerdict | None:
        return "outdated"

    def day_note(self, ledger: Sequence[Memory], most_characters: int) -> DayNote | None:
        return DayNote("- it was a day", tuple(memory.id for memory in ledger))


@st.composite
def stores(draw: st.DrawFn) -> tuple[list[Memory], dict[str, EvidenceCheck]]:
    memories = []
    checks = {}
    for number in range(draw(st.integers(0, 16))):
        text = f"{draw(st.sampled_from(WHO))} {draw(st.sampled_from(DOES))} {draw(st.sampled_from(WHEN))}".strip()
        created = NOW - timedelta(days=draw(st.sampled_from((0.1, 1, 20, 95, 200, 1200))))
        accesses = draw(st.sampled_from((0, 0, 2, 5, 12)))
        memory = a_memory(
            number,
            text,
            layer=draw(st.sampled_from(("working", "episodic", "episodic", "semantic", "procedural"))),
            kind=draw(st.sampled_from(("fact", "decision", "event"))),
            project=draw(st.sampled_from(("p", "p", "q"))),
            source=draw(st.sampled_from(("human", "human", "ai", "ingest"))),
            importance=draw(st.sampled_from((0.05, 0.5, 1.0))),
            created_at=created,
            happened_at=created,
            updated_at=created,
            access_count=accesses,
            last_accessed_at=created if accesses else None,
            access_times=(created,) * min(accesses, 3),
            sessions=("a", "b", "c")[: accesses // 3],
            stability=draw(st.sampled_from((0.3, 0.9))),
            pinned=draw(st.integers(0, 4)) == 0,
            tier=draw(st.sampled_from((None, None, "goldfish", "permanent"))),
            forget_after=draw(st.sampled_from((None, None, None, NOW - timedelta(hours=1)))),
            tags=draw(st.sampled_from(((), ("api",), ("ui",)))),
        )
        verdict = draw(st.sampled_from((None, None, "missing", "moved", "verified")))
        if verdict:
            anchor = Anchor(path=f"src/{number}.py", freshness=verdict)
            memory = replace(memory, anchors=(replace(anchor, freshness="unverifiable"),))
            checks[memory.id] = EvidenceCheck(
                EvidenceState(verdict, (anchor,)), f"looked at {number}", refuted=draw(st.booleans())
            )
        memories.append(memory)
    return memories, checks


@pytest.mark.rule("002-pin")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(stores(), st.sampled_from(RETENTION_MODES), st.sampled_from((Rules(), Eager())))
def test_pins_hold_nothing_is_lost_and_a_second_dream_finds_nothing(store, mode, judge):
    memories, checks = store
    wanted = Settings(home="/nowhere", retention=mode)
    plan = plan_dream(a_snapshot(memories, checks=checks), wanted, judge)
    touched = {change.memory_id for change_set in plan.change_sets for change in change_set.changes}
    assert not touched & {memory.id for memory in memories if memory.pinned}
    lost = {memory.id for memory in memories} - plan.outcome.by_id.keys()
    retired = {
        change.memory_id
        for change_set in plan.change_sets
        for change in change_set.changes
        if change.values.get("status") in ("expired", "superseded")
    }
    assert lost <= retired
    again = plan_dream(plan.outcome, wanted, judge)
    assert again.change_sets == ()
    assert plan.steps[-1].name == tuple(STEPS)[-1]


@settings(max_examples=25, deadline=None, derandomize=True)
@given(stores(), st.sampled_from(tuple(STEPS)))
def test_every_step_alone_leaves_pinned_memories_as_they_are(store, step):
    memories, checks = store
    pinned = [replace(memory, pinned=True) for memory in memories]
    plan = plan_dream(a_snapshot(pinned, checks=checks), Settings(home="/nowhere"), Eager(), (step,))
    assert [change for change_set in plan.change_sets for change in change_set.changes] == []
    assert all(plan.outcome.by_id[memory.id] == memory for memory in pinned)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(stores())
def test_importance_as_set_and_text_are_never_changed(store):
    memories, checks = store
    plan = plan_dream(a_snapshot(memories, checks=checks), Settings(home="/nowhere"), Eager())
    known = {memory.id for memory in memories}
    changes = [
        change for change_set in plan.change_sets for change in change_set.changes if change.memory_id in known
    ]
    fields = {name for change in changes for name in change.values}
    assert not fields & {"importance", "content", "content_hash", "trust", "created_at", "happened_at", "project"}
