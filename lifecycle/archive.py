"""Letting go of what faded or was never worth much (002-archive, 003-low-value)."""

from datetime import datetime

from reverie.lifecycle.elapsed import age_days, idle_days
from reverie.lifecycle.importance import importance_of
from reverie.lifecycle.lasting import LIVING, why_held
from reverie.lifecycle.retention import retention_of
from reverie.lifecycle.tiers import tier_in_force
from reverie.lifecycle.verdict import LetGo
from reverie.memory import Memory, Tier
from reverie.settings import RetentionMode

ARCHIVE_AFTER_DAYS = 90.0
ARCHIVE_BELOW_RETENTION = 0.15
ARCHIVE_BELOW_IMPORTANCE = 0.3
ARCHIVE_BELOW_ACCESSES = 3

LOW_VALUE_AFTER_DAYS = 180.0
LOW_VALUE_IMPORTANCE = 0.2


def archived(memory: Memory, now: datetime, mode: RetentionMode, default_tier: Tier | None = None) -> LetGo | None:
    """Decide whether a memory is old, faded, unimportant and hardly recalled, all four."""
    if not _may_fade(memory, default_tier) or memory.access_count >= ARCHIVE_BELOW_ACCESSES:
        return None
    if age_days(memory, now) <= ARCHIVE_AFTER_DAYS:
        return None
    left = retention_of(memory, now, mode, default_tier)
    importance = importance_of(memory, now).value
    if left >= ARCHIVE_BELOW_RETENTION or importance >= ARCHIVE_BELOW_IMPORTANCE:
        return None
    return LetGo(
        "archived",
        f"it is older than {ARCHIVE_AFTER_DAYS:.0f} days, {left:.2f} of it is left, its importance is "
        f"{importance:.2f} and it was recalled fewer than {ARCHIVE_BELOW_ACCESSES} times",
    )


def low_value(memory: Memory, now: datetime, default_tier: Tier | None = None) -> LetGo | None:
    """Decide whether a memory set down as hardly worth keeping has lain untouched for half a year.

    The importance is the one that was set. The age counts from the last recall: the seed counts from the
    writing, and would take away what was used yesterday.
    """
    if not _may_fade(memory, default_tier) or memory.importance > LOW_VALUE_IMPORTANCE:
        return None
    if idle_days(memory, now) <= LOW_VALUE_AFTER_DAYS:
        return None
    return LetGo(
        "low-value",
        f"it was given an importance of {memory.importance:.2f} and has lain untouched for more than "
        f"{LOW_VALUE_AFTER_DAYS:.0f} days",
    )


def _may_fade(memory: Memory, default_tier: Tier | None) -> bool:
    return memory.status in LIVING and why_held(memory) is None and tier_in_force(memory, default_tier) != "permanent"
