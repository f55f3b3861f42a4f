"""Small classifiers on the vectors of the bundled model: of one text, and of a pair of statements.

A model is a JSON file of some kilobytes in `bundle/`, written by a script in `training/`: a row of 8-bit weights
and a bias for each label. Features are the unit vector of a text, followed by as many cues as the model was trained
with (1.0 where a rule of words fits, else 0.0). A model may name the words that some of its cues stand for; one
of a single label may have a small hidden layer on its first features, whose score is added to the linear one.

The pair classifier says whether two statements are the same, compatible, or the newer one an update of the older one.
It sees the cosine of their vectors and the alignment of the two texts (`text/alignment.py`). Decision 0032 has its
figures. It is never sure enough to change a memory: what it finds is reported, or asked about.
"""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal

from reverie.embeddings.base import Embedder
from reverie.embeddings.bundled import BUNDLE, STAMP, BundledEmbedder
from reverie.text.alignment import NAMES, alignment_of

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

    edged = np.zeros((len(pieces) + 2, pieces.shape[1]), pieces.dtype)  # np.pad takes as long as the rest
    edged[1:-1] = pieces
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


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PairLabel = Literal["update", "compatible", "same"]
LABELS: Final[tuple[PairLabel, ...]] = ("update", "compatible", "same")

LEAST_COSINE = 0.35
"""Below this cosine two texts are not compared: hardly any pair that people called an update lies lower."""

LIKELY_UPDATE = 0.58
"""From this likelihood on the newer text is reported as a possible update."""

POSSIBLE_UPDATE = 0.4
"""From this likelihood on the newer text is shown before the older one."""

LIKELY_SAME = 0.5
"""From this likelihood on the newer text is reported as a restatement."""

COSINE_NAMES: Final = ("cosine", "cosine above 0.7", "cosine above 0.85", "cosine below 0.55")
FEATURES: Final = (*COSINE_NAMES, *NAMES)


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """How likely the newer of two statements is an update of the older, or says the same."""

    update: float
    same: float

    @property
    def label(self) -> PairLabel:
        """What the two are to each other, as far as the classifier is willing to say."""
        if self.update >= LIKELY_UPDATE:
            return "update"
        return "same" if self.same >= LIKELY_SAME else "compatible"

    @property
    def may_be_update(self) -> bool:
        """Whether the newer statement belongs ahead of the older one, which costs little if it is wrong."""
        return self.update >= POSSIBLE_UPDATE

    @property
    def receipt(self) -> str:
        """What was compared, by what and how sure it is, for a person who has to decide."""
        share = self.update if self.label == "update" else self.same
        told = "an update" if self.label == "update" else "a restatement"
        return f"compared by meaning and wording (pair classifier): {told} with a likelihood of {share:.0%}"


@dataclass(frozen=True, slots=True, eq=False)
class PairModel:
    """Weights for the features and for one layer of rectified units on them."""

    units: "NDArray[np.float32]"  # a row for each feature
    unit_bias: "NDArray[np.float32]"
    out: "NDArray[np.float32]"  # a row for each unit, a column for each label
    linear: "NDArray[np.float32]"
    bias: "NDArray[np.float32]"

    def shares(self, features: "NDArray[np.float32]") -> "NDArray[np.float32]":
        """Return how likely each label is, for each row of features."""
        import numpy as np

        hidden = np.maximum(features @ self.units + self.unit_bias, 0.0)
        scores = hidden @ self.out + features @ self.linear + self.bias
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=-1, keepdims=True), np.float32)

    def to_json(self) -> str:
        """Return the model as the text of its file: the features by name, the weights in half precision."""
        parts = {name: _written(getattr(self, name)) for name in self.__slots__}
        return json.dumps({"trained_on": STAMP, "features": FEATURES, **parts}, indent=1) + "\n"


def _written(weights: "NDArray[np.float32]") -> dict[str, object]:
    return {"shape": weights.shape, "weights": base64.b64encode(weights.astype("<f2").tobytes()).decode()}


def _weights(written: dict[str, Any]) -> "NDArray[np.float32]":
    import numpy as np

    flat = np.frombuffer(base64.b64decode(written["weights"]), "<f2").astype(np.float32)
    return flat.reshape(written["shape"])


@cache
def pair_model() -> PairModel:
    """Return the model that ships with the package.

    Raises:
        ValueError: if it was trained on other features than this code computes.
    """
    written = json.loads((BUNDLE / "pairs.json").read_text("utf-8"))
    if tuple(written["features"]) != FEATURES:
        raise ValueError("pairs.json was trained on other features; run training/pairs.py")
    return PairModel(*(_weights(written[name]) for name in PairModel.__slots__))


def features_of(older: str, newer: str, cosine: float) -> tuple[float, ...]:
    """Return the features of a pair in the order of `FEATURES`."""
    bends = (max(0.0, cosine - 0.7), max(0.0, cosine - 0.85), max(0.0, 0.55 - cosine))
    return (cosine, *bends, *alignment_of(older, newer))


def judged_pair(older: str, newer: str, cosine: float) -> PairVerdict | None:
    """Judge two texts by their cosine under the bundled model; None if they are too far apart to be compared."""
    return _judged(older, newer, round(cosine, 3)) if cosine >= LEAST_COSINE else None


@lru_cache(maxsize=4_096)
def _judged(older: str, newer: str, cosine: float) -> PairVerdict:
    import numpy as np

    features = features_of(older, newer, cosine)
    [shares] = pair_model().shares(np.array([features], np.float32))
    is_exchanged = any(features[at] for at in _EXCHANGED)
    return PairVerdict(float(shares[0]), 0.0 if is_exchanged else float(shares[2]))


_EXCHANGED: Final = tuple(FEATURES.index(name) for name in ("amounts exchanged", "places exchanged"))
"""With another number or path in its place a text is no restatement, however likely the rest makes it."""
