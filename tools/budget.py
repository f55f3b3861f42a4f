"""Keeping an answer within its tokens."""

import re
from collections.abc import Sequence

from reverie.embeddings.tokens import count_tokens, cut_to_tokens

FEWEST_TOKENS = 50
MOST_TOKENS = 20_000

_CHARACTERS_PER_TOKEN = 12
"""More than any prose or code has on average; a text longer than this many per token will not fit."""

_SENTENCE_END = re.compile(r"[.!?。！？](?=\s|$)|\n")


def cut_at_sentence(text: str, limit: int, mark: str) -> str:
    """Return as much of a text as fits in so many tokens, ending with a sentence if that keeps half of it."""
    beginning = text[: limit * _CHARACTERS_PER_TOKEN]  # so that a huge text is not counted whole to be cut
    if len(beginning) == len(text) and count_tokens(text) <= limit:
        return text
    room = limit - count_tokens(mark)
    if room <= 0:
        return ""
    part = cut_to_tokens(beginning, room).rstrip()
    ends = [match.end() for match in _SENTENCE_END.finditer(part)]
    if ends and ends[-1] >= len(part) // 2:
        part = part[: ends[-1]].rstrip()
    while part and count_tokens(part + mark) > limit:  # joining can cost a token more than the parts
        part = part[:-1].rstrip()
    return part + mark if part else ""


def fair_shares(texts: Sequence[str], total: int) -> list[int]:
    """Divide tokens among texts: short ones get what they need, long ones an equal part of the rest."""
    needs = [count_tokens(text[: max(0, total) * _CHARACTERS_PER_TOKEN]) for text in texts]
    shares = [0] * len(texts)
    left, waiting = max(0, total), sorted(range(len(texts)), key=lambda number: needs[number])
    for done, number in enumerate(waiting):
        shares[number] = min(needs[number], left // (len(waiting) - done))
        left -= shares[number]
    return shares
