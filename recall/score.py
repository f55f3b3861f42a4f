"""Scoring candidates, calibrating what a score means, and every constant of ranking.

relevance = 0.4 · tokens + 0.35 · vector + 0.25 · text, each brought to [0, 1] over the candidates of one query
score     = relevance · strength · freshness · trust · kind, factors that order near-equals and bury nothing:
            0.7 + 0.3 · s / (1 + s) for the raw strength s; 1 down to 0.6 for evidence; 0.9 + 0.1 · trust;
            0.6 for what a dream wrote about others, 1.2 for what the user wants always or never done, 0.75 for what
            is said by somebody else than the query asks about; 0.6 for a decision that failed or was reversed, 0.8
            for one that another replaced. A challenger ranks ahead of what it challenges.

Scores are fused, not ranks: on conversations that finds a seventh more of the evidence (DESIGN §5). The weights
were measured on three sets of conversations at once; see decision 0009. What the vectors of single tokens are
compared with (stretch, length cost) is part of embeddings/token_vectors.py.

Calibration: the probability that a memory answers a query. The same number means the same in every store.

    fit = 1 / (1 + exp(−(11.2 · agreement + 3.9 · cosine + 3.2 · coverage − 4.4)))

agreement is that of the tokens (late interaction), cosine that of the best vector, and coverage the share of the
query's words, weighted by rarity and without function words, that the memory has. None of them depends on the other
candidates: ranking brings its parts to [0, 1] over the candidates of one query, so that the best of a bad lot looks
as good as the best of a good one. The four numbers were fitted on four sets at once and checked on a fifth:
decision 0010.

They hold for the bundled model. Without a model, or for a script it was not taught, words decide alone:

    fit = 1 / (1 + exp(−(8.6 · coverage − 2.25)))
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Final

from reverie.embeddings.base import QueryEmbedding
from reverie.embeddings.bundled import STAMP
from reverie.ids import creation_order
from reverie.lifecycle.outcomes import read_outcome
from reverie.lifecycle.rules import contradicting_id
from reverie.lifecycle.vitals import bounded, strength_of, trust_of
from reverie.memory import Freshness, Memory, OutcomeResult
from reverie.parameters import STANDARD, Parameters
from reverie.recall.results import Fits
from reverie.storage.rows import CandidateRow, RowLocation
from reverie.text.tokenize import function_terms, search_text, terms

# -- how many candidates are looked at -----------------------------------------------------------------

CANDIDATES = 60  # the best so many by vector and the best so many by words
COMPARED_BY_TOKEN = 50  # of the candidates, the most relevant so many are compared with the query token by token
READ_PER_ROW = 3  # so many candidates are read for each row of an answer: strength may reorder them
CHECKED_PER_ROW = 3  # the evidence of so many is checked for each row: others may sink or be capped

# -- word score: BM25 over the whole scope, plus a share of the neighbours' ----------------------------

BM25_K1 = 1.2  # how soon a word that is repeated stops counting
BM25_B = 0.9  # how much a long text loses by its length
NEIGHBOUR_SHARE = 0.3  # of the word score of the memories before and after it in its session
FUNCTION_WORD_SHARE = 0.3  # of its weight that a word such as "the" keeps where the query has other words

# -- vector score: the best cosine of a memory and its passages ----------------------------------------

PASSAGE_COST = 0.08  # times ln(passages), off the cosine: a long text has many chances to be near

# -- relevance -----------------------------------------------------------------------------------------

TOKEN_WEIGHT = 0.4  # of how far the tokens agree with the query's (late interaction)
VECTOR_WEIGHT = 0.35  # of the vector score
TEXT_WEIGHT = 0.25  # of the word score
FULL_WORD_SHARE = 1 / 3  # of the word score possible; a best match below it leaves words less than their full weight
LEAST_UNDERSTOOD = 0.2  # what vectors and tokens keep for a query in a script that the model was not taught

# -- factors of the score ------------------------------------------------------------------------------

STRENGTH_WEIGHT = 0.3  # how much of a score the strength decides: it orders near-equals and buries no right answer
TRUST_WEIGHT = 0.1  # how much of a score the trust in the source decides
SECOND_HAND = 0.6  # for what a dream wrote about other memories: they rank ahead of what quotes them
STANDING_ORDER = 1.2  # for what the user wants always or never done: it is short and shares few words with a query
ANOTHER_SPEAKER = 0.75  # for what somebody says whom the query does not ask about
OUTCOME_FACTORS: Mapping[OutcomeResult, float] = {  # for what came of a decision: a warning ranks behind advice
    "worked": 1.0,
    "superseded": 0.8,
    "reversed": 0.6,
    "failed": 0.6,
}
LONGEST_ORDER = 400  # characters; a longer text is no standing order alone
FRESHNESS_FACTORS: Mapping[Freshness, float] = {  # for what the code on disk says of a memory's anchors
    "verified": 1.0,
    "unanchored": 1.0,
    "unverifiable": 1.0,
    "changed": 0.97,
    "moved": 0.85,
    "missing": 0.6,
}
CHALLENGER_LEAD = 1.001  # times the score of what it challenges: just ahead of it
CHALLENGER_NEAR = 0.3  # of that score; a challenger below it speaks of something else and stays where it is
_LEAST_FACTOR = (  # what the factors can make of a score at worst, over what they can make of another at best
    (1.0 - STRENGTH_WEIGHT)
    * (1.0 - TRUST_WEIGHT)
    * min(FRESHNESS_FACTORS.values())
    * ANOTHER_SPEAKER
    / STANDING_ORDER
)

# -- rerank --------------------------------------------------------------------------------------------

COPY_COSINE = 0.95  # from here on two memories may be copies of each other
COPY_FACTOR = 0.5  # for a copy: its row is worth more to something else
COMPARED_FOR_COPIES = 40  # beyond these rows nothing is shown by any usual limit
LONGEST_COMPARED = 10_000  # characters of two texts together: two of 100,000 take half a second, for 780 pairs
LOW_TRUST = trust_of("ai")  # a source trusted less than an assistant is capped
ROWS_PER_LOW_TRUST = 3  # such a source gives one row in so many at most
SAME_STATEMENT = 0.8  # the cosine from which two memories of different sessions say the same: the newer goes first
SAME_SUBJECT = 0.5  # the cosine from which two memories may give two values of the same thing
NEAR_ENOUGH_TO_JUDGE = 0.35  # the cosine from which the pair classifier judges two rows of an answer
BESIDE_IN_ANSWER = 0.15  # likelihood of update or restatement from which the newer of two good answers goes first
ANSWERED_BEST = 3  # rows, the best of an answer, that may be two statements on what was asked
NEAR_IN_SCORE = 0.6  # of the older memory's score, that the newer needs to go first
SHARED_SUBJECT = 0.4  # of the query's words in the older memory, that the newer must have too
LONGEST_STATEMENT = 1_200  # characters; a longer text speaks of many things and gives no single value

# -- calibration: the probability that a memory answers; decision 0010 ---------------------------

FIT_AGREEMENT = 11.2  # weight of the token agreement in the logit
FIT_COSINE = 3.9  # weight of the cosine
FIT_COVERAGE = 3.2  # weight of the share of the query's words that the memory has
FIT_BIAS = -4.4  # the logit of a memory that has nothing of the query
FIT_COVERAGE_ALONE = 8.6  # weight of the coverage where there is no model to ask
FIT_BIAS_ALONE = -2.25  # the bias there
FITS_WELL = 0.55  # below it the best row is likelier to be near the answer than to be it, and the answer says so
LEAST_FIT = 0.05  # what fits less is not shown; of the evidence of four sets nothing was lost at it
LONGEST_FOR_FIT = 400  # characters; a longer text speaks of several things and is never left out for its fit
LEAST_READ = 0.5  # the share of a query that the model must be able to read for its numbers to count
ROWS_THAT_DECIDE_FIT = 3  # an answer fits if one of its first rows does


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateFeatures:
    """What the cheap features say of a candidate; computed in features.py."""

    id: str
    location: RowLocation | None  # where its row was seen; None if only a passage was found
    cosine: float | None  # the best of the memory and its passages; None: not known
    vector_score: float | None  # the cosine less the cost of many passages
    word_score: float
    neighbours: tuple[str, ...] = ()  # the memories before and after it in its session


# -- who speaks ----------------------------------------------------------------------------------------

USER = frozenset({"user", "human"})
ASSISTANT = frozenset({"assistant", "ai", "bot"})

_SPEAKER = re.compile(r"([^\W\d_][\w .'-]{0,30}?):\s+")
_FIRST_PERSON = re.compile(r"\b(?:i|me|my|mine|we|us|our|ours)\b", re.IGNORECASE)
_ASKS_ASSISTANT = re.compile(
    r"\bdid you\b|\byou(?:'ve| have| had)? (?:recommended|suggested|mentioned|said|told|gave|given|advised|explained"
    r"|proposed|provided|listed|wrote|written|showed|shown)\b",
    re.IGNORECASE,
)


def speaker_and_text(text: str) -> tuple[str, str]:
    """Split `speaker: text`; the speaker is empty where none is named."""
    found = _SPEAKER.match(text)
    return (found[1], text[found.end() :]) if found else ("", text)


def said_by_others(query: str, memories: Iterable[Memory]) -> frozenset[str]:
    """Return the ids of the memories whose speaker the query does not ask about.

    There are none unless another memory has a speaker that it does ask about. Roles are compared with roles and names
    with names: "I" says nothing about `Caroline:`, nor her name about `user:`.
    """
    with_speaker = [(memory, name) for memory in memories if (name := speaker_and_text(memory.content)[0])]
    roles = {name for _, name in with_speaker if name.lower() in USER | ASSISTANT}
    names = {name for _, name in with_speaker} - roles
    asked_roles = {role for role in roles if role.lower() in _roles_asked(query)}
    asked_names = {name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", query)}
    others = (roles - asked_roles if asked_roles else set()) | (names - asked_names if asked_names else set())
    turns = [f"\n{name}:" for name in asked_roles | asked_names]
    return frozenset(
        memory.id
        for memory, name in with_speaker
        if name in others and not any(turn in memory.content for turn in turns)  # several may speak in one memory
    )


def _roles_asked(query: str) -> frozenset[str]:
    user = USER if _FIRST_PERSON.search(query) else frozenset[str]()
    return user | ASSISTANT if _ASKS_ASSISTANT.search(query) else user


_QUOTING_KINDS: Final = ("peer_card", "digest", "bridge")
_USER_SOURCES: Final = ("human", "import")  # the orders of other sources are not lifted
_ORDER = re.compile(
    r"(?:please,? )?(?:always(?! \w+ed\b)|never(?! mind\b)(?! \w+ed\b)|from now on)\b", re.IGNORECASE
)  # not "Always loved the sea", which is no order


def kind_factor(memory: Memory) -> float:
    """Return the factor for what a memory is: a dream's summary, a standing order, a decision with its outcome."""
    outcome = read_outcome(memory.outcome)
    if outcome is not None:
        return OUTCOME_FACTORS[outcome.result]
    if memory.source == "dream" and memory.kind in _QUOTING_KINDS:
        return SECOND_HAND
    return STANDING_ORDER if _is_standing_order(memory) else 1.0


