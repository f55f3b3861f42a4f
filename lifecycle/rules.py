"""All rules of age and merit applied to a memory at one moment.

Archive and low value (002-archive, 003-low-value), forgetting by a filter (004-forget), the verdict of all rules
together, and what a restored memory needs so that no rule expires it again.
"""

import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from reverie.lifecycle.access import after_access
from reverie.lifecycle.curves import retention_of
from reverie.lifecycle.expiry import (
    LIVING,
    Expiry,
    Move,
    expiry_by_tier,
    threshold_seconds,
    tier_expired,
    tier_in_force,
    ttl_expired,
    why_protected,
)
from reverie.lifecycle.importance import importance_of
from reverie.lifecycle.layers import SEMANTIC_ACCESSES, becomes_core, becomes_semantic, leaves_working
from reverie.lifecycle.strength import strength_of
from reverie.memory import TIERS, Memory, Tier
from reverie.settings import RetentionMode
from reverie.time import SECONDS_PER_DAY, age_days, aware, idle_days, later

ARCHIVE_AFTER_DAYS = 90.0
ARCHIVE_BELOW_RETENTION = 0.15
ARCHIVE_BELOW_IMPORTANCE = 0.3
ARCHIVE_BELOW_ACCESSES = 3

LOW_VALUE_AFTER_DAYS = 180.0
LOW_VALUE_IMPORTANCE = 0.2


def archived(memory: Memory, now: datetime, mode: RetentionMode, default_tier: Tier | None = None) -> Expiry | None:
    """Decide whether a memory is old, faded, unimportant and hardly recalled, all four."""
    if not _may_fade(memory, default_tier) or memory.access_count >= ARCHIVE_BELOW_ACCESSES:
        return None
    if age_days(memory, now) <= ARCHIVE_AFTER_DAYS:
        return None
    left = retention_of(memory, now, mode, default_tier)
    importance = importance_of(memory, now).value
    if left >= ARCHIVE_BELOW_RETENTION or importance >= ARCHIVE_BELOW_IMPORTANCE:
        return None
    return Expiry(
        "archived",
        f"it is older than {ARCHIVE_AFTER_DAYS:.0f} days, {left:.2f} of it is left, its importance is "
        f"{importance:.2f} and it was recalled fewer than {ARCHIVE_BELOW_ACCESSES} times",
    )


def low_value(memory: Memory, now: datetime, default_tier: Tier | None = None) -> Expiry | None:
    """Decide whether a memory set down as hardly worth keeping has lain untouched for half a year.

    The importance is the one that was set. The age counts from the last recall: the seed counts from the
    writing, and would take away what was used yesterday.
    """
    if not _may_fade(memory, default_tier) or memory.importance > LOW_VALUE_IMPORTANCE:
        return None
    if idle_days(memory, now) <= LOW_VALUE_AFTER_DAYS:
        return None
    return Expiry(
        "low-value",
        f"it was given an importance of {memory.importance:.2f} and has lain untouched for more than "
        f"{LOW_VALUE_AFTER_DAYS:.0f} days",
    )


def _may_fade(memory: Memory, default_tier: Tier | None) -> bool:
    return (
        memory.status in LIVING
        and why_protected(memory) is None
        and tier_in_force(memory, default_tier) != "permanent"
    )


MIN_STRENGTH = 0.05
"""The strength below which the seed suggests to let go."""


def below_strength(memory: Memory, now: datetime, min_strength: float = MIN_STRENGTH) -> Expiry | None:
    """Decide whether a memory is weaker than the least strength asked for."""
    strength = strength_of(memory, now)
    if not _may_go(memory) or strength >= min_strength:
        return None
    return Expiry("below-strength", f"its strength {strength:.3f} is below {min_strength:g}")


def older_than(memory: Memory, now: datetime, span: timedelta) -> Expiry | None:
    """Decide whether a memory was written longer ago than the span, however strong it is."""
    if not _may_go(memory) or aware(now) - aware(memory.created_at) <= span:
        return None
    return Expiry("older-than", f"it is older than {span.total_seconds() / 86_400:g} days")


def _may_go(memory: Memory) -> bool:
    return memory.status in LIVING and not memory.pinned


def due_expiry(memory: Memory, now: datetime, mode: RetentionMode, default_tier: Tier | None = None) -> Expiry | None:
    """Return the first rule that lets this memory go now, judged where its merit puts it, or None."""
    subject = after_moves(memory, now)
    return (
        ttl_expired(subject, now)
        or tier_expired(subject, now, default_tier)
        or archived(subject, now, mode, default_tier)
        or low_value(subject, now, default_tier)
    )


def overdue(memory: Memory, now: datetime, default_tier: Tier | None = None) -> Expiry | None:
    """Return the deadline or tier that a memory has outlived, whether or not a sweep has come by since.

    What was recalled often enough to be promoted is left to the sweep, which weighs merit before age: so this needs
    none of the fields that merit is computed from, and is cheap enough for every reader.
    """
    moved = leaves_working(memory, now)
    subject = memory if moved is None else replace(memory, layer=moved.to)
    late = ttl_expired(subject, now)
    if late is not None or memory.access_count >= SEMANTIC_ACCESSES:
        return late
    return tier_expired(subject, now, default_tier)


def expired_if_overdue(memory: Memory, now: datetime, default_tier: Tier | None = None) -> Memory:
    """Return a memory as a reader has to see it at this moment: expired, if its time is over."""
    late = overdue(memory, now, default_tier)
    if late is None:
        return memory
    ended = memory.forget_after if late.rule == "ttl-expired" else expiry_by_tier(memory, default_tier)
    return replace(memory, status="expired", status_reason=late.rule, expired_at=ended or now)


def due_move(memory: Memory, now: datetime) -> Move | None:
    """Return where this memory goes by merit now, all the way, or None."""
    first = leaves_working(memory, now)
    if first is None:
        return becomes_semantic(memory, now)
    return becomes_semantic(replace(memory, layer=first.to), now) or first


def after_moves(memory: Memory, now: datetime) -> Memory:
    """Return the memory with the moves that it has earned by now."""
    move = due_move(memory, now)
    return replace(
        memory,
        layer=memory.layer if move is None else move.to,
        core=memory.core or becomes_core(memory),
    )


def as_restored(
    memory: Memory, now: datetime, session: str, mode: RetentionMode, default_tier: Tier | None = None
) -> Memory:
    """Return a let-go memory as it lives on: active, recalled now, and safe from the rules at this moment."""
    back = replace(memory, status="active", expired_at=None, status_reason=None, superseded_by=None)
    if ttl_expired(back, now):
        back = replace(back, forget_after=None)
    then = now
    if tier_expired(back, now, default_tier):
        outlived = threshold_seconds(tier_in_force(back, default_tier)) or 0.0
        then = later(now, outlived / SECONDS_PER_DAY) or now
    back = after_access(back, now, session)
    raised = (replace(back, tier=longer) for longer in TIERS)
    return next(
        kept
        for kept in (back, *raised)
        if kept.tier == "permanent"
        or (due_expiry(kept, now, mode, default_tier) is None and tier_expired(kept, then, default_tier) is None)
    )


_BY: Final = re.compile(r"challenged: (\S+) says otherwise")


def contradiction_reason(newer_id: str) -> str:
    """Return the status reason of a memory that a newer one contradicts."""
    return f"challenged: {newer_id} says otherwise"


def contradicting_id(status_reason: str | None) -> str | None:
    """Return the id of the memory that speaks against a challenged one, if it is one that does."""
    found = _BY.fullmatch(status_reason or "")
    return found[1] if found else None
