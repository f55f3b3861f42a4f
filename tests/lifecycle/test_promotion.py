from datetime import timedelta

import pytest

from reverie.lifecycle.rules import becomes_core, becomes_semantic, due_expiry, due_move, leaves_working
from reverie.lifecycle.vitals import after_access, first_stability


def recalled_daily(memory, start, days):
    for day in range(1, days + 1):
        memory = after_access(memory, start + timedelta(days=day), f"s{day}")
    return memory


@pytest.mark.rule("002-layers")
@pytest.mark.parametrize(
    ("minutes", "accesses", "leaves"),
    [
        pytest.param(29, 1, False, id="neither"),
        pytest.param(30, 0, True, id="thirty minutes"),
        pytest.param(0, 2, True, id="two recalls"),
    ],
)
def test_working_memory_becomes_episodic_after_thirty_minutes_or_two_recalls(
    a_memory, start, minutes, accesses, leaves
):
    memory = a_memory(layer="working", access_count=accesses)
    move = leaves_working(memory, start + timedelta(minutes=minutes))
    assert (move is not None) is leaves
    assert not leaves or move.to == "episodic"


@pytest.mark.rule("002-promotion")
@pytest.mark.parametrize(
    ("importance", "accesses", "rises"),
    [
        pytest.param(0.8, 5, True, id="important and recalled five times"),
        pytest.param(0.8, 4, False, id="recalled four times"),
        pytest.param(0.4, 50, True, id="recalled day after day"),
        pytest.param(0.05, 50, False, id="often recalled but of no importance"),
    ],
)
def test_episodic_memory_becomes_semantic_by_importance_and_recalls(a_memory, start, importance, accesses, rises):
    memory = recalled_daily(a_memory(importance=importance), start, accesses)
    move = becomes_semantic(memory, start + timedelta(days=accesses))
    assert (move is not None) is rises
    assert not rises or move.to == "semantic"


@pytest.mark.rule("002-promotion")
def test_promotion_is_still_reachable_after_a_hundred_sweeps(a_memory, start):
    memory = a_memory(importance=0.8)
    for night in range(100):
        now = start + timedelta(days=night)
        assert due_expiry(memory, now, "huber") is None
        assert due_move(memory, now) is None
    for day in range(100, 105):
        memory = after_access(memory, start + timedelta(days=day), f"s{day}")
    assert due_move(memory, start + timedelta(days=105)).to == "semantic"


@pytest.mark.rule("002-promotion")
@pytest.mark.parametrize("status", ["challenged", "quarantined", "superseded", "expired"])
def test_only_what_stands_unchallenged_is_promoted(a_memory, start, status):
    memory = recalled_daily(a_memory(importance=0.9, status=status), start, 6)
    assert becomes_semantic(memory, start + timedelta(days=6)) is None


@pytest.mark.rule("001-core")
@pytest.mark.parametrize(
    ("changes", "core"),
    [
        pytest.param({}, True, id="ten recalls, 0.85, three sessions"),
        pytest.param({"access_count": 9}, False, id="nine recalls"),
        pytest.param({"stability": 0.849}, False, id="stability below 0.85"),
        pytest.param({"sessions": ("a", "b", "a")}, False, id="two sessions"),
        pytest.param({"core": True}, False, id="core already"),
        pytest.param({"status": "challenged"}, False, id="in doubt"),
    ],
)
def test_core_takes_ten_recalls_stability_and_three_sessions(a_memory, changes, core):
    fields = {"access_count": 10, "stability": 0.85, "sessions": ("a", "b", "c")} | changes
    assert becomes_core(a_memory(**fields)) is core


@pytest.mark.rule("001-core")
def test_ten_days_of_recall_make_a_memory_core_and_ten_minutes_do_not(a_memory, start):
    memory = a_memory(stability=first_stability(0.5))
    assert becomes_core(recalled_daily(memory, start, 10))
    for minute in range(10):
        memory = after_access(memory, start + timedelta(minutes=minute), f"s{minute}")
    assert not becomes_core(memory)
