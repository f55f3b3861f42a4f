"""Scoring candidates: what they share with the question, and how far they can be relied on.

relevance = 0.4 · pieces + 0.35 · vector + 0.25 · text, each brought to [0, 1] over the candidates of one question
score     = relevance · strength · freshness · trust · standing, factors that order near-equals and bury nothing:
            0.7 + 0.3 · s / (1 + s) for the raw strength s; 1 down to 0.6 for evidence; 0.9 + 0.1 · trust;
            0.6 for what a dream wrote about others, 1.2 for what the user wants always or never done, 0.75 for what
            is said by somebody else than is asked about. What challenges another stands ahead of it.

Scores are fused, not ranks: on conversations that finds a seventh more of the evidence (DESIGN §5). The weights
were measured on three sets of conversations at once; see decision 0009.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from reverie.ids import creation_order
from reverie.lifecycle.rules import challenger_in
from reverie.lifecycle.strength import bounded, strength_of
from reverie.memory import Memory
from reverie.recall.freshness import WORST_DEMOTION
from reverie.storage.features import Candidate
from reverie.storage.rows import CandidateRow

USER = frozenset({"user", "human"})
ASSISTANT = frozenset({"assistant", "ai", "bot"})

_SPEAKER = re.compile(r"([^\W\d_][\w .'-]{0,30}?):\s+")
_FIRST_PERSON = re.compile(r"\b(?:i|me|my|mine|we|us|our|ours)\b", re.IGNORECASE)
_OF_THE_ASSISTANT = re.compile(
    r"\bdid you\b|\byou(?:'ve| have| had)? (?:recommended|suggested|mentioned|said|told|gave|given|advised|explained"
    r"|proposed|provided|listed|wrote|written|showed|shown)\b",
    re.IGNORECASE,
)


def parted(text: str) -> tuple[str, str]:
    """Return who says a text and what is said; the speaker is empty where none stands in front."""
    found = _SPEAKER.match(text)
    return (found[1], text[found.end() :]) if found else ("", text)


def said_by_others(query: str, memories: Iterable[Memory]) -> frozenset[str]:
    """Return the ids of those memories that somebody says whom the question does not ask about.

    There are none unless one of the memories is said by somebody it does ask about. Roles are held against roles and
    names against names: "I" does not speak against `Caroline:`, nor her name against `user:`.
    """
    spoken = [(memory, name) for memory in memories if (name := parted(memory.content)[0])]
    roles = {name for _, name in spoken if name.lower() in USER | ASSISTANT}
    names = {name for _, name in spoken} - roles
    asked_roles = {role for role in roles if role.lower() in _roles_asked(query)}
    asked_names = {name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", query)}
    others = (roles - asked_roles if asked_roles else set()) | (names - asked_names if asked_names else set())
    turns = [f"\n{name}:" for name in asked_roles | asked_names]
    return frozenset(
        memory.id
        for memory, name in spoken
        if name in others and not any(turn in memory.content for turn in turns)  # several may speak in one memory
    )


def _roles_asked(query: str) -> frozenset[str]:
    user = USER if _FIRST_PERSON.search(query) else frozenset[str]()
    return user | ASSISTANT if _OF_THE_ASSISTANT.search(query) else user


SECOND_HAND = 0.6
"""What a dream wrote about other memories (cards, digests, bridges) stands behind what it quotes."""

STANDING_ORDER = 1.2
"""What the user wants always or never done is short and shares few words with what it holds for: it is lifted."""

_QUOTING: Final = ("peer_card", "digest", "bridge")
_USER_SOURCES: Final = ("human", "import")  # nobody else's orders are lifted
_LONGEST_ORDER = 400  # characters; longer texts tell something as well
_ORDER = re.compile(
    r"(?:please,? )?(?:always(?! \w+ed\b)|never(?! mind\b)(?! \w+ed\b)|from now on)\b", re.IGNORECASE
)  # not "Always loved the sea", which tells


def standing_of(memory: Memory) -> float:
    """Return the factor for what a memory is."""
    if memory.source == "dream" and memory.kind in _QUOTING:
        return SECOND_HAND
    return STANDING_ORDER if _is_standing_order(memory) else 1.0


def _is_standing_order(memory: Memory) -> bool:
    if memory.source not in _USER_SOURCES or len(memory.content) > _LONGEST_ORDER:
        return False
    speaker, words = parted(memory.content)
    return speaker.lower() not in ASSISTANT and bool(_ORDER.match(words))


PIECES_WEIGHT = 0.4
VECTOR_WEIGHT = 0.35
TEXT_WEIGHT = 0.25
WORDS_THAT_SATISFY = 1 / 3
"""The share of what a question's words could score that the best match needs for words to have their full say."""

