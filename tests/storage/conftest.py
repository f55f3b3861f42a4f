"""Memories and vectors to write straight into a store."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from reverie.ids import content_hash
from reverie.memory import Memory
from reverie.storage.rows import Embedded
from reverie.tools.session import Session
from tests.tiny_embedder import TinyEmbedder


@pytest.fixture
def make(session: Session) -> Callable[..., Embedded]:
    """Build a memory with its vectors, not yet written."""

    def build(content: str, **fields: Any) -> Embedded:
        now = session.now
        defaults: dict[str, Any] = {
            "id": session.store.new_id.memory(),
            "content": content,
            "content_hash": content_hash(content),
            "title": content[:40],
            "kind": "fact",
            "layer": "semantic",
            "trust": 0.7,
            "stability": 0.25,
            "created_at": now,
            "happened_at": now,
            "updated_at": now,
            "embedder": "tiny:64",
        }
        [embedding] = TinyEmbedder().embed([content])
        memory = Memory(**(defaults | fields))
        return Embedded(memory, np.asarray(embedding.vector, np.float32), embedding.passages)

    return build
