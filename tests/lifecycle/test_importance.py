from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reverie.lifecycle.vitals import (
    BASE_WEIGHT,
    EARNED_WEIGHTS,
    FACTOR_NAMES,
    KEPT_WEIGHTS,
    LAYER_BOOST,
    after_access,
    frequency,
    importance_of,
    recency,
    spread,
    weights_at,
)
from reverie.memory import LAYERS

PROVED = settings(derandomize=True, deadline=None, database=None)


def recalled_daily(memory, start, days):
    for day in range(1, days + 1):
        memory = after_access(memory, start + timedelta(days=day), f"s{day}")
    return memory


def recalled_at(memory, moments, sessions=3):
    for number, moment in enumerate(moments):
        memory = after_access(memory, moment, f"s{number % sessions}")
    return memory


@pytest.mark.rule("002-importance")
def test_the_weights_of_nine_factors_leave_no_room_above_one():
    assert set(weights_at(0.5)) == set(FACTOR_NAMES)
    assert len(FACTOR_NAMES) == 9
    assert BASE_WEIGHT + sum(KEPT_WEIGHTS.values()) == pytest.approx(1.0)
    assert sum(EARNED_WEIGHTS.values()) <= BASE_WEIGHT


@pytest.mark.rule("002-importance")
@pytest.mark.parametrize("layer", LAYERS)
@PROVED
@given(base=st.floats(0, 1), seconds=st.integers(0, 3600))
def test_a_fresh_human_memory_scores_near_its_base_on_every_layer(a_memory, start, layer, base, seconds):
    memory = a_memory(layer=layer, importance=base)
    value = importance_of(memory, start + timedelta(seconds=seconds)).value
    assert 0.75 * base <= value <= base + 0.15


@pytest.mark.rule("002-importance")
def test_use_over_two_months_lifts_an_ordinary_memory_and_ten_recalls_in_an_hour_do_not(a_memory, start):
    memory = a_memory(importance=0.5, source="ai", trust=0.7)
    spaced = recalled_at(memory, [start + timedelta(days=6 * number) for number in range(1, 11)])
    massed = recalled_at(memory, [start + timedelta(minutes=6 * number) for number in range(1, 11)])
    assert importance_of(spaced, start + timedelta(days=61)).value >= 0.7
    assert importance_of(massed, start + timedelta(hours=1)).value < 0.65


@pytest.mark.rule("002-importance")
@pytest.mark.parametrize("base", [0.0, 1.0])
@pytest.mark.parametrize("valence", [-1.0, 1.0])
@pytest.mark.parametrize("layer", LAYERS)
def test_not_even_strong_feelings_carry_a_fresh_memory_farther_from_its_base(a_memory, start, layer, base, valence):
    memory = a_memory(layer=layer, importance=base, valence=valence)
    assert 0.75 * base <= importance_of(memory, start).value <= base + 0.15


@pytest.mark.rule("002-importance")
@pytest.mark.parametrize("days_later", [0, 1, 7, 30])
def test_important_and_recalled_on_five_days_is_at_least_seven_tenths(a_memory, start, days_later):
    memory = recalled_daily(a_memory(importance=0.8), start, 5)
    assert importance_of(memory, start + timedelta(days=5 + days_later)).value >= 0.7


@pytest.mark.rule("002-importance")
@pytest.mark.parametrize("layer", LAYERS)
def test_unimportant_and_never_recalled_in_a_hundred_days_is_below_three_tenths(a_memory, start, layer):
    memory = a_memory(importance=0.2, source="ai", trust=0.7, layer=layer)
    assert importance_of(memory, start + timedelta(days=100)).value < 0.3


@pytest.mark.rule("002-importance")
def test_everything_at_its_best_is_nearly_one(a_memory, start):
    memory = a_memory(importance=1.0, layer="semantic", valence=-1.0, confirmations=3)
    best = importance_of(recalled_daily(memory, start, 20), start + timedelta(days=20))
    assert 0.95 <= best.value <= 1.0
    assert all(factor.value >= 0.95 for factor in best.factors)


@pytest.mark.rule("002-importance")
def test_a_worked_example_adds_up(a_memory, start):
    memory = a_memory(importance=0.5, surprise=1.0, valence=-0.5, confirmations=1, layer="semantic")
    importance = importance_of(memory, start + timedelta(days=30))
    shares = {factor.name: factor.share for factor in importance.factors}
    assert shares["base"] == pytest.approx(0.75 * 0.8)
    assert shares["recency"] == pytest.approx(0.10 * 0.8 * 0.5)  # one half-life
    assert shares["trust"] == pytest.approx(0.10 * 0.8)
    # B = −ln(2,592,000)/2 = −7.383939; 1 / (1 + e^2.383939) = 0.084380
    assert shares["activation"] == pytest.approx(0.05 * 0.8 * 0.084380, abs=1e-6)
    assert shares["frequency"] == shares["stability"] == 0.0
    assert shares["confirmations"] == pytest.approx(0.08 * 0.2 / 3)
    assert shares["valence"] == pytest.approx(0.04 * 0.2 * 0.5)
    assert shares["layer"] == pytest.approx(0.03 * 0.2)
    assert importance.value == pytest.approx(sum(shares.values()))


@pytest.mark.rule("002-importance")
def test_reading_the_importance_again_and_again_changes_nothing(a_memory, start):
    memory = a_memory(importance=0.6)
    assert {importance_of(memory, start).value for _ in range(100)} == {importance_of(memory, start).value}
    assert memory.importance == 0.6


@pytest.mark.rule("002-importance")
def test_semantic_memory_is_boosted_most():
    assert max(LAYER_BOOST, key=lambda layer: LAYER_BOOST[layer]) == "semantic"


@pytest.mark.rule("002-importance")
def test_recalls_on_five_days_are_steadier_than_a_burst_of_five(start):
    steady = [start + timedelta(days=day) for day in range(5)]
    burst = [start + timedelta(minutes=10 * step) for step in range(5)]
    assert spread(steady) == 1.0
    assert spread(burst) == 0.0
    assert spread(steady[:3]) == 0.5
    assert spread([]) == 0.0


@pytest.mark.rule("002-importance")
@pytest.mark.parametrize(
    ("accesses", "value"),
    [(0, 0.0), pytest.param(5, 0.588519, id="ln 6 / ln 21"), (20, 1.0), (1000, 1.0), (-1, 0.0)],
)
def test_frequency_grows_with_the_logarithm(accesses, value):
    assert frequency(accesses) == pytest.approx(value, abs=1e-6)


@pytest.mark.rule("002-trust")
def test_what_is_trusted_less_is_recent_for_a_shorter_time():
    assert recency(30, 1.0) == pytest.approx(0.5)
    assert recency(30, 0.5) == pytest.approx(0.125)


@PROVED
@given(
    base=st.floats(0, 1),
    more=st.floats(0, 1),
    trust=st.floats(0, 1),
    accesses=st.integers(0, 10_000),
    days=st.floats(0, 36_500),
)
def test_importance_is_bounded_and_grows_with_base_trust_and_accesses(
    a_memory, start, base, more, trust, accesses, days
):
    def value(**changes):
        fields = {"importance": base, "trust": trust * 0.9, "access_count": accesses} | changes
        return importance_of(a_memory(**fields), start + timedelta(days=days)).value

    here = value()
    assert 0.0 <= here <= 1.0
    assert value(importance=max(base, more)) >= here
    assert value(trust=max(trust * 0.9, more)) >= here
    assert value(access_count=accesses + 1) >= here - 1e-12
