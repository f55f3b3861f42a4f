"""Recall from one end to the other: candidates → features → score → rerank → render.

Reranking is here, the other stages have modules of their own. It makes the rows of an answer from scored memories:
copies go last, a low-trust source gives a third at most, and of two statements about one thing the newer goes first.

A question about the past (`as_of`) is asked of the tables, which have the texts of today. The few memories that had
another text then, or have no row any more, are in the journal only: what a dream wrote that was undone since, what an
import has reworded. They are compared with the query at the end of this module and scored beside the others.
"""

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np

from reverie.codebase.evidence import Evidence
from reverie.embeddings.base import Embedding, QueryEmbedding
from reverie.embeddings.bundled import STAMP
from reverie.embeddings.classifier import judged_pair
from reverie.errors import StoreError
from reverie.lifecycle.outcomes import read_outcome
from reverie.lifecycle.rules import expired_if_overdue
from reverie.memory import Memory, Tier
from reverie.parameters import Parameters
from reverie.recall.features import Features, features_of, freshness_of, token_agreements
from reverie.recall.render import Answer, Found, Page, render
from reverie.recall.score import (
    ANSWERED_BEST,
    BESIDE_IN_ANSWER,
    BM25_B,
    BM25_K1,
    CANDIDATES,
    CHALLENGER_NEAR,
    CHECKED_PER_ROW,
    COMPARED_BY_TOKEN,
    COMPARED_FOR_COPIES,
    COPY_COSINE,
    COPY_FACTOR,
    FUNCTION_WORD_SHARE,
    LONGEST_COMPARED,
    LONGEST_STATEMENT,
    LOW_TRUST,
    NEAR_ENOUGH_TO_JUDGE,
    NEAR_IN_SCORE,
    PASSAGE_COST,
    ROWS_PER_LOW_TRUST,
    SAME_STATEMENT,
    SAME_SUBJECT,
    SHARED_SUBJECT,
    CandidateFeatures,
    ScoredMemory,
    best_first,
    by_freshness,
    calibrated,
    fit_word,
    is_irrelevant,
    may_reach_top,
    most_relevant,
    ranked,
    score_parts,
    with_fit,
    with_tokens,
)
from reverie.storage.rows import CandidateRow, Embedded, cosine
from reverie.storage.scope import Scope
from reverie.storage.store import MemoryStore
from reverie.text.alignment import LONGEST_ALIGNED
from reverie.text.compare import substantive_differences
from reverie.text.tokenize import function_terms, search_text, terms

Embed = Callable[[Sequence[str]], Awaitable[list[Embedding]]]


@dataclass(frozen=True, slots=True)
class PastTexts:
    """Past texts that a query was compared with: the features and the row of each, and its packed token vectors."""

    features: Sequence[CandidateFeatures] = ()
    rows: Mapping[str, CandidateRow] = field(default_factory=dict)
    token_vectors: Mapping[str, bytes] = field(default_factory=dict)


