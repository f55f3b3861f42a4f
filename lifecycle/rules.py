"""The rules of age and merit, applied to one memory at one moment.

Moving along the ladder working → episodic → semantic → procedural (002-layers, 002-promotion, 001-core), archive and
low value (002-archive, 003-low-value), forgetting by a filter (004-forget), the verdict of all rules together, what a
restored memory needs so that no rule expires it again, and how finely its vector is worth keeping (002-compression;
storage/packed_vectors.py does the rounding).
"""

import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, Literal

from reverie.errors import MoveRefused
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
from reverie.lifecycle.vitals import after_access, age_days, idle_days, importance_of, strength_of
from reverie.memory import LADDER, TIERS, Layer, Memory, Tier
from reverie.parameters import STANDARD, Parameters
from reverie.settings import RetentionMode
from reverie.time import SECONDS_PER_DAY, aware, later

Direction = Literal["up", "down"]


def next_up(layer: Layer) -> Layer:
    """Return the layer above.

    Raises:
        MoveRefused: if there is none, or the layer is not on the ladder.
    """
    rung = _rung(layer) + 1
    if rung == len(LADDER):
        raise MoveRefused(f"{layer} is the highest layer. Use pin to protect the memory instead.")
    return LADDER[rung]


def next_down(layer: Layer) -> Layer:
    """Return the layer below.

    Raises:
        MoveRefused: if there is none, or the layer is not on the ladder.
    """
    rung = _rung(layer) - 1
    if rung < 0:
        raise MoveRefused(f"{layer} is the lowest layer. Use forget instead.")
    return LADDER[rung]


def checked_move(from_layer: Layer, to: Layer | None, direction: Direction) -> Layer:
    """Return the target layer of a move: the given one, or the next in that direction.

    Raises:
        MoveRefused: if the move touches codebase, goes nowhere, or goes the other way.
    """
    if to is None:
        return next_up(from_layer) if direction == "up" else next_down(from_layer)
    start, end = _rung(from_layer), _rung(to)
    if start == end:
        raise MoveRefused(f"The memory is already {to}. Name another layer, or leave `to` out.")
    if (end > start) != (direction == "up"):
        this, other = ("promote", "demote") if direction == "up" else ("demote", "promote")
        raise MoveRefused(f"{from_layer} to {to} is not a way to {this}. Use {other} for it.")
    return to


def _rung(layer: Layer) -> int:
    if layer not in LADDER:
        raise MoveRefused(
            f"{layer} memories are read from code and change with it, so nothing moves into or out of that "
            f"layer. Use one of {', '.join(LADDER)}, or remember separately what the code says."
        )
    return LADDER.index(layer)


WORKING_DAYS = 30 * 60 / SECONDS_PER_DAY
WORKING_ACCESSES = 2

CORE_ACCESSES = 10
CORE_STABILITY = 0.85
CORE_SESSIONS = 3


def leaves_working(memory: Memory, now: datetime) -> Move | None:
    """Return the move of a working memory to episodic, after 30 minutes or 2 recalls, or None."""
    if memory.layer != "working" or memory.status not in LIVING:
        return None
    if memory.access_count >= WORKING_ACCESSES:
        return Move("episodic", f"recalled {memory.access_count} times while working")
    if age_days(memory, now) >= WORKING_DAYS:
        return Move("episodic", "older than 30 minutes")
    return None


def becomes_semantic(memory: Memory, now: datetime, parameters: Parameters = STANDARD) -> Move | None:
    """Return the move of an episodic memory to semantic, by importance and recalls, or None."""
    if memory.layer != "episodic" or memory.status != "active":
        return None
    if memory.access_count < parameters.promote_recalls:
        return None
    importance = importance_of(memory, now, parameters).value
    if importance < parameters.promote_importance:
        return None
    return Move("semantic", f"importance {importance:.2f} and {memory.access_count} recalls")


def becomes_core(memory: Memory) -> bool:
    """Whether a memory becomes core now; False if it already is."""
    return (
        not memory.core
        and memory.status == "active"
        and memory.access_count >= CORE_ACCESSES
        and memory.stability >= CORE_STABILITY
        and len(set(memory.sessions)) >= CORE_SESSIONS
    )


LOW_VALUE_AFTER_DAYS = 180.0
LOW_VALUE_IMPORTANCE = 0.2


def archived(
    memory: Memory,
    now: datetime,
    mode: RetentionMode,
    default_tier: Tier | None = None,
    parameters: Parameters = STANDARD,
) -> Expiry | None:
    """Return the verdict on a memory that is old, faded, unimportant and hardly recalled, all four; or None."""
    if not _may_fade(memory, default_tier) or memory.access_count >= parameters.archive_recalls:
        return None
    if age_days(memory, now) <= parameters.archive_days:
        return None
    left = retention_of(memory, now, mode, default_tier, parameters)
    importance = importance_of(memory, now, parameters).value
    if left >= parameters.archive_retention or importance >= parameters.archive_importance:
        return None
    return Expiry(
        "archived",
        f"it is older than {parameters.archive_days:g} days, {left:.2f} of it is left, its importance is "
        f"{importance:.2f} and it was recalled fewer than {parameters.archive_recalls} times",
    )


