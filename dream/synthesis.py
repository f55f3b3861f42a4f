"""Bridges: two subjects that live in different places and yet lie close, if a judge confirms it (002-dream).

Rules only see that they are close; without a model or an assistant's word no bridge is written. A pair is put to a
judge once, ever.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from reverie.dream.gate import may_be_built_on, may_be_written
from reverie.dream.judge import Judge
from reverie.dream.lines import spelled
from reverie.dream.making import dreamt
from reverie.dream.plan import Deed, New, Proposal, Question, question_id
from reverie.dream.snapshot import Snapshot
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
    deeds: list[Deed] = []
    still_open = sum(kind == "bridge" for kind, _ in snapshot.open_questions.values())
    lately = snapshot.bridges_asked_lately
    for one, other, cosine in _pairs(_subjects(snapshot)):
        if lately + len(deeds) >= MOST_A_NIGHT:
            break
        if _key(one, other) in snapshot.asked:
            continue
        text = judge.bridged(one.name, other.name, one.memories[:_SHOWN], other.memories[:_SHOWN])
        if text is None and still_open < MOST_OPEN_QUESTIONS:
            still_open += 1
            deeds.append(Deed(summary="asked about a bridge", questions=(_question(one, other, cosine),)))
        elif text is not None:
            deeds.append(_answered(one, other, text, cosine, snapshot))
    return Proposal(tuple(deeds))


def bridging(subjects: Sequence[str], ground: Sequence[Memory], text: str, now: datetime) -> New:
    """Lay out a bridge; one between projects belongs to none of them."""
    projects = {memory.project for memory in ground}
    bridge = dreamt(
        text,
        kind="bridge",
        layer="semantic",
        project=projects.pop() if len(projects) == 1 else GLOBAL_PROJECT,
        ground=ground,
        now=now,
        entities=tuple(sorted(subjects)),
        tags=("bridge",),
    )
    return New(memory=bridge, reason=f"connects {' and '.join(subjects)}")


def _answered(one: _Subject, other: _Subject, text: str, cosine: float, snapshot: Snapshot) -> Deed:
    confirmed = bool(text.strip()) and may_be_written(text)
    question = _question(one, other, cosine, "bridge" if confirmed else "no_bridge")
    if not confirmed:
        return Deed(summary="no bridge", questions=(question,))
    ground = (*one.memories[:_SHOWN], *other.memories[:_SHOWN])
    return Deed(
        summary="bridge written",
        news=(bridging((one.name, other.name), ground, text, snapshot.now),),
        questions=(question,),
    )


def _subjects(snapshot: Snapshot) -> list[_Subject]:
    places: dict[str, list[int]] = {}
    for place, memory in enumerate(snapshot.memories):
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


def _pairs(subjects: Sequence[_Subject]) -> list[tuple[_Subject, _Subject, float]]:
    """Return the close pairs that live in different contexts, closest first."""
    if not subjects:
        return []
    centres = np.stack([subject.centre for subject in subjects])
    cosines = np.triu(centres @ centres.T, 1)
    found = [
        (subjects[one], subjects[other], float(cosines[one, other]))
        for one, other in np.argwhere(cosines >= CLOSE)
        if _apart(subjects[one], subjects[other])
    ]
    return sorted(found, key=lambda pair: (-pair[2], pair[0].name, pair[1].name))


def _apart(one: _Subject, other: _Subject) -> bool:
    if {memory.id for memory in one.memories} & {memory.id for memory in other.memories}:
        return False
    if not one.projects & other.projects:
        return True
    return bool(one.places) and bool(other.places) and not one.places & other.places


def _key(one: _Subject, other: _Subject) -> str:
    return question_id("bridge", (), tuple(sorted((one.name, other.name))))


def _question(one: _Subject, other: _Subject, cosine: float, settled: str | None = None) -> Question:
    ground = (*one.memories[:_SHOWN], *other.memories[:_SHOWN])
    names = tuple(sorted((one.name, other.name)))
    return Question(
        kind="bridge",
        memory_ids=tuple(memory.id for memory in ground),
        ask=f"Do {spelled(one.name, one.memories)} and {spelled(other.name, other.memories)} have a connection worth "
        "remembering? Then say it in one or two sentences.",
        evidence=(f"cosine {cosine:.2f} between memories from {_contexts(one)} and {_contexts(other)}",),
        verdicts=("bridge", "no_bridge"),
        about=names,
        settled="bridge" if settled == "bridge" else "no_bridge" if settled else None,
    )


def _contexts(subject: _Subject) -> str:
    return ", ".join([*sorted(subject.places)[:3], *sorted(subject.projects)[:2]])
