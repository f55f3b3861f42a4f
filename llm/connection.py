"""The one client for OpenAI-compatible servers: key, timeouts, retries, and errors that say what to try.

The language model and the hosted embedder both use it; only this module builds an `openai.OpenAI`.
"""

import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

from reverie.errors import ReverieError

if TYPE_CHECKING:
    from openai import OpenAI, Timeout


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long to wait for a server, in seconds, and how to wait between attempts."""

    answer: float
    total: float
    pauses: tuple[float, ...]
    connect: float = 5.0
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random


@dataclass(frozen=True, slots=True)
class Service:
    """The use of a server: the words and the error class of its messages."""

    server: str
    setting: str
    """The environment variable that names the model."""
    error: type[ReverieError]
    if_silent: str
    if_failing: str
    if_refused: str
    if_unreachable: str = "Check the network and OPENAI_BASE_URL."


class Connection:
    """A client for one model on the server at OPENAI_BASE_URL, built by its first use; safe to share."""

    def __init__(self, service: Service, model: str, timeouts: Timeouts) -> None:
        self._service = service
        self._model = model
        self._timeouts = timeouts
        self._lock = Lock()
        self._client: OpenAI | None = None

    @property
    def is_open(self) -> bool:
        """Return whether the client is built. The server may never have been asked."""
        return self._client is not None

    @property
    def server(self) -> str:
        """The server and its address, for the start of a message."""
        return f"The {self._service.server} at {self.client().base_url}"

    @property
    def address(self) -> str:
        """The address of the server."""
        return str(self.client().base_url)

    def client(self) -> "OpenAI":
        """Return the client; sends nothing.

        Raises:
            ReverieError: of the service's class, if OPENAI_API_KEY is missing.
        """
        with self._lock:
            if self._client is None:
                key = os.environ.get("OPENAI_API_KEY", "").strip()
                if not key:
                    raise self._service.error(
                        f"{self._service.setting} is 'openai:{self._model}', but there is no key. Set "
                        "OPENAI_API_KEY; a local server at OPENAI_BASE_URL needs one too; any word will do if it "
                        "checks none."
                    )
                import openai

                self._client = openai.OpenAI(api_key=key, max_retries=0)
            return self._client

    def close(self) -> None:
        """Close the client, if there is one."""
        if self._client is not None:
            self._client.close()

    def request(self, send: "Callable[[OpenAI, Timeout], Any]") -> Any:
        """Call `send` until it returns, the server refuses, or the time is up; pauses are as long as the server asks.

        Raises:
            ReverieError: of the service's class, if there is no answer.
            ValueError: if the body claims to be JSON and is not.
        """
        import openai

        client, timeouts = self.client(), self._timeouts
        deadline = time.monotonic() + timeouts.total
        for attempt in range(len(timeouts.pauses) + 1):
            left = max(deadline - time.monotonic(), 0.001)
            try:
                return send(client, openai.Timeout(min(timeouts.answer, left), connect=min(timeouts.connect, left)))
            except openai.OpenAIError as error:
                if attempt == len(timeouts.pauses) or not _is_transient(error):
                    raise self._failure(error, attempt + 1) from error
                pause = max(timeouts.pauses[attempt] * (0.5 + timeouts.jitter()), _requested_pause(error))
                if time.monotonic() + pause >= deadline:
                    raise self._failure(error, attempt + 1) from error
                timeouts.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def _failure(self, error: Exception, attempts: int) -> ReverieError:
        import openai

        service, server = self._service, self.server
        times = "once" if attempts == 1 else f"{attempts} times"
        detail = str(error).replace(self.client().api_key, "…")  # a server may echo the key
        if isinstance(error, openai.APITimeoutError):
            message = f"{server} did not answer in time (asked {times}). {service.if_silent}"
        elif isinstance(error, openai.APIConnectionError):
            cause = str(error.__cause__ or detail).replace(self.client().api_key, "…")
            message = f"{server} could not be reached (tried {times}: {cause}). {service.if_unreachable}"
        elif isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
            message = f"{server} refused the key ({detail}). Set OPENAI_API_KEY to one that it accepts."
        elif isinstance(error, openai.NotFoundError):
            message = f"{server} does not offer {self._model!r} ({detail}). Check {service.setting}."
        elif isinstance(error, openai.RateLimitError):
            message = f"{server} is over its limit (asked {times}: {detail}). Wait, or check the account's quota."
        elif isinstance(error, openai.InternalServerError):
            message = f"{server} failed (asked {times}: {detail}). {service.if_failing}"
        else:
            message = f"{server} refused the request ({detail}). {service.if_refused}"
        return service.error(message)


def _is_transient(error: Exception) -> bool:
    """Return whether the same request could succeed a moment later."""
    import openai

    if complains_of_format(error):
        return False
    if isinstance(error, openai.RateLimitError):
        return error.code != "insufficient_quota"
    return isinstance(error, openai.APIConnectionError | openai.InternalServerError | openai.ConflictError)


def complains_of_format(error: BaseException | None) -> bool:
    """Return whether a server says that it does not take the response format; some do so with a status of 500."""
    return error is not None and any(word in str(error) for word in ("response_format", "json_schema", "grammar"))


def _requested_pause(error: Exception) -> float:
    """Return the seconds that a server asked to wait for, or zero if it gave no number."""
    response = getattr(error, "response", None)
    try:
        return float(response.headers.get("retry-after", 0)) if response is not None else 0.0
    except ValueError:
        return 0.0
