"""Trains the pair classifier: `python training/pairs.py` writes `embeddings/bundle/pairs.json`.

It learns from `pairs.jsonl` (see `pair_texts.py`) and from neighbours among the honest notes of `notes.jsonl`, which
are taken to be compatible. `--check` trains on one half of the frames and prints how it does on the other; `--on
FILE` adds a file of pairs to be scored only.
"""

import json
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reverie.embeddings.bundled import BUNDLE, BundledEmbedder
from reverie.embeddings.classifier import LABELS, LIKELY_SAME, LIKELY_UPDATE, PairModel, features_of

HERE = Path(__file__).parent
UNITS, MEMBERS, EPOCHS, BATCH = 16, 3, 100, 128
RATE, DECAY, DROPPED = 3e-3, 6e-2, 0.2
BY_HAND = 4.0  # how much a pair counts that was written by hand
NOTE_PAIRS, NEIGHBOURS = 2_500, 8
NEAREST, FARTHEST = 0.9, 0.4

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Pair:
    """Two texts for training."""

    old: str
    new: str
    label: str
    half: str = "train"
    weight: float = 1.0


class Vectors:
    """The vectors of texts, each made once."""

    def __init__(self) -> None:
        self._embedder = BundledEmbedder()
        self._known: dict[str, NDArray[np.float32]] = {}

    def of(self, texts: list[str]) -> NDArray[np.float32]:
        """Return a row for each text."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known |= {text: found.vector for text, found in zip(new, self._embedder.embed(new), strict=True)}
        return np.stack([self._known[text] for text in texts])


def read(path: Path) -> list[Pair]:
    """Return the pairs of a file."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return [
        Pair(r["old"], r["new"], r["label"], r.get("half", ""), BY_HAND if r.get("source") == "by hand" else 1.0)
        for r in rows
    ]


def note_pairs(vectors: Vectors) -> list[Pair]:
    """Return neighbours among the notes: the pairs that a store is full of, and that are no updates."""
    lines = (HERE / "notes.jsonl").read_text("utf-8").splitlines()
    notes = list(dict.fromkeys(json.loads(line)["text"] for line in lines))
    rows = vectors.of(notes)
    cosines = rows @ rows.T
    np.fill_diagonal(cosines, -1)
    found = [
        Pair(notes[row], notes[int(other)], "compatible", "notes")
        for row in range(len(notes))
        for other in np.argsort(-cosines[row])[:NEIGHBOURS]
        if FARTHEST <= cosines[row, other] < NEAREST
    ]
    order = np.random.default_rng(0).permutation(len(found))
    return [found[int(at)] for at in order]


def matrix_of(pairs: list[Pair], vectors: Vectors) -> Matrix:
    """Return a row of features for each pair."""
    cosines = (vectors.of([pair.old for pair in pairs]) * vectors.of([pair.new for pair in pairs])).sum(axis=1)
    rows = [features_of(pair.old, pair.new, float(c)) for pair, c in zip(pairs, cosines, strict=True)]
    return np.array(rows, np.float64)


def train(pairs: list[Pair], vectors: Vectors) -> PairModel:
    """Fit a few small networks and join them side by side into one whose scores are their mean."""
    x = matrix_of(pairs, vectors)
    wanted = np.array([[pair.label == label for label in LABELS] for pair in pairs], np.float64)
    weights = np.array([pair.weight for pair in pairs])
    mean, spread = x.mean(axis=0), x.std(axis=0) + 1e-6
    members = [_member((x - mean) / spread, wanted, weights, seed) for seed in range(MEMBERS)]
    units = np.hstack([units for units, *_ in members]) / spread[:, None]
    linear = np.mean([member[4] for member in members], axis=0) / spread[:, None]
    model = PairModel(
        units,
        np.concatenate([member[1] for member in members]) - mean @ units,
        np.vstack([member[2] for member in members]) / MEMBERS,
        linear,
        np.mean([member[3] for member in members], axis=0) - mean @ linear,
    )
    return PairModel(*(np.asarray(getattr(model, name), np.float32) for name in PairModel.__slots__))


def _member(x: Matrix, wanted: Matrix, weights: Matrix, seed: int) -> list[Matrix]:
    """Fit one network by Adam with weight decay; some features are left out of each step."""
    chance = np.random.default_rng(seed)
    width, labels = x.shape[1], wanted.shape[1]
    parts = [
        chance.normal(0, width**-0.5, (width, UNITS)),
        np.zeros(UNITS),
        chance.normal(0, UNITS**-0.5, (UNITS, labels)),
        np.zeros(labels),
        np.zeros((width, labels)),
    ]
    first, second = [np.zeros_like(part) for part in parts], [np.zeros_like(part) for part in parts]
    step = 0
    for epoch in range(EPOCHS):
        rate = RATE * (1 - epoch / EPOCHS)
        order = chance.permutation(len(x))
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            seen = x[chosen] * (chance.random((len(chosen), width)) >= DROPPED) / (1 - DROPPED)
            sums = seen @ parts[0] + parts[1]
            active = np.maximum(sums, 0)
            scores = active @ parts[2] + parts[3] + seen @ parts[4]
            powers = np.exp(scores - scores.max(axis=1, keepdims=True))
            shares = powers / powers.sum(axis=1, keepdims=True)
            error = (shares - wanted[chosen]) * weights[chosen][:, None] / weights[chosen].sum()
            back = (error @ parts[2].T) * (sums > 0)
            slopes = [seen.T @ back, back.sum(axis=0), active.T @ error, error.sum(axis=0), seen.T @ error]
            step += 1
            for at, slope in enumerate(slopes):
                first[at] = 0.9 * first[at] + 0.1 * slope
                second[at] = 0.999 * second[at] + 0.001 * slope**2
                size = np.sqrt(second[at] / (1 - 0.999**step)) + 1e-8
                parts[at] = parts[at] * (1 - rate * DECAY) - rate / (1 - 0.9**step) * first[at] / size
    return parts


def report(title: str, pairs: list[Pair], model: PairModel, vectors: Vectors) -> None:
    """Print for each label how many of its pairs are called an update, and how many the same."""
    shares = model.shares(matrix_of(pairs, vectors).astype(np.float32))
    updates = shares[:, 0] >= LIKELY_UPDATE
    same = (shares[:, 2] >= LIKELY_SAME) & ~updates
    print(title)
    for label in LABELS:
        rows = np.array([pair.label == label for pair in pairs])
        if rows.any():
            print(f"  {label} ({rows.sum()}): update {updates[rows].mean():.1%}, same {same[rows].mean():.1%}")


def main(arguments: list[str]) -> None:
    """Train, or check."""
    vectors = Vectors()
    pairs, notes = read(HERE / "pairs.jsonl"), note_pairs(vectors)
    others = [Path(path) for flag, path in pairwise(arguments) if flag == "--on"]
    if "--check" in arguments:
        model = train([pair for pair in pairs if pair.half == "train"] + notes[:NOTE_PAIRS], vectors)
        held_out = [pair for pair in pairs if pair.half == "test"]
        report("held-out half", held_out, model, vectors)
        report("of these, by hand", [pair for pair in held_out if pair.weight == BY_HAND], model, vectors)
    else:
        model = train(pairs + notes[:NOTE_PAIRS], vectors)
        (BUNDLE / "pairs.json").write_text(model.to_json(), "utf-8")
    report("neighbouring notes", notes[NOTE_PAIRS:], model, vectors)
    for path in others:
        report(str(path), read(path), model, vectors)


if __name__ == "__main__":
    main(sys.argv[1:])