def _is_standing_order(memory: Memory) -> bool:
    if memory.source not in _USER_SOURCES or len(memory.content) > LONGEST_ORDER:
        return False
    speaker, text = speaker_and_text(memory.content)
    return speaker.lower() not in ASSISTANT and bool(_ORDER.match(text))


# -- relevance -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ScoreParts:
    """What a candidate shares with the query: by vector, by words, token by token; each within [0, 1]."""

    vector: float
    text: float
    tokens: float | None = None  # None: not compared

    @property
    def relevance(self) -> float:
        """The weighted sum; without tokens the other two keep their proportion."""
        rest = VECTOR_WEIGHT * self.vector + TEXT_WEIGHT * self.text
        if self.tokens is None:
            return rest / (VECTOR_WEIGHT + TEXT_WEIGHT)
        return TOKEN_WEIGHT * self.tokens + rest


def score_parts(
    candidates: Iterable[CandidateFeatures], max_word_score: float = 0.0, understood: float = 1.0
) -> dict[str, ScoreParts]:
    """Return for each candidate its vector and text part, both within [0, 1].

    Cosines are spread from the least to the best, because even unrelated texts have one; BM25 starts at zero. Where
    even the best has little of the `max_word_score` possible, words count less. Where the model cannot read the
    query's script, vectors count less.
    """
    known = list(candidates)
    vector_share = max(understood, LEAST_UNDERSTOOD)
    vectors = _spread({c.id: c.vector_score for c in known if c.vector_score is not None})
    best = max((c.word_score for c in known), default=0.0)
    full = max(best, FULL_WORD_SHARE * max_word_score) or 1.0
    return {c.id: ScoreParts(vector_share * vectors.get(c.id, 0.0), c.word_score / full) for c in known}


