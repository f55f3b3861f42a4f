"""What a memory needs so that the rule that let it go does not take it away again once it is brought back.

A restore counts as a recall, which starts every curve that counts from the last recall anew. A deadline that
has passed is cleared. A tier that was outlived must leave the memory that span once more, and no other rule may let
it go at once (lifespan and strength count from the writing); otherwise the tier is raised to the shortest that does,
in the end to permanent.
"""

from dataclasses import replace
from datetime import datetime

from reverie.lifecycle.access import after_access
from reverie.lifecycle.elapsed import SECONDS_PER_DAY, later
from reverie.lifecycle.fate import fate_of
from reverie.lifecycle.tiers import threshold_seconds, tier_expired, tier_in_force
from reverie.lifecycle.ttl import ttl_expired
from reverie.memory import TIERS, Memory, Tier
from reverie.settings import RetentionMode


def reprieved(
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
        or (fate_of(kept, now, mode, default_tier) is None and tier_expired(kept, then, default_tier) is None)
    )
