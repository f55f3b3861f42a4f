import math
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reverie.lifecycle.curves import (
    CURVES,
    HUBER_KNEE,
    Trace,
    elastic,
    exponential,
    frequency_boost,
    huber,
    importance_boost,
    l2,
    lifespan,
    power,
    rate_days,
    reinforcement,
    strength,
)
from reverie.memory import LAYERS, TIERS
from reverie.settings import RETENTION_MODES

PROVED = settings(derandomize=True, deadline=None, database=None, max_examples=50)
MILLION_YEARS = 365.25e6
SECOND = 1 / 86_400

days = st.floats(0, MILLION_YEARS)
shares = st.floats(0, 1)
traces = st.builds(
    Trace,
    layer=st.sampled_from(LAYERS),
    age_days=days,
    idle_days=days,
    importance=shares,
    trust=shares,
    stability=shares,
    accesses=st.integers(0, 10**6),
    core=st.booleans(),
    lasting=st.booleans(),
    tier=st.none() | st.sampled_from(TIERS),
)
every_curve = pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES.keys())


def at(days_gone, trace=None, **changes):
    fields = {"age_days": days_gone, "idle_days": days_gone} | changes
    return Trace(**fields) if trace is None else replace(trace, **fields)


def half_lives(count, **changes):
    """A human's memory so many half-lives after it was last touched."""
    return at(30.0 * count, **changes)


@pytest.mark.rule("002-retention")
def test_there_is_one_curve_for_every_mode():
    assert set(CURVES) == set(RETENTION_MODES)


@every_curve
@PROVED
@given(traces)
def test_a_fresh_memory_is_whole(curve, trace):
    assert curve(at(0.0, trace)) == 1.0


@every_curve
@PROVED
@given(traces, days, days)
def test_retention_never_rises_with_time(curve, trace, one, other):
    sooner, later = sorted((one, other))
    assert curve(at(later, trace)) <= curve(at(sooner, trace))


@every_curve
@PROVED
@given(traces)
def test_retention_is_a_number_from_zero_to_one(curve, trace):
    left = curve(trace)
    assert math.isfinite(left)
    assert 0.0 <= left <= 1.0


@every_curve
@PROVED
@given(traces, st.floats(0, 36_500))
def test_a_second_never_makes_a_leap(curve, trace, gone):
    # The steepest start is power's at the least rate of 0.45 days: γ / 38,880 goes in the first second.
    assert abs(curve(at(gone, trace)) - curve(at(gone + SECOND, trace))) <= 1 / 26_900


@every_curve
@PROVED
@given(traces, shares)
def test_more_importance_never_keeps_less(curve, trace, more):
    assume(more >= trace.importance)
    assert curve(replace(trace, importance=more)) >= curve(trace) - 1e-12


@every_curve
@PROVED
@given(traces, shares)
def test_more_trust_never_keeps_less(curve, trace, more):
    assume(more >= trace.trust)
    assert curve(replace(trace, trust=more)) >= curve(trace)


@every_curve
@PROVED
@given(traces, st.integers(0, 100))
def test_more_recalls_never_keep_less(curve, trace, more):
    assert curve(replace(trace, accesses=trace.accesses + more)) >= curve(trace)


@every_curve
@PROVED
@given(traces, shares)
def test_more_stability_never_keeps_less(curve, trace, more):
    assume(more >= trace.stability)
    assert curve(replace(trace, stability=more)) >= curve(trace)


@every_curve
def test_a_clock_set_back_counts_as_fresh(curve):
    assert curve(at(-5.0)) == 1.0


@pytest.mark.rule("002-retention")
@pytest.mark.parametrize(("count", "left"), [(0, 1.0), (1, 0.5), (2, 0.25), pytest.param(3.5, 0.088388, id="2^−3.5")])
def test_l2_halves_with_every_half_life(count, left):
    assert l2(half_lives(count)) == pytest.approx(left, abs=1e-6)


@pytest.mark.rule("002-retention")
@pytest.mark.parametrize(
    ("count", "left"),
    [
        pytest.param(0.5, 0.707107, id="before the knee as l2"),
        pytest.param(1.0, 0.5, id="at the knee a half"),
        pytest.param(2.0, 0.4, id="0.1 · (6 − 2)"),
        pytest.param(5.0, 0.1, id="0.1 · (6 − 5), where l2 has 0.03"),
        pytest.param(6.0, 0.0, id="the end of the line"),
        pytest.param(9.0, 0.0, id="beyond it"),
    ],
)
def test_huber_turns_straight_after_the_knee(count, left):
    assert huber(half_lives(count)) == pytest.approx(left, abs=1e-6)


