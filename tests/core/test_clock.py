from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reverie.errors import SettingError
from reverie.time import clock_from, system_clock


class Hand:
    """A clock whose hand the test moves."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def test_the_system_clock_knows_its_zone() -> None:
    assert system_clock().utcoffset() == timedelta(0)


def test_without_a_setting_the_clock_is_the_one_given() -> None:
    hand = Hand()
    assert clock_from(None, hand) is hand


@pytest.mark.parametrize(
    ("setting", "shown"),
    [
        ("+90d", datetime(2026, 5, 30, tzinfo=UTC)),
        ("-2h", datetime(2026, 2, 28, 22, tzinfo=UTC)),
        ("2030-01-01", datetime(2030, 1, 1, tzinfo=UTC)),
        ("2020-01-01T06:00:00+06:00", datetime(2020, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_shifted_clock_starts_where_it_was_set_and_runs_on(setting: str, shown: datetime) -> None:
    hand = Hand()
    clock = clock_from(setting, hand)
    assert clock() == shown
    hand.now += timedelta(minutes=5)
    assert clock() == shown + timedelta(minutes=5)


@pytest.mark.parametrize("setting", ["", "+", "90d", "+soon", "tomorrow", "+9000y", "-9000y", "+999999999y"])
def test_a_setting_that_is_no_time_is_refused_by_name_with_what_it_takes(setting: str) -> None:
    with pytest.raises(SettingError, match=r"REVERIE_CLOCK.*\+90d") as caught:
        clock_from(setting, Hand())
    assert (caught.value.name, caught.value.value) == ("REVERIE_CLOCK", setting)


@settings(derandomize=True, database=None)
@given(st.text())
def test_no_setting_makes_the_clock_fail_in_any_other_way(setting: str) -> None:
    try:
        clock_from(setting, Hand())
    except SettingError:
        return
