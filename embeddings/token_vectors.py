"""A text as the vectors of its word pieces, packed small, and how well they answer a query (late interaction)."""

import math
import struct
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

STRETCH = 48
NEIGHBOUR_SHARE = 0.5
LENGTH_COST = 0.06
FREE_LENGTH = 64

_INNER, _OUTER = 0.45, 1.51  # the means of the inner and outer halves of a normal distribution cut at 0.98
_CUT = 0.98
_HEADER = struct.Struct("<I")  # how many pieces the whole text has
_CODES_PER_BYTE = 4

Matrix = NDArray[np.float32]


def packed(vectors: Matrix, length: int) -> bytes:
    """Pack the vectors of a text's pieces, four dimensions a byte; `length` is how many pieces the text has."""
    if not len(vectors):
        return b""
    spread = vectors.std(axis=1, keepdims=True)
    codes = np.digitize(vectors / np.maximum(spread, 1e-9), (-_CUT, 0.0, _CUT)).astype(np.uint8)
    quads = codes.reshape(len(vectors), -1, _CODES_PER_BYTE)
    together = quads[..., 0] | quads[..., 1] << 2 | quads[..., 2] << 4 | quads[..., 3] << 6
    return bytes(_HEADER.pack(length) + together.astype(np.uint8).tobytes())


def agreements(
    question: Matrix,
    weights: Sequence[float],
    texts: Mapping[str, bytes],
    beside: Mapping[str, Sequence[str]],
) -> dict[str, float]:
    """Return how far each packed text answers a question; `beside` names the neighbours of each."""
    names = [name for name, text in texts.items() if len(text) > _HEADER.size]
    if not names or not len(question):
        return {}
    shares = np.asarray(weights, np.float32)
    shares = shares / max(float(shares.sum()), 1e-9)
    own = dict(zip(names, _matched(question, shares, [texts[name] for name in names]), strict=True))
    found = {}
    for name, matches in own.items():
        best = matches
        for neighbour in beside.get(name, ()):
            if neighbour in own:
                best = np.maximum(best, NEIGHBOUR_SHARE * own[neighbour])
        found[name] = float(shares @ best)
    return found


def _matched(question: Matrix, shares: Matrix, texts: Sequence[bytes]) -> list[Matrix]:
    """Return for each text how well its best stretch matches every piece of the question."""
    width = question.shape[1] // _CODES_PER_BYTE
    codes = [np.frombuffer(text, np.uint8, offset=_HEADER.size).reshape(-1, width) for text in texts]
    squares = np.maximum(_cosines(np.concatenate(codes), question), 0.0) ** 2
    squares = np.concatenate([squares, np.zeros((1, len(question)), np.float32)])  # reduceat wants an end to look at
    bounds, owners, start = list[int](), list[int](), 0
    for owner, part in enumerate(codes):
        for first, last in _stretches(len(part)):
            bounds += (start + first, start + last)
            owners.append(owner)
        start += len(part)
    stretches = np.maximum.reduceat(squares, bounds, axis=0)[::2]
    sums = (stretches @ shares).tolist()
    best: dict[int, int] = {}
    for number, owner in enumerate(owners):
        if owner not in best or sums[number] > sums[best[owner]]:
            best[owner] = number
    return [stretches[best[owner]] - _price(text) for owner, text in enumerate(texts)]


def _price(text: bytes) -> float:
    (length,) = _HEADER.unpack_from(text)
    return LENGTH_COST * math.log(max(length, FREE_LENGTH) / FREE_LENGTH)


@cache
def _stretches(length: int) -> tuple[tuple[int, int], ...]:
    """Cover a length with stretches that overlap by half."""
    step = STRETCH // 2
    starts = range(0, max(1, length - STRETCH + step), step)
    return tuple((start, min(start + STRETCH, length)) for start in starts)


def _cosines(codes: NDArray[np.uint8], question: Matrix) -> Matrix:
    levels, squares = _tables()
    products = levels.take(codes, axis=0).reshape(len(codes), -1) @ question.T
    return np.asarray(products / np.sqrt(squares.take(codes).sum(axis=1, keepdims=True)), np.float32)


@cache
def _tables() -> tuple[Matrix, Matrix]:
    """Return for each byte its four values, and the sum of their squares."""
    level = np.array([-_OUTER, -_INNER, _INNER, _OUTER], np.float32)
    byte = np.arange(256)
    levels = np.stack([level[byte >> shift & 3] for shift in (0, 2, 4, 6)], axis=1)
    return levels, (levels**2).sum(axis=1)
