"""The future of a memory that nobody recalls or changes: its retention, and when and why it would expire."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from reverie.lifecycle.curves import retention_of
from reverie.lifecycle.expiry import LIVING, Expiry, tier_in_force, why_protected
from reverie.lifecycle.rules import after_moves, due_expiry
from reverie.memory import Memory, Tier
from reverie.parameters import STANDARD, Parameters
from reverie.settings import RetentionMode
from reverie.time import aware, later

Horizon = Literal["now", "30", "90", "365"]
HORIZON_DAYS: Mapping[Horizon, int] = {"now": 0, "30": 30, "90": 90, "365": 365}

FARTHEST = timedelta(days=100 * 365)
"""How far ahead the rules are applied; a memory that lives a hundred years never expires."""


_SOON = timedelta(days=2)
"""Within this time the sentence gives the hour, not only the day."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """The retention at four moments, and one sentence on when and why this memory would expire."""

    retention: dict[Horizon, float]
    sentence: str


@dataclass(frozen=True, slots=True)
class Ending:
    """The first rule that will expire a memory, and the second at which it does."""

    at: datetime
    verdict: Expiry


def outlook_of(
    memory: Memory,
    now: datetime,
    mode: RetentionMode,
    default_tier: Tier | None = None,
    parameters: Parameters = STANDARD,
) -> Outlook:
    """Return the outlook of a memory, assuming that it is neither recalled nor changed."""
    swept = _after_next_sweeps(memory, now, parameters)
    retention = {
        horizon: retention_of(swept if days else memory, later(now, days) or now, mode, default_tier, parameters)
        for horizon, days in HORIZON_DAYS.items()
    }
    return Outlook(retention, _sentence(memory, now, mode, default_tier, parameters))


def ending_of(
    memory: Memory,
    now: datetime,
    mode: RetentionMode,
    default_tier: Tier | None = None,
    parameters: Parameters = STANDARD,
) -> Ending | None:
    """Return when the rules would expire the memory if it is left alone, or None if not within a hundred years.

    A rule that expires a memory at one moment does so at every later one, so bisection finds the first second.
    """
    subject = _after_next_sweeps(memory, now, parameters)
    low, high = -1, _seconds_ahead(aware(now))
    if due_expiry(subject, now + timedelta(seconds=high), mode, default_tier, parameters) is None:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if due_expiry(subject, now + timedelta(seconds=middle), mode, default_tier, parameters) is None:
            low = middle
        else:
            high = middle
    at = now + timedelta(seconds=high)
    verdict = due_expiry(subject, at, mode, default_tier, parameters)
    return None if verdict is None else Ending(at, verdict)


def _after_next_sweeps(memory: Memory, now: datetime, parameters: Parameters) -> Memory:
    """Return the memory as the next sweeps leave it: moved by merit, and no longer in working."""
    after = after_moves(memory, now, parameters)
    return replace(after, layer="episodic") if after.layer == "working" else after


def _seconds_ahead(now: datetime) -> int:
    to_the_end = datetime.max.replace(tzinfo=UTC) - timedelta(days=1) - now
    return max(0, int(min(FARTHEST, to_the_end).total_seconds()))


def _sentence(
    memory: Memory, now: datetime, mode: RetentionMode, default_tier: Tier | None, parameters: Parameters
) -> str:
    if memory.status not in LIVING:
        return _why_not_living(memory)
    ending = ending_of(memory, now, mode, default_tier, parameters)
    if ending is None:
        swept = _after_next_sweeps(memory, now, parameters)
        rises = memory.layer != swept.layer == "semantic"
        subject = "The next sweep makes it semantic, and then it" if rises else "It"
        return f"{subject} never expires by itself: {_why_never(swept, default_tier)}."
    verdict, day = ending.verdict, _day(ending.at, now)
    if ending.at <= now:
        return f"It expires with the next sweep ({verdict.rule}): {verdict.reason}."
    if verdict.rule == "ttl-expired":
        return f"It expires on {day}, recalled or not ({verdict.rule}): {verdict.reason}."
    return f"Unless it is recalled, it expires on {day} ({verdict.rule}): by then {verdict.reason}."


def _day(at: datetime, now: datetime) -> str:
    return f"{at.astimezone(UTC):{'%Y-%m-%d' if at - now > _SOON else '%Y-%m-%d %H:%M UTC'}}"


def _why_not_living(memory: Memory) -> str:
    if memory.status == "expired":
        when = f" on {memory.expired_at.astimezone(UTC):%Y-%m-%d}" if memory.expired_at else ""
        why = f" ({memory.status_reason})" if memory.status_reason else ""
        return f"It expired already{when}{why}; restore brings it back."
    if memory.status == "superseded":
        successor = f" by {memory.superseded_by}" if memory.superseded_by else ""
        return f"It was superseded{successor} and is kept as history."
    return "It is held in quarantine until someone reviews it; no rule expires it until then."


def _why_never(memory: Memory, default_tier: Tier | None) -> str:
    protected = why_protected(memory)
    if protected is not None:
        return protected
    if tier_in_force(memory, default_tier) == "permanent":
        return "its tier is permanent"
    return "its recalls extend its life beyond a hundred years"
