"""Trains the models `kinds` and `passing`, which guess what a memory is: `.venv/bin/python training/classify.py`.

It reads kinds.jsonl and passing.jsonl beside it, and writes embeddings/bundle/kinds.json and passing.json. The same
texts give the same files, byte for byte, on processors with the same int8 instructions: the vectors depend on them.
`--check` compares and writes nothing.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from logistic import fit
from numpy.typing import NDArray

from reverie.embeddings.bundled import BundledEmbedder
from reverie.embeddings.classifier import LinearModel
from reverie.tools.classify import (
    KINDS_MODEL,
    PASSING_MODEL,
    passing_features,
    rule_features,
    word_features,
    words_of,
)

HERE = Path(__file__).parent
BUNDLE = HERE.parent / "embeddings" / "bundle"
FEWEST_TEXTS = 4
"""A word or pair of words becomes a feature when so many training texts have it."""

PENALTY = 3e-4


def read(path: Path) -> list[dict[str, object]]:
    """Return the lines of a JSONL file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def known_words(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the words and pairs that are frequent enough to learn from."""
    counts = Counter(word for text in texts for word in words_of(text))
    return tuple(sorted(word for word, count in counts.items() if count >= FEWEST_TEXTS))


def trained(
    texts: Sequence[str],
    labels: Sequence[str],
    rules: Callable[[str], list[float]],
    names: tuple[str, ...],
    weights: Sequence[float] | None = None,
) -> LinearModel:
    """Fit a model on vectors, rules and known words."""
    words = known_words(texts)
    vectors = np.stack([embedding.vector for embedding in BundledEmbedder().embed(texts)])
    cues: NDArray[np.float32] = np.array([[*rules(text), *word_features(text, words)] for text in texts], np.float32)
    model = fit(np.hstack([vectors, cues]), labels, names=names, penalty=PENALTY, weights=weights)
    return replace(model, words=words)


def kinds_model() -> LinearModel:
    """Fit the model of kinds."""
    rows = read(HERE / "kinds.jsonl")
    labels = [str(row["kind"]) for row in rows]
    return trained([str(row["content"]) for row in rows], labels, rule_features, tuple(dict.fromkeys(labels)))


def passing_model() -> LinearModel:
    """Fit the model of passing context; every text of a kind is one that lasts, and both sides weigh the same."""
    rows = read(HERE / "passing.jsonl") + [{**row, "passing": False} for row in read(HERE / "kinds.jsonl")]
    labels = [PASSING_MODEL if row["passing"] else "lasting" for row in rows]
    share = labels.count(PASSING_MODEL) / len(labels)
    weights = [(1 - share) if label == PASSING_MODEL else share for label in labels]
    return trained([str(row["content"]) for row in rows], labels, passing_features, (PASSING_MODEL,), weights)


def main() -> int:
    """Write the models, or check that they are what the training texts give."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    only_check = parser.parse_args().check
    differ = 0
    for name, model in ((KINDS_MODEL, kinds_model()), (PASSING_MODEL, passing_model())):
        path, text = BUNDLE / f"{name}.json", model.to_json()
        if only_check:
            same = path.exists() and path.read_text("utf-8") == text
            differ += not same
            sys.stdout.write(f"{path.name}: {'the same' if same else 'differs'}\n")
        else:
            path.write_text(text, "utf-8")
            sys.stdout.write(f"{path.name}: {len(text):,} bytes, {len(model.words)} words\n")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
