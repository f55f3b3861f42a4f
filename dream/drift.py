"""The drift step: checks memories against the code that they name, and changes or questions those that no longer fit.

Moved: the anchor gets the new path, and a question proposes the text with it. Missing: the memory is challenged, and
it expires when all its anchors were missing on three different days. Found again: the challenge ends. What cannot be
checked from here is left alone, and so is what is pinned. The same day gives the same plan.

Every project whose folder can be found is checked, not only the session's. A root comes from where sessions have
stood (storage/projects.py), never from a memory; and only if the folder is still that project. A memory without
anchors, imported or old, gets them when a dream first meets it, so many a night.

Every challenge comes with a question, and is withdrawn with it: by an answer, or when the code is found again.
A dream runs this as a step; `reverie drift` runs it for one project by itself.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from reverie.codebase.evidence import Evidence, EvidenceState
from reverie.codebase.identity import identify_project, root_commits
from reverie.codebase.tree import stored_folder
from reverie.dream.judge import Judge
from reverie.dream.plan import Change, ChangeSet, Proposal, ProposedQuestion
from reverie.dream.snapshot import DERIVED_KINDS, EvidenceCheck, ProjectEvidence, Snapshot
from reverie.memory import GLOBAL_PROJECT, Anchor, Memory, Verdict
from reverie.settings import Settings
from reverie.storage.dream_records import OPEN
from reverie.storage.journal import Event
from reverie.storage.projects import ProjectRecord, Projects
from reverie.storage.store import MemoryStore

FAILED_DAYS_BEFORE_EXPIRY = 3
REASON = "drift: "
"""The beginning of the status reason of a memory that drift has challenged or expired."""

Action = Literal["repaired", "challenged", "noted", "expired", "healed"]

_STILL_THERE = ("verified", "changed")


@dataclass(frozen=True, slots=True)
class DriftChange:
    """One memory, the new values of its fields, and why."""

    memory: Memory
    action: Action
    values: Mapping[str, Any]
    reason: str


@dataclass(frozen=True, slots=True)
class DriftPlan:
    """Every change that is due, and the state of each memory's anchors."""

    changes: tuple[DriftChange, ...]
    found: tuple[tuple[Memory, EvidenceState], ...] = field(default=())


def check_all(evidence: Evidence, memories: Iterable[Memory]) -> list[tuple[Memory, EvidenceState]]:
    """Check every anchor of memories thoroughly, by digest."""
    return [
        (memory, evidence.check(memory.project, memory.branch, memory.anchors, thorough=True)) for memory in memories
    ]


def plan_drift(
    found: Iterable[tuple[Memory, EvidenceState]], now: datetime, restored: Mapping[str, datetime] | None = None
) -> DriftPlan:
    """Plan the changes of memories; failed checks before a memory was last restored do not count."""
    checked_memories = tuple(found)
    since = {memory_id: moment.date().isoformat() for memory_id, moment in (restored or {}).items()}
    decided = (_decide(memory, checked, now, since.get(memory.id, "")) for memory, checked in checked_memories)
    return DriftPlan(tuple(change for change in decided if change is not None), checked_memories)


def _decide(memory: Memory, checked: EvidenceState, now: datetime, since: str) -> DriftChange | None:
    if memory.pinned:
        return None
    today = now.date().isoformat()
    anchors = tuple(
        _kept(before, after, today) for before, after in zip(memory.anchors, checked.anchors, strict=True)
    )
    gone = [anchor for anchor in checked.anchors if anchor.freshness == "missing"]
    if gone:
        return _with_missing(memory, checked, anchors, now, since)
    if memory.status == "challenged" and (memory.status_reason or "").startswith(REASON):
        if checked.freshness == "unverifiable":
            return None
        values = {"status": "active", "status_reason": None, "anchors": anchors}
        return DriftChange(memory, "healed", values, checked.note or "its evidence is there again")
    if anchors != memory.anchors:
        return DriftChange(memory, "repaired", {"anchors": anchors}, checked.note or "its evidence is there again")
    return None


