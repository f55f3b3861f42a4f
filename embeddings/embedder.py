"""What every embedder offers, whether its model is bundled or far away."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # numpy costs 0.1 s and 12 MB, and naming an embedder needs none of it
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Embedding:
    """One text as a unit vector, and the unit vectors of its windows when it was too long for one.

    A model that runs here also gives the vectors of the text's word pieces, packed (see pieces.py).
    """

    vector: "NDArray[np.float32]"
    passages: "tuple[NDArray[np.float32], ...]" = ()
    pieces: bytes = b""


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
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
        """Whether the next call finds everything loaded."""
        ...

    def warm(self) -> None:
        """Load what embedding needs; a second call does nothing.

        Raises:
            EmbedderError: if it cannot be loaded.
        """
        ...

    def read(self, question: str) -> Reading:
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
