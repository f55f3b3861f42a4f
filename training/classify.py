"""Trains the models that guess what a memory is: `.venv/bin/python training/classify.py [--only NAME]`.

`kinds` and `passing` are linear; `passing_pieces` reads word pieces, and has to agree before a text is given a short
life. It reads kinds.jsonl, passing.jsonl and passing_more.jsonl beside it, and writes embeddings/bundle/NAME.json.
The same texts give the same files, byte for byte, on processors with the same int8 instructions: the vectors depend
on them. `--check` compares and writes nothing.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from filters import Plan, fit_filters
from logistic import fit
from numpy.typing import NDArray

from reverie.embeddings.bundled import BundledEmbedder
from reverie.embeddings.classifier import LinearModel
from reverie.tools.classify import (
    KINDS_MODEL,
    PASSING_MODEL,
    PASSING_PIECES_MODEL,
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


def passing_texts() -> tuple[list[str], list[bool]]:
    """Return the texts about passing context and whether each is passing; every text of a kind is one that lasts."""
    rows = [row for name in ("passing", "passing_more") for row in read(HERE / f"{name}.jsonl")]
    rows += [{**row, "passing": False} for row in read(HERE / "kinds.jsonl")]
    return [str(row["content"]) for row in rows], [bool(row["passing"]) for row in rows]


def passing_model() -> LinearModel:
    """Fit the linear model of passing context; both sides weigh the same."""
    texts, passing = passing_texts()
    share = sum(passing) / len(passing)
    labels = [PASSING_MODEL if one else "lasting" for one in passing]
    weights = [(1 - share) if one else share for one in passing]
    return trained(texts, labels, passing_features, (PASSING_MODEL,), weights)


def passing_pieces_model() -> LinearModel:
    """Fit the model of passing context that reads word pieces."""
    texts, passing = passing_texts()
    words, embedder = known_words(texts), BundledEmbedder()
    pieces = [embedder.third_layer(text).astype(np.float16) for text in texts]
    cues: NDArray[np.float32] = np.array(
        [[*passing_features(text), *word_features(text, words)] for text in texts], np.float32
    )
    shown = len(passing_features(""))
    model = fit_filters(pieces, cues, passing, name=PASSING_MODEL, shown=shown, plan=Plan())
    return replace(model, words=words)


MODELS: dict[str, Callable[[], LinearModel]] = {
    KINDS_MODEL: kinds_model,
    PASSING_MODEL: passing_model,
    PASSING_PIECES_MODEL: passing_pieces_model,
}


def main() -> int:
    """Write the models, or check that they are what the training texts give."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument("--only", choices=MODELS, action="append", help="this model; may be given more than once")
    wanted = parser.parse_args()
    differ = 0
    for name in wanted.only or MODELS:
        path, text = BUNDLE / f"{name}.json", MODELS[name]().to_json()
        if wanted.check:
            same = path.exists() and path.read_text("utf-8") == text
            differ += not same
            sys.stdout.write(f"{path.name}: {'the same' if same else 'differs'}\n")
        else:
            path.write_text(text, "utf-8")
            sys.stdout.write(f"{path.name}: {len(text):,} bytes\n")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