def _with_missing(
    memory: Memory, checked: EvidenceState, anchors: tuple[Anchor, ...], now: datetime, since: str
) -> DriftChange | None:
    reason = f"{REASON}{checked.note}"
    if all(anchor.freshness == "missing" for anchor in checked.anchors):
        failed = min(sum(day > since for day in anchor.missing_on) for anchor in anchors)
        if failed >= FAILED_DAYS_BEFORE_EXPIRY:
            values = {"status": "expired", "expired_at": now, "status_reason": reason, "anchors": anchors}
            return DriftChange(memory, "expired", values, f"{checked.note}, on {failed} days")
    if memory.status == "active":
        values = {"status": "challenged", "status_reason": reason, "anchors": anchors}
        return DriftChange(memory, "challenged", values, checked.note)
    if anchors != memory.anchors:
        return DriftChange(memory, "noted", {"anchors": anchors}, checked.note)
    return None


def _kept(before: Anchor, after: Anchor, today: str) -> Anchor:
    """Return the anchor to store: only what a later check needs is written."""
    if after.freshness == "unverifiable":
        return before
    if after.freshness == "missing":
        days = tuple(sorted({*before.missing_on, today}))
        return replace(before, freshness="missing", note=after.note, missing_on=days)
    if after.freshness in _STILL_THERE and before.freshness in _STILL_THERE and not before.missing_on:
        return before  # recall checks the file itself, so an edit is not worth a write
    return replace(before, freshness=after.freshness, now_at=after.now_at, note=after.note, missing_on=())


_VERDICTS: tuple[Verdict, ...] = ("holds", "forget", "revise")
_RESTORING = ("restored", "undone")

Found = Sequence[tuple[Memory, EvidenceState]]
"""Memories with the state of their anchors."""


def drift(snapshot: Snapshot, settings: Settings, judge: Judge) -> Proposal:
    """Repair, challenge or expire memories by the state of their anchors."""
    found = [
        (memory, check.checked)
        for memory in snapshot.memories
        if memory.anchors and (check := snapshot.checks.get(memory.id)) is not None
        if len(check.checked.anchors) == len(memory.anchors)  # it had none when it was checked
    ]
    return Proposal(
        (*_first_anchors(snapshot), *drift_change_sets(found, snapshot.now, snapshot.restored, snapshot.asked))
    )


def _first_anchors(snapshot: Snapshot) -> Iterable[ChangeSet]:
    """Yield what anchors the memories that a dream meets in their project for the first time."""
    for memory in snapshot.memories:
        check = snapshot.checks.get(memory.id)
        if check is None or not check.new_anchors or memory.anchors:
            continue
        shown = ", ".join(dict.fromkeys(anchor.path for anchor in check.new_anchors))
        change = Change(
            memory_id=memory.id,
            action="anchored",
            reason=f"names {shown}",
            values={"anchors": check.new_anchors},
        )
        yield ChangeSet(summary="anchored", changes=(change,))


def drift_change_sets(
    found: Found, now: datetime, restored: Mapping[str, datetime], asked: Mapping[str, str]
) -> list[ChangeSet]:
    """Return what is due, with a question for each new challenge.

    `restored` says when memories were last restored, and `asked` has the status of every question asked before.
    """
    states = {memory.id: checked for memory, checked in found}
    changes = plan_drift(found, now, restored).changes
    change_sets = [_change_set(change, states[change.memory.id], asked) for change in changes]
    changed = {change.memory.id for change in changes}
    change_sets += [
        ChangeSet(summary="asked about what is gone", questions=(question,))
        for memory, checked in found
        if memory.id not in changed and is_challenged(memory) and checked.freshness == "missing"
        if (question := question_about(memory, checked)).id not in asked
    ]
    change_sets += [
        ChangeSet(summary="proposed a text for what moved", questions=(moved,))
        for memory, checked in found
        if (moved := question_about_moved(memory, checked)) is not None and moved.id not in asked
    ]
    return [change_set for change_set in change_sets if change_set is not None]


_MOVED_VERDICTS: tuple[Verdict, ...] = ("revise", "holds", "forget")


