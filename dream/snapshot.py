"""The store as one night sees it: read once, then only thought about."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reverie.dream.evidence import Check
from reverie.dream.fates import Fates
from reverie.dream.neighbours import Near, carried, near_pairs
from reverie.dream.plan import Change, Deed
from reverie.dream.reading import Reading
from reverie.identity import as_made
from reverie.lifecycle.lasting import LIVING
from reverie.memory import GLOBAL_PROJECT, Memory

Vectors = NDArray[np.float32]
Embed = Callable[[Sequence[str]], Vectors]

DREAMT_KINDS = frozenset({"peer_card", "bridge", "digest"})
"""What a dream writes about other memories; it does not dream about its own dreams."""


@dataclass(frozen=True, slots=True)
class Evening:
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
    checks: Mapping[str, Check] = field(default_factory=dict)
    restored: Mapping[str, datetime] = field(default_factory=dict)
    """When memories about to drift away were last brought back by somebody."""
    refused: frozenset[str] = frozenset()
    """What somebody took back by undoing a night; see refusals.py."""
    as_left: bool = False
    """Whether the last whole night left the memories just so: then who lies near whom was thought through."""
    old_accesses: int = 0
    old_events: int = 0
    reading: Reading = field(default_factory=Reading)
    fates: Fates = field(default_factory=Fates)
    evening: "Evening | None" = None
    """Who lay near whom when the night began, for snapshots later in it."""

    @cached_property
    def by_id(self) -> dict[str, Memory]:
        """The living memories by id."""
        return {memory.id: memory for memory in self.memories}

    @cached_property
    def near(self) -> Near:
        """Which memories of one project lie close to each other."""
        projects = [memory.project for memory in self.memories]
        if self.evening is None:
            return near_pairs(self.vectors, projects)
        came = [place for place, memory in enumerate(self.memories) if memory.id not in self.evening.places]
        told = [place for place in came if self.memories[place].kind not in DREAMT_KINDS]
        stayed = [self.evening.places.get(memory.id, -1) for memory in self.memories]
        return carried(self.evening.near, stayed, told, self.vectors, projects)

    def open_by_project(self, kind: str) -> Counter[str]:
        """Count the open questions of a kind by the project whose sessions see them."""
        asked = (ids for of_kind, ids in self.open_questions.values() if of_kind == kind)
        return Counter(project_of(self.by_id[one] for one in ids if one in self.by_id) for ids in asked)

    @property
    def told(self) -> tuple[Memory, ...]:
        """The memories that were told to us, not dreamt about others."""
        return tuple(memory for memory in self.memories if memory.kind not in DREAMT_KINDS)

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

    def after(self, deeds: Sequence[Deed]) -> "Snapshot":
        """Return the store as these deeds would leave it: what they retire is gone for the steps to come."""
        if not deeds:
            return self
        held = dict(self.by_id)
        vectors = dict(zip(held, self.vectors, strict=True))
        written = [new.memory for deed in deeds for new in deed.news]
        if written:
            vectors |= zip((m.id for m in written), self.embed([m.content for m in written]), strict=True)
        for deed in deeds:
            held |= {new.memory.id: new.memory for new in deed.news}
            for change in deed.changes:
                held[change.memory_id] = changed(held[change.memory_id], change, self.now)
        reworded = [memory_id for memory_id in _reworded(deeds) if memory_id in held]
        if reworded:
            vectors |= zip(reworded, self.embed([held[memory_id].content for memory_id in reworded]), strict=True)
        asked = [question for deed in deeds for question in deed.questions]
        living = in_order(memory for memory in held.values() if memory.status in LIVING)
        same = len(living) == len(self.memories) and not written and not reworded
        evening = self.evening
        if evening is None and "near" in self.__dict__:
            evening = Evening(self.near, {memory.id: place for place, memory in enumerate(self.memories)})
        after = replace(
            self,
            evening=evening,
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
    return tuple(sorted(memories, key=lambda memory: (memory.created_at, as_made(memory.id))))


def _reworded(deeds: Sequence[Deed]) -> list[str]:
    """Return which memories get another text: only those written in the same night ever do."""
    return list(dict.fromkeys(c.memory_id for deed in deeds for c in deed.changes if "content" in c.values))


def _stacked(rows: Sequence[Vectors], like: Vectors) -> Vectors:
    return np.stack(rows) if rows else np.empty((0, like.shape[1]), np.float32)
