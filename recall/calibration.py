"""Calibration: the probability that a memory answers a query. The same number means the same in every store.

    fit = 1 / (1 + exp(−(11.2 · agreement + 3.9 · cosine + 3.2 · coverage − 4.4)))

agreement is that of the tokens (late interaction), cosine that of the best vector, and coverage the share of the
query's words, weighted by rarity and without function words, that the memory has. None of them depends on the other
candidates: ranking brings its parts to [0, 1] over the candidates of one query, so that the best of a bad lot looks
as good as the best of a good one. The four numbers were fitted on four sets at once and checked on a fifth:
decision 0010.

They hold for the bundled model. Without a model, or for a script it was not taught, words decide alone:

    fit = 1 / (1 + exp(−(8.6 · coverage − 2.25)))

The constants are in score.py.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from reverie.embeddings.base import QueryEmbedding
from reverie.embeddings.bundled import STAMP
from reverie.recall.results import Fits
from reverie.recall.score import (
    FIT_AGREEMENT,
    FIT_BIAS,
    FIT_BIAS_ALONE,
    FIT_COSINE,
    FIT_COVERAGE,
    FIT_COVERAGE_ALONE,
    FITS_WELL,
    LEAST_FIT,
    LEAST_READ,
    LONGEST_FOR_FIT,
    ROWS_THAT_DECIDE_FIT,
    CandidateFeatures,
    ScoredMemory,
)
from reverie.text.search_text import function_terms, search_text, terms

# Each part begins where a word does: tried at every letter of a long word, it takes the square of its length.
_IDENTIFIER = re.compile(
    r"(?<!\w)[^\W\d_]+(?:[a-z][A-Z]|\d|_)\w*|(?<!\w)\w+(?:[./\\:]{1,2}\w+)+|_\w{2,}|(?<!\d)\d+[^\W\d_]\w*"
)
_LONGEST_SEARCHED = 10_000  # characters of a text that are searched for the query's words


def with_fit(
    found: Sequence[ScoredMemory],
    query: str,
    *,
    embedder: str,
    embedding: QueryEmbedding | None,
    features: Mapping[str, CandidateFeatures],
    agreements: Mapping[str, float],
    term_rarity: Mapping[int, float],
) -> list[ScoredMemory]:
    """Add to each row the probability that it answers the query."""
    coverage_of = _coverage_by(query, term_rarity)
    identifiers = [identifier.lower() for identifier in _IDENTIFIER.findall(query)]
    understood = embedding is not None and embedding.understood >= LEAST_READ

    def fit(row: ScoredMemory) -> float:
        memory = row.memory
        coverage = coverage_of(memory.title, memory.content)
        by_words = _probability(FIT_COVERAGE_ALONE * coverage + FIT_BIAS_ALONE)
        content = memory.content.lower()
        if any(identifier in content for identifier in identifiers):
            by_words = max(by_words, FITS_WELL)  # it has the very identifier that the query names
        if not understood:
            return by_words
        if embedder != STAMP:
            return max(by_words, FITS_WELL)  # the cosines of other models are not calibrated
        if memory.id not in agreements:
            return by_words
        cosine = features[memory.id].cosine or 0.0
        logit = FIT_AGREEMENT * agreements[memory.id] + FIT_COSINE * cosine + FIT_COVERAGE * coverage + FIT_BIAS
        return max(_probability(logit), by_words if identifiers and by_words >= FITS_WELL else 0.0)

    return [replace(row, fit=fit(row)) for row in found]


def is_irrelevant(row: ScoredMemory) -> bool:
    """Whether a row is so unlikely to answer that it is not shown."""
    return row.fit < LEAST_FIT and len(row.memory.content) <= LONGEST_FOR_FIT


def fit_word(rows: Sequence[ScoredMemory]) -> Fits:
    """Say in one word how the answer as a whole fits the query."""
    if not rows:
        return "none"
    return "well" if _best_fit(rows) >= FITS_WELL else "weak"


def calibrated(rows: Sequence[ScoredMemory], highest: float) -> list[ScoredMemory]:
    """Give the best row its probability as a score, and the others theirs in proportion to how they rank.

    `highest` is the highest score before evidence and copies were weighed: what is changed or missing stays demoted.
    """
    best = _best_fit(rows)
    return [replace(row, score=min(1.0, best * row.score / highest) if highest > 0.0 else 0.0) for row in rows]


def _best_fit(rows: Sequence[ScoredMemory]) -> float:
    return max((row.fit for row in rows[:ROWS_THAT_DECIDE_FIT]), default=0.0)


def _coverage_by(query: str, rarity: Mapping[int, float]) -> Callable[[str, str], float]:
    """Return a function from a title and a content to the share of the query's words that they have."""
    asked = frozenset(terms(search_text(query)))
    content_words = asked - function_terms() or asked
    weights = {term: rarity.get(term, 1.0) if rarity else 1.0 for term in content_words}
    total = math.fsum(weights.values())

    def coverage_of(title: str, content: str) -> float:
        shared = content_words.intersection(terms(search_text(title, content[:_LONGEST_SEARCHED])))
        return math.fsum(weights[term] for term in shared) / total if total > 0.0 else 0.0

    return coverage_of


def _probability(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, logit))))
