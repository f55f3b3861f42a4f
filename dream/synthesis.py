"""The synthesis step: a bridge between two subjects that are close by cosine but come from different contexts, if a
judge confirms it (002-dream).

Rules only find the pairs; a model or an assistant must confirm a bridge before it is written. A judge is asked once
about a pair, ever. Both subjects are in one project or global: nobody could answer a question across projects.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from reverie.dream.derived_memories import derived_memory, may_be_built_on, may_be_written, spelled
from reverie.dream.judge import Judge
from reverie.dream.plan import ChangeSet, NewMemory, Proposal, ProposedQuestion, question_id
from reverie.dream.snapshot import DERIVED_KINDS, Snapshot, project_of
from reverie.memory import GLOBAL_PROJECT, Memory
from reverie.settings import Settings

FEWEST_MEMORIES = 3
CLOSE = 0.7
MOST_SUBJECTS = 400
MOST_OPEN_QUESTIONS = 5
MOST_A_DAY = 5
_SHOWN = 3


@dataclass(frozen=True)
class _Subject:
    name: str
    memories: tuple[Memory, ...]
    projects: frozenset[str]
    contexts: frozenset[str]
    centre: NDArray[np.float32]


def synthesis(snapshot: Snapshot, settings: Settings, judge: Judge) -> Proposal:
    """Ask the judge about close pairs from different contexts, and write the bridges that it confirms."""
    change_sets: list[ChangeSet] = []
    still_open = snapshot.open_by_project("bridge")
    room = MOST_A_DAY - snapshot.bridges_asked_lately
    for project, one, other, cosine in _in_turn(snapshot) if room > 0 else ():
        if len(change_sets) >= room:
            break
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


def _in_turn(snapshot: Snapshot) -> Iterator[tuple[str, _Subject, _Subject, float]]:
    """Yield the pairs of all projects, one of each in turn, so that no project takes the whole day's share.

    Where nothing has changed there is nobody to answer: pairs left over for another day wait until something has.
    """
    projects = sorted({memory.project for memory in snapshot.memories} - snapshot.as_left)
    waiting = {project: iter(_pairs(_subjects(snapshot, project), project)) for project in projects}
    while waiting:
        for project, pairs in list(waiting.items()):
            pair = next(pairs, None)
            if pair is None:
                del waiting[project]
            else:
                yield project, *pair


def bridging(subjects: Sequence[str], sources: Sequence[Memory], text: str, now: datetime) -> NewMemory:
    """Return a bridge in the project of the memories it connects; one between global memories is global."""
    bridge = derived_memory(
        text,
        kind="bridge",
        layer="semantic",
        project=project_of(sources),
        sources=sources,
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
    sources = (*one.memories[:_SHOWN], *other.memories[:_SHOWN])
    return ChangeSet(
        summary="bridge written",
        new_memories=(bridging((one.name, other.name), sources, text, snapshot.now),),
        questions=(question,),
    )


def _subjects(snapshot: Snapshot, project: str) -> list[_Subject]:
    """Return the entities that are named often in the memories that sessions of a project see."""
    rows_of: dict[str, list[int]] = {}
    for row, memory in enumerate(snapshot.memories):
        if memory.project not in (project, GLOBAL_PROJECT):
            continue
        if memory.kind not in DERIVED_KINDS and may_be_built_on(memory):
            for entity in snapshot.texts.of(memory).entities:
                rows_of.setdefault(entity, []).append(row)
    known = sorted(
        (item for item in rows_of.items() if len(item[1]) >= FEWEST_MEMORIES),
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
        frozenset(context for memory in memories for context in _contexts_of(memory)),
        (mean / length).astype(np.float32),
    )


def _contexts_of(memory: Memory) -> list[str]:
    folders = [anchor.path.rpartition("/")[0] for anchor in memory.anchors]
    return [*(f"tag {tag}" for tag in memory.tags), *(f"folder {folder}" for folder in folders if folder)]


def _pairs(subjects: Sequence[_Subject], project: str) -> list[tuple[_Subject, _Subject, float]]:
    """Return the close pairs of a project from different contexts, closest first."""
    if not subjects:
        return []
    centres = np.stack([subject.centre for subject in subjects])
    cosines = np.triu(centres @ centres.T, 1)
    found = [
        (subjects[one], subjects[other], float(cosines[one, other]))
        for one, other in np.argwhere(cosines >= CLOSE)
        if _in_different_contexts(subjects[one], subjects[other])
        and (project in subjects[one].projects or project in subjects[other].projects)
    ]
    return sorted(found, key=lambda pair: (-pair[2], pair[0].name, pair[1].name))


def _in_different_contexts(one: _Subject, other: _Subject) -> bool:
    if {memory.id for memory in one.memories} & {memory.id for memory in other.memories}:
        return False
    if not one.projects & other.projects:
        return True
    return bool(one.contexts) and bool(other.contexts) and not one.contexts & other.contexts


def _keys(one: _Subject, other: _Subject, project: str) -> tuple[str, str]:
    """Return the id of this question, and the id it had when questions did not name the project."""
    names = tuple(sorted((one.name, other.name)))
    return question_id("bridge", (), (*names, project)), question_id("bridge", (), names)


def _question(
    one: _Subject, other: _Subject, project: str, cosine: float, model_verdict: str | None = None
) -> ProposedQuestion:
    sources = (*one.memories[:_SHOWN], *other.memories[:_SHOWN])
    names = tuple(sorted((one.name, other.name)))
    return ProposedQuestion(
        kind="bridge",
        memory_ids=tuple(memory.id for memory in sources),
        ask=f"Do {spelled(one.name, one.memories)} and {spelled(other.name, other.memories)} have a connection worth "
        "remembering? Then say it in one or two sentences.",
        evidence=(f"cosine {cosine:.2f} between memories from {_context_names(one)} and {_context_names(other)}",),
        verdicts=("bridge", "no_bridge"),
        about=(*names, project),
        model_verdict="bridge" if model_verdict == "bridge" else "no_bridge" if model_verdict else None,
    )


def _context_names(subject: _Subject) -> str:
    return ", ".join([*sorted(subject.contexts)[:3], *sorted(subject.projects)[:2]])
