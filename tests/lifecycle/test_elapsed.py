from datetime import UTC, datetime, timedelta, timezone

import pytest

from reverie.lifecycle.vitals import age_days, idle_days
from reverie.time import days_between, later


def test_a_naive_moment_is_refused(start):
    naive = datetime(2026, 1, 1)  # noqa: DTZ001 (the point of the test)
    with pytest.raises(ValueError, match="no time zone"):
        days_between(start, naive)
    with pytest.raises(ValueError, match="no time zone"):
        days_between(naive, start)


def test_a_clock_set_back_counts_as_no_time(start):
    assert days_between(start, start - timedelta(days=3)) == 0.0


def test_the_same_moment_in_two_zones_is_no_time_apart(start):
    assert days_between(start, start.astimezone(timezone(timedelta(hours=9)))) == 0.0


def test_age_counts_from_the_writing_and_idleness_from_the_last_recall(a_memory, start):
    memory = a_memory(last_accessed_at=start + timedelta(days=4))
    assert age_days(memory, start + timedelta(days=6)) == 6.0
    assert idle_days(memory, start + timedelta(days=6)) == 2.0


def test_the_calendar_has_an_end():
    assert later(datetime(9999, 12, 1, tzinfo=UTC), 365) is None
