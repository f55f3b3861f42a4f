from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reverie.lifecycle.outlook import ending_of, outlook_of
from reverie.lifecycle.rules import due_expiry
from reverie.settings import RETENTION_MODES

PROVED = settings(derandomize=True, deadline=None, database=None, max_examples=40)
FADING = {"importance": 0.2, "trust": 0.7}


@pytest.mark.rule("002-retention")
def test_retention_is_shown_now_and_at_three_moments_to_come(a_memory, start):
    outlook = outlook_of(a_memory(), start, "huber")
    assert outlook.retention == pytest.approx({"now": 1.0, "30": 0.5, "90": 0.3, "365": 0.0})


def test_a_working_memory_is_shown_as_it_will_fade(a_memory, start):
    retention = outlook_of(a_memory(layer="working"), start, "huber").retention
    assert retention == pytest.approx({"now": 1.0, "30": 0.5, "90": 0.3, "365": 0.0})


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        pytest.param(
            FADING,
            "Unless it is recalled, it expires on 2026-04-01 (archived): by then it is older than 90 days, "
            "0.00 of it is left, its importance is 0.18 and it was recalled fewer than 3 times.",
            id="archive",
        ),
        pytest.param(
            {"importance": 0.2, "access_count": 4},
            "Unless it is recalled, it expires on 2026-06-30 (low-value): by then it was given an importance "
            "of 0.20 and has lain untouched for more than 180 days.",
            id="low value",
        ),
        pytest.param(
            {"importance": 0.8},
            "Unless it is recalled, it expires on 2028-12-31 (lifespan-expired): by then it has outlived its "
            "three years and was never recalled.",
            id="lifespan",
        ),
        pytest.param(
            {"tier": "goldfish"},
            "Unless it is recalled, it expires on 2026-01-01 17:00 UTC (tier-expired): by then it has outlived "
            "its tier goldfish and was never recalled.",
            id="tier",
        ),
        pytest.param(
            {"forget_after": datetime(2026, 2, 1, tzinfo=UTC), "layer": "semantic"},
            "It expires on 2026-02-01, recalled or not (ttl-expired): it was to be forgotten after "
            "2026-02-01T00:00:00Z.",
            id="deadline",
        ),
        pytest.param(
            {"forget_after": datetime(2025, 2, 1, tzinfo=UTC)},
            "It expires with the next sweep (ttl-expired): it was to be forgotten after 2025-02-01T00:00:00Z.",
            id="overdue",
        ),
        pytest.param(
            {"importance": 0.9, "access_count": 5},
            "The next sweep makes it semantic, and then it never expires by itself: semantic memories do not decay.",
            id="about to be promoted",
        ),
        pytest.param({"pinned": True}, "It never expires by itself: it is pinned.", id="pinned"),
        pytest.param({"core": True}, "It never expires by itself: it is a core memory.", id="core"),
        pytest.param({"tier": "permanent"}, "It never expires by itself: its tier is permanent.", id="permanent"),
        pytest.param(
            {"kind": "decision", "layer": "working"},
            "It never expires by itself: decisions do not decay.",
            id="a decision just made",
        ),
        pytest.param(
            {"access_count": 300, "importance": 0.3},
            "It never expires by itself: its recalls extend its life beyond a hundred years.",
            id="recalled for a century",
        ),
        pytest.param(
            {"status": "expired", "expired_at": datetime(2026, 1, 1, tzinfo=UTC), "status_reason": "archived"},
            "It expired already on 2026-01-01 (archived); restore brings it back.",
            id="gone",
        ),
        pytest.param(
            {"status": "superseded", "superseded_by": "m2"},
            "It was superseded by m2 and is kept as history.",
            id="superseded",
        ),
        pytest.param(
            {"status": "quarantined"},
            "It is held in quarantine until someone reviews it; no rule expires it until then.",
            id="quarantined",
        ),
    ],
)
def test_one_sentence_says_when_and_why(a_memory, start, changes, sentence):
    assert outlook_of(a_memory(**changes), start, "huber").sentence == sentence


@PROVED
@given(
    importance=st.floats(0, 0.6),
    trust=st.floats(0, 1),
    accesses=st.integers(0, 6),
    mode=st.sampled_from(RETENTION_MODES),
)
def test_the_moment_foretold_is_the_first_at_which_a_rule_holds(a_memory, start, importance, trust, accesses, mode):
    memory = a_memory(importance=importance, trust=trust, access_count=accesses)
    ending = ending_of(memory, start, mode)
    assert ending is not None
    assert due_expiry(memory, ending.at, mode) == ending.verdict
    assert due_expiry(memory, ending.at - timedelta(seconds=1), mode) is None


def test_the_end_of_the_calendar_is_not_an_error(a_memory):
    late = datetime(9999, 12, 30, tzinfo=UTC)
    outlook = outlook_of(a_memory(created_at=late), late, "huber")
    assert outlook.retention["365"] == 1.0
    assert "never" in outlook.sentence
