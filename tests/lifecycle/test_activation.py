import math
import warnings
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reverie.lifecycle.vitals import activation_of, after_access, base_level, older_uses, retrieval_probability

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # pyactup's dependencies, not our code
    import pyactup

PROVED = settings(derandomize=True, deadline=None, database=None)
DAY = 86_400


@pytest.mark.rule("004-actr")
@pytest.mark.parametrize(
    ("ages", "activation"),
    [
        pytest.param([10], -1.151293, id="once, 10 s ago: −ln(10)/2"),
        pytest.param([10_800, 7_200, 3_600], -3.268216, id="three hours, two, one"),
        pytest.param([1000, 999, 998, 997, 996], -1.843438, id="five in a row, 996 to 1000 s ago"),
        pytest.param([3 * DAY, 2 * DAY, DAY], -4.857243, id="three days, two, one"),
    ],
)
def test_base_level_activation_has_the_oracle_values(ages, activation):
    assert base_level(ages) == pytest.approx(activation, abs=5e-7)


def of_pyactup(ages, now=None, optimized_learning=False):
    """What another implementation of ACT-R says for uses so many seconds ago."""
    memory = pyactup.Memory(noise=0, decay=0.5, temperature=1, optimized_learning=optimized_learning)
    now = now or max(ages) + 1
    for age in sorted(ages, reverse=True):
        memory.advance(now - age - memory.time)
        memory.learn({"what": "it"}, advance=0)
    memory.advance(now - memory.time)
    memory.activation_history = []
    memory.retrieve({"what": "it"})
    return memory.activation_history[0]["base_level_activation"]


@pytest.mark.rule("004-actr")
@pytest.mark.parametrize(
    "ages",
    [[10], [10_800, 7_200, 3_600], [1000, 999, 998, 997, 996], [3 * DAY, 2 * DAY, DAY], [1, 10, 100, 10_000]],
    ids=str,
)
def test_base_level_activation_agrees_with_pyactup(ages):
    assert base_level(ages) == pytest.approx(of_pyactup(ages), abs=1e-9)


@pytest.mark.rule("004-actr")
@PROVED
@given(st.lists(st.integers(1, 10**8), min_size=1, max_size=12, unique=True))
def test_base_level_activation_agrees_with_pyactup_anywhere(ages):
    assert base_level(ages) == pytest.approx(of_pyactup(ages), abs=1e-9)


@pytest.mark.rule("004-actr")
def test_the_closed_form_agrees_with_pyactups_hybrid():
    # pyactup 2.2.5 takes the clock reading of the oldest kept use where the formula wants its age;
    # at 1600 on the clock both are 800, and the two can be compared.
    ages = [100 * k for k in range(1, 15)]
    kept = ages[:8]
    ours = base_level(kept, older_uses(len(ages) - len(kept), kept[-1], ages[-1]))
    assert ours == pytest.approx(of_pyactup(ages, now=1600, optimized_learning=8), abs=1e-9)
    assert ours == pytest.approx(base_level(ages), abs=0.01)


@pytest.mark.rule("004-actr")
def test_the_closed_form_is_near_the_exact_sum_for_steady_use(a_memory, start):
    memory, exact = a_memory(), []
    now = start + timedelta(days=200)
    for day in range(1, 200):
        at = start + timedelta(days=day)
        memory = after_access(memory, at, "s")
        exact.append((now - at).total_seconds())
    assert len(memory.access_times) < memory.access_count
    assert activation_of(memory, now) == pytest.approx(base_level([200 * DAY, *exact]), abs=0.01)


def test_older_uses_at_one_age_are_counted_at_that_age():
    assert older_uses(4, 100.0, 100.0) == pytest.approx(4 / 10)
    assert older_uses(4, 100.0, 100.0 + 1e-6) == pytest.approx(4 / 10)


def test_writing_a_memory_is_its_first_use(a_memory, start):
    assert activation_of(a_memory(), start + timedelta(seconds=10)) == pytest.approx(-1.151293, abs=5e-7)


def test_recalls_whose_times_were_not_kept_still_count(a_memory, start):
    now = start + timedelta(days=10)
    counted = a_memory(access_count=5, last_accessed_at=start + timedelta(days=9))
    assert activation_of(counted, now) > activation_of(a_memory(), now)


def test_a_memory_never_used_has_no_activation():
    assert base_level([]) == -math.inf
    assert retrieval_probability(-math.inf) == 0.0


@PROVED
@given(st.lists(st.floats(0, 3.2e13), min_size=1, max_size=32), st.integers(0, 10**6))
def test_activation_is_finite_for_a_moment_and_a_million_years(ages, forgotten):
    activation = base_level(ages, older_uses(forgotten, max(ages), 3.2e13))
    assert math.isfinite(activation)
    assert 0.0 <= retrieval_probability(activation) <= 1.0


def test_half_the_time_at_the_threshold():
    assert retrieval_probability(-5.0) == 0.5
