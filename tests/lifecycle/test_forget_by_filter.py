from datetime import timedelta

import pytest

from reverie.lifecycle.rules import below_strength, older_than

NINETY_DAYS = timedelta(days=90)


@pytest.mark.rule("004-forget")
def test_forgetting_by_strength_takes_the_weak_and_leaves_the_strong(a_memory, start):
    now = start + timedelta(days=30)  # e^−4.5 · 0.5 = 0.0056
    assert below_strength(a_memory(), now, 0.05).rule == "below-strength"
    assert below_strength(a_memory(layer="semantic"), now, 0.05) is None
    assert below_strength(a_memory(), start, 0.05) is None


@pytest.mark.rule("004-forget")
def test_forgetting_by_age_takes_the_old_however_strong(a_memory, start):
    memory = a_memory(layer="semantic", importance=1.0, access_count=50)
    assert older_than(memory, start + NINETY_DAYS, NINETY_DAYS) is None
    verdict = older_than(memory, start + timedelta(days=91), NINETY_DAYS)
    assert verdict.reason == "it is older than 90 days"


@pytest.mark.rule("004-forget")
@pytest.mark.rule("002-pin")
@pytest.mark.parametrize("changes", [{"pinned": True}, {"status": "expired"}], ids=str)
def test_a_pin_holds_and_what_is_gone_is_not_taken_twice(a_memory, start, changes):
    now = start + timedelta(days=1000)
    assert below_strength(a_memory(**changes), now, 0.05) is None
    assert older_than(a_memory(**changes), now, NINETY_DAYS) is None
