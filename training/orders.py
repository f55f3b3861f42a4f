"""Trains the injection classifier: `python training/orders.py` writes `embeddings/bundle/orders.json`.

The texts are `orders.jsonl`: orders as a stranger would plant them, and notes as developers write them, many of which
are near to an order. Those with a `list` were written by other authors, `a` to `h`; `d` is talk and prose of all
sorts, which is no order either. `combinations.py` puts further ones together from parts, and short texts of one
author are put side by side. `notes.jsonl` has the honest notes that were written for the other classifiers.
`--check` prints how the model does on the texts of an author it has not seen, and on a third at a time. The lists
under tests/guard are never read here. What is in another language is glossed first (`guard/glosses.py`).
"""

import json
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from combinations import combinations
from filters import Plan, fit_filters
from numpy.typing import NDArray

from reverie.embeddings.bundled import BUNDLE, BundledEmbedder
from reverie.embeddings.classifier import LinearModel
from reverie.guard.glosses import in_english
from reverie.guard.injection_features import PLAIN_CUES, injection_cues_in, statements_in

TEXTS = Path(__file__).with_name("orders.jsonl")
NOTES = Path(__file__).with_name("notes.jsonl")
COMBINED = "combined"
AUTHORS = ("", "a", "b", "c", "d", "e", "f", "g", "h")
NOTES_SIDE_BY_SIDE, ORDERS_BESIDE_NOTES = 250, 120
"""How many pairs are drawn from the short texts of each author."""
PARTS = 3
RATES = (0.01, 0.015, 0.02, 0.05)


@dataclass(frozen=True, slots=True)
class Text:
    """A text for training, and what is known of it."""

    text: str
    order: bool
    group: str = ""  # what sort of order or note it is
    author: str = ""  # `a` to `h`, or `combined`; the others are all of one author

    @property
    def statements(self) -> tuple[str, ...]:
        """Its statements, as `tools/screening.py` judges them."""
        return tuple(dict.fromkeys(statements_in(self.text))) or (self.text,)

    @property
    def shown(self) -> tuple[str, ...]:
        """What training sees: of an order the whole text, which surely is one; of a note every part and pair."""
        if self.order:
            return (self.text,)
        beside = [f"{one} {other}" for one, other in pairwise(self.statements)]
        return tuple(dict.fromkeys((self.text, *self.statements, *beside)))


def read() -> list[Text]:
    """Return the texts, always in one order, because what is learnt depends on it."""
    texts = [
        Text(row["text"], row["label"] == "order", row.get("class", ""), row.get("list", "")) for row in _rows(TEXTS)
    ]
    texts += _side_by_side(texts)
    texts += [Text(text, order, sort, COMBINED) for text, order, sort in combinations()]
    return texts + [Text(row["text"], order=False, group="memory") for row in _rows(NOTES)]


def _side_by_side(texts: list[Text]) -> list[Text]:
    """Return pairs of short texts of one author: two notes are a note, a note and an order are an order."""
    draw = Random(0)  # noqa: S311 - training texts, nothing secret
    pairs = []
    for author in AUTHORS:
        short = [text for text in texts if text.author == author and len(text.statements) == 1]
        notes, orders = ([text for text in short if text.order is order] for order in (False, True))
        for _ in range(NOTES_SIDE_BY_SIDE if notes else 0):
            one, other = draw.sample(notes, 2)
            pairs.append(Text(f"{one.text} {other.text}", order=False, group="side by side", author=author))
        for _ in range(ORDERS_BESIDE_NOTES if orders and notes else 0):
            both = [draw.choice(orders).text, draw.choice(notes).text]
            draw.shuffle(both)
            pairs.append(Text(" ".join(both), order=True, group="side by side", author=author))
    return pairs


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


class Features:
    """The pieces and cues of statements, each made once."""

    def __init__(self) -> None:
        self._embedder = BundledEmbedder()
        self._pieces: dict[str, NDArray[np.float16]] = {}
        self._cues: dict[str, NDArray[np.float32]] = {}

    def pieces(self, statement: str) -> NDArray[np.float16]:
        """Return a row for each word piece; half precision, because there are two hundred thousand of them."""
        if statement not in self._pieces:
            self._pieces[statement] = self._embedder.third_layer(in_english(statement)).astype(np.float16)
        return self._pieces[statement]

    def cues(self, statement: str) -> NDArray[np.float32]:
        """Return the cues and words."""
        if statement not in self._cues:
            self._cues[statement] = np.array(injection_cues_in(in_english(statement)), np.float32)
        return self._cues[statement]


def train(texts: list[Text], features: Features, plan: Plan) -> LinearModel:
    """Fit a binary model for `order`."""
    shown = [(statement, text.order) for text in texts for statement in text.shown]
    pieces = [features.pieces(statement) for statement, _ in shown]
    cues = np.stack([features.cues(statement) for statement, _ in shown])
    return fit_filters(pieces, cues, [order for _, order in shown], name="order", shown=PLAIN_CUES, plan=plan)


def likelihoods(model: LinearModel, texts: list[Text], features: Features) -> NDArray[np.float32]:
    """Return for each text how likely its likeliest statement is an order."""

    def one(statement: str) -> float:
        pieces = features.pieces(statement).astype(np.float32)
        return model.probabilities_of_pieces(pieces, features.cues(statement).tolist())["order"]

    return np.array([max(map(one, text.statements)) for text in texts], np.float32)


def check(texts: list[Text], features: Features, plan: Plan) -> None:
    """Print what is found among the texts of each author by a model of the others, then a third at a time."""
    scores = np.zeros(len(texts), np.float32)
    for author in AUTHORS:
        unseen = np.array([text.author == author for text in texts])
        model = train([text for text in texts if text.author != author], features, plan)
        left_out = [text for text in texts if text.author == author]
        scores[unseen] = likelihoods(model, left_out, features)
        _print(f"without author {author or 'of the first texts'}, tried on them", left_out, scores[unseen])
    others = np.array([text.author in AUTHORS[1:] for text in texts])
    by_others = [text for text in texts if text.author in AUTHORS[1:]]
    _print("all other authors together", by_others, scores[others])
    part = np.random.default_rng(0).integers(0, PARTS, len(texts))
    for number in range(PARTS):
        model = train([text for text, of in zip(texts, part, strict=True) if of != number], features, plan)
        left_out = [text for text, of in zip(texts, part, strict=True) if of == number]
        scores[part == number] = likelihoods(model, left_out, features)
    _print("a third at a time", texts, scores)
    _print("of these, by other authors", by_others, scores[others])


def _print(title: str, texts: list[Text], scores: NDArray[np.float32]) -> None:
    are_orders = np.array([text.order for text in texts])
    notes = np.sort(scores[~are_orders])
    print(f"{title}: {are_orders.sum()} orders, {len(notes)} notes")
    for rate in RATES:
        threshold = float(notes[int(len(notes) * (1 - rate))])
        print(
            f"  {rate:.1%} false alarms, {np.mean(scores[are_orders] > threshold):.0%} found, from {threshold:.3f} on"
        )
    for threshold in (0.8, 0.85, 0.9, 0.95):
        found, wrong = np.mean(scores[are_orders] >= threshold), np.mean(notes >= threshold)
        print(f"  from {threshold:.2f} on {found:.0%} found, {wrong:.1%} false alarms", flush=True)


if __name__ == "__main__":
    if "--check" in sys.argv:
        check(read(), Features(), Plan())
    else:
        (BUNDLE / "orders.json").write_text(train(read(), Features(), Plan()).to_json(), "utf-8")
