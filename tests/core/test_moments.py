from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reverie.errors import InvalidInput
from reverie.time import iso, parse_iso, parse_moment, parse_span

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("45s", timedelta(seconds=45)),
        ("90m", timedelta(minutes=90)),
        ("12h", timedelta(hours=12)),
        ("30d", timedelta(days=30)),
        ("2w", timedelta(days=14)),
        ("1y", timedelta(days=365)),
        ("1.5h", timedelta(minutes=90)),
        ("0d", timedelta(0)),
        (" 30 D ", timedelta(days=30)),
    ],
)
def test_a_span_is_a_number_and_a_unit(text: str, span: timedelta) -> None:
    assert parse_span(text, "forget_after") == span


@pytest.mark.parametrize("text", ["", "d", "30", "-3d", "+3d", "3 days", "3x", "1.d", ".5d", "1e3d", "٣d", "30d 2h"])
def test_what_is_no_span_is_refused_by_the_arguments_name(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^forget_after: .*30d") as caught:
        parse_span(text, "forget_after")
    assert caught.value.argument == "forget_after"


def test_a_span_too_long_to_count_with_is_refused() -> None:
    with pytest.raises(InvalidInput, match="too long"):
        parse_span("999999999y", "forget_after")


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        pytest.param("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC), id="a day begins at midnight UTC"),
        pytest.param("2026-03-01T10:00:00", datetime(2026, 3, 1, 10, tzinfo=UTC), id="no zone is UTC"),
        pytest.param("2026-03-01T10:00:00Z", datetime(2026, 3, 1, 10, tzinfo=UTC), id="Z"),
        pytest.param("2026-03-01T10:00:00+02:00", datetime(2026, 3, 1, 8, tzinfo=UTC), id="east of UTC"),
        pytest.param("2026-03-01 10:00", datetime(2026, 3, 1, 10, tzinfo=UTC), id="a blank for the T"),
        pytest.param(" 2026-03-01 ", datetime(2026, 3, 1, tzinfo=UTC), id="blanks around"),
        pytest.param("20260301", datetime(2026, 3, 1, tzinfo=UTC), id="ISO without dashes"),
    ],
)
def test_an_iso_moment_is_read_in_utc(text: str, moment: datetime) -> None:
    read = parse_iso(text, "since")
    assert read == moment
    assert read.utcoffset() == timedelta(0)


@pytest.mark.parametrize("text", ["", "soon", "2026-02-30", "2026-13-01", "01.03.2026", "0001-01-01T00:00+10:00"])
def test_what_is_no_moment_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^since: .*2026-03-01T10:00:00Z"):
        parse_iso(text, "since")


def test_a_span_counts_forward_for_deadlines_and_back_for_history() -> None:
    assert parse_moment("2d", "forget_after", now=NOW, forward=True) == NOW + timedelta(days=2)
    assert parse_moment("2d", "since", now=NOW, forward=False) == NOW - timedelta(days=2)
    assert parse_moment("2026-03-01", "since", now=NOW, forward=False) == datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize("forward", [True, False])
def test_a_span_that_leaves_the_calendar_is_refused(forward: bool) -> None:
    with pytest.raises(InvalidInput, match="outside the calendar"):
        parse_moment("9000y", "since", now=NOW, forward=forward)


def test_moments_are_written_in_utc_with_a_z_and_read_back_the_same() -> None:
    moment = datetime(2026, 3, 1, 12, 30, 0, 5, tzinfo=timezone(timedelta(hours=2)))
    assert iso(moment) == "2026-03-01T10:30:00.000005Z"
    assert parse_iso(iso(moment), "since") == moment


@settings(derandomize=True, database=None)
@given(st.datetimes(timezones=st.just(UTC)))
def test_every_moment_survives_being_written_and_read(moment: datetime) -> None:
    assert parse_iso(iso(moment), "since") == moment


_NEARLY = st.from_regex(r"[+-]?[0-9]{0,12}(\.[0-9]{0,8})? ?[smhdwyx]?", fullmatch=True) | st.from_regex(
    r"[0-9]{1,5}-[0-9]{1,2}-[0-9]{1,2}([T ][0-9]{1,2}:[0-9]{1,2}(Z|[+-][0-9]{2}:[0-9]{2})?)?", fullmatch=True
)


@settings(derandomize=True, database=None, max_examples=500)
@given(st.text() | _NEARLY, st.booleans())
def test_no_text_makes_reading_a_time_fail_in_any_other_way(text: str, forward: bool) -> None:
    try:
        moment = parse_moment(text, "since", now=NOW, forward=forward)
    except InvalidInput:
        return
    assert moment.utcoffset() == timedelta(0)
