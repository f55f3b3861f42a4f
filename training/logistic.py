"""Logistic regression with an L2 penalty, for the small classifiers of `embeddings/linear.py`."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reverie.embeddings.classifier import Hidden, LinearModel

_STEPS = 2_000
_RATE = 0.5
_BATCH = 64


def fit(
    features: NDArray[np.float32],
    labels: Sequence[str],
    *,
    names: tuple[str, ...],
    penalty: float,
    weights: Sequence[float] | None = None,
) -> LinearModel:
    """Fit one row of weights for each name (softmax), or for a single name a yes or no (sigmoid).

    For a single name, a text is a yes if its label is that name. `weights` says how much each text counts.
    """
    x = np.asarray(features, dtype=np.float64)
    counts = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=np.float64)
    counts = counts / counts.sum()
    wanted = np.array([[label == name for name in names] for label in labels], dtype=np.float64)
    rows, bias = np.zeros((len(names), x.shape[1])), np.zeros(len(names))
    speed_rows, speed_bias = np.zeros_like(rows), np.zeros_like(bias)
    for _ in range(_STEPS):  # gradient descent with momentum; convex, so where it starts does not matter
        error = (_shares(x @ rows.T + bias) - wanted) * counts[:, None]
        speed_rows = 0.9 * speed_rows - _RATE * (error.T @ x + penalty * rows)
        speed_bias = 0.9 * speed_bias - _RATE * error.sum(axis=0)
        rows, bias = rows + speed_rows, bias + speed_bias
    return LinearModel(names, rows.astype(np.float32), bias.astype(np.float32))


def fit_hidden(
    features: NDArray[np.float32], wanted: Sequence[bool], *, name: str, shown: int, plan: "Plan"
) -> LinearModel:
    """Fit a yes or no with a hidden layer on the first `shown` features beside the linear part (Adam, one seed)."""
    x, y = np.asarray(features, dtype=np.float64), np.asarray(wanted, dtype=np.float64)
    random = np.random.default_rng(0)
    parts = [
        random.standard_normal((shown, plan.units)) * 2 / np.sqrt(shown),
        np.zeros(plan.units),
        random.standard_normal(plan.units) * 0.3,
        np.zeros(1),
        np.zeros(x.shape[1]),
    ]
    penalties = (plan.penalty_hidden, 0.0, plan.penalty_hidden, 0.0, plan.penalty)
    first, second = [np.zeros_like(part) for part in parts], [np.zeros_like(part) for part in parts]
    step = 0
    for epoch in range(plan.epochs):
        order = random.permutation(len(x))
        rate = plan.rate * (1 - epoch / plan.epochs)
        for start in range(0, len(x), _BATCH):
            chosen = order[start : start + _BATCH]
            rows = x[chosen]
            before = rows[:, :shown] @ parts[0] + parts[1]
            kept = (random.random(before.shape) > plan.dropped) / (1 - plan.dropped)
            active = np.maximum(before, 0) * kept
            error = (_shares((active @ parts[2] + parts[3] + rows @ parts[4])[:, None])[:, 0] - y[chosen]) / len(
                chosen
            )
            back = np.outer(error, parts[2]) * kept * (before > 0)
            slopes = [
                rows[:, :shown].T @ back,
                back.sum(0),
                active.T @ error,
                error.sum(keepdims=True),
                rows.T @ error,
            ]
            step += 1
            for at, slope in enumerate(slopes):
                slope = slope + penalties[at] * parts[at]
                first[at] = 0.9 * first[at] + 0.1 * slope
                second[at] = 0.999 * second[at] + 0.001 * slope**2
                size = np.sqrt(second[at] / (1 - 0.999**step)) + 1e-8
                parts[at] = parts[at] - rate * first[at] / (1 - 0.9**step) / size
    inside, bias_inside, out, bias, linear = (part.astype(np.float32) for part in parts)
    return LinearModel((name,), linear[None, :], bias, hidden=Hidden(inside.T.copy(), bias_inside, out))


@dataclass(frozen=True, slots=True)
class Plan:
    """How a model with a hidden layer is fitted."""

    units: int = 16
    epochs: int = 40
    rate: float = 3e-3
    dropped: float = 0.3
    penalty: float = 3e-5
    penalty_hidden: float = 3e-4


def _shares(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    if scores.shape[1] == 1:
        return np.asarray(1.0 / (1.0 + np.exp(-scores)))
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
