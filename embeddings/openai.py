"""The hosted embedder: vectors from OpenAI, or from any server that speaks its API."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from reverie.embeddings.base import Embedding, QueryEmbedding
from reverie.errors import EmbedderError
from reverie.llm.connection import Connection, Service, Timeouts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TIMEOUTS = Timeouts(answer=30.0, total=90.0, pauses=(0.5, 2.0, 6.0))
_EMBEDDINGS = Service(
    server="embedding server",
    setting="REVERIE_EMBEDDER",
    error=EmbedderError,
    if_silent="Try again, or check that it is running.",
    if_failing="Try again later.",
    if_refused="Check that REVERIE_EMBEDDER names an embedding model.",
    if_unreachable="Check the network and OPENAI_BASE_URL, or set REVERIE_EMBEDDER=bundled to work offline.",
)

KNOWN_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
# The API takes 8,191 tokens a text and 300,000 a request. No token is shorter than a byte, so these
# bounds hold for every model and language without knowing its vocabulary.
WINDOW_BYTES = 8_000
OVERLAP_BYTES = 400
_REQUEST_BYTES = 290_000
_REQUEST_TEXTS = 512


class OpenAIEmbedder:
    """Embeds with `model` on the server at OPENAI_BASE_URL, or at OpenAI when that is not set."""

    def __init__(self, model: str, timeouts: Timeouts | None = None) -> None:
        self._model = model
        self._connection = Connection(_EMBEDDINGS, model, timeouts or TIMEOUTS)
        self._dimensions = KNOWN_DIMENSIONS.get(model)

    @property
    def stamp(self) -> str:
        """The provider and the model's name."""
        return f"openai:{self._model}"

    @property
    def dimensions(self) -> int:
        """The length of the vectors; for a model that is not listed, one request finds it.

        Raises:
            EmbedderError: if it has to be asked and the server does not answer.
        """
        if self._dimensions is None:
            self.embed(["How long is a vector?"])
        if self._dimensions is None:
            raise AssertionError("embed sets the dimensions")
        return self._dimensions

    @property
    def ready(self) -> bool:
        """Return whether the client is loaded; the server is not asked."""
        return self._connection.is_open

    def warm(self) -> None:
        """Load the client; sends nothing.

        Raises:
            EmbedderError: if OPENAI_API_KEY is missing.
        """
        self._connection.client()

    def read(self, question: str) -> QueryEmbedding:
        """Embed a question as any text: the service gives one vector and no word pieces.

        Raises:
            EmbedderError: if the service does not answer as it should.
        """
        [embedding] = self.embed([question])
        return QueryEmbedding(embedding.vector)

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Embed each text, in order; one of more than 8,000 bytes also gets passages.

        Raises:
            EmbedderError: if the server refuses, fails, does not answer, or answers with something else.
        """
        if not texts:
            return []
        from reverie.embeddings.base import pooled

        cut = [_windows_of(text) for text in texts]
        every_window = [window for windows in cut for window in windows]
        vectors = (vector for batch in _batches(every_window) for vector in self._request(batch))
        return [pooled([next(vectors) for _ in windows]) for windows in cut]

    def _request(self, batch: list[str]) -> "list[NDArray[np.float32]]":
        from reverie.embeddings.base import unit

        rows = self._rows(self._answer(batch), len(batch))
        found = {row.shape[0] for row in rows}
        expected = self._dimensions or rows[0].shape[0]
        if found != {expected}:
            lengths = ", ".join(str(length) for length in sorted(found))
            raise EmbedderError(
                f"{self._connection.server} answered with vectors of {lengths} dimensions where {expected} were "
                f"expected of {self._model!r}. Check that REVERIE_EMBEDDER names the model it serves."
            )
        self._dimensions = expected
        return [unit(row) for row in rows]

    def _rows(self, answer: Any, expected: int) -> "list[NDArray[np.float32]]":
        """Return the vectors in the order of the texts; the openai client does not check the answer."""
        import numpy as np

        try:
            by_index = {int(item.index): np.asarray(item.embedding, dtype=np.float32) for item in answer.data}
        except (AttributeError, TypeError, ValueError) as error:
            raise self._nonsense("something that is not a list of vectors") from error
        if sorted(by_index) != list(range(expected)) or len(answer.data) != expected:
            raise self._nonsense(f"{len(answer.data)} vectors for {expected} texts")
        rows = [by_index[index] for index in range(expected)]
        if any(row.ndim != 1 or not row.size for row in rows):
            raise self._nonsense("vectors that are not rows of numbers")
        return rows

    def _nonsense(self, what: str) -> EmbedderError:
        return EmbedderError(
            f"{self._connection.server} answered with {what}. Check that OPENAI_BASE_URL points at the API itself "
            "(it usually ends in /v1) and that the server offers embeddings."
        )

    def _answer(self, batch: list[str]) -> Any:
        try:
            return self._connection.request(
                lambda client, timeout: client.embeddings.create(
                    input=batch,
                    model=self._model,
                    encoding_format="float",  # every compatible server speaks it; not all speak base64
                    timeout=timeout,
                )
            )
        except ValueError as error:
            raise self._nonsense("something that is not JSON") from error


def _windows_of(text: str) -> list[str]:
    """Cut a text by bytes; a character or word broken at an edge is whole in the overlap."""
    from reverie.embeddings.base import windows

    encoded = text.encode("utf-8", "replace")
    cut = [encoded[part].decode("utf-8", "ignore") for part in windows(len(encoded), WINDOW_BYTES, OVERLAP_BYTES)]
    return [window or " " for window in cut]  # the API refuses an empty text


def _batches(windows: list[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    weight = 0
    for window in windows:
        size = len(window.encode("utf-8"))
        if batch and (len(batch) == _REQUEST_TEXTS or weight + size > _REQUEST_BYTES):
            yield batch
            batch, weight = [], 0
        batch.append(window)
        weight += size
    if batch:
        yield batch
