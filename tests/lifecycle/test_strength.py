import math
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reverie.lifecycle.vitals import age_factor, bounded, strength_of, strength_word

PROVED = settings(derandomize=True, deadline=None, database=None)


@pytest.mark.rule("004-strength")
@pytest.mark.parametrize(
    ("layer", "days", "factor"),
    [
        pytest.param("episodic", 1, 0.861, id="episodic, a day: e^−0.15"),
        pytest.param("episodic", 7, 0.350, id="episodic, a week: e^−1.05"),
        pytest.param("episodic", 30, 0.011, id="episodic, a month: e^−4.5"),
        pytest.param("semantic", 30, 0.549, id="semantic, a month: e^−0.6"),
        pytest.param("procedural", 30, 0.741, id="procedural, a month: e^−0.3"),
        pytest.param("working", 10, 0.368, id="any other, ten days: e^−1"),
        pytest.param("codebase", 3650, 1.0, id="code on disk does not fade"),
        pytest.param("episodic", -5, 1.0, id="clock set back"),
    ],
)
def test_each_layer_fades_at_its_own_rate(layer, days, factor):
    assert age_factor(layer, days) == pytest.approx(factor, abs=5e-4)


@pytest.mark.rule("004-strength")
@pytest.mark.parametrize(
    ("layer", "days", "accesses", "strength"),
    [
        pytest.param("semantic", 0, 0, 0.760, id="day 0: 0.8 · 0.95"),
        pytest.param("semantic", 7, 2, 1.387, id="day 7, two recalls: e^−0.14 · (1 + ln 3) · 0.76"),
        pytest.param("semantic", 30, 5, 1.164, id="day 30, five: e^−0.6 · (1 + ln 6) · 0.76"),
        pytest.param("episodic", 30, 5, 0.024, id="the same as an event: e^−4.5 · (1 + ln 6) · 0.76"),
    ],
)
def test_strength_follows_the_worked_example(a_memory, start, layer, days, accesses, strength):
    memory = a_memory(layer=layer, importance=0.8, confidence=0.95, access_count=accesses)
    assert strength_of(memory, start + timedelta(days=days)) == pytest.approx(strength, abs=5e-4)


@pytest.mark.rule("004-strength")
def test_salience_is_the_importance_moved_by_surprise_and_age_counts_from_the_writing(a_memory, start):
    memory = a_memory(importance=0.5, surprise=1.0, last_accessed_at=start + timedelta(days=7), access_count=1)
    expected = math.exp(-0.15 * 7) * (1 + math.log(2)) * 0.8
    assert strength_of(memory, start + timedelta(days=7)) == pytest.approx(expected)


@pytest.mark.rule("004-multiply")
@pytest.mark.parametrize("zero", [{"importance": 0.0}, {"confidence": 0.0}], ids=str)
def test_any_factor_at_zero_makes_strength_zero(a_memory, start, zero):
    assert strength_of(a_memory(access_count=50, **zero), start) == 0.0


@pytest.mark.rule("004-rank")
@pytest.mark.parametrize(
    ("raw", "within"), [(0.0, 0.0), (1.0, 0.5), pytest.param(1.387, 0.581, id="1.387 / 2.387"), (3.0, 0.75)]
)
def test_ranking_uses_a_bounded_form(raw, within):
    assert bounded(raw) == pytest.approx(within, abs=5e-4)


@pytest.mark.rule("004-rank")
@PROVED
@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_the_bounded_form_keeps_the_order_and_stays_below_one(one, other):
    assert (bounded(one) <= bounded(other)) or one > other
    assert 0.0 <= bounded(one) < 1.0


@pytest.mark.rule("004-rank")
@pytest.mark.parametrize(
    ("raw", "word"),
    [
        (1.4, "strong"),
        (0.7, "strong"),
        (0.69, "moderate"),
        (0.2, "moderate"),
        (0.19, "faint"),
        (0.0, "faint"),
    ],
)
def test_strength_is_also_said_in_a_word(raw, word):
    assert strength_word(raw) == word
