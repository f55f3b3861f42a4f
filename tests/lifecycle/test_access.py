from datetime import timedelta

import pytest

from reverie.lifecycle.rules import CORE_SESSIONS
from reverie.lifecycle.vitals import KEPT_ACCESS_TIMES, KEPT_SESSIONS, after_access


@pytest.mark.rule("000-recall-extends")
def test_a_recall_leaves_its_mark_and_nothing_else(a_memory, start):
    memory = a_memory()
    at = start + timedelta(days=1)
    after = after_access(memory, at, "s1")
    assert (after.access_count, after.last_accessed_at, after.access_times) == (1, at, (at,))
    assert after.sessions == ("s1",)
    assert after.stability == pytest.approx(0.3625)
    assert (after.importance, after.core, after.updated_at) == (0.5, False, memory.updated_at)
    assert memory.access_count == 0


def test_the_window_keeps_the_latest_times_and_the_count_keeps_all(a_memory, start):
    memory = a_memory()
    for hour in range(KEPT_ACCESS_TIMES + 8):
        memory = after_access(memory, start + timedelta(hours=hour), "s1")
    assert memory.access_count == KEPT_ACCESS_TIMES + 8
    assert len(memory.access_times) == KEPT_ACCESS_TIMES
    assert memory.access_times[0] == start + timedelta(hours=8)
    assert list(memory.access_times) == sorted(memory.access_times)


def test_a_session_counts_once_and_enough_of_them_are_kept_for_core(a_memory, start):
    memory = a_memory()
    for number in range(20):
        memory = after_access(memory, start, f"s{number // 2}")
    assert len(memory.sessions) == len(set(memory.sessions)) == KEPT_SESSIONS >= CORE_SESSIONS
    assert memory.sessions[-1] == "s9"


def test_a_recall_without_a_session_counts_no_session(a_memory, start):
    assert after_access(a_memory(), start, "").sessions == ()


def test_a_recall_reported_late_is_put_in_its_place(a_memory, start):
    noon, outcome = start + timedelta(hours=3), start + timedelta(hours=1)
    once = after_access(a_memory(), noon, "s1")
    twice = after_access(once, outcome, "s2")
    assert twice.last_accessed_at == noon
    assert twice.access_times == (outcome, noon)
    assert twice.access_count == 2
    assert twice.stability == once.stability


def test_a_naive_moment_is_refused(a_memory, start):
    with pytest.raises(ValueError, match="no time zone"):
        after_access(a_memory(), start.replace(tzinfo=None), "s1")