_ASKS_FOR_A_VALUE = re.compile(
    r"^\W*(?:(?:and|so|but|ok|hey)\W+)?(?:what|which|when|where|who"
    r"|how (?:many|much|long|often|old|far|big|large|fast|high|soon))\b",
    re.IGNORECASE,
)
_ASKS_FOR_THE_PAST = re.compile(
    r"\b(?:did|was|were|had|first|original(?:ly)?|before|ago|previous(?:ly)?|initial(?:ly)?|used to)\b", re.IGNORECASE
)
_VALUE = re.compile(
    r"\d[\d,.:]*\d|\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|january|february|march|april|may|june|july|august|september|october|november|december"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reranked:
    """The rows to show in their order, and how many a capped source lost."""

    rows: list[ScoredMemory]
    capped: int


def reranked(found: Sequence[ScoredMemory], query: str, limit: int, *, judges_pairs: bool = False) -> Reranked:
    """Choose and order the rows of an answer; the pair classifier judges only vectors of the bundled model."""
    chosen, capped = _cap_sources(_copies_last(found), limit)
    return Reranked(_newer_first(chosen, query, judges_pairs=judges_pairs), capped)


def _copies_last(found: Sequence[ScoredMemory]) -> list[ScoredMemory]:
    """Halve the score of what only repeats a better row."""
    compared = found[:COMPARED_FOR_COPIES]
    if len(compared) < 2:
        return list(found)
    vectors = np.stack([row.candidate_row.vector for row in compared])
    is_near = vectors @ vectors.T >= COPY_COSINE
    seen: list[ScoredMemory] = []
    for number, row in enumerate(compared):
        near = np.flatnonzero(is_near[number, :number]).tolist()
        repeats = any(_is_copy(row.memory, compared[other].memory) for other in near)
        seen.append(replace(row, score=row.score * COPY_FACTOR, diversity=COPY_FACTOR) if repeats else row)
    return best_first([*seen, *found[COMPARED_FOR_COPIES:]])


def _is_copy(ours: Memory, theirs: Memory) -> bool:
    if len(ours.content) + len(theirs.content) > LONGEST_COMPARED:
        return ours.content == theirs.content
    return not substantive_differences(ours.content, theirs.content)


def _cap_sources(found: Sequence[ScoredMemory], limit: int) -> tuple[list[ScoredMemory], int]:
    """Take the best rows, of which no low-trust source gives more than a third.

    A third of the rows is half of what all others give. Where there are no others, a third of the limit is shown.
    """
    sources = [_low_trust_source(row.memory) for row in found]
    counted = Counter(source for source in sources if source is not None)
    repeated = {source for source, count in counted.items() if count > 1}
    if not repeated:
        return list(found[:limit]), 0
    others = {source: min(len(found) - counted[source], limit) for source in repeated}
    share = limit // ROWS_PER_LOW_TRUST
    room = {
        source: max(1, min(share, others[source] // (ROWS_PER_LOW_TRUST - 1)) if others[source] else share)
        for source in repeated
    }
    chosen: list[ScoredMemory] = []
    capped = 0
    for row, source in zip(found, sources, strict=True):
        if len(chosen) == limit:
            break
        if source in room:
            if not room[source]:
                capped += 1
                continue
            room[source] -= 1
        chosen.append(row)
    return chosen, capped


def _low_trust_source(memory: Memory) -> tuple[str, str] | None:
    """Return the source of a memory that is trusted little; an import is the user's own and holds many sources."""
    if memory.trust >= LOW_TRUST or memory.source == "import":
        return None
    origin = memory.source_ref or (memory.anchors[0].path if memory.anchors else "")
    return memory.source, origin


def _newer_first(rows: Sequence[ScoredMemory], query: str, *, judges_pairs: bool) -> list[ScoredMemory]:
    """Put a newer statement above the older ones about the same thing, if it answers nearly as well."""
    asks_for_present = bool(_ASKS_FOR_A_VALUE.search(query)) and not _ASKS_FOR_THE_PAST.search(query)
    subject = frozenset(terms(query)) - function_terms() if asks_for_present else frozenset[int]()
    ordered: list[ScoredMemory] = []
    for number, row in enumerate(rows):
        index = next((n for n, other in enumerate(ordered) if _updates(row, other, subject)), len(ordered))
        if judges_pairs and not _ASKS_FOR_THE_PAST.search(query):
            judged = (
                n
                for n, other in enumerate(ordered[:index])
                if _is_likely_update(row, other, are_best=number < ANSWERED_BEST)
            )
            index = next(judged, index)
        ordered.insert(index, row)
    return ordered


def _is_likely_update(row: ScoredMemory, other: ScoredMemory, *, are_best: bool) -> bool:
    """Whether the pair classifier takes a row, which happened later, for an update of another.

    It has to be more likely for a row that answers much worse: a score is relative to the other candidates. It may
    be less likely of the best rows that answer about as well: the question says that both are about one thing.
    """
    newer, older = row.memory, other.memory
    if newer.happened_at <= older.happened_at or older.kind == "event":
        return False
    if max(len(newer.content), len(older.content)) > LONGEST_ALIGNED:
        return False
    similarity = cosine(row.candidate_row, other.candidate_row)
    verdict = judged_pair(older.content, newer.content, similarity) if similarity >= NEAR_ENOUGH_TO_JUDGE else None
    if verdict is None:
        return False
    if are_best and row.score >= NEAR_IN_SCORE * other.score and verdict.update + verdict.same >= BESIDE_IN_ANSWER:
        return True
    return verdict.may_be_update if row.score >= CHALLENGER_NEAR * other.score else verdict.label == "update"


def _updates(row: ScoredMemory, other: ScoredMemory, subject: frozenset[int]) -> bool:
    """Whether a row is a newer statement of what another one says.

    It is if both say nearly the same. If the query asks for a present value, it also is if both are about what it
    asks for and give different values.
    """
    newer = row.memory.happened_at > other.memory.happened_at
    if not newer or row.score < NEAR_IN_SCORE * other.score:
        return False
    similarity = cosine(row.candidate_row, other.candidate_row)
    if similarity >= SAME_STATEMENT and row.memory.session != other.memory.session:
        return True
    return similarity >= SAME_SUBJECT and bool(subject) and _gives_another_value(row.memory, other.memory, subject)


def _gives_another_value(memory: Memory, other: Memory, subject: frozenset[int]) -> bool:
    if max(len(memory.content), len(other.content)) > LONGEST_STATEMENT:
        return False
    shared = subject & frozenset(terms(other.content))
    if not shared or len(shared & frozenset(terms(memory.content))) < SHARED_SUBJECT * len(shared):
        return False
    values, others = _values(memory), _values(other)
    return bool(values - others) and bool(others - values)


def _values(memory: Memory) -> set[str]:
    return {value.lower() for value in _VALUE.findall(memory.content)}


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
    parameters: Parameters
    max_distance: float  # L2 between unit vectors
    min_strength: float = 0.0
    embed: Embed | None = None  # embeds texts of the past that no table has; None: they are not searched
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
    candidates = await store.search.find(vector, query.scope, query.candidates)
    features = await features_of(candidates, query.text, query.embedding, query.candidates)
    past = await _past_texts(store, query, features)
    reworded = () if query.scope.past is None else query.scope.past.reworded
    features = with_past_texts(features, past, reworded)
    found = await _score(store, query, features, past)
    strong = [row for row in found.rows if row.strength >= query.min_strength]
    fitting = [row for row in strong if query.keep_irrelevant or not is_irrelevant(row)]
    near_top = fitting[: CHECKED_PER_ROW * query.limit]
    checked = await freshness_of(evidence, (row.memory for row in near_top))
    fresh = by_freshness(near_top, {memory_id: state.freshness for memory_id, state in checked.items()})
    chosen = reranked(fresh, query.text, query.limit, judges_pairs=query.embedder == STAMP)
    rows = calibrated(chosen.rows, highest=max((row.score for row in found.rows), default=0.0))
    weak, unfit = len(found.rows) - len(strong), len(strong) - len(fitting)
    left_out = {
        **features.out_of_scope,
        "distance": len(features.candidates) - found.matches,
        "status": features.out_of_scope.get("status", 0) + found.overdue,
        "archive": await _archived(store, query.scope),
        "strength": weak,
        "does not fit": unfit,
        "source": chosen.capped,
        "limit": max(0, found.matches - found.overdue - weak - unfit - chosen.capped - len(rows)),
    }
    answer = Found(
        rows=rows,
        evidence=checked,
        tellers=await _tellers(store, query.scope, [row.memory for row in rows]),
        fits=fit_word(rows),
        matches=found.matches - found.overdue,
        filtered=left_out,
    )
    return render(answer, page, query.now)


async def _archived(store: MemoryStore, scope: Scope) -> int:
    """Count what the archive has of these projects and layers; an answer does not depend on it."""
    try:
        return await store.archive.passed_over(scope)
    except StoreError:
        return 0


async def _past_texts(store: MemoryStore, query: Query, features: Features) -> PastTexts:
    if waiting := await store.waiting(query.scope):
        return await _compared_with_waiting(waiting, query, features)
    memories = await store.past_texts(query.scope) if query.embed is not None else []
    if not memories or query.embed is None:
        return PastTexts()
    return await compared_past_texts(memories, features, query.embedding, query.embed)


async def _compared_with_waiting(waiting: Sequence[Embedded], query: Query, features: Features) -> PastTexts:
    """Compare what waits in the log while the object store is away; it is embedded already."""
    found = {one.id for one in features.candidates}  # written by now, or by a flush that was cut short
    embeddings = {one.memory.content: Embedding(one.vector, one.passages, one.pieces) for one in waiting}

    async def embed(texts: Sequence[str]) -> list[Embedding]:
        return [embeddings[text] for text in texts]

    memories = [one.memory for one in waiting if one.memory.id not in found]
    return await compared_past_texts(memories, features, query.embedding, embed)


async def _tellers(store: MemoryStore, scope: Scope, decisions: Iterable[Memory]) -> dict[str, str]:
    """Return the texts of the memories that tell what came of decisions, as far as the scope may see them."""
    outcomes = (read_outcome(memory.outcome) for memory in decisions)
    ids = {outcome.reported_by for outcome in outcomes if outcome is not None and outcome.reported_by}
    found = await store.get(sorted(ids)) if ids else {}
    return {
        memory.id: memory.content
        for memory in map(scope.as_asked, found.values())
        if memory.status != "quarantined" and (scope.projects is None or memory.project in scope.projects)
    }


async def _score(store: MemoryStore, query: Query, features: Features, past: PastTexts) -> Ranked:
    """Score the candidates: all by the cheap features, the most relevant token by token, those in reach in full."""
    understood = 1.0 if query.embedding is None else query.embedding.understood
    near = [one for one in features.candidates if _is_near(one, query.max_distance)]
    parts = score_parts(near, features.max_word_score, understood)
    best = list(parts) if query.wanted is None else most_relevant(parts, max(COMPARED_BY_TOKEN, query.wanted))
    among_best = frozenset(best)
    compared = {one.id: one for one in near if one.id in among_best}
    stored = {one.id: one.location for one in compared.values() if one.id not in past.rows}
    rows = await store.candidate_rows(stored, query.scope)
    token_vectors = {**rows.token_vectors(), **past.token_vectors}
    agreements = token_agreements(query.embedding, features, list(compared.values()), token_vectors)
    parts = with_tokens(parts, agreements, best, understood)
    parts = {memory_id: parts[memory_id] for memory_id in best}
    wanted = best if query.wanted is None else may_reach_top(parts, query.wanted)
    in_reach = [*rows.of(wanted), *(past.rows[one] for one in wanted if one in past.rows)]
    in_time = _in_time(in_reach, query)
    scored = with_fit(
        ranked(in_time, parts, query.text, query.now, query.parameters),
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
    read: list[CandidateRow] = []
    for row in rows:
        memory = expired_if_overdue(query.scope.as_asked(row.memory), moment, query.tier, query.parameters)
        read.append(row if memory is row.memory else replace(row, memory=memory))
    return [row for row in read if row.memory.status in query.scope.statuses]


MOST_COMPARED = 64
"""So many past texts are embedded for a query: those that share most words with it, then the newest."""


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
    replaced = frozenset(reworded)
    today = [one for one in features.candidates if one.id not in replaced]
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
