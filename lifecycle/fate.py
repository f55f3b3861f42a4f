"""All rules at once, in the order in which they apply."""

from datetime import datetime

from reverie.lifecycle.archive import archived, low_value
from reverie.lifecycle.promotion import becomes_semantic, leaves_working
from reverie.lifecycle.tiers import tier_expired
from reverie.lifecycle.ttl import ttl_expired
from reverie.lifecycle.verdict import LetGo, Move
from reverie.memory import Memory, Tier
from reverie.settings import RetentionMode


def fate_of(memory: Memory, now: datetime, mode: RetentionMode, default_tier: Tier | None = None) -> LetGo | None:
    """Return the first rule that lets this memory go now, or None."""
    return (
        ttl_expired(memory, now)
        or tier_expired(memory, now, default_tier)
        or archived(memory, now, mode, default_tier)
        or low_value(memory, now, default_tier)
    )


def move_of(memory: Memory, now: datetime) -> Move | None:
    """Return where this memory goes by merit now, or None."""
    return leaves_working(memory, now) or becomes_semantic(memory, now)