@pytest.mark.rule("002-retention")
@PROVED
@given(st.floats(0, HUBER_KNEE))
def test_huber_is_l2_up_to_the_knee(count):
    assert huber(half_lives(count)) == l2(half_lives(count))


@pytest.mark.rule("002-retention")
@PROVED
@given(st.floats(HUBER_KNEE, 5.0), st.integers(0, 100))
def test_huber_is_at_or_above_l2_from_the_knee_to_five_half_lives(count, accesses):
    trace = half_lives(count, accesses=accesses)
    assert huber(trace) >= l2(trace)


@pytest.mark.rule("002-retention")
@PROVED
@given(st.floats(HUBER_KNEE, 6.0), st.floats(HUBER_KNEE, 6.0))
def test_huber_is_linear_after_the_knee(one, other):
    middle = huber(half_lives((one + other) / 2))
    assert middle == pytest.approx((huber(half_lives(one)) + huber(half_lives(other))) / 2, abs=1e-9)


@pytest.mark.rule("002-retention")
def test_huber_does_not_repeat_the_mistake_of_the_tangent():
    # Continued by its own tangent, l2 would be gone at 1.94 half-lives, where it still holds 0.26.
    assert huber(half_lives(1.94)) == pytest.approx(0.406)
    assert l2(half_lives(1.94)) == pytest.approx(0.2606, abs=1e-4)


@pytest.mark.rule("002-retention")
@pytest.mark.parametrize(
    ("importance", "left"),
    [
        pytest.param(0.0, 0.5, id="held by nothing: 1 − 1/2"),
        pytest.param(0.5, 0.670448, id="half and half: 0.5·0.5 + 0.5·2^−1/4"),
        pytest.param(1.0, 0.890899, id="held fast: 2^−1/6"),
    ],
)
def test_elastic_mixes_a_line_with_a_stretched_halving(importance, left):
    assert elastic(half_lives(0.5, importance=importance)) == pytest.approx(left, abs=1e-6)


@pytest.mark.rule("002-retention")
@PROVED
@given(st.floats(0.01, 20))
def test_elastic_lets_the_weak_fade_faster_and_the_strongly_held_stay(count):
    weak, strong = half_lives(count, importance=0.1), half_lives(count, importance=0.9)
    assert elastic(weak) < l2(weak) or l2(weak) < 0.01
    assert elastic(strong) > l2(strong)


@pytest.mark.rule("002-retention")
@pytest.mark.parametrize(
    ("accesses", "added"),
    [(0, 0.0), pytest.param(5, 0.089588, id="0.05 · ln 6"), pytest.param(500, 0.3, id="at most 0.3")],
)
@pytest.mark.parametrize("curve", [l2, huber, elastic])
def test_recalls_reinforce_the_half_life_curves(curve, accesses, added):
    assert reinforcement(accesses) == pytest.approx(added, abs=1e-6)
    assert curve(half_lives(2, accesses=accesses)) == pytest.approx(curve(half_lives(2)) + added, abs=1e-6)
    assert curve(half_lives(0, accesses=accesses)) == 1.0


@pytest.mark.rule("002-layers")
@pytest.mark.parametrize("curve", [l2, huber, elastic])
def test_what_lasts_and_what_is_being_worked_on_has_no_half_life(curve):
    assert curve(at(1000.0, layer="semantic", lasting=True)) == 1.0
    assert curve(at(1000.0, layer="working")) == 1.0
    assert curve(at(1000.0, layer="episodic")) < 0.1


@pytest.mark.rule("001-exponential")
@pytest.mark.parametrize(
    ("gone", "core", "left"),
    [
        pytest.param(30, False, 0.707, id="e^−(30/86.4)"),
        pytest.param(180, False, 0.1245, id="e^−(180/86.4)"),
        pytest.param(180, True, 0.60, id="the same as core"),
        pytest.param(5000, False, 0.02, id="the floor"),
    ],
)
def test_exponential_follows_the_worked_example(gone, core, left):
    trace = at(float(gone), layer="semantic", stability=0.3, importance=0.7, core=core)
    assert rate_days(trace) == pytest.approx(86.4)
    assert exponential(trace) == pytest.approx(left, abs=5e-4)


