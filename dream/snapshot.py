"""The store as one dream sees it: read once, with texts, neighbours and evidence looked at once."""

import hashlib
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from reverie.codebase import evidence as codebase
from reverie.codebase.claims import ClaimKind, check_claim, claims_about
from reverie.codebase.evidence import EvidenceState
from reverie.dream.plan import Change, ChangeSet
from reverie.ids import creation_order
from reverie.lifecycle.expiry import LASTING_LAYERS, LIVING, Expiry, Move
from reverie.lifecycle.layers import CORE_ACCESSES, becomes_core
from reverie.lifecycle.rules import due_expiry, due_move
from reverie.memory import GLOBAL_PROJECT, Memory
from reverie.settings import Settings
from reverie.text.conflicts import Conflict
from reverie.text.numbers import Amount
from reverie.text.tokenize import Token, tokens_of

LEAST_COSINE = 0.75
"""Below this two memories are not on the same subject."""

MOST_NEIGHBOURS = 24
_EXACT_UP_TO = 4_000
_CELL_SIZE = 256
_CELLS_BESIDE = 7
_ROUNDS = 2
_BLOCK = 1_024
_MOST_CANDIDATES = 4_096

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Near:
    """For each memory the nearest others, best first, with their cosine."""

    places: tuple[NDArray[np.int32], ...]
    cosines: tuple[NDArray[np.float32], ...]

    def of(self, place: int, least: float = LEAST_COSINE) -> Iterator[tuple[int, float]]:
        """Yield the neighbours of one memory that are at least so close."""
        for other, cosine in zip(self.places[place], self.cosines[place], strict=True):
            if cosine < least:
                return
            yield int(other), float(cosine)


def near_pairs(vectors: Matrix, groups: Sequence[str]) -> Near:
    """Find the neighbours of every row among the rows of its group."""
    places: list[NDArray[np.int32]] = [np.empty(0, np.int32)] * len(vectors)
    cosines: list[NDArray[np.float32]] = [np.empty(0, np.float32)] * len(vectors)
    members: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        members.setdefault(group, []).append(place)
    for rows in members.values():
        for block, candidates in _comparisons(vectors, np.asarray(rows, np.int32)):
            products = vectors[block] @ vectors[candidates].T
            for row, line in zip(block, products, strict=True):
                found = _best(line, candidates, int(row))
                places[row] = candidates[found]
                cosines[row] = line[found]
    return Near(tuple(places), tuple(cosines))


def carried(near: Near, stayed: Sequence[int], came: Sequence[int], vectors: Matrix, groups: Sequence[str]) -> Near:
    """Return the neighbours after some rows went and a few came, without looking at the others again.

    `stayed` gives for each row its place before, or -1; only the rows that came are compared with all.
    """
    now_at = np.full(len(near.places), -1, np.int32)
    for place, before in enumerate(stayed):
        if before >= 0:
            now_at[before] = place
    places: list[NDArray[np.int32]] = []
    cosines: list[NDArray[np.float32]] = []
    for before in stayed:
        found = now_at[near.places[before]] if before >= 0 else np.empty(0, np.int32)
        kept = found >= 0
        places.append(found[kept])
        cosines.append(near.cosines[before][kept] if before >= 0 else np.empty(0, np.float32))
    everyone = np.arange(len(vectors), dtype=np.int32)
    labels = np.asarray(groups)
    for row in came:
        line = np.where(labels == groups[row], vectors @ vectors[row], -1.0).astype(np.float32)
        best = _best(line, everyone, row)
        places[row], cosines[row] = everyone[best], line[best]
        for other in best:
            at = int(np.searchsorted(-cosines[other], -line[other]))
            places[other] = np.insert(places[other], at, row)
            cosines[other] = np.insert(cosines[other], at, line[other])
    return Near(tuple(places), tuple(cosines))


