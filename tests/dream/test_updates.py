"""Amounts stated anew: found across texts that are not alike, and nothing else taken for one."""

import pytest

from reverie.text.amounts import amounts_in, surely_restated
from reverie.text.word_forms import word_form
from tests.dream.conftest import a_memory, planned


def asked_about(old: str, new: str, **changes) -> list[str]:
    plan = planned([a_memory(1, old, **changes), a_memory(2, new, **changes)], "beliefs")
    assert [change for change_set in plan.change_sets for change in change_set.changes] == []  # asked, not doubted
    return [question.memory_ids[0] for change_set in plan.change_sets for question in change_set.questions]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "I am struggling with my sources: the Zotero library holds 45 sources, tagged by theme",
            "How do I sort them for the essay, my Zotero library has now reached 52 sources",
        ),
        (
            "The exporter gives up after 30 seconds without an answer, which the team finds long",
            "After the incident the exporter timeout was raised: it gives up after 45 seconds",
        ),
        (
            "We agreed on a monthly grocery budget of $500",
            "Alexis says the grocery budget was increased to $550 monthly",
        ),
    ],
)
def test_an_amount_that_is_stated_as_news_raises_a_question_about_the_older_one(old: str, new: str) -> None:
    assert asked_about(old, new) == ["m0001"]
    assert asked_about(old, new, layer="episodic") == ["m0001"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("The exporter gives up after 30 seconds", "The importer now reads 45 files", id="another unit"),
        pytest.param("The exporter gives up after 30 seconds", "Lunch now takes 45 seconds", id="another subject"),
        pytest.param(
            "The exporter gives up after 30 seconds of silence today",
            "In old notes somebody wrote that the exporter gives up after 45 seconds of silence",
            id="no news, and not the same sentence",
        ),
        pytest.param(
            "The exporter gives up after 30 seconds", "The exporter now gives up after 30 seconds", id="same"
        ),
    ],
)
def test_another_subject_unit_or_no_news_raises_none(old: str, new: str) -> None:
    assert asked_about(old, new) == []


def test_a_long_text_states_too_much_to_be_held_to_an_amount() -> None:
    assert amounts_in("The cache holds 40 rows. " + "And so on, and so forth. " * 40) == ()


def test_an_amount_has_a_value_a_unit_and_what_it_is_about() -> None:
    [amount] = amounts_in("The exporter now gives up after 45 seconds")
    assert (amount.value, amount.unit, amount.is_news) == ("45", "second", True)
    assert set(map(word_form, ["exporter", "gives", "seconds"])) <= amount.context


def test_an_amount_that_can_only_be_an_update_is_doubted_and_asked_about() -> None:
    old = a_memory(1, "The reading challenge of the winter has a goal of 10 books by March")
    new = a_memory(2, "I have extended the goal of the winter reading challenge to 12 books by March")
    [change_set] = planned([old, new], "beliefs").change_sets
    assert [(change.memory_id, change.values["status"]) for change in change_set.changes] == [("m0001", "challenged")]
    assert [question.memory_ids for question in change_set.questions] == [("m0001", "m0002")]


def test_the_latest_of_several_sure_updates_is_held_against_the_oldest() -> None:
    texts = (
        "The reading challenge of the winter has a goal of 10 books by March",
        "I have extended the goal of the winter reading challenge to 12 books by March",
        "I have extended the goal of the winter reading challenge to 15 books by March",
    )
    plan = planned([a_memory(number, text) for number, text in enumerate(texts, 1)], "beliefs")
    held = {change_set.changes[0].memory_id: change_set.questions[0].memory_ids[1] for change_set in plan.change_sets}
    assert held == {"m0001": "m0003", "m0002": "m0003"}


@pytest.mark.parametrize(
    ("old", "new", "sure"),
    [
        (
            "The grocery budget is $500 monthly, up from $400",
            "The grocery budget was increased to $550 monthly",
            True,
        ),
        ("The quiz score stands at 90%", "The quiz score improved from 78% to 88%", False),
        ("The quiz score stands at 78%", "The quiz score improved from 78% to 88%", True),
        ("My weekly word goal is 3,600 words", "My weekly word goal grew, now from 1,200 to 1,500 words", False),
        ("The triangle has sides of 7 cm and 24 cm", "The triangle side is now 9 cm", False),
        ("The editor reduced passive voice by 25%", "The editor now reduced passive voice by 35%", False),
        ("The boxed set of books cost $25", "I recently bought a boxed set of books for $55", False),
        ("The exporter waits 30 seconds", "The exporter was changed, and the exporter waits 45 seconds", False),
    ],
)
def test_nothing_else_can_be_meant(old: str, new: str, sure: bool) -> None:
    olds, new_memories = amounts_in(old), amounts_in(new)
    assert any(surely_restated(one, other, olds, new_memories) for one in olds for other in new_memories) is sure


def test_code_in_a_text_states_nothing() -> None:
    assert amounts_in("Look:\n```\nretry(5 times)\n```\nIt broke") == ()