@pytest.mark.rule("001-exponential")
@pytest.mark.parametrize(
    ("layer", "core", "days_per_unit"),
    [
        ("episodic", False, 45.0),
        ("semantic", False, 120.0),
        ("episodic", True, 120.0),
        ("procedural", False, math.inf),
        ("procedural", True, math.inf),
        ("codebase", False, math.inf),
    ],
)
def test_each_layer_has_its_base_rate(layer, core, days_per_unit):
    assert rate_days(at(0.0, layer=layer, core=core, stability=1.0, importance=0.0)) == days_per_unit


@pytest.mark.rule("001-exponential")
@pytest.mark.parametrize(
    ("importance", "boost"), [(0.0, 1.0), (0.25, 1.5), (0.5, 2.0), (0.75, 2.5), (1.0, 3.0), (9.0, 3.0)]
)
def test_importance_boosts_up_to_threefold(importance, boost):
    assert importance_boost(importance) == boost


@pytest.mark.rule("001-frequency")
@pytest.mark.parametrize(
    ("accesses", "boost"),
    [(0, 1.0), pytest.param(9, 1.230259, id="1 + 0.1·ln 10"), pytest.param(10**6, 2.0, id="at most 2")],
)
def test_frequent_recall_slows_the_rate(accesses, boost):
    assert frequency_boost(accesses) == pytest.approx(boost, abs=1e-6)
    trace = at(30.0, layer="semantic", stability=0.3, importance=0.7, accesses=accesses)
    assert rate_days(trace) == pytest.approx(86.4 * boost, abs=1e-4)


@pytest.mark.rule("001-power")
@pytest.mark.parametrize(
    ("gone", "by_power", "by_exponential"),
    [
        pytest.param(30, 0.605, 0.659, id="30 days; the seed's table says 0.672"),
        pytest.param(90, 0.310, 0.287, id="90 days; the seed's table says 0.410"),
        pytest.param(180, 0.164, 0.082, id="180 days; the seed's table says 0.253"),
        pytest.param(365, 0.074, 0.02, id="365 days; the seed's table says 0.146"),
    ],
)
def test_power_follows_the_formula_not_the_seeds_table(gone, by_power, by_exponential):
    trace = at(float(gone), layer="semantic", stability=0.3, importance=0.5)
    assert rate_days(trace) == pytest.approx(72.0)
    assert power(trace) == pytest.approx(by_power, abs=5e-4)
    assert exponential(trace) == pytest.approx(by_exponential, abs=5e-4)


@pytest.mark.rule("001-exponential")
def test_without_the_floor_a_year_would_leave_six_thousandths():
    assert math.exp(-365 / 72) == pytest.approx(0.006, abs=5e-4)


@pytest.mark.rule("000-effective-age")
@pytest.mark.parametrize(
    ("years", "accesses", "left"),
    [
        pytest.param(1.5, 0, 0.5, id="half of three years"),
        pytest.param(2.5, 3, 0.766667, id="2.5 − 1.8 years: 1 − 22,075,200 / 94,608,000"),
        pytest.param(2.5, 0, 0.166667, id="2.5 of 3 years"),
        pytest.param(3.1, 0, 0.0, id="outlived"),
        pytest.param(5.9, 5, 0.033333, id="five recalls: six years, not for ever"),
    ],
)
def test_lifespan_runs_down_evenly(years, accesses, left):
    assert lifespan(at(365.0 * years, accesses=accesses)) == pytest.approx(left, abs=1e-6)


@pytest.mark.rule("000-tiers")
def test_a_tier_sets_the_lifespan():
    assert lifespan(at(45.0, tier="elephant")) == pytest.approx(0.5)
    assert lifespan(at(3.5, tier="standard")) == pytest.approx(0.5)
    assert lifespan(at(1 / 6, tier="goldfish")) == pytest.approx(0.5)
    assert lifespan(at(1e6, tier="permanent")) == 1.0


@pytest.mark.rule("004-strength")
@pytest.mark.parametrize(
    ("gone", "accesses", "left"),
    [
        pytest.param(1, 0, 0.861, id="e^−0.15"),
        pytest.param(7, 0, 0.350, id="e^−1.05"),
        pytest.param(30, 0, 0.011, id="e^−4.5"),
        pytest.param(7, 2, 0.734, id="e^−1.05 · (1 + ln 3)"),
        pytest.param(1, 9, 1.0, id="never more than whole"),
    ],
)
def test_strength_as_a_curve_is_measured_against_itself_when_fresh(gone, accesses, left):
    assert strength(at(float(gone), accesses=accesses)) == pytest.approx(left, abs=5e-4)
