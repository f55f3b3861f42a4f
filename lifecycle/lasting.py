"""What decays and what does not (000-decays-or-not).

Conversations, task summaries and assistant messages decay; learned facts, decisions and identity do not.
Here: the semantic, procedural and codebase layers last, and so do decisions, preferences and peer cards
wherever they lie, except in working memory, which is volatile whatever it holds.
"""

from typing import Final

from reverie.memory import Kind, Layer, Memory, Status

LASTING_LAYERS: Final[frozenset[Layer]] = frozenset({"semantic", "procedural", "codebase"})
LASTING_KINDS: Final[frozenset[Kind]] = frozenset({"decision", "preference", "peer_card"})
LIVING: Final[frozenset[Status]] = frozenset({"active", "challenged"})
"""The statuses of memories that the rules still decide about; the others were decided on before."""

_KIND_WORDS: Final[dict[Kind, str]] = {
    "decision": "decisions",
    "preference": "preferences",
    "peer_card": "peer cards",
}


def is_lasting(memory: Memory) -> bool:
    """Say whether the forgetting curve passes this memory by."""
    return why_lasting(memory) is not None


def why_lasting(memory: Memory) -> str | None:
    """Return why this memory does not decay, or None if it does."""
    if memory.layer in LASTING_LAYERS:
        return f"{memory.layer} memories do not decay"
    if memory.kind in LASTING_KINDS and memory.layer != "working":
        return f"{_KIND_WORDS[memory.kind]} do not decay"
    return None


def why_held(memory: Memory) -> str | None:
    """Return why no rule of age or worth may let this memory go, or None if they may."""
    if memory.pinned:
        return "it is pinned"
    if memory.core:
        return "it is a core memory"
    return why_lasting(memory)