LEAST_UNDERSTOOD = 0.2
"""What is left of meaning and pieces for a question in a script that the model was not taught: words decide."""

STRENGTH_WEIGHT = 0.3
"""How much of a score the strength decides: enough to order near-equals, too little to bury a right answer."""

TRUST_WEIGHT = 0.1
ANOTHER_SPEAKER = 0.75
"""What somebody says whom the question does not ask about stands behind what the one it names says."""

_JUST_AHEAD, _NEAR_ENOUGH = 1.001, 0.3
_READ_PER_ROW = 3
_LEAST_FACTOR = (1.0 - STRENGTH_WEIGHT) * (1.0 - TRUST_WEIGHT) * WORST_DEMOTION * ANOTHER_SPEAKER / STANDING_ORDER


@dataclass(frozen=True, slots=True)
class ScoreParts:
    """What a candidate shares with the question: in meaning, in words, piece by piece; each within [0, 1]."""

    vector: float
    text: float
    pieces: float | None = None

    @property
    def relevance(self) -> float:
        """The parts in one; without pieces the other two keep their proportion."""
        rest = VECTOR_WEIGHT * self.vector + TEXT_WEIGHT * self.text
        if self.pieces is None:
            return rest / (VECTOR_WEIGHT + TEXT_WEIGHT)
        return PIECES_WEIGHT * self.pieces + rest


@dataclass(frozen=True, slots=True)
class ScoredMemory:
    """A memory with the parts of its score."""

    candidate_row: CandidateRow
    score: float
    parts: ScoreParts
    strength: float
    freshness: float = 1.0  # what its evidence leaves of the score; known once that is checked
    standing: float = 1.0
    diversity: float = 1.0
    fit: float = 1.0  # how likely it answers the question, whatever else was found; see calibration.py

    @property
    def memory(self) -> Memory:
        """The memory itself."""
        return self.candidate_row.memory


def parts_of(
    candidates: Iterable[Candidate], most_text: float = 0.0, understood: float = 1.0
) -> dict[str, ScoreParts]:
    """Return for each candidate its vector and text score, both within [0, 1].

    Cosines are spread from the least to the best, because even strangers have one; BM25 starts at zero. Where even
    the best shares little with the question, of the `most_text` that its words could score, words say little.
    Where the model cannot read the question's script, meaning says little.
    """
    known = list(candidates)
    heard = max(understood, LEAST_UNDERSTOOD)
    vectors = _spread({c.id: c.meaning for c in known if c.meaning is not None})
    most = max((c.text for c in known), default=0.0)
    full = max(most, WORDS_THAT_SATISFY * most_text) or 1.0
    return {c.id: ScoreParts(heard * vectors.get(c.id, 0.0), c.text / full) for c in known}


def piece_weights(words: Sequence[str], in_language: Sequence[float], here: Mapping[str, float]) -> list[float]:
    """Return what each piece of a question weighs: √(rarity in the language · rarity of its word here).

    A word counts once, however many pieces the model cuts it into. Where nothing is known of what is rare here, the
    language has the say.
    """
    pieces = Counter(words)
    return [
        (rarity * here.get(word, 0.0 if here else 1.0)) ** 0.5 / pieces[word]
        for word, rarity in zip(words, in_language, strict=True)
    ]


