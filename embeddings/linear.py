"""A small linear classifier on the vectors of the bundled model.

A model is a JSON file of some kilobytes in `bundle/`, written by a script in `training/`: a row of 8-bit weights
and a bias for each label. Features are the unit vector of a text, followed by as many cues as the model was trained
with (1.0 where a rule of words fits, else 0.0). A model may name the words that some of its cues stand for.
"""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from reverie.embeddings.bundled import BUNDLE, STAMP

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class LinearModel:
    """Labels with a weight for each feature and a bias."""

    labels: tuple[str, ...]
    weights: "NDArray[np.float32]"  # a row for each label
    bias: "NDArray[np.float32]"
    trained_on: str = STAMP
    words: tuple[str, ...] = ()  # the words that the last cues stand for, one each

    def probabilities(self, vector: "NDArray[np.float32]", cues: Sequence[float] = ()) -> dict[str, float]:
        """Return how likely each label is.

        The labels of a model exclude each other (softmax); one label alone is a yes or no (sigmoid).
        """
        import numpy as np

        features = np.concatenate([vector, np.asarray(cues, dtype=np.float32)])
        scores = self.weights @ features + self.bias
        if len(self.labels) == 1:
            return {self.labels[0]: float(1.0 / (1.0 + np.exp(-scores[0])))}
        powers = np.exp(scores - scores.max())
        shares = powers / powers.sum()
        return {label: float(share) for label, share in zip(self.labels, shares, strict=True)}

    def without_vector(self, cues: Sequence[float]) -> dict[str, float]:
        """Return how likely each label is by the cues alone, as if the vector said nothing either way."""
        import numpy as np

        return self.probabilities(np.zeros(self.weights.shape[1] - len(cues), dtype=np.float32), cues)

    def to_json(self) -> str:
        """Return the model as the text of its file; weights are rounded to 8 bits, with a scale for each label."""
        import numpy as np

        scale = np.abs(self.weights).max(axis=1) / 127.0
        steps = np.rint(self.weights / scale[:, None]).astype(np.int8)
        rows = {
            label: {
                "bias": round(float(bias), 5),
                "scale": float(np.float32(size)),
                "weights": base64.b64encode(row.tobytes()).decode(),
            }
            for label, bias, size, row in zip(self.labels, self.bias, scale, steps, strict=True)
        }
        words = {"words": "\t".join(self.words)} if self.words else {}
        return (
            json.dumps({"trained_on": self.trained_on, "labels": rows} | words, indent=1, ensure_ascii=False) + "\n"
        )


def from_json(text: str) -> LinearModel:
    """Read a model from the text of its file."""
    import numpy as np

    written = json.loads(text)
    rows = written["labels"]
    weights = [
        np.frombuffer(base64.b64decode(row["weights"]), dtype=np.int8).astype(np.float32) * np.float32(row["scale"])
        for row in rows.values()
    ]
    bias = np.array([row["bias"] for row in rows.values()], dtype=np.float32)
    words = tuple(written["words"].split("\t")) if "words" in written else ()
    return LinearModel(tuple(rows), np.stack(weights), bias, written["trained_on"], words)


@cache
def bundled_model(name: str) -> LinearModel:
    """Return the model that ships as `bundle/NAME.json`."""
    return from_json((BUNDLE / f"{name}.json").read_text("utf-8"))