def _best(line: Matrix, candidates: NDArray[np.int32], row: int) -> NDArray[np.intp]:
    close = np.flatnonzero((line >= LEAST_COSINE) & (candidates != row))
    if len(close) > MOST_NEIGHBOURS:
        close = close[np.argpartition(-line[close], MOST_NEIGHBOURS)[:MOST_NEIGHBOURS]]
    return close[np.lexsort((candidates[close], -line[close]))]


def _comparisons(vectors: Matrix, rows: NDArray[np.int32]) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Yield blocks of rows, each with the rows it is to be compared with."""
    if len(rows) <= _EXACT_UP_TO:
        for start in range(0, len(rows), _BLOCK):
            yield rows[start : start + _BLOCK], rows
        return
    centres, cell_of = _cells(vectors, rows)
    beside = np.argsort(-(centres @ centres.T), axis=1, kind="stable")[:, : _CELLS_BESIDE + 1]
    order = np.argsort(cell_of, kind="stable")
    bounds = np.searchsorted(cell_of[order], np.arange(len(centres) + 1))
    inside = [rows[order[bounds[cell] : bounds[cell + 1]]] for cell in range(len(centres))]
    for cell, members in enumerate(inside):
        others = np.concatenate([inside[other] for other in beside[cell] if other != cell] or [members[:0]])
        for start in range(0, len(members), _BLOCK):
            block = members[start : start + _BLOCK]
            # A cell that nothing could divide is compared piece by piece, or it would be all with all again.
            own = (
                members if len(members) <= _MOST_CANDIDATES else members[max(0, start - _BLOCK) : start + 2 * _BLOCK]
            )
            yield block, np.concatenate([own, others[: max(0, _MOST_CANDIDATES - len(own))]])


def _cells(vectors: Matrix, rows: NDArray[np.int32]) -> tuple[Matrix, NDArray[np.intp]]:
    number = max(2, len(rows) // _CELL_SIZE)
    centres = vectors[rows[np.linspace(0, len(rows) - 1, number).astype(np.int64)]].copy()
    cell_of = _nearest_centre(vectors, rows, centres)
    for _ in range(_ROUNDS):
        sums = np.zeros_like(centres)
        np.add.at(sums, cell_of, vectors[rows])
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(lengths > 0, sums / np.maximum(lengths, 1e-12), centres).astype(np.float32)
        cell_of = _nearest_centre(vectors, rows, centres)
    return centres, cell_of


def _nearest_centre(vectors: Matrix, rows: NDArray[np.int32], centres: Matrix) -> NDArray[np.intp]:
    parts = [
        np.argmax(vectors[rows[start : start + _BLOCK]] @ centres.T, axis=1) for start in range(0, len(rows), _BLOCK)
    ]
    return np.concatenate(parts)


_ORDINARY = (
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
    "september october november december i i'm i'll i've ok todo fixme note yes no and or but if when while the a an "
    "we you he she they it this that there here what how why who hi hey thanks oh wow api url json http https id"
)
_NO_ENTITY: Final = frozenset(_ORDINARY.split())
_FACTS: Final = ("number", "version", "path", "name", "negation")
_SHORTEST_ENTITY = 3
_LONGEST_ENTITY = 60
_IS_FLAG = re.compile(r"-")


@dataclass(frozen=True, slots=True)
class TextFacts:
    """A text's tokens, a fingerprint of its facts, its words, and the people, services and tools it names."""

    forms: tuple[str, ...]
    facts: int
    words: frozenset[str]
    entities: tuple[str, ...]


