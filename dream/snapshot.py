"""The store as one dream reads it, with caches: texts, neighbours, evidence and rules are looked at once."""

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
from reverie.embeddings.classifier import PairVerdict, judged_pair
from reverie.ids import creation_order
from reverie.lifecycle.expiry import LASTING_LAYERS, LIVING, Expiry, Move
from reverie.lifecycle.rules import CORE_ACCESSES, becomes_core, due_expiry, due_move
from reverie.memory import GLOBAL_PROJECT, Anchor, Memory
from reverie.settings import Settings
from reverie.storage.dream_cache import ComparedPairs, pair_key
from reverie.text.amounts import Amount
from reverie.text.conflicts import Conflict
from reverie.text.entities import names_in
from reverie.text.tokenize import Token, tokens_of

LEAST_COSINE = 0.75
"""Below this cosine two memories are not surely on the same subject."""

FARTHEST = 0.35
"""Below this cosine two memories are no neighbours: not even the pair classifier compares them."""

MOST_NEIGHBOURS = 24
EXACT_UP_TO = 4_000
"""In a project with more memories than this, neighbours are found approximately."""

_CELL_SIZE = 256
_CELLS_BESIDE = 7
_ROUNDS = 2
_BLOCK = 1_024
_MOST_CANDIDATES = 4_096

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Near:
    """For each memory the nearest others, best first, as row indexes and cosines."""

    rows: tuple[NDArray[np.int32], ...]
    cosines: tuple[NDArray[np.float32], ...]

    def of(self, row: int, least: float = LEAST_COSINE) -> Iterator[tuple[int, float]]:
        """Yield the neighbours of one memory with at least this cosine."""
        for other, cosine in zip(self.rows[row], self.cosines[row], strict=True):
            if cosine < least:
                return
            yield int(other), float(cosine)


NO_GROUP = "\0"
"""The group of rows that are given no neighbours."""


def near_pairs(vectors: Matrix, groups: Sequence[str]) -> Near:
    """Find the neighbours of every row among the rows of its group."""
    neighbours: list[NDArray[np.int32]] = [np.empty(0, np.int32)] * len(vectors)
    cosines: list[NDArray[np.float32]] = [np.empty(0, np.float32)] * len(vectors)
    rows_of: dict[str, list[int]] = {}
    for row, group in enumerate(groups):
        rows_of.setdefault(group, []).append(row)
    rows_of.pop(NO_GROUP, None)
    for rows in rows_of.values():
        for block, candidates in _comparisons(vectors, np.asarray(rows, np.int32)):
            products = vectors[block] @ vectors[candidates].T
            for row, line in zip(block, products, strict=True):
                found = _best(line, candidates, int(row))
                neighbours[row] = candidates[found]
                cosines[row] = line[found]
    return Near(tuple(neighbours), tuple(cosines))


def updated_neighbours(
    near: Near, old_rows: Sequence[int], new_rows: Sequence[int], vectors: Matrix, groups: Sequence[str]
) -> Near:
    """Return the neighbours after some rows were removed and a few added, without comparing the others again.

    `old_rows` gives for each row its index before, or -1; only `new_rows` are compared with all.
    """
    now_at = np.full(len(near.rows), -1, np.int32)
    for row, before in enumerate(old_rows):
        if before >= 0:
            now_at[before] = row
    neighbours: list[NDArray[np.int32]] = []
    cosines: list[NDArray[np.float32]] = []
    for before in old_rows:
        found = now_at[near.rows[before]] if before >= 0 else np.empty(0, np.int32)
        kept = found >= 0
        neighbours.append(found[kept])
        cosines.append(near.cosines[before][kept] if before >= 0 else np.empty(0, np.float32))
    everyone = np.arange(len(vectors), dtype=np.int32)
    labels = np.asarray(groups)
    for row in new_rows:
        line = np.where(labels == groups[row], vectors @ vectors[row], -1.0).astype(np.float32)
        best = _best(line, everyone, row)
        neighbours[row], cosines[row] = everyone[best], line[best]
        for other in best:
            at = int(np.searchsorted(-cosines[other], -line[other]))
            neighbours[other] = np.insert(neighbours[other], at, row)
            cosines[other] = np.insert(cosines[other], at, line[other])
    return Near(tuple(neighbours), tuple(cosines))


def _best(line: Matrix, candidates: NDArray[np.int32], row: int) -> NDArray[np.intp]:
    close = np.flatnonzero((line >= FARTHEST) & (candidates != row))
    if len(close) > MOST_NEIGHBOURS:
        close = close[np.argpartition(-line[close], MOST_NEIGHBOURS)[:MOST_NEIGHBOURS]]
    return close[np.lexsort((candidates[close], -line[close]))]