def with_pieces(
    parts: Mapping[str, ScoreParts],
    agreements: Mapping[str, float],
    looked_at: Iterable[str],
    understood: float = 1.0,
) -> dict[str, ScoreParts]:
    """Add how far the pieces agree with the question.

    A candidate that was not looked at has none; one that was, but keeps no pieces, is taken as it stood.
    """
    if not agreements:
        return dict(parts)
    heard = max(understood, LEAST_UNDERSTOOD)
    spread = {memory_id: heard * value for memory_id, value in _spread(agreements).items()}
    unknown = {memory_id: parts[memory_id].relevance for memory_id in looked_at if memory_id not in agreements}
    known = unknown | spread
    return {memory_id: ScoreParts(p.vector, p.text, known.get(memory_id, 0.0)) for memory_id, p in parts.items()}


def best_of(parts: Mapping[str, ScoreParts], count: int) -> list[str]:
    """Return the most relevant candidates, best first."""
    return sorted(parts, key=lambda memory_id: -parts[memory_id].relevance)[:count]


def contenders(parts: Mapping[str, ScoreParts], wanted: int) -> list[str]:
    """Return the candidates that may end among the best so many by their strengths, three for each place."""
    best = best_of(parts, _READ_PER_ROW * wanted)
    least = parts[best[:wanted][-1]].relevance * _LEAST_FACTOR if best else 0.0
    return [memory_id for memory_id in best if parts[memory_id].relevance >= least]


def ranked(
    candidate_rows: Sequence[CandidateRow], parts: Mapping[str, ScoreParts], query: str, now: datetime
) -> list[ScoredMemory]:
    """Order memories by score, best first; equals by the newer."""
    others = said_by_others(query, (candidate_row.memory for candidate_row in candidate_rows))
    scored = []
    for candidate_row in candidate_rows:
        memory = candidate_row.memory
        strength = strength_of(memory, now)
        held = 1.0 - STRENGTH_WEIGHT + STRENGTH_WEIGHT * bounded(strength)
        trusted = 1.0 - TRUST_WEIGHT + TRUST_WEIGHT * memory.trust
        score = parts[memory.id].relevance * held * trusted
        standing = standing_of(memory) * (ANOTHER_SPEAKER if memory.id in others else 1.0)
        scored.append(ScoredMemory(candidate_row, score * standing, parts[memory.id], strength, standing=standing))
    return behind_their_challengers(scored)


def behind_their_challengers(found: Sequence[ScoredMemory]) -> list[ScoredMemory]:
    """Put the newer memory right ahead of each one that it challenges: whoever asks for the old wants to know it."""
    scores = {one.memory.id: one.score for one in found}
    for one in sorted(found, key=lambda ranked: ranked.memory.happened_at):  # a challenger may be challenged in turn
        newer = challenger_in(one.memory.status_reason)
        score = scores[one.memory.id]
        if newer in scores and _NEAR_ENOUGH * score <= scores[newer] < score:  # far below: another matter
            scores[newer] = score * _JUST_AHEAD
    return in_order(replace(one, score=scores[one.memory.id]) for one in found)


def in_order(found: Iterable[ScoredMemory]) -> list[ScoredMemory]:
    """Sort by score, best first; equals by the newer."""
    return sorted(found, key=lambda r: (-r.score, -r.memory.happened_at.timestamp(), creation_order(r.memory.id)))


def _spread(values: Mapping[str, float]) -> dict[str, float]:
    """Bring values to [0, 1]; where all are the same there is nothing to spread and they count as they are."""
    least, best = min(values.values(), default=0.0), max(values.values(), default=0.0)
    if best <= least:
        return {name: min(1.0, max(0.0, value)) for name, value in values.items()}
    return {name: (value - least) / (best - least) for name, value in values.items()}
