"""Texts that only the journal has: what a dream wrote that was undone since, and what an import has reworded.

A question about the past (`as_of`) is asked of the tables, which have the texts of today. The few memories that had
another text then, or have no row any more, are compared with the query here and scored beside the others.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from reverie.embeddings.base import Embedding, QueryEmbedding
from reverie.memory import Memory
from reverie.recall.features import Features
from reverie.recall.score import BM25_B, BM25_K1, FUNCTION_WORD_SHARE, PASSAGE_COST, CandidateFeatures
from reverie.storage.rows import CandidateRow
from reverie.text.tokenize import function_terms, search_text, terms

Embed = Callable[[Sequence[str]], Awaitable[list[Embedding]]]

MOST_COMPARED = 64
"""So many past texts are embedded for a query: those that share most words with it, then the newest."""


@dataclass(frozen=True, slots=True)
class PastTexts:
    """Past texts that a query was compared with: the features and the row of each, and its packed token vectors."""

    features: Sequence[CandidateFeatures] = ()
    rows: Mapping[str, CandidateRow] = field(default_factory=dict)
    token_vectors: Mapping[str, bytes] = field(default_factory=dict)


async def compared_past_texts(
    memories: Sequence[Memory], features: Features, embedding: QueryEmbedding | None, embed: Embed
) -> PastTexts:
    """Compare the texts that memories had once with a query, as the texts in the tables are compared."""
    word_scores = {memory.id: _word_score(memory, memories, features.term_rarity) for memory in memories}
    best = sorted(memories, key=lambda memory: (-word_scores[memory.id], -memory.created_at.timestamp()))
    chosen = best[:MOST_COMPARED]
    embeddings = await embed([memory.content for memory in chosen]) if chosen else []
    found: list[CandidateFeatures] = []
    for memory, own in zip(chosen, embeddings, strict=True):
        cosine = None if embedding is None else _best_cosine(own, embedding)
        if cosine is None and not word_scores[memory.id]:
            continue
        cost = PASSAGE_COST * float(np.log(max(len(own.passages), 1)))
        found.append(
            CandidateFeatures(
                id=memory.id,
                location=None,
                cosine=cosine,
                vector_score=None if cosine is None else cosine - cost,
                word_score=word_scores[memory.id],
            )
        )
    by_id = {memory.id: (memory, own) for memory, own in zip(chosen, embeddings, strict=True)}
    return PastTexts(
        found,
        {one.id: CandidateRow(by_id[one.id][0], by_id[one.id][1].vector) for one in found},
        {one.id: by_id[one.id][1].pieces for one in found if by_id[one.id][1].pieces},
    )


def with_past_texts(features: Features, past: PastTexts, reworded: Sequence[str]) -> Features:
    """Return the features with those of past texts, in place of today's texts of the same memories."""
    today = [one for one in features.candidates if one.id not in set(reworded)]
    return replace(features, candidates=[*today, *past.features])


def _best_cosine(own: Embedding, query: QueryEmbedding) -> float:
    return max(float(np.dot(vector, query.vector)) for vector in (own.vector, *own.passages))


def _word_score(memory: Memory, all_past: Sequence[Memory], rarity: Mapping[int, float]) -> float:
    """Return the BM25 of a past text, by how rare the query's words are in the tables."""
    own = Counter(terms(search_text(memory.content)))
    mean_length = sum(len(one.content) for one in all_past) / len(all_past)
    damping = BM25_K1 * (1.0 - BM25_B + BM25_B * len(memory.content) / max(mean_length, 1.0))
    content_words = any(term not in function_terms() for term in rarity)
    score = 0.0
    for term, weight in rarity.items():
        share = FUNCTION_WORD_SHARE if content_words and term in function_terms() else 1.0
        score += share * weight * own[term] * (BM25_K1 + 1.0) / (own[term] + damping)
    return score