class TextCache:
    """Reads each text once, however many steps ask."""

    def __init__(self) -> None:
        self._read: dict[str, TextFacts] = {}
        self._amounts: dict[str, tuple[Amount, ...]] = {}
        self.clashes: dict[tuple[str, str], tuple[str, ...]] = {}
        """What was found between two memories; see clash.py."""
        self.conflicts: dict[tuple[str, str], Conflict | None] = {}

    def amounts(self, memory: Memory, read: Callable[[str], tuple[Amount, ...]]) -> tuple[Amount, ...]:
        """Return the amounts that a memory's text states."""
        known = self._amounts.get(memory.id)
        if known is None:
            known = self._amounts[memory.id] = read(memory.content)
        return known

    def of(self, memory: Memory) -> TextFacts:
        """Return what a memory's text says."""
        known = self._read.get(memory.id)
        if known is None:
            known = self._read[memory.id] = _read(memory)
        return known


def _read(memory: Memory) -> TextFacts:
    tokens = tokens_of(memory.content)
    return TextFacts(
        tuple(sys.intern(token.form) for token in tokens),
        hash(tuple(sorted(token.form for token in tokens if token.kind in _FACTS and token.shown != "One"))),
        frozenset(sys.intern(token.form) for token in tokens if token.kind == "word"),
        tuple(dict.fromkeys(sys.intern(name) for name in _entities(memory, tokens))),
    )


def _entities(memory: Memory, tokens: Iterable[Token]) -> Iterable[str]:
    """Yield what was noted with the memory, then the names and paths that its text spells."""
    yield from (entity.casefold() for entity in memory.entities)
    for token in tokens:
        if token.kind not in ("name", "path") or _IS_FLAG.match(token.shown):
            continue
        form = token.form.casefold()
        if _SHORTEST_ENTITY <= len(form) <= _LONGEST_ENTITY and form not in _NO_ENTITY and not form[0].isdigit():
            yield form


_ANSWERABLE: frozenset[ClaimKind] = frozenset({"script", "target", "dependency", "version", "setting"})
"""Claims whose failing speaks against the text itself; that a file or symbol is gone is for drift to follow."""


@dataclass(frozen=True, slots=True)
class EvidenceCheck:
    """One look: how the anchors stand, and a receipt for what speaks against the text or bears it out."""

    checked: EvidenceState
    receipt: str = ""
    refuted: bool = False


class EvidenceChecker(Protocol):
    """Something that can look."""

    def check(self, memory: Memory) -> EvidenceCheck | None:
        """Look at what a memory names; None if it names nothing that can be looked at from here."""
        ...


class NoEvidence:
    """Where there is no project to look at: nothing is known, so nothing is held against a memory."""

    def check(self, memory: Memory) -> EvidenceCheck | None:
        """Return nothing."""
        return None


class ProjectEvidence:
    """Looks at the project a session works in."""

    def __init__(self, evidence: codebase.Evidence) -> None:
        self._evidence = evidence

    def check(self, memory: Memory) -> EvidenceCheck | None:
        """Check the anchors of a memory of this project, and the claims of its text that manifests can answer."""
        # What a scan of the code wrote is kept in step by the next scan.
        if memory.source == "code_scan" or memory.project not in (*self._evidence.names, GLOBAL_PROJECT):
            return None
        checked = self._evidence.check(memory.project, memory.branch, memory.anchors, thorough=True)
        against = self._against(memory)
        if not memory.anchors and not against:
            return None
        return EvidenceCheck(checked, against or checked.note or "what it names is as it was", refuted=bool(against))

    def _against(self, memory: Memory) -> str:
        """Return the first finding that speaks against the text, with the place where it was found."""
        tree = self._evidence.tree
        if tree is None or memory.project not in self._evidence.names:
            return ""
        for claim in claims_about(memory.content, memory.anchors):
            finding = check_claim(tree, claim) if claim.kind in _ANSWERABLE else None
            if finding is not None and finding.verdict == "fails":
                return f"{finding.receipt or 'the repository'}: {finding.note or f'not {claim.name} {claim.value}'}"
        return ""


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """Whether a memory goes, moves or becomes core."""

    expires: Expiry | None = None
    moves: Move | None = None
    becomes_core: bool = False


_NOTHING = RuleVerdict()


