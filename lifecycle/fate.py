"""All rules at once: merit first, then what is let go, so that a second look at the same moment finds nothing."""

from dataclasses import replace
from datetime import datetime

from reverie.lifecycle.archive import archived, low_value
from reverie.lifecycle.promotion import becomes_core, becomes_semantic, leaves_working
from reverie.lifecycle.tiers import tier_expired
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
