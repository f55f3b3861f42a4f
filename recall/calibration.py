"""How likely it is that a memory answers a question: the same number means the same in every store.

    fit = 1 / (1 + exp(−(11.2 · agreement + 3.9 · cosine + 3.2 · coverage − 4.4)))

agreement is that of the word pieces (late interaction), cosine that of the best vector, and coverage the share of the
question's telling words, each by its rarity, that the memory has. None of them is held against the other candidates:
ranking brings its parts to [0, 1] over the candidates of one question, so that the best of a bad lot looks as good as
the best of a good one. The four numbers were fitted on four sets at once and checked on a fifth: decision 0010.

They are those of the bundled model. Without a model, or for a script it was not taught, words alone are weighed:

    fit = 1 / (1 + exp(−(8.6 · coverage − 2.25)))
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from reverie.embeddings.base import QueryEmbedding
from reverie.embeddings.bundled import STAMP
from reverie.recall.results import Fits
from reverie.recall.score import ScoredMemory
from reverie.storage.features import Candidate
from reverie.text.search_text import function_terms, search_text, terms

AGREEMENT, COSINE, COVERAGE, BIAS = 11.2, 3.9, 3.2, -4.4
WORDS_ALONE, WORDS_BIAS = 8.6, -2.25

FITS_WELL = 0.55
"""Below it the best row is likelier to be a neighbour of the question than its answer, and the answer says so."""

LEAST_FIT = 0.05
"""What fits less is not shown. Of the evidence of four sets nothing was lost at it."""

LONGEST_STATEMENT = 400
"""Characters. A longer text tells of several things and is measured at one: it is never left out for its fit."""

LEAST_READ = 0.5
"""The share of a question that the model must be able to read for its numbers to count."""

_LOOKED_AT = 3  # an answer fits if one of its first rows does
_IDENTIFIER = re.compile(r"[^\W\d_]+(?:[a-z][A-Z]|\d|_)\w*|\w+(?:[./\\:]{1,2}\w+)+|_\w{2,}|\d+[^\W\d_]\w*")

_MOST_READ = 10_000  # characters of a text that are searched for the question's words

Weigh = Callable[[str, str], float]


def fitted(
    found: Sequence[ScoredMemory],
    query: str,
    *,
    embedder: str,
    reading: QueryEmbedding | None,
    candidates: Mapping[str, Candidate],
    agreements: Mapping[str, float],
    rarity: Mapping[int, float],
) -> list[ScoredMemory]:
    """Say of each row how likely it answers the question; `rarity` is that of the question's words in scope."""
    covered = _coverage_by(query, rarity)
    named = [identifier.lower() for identifier in _IDENTIFIER.findall(query)]
    understood = reading is not None and reading.understood >= LEAST_READ

    def fit(row: ScoredMemory) -> float:
        memory = row.memory
        coverage = covered(memory.title, memory.content)
        words = _probability(WORDS_ALONE * coverage + WORDS_BIAS)
        content = memory.content.lower()
        if any(identifier in content for identifier in named):
            words = max(words, FITS_WELL)  # what is asked for by its name stands there by its name
        if reading is None or not understood:
            return words
        if embedder != STAMP:
            return max(words, FITS_WELL)  # nothing is known of what this model's cosines mean
        if memory.id not in agreements:
            return words
        cosine = candidates[memory.id].cosine or 0.0
        likely = AGREEMENT * agreements[memory.id] + COSINE * cosine + COVERAGE * coverage + BIAS
        return max(_probability(likely), words if named and words >= FITS_WELL else 0.0)

    return [replace(row, fit=fit(row)) for row in found]


def is_irrelevant(row: ScoredMemory) -> bool:
    """Whether a row is so unlikely to answer that it is not shown."""
    return row.fit < LEAST_FIT and len(row.memory.content) <= LONGEST_STATEMENT


def best_fit(rows: Sequence[ScoredMemory]) -> float:
    """Return how likely an answer holds what was asked for."""
    return max((row.fit for row in rows[:_LOOKED_AT]), default=0.0)


def fits(rows: Sequence[ScoredMemory]) -> Fits:
    """Say how an answer as a whole fits the question."""
    if not rows:
        return "none"
    return "well" if best_fit(rows) >= FITS_WELL else "weak"


def calibrated(rows: Sequence[ScoredMemory], best: float, most: float) -> list[ScoredMemory]:
    """Give the best row the likelihood that it answers, and the others theirs in proportion to how they rank.

    `most` is the highest score before evidence and copies were weighed: what is changed or missing stays demoted.
    """
    return [replace(row, score=min(1.0, best * row.score / most) if most > 0.0 else 0.0) for row in rows]


def _coverage_by(query: str, rarity: Mapping[int, float]) -> Weigh:
    """Return a function that tells the share of a question's telling words in a text, each by its rarity."""
    asked = frozenset(terms(search_text(query)))
    telling = asked - function_terms() or asked
    weights = {term: rarity.get(term, 1.0) if rarity else 1.0 for term in telling}
    total = math.fsum(weights.values())

    def covered(title: str, content: str) -> float:
        held = telling.intersection(terms(search_text(title, content[:_MOST_READ])))
        return math.fsum(weights[term] for term in held) / total if total > 0.0 else 0.0

    return covered


def _probability(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, logit))))
