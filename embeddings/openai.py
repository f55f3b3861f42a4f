"""Embeddings from OpenAI, or any server that speaks its API."""

import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

from reverie.embeddings.base import Embedding, QueryEmbedding
from reverie.errors import EmbedderError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from openai import OpenAI


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


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long to wait for a server, in seconds, and what to do between attempts."""

    connect: float = 5.0
    answer: float = 30.0
    total: float = 90.0
    pauses: tuple[float, ...] = (0.5, 2.0, 6.0)
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random


class OpenAIEmbedder:
    """Embeds with `model` on the server at OPENAI_BASE_URL, or at OpenAI when that is not set."""

    def __init__(self, model: str, timeouts: Timeouts | None = None) -> None:
        self._model = model
        self._patience = timeouts or Timeouts()
        self._lock = Lock()
        self._client: OpenAI | None = None
        self._dimensions = KNOWN_DIMENSIONS.get(model)

    @property
    def stamp(self) -> str:
        """The provider and the model's name."""
        return f"openai:{self._model}"

    @property
    def dimensions(self) -> int:
        """The length of the vectors; a model we do not know is asked once.

        Raises:
            EmbedderError: if it has to be asked and the server does not answer.
        """
        if self._dimensions is None:
            self.embed(["How long is a vector?"])
        if self._dimensions is None:
            raise AssertionError("an embedded text always tells its dimensions")
        return self._dimensions

    @property
    def ready(self) -> bool:
        """Whether the client is loaded; the server is not asked."""
        return self._client is not None

    def warm(self) -> None:
        """Load the client; sends nothing.

        Raises:
            EmbedderError: if OPENAI_API_KEY is missing.
        """
        self._connected()

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
            EmbedderError: if the server refuses, fails, stays silent or answers nonsense.
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
                f"{self._where()} answered with vectors of {lengths} dimensions where {expected} were "
                f"expected of {self._model!r}. Check that REVERIE_EMBEDDER names the model it serves."
            )
        self._dimensions = expected
        return [unit(row) for row in rows]

    def _rows(self, answer: Any, expected: int) -> "list[NDArray[np.float32]]":
        """Read the vectors in the order of the texts; the client does not check what it was sent."""
        import numpy as np

        try:
            by_place = {int(item.index): np.asarray(item.embedding, dtype=np.float32) for item in answer.data}
        except (AttributeError, TypeError, ValueError) as error:
            raise self._nonsense("something that is not a list of vectors") from error
        if sorted(by_place) != list(range(expected)) or len(answer.data) != expected:
            raise self._nonsense(f"{len(answer.data)} vectors for {expected} texts")
        rows = [by_place[place] for place in range(expected)]
        if any(row.ndim != 1 or not row.size for row in rows):
            raise self._nonsense("vectors that are not rows of numbers")
        return rows

    def _nonsense(self, what: str) -> EmbedderError:
        return EmbedderError(
            f"{self._where()} answered with {what}. Check that OPENAI_BASE_URL points at the API itself "
            "(it usually ends in /v1) and that the server offers embeddings."
        )

    def _answer(self, batch: list[str]) -> Any:
        """Ask until there is an answer, a refusal, or no patience left."""
        import openai

        client, timeouts = self._connected(), self._patience
        give_up = time.monotonic() + timeouts.total
        for attempt in range(len(timeouts.pauses) + 1):
            left = max(give_up - time.monotonic(), 0.001)
            try:
                return client.embeddings.create(
                    input=batch,
                    model=self._model,
                    encoding_format="float",  # every compatible server speaks it; not all speak base64
                    timeout=openai.Timeout(min(timeouts.answer, left), connect=min(timeouts.connect, left)),
                )
            except openai.OpenAIError as error:
                if attempt == len(timeouts.pauses) or not _may_pass(error):
                    raise self._failed(error, attempt + 1) from error
                pause = max(timeouts.pauses[attempt] * (0.5 + timeouts.jitter()), _asked_pause(error))
                if time.monotonic() + pause >= give_up:
                    raise self._failed(error, attempt + 1) from error
                timeouts.sleep(pause)
            except ValueError as error:  # a body that claims to be JSON and is not
                raise self._nonsense("something that is not JSON") from error
        raise AssertionError("the last attempt returns or raises")

    def _failed(self, error: Exception, attempts: int) -> EmbedderError:
        import openai

        times = "once" if attempts == 1 else f"{attempts} times"
        told = str(error).replace(self._connected().api_key, "…")  # a server may echo the key
        where = self._where()
        if isinstance(error, openai.APITimeoutError):
            message = f"{where} did not answer in time (asked {times}). Try again, or check that it is running."
        elif isinstance(error, openai.APIConnectionError):
            message = (
                f"{where} could not be reached (tried {times}: {error.__cause__ or told}). Check the network "
                "and OPENAI_BASE_URL, or set REVERIE_EMBEDDER=bundled to work offline."
            )
        elif isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
            message = f"{where} refused the key ({told}). Set OPENAI_API_KEY to one that it accepts."
        elif isinstance(error, openai.NotFoundError):
            message = f"{where} does not offer {self._model!r} ({told}). Check REVERIE_EMBEDDER."
        elif isinstance(error, openai.RateLimitError):
            message = f"{where} is over its limit (asked {times}: {told}). Wait, or check the account's quota."
        elif isinstance(error, openai.InternalServerError):
            message = f"{where} failed (asked {times}: {told}). Try again later."
        else:
            message = f"{where} refused the texts ({told}). Check that {self._model!r} is an embedding model."
        return EmbedderError(message)

    def _where(self) -> str:
        return f"The embedding server at {self._connected().base_url}"

    def _connected(self) -> "OpenAI":
        with self._lock:
            if self._client is None:
                key = os.environ.get("OPENAI_API_KEY", "").strip()
                if not key:
                    raise EmbedderError(
                        f"REVERIE_EMBEDDER is {self.stamp!r}, but there is no key. Set OPENAI_API_KEY; "
                        "a local server at OPENAI_BASE_URL needs one too, any word will do if it checks none."
                    )
                import openai

                self._client = openai.OpenAI(api_key=key, max_retries=0)
            return self._client


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


def _may_pass(error: Exception) -> bool:
    """Whether the same request could succeed a moment later."""
    import openai

    if isinstance(error, openai.RateLimitError):
        return error.code != "insufficient_quota"
    return isinstance(error, openai.APIConnectionError | openai.InternalServerError | openai.ConflictError)


def _asked_pause(error: Exception) -> float:
    """Return the seconds a server asked us to wait, if it did so in numbers."""
    response = getattr(error, "response", None)
    try:
        return float(response.headers.get("retry-after", 0)) if response is not None else 0.0
    except ValueError:
        return 0.0
