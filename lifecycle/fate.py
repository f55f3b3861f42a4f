"""All rules at once: merit first, then what is let go, so that a second look at the same moment finds nothing."""

from dataclasses import replace
from datetime import datetime

from reverie.lifecycle.archive import archived, low_value
from reverie.lifecycle.promotion import SEMANTIC_ACCESSES, becomes_core, becomes_semantic, leaves_working
from reverie.lifecycle.tiers import expiry_by_tier, tier_expired
from reverie.lifecycle.ttl import ttl_expired
from reverie.lifecycle.verdict import LetGo, Move
from reverie.memory import Memory, Tier
from reverie.settings import RetentionMode


def fate_of(memory: Memory, now: datetime, mode: RetentionMode, default_tier: Tier | None = None) -> LetGo | None:
    """Return the first rule that lets this memory go now, judged where its merit puts it, or None."""
    subject = settled(memory, now)
    return (
        ttl_expired(subject, now)
        or tier_expired(subject, now, default_tier)
        or archived(subject, now, mode, default_tier)
        or low_value(subject, now, default_tier)
    )


def overdue(memory: Memory, now: datetime, default_tier: Tier | None = None) -> LetGo | None:
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


def as_read(memory: Memory, now: datetime, default_tier: Tier | None = None) -> Memory:
    """Return a memory as a reader has to see it at this moment: expired, if its time is over."""
    late = overdue(memory, now, default_tier)
    if late is None:
        return memory
    ended = memory.forget_after if late.rule == "ttl-expired" else expiry_by_tier(memory, default_tier)
    return replace(memory, status="expired", status_reason=late.rule, expired_at=ended or now)


def move_of(memory: Memory, now: datetime) -> Move | None:
    """Return where this memory goes by merit now, all the way, or None."""
    first = leaves_working(memory, now)
    if first is None:
        return becomes_semantic(memory, now)
    return becomes_semantic(replace(memory, layer=first.to), now) or first


def settled(memory: Memory, now: datetime) -> Memory:
    """Return the memory with the moves that it has earned by now."""
    move = move_of(memory, now)
    return replace(
        memory,
        layer=memory.layer if move is None else move.to,
        core=memory.core or becomes_core(memory),
    )
