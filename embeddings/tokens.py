"""Counting tokens as o200k_base counts them, offline and without a wait.

Special tokens such as <|endoftext|> are ordinary text here: a memory is data. Should the bundled
vocabulary be missing or damaged, counts become an estimate that errs on the high side.
"""

from collections.abc import Iterator
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from reverie.embeddings.vocabulary import LONGEST_TOKEN, Vocabulary

BUNDLED = Path(__file__).parent / "bundle" / "o200k_base.bin"

# tiktoken's own pattern; the standard library's `re` knows neither \p nor the same \s.
_PIECE = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
_COUNTED_ONCE = 20_000
_REMEMBERED_PIECES = 4096
_REMEMBERED_LENGTH = 32


def count_tokens(text: str) -> int:
    """Count the tokens of a text."""
    counter = _counter(BUNDLED)
    if counter is None:
        return estimate(text)
    return _counted(counter, text) if len(text) <= _COUNTED_ONCE else counter.count(text)


@lru_cache(64)  # an answer is counted row by row, then as a whole, then once more to say how long it is
def _counted(counter: "Counter", text: str) -> int:
    return counter.count(text)


def cut_to_tokens(text: str, limit: int) -> str:
    """Return the longest prefix, ending between two tokens, that counts at most `limit`."""
    counter = _counter(BUNDLED)
    return _cut_by_estimate(text, limit) if counter is None else counter.cut(text, limit)


def tokens_are_estimated() -> bool:
    """Whether counts are estimates because the bundled vocabulary cannot be read."""
    return _counter(BUNDLED) is None


def warm() -> None:
    """Open the vocabulary and compile the pattern now (20 ms) instead of at the first count."""
    count_tokens("warm")


def estimate(text: str) -> int:
    """Bound a count from above: no token is shorter than a byte. Real counts are about a quarter of it."""
    return len(text.encode("utf-8", "replace"))


class _Piece(NamedTuple):
    start: int
    text: str


class Counter:
    """Splits a text into pieces and each piece into tokens."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        regex: Any = import_module("regex")  # it publishes no types, and need not load with this module
        self._pattern = regex.compile(_PIECE)
        self._remembered = lru_cache(_REMEMBERED_PIECES)(self._tokens_in)  # texts repeat their words

    def count(self, text: str) -> int:
        """Count the tokens of a text."""
        return sum(map(self._count, self._pattern.findall(text)))

    def cut(self, text: str, limit: int) -> str:
        """Return the longest prefix, ending between two tokens, that counts at most `limit`."""
        left = max(limit, 0)
        for piece in self._pieces(text):
            too_long = len(piece.text) > left * LONGEST_TOKEN  # spares merging a piece of a megabyte
            needed = left + 1 if too_long else self._count(piece.text)
            if needed > left:
                return self._settled(text, piece.start + self._characters(piece.text, left), limit)
            left -= needed
        return text

    def _settled(self, text: str, end: int, limit: int) -> str:
        """Shorten a prefix while it counts too much: a piece can split otherwise once its rest is gone."""
        while end > 0 and self.count(text[:end]) > limit:
            end -= 1
        return text[:end]

    def _pieces(self, text: str) -> Iterator[_Piece]:
        for match in self._pattern.finditer(text):
            yield _Piece(match.start(), match.group())

    def _count(self, piece: str) -> int:
        return self._remembered(piece) if len(piece) <= _REMEMBERED_LENGTH else self._tokens_in(piece)

    def _tokens_in(self, piece: str) -> int:
        return len(self._vocabulary.lengths(_encoded(piece)))

    def _characters(self, piece: str, tokens: int) -> int:
        """Return how many whole characters of a piece its first tokens cover."""
        encoded = _encoded(piece[: (tokens + 1) * LONGEST_TOKEN])
        covered = encoded[: sum(self._vocabulary.lengths(encoded)[:tokens])]
        return len(covered.decode("utf-8", "ignore"))


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate counts as the replacement character
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode("utf-8")


@cache
def _counter(path: Path) -> Counter | None:
    try:
        return Counter(Vocabulary(path))
    except (ImportError, OSError, ValueError):
        return None


def _cut_by_estimate(text: str, limit: int) -> str:
    speakable = text.encode("utf-8", "replace")[: max(limit, 0)]
    return text[: len(speakable.decode("utf-8", "ignore"))]
