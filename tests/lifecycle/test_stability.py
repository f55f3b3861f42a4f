import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reverie.lifecycle.vitals import MAX_STABILITY, MIN_STABILITY, first_stability, grown

PROVED = settings(derandomize=True, deadline=None, database=None)
stabilities = st.floats(MIN_STABILITY, MAX_STABILITY)
gaps = st.floats(0.0, 1e6)

HOUR = 1 / 24


def after(gaps_in_days, stability=0.25):
    for gap in gaps_in_days:
        stability = grown(stability, gap)
    return stability


@pytest.mark.rule("001-exponential")
@pytest.mark.parametrize(
    ("importance", "stability"),
    [(0.0, 0.1), pytest.param(0.5, 0.25, id="0.1 + 0.3 · 0.5"), (1.0, 0.4), (7.0, 0.4)],
)
def test_stability_starts_low_and_with_importance(importance, stability):
    assert first_stability(importance) == pytest.approx(stability)


@pytest.mark.rule("001-stability-growth")
@pytest.mark.parametrize(
    ("gap", "stability"),
    [
        pytest.param(0.0, 0.25, id="the same moment adds nothing"),
        pytest.param(1.0, 0.3625, id="a day: 0.25 + 0.75 · 0.3 · 1/2"),
        pytest.param(3.0, 0.41875, id="three days: 0.25 + 0.75 · 0.3 · 3/4"),
        pytest.param(-2.0, 0.25, id="clock set back"),
    ],
)
def test_a_recall_adds_a_share_of_what_is_missing(gap, stability):
    assert grown(0.25, gap) == pytest.approx(stability)


@pytest.mark.rule("001-stability-growth")
def test_five_recalls_on_five_days_leave_more_than_five_in_one_hour():
    assert after([1.0] * 5) > after([HOUR / 5] * 5) + 0.3


@pytest.mark.rule("001-stability-growth")
def test_a_year_of_daily_recall_leaves_more_than_a_year_of_monthly_recall():
    assert after([1.0] * 360) > after([30.0] * 12)
    assert after([1.0] * 30) > after([30.0])


@pytest.mark.rule("001-stability-growth")
@PROVED
@given(stabilities, gaps, gaps)
def test_a_longer_gap_never_adds_less(stability, one, other):
    shorter, longer = sorted((one, other))
    assert grown(stability, shorter) <= grown(stability, longer)


@pytest.mark.rule("001-stability-growth")
@PROVED
@given(stabilities, stabilities, gaps)
def test_the_nearer_to_one_the_less_a_recall_adds(one, other, gap):
    low, high = sorted((one, other))
    assert grown(high, gap) - high <= grown(low, gap) - low + 1e-12


@PROVED
@given(st.floats(allow_nan=True, allow_infinity=True), st.lists(gaps, max_size=20))
def test_stability_stays_in_bounds_whatever_it_started_from(stability, pauses):
    assert MIN_STABILITY <= after([0.0, *pauses], stability) <= MAX_STABILITY
