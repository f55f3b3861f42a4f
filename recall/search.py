"""Recall from one end to the other: candidates → features → score → rerank → render."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from reverie.codebase.evidence import Evidence
from reverie.embeddings.base import QueryEmbedding
from reverie.lifecycle.rules import expired_if_overdue
from reverie.memory import Tier
from reverie.recall.calibration import calibrated, fit_word, is_irrelevant, with_fit
from reverie.recall.features import Features, features_of, freshness_of, token_agreements
from reverie.recall.render import Answer, Found, Page, render
from reverie.recall.rerank import reranked
from reverie.recall.score import (
    CANDIDATES,
    CHECKED_PER_ROW,
    COMPARED_BY_TOKEN,
    CandidateFeatures,
    ScoredMemory,
    by_freshness,
    may_reach_top,
    most_relevant,
    ranked,
    score_parts,
    with_tokens,
)
from reverie.storage.candidates import Candidates
from reverie.storage.rows import CandidateRow
from reverie.storage.scope import Scope
from reverie.storage.store import MemoryStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query whose arguments are checked, and what is known of whoever asks."""

    text: str
    embedding: QueryEmbedding | None  # None: no model is loaded, words decide alone
    embedder: str  # the stamp of the model
    scope: Scope
    limit: int
    now: datetime
    tier: Tier | None  # the tier of this installation, for memories without one
    max_distance: float  # L2 between unit vectors
    min_strength: float = 0.0
    keep_irrelevant: bool = False  # the caller narrowed the search: show what it has, whether it fits or not

    @property
    def wanted(self) -> int | None:
        """How many rows are wanted; None if strength filters them afterwards, so that all have to be scored."""
        return self.limit if self.min_strength == 0 else None

    @property
    def candidates(self) -> int:
        """How many candidates are wanted of each search."""
        return max(CANDIDATES, self.wanted or 0)


@dataclass(frozen=True, slots=True)
class Ranked:
    """The scored memories, best first; how many candidates are near enough; how many of those are overdue."""

    rows: list[ScoredMemory]
    matches: int
    overdue: int


async def search(store: MemoryStore, evidence: Evidence, query: Query, page: Page) -> Answer:
    """Answer a query.

    Raises:
        StoreError: if the store cannot be read.
    """
    vector = None if query.embedding is None else query.embedding.vector
    candidates: Candidates = await store.search.find(query.text, vector, query.scope, query.candidates)
    features = features_of(candidates, query.text, query.embedding, query.candidates)
    found = await _score(store, query, features)
    strong = [row for row in found.rows if row.strength >= query.min_strength]
    fitting = [row for row in strong if query.keep_irrelevant or not is_irrelevant(row)]
    near_top = fitting[: CHECKED_PER_ROW * query.limit]
    checked = await freshness_of(evidence, (row.memory for row in near_top))
    fresh = by_freshness(near_top, {memory_id: state.freshness for memory_id, state in checked.items()})
    chosen = reranked(fresh, query.text, query.limit)
    rows = calibrated(chosen.rows, highest=max((row.score for row in found.rows), default=0.0))
    weak, unfit = len(found.rows) - len(strong), len(strong) - len(fitting)
    left_out = {
        **features.out_of_scope,
        "distance": len(features.candidates) - found.matches,
        "status": features.out_of_scope.get("status", 0) + found.overdue,
        "strength": weak,
        "does not fit": unfit,
        "source": chosen.capped,
        "limit": max(0, found.matches - found.overdue - weak - unfit - chosen.capped - len(rows)),
    }
    answer = Found(
        rows=rows,
        evidence=checked,
        fits=fit_word(rows),
        matches=found.matches - found.overdue,
        filtered=left_out,
    )
    return render(answer, page, query.now)


async def _score(store: MemoryStore, query: Query, features: Features) -> Ranked:
    """Score the candidates: all by the cheap features, the most relevant token by token, those in reach in full."""
    understood = 1.0 if query.embedding is None else query.embedding.understood
    near = [one for one in features.candidates if _is_near(one, query.max_distance)]
    parts = score_parts(near, features.max_word_score, understood)
    best = list(parts) if query.wanted is None else most_relevant(parts, max(COMPARED_BY_TOKEN, query.wanted))
    compared = {one.id: one for one in near if one.id in set(best)}
    rows = await store.candidate_rows({one.id: one.location for one in compared.values()}, query.scope)
    agreements = token_agreements(query.embedding, features, list(compared.values()), rows.token_vectors())
    parts = with_tokens(parts, agreements, best, understood)
    parts = {memory_id: parts[memory_id] for memory_id in best}
    in_reach = rows.of(best if query.wanted is None else may_reach_top(parts, query.wanted))
    in_time = _in_time(in_reach, query)
    scored = with_fit(
        ranked(in_time, parts, query.text, query.now),
        query.text,
        embedder=query.embedder,
        embedding=query.embedding,
        features=compared,
        agreements=agreements,
        term_rarity=features.term_rarity,
    )
    return Ranked(scored, len(near), len(in_reach) - len(in_time))


def _is_near(candidate: CandidateFeatures, max_distance: float) -> bool:
    """Whether a candidate shares words with the query or its vector is near enough; L2 is √(2 − 2·cosine)."""
    least_cosine = 1.0 - max_distance**2 / 2.0
    return candidate.word_score > 0.0 or (candidate.cosine is not None and candidate.cosine >= least_cosine)


def _in_time(rows: Iterable[CandidateRow], query: Query) -> list[CandidateRow]:
    """Return the rows as they were at the moment asked about, without those overdue that no sweep has expired yet."""
    moment = query.scope.as_of or query.now
    read = [
        replace(row, memory=expired_if_overdue(query.scope.as_asked(row.memory), moment, query.tier)) for row in rows
    ]
    return [row for row in read if row.memory.status in query.scope.statuses]
