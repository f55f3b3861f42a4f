"""Long texts: overlapping windows cut from token ids, and one vector pooled from them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reverie.embeddings.embedder import Embedding
from reverie.errors import EmbedderError


def windows(length: int, size: int, overlap: int) -> list[slice]:
    """Cover `length` tokens with slices of at most `size`, each sharing `overlap` with the one before.

    The last slice ends at the end and is always longer than the overlap, so no passage is a scrap.
    """
    if length <= size:
        return [slice(0, length)]
    step = size - overlap
    return [slice(start, min(start + size, length)) for start in range(0, length - overlap, step)]


def unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale a vector to length one.

    Raises:
        EmbedderError: if it has no direction: all zeros, or not finite.
    """
    norm = float(np.linalg.norm(vector.astype(np.float64)))
    if not np.isfinite(norm) or norm == 0.0:
        raise EmbedderError(
            "The embedding model answered with a vector that is all zeros or not finite. "
            "Try another model in REVERIE_EMBEDDER."
        )
    return (vector / norm).astype(np.float32)


def pooled(vectors: Sequence[NDArray[np.float32]]) -> Embedding:
    """Join the unit vectors of one text's windows; a text of a single window has no passages."""
    if len(vectors) == 1:
        return Embedding(vectors[0])
    return Embedding(unit(np.mean(vectors, axis=0, dtype=np.float32)), tuple(vectors))
