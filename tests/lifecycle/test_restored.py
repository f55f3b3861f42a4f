from datetime import timedelta

import pytest

from reverie.lifecycle.rules import as_restored, due_expiry
from reverie.settings import RETENTION_MODES
from tests.tables import for_each


@for_each("mode", RETENTION_MODES)
@for_each("days", [1, 100, 200, 1500])
@for_each("tier", [None, "goldfish", "standard", "elephant", "permanent"])
def test_no_rule_expires_what_was_just_restored(a_memory, start, mode, days, tier):
    now = start + timedelta(days=days)
    gone = a_memory(importance=0.1, tier=tier, status="expired", forget_after=start + timedelta(hours=1))
    back = as_restored(gone, now, "s1", mode)
    assert back.status == "active"
    assert due_expiry(back, now, mode) is None


def test_a_restore_is_a_recall_and_clears_what_ended_the_memory(a_memory, start):
    now = start + timedelta(days=100)
    gone = a_memory(
        importance=0.1, status="superseded", status_reason="x", expired_at=now, superseded_by="m2", stability=0.25
    )
    back = as_restored(gone, now, "s1", "huber")
    assert (back.status_reason, back.expired_at, back.superseded_by) == (None, None, None)
    assert (back.access_count, back.last_accessed_at, back.sessions) == (1, now, ("s1",))
    assert back.tier is None


def test_after_three_years_without_a_tier_only_permanent_holds(a_memory, start):
    gone = a_memory(status="expired", importance=0.9)
    assert as_restored(gone, start + timedelta(days=1200), "s1", "huber").tier == "permanent"


@pytest.mark.parametrize("mode", ["strength", "lifespan"])
def test_a_curve_that_counts_from_the_writing_needs_a_longer_tier(a_memory, start, mode):
    gone = a_memory(status="expired", importance=0.1, tier="elephant")
    assert as_restored(gone, start + timedelta(days=100), "s1", mode).tier == "permanent"
