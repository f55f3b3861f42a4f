"""Judging by meaning whether a text gives orders to the assistant, where no sign of `guard/` is plain enough.

Each statement is judged alone, by the small model `orders` on its vector and its cues. The cues alone sort out most
statements of long notes, so that few have to be embedded for it, and none if the text is a single statement.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from reverie.embeddings.embedder import Embedder
from reverie.embeddings.linear import LinearModel, bundled_model, embedder_for_models
from reverie.guard.cues import cues_in, marks_in, statements_in

if TYPE_CHECKING:
    from reverie.embeddings.embedder import Embedding

PROBABLE = 0.87
"""From this probability on a statement is held back: 2 % of the training notes are, each judged unseen (0029)."""
_WORTH_A_LOOK = 0.05
"""Statements of longer texts whose cues alone say less are not embedded: 0.6 % of the orders of the first list."""
_FEW = 3
"""A text of so few statements is embedded whole."""
_MOST_STATEMENTS = 1_500
_MOST_EMBEDDED = 48


@dataclass(frozen=True, slots=True)
class Suspects:
    """The statements of a text that have to be embedded to judge it, with their cues, the likeliest first."""

    statements: tuple[str, ...] = ()
    cues: tuple[tuple[float, ...], ...] = ()

    def orders(self, embeddings: Sequence["Embedding"]) -> tuple[str, ...]:
        """Say why the text is held back, given the embeddings of the statements; nothing if it is not."""
        model = _model()
        for statement, cues, embedding in zip(self.statements, self.cues, embeddings, strict=True):
            if model.probabilities(embedding.vector, cues)["order"] >= PROBABLE:
                marks = ", ".join(marks_in(statement))
                return (f"reads like a planted order ({marks})" if marks else "reads like a planted order",)
        return ()


def suspects_in(content: str, title: str = "") -> Suspects:
    """Return the statements of a text that its cues do not clear; a title that only repeats the text is left out."""
    model = _model()
    statements = list(dict.fromkeys(islice(statements_in(content), _MOST_STATEMENTS)))
    if title and not content.startswith(title.rstrip("…")):
        statements += statements_in(title)
    if len(statements) > _FEW:
        scored = [(model.without_vector(cues_in(statement))["order"], statement) for statement in statements]
        worth = sorted((row for row in scored if row[0] >= _WORTH_A_LOOK), key=lambda row: -row[0])
        statements = [statement for _, statement in worth[:_MOST_EMBEDDED]]
    return Suspects(tuple(statements), tuple(tuple(cues_in(statement)) for statement in statements))


def orders_by_meaning(content: str, title: str, embedder: Embedder | None) -> tuple[str, ...]:
    """Say why a text is held back by its meaning; nothing if it is not, or if there is no model to judge by."""
    judge = embedder_for_models(embedder)
    if judge is None:
        return ()
    suspects = suspects_in(content, title)
    return suspects.orders(judge.embed(suspects.statements))


def _model() -> LinearModel:
    return bundled_model("orders")
