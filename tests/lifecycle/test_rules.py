from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reverie.lifecycle.rules import after_moves, becomes_core, due_expiry, due_move
from reverie.memory import KINDS, LAYERS, STATUSES, TIERS
from reverie.settings import RETENTION_MODES

PROVED = settings(derandomize=True, deadline=None, database=None, max_examples=200)
modes = st.sampled_from(RETENTION_MODES)
changes = st.fixed_dictionaries(
    {
        "layer": st.sampled_from(LAYERS),
        "kind": st.sampled_from(KINDS),
        "status": st.sampled_from(STATUSES),
        "importance": st.floats(0, 1),
        "surprise": st.none() | st.floats(0, 1),
        "trust": st.floats(0, 1),
        "stability": st.floats(0, 1),
        "access_count": st.integers(0, 40),
        "sessions": st.sampled_from([(), ("a",), ("a", "b", "c")]),
        "tier": st.none() | st.sampled_from(TIERS),
        "core": st.booleans(),
    }
)
days = st.floats(0, 3000)


def swept(memory, now, mode):
    """What a sweep makes of a memory."""
    verdict = due_expiry(memory, now, mode)
    if verdict is not None:
        return replace(memory, status="expired", status_reason=verdict.rule, expired_at=now)
    move = due_move(memory, now)
    moved = memory if move is None else replace(memory, layer=move.to)
    return replace(moved, core=moved.core or becomes_core(moved))


@PROVED
@given(changes, days, modes)
def test_a_second_sweep_at_the_same_moment_changes_nothing_more(a_memory, start, fields, age, mode):
    now = start + timedelta(days=age)
    once = swept(a_memory(**fields), now, mode)
    assert swept(once, now, mode) == once


@pytest.mark.rule("002-pin")
@PROVED
@given(changes, days, modes)
def test_nothing_pinned_ever_expires(a_memory, start, fields, age, mode):
    memory = a_memory(**fields, pinned=True, forget_after=start)
    assert due_expiry(memory, start + timedelta(days=age), mode) is None


@pytest.mark.rule("000-decays-or-not")
@PROVED
@given(changes, days, modes)
def test_nothing_semantic_or_procedural_expires_without_a_deadline(a_memory, start, fields, age, mode):
    for layer in ("semantic", "procedural"):
        memory = a_memory(**(fields | {"layer": layer}))
        assert due_expiry(memory, start + timedelta(days=age), mode) is None


@PROVED
@given(changes, days, days, modes)
def test_a_rule_that_holds_goes_on_holding(a_memory, start, fields, one, other, mode):
    sooner, later = sorted((one, other))
    memory = after_moves(a_memory(**fields), start)
    if due_expiry(memory, start + timedelta(days=sooner), mode) is not None:
        assert due_expiry(memory, start + timedelta(days=later), mode) is not None


def test_a_working_memory_found_late_goes_all_the_way_at_once(a_memory, start):
    memory = a_memory(layer="working", importance=0.9, access_count=6)
    assert due_move(memory, start + timedelta(hours=1)).to == "semantic"


def test_a_working_memory_found_after_months_is_judged_as_the_event_it_became(a_memory, start):
    memory = a_memory(layer="working", importance=0.1, trust=0.5)
    assert due_expiry(memory, start + timedelta(days=100), "huber").rule == "archived"


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        pytest.param({"tier": "goldfish"}, "ttl-expired", id="the deadline first"),
        pytest.param({"tier": "goldfish", "forget_after": None}, "tier-expired", id="then the tier"),
        pytest.param({"forget_after": None}, "archived", id="then the archive"),
        pytest.param({"forget_after": None, "access_count": 4}, "low-value", id="then the worth"),
    ],
)
def test_the_rules_come_in_order(a_memory, start, fields, rule):
    memory = a_memory(**({"importance": 0.1, "forget_after": start} | fields))
    assert due_expiry(memory, start + timedelta(days=400), "huber").rule == rule
