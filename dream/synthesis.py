"""Bridges: two subjects that live in different places and yet lie close, if a judge confirms it (002-dream).

Rules only see that they are close; without a model or an assistant's word no bridge is written. A pair is put to a
judge once, ever, and lies within one project and what is global: a question across projects nobody could answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from reverie.dream.derived_memories import derived_memory, may_be_built_on, may_be_written, spelled
from reverie.dream.judge import Judge
from reverie.dream.plan import ChangeSet, NewMemory, Proposal, ProposedQuestion, question_id
from reverie.dream.snapshot import Snapshot, project_of
from reverie.memory import GLOBAL_PROJECT, Memory
from reverie.settings import Settings

FEWEST_MEMORIES = 3
CLOSE = 0.7
MOST_SUBJECTS = 400
MOST_OPEN_QUESTIONS = 5
MOST_A_NIGHT = 5
_SHOWN = 3


@dataclass(frozen=True)
class _Subject:
    name: str
    memories: tuple[Memory, ...]
    projects: frozenset[str]
    places: frozenset[str]
    centre: NDArray[np.float32]


def synthesis(snapshot: Snapshot, settings: Settings, judge: Judge) -> Proposal:
    """Put close pairs from different contexts to the judge, and write the bridges that are confirmed."""
    change_sets: list[ChangeSet] = []
    still_open = snapshot.open_by_project("bridge")
    lately = snapshot.bridges_asked_lately
    for project in sorted({memory.project for memory in snapshot.memories}):
        for one, other, cosine in _pairs(_subjects(snapshot, project), project):
            if lately + len(change_sets) >= MOST_A_NIGHT:
                return Proposal(tuple(change_sets))
            if any(key in snapshot.asked for key in _keys(one, other, project)):
                continue
            text = judge.bridged(one.name, other.name, one.memories[:_SHOWN], other.memories[:_SHOWN])
            if text is None and still_open[project] < MOST_OPEN_QUESTIONS:
                still_open[project] += 1
                question = _question(one, other, project, cosine)
                change_sets.append(ChangeSet(summary="asked about a bridge", questions=(question,)))
            elif text is not None:
                change_sets.append(_answered(one, other, project, text, cosine, snapshot))
    return Proposal(tuple(change_sets))


def bridging(subjects: Sequence[str], ground: Sequence[Memory], text: str, now: datetime) -> NewMemory:
    """Lay out a bridge in the project of what it connects; only one between global memories is global."""
    bridge = derived_memory(
        text,
        kind="bridge",
        layer="semantic",
        project=project_of(ground),
        ground=ground,
        now=now,
        entities=tuple(sorted(subjects)),
        tags=("bridge",),
    )
    return NewMemory(memory=bridge, reason=f"connects {' and '.join(subjects)}")


def _answered(
    one: _Subject, other: _Subject, project: str, text: str, cosine: float, snapshot: Snapshot
) -> ChangeSet:
    confirmed = bool(text.strip()) and may_be_written(text)
    question = _question(one, other, project, cosine, "bridge" if confirmed else "no_bridge")
    if not confirmed:
        return ChangeSet(summary="no bridge", questions=(question,))
    ground = (*one.memories[:_SHOWN], *other.memories[:_SHOWN])
    return ChangeSet(
        summary="bridge written",
        new_memories=(bridging((one.name, other.name), ground, text, snapshot.now),),
        questions=(question,),
    )


def _subjects(snapshot: Snapshot, project: str) -> list[_Subject]:
    """Return what is often named in the memories that sessions of a project see."""
    places: dict[str, list[int]] = {}
    for place, memory in enumerate(snapshot.memories):
        if memory.project not in (project, GLOBAL_PROJECT):
            continue
        if memory.kind not in ("peer_card", "bridge", "digest") and may_be_built_on(memory):
            for entity in snapshot.reading.of(memory).entities:
                places.setdefault(entity, []).append(place)
    known = sorted(
        (item for item in places.items() if len(item[1]) >= FEWEST_MEMORIES),
        key=lambda item: (-len(item[1]), item[0]),
    )
    return [_subject(name, rows, snapshot) for name, rows in known[:MOST_SUBJECTS]]


def _subject(name: str, rows: Sequence[int], snapshot: Snapshot) -> _Subject:
    memories = tuple(snapshot.memories[row] for row in rows)
    mean = snapshot.vectors[list(rows)].mean(axis=0)
    length = float(np.linalg.norm(mean)) or 1.0
    return _Subject(
        name,
        memories,
        frozenset(memory.project for memory in memories),
        frozenset(place for memory in memories for place in _places_of(memory)),
        (mean / length).astype(np.float32),
    )


def _places_of(memory: Memory) -> list[str]:
    folders = [anchor.path.rpartition("/")[0] for anchor in memory.anchors]
    return [*(f"tag {tag}" for tag in memory.tags), *(f"folder {folder}" for folder in folders if folder)]


def _pairs(subjects: Sequence[_Subject], project: str) -> list[tuple[_Subject, _Subject, float]]:
    """Return the close pairs of a project that live in different contexts, closest first."""
    if not subjects:
        return []
    centres = np.stack([subject.centre for subject in subjects])
    cosines = np.triu(centres @ centres.T, 1)
    found = [
        (subjects[one], subjects[other], float(cosines[one, other]))
        for one, other in np.argwhere(cosines >= CLOSE)
        if _apart(subjects[one], subjects[other])
        and (project in subjects[one].projects or project in subjects[other].projects)
    ]
    return sorted(found, key=lambda pair: (-pair[2], pair[0].name, pair[1].name))


def _apart(one: _Subject, other: _Subject) -> bool:
    if {memory.id for memory in one.memories} & {memory.id for memory in other.memories}:
        return False
    if not one.projects & other.projects:
        return True
    return bool(one.places) and bool(other.places) and not one.places & other.places


def _keys(one: _Subject, other: _Subject, project: str) -> tuple[str, str]:
    """Return how this question is known, and how it was before questions were asked project by project."""
    names = tuple(sorted((one.name, other.name)))
    return question_id("bridge", (), (*names, project)), question_id("bridge", (), names)


def _question(
    one: _Subject, other: _Subject, project: str, cosine: float, settled: str | None = None
) -> ProposedQuestion:
    ground = (*one.memories[:_SHOWN], *other.memories[:_SHOWN])
    names = tuple(sorted((one.name, other.name)))
    return ProposedQuestion(
        kind="bridge",
        memory_ids=tuple(memory.id for memory in ground),
        ask=f"Do {spelled(one.name, one.memories)} and {spelled(other.name, other.memories)} have a connection worth "
        "remembering? Then say it in one or two sentences.",
        evidence=(f"cosine {cosine:.2f} between memories from {_contexts(one)} and {_contexts(other)}",),
        verdicts=("bridge", "no_bridge"),
        about=(*names, project),
        settled="bridge" if settled == "bridge" else "no_bridge" if settled else None,
    )


def _contexts(subject: _Subject) -> str:
    return ", ".join([*sorted(subject.places)[:3], *sorted(subject.projects)[:2]])