def token_weights(words: Sequence[str], in_language: Sequence[float], in_scope: Mapping[str, float]) -> list[float]:
    """Return the weight of each token of a query: √(rarity in the language · rarity of its word in scope).

    A word counts once, however many tokens it has. Where the rarity in scope is not known, the language decides.
    """
    tokens = Counter(words)
    return [
        (rarity * in_scope.get(word, 0.0 if in_scope else 1.0)) ** 0.5 / tokens[word]
        for word, rarity in zip(words, in_language, strict=True)
    ]


def with_tokens(
    parts: Mapping[str, ScoreParts],
    agreements: Mapping[str, float],
    compared: Iterable[str],
    understood: float = 1.0,
) -> dict[str, ScoreParts]:
    """Add how far the tokens agree with the query's.

    A candidate that was not compared gets nothing; one that has no token vectors stored keeps its relevance.
    """
    if not agreements:
        return dict(parts)
    token_share = max(understood, LEAST_UNDERSTOOD)
    spread = {memory_id: token_share * value for memory_id, value in _spread(agreements).items()}
    unknown = {memory_id: parts[memory_id].relevance for memory_id in compared if memory_id not in agreements}
    known = unknown | spread
    return {memory_id: ScoreParts(p.vector, p.text, known.get(memory_id, 0.0)) for memory_id, p in parts.items()}


