"""The day's note, the cards and the bridges: what a dream writes about other memories."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from reverie.dream.derived_memories import MOST_CHARACTERS
from reverie.dream.judge import DayNote, Rules
from reverie.dream.synthesis import synthesis
from reverie.ids import short_id
from reverie.memory import Memory
from tests.dream.conftest import NOW, SETTINGS, a_memory, a_snapshot, planned

YESTERDAY = NOW - timedelta(hours=20)


def of_today(number: int, content: str, **changes) -> Memory:
    return a_memory(number, content, happened_at=YESTERDAY, created_at=YESTERDAY, updated_at=YESTERDAY, **changes)


def written(plan) -> list[Memory]:
    return [new.memory for change_set in plan.change_sets for new in change_set.new_memories]


# -- digest ----------------------------------------------------------------------------------------------------


@pytest.mark.rule("000-nightly")
def test_the_day_is_noted_in_at_most_1200_characters_the_most_important_first():
    day = [of_today(n, f"On topic {n} we learned {'quite a lot ' * 12}", importance=n / 20) for n in range(20)]
    old = a_memory(99, "This was long ago", importance=1.0)
    [note] = written(planned([*day, old], "digest"))
    assert (note.kind, note.layer, note.source) == ("digest", "episodic", "dream")
    assert len(note.content) <= MOST_CHARACTERS
    assert note.content.splitlines()[1].startswith("- On topic 19 ")
    assert "long ago" not in note.content
    assert set(note.derived_from) == {memory.id for memory in day}


@pytest.mark.rule("000-nightly")
def test_durable_lines_of_the_day_become_semantic_unless_somebody_took_them_down():
    day = [
        of_today(1, "We decided to use tabs", kind="decision", layer="episodic"),
        of_today(2, "We decided to use spaces", kind="decision", layer="episodic"),
        of_today(3, "The build broke at noon", kind="event", layer="episodic"),
    ]
    plan = planned(day, "digest", demoted=frozenset({"m0002"}))
    assert [
        (change.memory_id, change.values["layer"]) for change_set in plan.change_sets for change in change_set.changes
    ] == [("m0001", "semantic")]


def test_each_project_has_its_own_day():
    day = [of_today(n, f"Topic {n} was touched", project="pq"[n % 2]) for n in range(6)]
    notes = written(planned(day, "digest"))
    assert [(note.project, len(note.derived_from)) for note in notes] == [("p", 3), ("q", 3)]


def test_a_day_is_noted_once():
    day = [of_today(n, f"Topic {n} was touched") for n in range(3)]
    [note] = written(planned(day, "digest"))
    later = NOW + timedelta(hours=23)
    assert planned([*day, note], "digest", now=later).is_empty
    fresh = [replace(memory, id=f"n{n}", happened_at=NOW + timedelta(hours=1)) for n, memory in enumerate(day)]
    [second] = written(planned([*day, *fresh, note], "digest", now=NOW + timedelta(hours=25)))
    assert set(second.derived_from) == {"n0", "n1", "n2"}


def test_a_judge_that_writes_too_much_is_not_believed():
    class Talker(Rules):
        def day_note(self, ledger: Sequence[Memory], most_characters: int) -> DayNote | None:
            return DayNote("x" * (most_characters + 1), ())

    day = [of_today(n, f"Topic {n} was touched") for n in range(3)]
    [note] = written(planned(day, "digest", judge=Talker()))
    assert note.content.startswith("2026-03-02: 3 memories.\n- Topic")


# -- peer cards ------------------------------------------------------------------------------------------------


def about(count: int, first: int = 0, who: str = "Alice", **changes) -> list[Memory]:
    said = (
        "likes tea",
        "owns the parser",
        "reviews on Monday",
        "wrote the lexer",
        "left for Oslo",
        "is on call",
        "sings",
    )
    return [a_memory(n, f"We know that {who} {said[n % 7]}", **changes) for n in range(first, first + count)]


@pytest.mark.rule("002-dream")
def test_a_subject_with_five_memories_gets_a_card_that_names_what_it_rests_on():
    [card] = written(planned(about(5), "peer_cards"))
    assert (card.kind, card.layer, card.title, card.entities) == ("peer_card", "semantic", "About Alice", ("Alice",))
    assert set(card.derived_from) == {memory.id for memory in about(5)}
    assert "- We know that Alice owns the parser" in card.content
    assert written(planned(about(4), "peer_cards")) == []


def test_the_card_is_rewritten_in_place_of_the_last_when_its_sources_change():
    [card] = written(planned(about(5), "peer_cards"))
    assert planned([*about(5), card], "peer_cards").is_empty
    plan = planned([*about(6), card], "peer_cards", now=NOW + timedelta(days=1))
    [second] = written(plan)
    [change] = [change for change_set in plan.change_sets for change in change_set.changes]
    assert (change.memory_id, change.values["superseded_by"]) == (card.id, second.id)


def test_one_person_has_one_card_by_whatever_name_and_its_lines_say_who_when_and_which_memory():
    names = ("Alice", "Alice Johnson", "@alice")
    memories = [a_memory(n, f"We know that {names[n % 3]} did part {n}", source="human") for n in range(6)]
    [card] = written(planned(memories, "peer_cards"))
    assert card.title == "About Alice Johnson"
    assert card.entities == ("Alice Johnson", "@alice", "Alice")
    first, *lines = card.content.splitlines()
    assert first == "Alice Johnson (a person; also @alice, Alice):"
    said = {f"- {m.content} (human, {m.happened_at:%Y-%m-%d}, {short_id(m.id)})" for m in memories}
    assert set(lines) == said


def test_lower_case_software_has_a_card_in_any_spelling():
    [card] = written(planned(about(3, who="redis") + about(3, first=3, who="Redis"), "peer_cards"))
    assert card.content.startswith("Redis (software; also redis):")


def test_a_card_begins_with_what_the_subject_does_and_says_where_more_is():
    asides = [a_memory(n, f"In week {n} Dana was seen near room {n}") for n in range(10)]
    roles = [a_memory(20, "Dana owns the parser"), a_memory(21, "Dana is the contact for auditors")]
    [card] = written(planned([*asides, *roles], "peer_cards"))
    _, first, second, *_, last = card.content.splitlines()
    assert first.startswith("- Dana owns the parser (")
    assert second.startswith("- Dana is the contact for auditors (")
    assert last == 'More is known: recall(entity="Dana").'


def test_a_card_quotes_what_questions_a_fact_rather_than_the_fact():
    asides = [a_memory(n, f"redis has setting {n} at its default") for n in range(10)]
    old, new = a_memory(20, "redis has version 7.2"), a_memory(21, "Since May redis has version 7.4")
    asked = {"q1": ("belief", (old.id, new.id))}
    [card] = written(planned([*asides, old, new], "peer_cards", open_questions=asked))
    assert "- Since May redis has version 7.4 (human, 2026-01-31, m0021)" in card.content
    assert "version 7.2" not in card.content
    [card] = written(planned([*asides[:4], old, new], "peer_cards", open_questions=asked))
    assert "- redis has version 7.2 (human, 2026-01-31, m0020, in question: see m0021)" in card.content


def test_a_card_says_what_came_of_a_decision():
    decided = a_memory(9, "We decided to give Alice the lexer", outcome="failed 2026-02-01 m0001")
    [card] = written(planned([*about(5), decided], "peer_cards"))
    assert "- We decided to give Alice the lexer (human, 2026-01-31, m0009, tried, failed)" in card.content


def test_a_card_under_an_earlier_name_gives_way_to_the_one_under_the_full_name():
    [card] = written(planned(about(5), "peer_cards"))
    joined = [*about(5), *about(1, first=5, who="Alice Johnson"), card]
    plan = planned(joined, "peer_cards", now=NOW + timedelta(days=1))
    [second] = written(plan)
    assert second.entities == ("Alice Johnson", "Alice")
    [change] = [change for change_set in plan.change_sets for change in change_set.changes]
    assert (change.memory_id, change.values["superseded_by"]) == (card.id, second.id)


def test_what_is_challenged_stands_on_the_card_as_doubt_and_never_as_a_fact():
    doubted = a_memory(9, "We know that Alice left the team", status="challenged")
    [card] = written(planned([*about(5), doubted], "peer_cards"))
    facts, _, doubts = card.content.partition("\nIn doubt:\n")
    assert "left the team" not in facts
    assert doubts == "- We know that Alice left the team (human, 2026-01-31, m0009)"


def test_time_alone_rewrites_no_card():
    [card] = written(planned(about(5), "peer_cards"))
    assert planned([*about(5), card], "peer_cards", now=NOW + timedelta(days=40)).is_empty


def test_a_card_goes_when_too_little_is_left_for_it_to_rest_on():
    [card] = written(planned(about(5), "peer_cards"))
    [change_set] = planned([*about(3), card], "peer_cards").change_sets
    assert change_set.changes[0].values["status_reason"] == "ground-gone"


def test_a_pinned_card_is_left_alone_and_gets_no_second_beside_it():
    [card] = written(planned(about(5), "peer_cards"))
    assert planned([*about(7), replace(card, pinned=True)], "peer_cards").is_empty


def test_what_is_not_trusted_or_has_a_deadline_is_in_no_card():
    assert written(planned(about(5, trust=0.4, source="dream"), "peer_cards")) == []
    assert written(planned(about(5, forget_after=NOW + timedelta(days=1)), "peer_cards")) == []


# -- bridges ---------------------------------------------------------------------------------------------------


class Confirming(Rules):
    def bridged(self, one: str, other: str, ones: Sequence[Memory], others: Sequence[Memory]) -> str | None:
        return f"{one} and {other} are retried alike"


class Denying(Rules):
    def bridged(self, one: str, other: str, ones: Sequence[Memory], others: Sequence[Memory]) -> str | None:
        return ""


def two_worlds(**changes) -> list[Memory]:
    texts = (
        "retries each failed upload with a growing pause",
        "retries each failed upload with some jitter in the pause",
    )
    return [
        a_memory(10 * world + n, f"We saw that {who} {texts[n % 2]} {n}", **{"project": project} | changes)
        for world, (who, project) in enumerate((("Exporter", "p"), ("Harbour", "global")))
        for n in range(3)
    ]


@pytest.mark.rule("002-dream")
def test_a_bridge_is_written_only_when_the_judge_confirms_it_and_never_twice():
    [bridge] = written(planned(two_worlds(), "synthesis", judge=Confirming()))
    assert (bridge.kind, bridge.project, bridge.entities) == ("bridge", "p", ("exporter", "harbour"))
    plan = planned(two_worlds(), "synthesis", judge=Denying())
    assert written(plan) == []
    [question] = [question for change_set in plan.change_sets for question in change_set.questions]
    assert question.model_verdict == "no_bridge"
    assert planned(two_worlds(), "synthesis", judge=Confirming(), asked={question.id: "no_bridge"}).is_empty


def test_rules_only_ask_about_a_bridge():
    [change_set] = planned(two_worlds(), "synthesis").change_sets
    assert (change_set.new_memories, change_set.questions[0].model_verdict, change_set.questions[0].verdicts) == (
        (),
        None,
        ("bridge", "no_bridge"),
    )


def test_subjects_of_two_projects_are_no_pair():
    apart = [replace(m, project="q") if m.project == "global" else m for m in two_worlds()]
    assert synthesis(a_snapshot(apart), SETTINGS, Confirming()).change_sets == ()


def test_subjects_of_one_context_are_no_pair():
    same = [replace(memory, project="p") for memory in two_worlds()]
    assert synthesis(a_snapshot(same), SETTINGS, Confirming()).change_sets == ()
    tagged = [replace(m, project="p", tags=("api",) if "Exporter" in m.content else ("ui",)) for m in two_worlds()]
    assert len(synthesis(a_snapshot(tagged), SETTINGS, Confirming()).change_sets) == 1
