"""Time gone by: always in days or seconds, never negative, never between naive moments."""

from datetime import datetime, timedelta

from reverie.memory import Memory

SECONDS_PER_DAY = 86_400.0


def aware(moment: datetime) -> datetime:
    """Hand back the moment, provided that it names its time zone.

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


def age_days(memory: Memory, now: datetime) -> float:
    """Count the days since the memory was written."""
    return days_between(memory.created_at, now)


def last_touched(memory: Memory) -> datetime:
    """Return the moment of the last recall, or of the writing if there was none."""
    return memory.last_accessed_at or memory.created_at


def idle_days(memory: Memory, now: datetime) -> float:
    """Count the days since the memory was last recalled, or written if it never was."""
    return days_between(last_touched(memory), now)


def later(moment: datetime, days: float) -> datetime | None:
    """Return the moment so many days on, or None where the calendar ends."""
    try:
        return aware(moment) + timedelta(days=days)
    except OverflowError:
        return None
