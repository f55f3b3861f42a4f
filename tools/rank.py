"""Ordering candidates: what they share with the question in meaning and words, and how strong they are.

relevance = 0.6 · vector + 0.4 · text, each brought to [0, 1] over the candidates of one question
score     = relevance · (0.7 + 0.3 · s / (1 + s)),  s the raw strength

Scores are fused, not ranks: on conversations that finds a seventh more of the evidence (DESIGN §5).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from reverie.lifecycle.strength import bounded, strength_of
from reverie.memory import Memory

VECTOR_WEIGHT = 0.6
STRENGTH_WEIGHT = 0.3
"""How much of a score the strength decides: enough to order near-equals, too little to bury a right answer."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A memory with the parts of its score."""

    memory: Memory
    score: float
    vector: float
    text: float
    strength: float


def relevance_of(cosines: Mapping[str, float], texts: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    """Return for each candidate its vector and text score, both within [0, 1].

    Cosines are spread from the least to the best, because even strangers have one; BM25 starts at zero.
    """
    least, best = min(cosines.values(), default=0.0), max(cosines.values(), default=0.0)
    spread = best - least or 1.0
    most = max(texts.values(), default=0.0) or 1.0
    return {
        memory_id: (
            (cosines[memory_id] - least) / spread
            if memory_id in cosines and best > least
            else _alone(cosines, memory_id),
            texts.get(memory_id, 0.0) / most,
        )
        for memory_id in dict.fromkeys((*cosines, *texts))
    }


def contenders(relevance: Mapping[str, tuple[float, float]], wanted: int) -> list[str]:
    """Return the candidates that may end among the best so many, whatever their strengths turn out to be."""
    fused = {memory_id: _fused(*parts) for memory_id, parts in relevance.items()}
    best = sorted(fused.values(), reverse=True)[:wanted]
    least = best[-1] * (1.0 - STRENGTH_WEIGHT) if best else 0.0
    return [memory_id for memory_id, value in fused.items() if value >= least]


def ranked(memories: Sequence[Memory], relevance: Mapping[str, tuple[float, float]], now: datetime) -> list[Ranked]:
    """Order memories by score, best first; equals by the newer."""
    scored = []
    for memory in memories:
        vector, text = relevance[memory.id]
        strength = strength_of(memory, now)
        held = 1.0 - STRENGTH_WEIGHT + STRENGTH_WEIGHT * bounded(strength)
        score = _fused(vector, text) * held
        scored.append(Ranked(memory, score, vector, text, strength))
    return sorted(scored, key=lambda r: (-r.score, -r.memory.happened_at.timestamp(), r.memory.id))


def _fused(vector: float, text: float) -> float:
    return VECTOR_WEIGHT * vector + (1.0 - VECTOR_WEIGHT) * text


def _alone(cosines: Mapping[str, float], memory_id: str) -> float:
    """A single cosine has nothing to be spread against: it counts as it is."""
    return max(0.0, cosines.get(memory_id, 0.0))
