"""The pair classifier: are two statements the same, compatible, or is the newer one an update of the older one?

It sees the cosine of the bundled model's vectors and the alignment of the two texts (`text/alignment.py`). The
weights are `bundle/pairs.json`, written by `training/pairs.py`; decision 0032 has its figures. It is never sure
enough to change a memory: what it finds is reported, or asked about.
"""

import base64
import json
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal

from reverie.embeddings.bundled import BUNDLE, STAMP
from reverie.text.alignment import NAMES, alignment_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PairLabel = Literal["update", "compatible", "same"]
LABELS: Final[tuple[PairLabel, ...]] = ("update", "compatible", "same")

LEAST_COSINE = 0.35
"""Below this cosine two texts are not compared: hardly any pair that people called an update lies lower."""

LIKELY_UPDATE = 0.72
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
