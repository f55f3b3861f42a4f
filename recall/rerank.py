"""From scored candidates to the rows of an answer: no copies, no source that drowns the others, the newer truth
first.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from reverie.lifecycle.trust import trust_of
from reverie.memory import Memory
from reverie.recall.score import ScoredMemory, in_order
from reverie.storage.rows import cosine
from reverie.text.compare import substantive_differences
from reverie.text.search_text import function_terms, terms

NEAR_COPY = 0.95
COPY_FACTOR = 0.5
_COMPARED = 40  # beyond these nothing is shown by any usual limit
_LONGEST_COMPARED = 10_000  # characters of two texts: two of 100,000 take half a second, and there may be 780 pairs

LOW_TRUST = trust_of("ai")
"""Sources trusted less than an assistant are held to a third of an answer."""

SAME_STATEMENT = 0.8
SAME_MATTER = 0.5
NEAR_IN_SCORE = 0.6
_SHARED_SUBJECT = 0.4
_LONGEST_STATEMENT = 1_200  # characters; longer texts speak of many things

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
    """The rows to show in their order, and how many a source was refused."""

    rows: list[ScoredMemory]
    capped: int


def reranked(found: Sequence[ScoredMemory], query: str, limit: int) -> Reranked:
    """Choose and order the rows of an answer."""
    chosen, capped = _within_their_share(_copies_last(found), limit)
    return Reranked(_newer_truth_first(chosen, query), capped)


def _copies_last(found: Sequence[ScoredMemory]) -> list[ScoredMemory]:
    """Halve the score of what only repeats a better row: the place is worth more to something else."""
    seen: list[ScoredMemory] = []
    for row in found[:_COMPARED]:
        repeats = any(_is_copy(row, other) for other in seen)
        seen.append(replace(row, score=row.score * COPY_FACTOR, diversity=COPY_FACTOR) if repeats else row)
    return in_order([*seen, *found[_COMPARED:]])


def _is_copy(row: ScoredMemory, other: ScoredMemory) -> bool:
    if cosine(row.candidate_row, other.candidate_row) < NEAR_COPY:
        return False
    ours, theirs = row.memory, other.memory
    if len(ours.content) + len(theirs.content) > _LONGEST_COMPARED:
        return ours.content_hash == theirs.content_hash
    return not substantive_differences(ours.content, theirs.content)


def _within_their_share(found: Sequence[ScoredMemory], limit: int) -> tuple[list[ScoredMemory], int]:
    """Take the best rows, of which no low-trust source gives more than a third.

    A third of the rows is half of what all others give. Where there are no others, a third of the limit is shown.
    """
    sources = [_low_trust_source(row.memory) for row in found]
    counted = Counter(source for source in sources if source is not None)
    crowded = {source for source, count in counted.items() if count > 1}
    if not crowded:
        return list(found[:limit]), 0
    others = {source: min(len(found) - counted[source], limit) for source in crowded}
    room = {
        source: max(1, min(limit // 3, others[source] // 2) if others[source] else limit // 3) for source in crowded
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
    """Name the source of a memory that is trusted little; an import is the user's own and stands for many sources."""
    if memory.trust >= LOW_TRUST or memory.source == "import":
        return None
    place = memory.source_ref or (memory.anchors[0].path if memory.anchors else "")
    return memory.source, place


def _newer_truth_first(rows: Sequence[ScoredMemory], query: str) -> list[ScoredMemory]:
    """Put a newer statement above the older ones about the same thing, if it answers nearly as well."""
    asks_for_now = bool(_ASKS_FOR_A_VALUE.search(query)) and not _ASKS_FOR_THE_PAST.search(query)
    subject = frozenset(terms(query)) - function_terms() if asks_for_now else frozenset[int]()
    ordered: list[ScoredMemory] = []
    for row in rows:
        place = next((n for n, other in enumerate(ordered) if _updates(row, other, subject)), len(ordered))
        ordered.insert(place, row)
    return ordered


def _updates(row: ScoredMemory, other: ScoredMemory, subject: frozenset[int]) -> bool:
    """Whether a row is the newer word on what another one says.

    It is if both say nearly the same. If the question asks how things stand, it also is if both speak of what is
    asked about and give different values.
    """
    newer = row.memory.happened_at > other.memory.happened_at
    if not newer or row.score < NEAR_IN_SCORE * other.score:
        return False
    nearness = cosine(row.candidate_row, other.candidate_row)
    if nearness >= SAME_STATEMENT and row.memory.session != other.memory.session:
        return True
    return nearness >= SAME_MATTER and bool(subject) and _gives_another_value(row.memory, other.memory, subject)


def _gives_another_value(memory: Memory, other: Memory, subject: frozenset[int]) -> bool:
    if max(len(memory.content), len(other.content)) > _LONGEST_STATEMENT:
        return False
    spoken = subject & frozenset(terms(other.content))
    if not spoken or len(spoken & frozenset(terms(memory.content))) < _SHARED_SUBJECT * len(spoken):
        return False
    values, others = _values(memory), _values(other)
    return bool(values - others) and bool(others - values)


def _values(memory: Memory) -> set[str]:
    return {value.lower() for value in _VALUE.findall(memory.content)}
