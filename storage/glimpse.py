"""What recall reads of a candidate: a third of the columns, and the vector to compare it with the others."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from reverie.memory import Memory
from reverie.storage.rows import Vector, from_row
from reverie.storage.shelf import as_matrix

_FIELDS = (
    *("id", "content", "content_hash", "title", "kind", "layer", "project", "branch", "session"),
    *("source", "source_ref", "trust", "confidence", "importance", "surprise", "stability"),
    *("created_at", "happened_at", "updated_at", "access_count", "pinned"),
    *("status", "status_reason", "superseded_by", "anchors", "embedder"),
)
GLIMPSED = (*_FIELDS, "vector")


@dataclass(frozen=True, slots=True, eq=False)
class Glimpse:
    """A memory whose fields that neither ranking nor an answer needs have their defaults; its vector beside it."""

    memory: Memory
    vector: Vector


def newest_glimpses(parts: Sequence[pa.Table], dimensions: int) -> list[Glimpse]:
    """Read the memories in rows of several tables; of two with one id, left by a move cut short, take the newer."""
    newest: dict[str, Glimpse] = {}
    for rows in parts:
        memories = [from_row(row) for row in rows.select(_FIELDS).to_pylist()]
        for memory, vector in zip(memories, as_matrix(rows.column("vector"), dimensions), strict=True):
            other = newest.get(memory.id)
            if other is None or memory.updated_at > other.memory.updated_at:
                newest[memory.id] = Glimpse(memory, vector)
    return list(newest.values())


def cosine(one: Glimpse, other: Glimpse) -> float:
    """Return how near two memories are."""
    return float(np.dot(one.vector, other.vector))
