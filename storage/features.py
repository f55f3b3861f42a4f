"""All memories of a small store seen together, whatever their layer: scored by meaning and words in one go.

text    = own + 0.3 · before + 0.3 · after,   the BM25 of the memory and of those told next to it in its session
meaning = best − 0.08 · ln(passages),         the best cosine of the memory and its passages

Words are rare or common over the whole scope, not table by table. A turn of a talk is found by the words of the
turn it answers. A long memory has many passages to be near with, so each doubling has its price.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from reverie.memory import STATUSES, Layer
from reverie.storage.memory_index import MemoryIndex
from reverie.storage.rows import Vector
from reverie.storage.scope import Scope
from reverie.text.search_text import function_terms, search_text, terms


@dataclass(frozen=True, slots=True, eq=False)
class Query:
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
class Candidates:
    """Candidates in no order, and what the search knows of the question and of what it passed over."""

    candidates: list[Candidate]
    rarity: Mapping[str, float] = field(default_factory=dict)  # of each asked word, in scope
    passed_over: Mapping[str, int] = field(default_factory=dict)  # counts by reason
    most_text: float = 0.0  # what a memory made of the asked words alone could score; 0: not known
    term_rarity: Mapping[int, float] = field(default_factory=dict)  # of each asked term, in scope; empty: not known


NEIGHBOUR_SHARE = 0.3
FUNCTION_WORD_SHARE = 0.3
PASSAGE_COST = 0.08
_SATURATION = 1.2  # BM25's k1
_LENGTH_SHARE = 0.9  # BM25's b
_NOBODY = -1


@dataclass(frozen=True, slots=True)
class _Words:
    """What the words of a question found."""

    scores: np.ndarray  # BM25 of each memory in scope
    speaking: np.ndarray  # which memories, in scope or not, share a word that tells something
    most: float  # the BM25 that no memory can pass
    rarity: dict[int, float]  # of each asked term, in scope


class MemoryFeatures:
    """The shelves at given versions, one after the other; a memory's number is its place plus its shelf's start."""

    def __init__(self, versions: tuple[int, ...], layers: Mapping[Layer, MemoryIndex], passages: MemoryIndex) -> None:
        self.versions = versions
        self._layers = {layer: index for layer, index in layers.items() if len(index)}
        sizes = [len(index) for index in self._layers.values()]
        self._starts = dict(zip(self._layers, np.cumsum([0, *sizes]).tolist(), strict=False))
        self._size = sum(sizes)
        self._sessions = self._joined([index.sessions for index in self._layers.values()], np.int64)
        moments = self._joined([index.moments for index in self._layers.values()], np.int64)
        self._told = np.lexsort((np.arange(self._size), moments, self._sessions))
        self._passages = passages
        self._owners, self._price = self._owned(passages)

    def labelled(self, scope: Scope, statuses: Sequence[str] | None = None) -> np.ndarray:
        """Return which memories have a project, a status and a layer in scope."""
        wanted = [scope.projects, scope.statuses if statuses is None else statuses]
        parts = [
            index.allowed(wanted) if layer in scope.layers else np.zeros(len(index), np.bool_)
            for layer, index in self._layers.items()
        ]
        return self._joined(parts, np.bool_)

    def named(self, ids: Mapping[str, Sequence[str]]) -> np.ndarray:
        """Return which memories are among the ids of their table."""
        chosen = np.zeros(self._size, np.bool_)
        for layer, index in self._layers.items():
            places = (index.place_of(memory_id) for memory_id in ids.get(layer, ()))
            chosen[[self._starts[layer] + place for place in places if place is not None]] = True
        return chosen

    def find(self, question: Query, scope: Scope, allowed: np.ndarray, limit: int) -> Candidates:
        """Score every allowed memory and return the best so many by meaning and by words."""
        words = self._by_words(question.text, allowed)
        before, after = self._neighbours(allowed)
        texts = words.scores + NEIGHBOUR_SHARE * (_of(words.scores, before) + _of(words.scores, after))
        texts[~allowed] = 0.0
        cosines = None if question.vector is None else self._cosines(question.vector)
        # Found by words alone, a memory must have some itself; beside the nearest, its neighbours' will do.
        chosen = _best(texts, (words.scores if cosines is None else texts) > 0.0, limit)
        if cosines is not None:
            chosen = np.union1d(chosen, _best(cosines - self._price, allowed, limit))
        return Candidates(
            [self._candidate(int(number), texts, cosines, before, after) for number in chosen],
            self._rarity(question.words, allowed),
            self._passed_over(words.speaking, scope, allowed),
            words.most,
            words.rarity,
        )

    def _candidate(
        self, number: int, texts: np.ndarray, cosines: np.ndarray | None, before: np.ndarray, after: np.ndarray
    ) -> Candidate:
        layer, place = self._where(number)
        cosine = None if cosines is None else float(cosines[number])
        return Candidate(
            id=self._layers[layer].ids[place],
            table=layer,
            place=self._layers[layer].row(place),
            cosine=cosine,
            meaning=None if cosine is None else cosine - float(self._price[number]),
            text=float(texts[number]),
            beside=tuple(self._id(int(other)) for other in (before[number], after[number]) if other != _NOBODY),
        )

    # -- words -----------------------------------------------------------------------------------------

    def _by_words(self, text: str, allowed: np.ndarray) -> _Words:
        asked = list(dict.fromkeys(terms(search_text(text))))
        telling = np.array([term not in function_terms() for term in asked], np.bool_)
        shares = np.where(telling, 1.0, FUNCTION_WORD_SHARE) if telling.any() else np.ones(len(asked))
        numbers, owners, counts = self._entries(asked)
        speaking = np.zeros(self._size, np.bool_)
        speaking[owners[telling[numbers]] if telling.any() else owners] = True
        seen = allowed[owners]
        numbers, owners, counts = numbers[seen], owners[seen], counts[seen]
        rarity = self._inverse_frequency(np.bincount(numbers, minlength=len(asked)), allowed)
        weights = shares * rarity
        lengths = self._lengths()
        usual = float(lengths[allowed].sum()) / max(int(np.count_nonzero(allowed)), 1)
        relative = lengths[owners] / max(usual, 1.0)
        damping = _SATURATION * (1.0 - _LENGTH_SHARE + _LENGTH_SHARE * relative)
        parts = weights[numbers] * counts * (_SATURATION + 1.0) / (counts + damping)
        most = float(weights.sum()) * (_SATURATION + 1.0)
        scores = np.bincount(owners, parts, minlength=self._size)
        return _Words(scores, speaking, most, dict(zip(asked, rarity.tolist(), strict=True)))

    def _rarity(self, words: Sequence[str], allowed: np.ndarray) -> dict[str, float]:
        """Return how rare each word is in scope; signs, which are no words, have none."""
        asked = {word: found[0] for word in dict.fromkeys(words) if (found := terms(word))}
        numbers, owners, _ = self._entries(list(asked.values()))
        held = np.bincount(numbers[allowed[owners]], minlength=len(asked))
        return dict(zip(asked, self._inverse_frequency(held, allowed).tolist(), strict=True))

    def _entries(self, asked: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return who has which of the asked terms, and how often."""
        parts = [
            index.lexical_index.entries(asked) for index in self._layers.values() if index.lexical_index is not None
        ]
        if not parts:
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32)
        owners = [part[1] + start for part, start in zip(parts, self._starts.values(), strict=True)]
        return (
            np.concatenate([part[0] for part in parts]),
            np.concatenate(owners),
            np.concatenate([p[2] for p in parts]),
        )

    def _lengths(self) -> np.ndarray:
        parts = [s.lexical_index.lengths(len(s)) for s in self._layers.values() if s.lexical_index is not None]
        return self._joined(parts, np.float32)

    @staticmethod
    def _inverse_frequency(held: np.ndarray, allowed: np.ndarray) -> np.ndarray:
        return np.log1p((np.count_nonzero(allowed) - held + 0.5) / (held + 0.5))

    def _passed_over(self, speaking: np.ndarray, scope: Scope, allowed: np.ndarray) -> dict[str, int]:
        """Count the memories that share telling words with the question and are not seen, by the reason."""
        hidden = speaking & self._anywhere() & ~allowed
        held_back = hidden & self.labelled(scope, ["quarantined"])
        let_go = hidden & self.labelled(scope, [s for s in STATUSES if s not in (*scope.statuses, "quarantined")])
        counts = {
            "quarantine": np.count_nonzero(held_back),
            "status": np.count_nonzero(let_go),
            "scope": np.count_nonzero(hidden & ~held_back & ~let_go),
        }
        return {reason: int(count) for reason, count in counts.items() if count}

    def _anywhere(self) -> np.ndarray:
        return self._joined([index.allowed([]) for index in self._layers.values()], np.bool_)

    # -- meaning ---------------------------------------------------------------------------------------

    def _cosines(self, vector: Vector) -> np.ndarray:
        cosines = self._joined([index.similarities(vector) for index in self._layers.values()], np.float32)
        owned = self._owners != _NOBODY
        np.maximum.at(cosines, self._owners[owned], self._passages.similarities(vector)[owned])
        return cosines

    def _owned(self, passages: MemoryIndex) -> tuple[np.ndarray, np.ndarray]:
        """Return whose each passage is, and what having so many costs each memory."""
        owners = np.full(len(passages), _NOBODY, np.int64)
        for place in np.flatnonzero(passages.allowed([])).tolist():
            owners[place] = self._number(passages.ids[place].rpartition("#")[0])
        counts = np.bincount(owners[owners != _NOBODY], minlength=self._size)
        return owners, PASSAGE_COST * np.log(np.maximum(counts, 1))

    # -- places ----------------------------------------------------------------------------------------

    def _neighbours(self, allowed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return for each memory the one told before and the one told after it in its session, of those allowed."""
        told = self._told[allowed[self._told]]
        session = self._sessions[told]
        together = (session[1:] == session[:-1]) & (session[1:] != 0)
        before, after = np.full(self._size, _NOBODY), np.full(self._size, _NOBODY)
        before[told[1:][together]] = told[:-1][together]
        after[told[:-1][together]] = told[1:][together]
        return before, after

    def _number(self, memory_id: str) -> int:
        for layer, index in self._layers.items():
            place = index.place_of(memory_id)
            if place is not None:
                return int(self._starts[layer] + place)
        return _NOBODY

    def _where(self, number: int) -> tuple[Layer, int]:
        layer = [layer for layer, start in self._starts.items() if start <= number][-1]
        return layer, number - self._starts[layer]

    def _id(self, number: int) -> str:
        layer, place = self._where(number)
        return self._layers[layer].ids[place]

    @staticmethod
    def _joined(parts: Sequence[np.ndarray], kind: type) -> np.ndarray:
        return np.concatenate(parts) if parts else np.empty(0, kind)


def _of(scores: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the scores of others, nothing where there is nobody."""
    return np.where(others == _NOBODY, 0.0, scores[others])


def _best(scores: np.ndarray, allowed: np.ndarray, limit: int) -> np.ndarray:
    """Return the numbers of the highest scores, the earlier first among equals."""
    numbers = np.flatnonzero(allowed)
    if len(numbers) > limit:
        least = np.partition(scores[numbers], len(numbers) - limit)[len(numbers) - limit]
        numbers = numbers[scores[numbers] >= least]
    return numbers[np.argsort(-scores[numbers], kind="stable")][:limit]