def question_about_moved(memory: Memory, checked: EvidenceState) -> ProposedQuestion | None:
    """Propose the text with the paths of today for what was moved; None if the text names no path that moved."""
    if memory.pinned or memory.status != "active":
        return None
    moves = moves_of(checked.anchors)
    proposal = with_new_paths(memory.content, moves)
    if not moves or proposal == memory.content:
        return None
    notes = [anchor.note for anchor in checked.anchors if anchor.freshness == "moved" and anchor.note]
    return ProposedQuestion(
        kind="moved",
        memory_ids=(memory.id,),
        ask="What this memory names was moved. Shall it say so: as proposed (revise), in other words (revise, with "
        "the text), stay as it is (holds), or go (forget)?",
        evidence=(*dict.fromkeys(notes), f"proposed: {proposal}"),
        verdicts=_MOVED_VERDICTS,
        about=(memory.id, *described_moves(moves)),
        proposal=proposal,
    )


def moves_of(anchors: Iterable[Anchor]) -> dict[str, str]:
    """Return where files, folders and the files of symbols were, and where they are now."""
    moved = (anchor for anchor in anchors if anchor.freshness == "moved" and anchor.now_at)
    return {anchor.path: (anchor.now_at or "").partition("::")[0] for anchor in moved}


def described_moves(moves: Mapping[str, str]) -> list[str]:
    """Return moves as a question names what it is about."""
    return sorted(f"{old} -> {new}" for old, new in moves.items())


def with_new_paths(text: str, moves: Mapping[str, str]) -> str:
    """Return a text in which every moved path is the new one; a part of a path counts if it is written with a slash.

    `http/retry.py` stands for `src/http/retry.py`, and becomes as much of the new path as says what changed.
    """
    for old, new in sorted(moves.items(), key=lambda move: -len(move[0])):
        for written, instead in _spellings(old, new):
            found = re.compile(rf"(?<![\w./-])(?P<start>\.?/)?{re.escape(written)}(?![\w/-]|\.\w)")
            if found.search(text):
                text = found.sub(lambda match, to=instead: (match["start"] or "") + to, text)  # type: ignore[misc]
                break
    return text


def _spellings(old: str, new: str) -> Iterable[tuple[str, str]]:
    """Yield how a path may be written, and what to write for it now: the longest first."""
    yield old, new
    parts = old.split("/")
    for start in range(1, len(parts) - 1):
        yield "/".join(parts[start:]), new
    if parts[-1] != new.rpartition("/")[2] and "." in parts[-1]:
        yield parts[-1], new.rpartition("/")[2]


async def last_restored(store: MemoryStore, found: Found, now: datetime) -> dict[str, datetime]:
    """Return when the memories that would expire now were last restored: earlier failed checks do not count."""
    restored: dict[str, datetime] = {}
    for memory in _expiring(found, now):
        moments = [event.at for event in await store.journal.about(memory.id) if event.action in _RESTORING]
        if moments:
            restored[memory.id] = max(moments)
    return restored


def _expiring(found: Found, now: datetime) -> Iterable[Memory]:
    return (change.memory for change in plan_drift(found, now).changes if change.action == "expired")


def question_about(memory: Memory, checked: EvidenceState) -> ProposedQuestion:
    """Ask whether a memory is still true although the code that it names is gone."""
    gone = sorted(
        f"{a.path}::{a.symbol}" if a.symbol else a.path for a in checked.anchors if a.freshness == "missing"
    )
    return ProposedQuestion(
        kind="drift",
        memory_ids=(memory.id,),
        ask="What this memory was seen in is gone. Is it still true without it (holds), no longer (forget), or "
        "true in other words (revise, with the text)?",
        evidence=(checked.note or f"{', '.join(gone)} is gone",),
        verdicts=_VERDICTS,
        about=(memory.id, *gone),
    )


def is_challenged(memory: Memory) -> bool:
    """Whether drift challenged this memory."""
    return memory.status == "challenged" and (memory.status_reason or "").startswith(REASON)


def _change_set(change: DriftChange, checked: EvidenceState, asked: Mapping[str, str]) -> ChangeSet | None:
    planned = Change(memory_id=change.memory.id, action=change.action, reason=change.reason, values=change.values)
    if change.action not in ("challenged", "noted"):
        return ChangeSet(summary=change.action, changes=(planned,))
    question = question_about(change.memory, checked)
    status = asked.get(question.id)
    if status is not None and status != OPEN:
        return None  # somebody answered that the memory holds without this code
    is_new = status is None and (change.action == "challenged" or is_challenged(change.memory))
    return ChangeSet(summary=change.action, changes=(planned,), questions=(question,) if is_new else ())


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
