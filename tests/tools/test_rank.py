import pytest

from reverie.tools.rank import contenders, relevance_of


def test_cosines_are_spread_and_texts_start_at_zero() -> None:
    parts = relevance_of({"a": 0.8, "b": 0.4, "c": 0.2}, {"b": 4.0, "d": 2.0})
    assert parts == {
        "a": (pytest.approx(1.0), 0.0),
        "b": (pytest.approx(1 / 3), 1.0),
        "c": (0.0, 0.0),
        "d": (0.0, 0.5),
    }


def test_a_single_cosine_counts_as_it_is() -> None:
    assert relevance_of({"a": 0.3}, {}) == {"a": (0.3, 0.0)}
    assert relevance_of({"a": -0.3}, {}) == {"a": (0.0, 0.0)}


def test_a_candidate_is_read_only_if_strength_could_lift_it_among_the_best() -> None:
    # Fused: a 0.6, b 0.43, c 0.41. With one wanted the best could fall to 0.6 · 0.7 = 0.42 by its strength.
    relevance = {"a": (1.0, 0.0), "b": (0.7, 0.025), "c": (0.0, 1.025)}
    assert contenders(relevance, 1) == ["a", "b"]
    assert contenders(relevance, 2) == ["a", "b", "c"]
    assert contenders({}, 3) == []
