"""Which memories lie close to each other, without comparing all with all.

Up to a few thousand memories a blocked product is exact. Beyond that they are sorted into cells around centres
(two rounds of k-means from evenly spaced beginnings: no dice), and each cell is compared with the nearest
others. What two cells far apart would share is missed, and nothing else; bench/dream.py measures how much.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEAST_COSINE = 0.75
"""Below this two memories are not on the same subject."""

MOST_NEIGHBOURS = 24
_EXACT_UP_TO = 4_000
_CELL_SIZE = 256
_CELLS_BESIDE = 7
_ROUNDS = 2
_BLOCK = 1_024
_MOST_CANDIDATES = 4_096

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Near:
    """For each memory the nearest others, best first, with their cosine."""

    places: tuple[NDArray[np.int32], ...]
    cosines: tuple[NDArray[np.float32], ...]

    def of(self, place: int, least: float = LEAST_COSINE) -> Iterator[tuple[int, float]]:
        """Yield the neighbours of one memory that are at least so close."""
        for other, cosine in zip(self.places[place], self.cosines[place], strict=True):
            if cosine < least:
                return
            yield int(other), float(cosine)


def near_pairs(vectors: Matrix, groups: Sequence[str]) -> Near:
    """Find the neighbours of every row among the rows of its group."""
    places: list[NDArray[np.int32]] = [np.empty(0, np.int32)] * len(vectors)
    cosines: list[NDArray[np.float32]] = [np.empty(0, np.float32)] * len(vectors)
    members: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        members.setdefault(group, []).append(place)
    for rows in members.values():
        for block, candidates in _comparisons(vectors, np.asarray(rows, np.int32)):
            products = vectors[block] @ vectors[candidates].T
            for row, line in zip(block, products, strict=True):
                found = _best(line, candidates, int(row))
                places[row] = candidates[found]
                cosines[row] = line[found]
    return Near(tuple(places), tuple(cosines))


def carried(near: Near, stayed: Sequence[int], came: Sequence[int], vectors: Matrix, groups: Sequence[str]) -> Near:
    """Return the neighbours after some rows went and a few came, without looking at the others again.

    `stayed` gives for each row its place before, or -1; only the rows that came are compared with all.
    """
    now_at = np.full(len(near.places), -1, np.int32)
    for place, before in enumerate(stayed):
        if before >= 0:
            now_at[before] = place
    places: list[NDArray[np.int32]] = []
    cosines: list[NDArray[np.float32]] = []
    for before in stayed:
        found = now_at[near.places[before]] if before >= 0 else np.empty(0, np.int32)
        kept = found >= 0
        places.append(found[kept])
        cosines.append(near.cosines[before][kept] if before >= 0 else np.empty(0, np.float32))
    everyone = np.arange(len(vectors), dtype=np.int32)
    labels = np.asarray(groups)
    for row in came:
        line = np.where(labels == groups[row], vectors @ vectors[row], -1.0).astype(np.float32)
        best = _best(line, everyone, row)
        places[row], cosines[row] = everyone[best], line[best]
        for other in best:
            at = int(np.searchsorted(-cosines[other], -line[other]))
            places[other] = np.insert(places[other], at, row)
            cosines[other] = np.insert(cosines[other], at, line[other])
    return Near(tuple(places), tuple(cosines))


def _best(line: Matrix, candidates: NDArray[np.int32], row: int) -> NDArray[np.intp]:
    close = np.flatnonzero((line >= LEAST_COSINE) & (candidates != row))
    if len(close) > MOST_NEIGHBOURS:
        close = close[np.argpartition(-line[close], MOST_NEIGHBOURS)[:MOST_NEIGHBOURS]]
    return close[np.lexsort((candidates[close], -line[close]))]


def _comparisons(vectors: Matrix, rows: NDArray[np.int32]) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Yield blocks of rows, each with the rows it is to be compared with."""
    if len(rows) <= _EXACT_UP_TO:
        for start in range(0, len(rows), _BLOCK):
            yield rows[start : start + _BLOCK], rows
        return
    centres, cell_of = _cells(vectors, rows)
    beside = np.argsort(-(centres @ centres.T), axis=1, kind="stable")[:, : _CELLS_BESIDE + 1]
    order = np.argsort(cell_of, kind="stable")
    bounds = np.searchsorted(cell_of[order], np.arange(len(centres) + 1))
    inside = [rows[order[bounds[cell] : bounds[cell + 1]]] for cell in range(len(centres))]
    for cell, members in enumerate(inside):
        others = np.concatenate([inside[other] for other in beside[cell] if other != cell] or [members[:0]])
        for start in range(0, len(members), _BLOCK):
            block = members[start : start + _BLOCK]
            # A cell that nothing could divide is compared piece by piece, or it would be all with all again.
            own = (
                members if len(members) <= _MOST_CANDIDATES else members[max(0, start - _BLOCK) : start + 2 * _BLOCK]
            )
            yield block, np.concatenate([own, others[: max(0, _MOST_CANDIDATES - len(own))]])


def _cells(vectors: Matrix, rows: NDArray[np.int32]) -> tuple[Matrix, NDArray[np.intp]]:
    number = max(2, len(rows) // _CELL_SIZE)
    centres = vectors[rows[np.linspace(0, len(rows) - 1, number).astype(np.int64)]].copy()
    cell_of = _nearest_centre(vectors, rows, centres)
    for _ in range(_ROUNDS):
        sums = np.zeros_like(centres)
        np.add.at(sums, cell_of, vectors[rows])
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(lengths > 0, sums / np.maximum(lengths, 1e-12), centres).astype(np.float32)
        cell_of = _nearest_centre(vectors, rows, centres)
    return centres, cell_of


def _nearest_centre(vectors: Matrix, rows: NDArray[np.int32], centres: Matrix) -> NDArray[np.intp]:
    parts = [
        np.argmax(vectors[rows[start : start + _BLOCK]] @ centres.T, axis=1) for start in range(0, len(rows), _BLOCK)
    ]
    return np.concatenate(parts)
