"""What a dream checks memories against: every project whose folder can be found, not only the session's.

A root comes from where sessions have stood (storage/projects.py), never from a memory; and only if the folder is
still that project. A memory without anchors is looked at too, so many a night: it was imported, or is from before
anchors were kept, and becomes anchored to what it names.
"""

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from reverie.codebase.evidence import Evidence, EvidenceState
from reverie.codebase.identity import identify_project, root_commits
from reverie.codebase.tree import stored_folder
from reverie.dream.snapshot import DERIVED_KINDS, EvidenceCheck, ProjectEvidence
from reverie.memory import GLOBAL_PROJECT, Memory
from reverie.storage.journal import Event
from reverie.storage.projects import ProjectRecord, Projects

MOST_PROJECTS = 40
"""Projects that one dream looks into, besides the session's."""

MOST_LOOKED_AT = 300
"""Memories without anchors that one dream looks at; which ones changes from day to day."""

ANCHORED = "anchored"
"""The action of an event that gave a memory its first anchors."""

UPHELD = "upheld"


def settles(event: Event) -> bool:
    """Whether a memory without anchors stays so after an event: they were undone, or it holds without the code."""
    return event.action == ANCHORED or (event.action == UPHELD and "anchors" in event.before)


def may_be_anchored(memory: Memory) -> bool:
    """Whether a memory has no anchors and is of a kind that should: what a scan or a dream wrote has its own way."""
    return (
        not memory.anchors
        and memory.status in ("active", "challenged")
        and memory.layer != "codebase"
        and memory.source not in ("code_scan", "dream")
        and memory.kind not in DERIVED_KINDS
    )


def evidence_of_others(projects: Projects, own: Iterable[str], with_memories: Collection[str]) -> list[Evidence]:
    """Return the evidence of every other project that has memories and still lies where a session stood."""
    here = {projects.canonical(name) for name in own}
    others = [one for one in projects.known.values() if one.name not in here and set(one.names) & set(with_memories)]
    found = (_evidence_of(one, projects) for one in sorted(others, key=lambda one: one.name)[:MOST_PROJECTS])
    return [evidence for evidence in found if evidence is not None]


def _evidence_of(record: ProjectRecord, projects: Projects) -> Evidence | None:
    """Return the evidence in the newest of a project's folders that is still it."""
    for place in reversed(record.places):
        folder = Path(place)
        if not folder.is_absolute() or not folder.is_dir():
            continue
        identity = identify_project(folder)
        if identity.root is None:
            continue
        if projects.is_known(identity.project):
            is_same = projects.canonical(identity.project) == record.name
        else:  # a remote was added or renamed since: its first commits tell
            is_same = not set(root_commits(identity.root)).isdisjoint(record.root_commits)
        if is_same:
            evidence = Evidence(identity, folder)
            evidence.names = record.names
            return evidence
    return None


@dataclass
class EveryProject:
    """Checks the memories of several projects, each against its own folder."""

    own: Evidence
    others: list[Evidence] = field(default_factory=list)
    settled: frozenset[str] = frozenset()  # ids of memories that stay without anchors
    now: datetime | None = None

    def __post_init__(self) -> None:
        """Make one checker for each folder."""
        self._by_name: dict[str, tuple[Evidence, ProjectEvidence]] = {}
        self._by_root: dict[str, ProjectEvidence] = {}
        for evidence in (*reversed(self.others), self.own):
            checker = ProjectEvidence(evidence)
            self._by_name |= dict.fromkeys(evidence.names, (evidence, checker))
            if evidence.tree is not None:
                self._by_root[stored_folder(evidence.tree.root)] = checker
        self._own = ProjectEvidence(self.own)
        self._looked_at: frozenset[str] | None = None

    @property
    def projects(self) -> tuple[str, ...]:
        """The projects whose code it can look at, by all their names, and what holds in every project."""
        return (*self._by_name, GLOBAL_PROJECT)

    def choose(self, memories: Iterable[Memory]) -> None:
        """Choose which memories without anchors are looked at today; the same day gives the same ones."""
        day = "" if self.now is None else self.now.date().isoformat()
        waiting = [
            one.id
            for one in memories
            if one.project in self._by_name and one.id not in self.settled and may_be_anchored(one)
        ]
        waiting.sort(key=lambda one: hashlib.sha256(f"{day} {one}".encode()).digest())
        self._looked_at = frozenset(waiting[:MOST_LOOKED_AT])

    def check(self, memory: Memory) -> EvidenceCheck | None:
        """Check a memory against its own project; a global one against the folder that it was anchored in."""
        if memory.project == GLOBAL_PROJECT:
            root = next((anchor.root for anchor in memory.anchors if anchor.root is not None), None)
            return self._by_root.get(root or "", self._own).check(memory)
        evidence, checker = self._by_name.get(memory.project, (None, None))
        if evidence is None or checker is None:
            return None
        checked = checker.check(memory)
        if memory.id not in (self._looked_at or ()) or memory.anchors:
            return checked
        anchors = evidence.anchor_old(memory.content, memory.project)
        if not anchors:
            return checked
        return replace(checked or EvidenceCheck(EvidenceState("unanchored")), new_anchors=anchors)
