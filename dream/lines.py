"""Memories as short lines, for digests and cards that quote instead of retelling."""

import re

from reverie.memory import Memory

LONGEST_LINE = 160
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


def line_of(memory: Memory, naming: str = "") -> str:
    """Return the sentence of a memory that names a subject, or its first one, short enough for a list."""
    sentences = [part.strip() for part in _SENTENCE_END.split(memory.content.strip()) if part.strip()]
    chosen = next(
        (part for part in sentences if naming and naming in part.casefold()), sentences[0] if sentences else ""
    )
    plain = " ".join(chosen.split())
    if len(plain) <= LONGEST_LINE:
        return plain
    return plain[:LONGEST_LINE].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def spelled(entity: str, memories: tuple[Memory, ...]) -> str:
    """Return a subject as the memories spell it."""
    for memory in memories:
        at = memory.content.casefold().find(entity)
        if at >= 0 and len(memory.content.casefold()) == len(memory.content):
            return memory.content[at : at + len(entity)]
    return entity
