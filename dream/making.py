"""A memory that a dream writes about others: whose trust is that of the least trusted of them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from reverie.dream.cluster import title_of
from reverie.dream.plan import dreamt_id
from reverie.identity import content_hash
from reverie.lifecycle.stability import first_stability
from reverie.lifecycle.trust import derived_trust
from reverie.memory import Kind, Layer, Memory

DREAMT_IMPORTANCE = 0.3
"""What repeats other memories must not outrank them."""


def dreamt(
    text: str, *, kind: Kind, layer: Layer, project: str, ground: Sequence[Memory], now: datetime, **fields: Any
) -> Memory:
    """Lay out a memory about others, named by the night and its ground."""
    return Memory(
        id=dreamt_id(now, kind, project, *fields.get("entities", ()), *sorted(memory.id for memory in ground)),
        content=text,
        content_hash=content_hash(text),
        kind=kind,
        layer=layer,
        project=project,
        source="dream",
        trust=derived_trust(memory.trust for memory in ground),
        confidence=min(memory.confidence for memory in ground),
        derived_from=tuple(memory.id for memory in ground),
        importance=DREAMT_IMPORTANCE,
        stability=first_stability(DREAMT_IMPORTANCE),
        created_at=now,
        happened_at=now,
        updated_at=now,
        embedder=ground[0].embedder,
        **{"title": title_of(text), **fields},
    )
