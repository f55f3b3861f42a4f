"""The Embedder protocol, its results, the passages of long texts, and the choice by REVERIE_EMBEDDER."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from reverie.errors import EmbedderError, SettingError
from reverie.settings import BUNDLED_EMBEDDER, EMBEDDER, Settings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Embedding:
    """One text as a unit vector, and the unit vectors of its windows when it was too long for one.

    A model that runs here also gives the vectors of the text's word pieces, packed (see token_vectors.py), and embeds
    only a share of a very long text.
    """

    vector: "NDArray[np.float32]"
    passages: "tuple[NDArray[np.float32], ...]" = ()
    pieces: bytes = b""
    share: float = 1.0  # of the text, that was embedded


@dataclass(frozen=True, slots=True, eq=False)
class QueryEmbedding:
    """A question as a unit vector and, from a model that runs here, a unit vector for each of its word pieces."""

    vector: "NDArray[np.float32]"
    pieces: "NDArray[np.float32] | None" = None
    words: tuple[str, ...] = ()  # the word that each piece is part of
    rarity: tuple[float, ...] = ()  # how rare each piece is in the language, from 0 to 1
    understood: float = 1.0  # the share of the question that is in a script which the model was taught


class Embedder(Protocol):
    """Turns texts into vectors; safe to share between threads."""

    @property
    def stamp(self) -> str:
        """The provider and model, written into the store beside every vector; known without loading."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of every vector.

        Raises:
            EmbedderError: if only the model's server knows it, and the server does not answer.
        """
        ...

    @property
    def ready(self) -> bool:
        """Return whether the next call finds everything loaded."""
        ...

    def warm(self) -> None:
        """Load what embedding needs; a second call does nothing.

        Raises:
            EmbedderError: if it cannot be loaded.
        """
        ...

    def read(self, question: str) -> QueryEmbedding:
        """Embed a question.

        Raises:
            EmbedderError: if it could not be embedded.
        """
        ...

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Embed each text, in order.

        Raises:
            EmbedderError: if any text could not be embedded; then none is returned.
        """
        ...


def windows(length: int, size: int, overlap: int) -> list[slice]:
    """Cover `length` tokens with slices of at most `size`, each sharing `overlap` with the one before.

    The last slice ends at the end and is always longer than the overlap, so no passage is a scrap.
    """
    if length <= size:
        return [slice(0, length)]
    step = size - overlap
    return [slice(start, min(start + size, length)) for start in range(0, length - overlap, step)]


def spread(count: int, most: int) -> list[int]:
    """Return at most `most` indexes of a text's windows, spread evenly, with the first and the last."""
    if count <= most:
        return list(range(count))
    return [round(number * (count - 1) / (most - 1)) for number in range(most)]


def unit(vector: "NDArray[np.float32]") -> "NDArray[np.float32]":
    """Scale a vector to length one.

    Raises:
        EmbedderError: if it has no direction: all zeros, or not finite.
    """
    import numpy as np

    norm = float(np.linalg.norm(vector.astype(np.float64)))
    if not np.isfinite(norm) or norm == 0.0:
        raise EmbedderError(
            "The embedding model answered with a vector that is all zeros or not finite. "
            "Try another model in REVERIE_EMBEDDER."
        )
    return (vector / norm).astype(np.float32)


def pooled(vectors: "Sequence[NDArray[np.float32]]") -> Embedding:
    """Return the embedding of a text from the unit vectors of its windows; a single window makes no passages."""
    if len(vectors) == 1:
        return Embedding(vectors[0])
    import numpy as np

    return Embedding(unit(np.mean(vectors, axis=0, dtype=np.float32)), tuple(vectors))


def embedder_from(settings: Settings) -> Embedder:
    """Return the embedder that the settings name; it loads nothing until it is used.

    Raises:
        SettingError: if no embedder has that name.
    """
    if settings.embedder == BUNDLED_EMBEDDER:
        from reverie.embeddings.bundled import BundledEmbedder

        return BundledEmbedder()
    provider, _, model = settings.embedder.partition(":")
    if provider == "openai" and model.strip():
        from reverie.embeddings.openai import OpenAIEmbedder

        return OpenAIEmbedder(model.strip())
    raise SettingError(EMBEDDER.variable, settings.embedder, EMBEDDER.takes)
