"""An upper bound of a text's o200k_base tokens that needs a tenth of the vocabulary; used until tiktoken has loaded.

Why it is never too low. tiktoken splits a text into pieces and merges the bytes of each piece.

1. A piece that is a token is one token.
2. In any other piece, merging ends only when no two neighbours together are a token. So the bound is the
   largest number of parts in which no two neighbours together are a token that is known here. Knowing fewer
   tokens only makes it larger.
3. No piece goes on from a visible character to a space or a tab, and none looks back. So at such a seam a text can
   be divided: its parts cost, together, what it costs.
4. Tokens are at least a byte long. What is not ASCII is counted so, from seam to seam, because which characters
   are letters depends on the Unicode version; of ASCII, everyone knows it.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

SEAM = re.compile(r"(?<=\S)(?=[ \t])")

# tiktoken's pattern for o200k_base, as far as it concerns ASCII.
_PIECE = re.compile(
    "|".join(
        [
            r"[^\r\nA-Za-z0-9]?[A-Z]*[a-z]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"[^\r\nA-Za-z0-9]?[A-Z]+[a-z]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"[0-9]{1,3}",
            r" ?[^\sA-Za-z0-9]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        ]
    ),
    re.ASCII,
)
_LONGEST_WEIGHED = 12  # characters; a longer piece is rare, and weighing it takes the cube of its length
_REMEMBERED_PIECES = 4096


class UpperBound:
    """Counts at least as many tokens as tiktoken would, about a third more; without any known token, bytes."""

    def __init__(self, known: Iterable[bytes]) -> None:
        self._known = frozenset(token.decode("ascii") for token in known if token.isascii())
        self._most_tokens = lru_cache(_REMEMBERED_PIECES)(self._weigh)  # texts repeat their words

    def count(self, text: str) -> int:
        """Return a number of tokens that the text does not exceed."""
        return sum(tokens for _, tokens in self._pieces(text))

    def cut(self, text: str, limit: int) -> str:
        """Return the longest prefix that counts at most `limit`; of a piece that is too much, the bytes that fit."""
        end, left = 0, limit
        for piece, tokens in self._pieces(text):
            if tokens > left:
                return text[: end + (left if len(piece) > 1 else 0)]
            end, left = end + len(piece), left - tokens
        return text

    def _pieces(self, text: str) -> Iterator[tuple[str, int]]:
        """Return piece by piece, or character by character, with the tokens it may take."""
        for part in [text] if text.isascii() else SEAM.split(text):
            if part.isascii():
                yield from ((piece, self._most_tokens(piece)) for piece in _PIECE.findall(part))
            else:  # half a surrogate is replaced by tiktoken, by as many bytes
                yield from ((character, len(character.encode("utf-8", "surrogatepass"))) for character in part)

    def _weigh(self, piece: str) -> int:
        """Return the most parts that a piece can be in with no two neighbours that make up a known token."""
        if piece in self._known:
            return 1
        if len(piece) > _LONGEST_WEIGHED:
            return len(piece)
        most: list[list[int]] = [[]]  # by the end and the start of the last part: how many parts there are up to it
        for end in range(1, len(piece) + 1):
            apart = [piece[before:end] not in self._known for before in range(end)]
            counts = [1]
            for start in range(1, end):
                befores = (parts for before, parts in enumerate(most[start]) if apart[before])
                counts.append(1 + max(befores, default=-len(piece)))  # below zero: there can be no such part
            most.append(counts)
        return max(most[-1])
