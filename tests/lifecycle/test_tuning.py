import random
from dataclasses import replace

import pytest

from reverie.lifecycle.curves import CURVES, Trace
from reverie.lifecycle.tuning import FITTED, Gap, fit
from reverie.parameters import STANDARD, Parameters

A_DAY = 0.25  # what a simulated user asks for while a memory is fresh


def simulated(mode, parameters, *, memories, days, layer="episodic", seed=1):
    """Return the gaps of a user who needs each memory as its curve says."""
    dice = random.Random(seed)  # noqa: S311
    gaps = []
    for _ in range(memories):
        trust, age, recalls = dice.choice([1.0, 0.7, 0.5]), 0.0, 0
        while age < days:
            trace = Trace(layer=layer, age_days=age, idle_days=0.0, trust=trust, accesses=recalls)
            idle, recalled = 0.0, False
            while not recalled and age + idle < days:
                idle += dice.expovariate(A_DAY)
                seen = replace(trace, idle_days=idle, age_days=age + idle, parameters=parameters)
                recalled = age + idle < days and dice.random() < CURVES[mode](seen)
            gaps.append(Gap(trace, min(idle, days - age), recalled))
            age, recalls = age + idle, recalls + 1
    return gaps


@pytest.mark.parametrize(
    ("mode", "parameter", "true", "layer"),
    [
        pytest.param("huber", "half_life_days", 8.0, "episodic", marks=pytest.mark.slow),
        pytest.param("l2", "half_life_days", 60.0, "episodic", marks=pytest.mark.slow),
        ("exponential", "episodic_days", 12.0, "episodic"),
        pytest.param("power", "semantic_days", 30.0, "semantic", marks=pytest.mark.slow),
        ("strength", "episodic_decay", 0.4, "episodic"),
    ],
)
def test_the_rate_of_a_simulated_user_is_found_again(mode, parameter, true, layer):
    parameters = replace(STANDARD, **{parameter: true})
    gaps = simulated(mode, parameters, memories=40, days=120, layer=layer)
    found = fit(gaps, mode, parameter, STANDARD)
    assert found.low <= true <= found.high
    assert found.fitted == pytest.approx(true, rel=0.5)
    assert found.recalls == sum(gap.recalled for gap in gaps)


def test_a_handful_of_recalls_is_called_unsure_and_none_gives_nothing():
    gaps = simulated("huber", STANDARD, memories=2, days=20)
    assert not fit(gaps, "huber", "half_life_days", STANDARD).is_sure
    silent = [replace(gap, recalled=False) for gap in gaps]
    assert fit(silent, "huber", "half_life_days", STANDARD) is None


def test_what_never_fades_tells_nothing_about_a_half_life():
    lasting = Gap(Trace(age_days=0.0, idle_days=0.0, lasting=True), 3.0, recalled=True)
    assert fit([lasting], "huber", "half_life_days", STANDARD) is None


def test_every_rate_that_is_fitted_is_a_parameter():
    names = {name for rates in FITTED.values() for name in rates}
    assert names <= {*Parameters.__dataclass_fields__}
