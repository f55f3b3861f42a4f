"""Guessing the kind and the layer of a text that came without them, by the words it uses."""

import re
from typing import Final

from reverie.memory import Kind, Layer

# In order: the first that fits wins. What was turned down mentions what was chosen, so it comes first.
_WORDINGS: Final[tuple[tuple[Kind, str], ...]] = (
    (
        "rejected",
        r"\b(rejected|ruled out|decided against|abandoned|gave up on|tried .{0,80}\b(but|didn't|did not))\b",
    ),
    (
        "decision",
        r"\b(decided|decision|we (chose|choose|picked|agreed|settled)|going with|will use|instead of)\b",
    ),
    ("preference", r"\b(prefers?|preference|likes?|dislikes?|always|never|please use|style:)\b"),
    (
        "error_fix",
        r"\b(fix(ed|es)?|bug|error|exception|traceback|crash(es|ed)?|root cause|workaround|fails? (with|when))\b",
    ),
    ("how_to", r"\b(how to|to (run|build|deploy|test|start|install|release)\b|run `|steps?:|use `[^`]+` to)"),
    (
        "event",
        r"\b(today|yesterday|just now|this (morning|week)|deployed|released|merged|shipped|on \d{4}-\d\d)\b",
    ),
)
_CUES = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _WORDINGS)
_PASSING = re.compile(
    r"\b(currently|right now|at the moment|working on|in progress|todo|next step|for now)\b", re.IGNORECASE
)

_LAYERS: Final[dict[Kind, Layer]] = {
    "fact": "semantic",
    "preference": "semantic",
    "peer_card": "semantic",
    "bridge": "semantic",
    "decision": "procedural",
    "how_to": "procedural",
    "rejected": "procedural",
    "event": "episodic",
    "error_fix": "episodic",
    "digest": "episodic",
    "code": "codebase",
}


def kind_of(content: str) -> Kind:
    """Return the kind that a text's wording suggests; a plain statement is a fact."""
    return next((kind for kind, cue in _CUES if cue.search(content)), "fact")


def layer_of(kind: Kind, content: str) -> Layer:
    """Return the layer where memories of this kind belong; what is said of the moment starts in working."""
    if kind in ("fact", "event") and _PASSING.search(content):
        return "working"
    return _LAYERS[kind]
