"""Filters over word pieces with a hidden layer, fitted together by Adam, for `embeddings/classifier.py`."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reverie.embeddings.classifier import Filters, Hidden, LinearModel

Matrix = NDArray[np.float32]
_BATCH = 64


@dataclass(frozen=True, slots=True)
class Plan:
    """How a model with filters is fitted. Several members, each from a seed of its own, are averaged into one."""

    members: int = 2
    filters: int = 32
    units: int = 32
    epochs: int = 6
    rate: float = 2e-3
    dropped: float = 0.5
    dropped_pieces: float = 0.1
    decay: float = 1e-2
    penalty_words: float = 3e-5


def fit_filters(
    pieces: Sequence[NDArray[np.float16]], cues: Matrix, wanted: Sequence[bool], *, name: str, shown: int, plan: Plan
) -> LinearModel:
    """Fit a binary model on token states and cues; hidden units see the filters and the first `shown` cues."""
    members = [
        _member(pieces, cues, np.asarray(wanted, np.float32), shown, plan, seed) for seed in range(plan.members)
    ]
    return _averaged(members, name, shown)


def _member(
    pieces: Sequence[NDArray[np.float16]], cues: Matrix, wanted: Matrix, shown: int, plan: Plan, seed: int
) -> list[Matrix]:
    """Return filters, their bias, units, their bias, what they add, the bias, and the linear weights of the cues."""
    random = np.random.default_rng(seed)
    width, seen = pieces[0].shape[1] * 3, plan.filters + shown

    def start(rows: int, columns: int) -> Matrix:
        return random.uniform(-1, 1, (rows, columns)).astype(np.float32) / np.float32(np.sqrt(rows))

    parts = [
        start(width, plan.filters),
        np.zeros(plan.filters, np.float32),
        start(seen, plan.units),
        np.zeros(plan.units, np.float32),
        start(plan.units, 1)[:, 0],
        np.zeros(1, np.float32),
        np.zeros(cues.shape[1], np.float32),
    ]
    first, second = [np.zeros_like(part) for part in parts], [np.zeros_like(part) for part in parts]
    step = 0
    for epoch in range(plan.epochs):
        rate = plan.rate * (1 - epoch / plan.epochs)
        order = random.permutation(len(pieces))
        for begin in range(0, len(order), _BATCH):
            chosen = order[begin : begin + _BATCH]
            slopes = _slopes(parts, [pieces[at] for at in chosen], cues[chosen], wanted[chosen], shown, plan, random)
            slopes[6][shown:] += np.float32(plan.penalty_words) * parts[6][shown:]
            step += 1
            for at, slope in enumerate(slopes):
                first[at] = np.float32(0.9) * first[at] + np.float32(0.1) * slope
                second[at] = np.float32(0.999) * second[at] + np.float32(0.001) * slope**2
                size = np.sqrt(second[at] / np.float32(1 - 0.999**step)) + np.float32(1e-8)
                decay = np.float32(0 if at == 6 else rate * plan.decay)
                parts[at] = parts[at] * (1 - decay) - np.float32(rate / (1 - 0.9**step)) * first[at] / size
    return parts


def _slopes(
    parts: list[Matrix],
    pieces: list[NDArray[np.float16]],
    cues: Matrix,
    wanted: Matrix,
    shown: int,
    plan: Plan,
    random: np.random.Generator,
) -> list[Matrix]:
    """Return the slope of the loss in each part for one batch; the filters learn where each fits best."""
    filters, filter_bias, units, unit_bias, out, bias, linear = parts
    rows, begins, ends = _joined(pieces)
    rows *= _kept(random, rows.shape, plan.dropped_pieces)
    before, own, after = np.split(filters, 3)
    fits = filter_bias + rows @ own
    fits[1:] += (rows @ before)[:-1]
    fits[:-1] += (rows @ after)[1:]
    best = np.stack([begin + fits[begin:end].argmax(axis=0) for begin, end in zip(begins, ends, strict=True)])
    strengths = np.maximum(np.take_along_axis(fits, best, axis=0), 0)
    kept_inputs = _kept(random, (len(pieces), units.shape[0]), plan.dropped)
    inputs = np.hstack([strengths, cues[:, :shown]]) * kept_inputs
    sums = inputs @ units + unit_bias
    kept_units = _kept(random, sums.shape, plan.dropped)
    active = np.maximum(sums, 0) * kept_units
    score = active @ out + bias + cues @ linear
    error = (1 / (1 + np.exp(-score)) - wanted) / np.float32(len(pieces))
    back = np.outer(error, out) * kept_units * (sums > 0)
    back_strengths = ((back @ units.T) * kept_inputs)[:, : filters.shape[1]] * (strengths > 0)
    return [
        np.vstack([np.einsum("tf,tfd->df", back_strengths, rows[best + beside]) for beside in (-1, 0, 1)]),
        back_strengths.sum(0),
        inputs.T @ back,
        back.sum(0),
        active.T @ error,
        error.sum(keepdims=True),
        cues.T @ error,
    ]


def _joined(pieces: list[NDArray[np.float16]]) -> tuple[Matrix, list[int], list[int]]:
    """Return the rows of a batch under each other with a row of zeros between texts, and where each text stands."""
    begins, at = [], 1
    for text in pieces:
        begins.append(at)
        at += len(text) + 1
    rows = np.zeros((at, pieces[0].shape[1]), np.float32)
    ends = [begin + len(text) for begin, text in zip(begins, pieces, strict=True)]
    for begin, end, text in zip(begins, ends, pieces, strict=True):
        rows[begin:end] = text
    return rows, begins, ends


def _kept(random: np.random.Generator, shape: tuple[int, ...], dropped: float) -> Matrix:
    """Return a factor for each number: zero for those left out, so much for the others that the mean stays."""
    least = round(dropped * 256)  # bytes are drawn four times as fast as numbers
    drawn = random.integers(0, 256, shape, np.uint8)
    return (drawn >= least).astype(np.float32) * np.float32(256 / (256 - least))


def _averaged(members: list[list[Matrix]], name: str, shown: int) -> LinearModel:
    """Return one model whose score is the mean of the members' scores: their filters and units side by side."""
    count, filters = len(members), members[0][0].shape[1]
    units = []
    for number, (_, _, inside, *_) in enumerate(members):
        rows = np.zeros((inside.shape[1], filters * count + shown), np.float32)
        rows[:, filters * number : filters * (number + 1)] = inside[:filters].T
        rows[:, filters * count :] = inside[filters:].T
        units.append(rows)
    hidden = Hidden(
        np.vstack(units),
        np.concatenate([member[3] for member in members]),
        np.concatenate([member[4] for member in members]) / np.float32(count),
    )
    linear = np.mean([member[6] for member in members], axis=0)
    weights = np.concatenate([np.zeros(filters * count, np.float32), linear])[None, :]
    patterns = Filters(
        np.hstack([member[0] for member in members]).T.copy(), np.concatenate([member[1] for member in members])
    )
    bias = np.mean([member[5] for member in members], axis=0)
    return LinearModel((name,), weights, bias, hidden=hidden, filters=patterns)
