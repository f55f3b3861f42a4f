"""Train the classifier of orders: `python training/orders.py` rewrites `embeddings/bundle/orders.json`.

The texts are `orders.jsonl`, written by hand: orders as a stranger would plant them, and notes as developers write
them, many of which are near to an order. `--check` prints how it does on texts it was not shown, by five-fold
cross-validation. The lists under tests/guard are never read here.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from logistic import Plan, fit_hidden
from numpy.typing import NDArray

from reverie.embeddings.bundled import BUNDLE, BundledEmbedder
from reverie.embeddings.classifier import LinearModel
from reverie.guard.injection_features import PLAIN_CUES, cues_in

TEXTS = Path(__file__).with_name("orders.jsonl")
VECTOR = 3.0
"""How much the vector counts against the cues before training."""
DIMENSIONS = 384
FOLDS = 5


def read() -> tuple[list[str], list[str], list[str]]:
    """Return the texts, their labels (`order` or `note`) and the classes of those of the second set."""
    rows = [json.loads(line) for line in TEXTS.read_text("utf-8").splitlines()]
    return [row["text"] for row in rows], [row["label"] for row in rows], [row.get("class", "") for row in rows]


def features(texts: list[str]) -> NDArray[np.float32]:
    """Return a row for each text: its vector, then its cues."""
    vectors = np.array([embedding.vector for embedding in BundledEmbedder().embed(texts)])
    cues = np.array([cues_in(text) for text in texts])
    return np.hstack([vectors, cues]).astype(np.float32)


def train(rows: NDArray[np.float32], labels: list[str]) -> LinearModel:
    """Fit a yes or no for `order`, with hidden units on the vector and the cues but not on the words."""
    scale = np.ones(rows.shape[1], dtype=np.float32)
    scale[:DIMENSIONS] = VECTOR
    shown = DIMENSIONS + PLAIN_CUES
    wanted = [label == "order" for label in labels]
    model = fit_hidden(rows * scale, wanted, name="order", shown=shown, plan=Plan())
    hidden = model.hidden and replace(model.hidden, weights=model.hidden.weights * scale[:shown])
    return replace(model, weights=model.weights * scale, hidden=hidden)


def scores_of(model: LinearModel, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the score of each row."""
    linear = rows @ model.weights[0] + model.bias[0]
    return np.asarray(linear + model.hidden.score(rows) if model.hidden else linear)


def check(rows: NDArray[np.float32], labels: list[str], classes: list[str]) -> None:
    """Print what is found among texts that were left out: a fifth at a time, then a class of orders at a time."""
    are_orders = np.array([label == "order" for label in labels])
    part = np.random.default_rng(0).integers(0, FOLDS, len(labels))
    scores = np.zeros(len(labels), dtype=np.float32)
    for fold in range(FOLDS):
        scores[part == fold] = scores_of(_trained(rows, labels, part != fold), rows[part == fold])
    named = np.array([bool(name) for name in classes])
    for title, chosen in (("all", np.ones_like(named)), ("second set", named)):
        for rate in (0.01, 0.02, 0.05):
            threshold = _threshold(scores[chosen & ~are_orders], rate)
            found = float(np.mean(scores[chosen & are_orders] > threshold))
            probability = 1 / (1 + np.exp(-threshold))
            print(f"{title}: {rate:.0%} false alarms, {found:.0%} found, from a probability of {probability:.2f} on")
    unseen_notes = (part == 0) & ~are_orders
    for name in dict.fromkeys(name for name, order in zip(classes, are_orders, strict=True) if name and order):
        left_out = np.array([other == name for other in classes]) & are_orders
        model = _trained(rows, labels, ~left_out & ~unseen_notes)
        found = np.mean(scores_of(model, rows[left_out]) > _threshold(scores_of(model, rows[unseen_notes]), 0.02))
        print(f"without any {name} of the second set: {found:.0%} of them found")


def _trained(rows: NDArray[np.float32], labels: list[str], chosen: NDArray[np.bool_]) -> LinearModel:
    return train(rows[chosen], [label for label, taken in zip(labels, chosen, strict=True) if taken])


def _threshold(notes: NDArray[np.float32], rate: float) -> float:
    return float(np.sort(notes)[int(len(notes) * (1 - rate))])


if __name__ == "__main__":
    texts, labels, classes = read()
    rows = features(texts)
    if "--check" in sys.argv:
        check(rows, labels, classes)
    else:
        (BUNDLE / "orders.json").write_text(train(rows, labels).to_json(), "utf-8")