def most_relevant(parts: Mapping[str, ScoreParts], count: int) -> list[str]:
    """Return the most relevant candidates, best first."""
    return sorted(parts, key=lambda memory_id: -parts[memory_id].relevance)[:count]


def may_reach_top(parts: Mapping[str, ScoreParts], rows: int) -> list[str]:
    """Return the candidates that the factors of the score may still bring among the best `rows`, three for each."""
    best = most_relevant(parts, READ_PER_ROW * rows)
    least = parts[best[:rows][-1]].relevance * _LEAST_FACTOR if best else 0.0
    return [memory_id for memory_id in best if parts[memory_id].relevance >= least]


# -- score ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ScoredMemory:
    """A memory with its score and the factors that made it."""

    candidate_row: CandidateRow
    score: float
    parts: ScoreParts
    strength: float
    freshness: float = 1.0  # the factor for its evidence; known once that is checked
    kind_factor: float = 1.0  # for what it is and who says it
    diversity: float = 1.0  # the factor for a copy of a better row
    fit: float = 1.0  # the probability that it answers the query; see with_fit

    @property
    def memory(self) -> Memory:
        """The memory itself."""
        return self.candidate_row.memory


def ranked(
    candidate_rows: Sequence[CandidateRow],
    parts: Mapping[str, ScoreParts],
    query: str,
    now: datetime,
    parameters: Parameters = STANDARD,
) -> list[ScoredMemory]:
    """Score memories and return them best first; of equals the newer."""
    others = said_by_others(query, (candidate_row.memory for candidate_row in candidate_rows))
    scored = []
    for candidate_row in candidate_rows:
        memory = candidate_row.memory
        strength = strength_of(memory, now, parameters)
        strength_factor = 1.0 - STRENGTH_WEIGHT + STRENGTH_WEIGHT * bounded(strength)
        trust_factor = 1.0 - TRUST_WEIGHT + TRUST_WEIGHT * memory.trust
        score = parts[memory.id].relevance * strength_factor * trust_factor
        kind = kind_factor(memory) * (ANOTHER_SPEAKER if memory.id in others else 1.0)
        scored.append(ScoredMemory(candidate_row, score * kind, parts[memory.id], strength, kind_factor=kind))
    return challengers_first(scored)


def challengers_first(found: Sequence[ScoredMemory]) -> list[ScoredMemory]:
    """Put the newer memory right ahead of each one that it challenges: who asks for the old one needs to know it."""
    scores = {one.memory.id: one.score for one in found}
    for one in sorted(found, key=lambda row: row.memory.happened_at):  # a challenger may be challenged in turn
        newer = contradicting_id(one.memory.status_reason)
        score = scores[one.memory.id]
        if newer in scores and CHALLENGER_NEAR * score <= scores[newer] < score:
            scores[newer] = score * CHALLENGER_LEAD
    return best_first(
        one if scores[one.memory.id] == one.score else replace(one, score=scores[one.memory.id]) for one in found
    )


def by_freshness(found: Sequence[ScoredMemory], freshness: Mapping[str, Freshness]) -> list[ScoredMemory]:
    """Multiply scores with the factor for each memory's evidence, and return them best first."""
    factors = {one.memory.id: FRESHNESS_FACTORS[freshness[one.memory.id]] for one in found}
    return best_first(
        one
        if factors[one.memory.id] == 1.0
        else replace(one, score=one.score * factors[one.memory.id], freshness=factors[one.memory.id])
        for one in found
    )


def best_first(found: Iterable[ScoredMemory]) -> list[ScoredMemory]:
    """Sort by score, best first; equals by the newer."""
    return sorted(found, key=lambda r: (-r.score, -r.memory.happened_at.timestamp(), creation_order(r.memory.id)))


def _spread(values: Mapping[str, float]) -> dict[str, float]:
    """Bring values to [0, 1]; where all are the same there is nothing to spread and they count as they are."""
    least, best = min(values.values(), default=0.0), max(values.values(), default=0.0)
    if best <= least:
        return {name: min(1.0, max(0.0, value)) for name, value in values.items()}
    return {name: (value - least) / (best - least) for name, value in values.items()}


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
        shared = content_words & (_terms_of if len(content) > _LONGEST_CACHED else _cached_terms_of)(title, content)
        return math.fsum(weights[term] for term in shared) / total if total > 0.0 else 0.0

    return coverage_of


def _terms_of(title: str, content: str) -> frozenset[int]:
    return frozenset(terms(search_text(title, content[:_LONGEST_SEARCHED])))


_LONGEST_CACHED = 2_000  # characters
_cached_terms_of = lru_cache(maxsize=1_024)(_terms_of)
"""What was found once is often found again."""


def _probability(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, logit))))
