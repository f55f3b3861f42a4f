import pytest

from reverie.recall.score import kind_factor
from tests.dream.conftest import a_memory


@pytest.mark.parametrize(
    "text",
    [
        "Always run the tests before a commit.",
        "user: Always include version numbers when I ask about libraries.",
        "Please never push to main",
        "From now on, answer in German.",
    ],
)
def test_what_the_user_wants_always_or_never_done_is_lifted(text: str) -> None:
    assert kind_factor(a_memory(1, text)) == 1.2
    assert kind_factor(a_memory(1, text, source="import")) == 1.2


@pytest.mark.parametrize(
    "text",
    [
        "Always loved the sea.",
        "Never mind, it works now.",
        "Caroline: I always paint in the evening.",
        "The build never finishes on Windows.",
        "assistant: Always happy to help!",
        "Always run the tests. " + "The reason is a long story. " * 20,
    ],
)
def test_what_only_tells_of_always_and_never_is_not(text: str) -> None:
    assert kind_factor(a_memory(1, text)) == 1.0


@pytest.mark.parametrize("source", ["ai", "ingest", "dream"])
def test_nobody_else_s_orders_are_lifted(source: str) -> None:
    assert kind_factor(a_memory(1, "Always run the tests before a commit.", source=source)) == 1.0


def test_what_a_dream_wrote_about_others_stands_behind_them() -> None:
    assert kind_factor(a_memory(1, "Anna paints.", source="dream", kind="digest")) == 0.6
    assert kind_factor(a_memory(1, "Anna paints.", source="dream")) == 1.0