def _comparisons(vectors: Matrix, rows: NDArray[np.int32]) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Yield blocks of rows, each with the rows to compare it with: all, or in a large group those of nearby cells."""
    if len(rows) <= EXACT_UP_TO:
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
            # A cell too large to compare with itself (rows that are all alike) is compared block by block.
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
    """The tokens of a text, a hash of its facts, its words, and the people, services and tools it names."""

    forms: tuple[str, ...]
    facts: int
    words: frozenset[str]
    entities: tuple[str, ...]


class TextCache:
    """Tokenizes each text once and keeps what was found, also between pairs of texts."""

    def __init__(self, compared: ComparedPairs | None = None) -> None:
        """Take what earlier dreams compared, if that is kept."""
        self.compared = compared
        self._read: dict[str, TextFacts] = {}
        self._amounts: dict[str, tuple[Amount, ...]] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        self.clashes: dict[tuple[str, str], tuple[str, ...]] = {}
        """In what two memories differ too much to be merged, by their ids; see beliefs.clashes."""
        self.conflicts: dict[tuple[str, str], Conflict | None] = {}
        """Why an older memory may not hold beside a newer one, by their ids; see beliefs.conflict_between."""
        self.verdicts: dict[tuple[str, str], PairVerdict | None] = {}
        """What the pair classifier says of an older and a newer memory, by their ids; see beliefs.likely_updates."""

    def judged(self, older: Memory, newer: Memory, cosine: float) -> PairVerdict | None:
        """Return what the pair classifier says of two memories; None also if an earlier dream found no update."""
        if self.compared is None:
            return judged_pair(older.content, newer.content, cosine)
        key = pair_key(older.content_hash, newer.content_hash, cosine)
        if key in self.compared:
            return None
        verdict = judged_pair(older.content, newer.content, cosine)
        if verdict is None or verdict.label != "update":
            self.compared.add(key)
        return verdict

    def amounts(self, memory: Memory, read: Callable[[str], tuple[Amount, ...]]) -> tuple[Amount, ...]:
        """Return the amounts that a memory's text states."""
        known = self._amounts.get(memory.id)
        if known is None:
            known = self._amounts[memory.id] = read(memory.content)
        return known

    def names(self, memory: Memory) -> tuple[str, ...]:
        """Return the names stored with a memory, or those in its text if it is from before they were stored."""
        known = self._names.get(memory.id)
        if known is None:
            known = self._names[memory.id] = memory.entities or names_in(memory.content)
        return known

    def of(self, memory: Memory) -> TextFacts:
        """Return the facts of a memory's text."""
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
    """Yield the entities stored with the memory, then the names and paths in its text."""
    yield from (entity.casefold() for entity in memory.entities)
    for token in tokens:
        if token.kind not in ("name", "path") or _IS_FLAG.match(token.shown):
            continue
        form = token.form.casefold()
        if _SHORTEST_ENTITY <= len(form) <= _LONGEST_ENTITY and form not in _NO_ENTITY and not form[0].isdigit():
            yield form


_ANSWERABLE: frozenset[ClaimKind] = frozenset({"script", "target", "dependency", "version", "setting"})
"""Claims that refute the text when they fail; a missing file or symbol is left to the drift step."""


@dataclass(frozen=True, slots=True)
class EvidenceCheck:
    """The state of a memory's anchors, and a receipt for what refutes or confirms its text."""

    checked: EvidenceState
    receipt: str = ""
    refuted: bool = False
    new_anchors: tuple[Anchor, ...] = ()  # of a memory that has none yet; see evidence.py


class EvidenceChecker(Protocol):
    """Checks memories against code."""

    @property
    def projects(self) -> tuple[str, ...]:
        """The projects whose memories it can check."""
        ...

    def check(self, memory: Memory) -> EvidenceCheck | None:
        """Check what a memory names; None if it names nothing that can be checked from here."""
        ...


class NoEvidence:
    """Used where there is no project: nothing can be checked, so nothing counts against a memory."""

    projects: tuple[str, ...] = ()

    def check(self, memory: Memory) -> EvidenceCheck | None:
        """Return nothing."""
        return None