def low_value(memory: Memory, now: datetime, default_tier: Tier | None = None) -> Expiry | None:
    """Return the verdict on a memory of low set importance that was not recalled for half a year, or None.

    The half year counts from the last recall. The seed counts from the writing, and would expire a memory that was
    used yesterday.
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
"""The strength below which the seed suggests forgetting."""


def below_strength(
    memory: Memory, now: datetime, min_strength: float = MIN_STRENGTH, parameters: Parameters = STANDARD
) -> Expiry | None:
    """Return the verdict on a memory weaker than the given strength, or None."""
    strength = strength_of(memory, now, parameters)
    if not _may_be_forgotten(memory) or strength >= min_strength:
        return None
    return Expiry("below-strength", f"its strength {strength:.3f} is below {min_strength:g}")


def older_than(memory: Memory, now: datetime, span: timedelta) -> Expiry | None:
    """Return the verdict on a memory that was written longer ago than the span, or None."""
    if not _may_be_forgotten(memory) or aware(now) - aware(memory.created_at) <= span:
        return None
    return Expiry("older-than", f"it is older than {span.total_seconds() / 86_400:g} days")


def _may_be_forgotten(memory: Memory) -> bool:
    return memory.status in LIVING and not memory.pinned


def due_expiry(
    memory: Memory,
    now: datetime,
    mode: RetentionMode,
    default_tier: Tier | None = None,
    parameters: Parameters = STANDARD,
) -> Expiry | None:
    """Return the verdict of the first rule that expires this memory now, after the moves it has earned; or None."""
    subject = after_moves(memory, now, parameters)
    return (
        ttl_expired(subject, now)
        or tier_expired(subject, now, default_tier, parameters)
        or archived(subject, now, mode, default_tier, parameters)
        or low_value(subject, now, default_tier)
    )


def overdue(
    memory: Memory, now: datetime, default_tier: Tier | None = None, parameters: Parameters = STANDARD
) -> Expiry | None:
    """Return the verdict on a memory that is past its deadline or tier but not yet swept, or None.

    A memory with enough recalls for a promotion is left to the sweep, which considers merit before age. So this
    computes no importance, and is cheap enough for every read.
    """
    moved = leaves_working(memory, now)
    subject = memory if moved is None else replace(memory, layer=moved.to)
    late = ttl_expired(subject, now)
    if late is not None or memory.access_count >= parameters.promote_recalls:
        return late
    return tier_expired(subject, now, default_tier, parameters)


def expired_if_overdue(
    memory: Memory, now: datetime, default_tier: Tier | None = None, parameters: Parameters = STANDARD
) -> Memory:
    """Return the memory as readers see it: with the status `expired` if it is past its deadline or tier."""
    late = overdue(memory, now, default_tier, parameters)
    if late is None:
        return memory
    by_tier = expiry_by_tier(memory, default_tier, parameters)
    ended = memory.forget_after if late.rule == "ttl-expired" else by_tier
    return replace(memory, status="expired", status_reason=late.rule, expired_at=ended or now)


def due_move(memory: Memory, now: datetime, parameters: Parameters = STANDARD) -> Move | None:
    """Return the move that this memory has earned by now, to the highest layer it reaches, or None."""
    first = leaves_working(memory, now)
    if first is None:
        return becomes_semantic(memory, now, parameters)
    return becomes_semantic(replace(memory, layer=first.to), now, parameters) or first


def after_moves(memory: Memory, now: datetime, parameters: Parameters = STANDARD) -> Memory:
    """Return the memory in the layer that it has earned by now, and core if it has earned that."""
    move = due_move(memory, now, parameters)
    return replace(
        memory,
        layer=memory.layer if move is None else move.to,
        core=memory.core or becomes_core(memory),
    )


def as_restored(
    memory: Memory,
    now: datetime,
    session: str,
    mode: RetentionMode,
    default_tier: Tier | None = None,
    parameters: Parameters = STANDARD,
) -> Memory:
    """Return a memory as a restore leaves it: active, recalled now, and not expired by any rule at this moment.

    A deadline that has passed is cleared. An outlived tier is replaced by the shortest tier that lets the memory live
    as long again.
    """
    back = replace(memory, status="active", expired_at=None, status_reason=None, superseded_by=None)
    if ttl_expired(back, now):
        back = replace(back, forget_after=None)
    then = now
    if tier_expired(back, now, default_tier, parameters):
        outlived = threshold_seconds(tier_in_force(back, default_tier), parameters) or 0.0
        then = later(now, outlived / SECONDS_PER_DAY) or now
    back = after_access(back, now, session)
    raised = (replace(back, tier=longer) for longer in TIERS)
    return next(
        kept
        for kept in (back, *raised)
        if kept.tier == "permanent"
        or (
            due_expiry(kept, now, mode, default_tier, parameters) is None
            and tier_expired(kept, then, default_tier, parameters) is None
        )
    )


_CONTRADICTED_BY: Final = re.compile(r"challenged: (\S+) says otherwise")


def contradiction_reason(newer_id: str) -> str:
    """Return the status reason of a memory that is challenged because a newer one contradicts it."""
    return f"challenged: {newer_id} says otherwise"


def contradicting_id(status_reason: str | None) -> str | None:
    """Return the id of the contradicting memory that a status reason names, or None."""
    found = _CONTRADICTED_BY.fullmatch(status_reason or "")
    return found[1] if found else None


Precision = Literal[32, 8, 4, 2]

WHOLE: Final = 32
"""The precision of a vector as the embedder made it."""

FEWEST_BITS: Final = 2

FULL_ABOVE = 0.8
EIGHT_BIT_ABOVE = 0.5
FOUR_BIT_ABOVE = 0.2


def precision_for(retention: float) -> Precision:
    """Return the bits per dimension that a memory of this retention deserves."""
    if retention > FULL_ABOVE:
        return 32
    if retention > EIGHT_BIT_ABOVE:
        return 8
    return 4 if retention > FOUR_BIT_ABOVE else 2


def precision_of(memory: Memory, retention: float) -> Precision:
    """Return the precision for a memory; a pin keeps all of it."""
    return 32 if memory.pinned else precision_for(retention)
