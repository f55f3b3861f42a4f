"""How much a new memory tells that was not known (002-surprise).

surprise   = mean cosine distance to the (up to) five nearest active memories in scope, within [0, 1]
importance = importance + 0.3·(2·surprise − 1), within [0.05, 1]

Nothing new takes 0.3 away, half new leaves importance as it was set, wholly new adds 0.3. A near-identical
neighbour decides alone: four strangers beside it would otherwise make a repetition look new.
"""

from collections.abc import Sequence
from statistics import fmean

from reverie.lifecycle.scale import clamped
from reverie.memory import Memory

NEIGHBOURS = 5
DUPLICATE_SIMILARITY = 0.92
MAX_ADJUSTMENT = 0.3
MIN_IMPORTANCE = 0.05
MAX_IMPORTANCE = 1.0


def surprise_from(similarities: Sequence[float]) -> float | None:
    """Return the surprise from the cosine similarities to the nearest memories, best first.

    An empty store gives None: with nothing to compare, nothing is known about novelty.
    """
    nearest = sorted(similarities, reverse=True)[:NEIGHBOURS]
    if not nearest:
        return None
    if is_duplicate(nearest[0]):
        nearest = nearest[:1]
    return clamped(fmean(1.0 - similarity for similarity in nearest))


def is_duplicate(similarity: float) -> bool:
    """Say whether two memories lie so near that the second is flagged as a repetition."""
    return similarity >= DUPLICATE_SIMILARITY


def adjusted_importance(importance: float, surprise: float | None) -> float:
    """Return the importance as set, moved by surprise; unchanged where there was nothing to compare with."""
    if surprise is None:
        return importance
    shift = MAX_ADJUSTMENT * (2.0 * clamped(surprise) - 1.0)
    return clamped(importance + shift, MIN_IMPORTANCE, MAX_IMPORTANCE)


def adjusted_importance_of(memory: Memory) -> float:
    """Return a memory's importance as set and moved by its surprise, within [0, 1]."""
    return clamped(adjusted_importance(memory.importance, memory.surprise))