class ProjectEvidence:
    """Checks memories against the project that a session works in."""

    def __init__(self, evidence: codebase.Evidence) -> None:
        self._evidence = evidence

    @property
    def projects(self) -> tuple[str, ...]:
        """This project by all its names, and what holds in every project."""
        return (*self._evidence.names, GLOBAL_PROJECT)

    def check(self, memory: Memory) -> EvidenceCheck | None:
        """Check the anchors of a memory of this project, and the claims of its text that manifests can answer."""
        # What a scan of the code wrote is updated by the next scan.
        if memory.source == "code_scan" or memory.project not in self.projects:
            return None
        checked = self._evidence.check(memory.project, memory.branch, memory.anchors, thorough=True)
        refuted_by = self._refuted_by(memory)
        if not memory.anchors and not refuted_by:
            return None
        receipt = refuted_by or checked.note or "what it names is as it was"
        return EvidenceCheck(checked, receipt, refuted=bool(refuted_by))

    def _refuted_by(self, memory: Memory) -> str:
        """Return the first finding that refutes the text, with the file where it was found."""
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
    """What the rules say of a memory at one moment: it expires, or it moves or becomes core, or none of it."""

    expires: Expiry | None = None
    moves: Move | None = None
    becomes_core: bool = False


_NOTHING = RuleVerdict()


