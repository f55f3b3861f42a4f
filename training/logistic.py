"""Logistic regression with an L2 penalty, for the small classifiers of `embeddings/classifier.py`."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reverie.embeddings.classifier import LinearModel

_STEPS = 2_000
_RATE = 0.5


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


def _shares(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    if scores.shape[1] == 1:
        return np.asarray(1.0 / (1.0 + np.exp(-scores)))
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
