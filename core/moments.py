"""Times as people write them: ISO moments (`2026-03-01`, `2026-03-01T10:00:00Z`) and spans (`30d`, `2h`)."""

import re
from datetime import UTC, datetime, timedelta

from reverie.errors import InvalidInput

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
