"""The one clock. `REVERIE_CLOCK` may shift it for tests, demos and forecasts."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from reverie.errors import InvalidInput, SettingError
from reverie.moments import parse_iso, parse_span

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
