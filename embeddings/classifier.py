"""A small classifier on the vectors of the bundled model.

A model is a JSON file of some kilobytes in `bundle/`, written by a script in `training/`: a row of 8-bit weights
and a bias for each label. Features are the unit vector of a text, followed by as many cues as the model was trained
with (1.0 where a rule of words fits, else 0.0). A model may name the words that some of its cues stand for; one
of a single label may have a small hidden layer on its first features, whose score is added to the linear one.
"""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from reverie.embeddings.base import Embedder
from reverie.embeddings.bundled import BUNDLE, STAMP, BundledEmbedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_FEW_ROWS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Hidden:
    """One layer of rectified units on the first features of a model, and what each unit adds to the score."""

    weights: "NDArray[np.float32]"  # a row for each unit
    bias: "NDArray[np.float32]"
    out: "NDArray[np.float32]"

    def score(self, features: "NDArray[np.float32]") -> "NDArray[np.float32]":
        """Return what the units add to the score of a row of features, or of each of several rows."""
        import numpy as np

        seen = features[..., : self.weights.shape[1]]
        return np.asarray(np.maximum(seen @ self.weights.T + self.bias, 0.0) @ self.out)


@dataclass(frozen=True, slots=True, eq=False)
class Filters:
    """Patterns over three neighbouring word pieces; each gives the strength of its best fit in a text, or zero."""

    weights: "NDArray[np.float32]"  # a row for each filter: the piece before, the piece, the piece after
    bias: "NDArray[np.float32]"

    def strongest(self, pieces: "NDArray[np.float32]") -> "NDArray[np.float32]":
        """Return how strongly each filter fits where it fits best, given a row for each piece of a text."""
        import numpy as np

        rows = neighbours(pieces)
        # A few rows at a time: OpenBLAS shares larger products among threads, which on a busy machine wait for each
        # other twenty times as long as they compute.
        fits = [(rows[at : at + _FEW_ROWS] @ self.weights.T).max(axis=0) for at in range(0, len(rows), _FEW_ROWS)]
        return np.asarray(np.maximum(np.max(fits, axis=0) + self.bias, 0.0))


def neighbours(pieces: "NDArray[np.float32]") -> "NDArray[np.float32]":
    """Return for each piece the rows of the piece before it, its own and the one after; zeros beyond the ends."""
    import numpy as np

    edged = np.pad(pieces, ((1, 1), (0, 0)))
    return np.hstack([edged[:-2], edged[1:-1], edged[2:]])


