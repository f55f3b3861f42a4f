"""The one place where a text is looked at before a dream writes it or a language model is shown it.

Secrets and poison are the guard's matter: its scan is called from here, and from nowhere else in the dream.
"""

from reverie.memory import Memory

LEAST_TRUST_TO_BUILD_ON = 0.5
"""A card, digest or bridge speaks with the store's voice, so it rests on nothing less trusted than this."""


def may_be_shown(memory: Memory) -> bool:
    """Say whether a memory's text may leave for a language model."""
    return memory.status in ("active", "challenged")


def may_be_built_on(memory: Memory) -> bool:
    """Say whether a card, digest or bridge may repeat a memory."""
    return memory.status == "active" and memory.trust >= LEAST_TRUST_TO_BUILD_ON and memory.forget_after is None


def may_be_written(text: str) -> bool:
    """Say whether a text that a model or an assistant proposed may be stored."""
    return bool(text.strip())
