"""Features of candidates: what each shares with the query, before anything is weighed.

word score   = own + 0.3 · before + 0.3 · after, the BM25 of the memory and of its neighbours in its session
vector score = cosine − 0.08 · ln(passages),     the best cosine of the memory and its passages

A word is rare or common over the whole scope, not table by table. A turn of a conversation is found by the words of
the turn it answers. A long memory has many passages to be near with, so each doubling costs it something.

They are computed in the same way wherever the vectors are: only which memories vectors find as candidates depends on
that (storage/candidates.py). Costlier features are computed for the best alone: how far the tokens agree, and whether
the evidence still holds.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from reverie.codebase.evidence import Evidence, EvidenceState
from reverie.embeddings.base import QueryEmbedding
from reverie.embeddings.token_vectors import agreements
from reverie.memory import STATUSES, Memory
from reverie.recall.score import (
    BM25_B,
    BM25_K1,
    FUNCTION_WORD_SHARE,
    NEIGHBOUR_SHARE,
    PASSAGE_COST,
    CandidateFeatures,
    token_weights,
)
from reverie.storage.candidates import Candidates
from reverie.storage.joined_index import NOBODY
from reverie.text.tokenize import function_terms, search_text, terms


@dataclass(frozen=True, slots=True)
class Features:
    """The candidates in no order, and what the search knows of the query and of what is out of scope."""

    candidates: list[CandidateFeatures]
    max_word_score: float = 0.0  # what a memory made of the query's words alone could score
    word_rarity: Mapping[str, float] = field(default_factory=dict)  # of each word the model read, in scope
    term_rarity: Mapping[int, float] = field(default_factory=dict)  # of each term, in scope
    out_of_scope: Mapping[str, int] = field(default_factory=dict)  # memories that share words: counts by reason


async def features_of(found: Candidates, text: str, embedding: QueryEmbedding | None, limit: int) -> Features:
    """Compute the features of the best `limit` candidates by vector and the best `limit` by words.

    Raises:
        StoreError: if vectors are on disk and cannot be read.
    """
    index, in_scope = found.index, found.in_scope
    words = _word_scores(found, text, () if embedding is None else embedding.words)
    before, after = index.neighbours(in_scope)
    scored = np.flatnonzero(words.scores != 0.0)
    word_scores = words.scores + NEIGHBOUR_SHARE * (
        _scores_at(after, scored, words.scores) + _scores_at(before, scored, words.scores)
    )
    word_scores[~in_scope] = 0.0
    cost = _costs(index.passage_counts())
    # Found by words alone, a memory must have some itself; where vectors help, its neighbours' words will do.
    chosen = _best(word_scores, (words.scores if embedding is None else word_scores) > 0.0, limit)
    cosines = np.zeros(len(index), np.float32)
    if embedding is not None:
        compared = found.near.copy()
        compared[chosen] = True
        cosines[compared] = await found.cosines_of(np.flatnonzero(compared))
        chosen = np.union1d(chosen, _best(cosines - cost, found.near, limit))

    def features(number: int) -> CandidateFeatures:
        cosine = None if embedding is None else float(cosines[number])
        return CandidateFeatures(
            id=index.id_at(number),
            location=index.location_at(number),
            cosine=cosine,
            vector_score=None if cosine is None else cosine - float(cost[number]),
            word_score=float(word_scores[number]),
            neighbours=tuple(index.id_at(int(n)) for n in (before[number], after[number]) if n != NOBODY),
        )

    return Features(
        [features(int(number)) for number in chosen],
        words.highest,
        words.word_rarity,
        words.term_rarity,
        _out_of_scope(found, words.sharing),
    )


@dataclass(frozen=True, slots=True)
class _WordScores:
    """What the words of a query found."""

    scores: np.ndarray  # BM25 of each memory in scope
    sharing: np.ndarray  # which memories, in scope or not, share a word that is no function word
    highest: float  # the BM25 that no memory can pass
    term_rarity: dict[int, float]  # of each term of the query, in scope
    word_rarity: dict[str, float]  # of each word that the model read, in scope; punctuation has none


def _word_scores(found: Candidates, text: str, words: Sequence[str]) -> _WordScores:
    """Score the memories in scope by the words of a text, and say how rare those and the model's words are."""
    index, in_scope = found.index, found.in_scope
    asked = list(dict.fromkeys(terms(search_text(text))))
    read = {word: found_terms[0] for word in dict.fromkeys(words) if (found_terms := terms(word))}
    known = list(dict.fromkeys((*asked, *read.values())))
    content_words = np.array([term not in function_terms() for term in asked], np.bool_)
    shares = np.where(content_words, 1.0, FUNCTION_WORD_SHARE) if content_words.any() else np.ones(len(asked))
    numbers, owners, counts = index.term_entries(known, in_scope)
    rarity = _inverse_frequency(np.bincount(numbers, minlength=len(known)), in_scope)
    telling = [term for term, tells in zip(asked, content_words, strict=True) if tells]
    sharing = index.having_any(telling or asked)
    scored = numbers < len(asked)
    numbers, owners, counts = numbers[scored], owners[scored], counts[scored]
    weights = shares * rarity[: len(asked)]
    lengths = index.lengths()
    mean_length = float(lengths[in_scope].sum()) / max(int(np.count_nonzero(in_scope)), 1)
    relative = lengths[owners] / max(mean_length, 1.0)
    damping = BM25_K1 * (1.0 - BM25_B + BM25_B * relative)
    parts = weights[numbers] * counts * (BM25_K1 + 1.0) / (counts + damping)
    highest = float(weights.sum()) * (BM25_K1 + 1.0)
    scores = np.bincount(owners, parts, minlength=len(index))
    rarity_of = dict(zip(known, rarity.tolist(), strict=True))
    return _WordScores(
        scores,
        sharing,
        highest,
        {term: rarity_of[term] for term in asked},
        {word: rarity_of[term] for word, term in read.items()},
    )


