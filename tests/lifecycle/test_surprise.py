import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reverie.lifecycle.vitals import (
    DUPLICATE_SIMILARITY,
    adjusted_importance,
    adjusted_importance_of,
    is_duplicate,
    surprise_from,
)

PROVED = settings(derandomize=True, deadline=None, database=None)


@pytest.mark.rule("002-surprise")
@pytest.mark.parametrize(
    ("similarities", "surprise"),
    [
        pytest.param([0.5, 0.4, 0.3, 0.2, 0.1], 0.7, id="mean of 0.5 0.6 0.7 0.8 0.9"),
        pytest.param([0.5, 0.4, 0.3, 0.2, 0.1, -1.0], 0.7, id="only the five nearest count"),
        pytest.param([0.6], 0.4, id="one neighbour in a young store"),
        pytest.param([-0.5, -0.7], 1.0, id="never above one"),
        pytest.param([1.0000001], 0.0, id="rounding never makes it negative"),
        pytest.param([0.95, 0.1, 0.1, 0.1, 0.1], 0.05, id="a near-identical neighbour decides alone"),
    ],
)
def test_surprise_is_the_mean_distance_to_the_nearest(similarities, surprise):
    assert surprise_from(similarities) == pytest.approx(surprise, abs=1e-6)


@pytest.mark.rule("002-surprise")
def test_an_empty_store_knows_nothing_about_novelty():
    assert surprise_from([]) is None
    assert adjusted_importance(0.5, None) == 0.5
    assert adjusted_importance(0.01, None) == 0.01


@pytest.mark.rule("002-surprise")
@pytest.mark.parametrize(
    ("importance", "surprise", "adjusted"),
    [
        pytest.param(0.5, 1.0, 0.8, id="wholly new: + 0.3"),
        pytest.param(0.5, 0.0, 0.2, id="nothing new: − 0.3"),
        pytest.param(0.5, 0.5, 0.5, id="half new: as it was set"),
        pytest.param(0.5, 0.7, 0.62, id="0.5 + 0.3 · 0.4"),
        pytest.param(0.9, 1.0, 1.0, id="at most 1"),
        pytest.param(0.1, 0.0, 0.05, id="at least 0.05"),
    ],
)
def test_surprise_moves_importance_by_up_to_three_tenths(importance, surprise, adjusted):
    assert adjusted_importance(importance, surprise) == pytest.approx(adjusted)


@pytest.mark.rule("002-surprise")
def test_near_identical_begins_at_ninety_two_hundredths():
    assert is_duplicate(DUPLICATE_SIMILARITY)
    assert not is_duplicate(0.9199)
    assert DUPLICATE_SIMILARITY == 0.92


@pytest.mark.rule("002-surprise")
def test_a_repetition_never_gains_importance_however_many_strangers_stand_beside_it():
    surprise = surprise_from([0.93, -0.2, -0.2, -0.2, -0.2])
    assert adjusted_importance(0.5, surprise) < 0.5


def test_the_importance_as_set_stays_and_the_adjusted_one_is_computed(a_memory):
    memory = a_memory(importance=0.5, surprise=1.0)
    assert adjusted_importance_of(memory) == pytest.approx(0.8)
    assert memory.importance == 0.5


@PROVED
@given(st.lists(st.floats(-1, 1) | st.just(math.nan), min_size=1, max_size=8), st.floats(0, 1))
def test_surprise_and_what_it_adjusts_stay_in_bounds(similarities, importance):
    surprise = surprise_from(similarities)
    assert surprise is not None
    assert 0.0 <= surprise <= 1.0
    assert 0.05 <= adjusted_importance(importance, surprise) <= 1.0
