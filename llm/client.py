"""Asking OpenAI, or any server that speaks its chat API, for structured answers, each priced before it is sent."""

import json
import os
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

from reverie.errors import BudgetSpent, ModelError, ModelNonsense
from reverie.llm.prompts import RULE, fenced

if TYPE_CHECKING:
    from openai import OpenAI


LIST_PRICES: dict[str, tuple[float, float]] = {
    "gpt-4o": (2.50, 10.00),
    "gpt-4o-mini": (0.15, 0.60),
    "gpt-4.1": (2.00, 8.00),
    "gpt-4.1-mini": (0.40, 1.60),
    "gpt-4.1-nano": (0.10, 0.40),
    "gpt-5": (1.25, 10.00),
    "gpt-5-mini": (0.25, 2.00),
    "gpt-5-nano": (0.05, 0.40),
    "o4-mini": (1.10, 4.40),
}
"""Dollars for a million tokens in and out."""

UNKNOWN_PRICE = (10.00, 30.00)
"""For a model not on the list: rather stop too early than spend what nobody agreed to."""

_CENTS_PER_TOKEN = 100 / 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens, in and out."""

    sent: float
    answered: float

    def cents(self, tokens_sent: int, tokens_answered: int) -> float:
        """Return what so many tokens cost."""
        return (tokens_sent * self.sent + tokens_answered * self.answered) * _CENTS_PER_TOKEN


def price_of(model: str, given: tuple[float, float] | None = None) -> Price:
    """Return the price that was set, or the list price, or a high one."""
    return Price(*(given or LIST_PRICES.get(model, UNKNOWN_PRICE)))


class Budget:
    """What may be spent in one night; never more, whatever the model says about its own use."""

    def __init__(self, cents: float) -> None:
        self.cents = cents
        self.spent = 0.0

    def check(self, call_cents: float) -> None:
        """Make sure that a call fits.

        Raises:
            BudgetSpent: if it could pass the budget.
        """
        if self.spent + call_cents > self.cents:
            raise BudgetSpent(self.spent, call_cents, self.cents)

    def charge(self, call_cents: float) -> None:
        """Note what a call has cost."""
        self.spent += call_cents


Form = Mapping[str, type]
"""The parts of an answer: str, bool, or list for a list of texts."""

_TOKENS_AROUND = 64  # what the chat form adds to the texts
_JSON_TYPES: Mapping[type, dict[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    list: {"type": "array", "items": {"type": "string"}},
}


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long to wait for a server, in seconds, and what to do between attempts."""

    connect: float = 5.0
    answer: float = 60.0
    total: float = 120.0
    pauses: tuple[float, ...] = (1.0, 4.0)
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random


@dataclass(frozen=True, slots=True)
class Call:
    """One call, for the dream's report."""

    purpose: str
    tokens_sent: int
    tokens_answered: int
    cents: float
    outcome: str