class RuleVerdicts:
    """Applies the rules to each memory once; a changed memory is another object and is judged again."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Memory, RuleVerdict]] = {}

    def of(self, memory: Memory, now: datetime, settings: Settings) -> RuleVerdict:
        """Return the verdict of the rules on a memory."""
        known = self._known.get(memory.id)
        if known is not None and known[0] is memory:
            return known[1]
        rule_verdict = _NOTHING if _is_exempt(memory) else _judged(memory, now, settings)
        self._known[memory.id] = memory, rule_verdict
        return rule_verdict


def _is_exempt(memory: Memory) -> bool:
    """Whether no rule can apply: lasting, without a deadline, and core already or with too few recalls for it."""
    return (
        memory.layer in LASTING_LAYERS
        and memory.forget_after is None
        and (memory.core or memory.access_count < CORE_ACCESSES)
    )


def _judged(memory: Memory, now: datetime, settings: Settings) -> RuleVerdict:
    expires = due_expiry(memory, now, settings.retention, settings.tier, settings.parameters)
    if expires:
        return RuleVerdict(expires)
    return RuleVerdict(None, due_move(memory, now, settings.parameters), becomes_core(memory))


Vectors = NDArray[np.float32]
Embed = Callable[[Sequence[str]], Vectors]

DERIVED_KINDS = frozenset({"peer_card", "bridge", "digest"})
"""Kinds that a dream derives from other memories; most steps leave them out."""


@dataclass(frozen=True, slots=True)
class InitialNeighbours:
    """The neighbours that were found first in this dream, and the row of each memory among them."""

    near: Near
    rows: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """Every living memory with its vector, and what earlier dreams asked and did."""

    now: datetime
    memories: tuple[Memory, ...]
    vectors: Vectors
    embedder: str
    embed: Embed
    asked: Mapping[str, str] = field(default_factory=dict)
    """The ids of all questions ever asked, except withdrawn ones, each with its status."""
    open_questions: Mapping[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    """The kind and the memories of each open question."""
    bridges_asked_lately: int = 0
    """How many pairs of subjects were put to a judge within the last day."""
    demoted: frozenset[str] = frozenset()
    """Ids of memories whose last move was a demotion by somebody."""
    checks: Mapping[str, EvidenceCheck] = field(default_factory=dict)
    restored: Mapping[str, datetime] = field(default_factory=dict)
    """When memories that drift would expire were last restored."""
    undone_keys: frozenset[str] = frozenset()
    """The keys of changes that somebody undid; see plan.py."""
    as_left: frozenset[str] = frozenset()
    """Projects that are exactly as the last complete dream left them: their neighbours need no second look."""
    waiting_projects: int = 0
    """How many projects with something to do are left to the next dream."""
    old_accesses: int = 0
    old_events: int = 0
    texts: TextCache = field(default_factory=TextCache)
    rule_verdicts: RuleVerdicts = field(default_factory=RuleVerdicts)
    initial_neighbours: "InitialNeighbours | None" = None
    """The neighbours at the beginning of the dream, for later snapshots of it."""

    @cached_property
    def by_id(self) -> dict[str, Memory]:
        """The living memories by id."""
        return {memory.id: memory for memory in self.memories}

    @cached_property
    def near(self) -> Near:
        """The memories of one project that are close to each other."""
        left = self.as_left
        projects = [NO_GROUP if memory.project in left else memory.project for memory in self.memories]
        if self.initial_neighbours is None:
            return near_pairs(self.vectors, projects)
        initial = self.initial_neighbours
        old_rows = [initial.rows.get(memory.id, -1) for memory in self.memories]
        new_rows = [
            row
            for row, memory in enumerate(self.memories)
            if old_rows[row] < 0 and memory.kind not in DERIVED_KINDS and memory.project not in left
        ]
        return updated_neighbours(initial.near, old_rows, new_rows, self.vectors, projects)

    def open_by_project(self, kind: str) -> Counter[str]:
        """Count the open questions of a kind by the project whose sessions see them."""
        asked = (ids for of_kind, ids in self.open_questions.values() if of_kind == kind)
        return Counter(project_of(self.by_id[one] for one in ids if one in self.by_id) for ids in asked)

    @property
    def original_memories(self) -> tuple[Memory, ...]:
        """The memories that no dream derived from others."""
        return tuple(memory for memory in self.memories if memory.kind not in DERIVED_KINDS)

    def without(self, ids: Iterable[str]) -> "Snapshot":
        """Return the snapshot without these memories."""
        left_out = set(ids)
        if not left_out:
            return self
        kept = [row for row, memory in enumerate(self.memories) if memory.id not in left_out]
        return replace(self, memories=tuple(self.memories[row] for row in kept), vectors=self.vectors[kept])

    def after(self, change_sets: Sequence[ChangeSet]) -> "Snapshot":
        """Return the snapshot as these change sets would leave it; what they retire is no longer in it."""
        if not change_sets:
            return self
        memories = dict(self.by_id)
        vectors = dict(zip(memories, self.vectors, strict=True))
        written = [new.memory for change_set in change_sets for new in change_set.new_memories]
        if written:
            vectors |= zip((m.id for m in written), self.embed([m.content for m in written]), strict=True)
        for change_set in change_sets:
            memories |= {new.memory.id: new.memory for new in change_set.new_memories}
            for change in change_set.changes:
                memories[change.memory_id] = changed(memories[change.memory_id], change, self.now)
        reworded = [memory_id for memory_id in _reworded(change_sets) if memory_id in memories]
        if reworded:
            vectors |= zip(reworded, self.embed([memories[memory_id].content for memory_id in reworded]), strict=True)
        asked = [question for change_set in change_sets for question in change_set.questions]
        living = in_order(memory for memory in memories.values() if memory.status in LIVING)
        same = len(living) == len(self.memories) and not written and not reworded
        initial_neighbours = self.initial_neighbours
        if initial_neighbours is None and "near" in self.__dict__:
            initial_neighbours = InitialNeighbours(
                self.near, {memory.id: row for row, memory in enumerate(self.memories)}
            )
        after = replace(
            self,
            initial_neighbours=initial_neighbours,
            memories=living,
            vectors=self.vectors if same else _stacked([vectors[memory.id] for memory in living], self.vectors),
            asked={**self.asked, **{question.id: question.model_verdict or "open" for question in asked}},
            open_questions={
                **self.open_questions,
                **{q.id: (q.kind, q.memory_ids) for q in asked if q.model_verdict is None},
            },
            bridges_asked_lately=self.bridges_asked_lately + sum(q.kind == "bridge" for q in asked),
        )
        if same and "near" in self.__dict__:
            after.__dict__["near"] = self.near  # the same memories have the same neighbours
        return after


def project_of(memories: Iterable[Memory]) -> str:
    """Return the project whose sessions see all these memories: theirs, or `global` if all are global."""
    return next((memory.project for memory in memories if memory.project != GLOBAL_PROJECT), GLOBAL_PROJECT)


def changed(memory: Memory, change: Change, now: datetime) -> Memory:
    """Return a memory as a change leaves it."""
    return replace(memory, **change.values, updated_at=now)


def in_order(memories: Iterable[Memory]) -> tuple[Memory, ...]:
    """Return memories in the order in which every dream reads them: oldest first."""
    return tuple(sorted(memories, key=lambda memory: (memory.created_at, creation_order(memory.id))))


def _reworded(change_sets: Sequence[ChangeSet]) -> list[str]:
    """Return the ids of memories that get another text: only those written in the same dream do."""
    return list(
        dict.fromkeys(c.memory_id for change_set in change_sets for c in change_set.changes if "content" in c.values)
    )


def _stacked(rows: Sequence[Vectors], like: Vectors) -> Vectors:
    return np.stack(rows) if rows else np.empty((0, like.shape[1]), np.float32)
