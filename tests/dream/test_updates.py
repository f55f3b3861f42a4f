"""Amounts stated anew: found across texts that are not alike, and nothing else taken for one."""

import pytest

from reverie.lifecycle.quantities import amounts_in
from tests.dream.conftest import a_memory, planned


def asked_about(old: str, new: str, **changes) -> list[str]:
    plan = planned([a_memory(1, old, **changes), a_memory(2, new, **changes)], "beliefs")
    assert [change for deed in plan.deeds for change in deed.changes] == []  # asked, not doubted
    return [question.memory_ids[0] for deed in plan.deeds for question in deed.questions]


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
def test_an_amount_that_is_told_as_news_raises_a_question_about_the_older_one(old: str, new: str) -> None:
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
    assert {"exporter", "giv", "second"} <= amount.context
