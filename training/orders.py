"""Train the classifier of orders: `python training/orders.py` rewrites `embeddings/bundle/orders.json`.

The texts are `orders.jsonl`, written by hand: orders as a stranger would plant them, and notes as developers write
them, many of which are near to an order. `--check` prints how it does on texts it was not shown, by five-fold
cross-validation. The lists under tests/guard are never read here.
"""

import json
import sys
from pathlib import Path

import numpy as np
from logistic import fit
from numpy.typing import NDArray

from reverie.embeddings.bundled import BUNDLE, BundledEmbedder
from reverie.embeddings.linear import LinearModel
from reverie.guard.cues import cues_in

TEXTS = Path(__file__).with_name("orders.jsonl")
PENALTY = 2e-4
FOLDS = 5


def read() -> tuple[list[str], list[str]]:
    """Return the texts and their labels, `order` or `note`."""
    rows = [json.loads(line) for line in TEXTS.read_text("utf-8").splitlines()]
    return [row["text"] for row in rows], [row["label"] for row in rows]


def features(texts: list[str]) -> NDArray[np.float32]:
    """Return a row for each text: its vector, then its cues."""
    vectors = np.array([embedding.vector for embedding in BundledEmbedder().embed(texts)])
    cues = np.array([cues_in(text) for text in texts])
    return np.hstack([vectors, cues]).astype(np.float32)


def train(rows: NDArray[np.float32], labels: list[str]) -> LinearModel:
    """Fit a yes or no for `order`."""
    return fit(rows, labels, names=("order",), penalty=PENALTY)


def check(rows: NDArray[np.float32], labels: list[str]) -> None:
    """Print what is found at several rates of false alarms, among texts that were left out of the training."""
    scores = np.zeros(len(labels))
    part = np.random.default_rng(0).integers(0, FOLDS, len(labels))
    for fold in range(FOLDS):
        model = train(rows[part != fold], [label for label, other in zip(labels, part, strict=True) if other != fold])
        scores[part == fold] = rows[part == fold] @ model.weights[0] + model.bias[0]
    are_orders = np.array([label == "order" for label in labels])
    notes = np.sort(scores[~are_orders])
    for rate in (0.01, 0.02, 0.05):
        threshold = notes[int(len(notes) * (1 - rate))]
        found = float(np.mean(scores[are_orders] > threshold))
        probability = 1 / (1 + np.exp(-threshold))
        print(f"{rate:.0%} false alarms: {found:.0%} found, from a probability of {probability:.2f} on")


if __name__ == "__main__":
    texts, labels = read()
    rows = features(texts)
    if "--check" in sys.argv:
        check(rows, labels)
    else:
        (BUNDLE / "orders.json").write_text(train(rows, labels).to_json(), "utf-8")
