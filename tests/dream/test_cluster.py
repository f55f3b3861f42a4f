"""Clusters: near, coherent, of one subject and one standing; merged only if a judge can say how."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from reverie.dream.judge import Rules, missing_facts
from reverie.dream.merging import clusters_of
from reverie.memory import Memory
from tests.dream.conftest import NOW, a_memory, a_snapshot, planned

BASE = "the Exporter job of the billing team writes one invoice file to the archive bucket every single night"


def family(count: int = 5, **changes) -> list[Memory]:
    """Say one thing with something else added each time: near, and neither restatements nor contradictions."""
    return [a_memory(number, f"{BASE} {TAILS[number]}", **changes) for number in range(count)]


TAILS = (
    "as auditors want it",
    "when traffic stays low",
    "before reports get built",
    "with checks run twice",
    "since customers asked once",
    "while others still sleep",
)


class Writer(Rules):
    """Merges whatever it is shown by writing all of it down."""

    def merged(self, members: Sequence[Memory]) -> str | None:
        return ". ".join(member.content for member in members)


class Loser(Rules):
    """Merges and forgets half of it."""

    def merged(self, members: Sequence[Memory]) -> str | None:
        return "Something is written somewhere."


def test_five_near_ones_are_a_cluster_and_four_are_not():
    assert [len(members) for members in clusters_of(a_snapshot(family(5)))] == [5]
    assert clusters_of(a_snapshot(family(4))) == []


@pytest.mark.parametrize("odd", [{"project": "q"}, {"layer": "procedural"}, {"source": "ingest"}, {"pinned": True}])
def test_one_of_another_scope_layer_trust_or_pinned_does_not_count(odd):
    fifth = a_memory(4, f"{BASE} {TAILS[4]}", **odd)
    assert clusters_of(a_snapshot([*family(4), fifth])) == []


def test_one_that_contradicts_another_does_not_count():
    denied = a_memory(4, f"{BASE.replace('writes', 'never writes')} {TAILS[4]}")
    assert clusters_of(a_snapshot([*family(4), denied])) == []


def test_a_chain_of_small_steps_is_no_cluster():
    words = [f"w{number:02}" for number in range(40)]
    chain = [a_memory(n, "Exporter " + " ".join(words[3 * n : 3 * n + 12])) for n in range(8)]
    vectors = a_snapshot(chain).vectors
    steps = [float(vectors[n] @ vectors[n + 1]) for n in range(7)]
    assert min(steps) > 0.7
    assert clusters_of(a_snapshot(chain)) == []


def test_without_a_judge_nothing_happens_but_a_question_and_it_is_asked_once():
    plan = planned(family(), "cluster")
    [change_set] = plan.change_sets
    assert (change_set.new_memories, change_set.changes) == ((), ())
    [question] = change_set.questions
    assert question.memory_ids == tuple(sorted(memory.id for memory in family()))
    assert question.verdicts == ("merge", "separate")
    assert planned(family(), "cluster", asked={question.id: "open"}).is_empty
    assert planned(family(), "cluster", asked={question.id: "separate"}).is_empty


def test_while_nearly_the_same_is_open_it_is_not_asked_again():
    five = tuple(memory.id for memory in family(5))
    assert planned(family(6), "cluster", open_questions={"q1": ("merge", five)}).is_empty


def test_restatements_are_merged_by_rule_and_the_one_inherits():
    seen = [NOW - timedelta(days=days) for days in range(5)]
    same = [
        a_memory(n, text, importance=0.1 * n, source="ai", access_count=n, last_accessed_at=seen[n])
        for n, text in enumerate(
            (
                "The worker fills the cache of the Exporter",
                "A worker is filling the cache of the Exporter",
                "The cache of the Exporter is being filled by the worker",
                "The worker filled the cache of the Exporter",
                "The worker fills the caches of the Exporter",
            )
        )
    ]
    [change_set] = planned(same, "cluster").change_sets
    [new] = change_set.new_memories
    merged = new.memory
    assert merged.content == same[-1].content
    assert merged.derived_from == tuple(memory.id for memory in clusters_of(a_snapshot(same))[0])
    assert (merged.access_count, merged.last_accessed_at) == (10, seen[0])
    assert merged.importance == pytest.approx(0.4)
    assert (merged.source, merged.trust) == ("dream", 0.7)
    assert (len(merged.confirmed_by), merged.confirmations) == (1, 0), "one agent said it all"
    assert {change.values["superseded_by"] for change in change_set.changes} == {merged.id}
    assert {change.values["status"] for change in change_set.changes} == {"superseded"}


def test_a_merged_text_keeps_every_fact_or_is_rejected():
    member = a_memory(1, "The Exporter writes for tenant 10, see docs/t0.md")
    assert missing_facts("See docs/t0.md: for tenant 10 it is the Exporter that writes", [member]) == []
    assert missing_facts("The Exporter writes for tenant 11", [member]) == ["10", "docs/t0.md"]
    [kept] = planned(family(), "cluster", judge=Writer()).change_sets
    assert kept.new_memories
    [change_set] = planned(family(), "cluster", judge=Loser()).change_sets
    assert (change_set.new_memories, len(change_set.questions)) == ((), 1)


def test_no_more_questions_are_asked_than_somebody_will_answer():
    others = [a_memory(100 + number, f"Stranger {number} says {number * 7}") for number in range(20)]
    waiting = {f"q{other.id}": ("merge", (other.id,)) for other in others}
    elsewhere = [replace(other, project="q") for other in others]
    assert not planned([*family(), *elsewhere], "cluster", open_questions=waiting).is_empty
    plan = planned([*family(), *others], "cluster", open_questions=waiting)
    assert plan.is_empty
    assert plan.steps[0].notes == ("1 more clusters wait until some of the open questions are answered",)
