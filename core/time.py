"""Time: the injected clock, moments and spans as people write them, and elapsed days.

`REVERIE_CLOCK` shifts the clock for tests, demos and forecasts. Moments are ISO (`2026-03-01`,
`2026-03-01T10:00:00Z`), spans are numbers with a unit (`30d`, `2h`). Elapsed time is never negative.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from reverie.errors import InvalidInput, SettingError

_UNITS = {
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "y": timedelta(days=365),
}
_SPAN = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*([smhdwy])", re.ASCII)
_HINT = "Give an ISO moment such as 2026-03-01 or 2026-03-01T10:00:00Z, or a span such as 30d, 12h or 90m."


def parse_span(text: str, argument: str) -> timedelta:
    """Read a span such as `30d`.

    Raises:
        InvalidInput: if the text is no span, or one too long to count with.
    """
    match = _SPAN.fullmatch(text.strip().lower())
    if match is None:
        raise InvalidInput(argument, f"{text!r} is not a span of time", "Give one such as 30d, 12h or 90m.")
    try:
        return float(match[1]) * _UNITS[match[2]]
    except OverflowError:
        raise InvalidInput(argument, f"{text!r} is too long a time", "Give a shorter span.") from None


def parse_iso(text: str, argument: str) -> datetime:
    """Read an ISO moment; without a zone it is taken as UTC.

    Raises:
        InvalidInput: if the text is no ISO moment.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidInput(argument, f"{text!r} is not a moment in time", _HINT) from None


def parse_moment(text: str, argument: str, *, now: datetime, forward: bool) -> datetime:
    """Read an ISO moment, or a span counted from `now`: forward for deadlines, back for history.

    Raises:
        InvalidInput: if the text is neither, or lies outside the calendar.
    """
    if _SPAN.fullmatch(text.strip().lower()) is None:
        return parse_iso(text, argument)
    span = parse_span(text, argument)
    try:
        return now + span if forward else now - span
    except OverflowError:
        raise InvalidInput(argument, f"{text!r} reaches outside the calendar", _HINT) from None


def iso(moment: datetime) -> str:
    """Write a moment the way every answer and export shows it."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


Clock = Callable[[], datetime]

_TAKES = "a shift such as +90d or -2h, or an ISO moment at which the clock starts"


def system_clock() -> datetime:
    """Return the present moment in UTC."""
    return datetime.now(UTC)


def clock_from(setting: str | None, base: Clock = system_clock) -> Clock:
    """Build the clock that REVERIE_CLOCK asks for; it runs on from where it was set.

    Raises:
        SettingError: if the setting is neither a shift nor a moment.
    """
    if setting is None:
        return base
    try:
        shift = _shift(setting, base)
        base() + shift
    except (InvalidInput, OverflowError):
        raise SettingError("REVERIE_CLOCK", setting, _TAKES) from None
    return lambda: base() + shift


def _shift(setting: str, base: Clock) -> timedelta:
    if setting[:1] in "+-":
        span = parse_span(setting[1:], "REVERIE_CLOCK")
        return -span if setting[0] == "-" else span
    return parse_iso(setting, "REVERIE_CLOCK") - base()


SECONDS_PER_DAY = 86_400.0


def aware(moment: datetime) -> datetime:
    """Return the moment if it has a time zone.

    Raises:
        ValueError: if it does not; a naive moment could be off by a day and nobody would see it.
    """
    if moment.utcoffset() is None:
        raise ValueError(f"The moment {moment.isoformat()} has no time zone. Pass an aware one.")
    return moment


def seconds_between(then: datetime, now: datetime) -> float:
    """Count the seconds from then to now; a clock set back counts as no time at all."""
    return max(0.0, (aware(now) - aware(then)).total_seconds())


def days_between(then: datetime, now: datetime) -> float:
    """Count the days from then to now, with their fraction."""
    return seconds_between(then, now) / SECONDS_PER_DAY


def later(moment: datetime, days: float) -> datetime | None:
    """Return the moment so many days on, or None where the calendar ends."""
    try:
        return aware(moment) + timedelta(days=days)
    except OverflowError:
        return None
