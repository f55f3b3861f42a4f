"""How likely a passage is an order planted for an assistant: two classifiers on the third layer of the bundled model.

The first, `bundle/orders.json`, is cheap: filters over neighbouring word pieces, the readable features and hashed
words (`embeddings/classifier.py`). Most passages are plainly no order to it, and are done. The others are read by the
second, `bundle/orders.onnx`: copies of the encoder's upper three layers, trained for this task alone, with a head
that sees the features as well. The mean of their log-odds counts, because they err on different texts. Both are
trained on the texts in `training/`; decision 0048 has the figures.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from reverie.embeddings.bundled import BUNDLE, session_of
from reverie.embeddings.classifier import bundled_model
from reverie.errors import EmbedderError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FEATURES = 63
"""How many of the features the upper layers see: those that can be read, not the hashed words."""
PLAINLY_NO_ORDER = -2.5
"""Below these log-odds of the first classifier the second is not asked: it could hardly make up for them."""


def likelihood_of_order(pieces: "NDArray[np.float32]", cues: Sequence[float]) -> float:
    """Return how likely a passage is a planted order, given its third layer and its features.

    Raises:
        EmbedderError: if the bundled file is missing or damaged.
    """
    likelihood = bundled_model("orders").probabilities_of_pieces(pieces, cues)["order"]
    by_filters = _log_odds(likelihood)
    if by_filters < PLAINLY_NO_ORDER:
        return likelihood
    both = (by_filters + _by_upper_layers(pieces, cues)) / 2
    return 1.0 / (1.0 + math.exp(-both))


def _log_odds(likelihood: float) -> float:
    bounded = min(max(likelihood, 1e-6), 1 - 1e-6)
    return math.log(bounded / (1 - bounded))


def _by_upper_layers(pieces: "NDArray[np.float32]", cues: Sequence[float]) -> float:
    import numpy as np

    seen = np.asarray(cues[:FEATURES], np.float32)
    [[[score]]] = _upper_layers().run(["score"], {"rows": pieces[None], "cues": seen[None]})
    return float(score)


@cache
def _upper_layers() -> Any:
    path = BUNDLE / "orders.onnx"
    try:
        return session_of(path.read_bytes(), BUNDLE)
    except Exception as error:
        raise EmbedderError(
            f"The bundled classifier {path} could not be loaded ({error}). "
            "Reinstall it with `pip install --force-reinstall reverie-mcp`."
        ) from error
