"""Counting tokens as o200k_base counts them, offline: byte-pair merging over a vocabulary that stays on disk."""

import mmap
import sys
from collections.abc import Iterator
from functools import cache, lru_cache
from heapq import heapify, heappop, heappush
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

LONGEST_TOKEN = 128  # bytes; it is a row of spaces
_EMPTY = 0xFFFFFFFF


class Vocabulary:
    """The tokens of a byte-pair encoding, and their ranks; the rank says which pair merges first."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._file = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if sys.byteorder != "little":
            raise OSError(f"{path} can only be read on a little-endian processor")
        view = memoryview(self._file)
        count, slots = view[:8].cast("I")
        ends, table = 8, 8 + 4 * count
        self._bytes = table + 4 * slots
        if slots & (slots - 1) or len(view) < self._bytes:
            raise OSError(f"{path} is damaged")
        self._ends = view[ends:table].cast("I")
        self._slots = view[table : self._bytes].cast("I")
        self._mask = slots - 1

    def __len__(self) -> int:
        return len(self._ends)

    def token(self, rank: int) -> bytes:
        """Return the bytes of the token with this rank."""
        start = self._ends[rank - 1] if rank else 0
        return self._file[self._bytes + start : self._bytes + self._ends[rank]]

    def rank(self, token: bytes) -> int | None:
        """Return the rank of these bytes, or nothing if they are not a token."""
        slot = crc32(token)
        while (rank := self._slots[slot & self._mask]) != _EMPTY:
            if self.token(rank) == token:
                return rank
            slot += 1
        return None

    def lengths(self, piece: bytes) -> list[int]:
        """Return how many bytes each token of a piece takes, after all merges."""
        if len(piece) <= LONGEST_TOKEN and self.rank(piece) is not None:
            return [len(piece)]
        return self._merged(piece)

    def _merged(self, piece: bytes) -> list[int]:
        """Merge the pair of lowest rank, leftmost first, until no two neighbours are a token.

        A heap holds the pairs, so a piece of n bytes takes n log n steps; a pair is
        stale once either of its parts has grown.
        """
        size = [1] * len(piece)  # by the part's first byte; 0 where a part has been swallowed
        before = list(range(-1, len(piece) - 1))  # where the part to the left begins
        pairs = [
            (rank, start, 2)
            for start in range(len(piece) - 1)
            if (rank := self.rank(piece[start : start + 2])) is not None
        ]
        heapify(pairs)

        def offer(start: int) -> None:
            right = start + size[start]
            if right < len(piece):
                length = size[start] + size[right]
                if length <= LONGEST_TOKEN and (rank := self.rank(piece[start : start + length])) is not None:
                    heappush(pairs, (rank, start, length))

        while pairs:
            _, start, length = heappop(pairs)
            right = start + size[start]
            if not size[start] or right >= len(piece) or size[start] + size[right] != length:
                continue
            size[start], size[right] = length, 0
            if start + length < len(piece):
                before[start + length] = start
            offer(start)
            if start:
                offer(before[start])
        return [length for length in size if length]


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
