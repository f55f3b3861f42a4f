from datetime import timedelta

import pytest

from reverie.lifecycle.rules import archived, low_value

FADED = {"importance": 0.2, "source": "ai", "trust": 0.7}
EXEMPT = [
    {"pinned": True},
    {"core": True},
    {"layer": "semantic"},
    {"layer": "procedural"},
    {"layer": "codebase"},
    {"kind": "decision"},
    {"tier": "permanent"},
    {"status": "expired"},
    {"status": "superseded"},
]


@pytest.mark.rule("002-archive")
def test_old_faded_unimportant_and_hardly_recalled_is_archived(a_memory, start):
    verdict = archived(a_memory(**FADED), start + timedelta(days=91), "huber")
    assert verdict.rule == "archived"
    assert "older than 90 days" in verdict.reason


@pytest.mark.rule("002-archive")
@pytest.mark.parametrize(
    ("days", "changes"),
    [
        pytest.param(90, {}, id="ninety days, not more"),
        pytest.param(91, {"importance": 0.4}, id="importance 0.3 or more"),
        pytest.param(91, {"access_count": 3}, id="three recalls"),
        pytest.param(91, {"trust": 1.0}, id="a human's word still holds 0.3 under huber"),
    ],
)
def test_each_of_the_four_conditions_alone_saves_a_memory(a_memory, start, days, changes):
    assert archived(a_memory(**(FADED | changes)), start + timedelta(days=days), "huber") is None


@pytest.mark.rule("002-archive")
def test_the_curve_decides_how_long_a_humans_word_holds(a_memory, start):
    memory = a_memory(importance=0.2)
    assert archived(memory, start + timedelta(days=91), "l2").rule == "archived"  # 2^−3.03 = 0.12
    assert archived(memory, start + timedelta(days=135), "huber") is None  # 0.1 · (6 − 4.5) = 0.15
    assert archived(memory, start + timedelta(days=136), "huber").rule == "archived"


@pytest.mark.rule("002-archive")
@pytest.mark.rule("002-pin")
@pytest.mark.parametrize("held", EXEMPT, ids=str)
@pytest.mark.parametrize("mode", ["huber", "exponential", "power", "strength"])
def test_what_is_exempt_is_never_archived_under_any_curve(a_memory, start, held, mode):
    assert archived(a_memory(**(FADED | held)), start + timedelta(days=9000), mode) is None


@pytest.mark.rule("003-low-value")
@pytest.mark.parametrize(
    ("importance", "days", "goes"),
    [
        pytest.param(0.2, 181, True, id="2 of 10, half a year"),
        pytest.param(0.2, 180, False, id="180 days, not more"),
        pytest.param(0.21, 400, False, id="a little more than 2 of 10"),
    ],
)
def test_what_was_hardly_worth_keeping_goes_after_half_a_year(a_memory, start, importance, days, goes):
    verdict = low_value(a_memory(importance=importance), start + timedelta(days=days))
    assert (verdict is not None) is goes
    assert not goes or verdict.rule == "low-value"


@pytest.mark.rule("003-low-value")
def test_what_was_used_lately_is_not_of_low_value(a_memory, start):
    memory = a_memory(importance=0.1, last_accessed_at=start + timedelta(days=300), access_count=9)
    assert low_value(memory, start + timedelta(days=400)) is None


@pytest.mark.rule("003-low-value")
@pytest.mark.rule("002-pin")
@pytest.mark.parametrize("held", EXEMPT, ids=str)
def test_what_is_exempt_is_never_of_low_value(a_memory, start, held):
    assert low_value(a_memory(**(FADED | held)), start + timedelta(days=9000)) is None
