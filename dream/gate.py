"""The one place where a text is looked at before a dream builds on it, writes it, or shows it to a language model."""

from reverie.guard.instructions import orders_in
from reverie.guard.private import without_private
from reverie.guard.secrets import redact
from reverie.memory import Memory

LEAST_TRUST_TO_BUILD_ON = 0.5
"""A card, digest or bridge speaks with the store's voice, so it rests on nothing less trusted than this."""


def may_be_quoted(memory: Memory) -> bool:
    """Say whether a day's digest may repeat a memory."""
    return memory.status == "active" and memory.trust >= LEAST_TRUST_TO_BUILD_ON and memory.forget_after is None


def may_be_built_on(memory: Memory) -> bool:
    """Say whether a card or bridge, which lasts, may rest on a memory: not on one with a limited lifespan."""
    return may_be_quoted(memory) and memory.tier in (None, "permanent")


def shown(text: str) -> str:
    """Return a text as it may leave for a language model: without secrets and private parts."""
    return redact(without_private(text).text).text


def may_be_written(text: str) -> bool:
    """Say whether a text that a model or an assistant proposed may be stored: no secrets, no orders to anybody."""
    return bool(text.strip()) and not (without_private(text).dropped or redact(text).found or orders_in(text))
