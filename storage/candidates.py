"""What a search is asked and what it finds."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from reverie.storage.rows import Vector


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """What is looked for: in words, as a vector once there is a model, and the words whose rarity is wanted."""

    text: str
    vector: Vector | None = None
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A memory that may answer: where it lies, as far as the search could tell, and its scores."""

    id: str
    table: str | None
    place: int | None
    cosine: float | None  # the best of the memory and its passages; None: not known
    meaning: float | None  # the cosine after the price of having many passages
    text: float
    beside: tuple[str, ...] = ()  # the memories told just before and after it


@dataclass(frozen=True, slots=True)
class Findings:
    """Candidates in no order, and what the search knows of the question and of what it passed over."""

    candidates: list[Candidate]
    rarity: Mapping[str, float] = field(default_factory=dict)  # of each asked word, in scope
    passed_over: Mapping[str, int] = field(default_factory=dict)  # counts by reason
    most_text: float = 0.0  # what a memory made of the asked words alone could score; 0: not known
    term_rarity: Mapping[int, float] = field(default_factory=dict)  # of each asked term, in scope; empty: not known
