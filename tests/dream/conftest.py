"""Memories and snapshots to start from, and dreams on a real store."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from reverie.dream.judge import Judge, Rules
from reverie.dream.snapshot import Snapshot, in_order
from reverie.dream.steps import STEPS, Plan, plan_dream
from reverie.ids import content_hash
from reverie.lifecycle.vitals import trust_of
from reverie.memory import Memory, StepName
from reverie.settings import Settings
from reverie.tools import remember
from reverie.tools.consolidate import consolidate
from reverie.tools.requests import ConsolidateRequest, RememberRequest
from reverie.tools.results import Consolidated, Remembered
from reverie.tools.session import Session
from tests.model_server import api, asking
from tests.tiny_embedder import TinyEmbedder

__all__ = ["api", "asking"]

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
SETTINGS = Settings(home="/nowhere")
_TINY = TinyEmbedder()


def embed(texts: Sequence[str]) -> np.ndarray:
    """Embed texts by their words."""
    return np.stack([embedding.vector for embedding in _TINY.embed(texts)])


def a_memory(number: int, content: str, **changes: Any) -> Memory:
    """Build a semantic fact from a human, a month old, a minute after the one numbered before it."""
    written_at = NOW - timedelta(days=30) + timedelta(minutes=number)
    source = changes.get("source", "human")
    fields: dict[str, Any] = {
        "id": f"m{number:04}",
        "content": content,
        "content_hash": content_hash(content),
        "title": content[:40],
        "kind": "fact",
        "layer": "semantic",
        "project": "p",
        "source": source,
        "trust": trust_of(source),
        "stability": 0.25,
        "created_at": written_at,
        "happened_at": written_at,
        "updated_at": written_at,
        "embedder": _TINY.stamp,
    }
    return Memory(**(fields | changes))


def a_snapshot(memories: Sequence[Memory], **parts: Any) -> Snapshot:
    """Build a snapshot of these memories with vectors by the tiny embedder."""
    held = in_order(memories)
    vectors = embed([memory.content for memory in held]) if held else np.empty((0, 64), np.float32)
    return Snapshot(
        **{"now": NOW, "memories": held, "vectors": vectors, "embedder": _TINY.stamp, "embed": embed} | parts
    )


def planned(
    memories: Sequence[Memory],
    *steps: StepName,
    judge: Judge | None = None,
    settings: Settings = SETTINGS,
    **parts: Any,
) -> Plan:
    """Plan a dream over these memories."""
    return plan_dream(a_snapshot(memories, **parts), settings, judge or Rules(), steps or tuple(STEPS))


@pytest.fixture
def keep(session: Session) -> Callable[..., Awaitable[Remembered]]:
    """Remember a text."""

    async def call(content: str, **arguments: Any) -> Remembered:
        return await remember.remember(session, RememberRequest(content=content, **arguments))

    return call


@pytest.fixture
def run_dream(session: Session) -> Callable[..., Awaitable[Consolidated]]:
    """Run a dream."""

    async def call(*steps: str, **arguments: Any) -> Consolidated:
        return await consolidate(session, ConsolidateRequest(steps=steps, **arguments))

    return call
