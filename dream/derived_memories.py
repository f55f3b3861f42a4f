"""Digests, cards and bridges, which a dream derives from other memories: what they may quote, their trust, and the
screening of their text.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from reverie.dream.plan import derived_memory_id
from reverie.guard.injection import signs_of_injection
from reverie.guard.secrets import redact, without_private
from reverie.ids import content_hash
from reverie.lifecycle.vitals import derived_trust, first_stability
from reverie.memory import Kind, Layer, Memory
from reverie.text.tokenize import cut_at_word, one_line, title_of

LEAST_TRUST_TO_BUILD_ON = 0.5
"""Readers cannot tell whose words a card, digest or bridge repeats, so it quotes nothing less trusted than this."""


def may_be_quoted(memory: Memory) -> bool:
    """Whether a digest may quote a memory."""
    return memory.status == "active" and memory.trust >= LEAST_TRUST_TO_BUILD_ON and memory.forget_after is None


def may_be_built_on(memory: Memory) -> bool:
    """Whether a card or bridge may be derived from a memory: these last, so the memory must have no limited tier."""
    return may_be_quoted(memory) and memory.tier in (None, "permanent")


def sendable(text: str) -> str:
    """Return a text without secrets and private parts, as it may be sent to a language model."""
    return redact(without_private(text).text).text


def may_be_written(text: str) -> bool:
    """Whether a text from a model or an assistant may be stored: no secrets, no private parts, no instructions."""
    return bool(text.strip()) and not (
        without_private(text).dropped or redact(text).found or signs_of_injection(text)
    )


LONGEST_LINE = 160
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


def line_of(memory: Memory, naming: str = "") -> str:
    """Return the sentence of a memory that names a subject, or its first one, cut to the length of a line."""
    sentences = [part.strip() for part in _SENTENCE_END.split(memory.content.strip()) if part.strip()]
    chosen = next(
        (part for part in sentences if naming and naming in part.casefold()), sentences[0] if sentences else ""
    )
    return cut_at_word(one_line(chosen), LONGEST_LINE)


def spelled(entity: str, memories: tuple[Memory, ...]) -> str:
    """Return an entity in the spelling of the first memory that names it."""
    for memory in memories:
        at = memory.content.casefold().find(entity)
        if at >= 0 and len(memory.content.casefold()) == len(memory.content):
            return memory.content[at : at + len(entity)]
    return entity


DERIVED_IMPORTANCE = 0.3
"""A derived memory must not outrank the memories that it repeats."""


def derived_memory(
    text: str, *, kind: Kind, layer: Layer, project: str, sources: Sequence[Memory], now: datetime, **fields: Any
) -> Memory:
    """Return a memory derived from others; its id is a hash of the moment and the ids of its sources."""
    return Memory(
        id=derived_memory_id(
            now, kind, project, *fields.get("entities", ()), *sorted(memory.id for memory in sources)
        ),
        content=text,
        content_hash=content_hash(text),
        kind=kind,
        layer=layer,
        project=project,
        source="dream",
        trust=derived_trust(memory.trust for memory in sources),
        confidence=min(memory.confidence for memory in sources),
        derived_from=tuple(memory.id for memory in sources),
        importance=DERIVED_IMPORTANCE,
        stability=first_stability(DERIVED_IMPORTANCE),
        created_at=now,
        happened_at=now,
        updated_at=now,
        embedder=sources[0].embedder,
        **{"title": title_of(text), **fields},
    )