class LanguageModel:
    """A model behind a budget; every call is counted, priced and noted."""

    def __init__(
        self, model: str, budget: Budget, price: Price, count: Callable[[str], int], timeouts: Timeouts | None = None
    ) -> None:
        self._model = model
        self._budget = budget
        self._price = price
        self._count = count
        self._patience = timeouts or Timeouts()
        self._lock = Lock()
        self._client: OpenAI | None = None
        self.calls: list[Call] = []

    @property
    def spent_cents(self) -> float:
        """What the calls so far have cost, as far as is known, and rather too much than too little."""
        return self._budget.spent

    def ask(self, purpose: str, task: str, data: Mapping[str, Any], form: Form, most_tokens: int) -> dict[str, Any]:
        """Put one task to the model, the memories fenced off as data, and return its checked answer.

        Raises:
            BudgetSpent: if the call could pass the budget; nothing is sent then.
            ModelError: if the server refuses, fails, stays silent or answers nonsense.
        """
        messages = [{"role": "system", "content": f"{task}\n\n{RULE}"}, {"role": "user", "content": fenced(data)}]
        sent = _TOKENS_AROUND + sum(self._count(message["content"]) for message in messages)
        sent += self._count(json.dumps(_schema(form)))
        most = self._price.cents(sent, most_tokens)
        self._budget.check(most)
        try:
            answer = self._answer(messages, form, most_tokens)
            tokens, cents = self._used(answer, sent, most_tokens)
        except ModelError as error:
            self._note(purpose, sent, 0, most, str(error))  # it may have been billed all the same
            raise
        try:
            read = _read(answer, form)
        except ValueError as error:
            self._note(purpose, sent, tokens, cents, f"nonsense: {error}")
            raise self._nonsense(str(error)) from error
        self._note(purpose, sent, tokens, cents, "answered")
        return read

    def _note(self, purpose: str, sent: int, answered: int, cents: float, outcome: str) -> None:
        self._budget.charge(cents)
        self.calls.append(Call(purpose, sent, answered, cents, outcome))

    def _used(self, answer: Any, sent: int, most_tokens: int) -> tuple[int, float]:
        """Return the tokens of an answer and the cost of the call; a server that does not say is believed nothing."""
        usage = getattr(answer, "usage", None)
        told = getattr(usage, "completion_tokens", None)
        prompt = getattr(usage, "prompt_tokens", None)
        answered = told if isinstance(told, int) and told >= 0 else most_tokens
        asked = max(sent, prompt) if isinstance(prompt, int) else sent
        return answered, self._price.cents(asked, answered)

    def _answer(self, messages: list[dict[str, str]], form: Form, most_tokens: int) -> Any:
        """Ask until there is an answer, a refusal, or no patience left."""
        import openai

        client, timeouts = self._connected(), self._patience
        give_up = time.monotonic() + timeouts.total
        create: Any = client.chat.completions.create  # its overloads know no plain lists of messages
        for attempt in range(len(timeouts.pauses) + 1):
            left = max(give_up - time.monotonic(), 0.001)
            try:
                return create(
                    model=self._model,
                    messages=messages,
                    max_completion_tokens=most_tokens,
                    response_format={
                        "type": "json_schema",
                        "json_schema": {"name": "answer", "strict": True, "schema": _schema(form)},
                    },
                    timeout=openai.Timeout(min(timeouts.answer, left), connect=min(timeouts.connect, left)),
                )
            except openai.OpenAIError as error:
                if attempt == len(timeouts.pauses) or not _may_pass(error):
                    raise self._failed(error, attempt + 1) from error
                pause = timeouts.pauses[attempt] * (0.5 + timeouts.jitter())
                if time.monotonic() + pause >= give_up:
                    raise self._failed(error, attempt + 1) from error
                timeouts.sleep(pause)
            except ValueError as error:  # a body that claims to be JSON and is not
                raise self._nonsense("something that is not JSON") from error
        raise AssertionError("the last attempt returns or raises")

    def _failed(self, error: Exception, attempts: int) -> ModelError:
        import openai

        times = "once" if attempts == 1 else f"{attempts} times"
        told = str(error).replace(self._connected().api_key, "…")  # a server may echo the key
        where = f"The language model server at {self._connected().base_url}"
        if isinstance(error, openai.APITimeoutError):
            return ModelError(
                f"{where} did not answer in time (asked {times}). Nothing was changed; try again later."
            )
        if isinstance(error, openai.APIConnectionError):
            return ModelError(f"{where} could not be reached (tried {times}). Check the network and OPENAI_BASE_URL.")
        if isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
            return ModelError(f"{where} refused the key ({told}). Set OPENAI_API_KEY to one that it accepts.")
        if isinstance(error, openai.NotFoundError):
            return ModelError(f"{where} does not offer {self._model!r} ({told}). Check REVERIE_LLM.")
        if isinstance(error, openai.RateLimitError):
            return ModelError(
                f"{where} is over its limit (asked {times}: {told}). Wait, or check the account's quota."
            )
        return ModelError(f"{where} failed or refused (asked {times}: {told}). Nothing was changed.")

    def _nonsense(self, what: str) -> ModelNonsense:
        return ModelNonsense(
            f"The language model {self._model!r} did not answer as asked ({what}). Nothing was changed; check that "
            "OPENAI_BASE_URL points at the API itself and that the model can answer in JSON."
        )

    def _connected(self) -> "OpenAI":
        with self._lock:
            if self._client is None:
                key = os.environ.get("OPENAI_API_KEY", "").strip()
                if not key:
                    raise ModelError(
                        f"REVERIE_LLM is 'openai:{self._model}', but there is no key. Set OPENAI_API_KEY; "
                        "a local server at OPENAI_BASE_URL needs one too, any word will do if it checks none."
                    )
                import openai

                self._client = openai.OpenAI(api_key=key, max_retries=0)
            return self._client

    def close(self) -> None:
        """Hang up."""
        if self._client is not None:
            self._client.close()


def _schema(form: Form) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: _JSON_TYPES[kind] for name, kind in form.items()},
        "required": list(form),
        "additionalProperties": False,
    }


def _read(answer: Any, form: Form) -> dict[str, Any]:
    """Read the parts of an answer; structured output is a promise that not every server keeps.

    Raises:
        ValueError: saying what is wrong with it.
    """
    choices = getattr(answer, "choices", None)
    message = getattr(choices[0], "message", None) if isinstance(choices, list) and choices else None
    if message is None:
        raise ValueError("no message")
    if getattr(message, "refusal", None):
        raise ValueError("it refused")
    if getattr(choices[0], "finish_reason", "stop") == "length":  # type: ignore[index]
        raise ValueError("cut off in the middle")
    content = getattr(message, "content", None)
    if not isinstance(content, str):
        raise ValueError("no text")
    try:
        read = json.loads(content)
    except json.JSONDecodeError as error:
        raise ValueError("not JSON") from error
    if not isinstance(read, dict):
        raise ValueError("not an object")
    for name, kind in form.items():
        value = read.get(name)
        texts = kind is not list or (isinstance(value, list) and all(isinstance(item, str) for item in value))
        if not isinstance(value, kind) or not texts:
            raise ValueError(f"{name!r} is missing or of the wrong kind")
    return {name: read[name] for name in form}


def _may_pass(error: Exception) -> bool:
    """Whether the same request could succeed a moment later."""
    import openai

    if isinstance(error, openai.RateLimitError):
        return error.code != "insufficient_quota"
    return isinstance(error, openai.APIConnectionError | openai.InternalServerError | openai.ConflictError)
