"""Rerank: from scored memories to the rows of an answer.

Copies go last, a low-trust source gives a third at most, and of two statements about one thing the newer goes first.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from reverie.memory import Memory
from reverie.recall.score import (
    COMPARED_FOR_COPIES,
    COPY_COSINE,
    COPY_FACTOR,
    LONGEST_COMPARED,
    LONGEST_STATEMENT,
    LOW_TRUST,
    NEAR_IN_SCORE,
    ROWS_PER_LOW_TRUST,
    SAME_STATEMENT,
    SAME_SUBJECT,
    SHARED_SUBJECT,
    ScoredMemory,
    best_first,
)
from reverie.storage.rows import cosine
from reverie.text.compare import substantive_differences
from reverie.text.tokenize import function_terms, terms

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


def reranked(found: Sequence[ScoredMemory], query: str, limit: int) -> Reranked:
    """Choose and order the rows of an answer."""
    chosen, capped = _cap_sources(_copies_last(found), limit)
    return Reranked(_newer_first(chosen, query), capped)


def _copies_last(found: Sequence[ScoredMemory]) -> list[ScoredMemory]:
    """Halve the score of what only repeats a better row."""
    seen: list[ScoredMemory] = []
    for row in found[:COMPARED_FOR_COPIES]:
        repeats = any(_is_copy(row, other) for other in seen)
        seen.append(replace(row, score=row.score * COPY_FACTOR, diversity=COPY_FACTOR) if repeats else row)
    return best_first([*seen, *found[COMPARED_FOR_COPIES:]])


def _is_copy(row: ScoredMemory, other: ScoredMemory) -> bool:
    if cosine(row.candidate_row, other.candidate_row) < COPY_COSINE:
        return False
    ours, theirs = row.memory, other.memory
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


def _newer_first(rows: Sequence[ScoredMemory], query: str) -> list[ScoredMemory]:
    """Put a newer statement above the older ones about the same thing, if it answers nearly as well."""
    asks_for_present = bool(_ASKS_FOR_A_VALUE.search(query)) and not _ASKS_FOR_THE_PAST.search(query)
    subject = frozenset(terms(query)) - function_terms() if asks_for_present else frozenset[int]()
    ordered: list[ScoredMemory] = []
    for row in rows:
        index = next((n for n, other in enumerate(ordered) if _updates(row, other, subject)), len(ordered))
        ordered.insert(index, row)
    return ordered


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
