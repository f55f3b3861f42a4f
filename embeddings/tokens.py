"""Counting tokens as o200k_base counts them, offline: by tiktoken once it has loaded, until then from above.

The upper bound needs a tenth of the vocabulary. Why it is never too low: tiktoken splits a text into pieces and
merges the bytes of each piece.

1. A piece that is a token is one token.
2. In any other piece, merging ends only when no two neighbours together are a token. So the bound is the
   largest number of parts in which no two neighbours together are a token that is known here. Knowing fewer
   tokens only makes it larger.
3. No piece goes on from a visible character to a space or a tab, and none looks back. So at such a seam a text can
   be divided: its parts cost, together, what it costs.
4. Tokens are at least a byte long. What is not ASCII is counted so, from seam to seam, because which characters
   are letters depends on the Unicode version; of ASCII, everyone knows it.
"""

import hashlib
import re
from binascii import a2b_base64
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from io import BytesIO
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

SEAM = re.compile(r"(?<=\S)(?=[ \t])")

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


BUNDLED = Path(__file__).parent / "bundle" / "o200k_base.tiktoken"
PUBLISHED_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"

# tiktoken has it too, but only in a function that downloads the vocabulary.
PATTERN = "|".join(
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

LONGEST_TOKEN = 128  # bytes; it is a row of spaces
_MOST_AT_ONCE = 100_000
"""Characters: tiktoken panics at a million spaces, and takes seconds for a million letters without one."""
_LONGEST_CACHED = 2_000  # characters
_MOST_CACHED = 2_048

_UP_TO_A_SEAM = re.compile(rf"(?s:.+){SEAM.pattern}")
_KNOWN_TO_THE_BOUND = 20_000
"""Of 200,000 tokens, the ones merged first. Reading them takes 20 ms; then a bound is a third above the count."""


class Tokenizer:
    """Counts exactly once `load` has run; until then, and if the vocabulary cannot be read, from above."""

    def __init__(self, vocabulary: Path) -> None:
        self._vocabulary = vocabulary
        self._loading = Lock()
        self._exact: ExactCount | None = None
        self._fault = ""

    def load(self) -> None:
        """Load tiktoken: half a second, 47 MB. Call it in a thread; a failure is kept in `fault`."""
        with self._loading:
            if self._exact is None and not self._fault:
                try:
                    self._exact = ExactCount(_encoding(self._vocabulary))
                except (ImportError, OSError, ValueError) as error:
                    self._fault = f"tokens are estimated: {error}"

    @property
    def counter(self) -> "ExactCount | UpperBound":
        """The best that there is by now."""
        return self._exact or self._bound

    @property
    def is_exact(self) -> bool:
        """Whether counts are tiktoken's own by now."""
        return self._exact is not None

    @property
    def fault(self) -> str:
        """Why counts will stay estimates; empty if nothing is known to be wrong."""
        _ = self.counter  # without tiktoken it has to read the vocabulary
        return self._fault

    @cached_property
    def _bound(self) -> UpperBound:
        try:
            return UpperBound(token for token, _ in islice(_tokens(_read(self._vocabulary)), _KNOWN_TO_THE_BOUND))
        except OSError as error:
            self._fault = f"tokens are estimated: {error}"
            return UpperBound(())


tokenizer = Tokenizer(BUNDLED)


def count_tokens(text: str) -> int:
    """Count the tokens of a text, or more than it has if `tokens_are_estimated`."""
    return tokenizer.counter.count(text)


def cut_to_tokens(text: str, limit: int) -> str:
    """Return the longest prefix, ending between two tokens, that counts at most `limit`; shorter if estimated."""
    return tokenizer.counter.cut(text, max(limit, 0))


def tokens_are_estimated() -> bool:
    """Whether counts are upper bounds, because tiktoken has not loaded yet or cannot."""
    return not tokenizer.is_exact


def tokens_note() -> str:
    """Return the sentence that an answer says while tokens are estimated; nothing once they are counted."""
    return "Tokens are estimated from above: the tokenizer has not loaded." if tokens_are_estimated() else ""


def tokens_fault() -> str:
    """Return why tokens will stay estimates; empty if nothing is known to be wrong."""
    return tokenizer.fault


def warm() -> None:
    """Load tiktoken: half a second, in which Python runs little else. Call it in a thread, when nobody waits."""
    tokenizer.load()


class ExactCount:
    """Counts with tiktoken."""

    def __init__(self, encoding: "Encoding") -> None:
        self._encoding = encoding
        self._counted = lru_cache(maxsize=_MOST_CACHED)(self._count)  # a row is counted again when it is cut to fit

    def count(self, text: str) -> int:
        """Count the tokens of a text; a part without a seam that is too long for tiktoken counts by its bytes."""
        return self._counted(text) if len(text) <= _LONGEST_CACHED else self._count(text)

    def _count(self, text: str) -> int:
        return sum(
            len(self._encoding.encode_ordinary(part))
            if len(part) <= _MOST_AT_ONCE
            else len(part.encode("utf-8", "surrogatepass"))
            for part in _parts(text)
        )

    def cut(self, text: str, limit: int) -> str:
        """Return the longest prefix, ending between two tokens, that counts at most `limit`."""
        tokens = list[int]()
        for part in _parts(text[: (limit + 1) * LONGEST_TOKEN]):
            tokens += self._encoding.encode_ordinary(part[:_MOST_AT_ONCE])
            if len(tokens) > limit or len(part) > _MOST_AT_ONCE:
                break
        else:
            return text
        end = len(self._encoding.decode_bytes(tokens[:limit]).decode("utf-8", "ignore"))
        while end > 0 and self.count(text[:end]) > limit:  # a piece can split otherwise once its rest is gone
            end -= 1
        return text[:end]


def _parts(text: str) -> Iterator[str]:
    """Divide a long text at seams, into parts that are short enough for tiktoken where there are seams enough."""
    start = 0
    while len(text) - start > _MOST_AT_ONCE:
        here = _UP_TO_A_SEAM.match(text, start, start + _MOST_AT_ONCE) or SEAM.search(text, start + _MOST_AT_ONCE)
        end = here.end() if here else len(text)
        yield text[start:end]
        start = end
    yield text[start:]


def _encoding(vocabulary: Path) -> "Encoding":
    """Construct tiktoken's o200k_base from a file of ours, as no function of tiktoken does without a cache folder."""
    from tiktoken import Encoding

    ranks = dict(_tokens(_read(vocabulary)))
    # Whatever looks like a special token in a memory is text, and is counted as text.
    encoding = Encoding("o200k_base", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})
    ranks.clear()  # tiktoken has copied it, but would keep it too: 25 MB
    return encoding


def _read(vocabulary: Path) -> bytes:
    """Return the file as OpenAI published it.

    Raises:
        OSError: if it cannot be read or is another file.
    """
    published = vocabulary.read_bytes()
    if hashlib.sha256(published).hexdigest() != PUBLISHED_SHA256:
        raise OSError(f"{vocabulary} is damaged")
    return published


def _tokens(published: bytes) -> Iterator[tuple[bytes, int]]:
    for line in BytesIO(published):
        token, _, rank = line.partition(b" ")
        yield a2b_base64(token), int(rank)


# tiktoken's pattern for o200k_base, as far as it concerns ASCII.
