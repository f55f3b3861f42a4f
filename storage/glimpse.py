"""What recall reads of a candidate: a third of the columns, and the vector to compare it with the others."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from reverie.memory import Memory
from reverie.storage.rows import Vector, from_row
from reverie.storage.schema import PIECES

# Every column costs as much as ten rows: these are what strength, evidence, trust and an answer are made of.
_FIELDS = (
    *("id", "content", "title", "kind", "layer", "project", "branch", "session"),
    *("source", "source_ref", "trust", "confidence"),
    *("importance", "surprise", "created_at", "happened_at", "updated_at", "access_count", "pinned", "status"),
    "status_reason",  # a challenged memory names its challenger there
    *("core", "tier", "forget_after"),  # whether its time is over
    "anchors",
)
_NOT_READ = {"content_hash": "", "stability": 0.0, "embedder": ""}  # fields that have no default
GLIMPSED = (*_FIELDS, PIECES.name)


@dataclass(frozen=True, slots=True, eq=False)
class Glimpse:
    """A memory as far as ranking and an answer need it, the other fields empty; its vector beside it."""

    memory: Memory
    vector: Vector


class Glimpses:
    """Rows read of several tables at once, taken apart only as far as they are asked for."""

    def __init__(self, parts: Sequence[pa.Table], vectors: Mapping[str, Vector]) -> None:
        self._parts = parts
        self._vectors = vectors

    def pieces(self) -> dict[str, bytes]:
        """Return the packed word pieces of each memory that has them."""
        found: dict[str, bytes] = {}
        for rows in self._parts:
            ids, packed = rows.column("id").to_pylist(), rows.column(PIECES.name).to_pylist()
            found |= {memory_id: pieces for memory_id, pieces in zip(ids, packed, strict=True) if pieces}
        return found

    def of(self, ids: Collection[str]) -> list[Glimpse]:
        """Return the memories with these ids; of two with one id, left by a move cut short, the newer."""
        newest: dict[str, Glimpse] = {}
        for part in self._parts:
            rows = part.filter(
                pa.array([memory_id in ids for memory_id in part.column("id").to_pylist()], pa.bool_())
            )
            for row in rows.select(_FIELDS).to_pylist():
                memory = from_row(row | _NOT_READ)
                other = newest.get(memory.id)
                if other is None or memory.updated_at > other.memory.updated_at:
                    newest[memory.id] = Glimpse(memory, self._vectors[memory.id])
        return list(newest.values())


def cosine(one: Glimpse, other: Glimpse) -> float:
    """Return how near two memories are."""
    return float(np.dot(one.vector, other.vector))
