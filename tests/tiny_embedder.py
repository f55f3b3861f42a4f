"""A deterministic embedder for tests: words hashed into 64 dimensions."""

import re
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reverie.embeddings.base import Embedding, QueryEmbedding, pooled, unit, windows

IMPORT = (
    f"import sys; sys.path.append({str(Path(__file__).parents[1])!r}); from tests.tiny_embedder import TinyEmbedder"
)
"""What a program that a test starts begins with, to have this embedder."""

DIMENSIONS = 64
WINDOW_WORDS = 50
_OVERLAP_WORDS = 6
_WORD = re.compile(r"\w+")


class TinyEmbedder:
    """Counts hashed words; a text of more than 50 words also has passages."""

    @property
    def stamp(self) -> str:
        """`tiny:64`."""
        return f"tiny:{DIMENSIONS}"

    @property
    def dimensions(self) -> int:
        """64."""
        return DIMENSIONS

    @property
    def ready(self) -> bool:
        """Always: there is nothing to load."""
        return True

    def warm(self) -> None:
        """Do nothing."""

    def read(self, question: str) -> QueryEmbedding:
        """Embed a question as any text; words have no pieces here."""
        [embedding] = self.embed([question])
        return QueryEmbedding(embedding.vector)

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Embed each text by its words, without regard to case or order."""
        return [_embedding(_WORD.findall(text.lower())) for text in texts]


def _embedding(words: list[str]) -> Embedding:
    return pooled([_vector(words[cut]) for cut in windows(len(words), WINDOW_WORDS, _OVERLAP_WORDS)])


def _vector(words: list[str]) -> NDArray[np.float32]:
    vector = np.zeros(DIMENSIONS, dtype=np.float32)
    for word in words or [""]:  # a text without words still needs a direction
        vector[_dimension(word)] += 1.0
    return unit(vector)


def _dimension(word: str) -> int:
    return int.from_bytes(blake2b(word.encode("utf-8", "replace"), digest_size=4).digest()) % DIMENSIONS