@dataclass(frozen=True, slots=True, eq=False)
class LinearModel:
    """Labels with a weight for each feature and a bias."""

    labels: tuple[str, ...]
    weights: "NDArray[np.float32]"  # a row for each label
    bias: "NDArray[np.float32]"
    trained_on: str = STAMP
    words: tuple[str, ...] = ()  # the words that the last cues stand for, one each
    hidden: Hidden | None = None  # only for a single label
    filters: Filters | None = None  # their strengths stand in the place of the vector

    def probabilities(self, vector: "NDArray[np.float32]", cues: Sequence[float] = ()) -> dict[str, float]:
        """Return how likely each label is.

        The labels of a model exclude each other (softmax); one label alone is a yes or no (sigmoid).
        """
        import numpy as np

        features = np.concatenate([vector, np.asarray(cues, dtype=np.float32)])
        scores = self.weights @ features + self.bias
        if self.hidden is not None:
            scores = scores + self.hidden.score(features)
        if len(self.labels) == 1:
            return {self.labels[0]: float(1.0 / (1.0 + np.exp(-scores[0])))}
        powers = np.exp(scores - scores.max())
        shares = powers / powers.sum()
        return {label: float(share) for label, share in zip(self.labels, shares, strict=True)}

    def probabilities_of_pieces(self, pieces: "NDArray[np.float32]", cues: Sequence[float] = ()) -> dict[str, float]:
        """Return how likely each label is, given the third layer of a text; only for models with filters."""
        if self.filters is None:
            raise ValueError("This model has no filters: it sees the vector of a text.")
        return self.probabilities(self.filters.strongest(pieces), cues)

    def without_vector(self, cues: Sequence[float]) -> dict[str, float]:
        """Return how likely each label is by the cues alone, as if the vector said nothing either way."""
        import numpy as np

        return self.probabilities(np.zeros(self.weights.shape[1] - len(cues), dtype=np.float32), cues)

    def to_json(self) -> str:
        """Return the model as the text of its file; weights are rounded to 8 bits, with a scale for each label."""

        rows = {
            label: {"bias": round(float(bias), 5), **_rounded(row)}
            for label, bias, row in zip(self.labels, self.bias, self.weights, strict=True)
        }
        written: dict[str, object] = {"trained_on": self.trained_on, "labels": rows}
        if self.words:
            written["words"] = "\t".join(self.words)
        if self.hidden is not None:
            units = zip(self.hidden.bias, self.hidden.out, self.hidden.weights, strict=True)
            written["hidden"] = [
                {"bias": round(float(bias), 5), "out": round(float(out), 5), **_rounded(row)}
                for bias, out, row in units
            ]
        if self.filters is not None:
            patterns = zip(self.filters.bias, self.filters.weights, strict=True)
            written["filters"] = [{"bias": round(float(bias), 5), **_rounded(row)} for bias, row in patterns]
        return json.dumps(written, indent=1, ensure_ascii=False) + "\n"


def _rounded(row: "NDArray[np.float32]") -> dict[str, float | str]:
    import numpy as np

    scale = float(np.abs(row).max()) / 127.0 or 1.0  # a unit that training left unused is all zeros
    steps = np.rint(row / scale).astype(np.int8)
    return {"scale": float(np.float32(scale)), "weights": base64.b64encode(steps.tobytes()).decode()}


def _row(written: dict[str, Any]) -> "NDArray[np.float32]":
    import numpy as np

    steps = np.frombuffer(base64.b64decode(written["weights"]), dtype=np.int8)
    return np.asarray(steps.astype(np.float32) * np.float32(written["scale"]))


def from_json(text: str) -> LinearModel:
    """Read a model from the text of its file."""
    import numpy as np

    written = json.loads(text)
    rows = written["labels"]
    weights = np.stack([_row(row) for row in rows.values()])
    bias = np.array([row["bias"] for row in rows.values()], dtype=np.float32)
    words = tuple(written["words"].split("\t")) if "words" in written else ()
    hidden = None
    if "hidden" in written:
        units = written["hidden"]
        biases, outs = (np.array([unit[name] for unit in units], dtype=np.float32) for name in ("bias", "out"))
        hidden = Hidden(np.stack([_row(unit) for unit in units]), biases, outs)
    filters = None
    if "filters" in written:
        patterns = written["filters"]
        biases = np.array([pattern["bias"] for pattern in patterns], dtype=np.float32)
        filters = Filters(np.stack([_row(pattern) for pattern in patterns]), biases)
    return LinearModel(tuple(rows), weights, bias, written["trained_on"], words, hidden, filters)


def embedder_for_models(embedder: Embedder | None) -> BundledEmbedder | None:
    """Return the embedder that the models were trained on: the session's own, or one shared beside a hosted one.

    With the embedder of tests there is none, so that tests need no model.
    """
    if embedder is None or embedder.stamp.startswith("tiny:"):
        return None
    return embedder if isinstance(embedder, BundledEmbedder) else _beside_hosted()


@cache
def _beside_hosted() -> BundledEmbedder:
    return BundledEmbedder()


@cache
def bundled_model(name: str) -> LinearModel:
    """Return the model that ships as `bundle/NAME.json`."""
    return from_json((BUNDLE / f"{name}.json").read_text("utf-8"))