def _inverse_frequency(counts: np.ndarray, in_scope: np.ndarray) -> np.ndarray:
    return np.log1p((np.count_nonzero(in_scope) - counts + 0.5) / (counts + 0.5))


def _out_of_scope(found: Candidates, sharing: np.ndarray) -> dict[str, int]:
    """Count the memories that share words with the query and are not candidates, by the reason."""
    index, scope = found.index, found.scope
    hidden = sharing & index.alive() & index.seen_by(scope.viewer) & ~found.in_scope
    quarantined = hidden & index.in_scope(scope, ["quarantined"])
    other_status = hidden & index.in_scope(scope, [s for s in STATUSES if s not in (*scope.statuses, "quarantined")])
    counts = {
        "quarantine": np.count_nonzero(quarantined),
        "status": np.count_nonzero(other_status),
        "scope": np.count_nonzero(hidden & ~quarantined & ~other_status),
    }
    return {reason: int(count) for reason, count in counts.items() if count}


def _scores_at(places: np.ndarray, scored: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return the scores of those that have one, put at other places; NOBODY is no place, and no two share one."""
    moved = np.zeros(len(scores))
    targets = places[scored]
    there = targets != NOBODY
    moved[targets[there]] = scores[scored[there]]
    return moved


def _costs(passages: np.ndarray) -> np.ndarray:
    """Return what the passages of each memory cost it; most memories have none."""
    costs = np.zeros(len(passages))
    several = np.flatnonzero(passages > 1)
    costs[several] = PASSAGE_COST * np.log(passages[several])
    return costs


def _best(scores: np.ndarray, allowed: np.ndarray, limit: int) -> np.ndarray:
    """Return the indices of the highest scores, the earlier first among equals."""
    indices = np.flatnonzero(allowed)
    if len(indices) > limit:
        least = np.partition(scores[indices], len(indices) - limit)[len(indices) - limit]
        indices = indices[scores[indices] >= least]
    return indices[np.argsort(-scores[indices], kind="stable")][:limit]


def token_agreements(
    embedding: QueryEmbedding | None,
    features: Features,
    compared: Sequence[CandidateFeatures],
    token_vectors: Mapping[str, bytes],
) -> dict[str, float]:
    """Compare candidates with the query token by token; those without token vectors are left out."""
    if embedding is None or embedding.pieces is None:
        return {}
    weights = token_weights(embedding.words, embedding.rarity, features.word_rarity)
    return agreements(embedding.pieces, weights, token_vectors, {one.id: one.neighbours for one in compared})


async def freshness_of(evidence: Evidence, memories: Iterable[Memory]) -> dict[str, EvidenceState]:
    """Check the anchors of memories against the code on disk, by id; writes nothing."""
    checked = list(memories)
    anchored = [memory for memory in checked if memory.anchors]
    found = {memory.id: EvidenceState("unanchored") for memory in checked if not memory.anchors}
    if anchored:
        found |= await asyncio.to_thread(_check_anchors, evidence, anchored)
    return found


def _check_anchors(evidence: Evidence, memories: list[Memory]) -> dict[str, EvidenceState]:
    return {memory.id: evidence.check(memory.project, memory.branch, memory.anchors) for memory in memories}