class RuleVerdicts:
    """Asks the rules and remembers the answers."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Memory, RuleVerdict]] = {}

    def of(self, memory: Memory, now: datetime, settings: Settings) -> RuleVerdict:
        """Return what the rules say of a memory at this moment."""
        known = self._known.get(memory.id)
        if known is not None and known[0] is memory:
            return known[1]
        rule_verdict = _NOTHING if _is_settled(memory) else _asked(memory, now, settings)
        self._known[memory.id] = memory, rule_verdict
        return rule_verdict


def _is_settled(memory: Memory) -> bool:
    """Say at a glance that no rule can touch a memory: what lasts, has no deadline and is no candidate for core."""
    return (
        memory.layer in LASTING_LAYERS
        and memory.forget_after is None
        and (memory.core or memory.access_count < CORE_ACCESSES)
    )


def _asked(memory: Memory, now: datetime, settings: Settings) -> RuleVerdict:
    expires = due_expiry(memory, now, settings.retention, settings.tier)
    return RuleVerdict(expires) if expires else RuleVerdict(None, due_move(memory, now), becomes_core(memory))


Vectors = NDArray[np.float32]
Embed = Callable[[Sequence[str]], Vectors]

DERIVED_KINDS = frozenset({"peer_card", "bridge", "digest"})
"""What a dream writes about other memories; it does not dream about its own dreams."""


@dataclass(frozen=True, slots=True)
class InitialNeighbours:
    """Neighbours as they were first found, and the place of each memory among them."""

    near: Near
    places: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """Every living memory with its vector, and what earlier nights left behind."""

    now: datetime
    memories: tuple[Memory, ...]
    vectors: Vectors
    embedder: str
    embed: Embed
    asked: Mapping[str, str] = field(default_factory=dict)
    """The ids of all questions ever asked, each with its status."""
    open_questions: Mapping[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    """Of those still open, the kind and the memories."""
    bridges_asked_lately: int = 0
    """How many pairs were put to a judge within a day."""
    demoted: frozenset[str] = frozenset()
    """Memories whose last move was someone's demotion."""
    checks: Mapping[str, EvidenceCheck] = field(default_factory=dict)
    restored: Mapping[str, datetime] = field(default_factory=dict)
    """When memories about to drift away were last brought back by somebody."""
    undone_keys: frozenset[str] = frozenset()
    """The keys of changes that somebody undid; see plan.py."""
    as_left: bool = False
    """Whether the last whole night left the memories just so: then who lies near whom was thought through."""
    old_accesses: int = 0
    old_events: int = 0
    reading: TextCache = field(default_factory=TextCache)
    rule_verdicts: RuleVerdicts = field(default_factory=RuleVerdicts)
    initial_neighbours: "InitialNeighbours | None" = None
    """Who lay near whom when the night began, for snapshots later in it."""

    @cached_property
    def by_id(self) -> dict[str, Memory]:
        """The living memories by id."""
        return {memory.id: memory for memory in self.memories}

    @cached_property
    def near(self) -> Near:
        """Which memories of one project lie close to each other."""
        projects = [memory.project for memory in self.memories]
        if self.initial_neighbours is None:
            return near_pairs(self.vectors, projects)
        came = [
            place for place, memory in enumerate(self.memories) if memory.id not in self.initial_neighbours.places
        ]
        told = [place for place in came if self.memories[place].kind not in DERIVED_KINDS]
        stayed = [self.initial_neighbours.places.get(memory.id, -1) for memory in self.memories]
        return carried(self.initial_neighbours.near, stayed, told, self.vectors, projects)

    def open_by_project(self, kind: str) -> Counter[str]:
        """Count the open questions of a kind by the project whose sessions see them."""
        asked = (ids for of_kind, ids in self.open_questions.values() if of_kind == kind)
        return Counter(project_of(self.by_id[one] for one in ids if one in self.by_id) for ids in asked)

    @property
    def told(self) -> tuple[Memory, ...]:
        """The memories that were told to us, not dreamt about others."""
        return tuple(memory for memory in self.memories if memory.kind not in DERIVED_KINDS)

    @property
    def fingerprint(self) -> str:
        """A digest of which memories there are and when each was last changed."""
        told = (f"{memory.id} {memory.layer} {memory.updated_at.isoformat()}" for memory in self.memories)
        return hashlib.sha256("\n".join(told).encode()).hexdigest()

    def without(self, ids: Iterable[str]) -> "Snapshot":
        """Return the store as if these memories were not there."""
        left_out = set(ids)
        if not left_out:
            return self
        kept = [place for place, memory in enumerate(self.memories) if memory.id not in left_out]
        return replace(self, memories=tuple(self.memories[place] for place in kept), vectors=self.vectors[kept])

    def after(self, change_sets: Sequence[ChangeSet]) -> "Snapshot":
        """Return the store as these deeds would leave it: what they retire is gone for the steps to come."""
        if not change_sets:
            return self
        held = dict(self.by_id)
        vectors = dict(zip(held, self.vectors, strict=True))
        written = [new.memory for change_set in change_sets for new in change_set.new_memories]
        if written:
            vectors |= zip((m.id for m in written), self.embed([m.content for m in written]), strict=True)
        for change_set in change_sets:
            held |= {new.memory.id: new.memory for new in change_set.new_memories}
            for change in change_set.changes:
                held[change.memory_id] = changed(held[change.memory_id], change, self.now)
        reworded = [memory_id for memory_id in _reworded(change_sets) if memory_id in held]
        if reworded:
            vectors |= zip(reworded, self.embed([held[memory_id].content for memory_id in reworded]), strict=True)
        asked = [question for change_set in change_sets for question in change_set.questions]
        living = in_order(memory for memory in held.values() if memory.status in LIVING)
        same = len(living) == len(self.memories) and not written and not reworded
        initial_neighbours = self.initial_neighbours
        if initial_neighbours is None and "near" in self.__dict__:
            initial_neighbours = InitialNeighbours(
                self.near, {memory.id: place for place, memory in enumerate(self.memories)}
            )
        after = replace(
            self,
            initial_neighbours=initial_neighbours,
            memories=living,
            vectors=self.vectors if same else _stacked([vectors[memory.id] for memory in living], self.vectors),
            asked={**self.asked, **{question.id: question.settled or "open" for question in asked}},
            open_questions={
                **self.open_questions,
                **{q.id: (q.kind, q.memory_ids) for q in asked if q.settled is None},
            },
            bridges_asked_lately=self.bridges_asked_lately + sum(q.kind == "bridge" for q in asked),
        )
        if same and "near" in self.__dict__:
            after.__dict__["near"] = self.near  # nobody came or went: who lies near whom is as it was
        return after


def project_of(memories: Iterable[Memory]) -> str:
    """Return the one project that sees all these memories: theirs, or `global` if they belong to none."""
    return next((memory.project for memory in memories if memory.project != GLOBAL_PROJECT), GLOBAL_PROJECT)


def changed(memory: Memory, change: Change, now: datetime) -> Memory:
    """Return a memory as a change leaves it."""
    return replace(memory, **change.values, updated_at=now)


def in_order(memories: Iterable[Memory]) -> tuple[Memory, ...]:
    """Return memories in the one order that every night reads them in: oldest first."""
    return tuple(sorted(memories, key=lambda memory: (memory.created_at, creation_order(memory.id))))


def _reworded(change_sets: Sequence[ChangeSet]) -> list[str]:
    """Return which memories get another text: only those written in the same night ever do."""
    return list(
        dict.fromkeys(c.memory_id for change_set in change_sets for c in change_set.changes if "content" in c.values)
    )


def _stacked(rows: Sequence[Vectors], like: Vectors) -> Vectors:
    return np.stack(rows) if rows else np.empty((0, like.shape[1]), np.float32)
