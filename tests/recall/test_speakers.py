from dataclasses import replace

import pytest

from reverie.memory import Memory
from reverie.recall.score import said_by_others
from tests.dream.conftest import a_memory

TALK = {
    "c1": "Caroline: I went to the support group yesterday.",
    "m1": "Melanie: How was the support group, Caroline?",
    "m2": "Melanie: The support group I know is on Fridays.",
    "note": "The support group meets in the town hall.",
    "both": "Melanie: And then?\nCaroline: Then the group went home.",
}
CHAT = {
    "u1": "user: I want to save 500 a month.",
    "a1": "assistant: Saving 500 a month is a good plan.",
    "name": "Caroline: I save 500 a month.",
}


def _memories(texts: dict[str, str]) -> list[Memory]:
    return [replace(a_memory(1, text), id=memory_id) for memory_id, text in texts.items()]


def test_whom_a_question_names_is_asked_and_others_are_not() -> None:
    assert said_by_others("When did Caroline go to the support group?", _memories(TALK)) == {"m1", "m2"}


def test_a_memory_in_which_the_asked_one_also_speaks_is_not_another_s() -> None:
    assert "both" not in said_by_others("Where did Caroline's group go?", _memories(TALK))


@pytest.mark.parametrize(
    "query",
    [
        "When is the support group?",
        "Do Caroline and Melanie know the support group?",
        "Did Carolines dog come along?",
        "what is caroline?",  # in small letters it may be any word: "decision" does not ask for `Decision: …`
        "",
    ],
)
def test_a_question_that_names_nobody_or_everybody_leaves_all_alone(query: str) -> None:
    assert said_by_others(query, _memories(TALK)) == frozenset()


def test_nobody_is_another_where_the_one_asked_about_says_nothing() -> None:
    silent = {name: text for name, text in TALK.items() if name != "c1"}
    assert said_by_others("When did Caroline go to the support group?", _memories(silent)) == frozenset()


@pytest.mark.parametrize(
    ("query", "others"),
    [
        ("How much do I want to save?", {"a1"}),
        ("What is our plan for saving?", {"a1"}),
        ("What did you recommend for my savings?", set()),
        ("How much should one save, as you suggested?", {"u1"}),
        ("How much is saved a month?", set()),
        ("How much does Caroline save?", set()),
    ],
)
def test_i_asks_for_the_user_s_words_and_did_you_for_the_assistant_s(query: str, others: set[str]) -> None:
    assert said_by_others(query, _memories(CHAT)) == others
