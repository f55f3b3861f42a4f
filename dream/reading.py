"""What a dream reads: the projects in which something changed since the last one or is due now, and no others.

A dream that had every step and came to an end leaves a project with nothing to do: planned again on the same
memories and the same questions, every step finds nothing. So its record keeps a fingerprint of each project, and a
project that still has it is read only if time or the code on disk may have made work in it: a rule that is due
(`sweep`, `forget`), a day's note (`digest`), evidence to check again (`beliefs`, `drift`), and once a week vectors
that fade: on other days they wait, as bridges do. The other steps compare
memories of one project with each other. Global memories are always read: bridges use them.

A fingerprint says what was there, not when. So it holds whatever clock, process or undo came between, and where
there is none, or another version or model wrote it, the project is read.
"""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

import numpy as np

from reverie import __version__
from reverie.dream.batch import read_undone_keys
from reverie.dream.derived_memories import LONGEST_GAP, due_digests, may_be_promoted
from reverie.dream.drift import EveryProject, last_restored
from reverie.dream.fading import fades, may_fade
from reverie.dream.judge import Judge, Rules
from reverie.dream.snapshot import (
    EXACT_UP_TO,
    EvidenceCheck,
    EvidenceChecker,
    NoEvidence,
    Snapshot,
    TextCache,
    Vectors,
    in_order,
)
from reverie.dream.steps import KEEP_LOGS_FOR, Plan
from reverie.dream.sweep import demoted_among, plan_due
from reverie.embeddings.base import Embedder
from reverie.lifecycle.expiry import LIVING
from reverie.lifecycle.rules import due_move
from reverie.memory import GLOBAL_PROJECT, LAYERS, Memory
from reverie.settings import Settings
from reverie.storage.bulk import read_all
from reverie.storage.compared_pairs import ComparedPairs
from reverie.storage.dream_records import OPEN, WITHDRAWN, DreamRecord, ReviewQuestion
from reverie.storage.filters import Condition, after, equals, not_after, one_of
from reverie.storage.maintenance import old_logs
from reverie.storage.project_digests import LivingRows, combined, digests_by_project, read_living_rows
from reverie.storage.store import MemoryStore

FINGERPRINTS: Final = "mornings"
"""The name of the stored report field."""

MOST_READ = 200_000
"""More memories than this are not read in one dream, unless one project has them: they would take 4 GB and minutes.
After an import of a million the projects have their turn dream by dream, small ones first."""

TEXTS_AT_ONCE = 64
_LATELY = timedelta(hours=20)
_DAYS_BETWEEN = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamContext:
    """What a dream works with."""

    store: MemoryStore
    settings: Settings
    embedder: Embedder
    judge: Judge = field(default_factory=Rules)
    evidence: EvidenceChecker = field(default_factory=NoEvidence)
    owner: str | None = None
    """Whose personal memories are read, and nothing else; None: what everybody sees. See `dream`."""
    reads_everything: bool = False
    """Whether to read every project as if no dream had been there; for tests and benchmarks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a dream read: the snapshot, the projects in it, and the fingerprints of those that were left out."""

    snapshot: Snapshot
    projects: frozenset[str]
    left_out: Mapping[str, str]
    asked: tuple[ReviewQuestion, ...]


@dataclass(frozen=True, slots=True)
class _Choice:
    projects: frozenset[str]
    left_out: Mapping[str, str]  # with the fingerprints that the last dream left
    waiting: frozenset[str]  # needed, but left to the next dream
    unchanged: frozenset[str]  # since the last dream
    due: frozenset[str]  # by a rule, or for a day's note


async def read(context: DreamContext, now: datetime, projects: Sequence[str] = ()) -> Reading:
    """Read what a dream needs, once; with projects, all of those and nothing else."""
    store = context.store
    asked = await store.review_queue.all()
    known = last_fingerprints(one for one in await store.dream_log.all() if one.owner == context.owner)
    choice = await _choose(context, now, asked, known, projects)
    where = one_of("status", LIVING)
    if projects or choice.left_out or choice.waiting:
        where &= one_of("project", choice.projects)
    memories, vectors = await read_all(store, where)
    # The logs are everybody's: they are folded in the dream about what everybody sees.
    accesses, events = await old_logs(store, now - KEEP_LOGS_FOR) if context.owner is None else (0, 0)
    checks = await asyncio.to_thread(_checked, context.evidence, memories)
    changed = (memory for memory in memories if memory.updated_at != memory.created_at)  # others were never demoted
    promotable = [memory for memory in changed if _may_become_semantic(memory, now, context.settings)]
    anchored = [(m, checks[m.id].checked) for m in memories if m.anchors and m.id in checks]
    living = {memory.id for memory in memories}
    snapshot = Snapshot(
        now=now,
        memories=in_order(memories),
        vectors=vectors,
        embedder=context.embedder.stamp,
        embed=_embedding(context.embedder),
        asked={one.id: one.status for one in asked if one.status != WITHDRAWN},
        open_questions={one.id: (one.kind, one.memory_ids) for one in asked if _is_open(one, living)},
        bridges_asked_lately=sum(
            one.kind == "bridge" and one.status != WITHDRAWN and now - one.asked_at < _LATELY for one in asked
        ),
        demoted=frozenset(await demoted_among(store, promotable)),
        checks=checks,
        restored=await last_restored(store, anchored, now),
        undone_keys=await read_undone_keys(store),
        as_left=_as_left(choice, memories, checks),
        texts=TextCache(ComparedPairs(store.folder, f"{__version__} {context.embedder.stamp}")),
        waiting_projects=len(choice.waiting),
        old_accesses=accesses,
        old_events=events,
    )
    return Reading(
        snapshot=snapshot,
        projects=choice.projects,
        left_out=choice.left_out,
        asked=tuple(asked),
    )


async def _choose(
    context: DreamContext,
    now: datetime,
    asked: Sequence[ReviewQuestion],
    known: Mapping[str, str],
    projects: Sequence[str],
) -> _Choice:
    """Choose the projects to read, by a look at a few small columns of every memory."""
    rows = await read_living_rows(context.store, one_of("status", LIVING))
    present = await asyncio.to_thread(_present_fingerprints, rows, asked, context)
    if context.reads_everything:
        return _Choice(frozenset(projects or present), {}, frozenset(), frozenset(), frozenset())
    unchanged = frozenset(project for project, value in present.items() if known.get(project) == value)
    due = await _due_projects(context, now, unchanged) if unchanged else frozenset()
    always = {GLOBAL_PROJECT, *context.evidence.projects} & present.keys()
    needed = (((present.keys() - unchanged) | due) & present.keys()) - always
    chosen = frozenset(projects) or frozenset(always) | _as_many_as_fit(needed, always, rows.sizes())
    unseen = {project for project in known if not context.store.viewer.sees_project(project)}
    left_out = {project: known[project] for project in (present.keys() - chosen) | unseen if project in known}
    return _Choice(chosen, left_out, frozenset() if projects else frozenset(needed - chosen), unchanged, due)


def _as_many_as_fit(needed: Set[str], always: Set[str], sizes: Mapping[str, int]) -> frozenset[str]:
    """Return the smallest of the projects that are needed, at least one, as long as they fit into one dream."""
    room = MOST_READ - sum(sizes[project] for project in always)
    chosen: set[str] = set()
    for project in sorted(needed, key=lambda project: (sizes[project], project)):
        room -= sizes[project]
        if room < 0 and chosen:
            break
        chosen.add(project)
    return frozenset(chosen)


async def _due_projects(context: DreamContext, now: datetime, unchanged: Set[str]) -> frozenset[str]:
    """Return the projects in which a rule is due, or a day's note; once a week also those in which vectors fade."""
    store = context.store
    planned = await plan_due(store, context.settings, now)
    recent: Condition = after("happened_at", now - LONGEST_GAP) & not_after("happened_at", now)
    of_the_day = one_of("status", LIVING) & (recent | equals("kind", "digest"))
    memories = await store.find_few(dict.fromkeys(LAYERS, of_the_day))
    by_rule = {memory.project for memory in planned.memories.values()}
    looked_at = {project for project in unchanged - by_rule if _fades_today(project, now)}
    fresh = one_of("status", LIVING) & one_of("project", looked_at) & may_fade()
    fading = await store.find_few(dict.fromkeys(LAYERS, fresh)) if looked_at else []
    faded = {memory.project for memory in fading if fades(memory, now, context.settings)}
    return frozenset(by_rule | faded | due_digests(memories, now))


def _fades_today(project: str, now: datetime) -> bool:
    """Whether this is the day of the week on which vectors that fade wake a project in which nothing else is due.

    Some vector fades in every project almost every day; a week later it is as good.
    """
    return (int.from_bytes(hashlib.sha256(project.encode()).digest()[:4]) + now.toordinal()) % _DAYS_BETWEEN == 0


def _as_left(choice: _Choice, memories: Iterable[Memory], checks: Mapping[str, EvidenceCheck]) -> frozenset[str]:
    """Return the projects in which neighbours need no second look.

    In a small one nothing may be due and no evidence checked: that could make new neighbours in this very dream. In a
    large one neighbours are found approximately, and another look may find others: it gets none while unchanged.
    """
    sizes = Counter(memory.project for memory in memories)
    checked = {memory.project for memory in memories if memory.id in checks}
    busy = {project for project in choice.due | checked if sizes[project] <= EXACT_UP_TO}
    return frozenset(choice.unchanged & sizes.keys()) - busy


# fingerprints


def last_fingerprints(records: Iterable[DreamRecord]) -> Mapping[str, str]:
    """Return the fingerprints in the latest dream that was completed and not undone."""
    found = (record.report.get(FINGERPRINTS) for record in records if record.status == "done")
    return next((fingerprints for fingerprints in found if fingerprints is not None), {})


def fingerprints_after(reading: Reading, plan: Plan, context: DreamContext) -> dict[str, str]:
    """Return the fingerprints of all projects once a complete plan is written.

    Of what others did since the snapshot was read, nothing is in them: the next dream looks at it.
    """
    outcome = plan.outcome
    asked = {one.id: (one.status, one.memory_ids) for one in reading.asked if one.status != WITHDRAWN}
    for question in (question for change_set in plan.change_sets for question in change_set.questions):
        asked[question.id] = question.model_verdict or OPEN, question.memory_ids
    project_of = {memory.id: memory.project for memory in outcome.memories}
    new = _fingerprints(digests_by_project(outcome.memories), asked.items(), project_of, context)
    return {
        **reading.left_out,
        **{project: value for project, value in new.items() if project in reading.projects},
    }


def _present_fingerprints(rows: LivingRows, asked: Iterable[ReviewQuestion], context: DreamContext) -> dict[str, str]:
    questions = {one.id: (one.status, one.memory_ids) for one in asked if one.status != WITHDRAWN}
    project_of = rows.projects_of(memory_id for _, ids in questions.values() for memory_id in ids)
    return _fingerprints(rows.digests(), questions.items(), project_of, context)


def _fingerprints(
    digests: Mapping[str, str],
    questions: Iterable[tuple[str, tuple[str, Sequence[str]]]],
    project_of: Mapping[str, str],
    context: DreamContext,
) -> dict[str, str]:
    """Return the fingerprints of projects: of their memories, the questions about these, and what reads them."""
    reader = {
        "version": __version__,
        "embedder": context.embedder.stamp,
        "judge": type(context.judge).__name__,
        "curve": f"{context.settings.retention} {context.settings.tier} {context.settings.parameters}",
    }
    of_project: dict[str, dict[str, str]] = {project: dict(reader) for project in digests}
    for question_id, (status, ids) in questions:
        for project in {project_of[memory_id] for memory_id in ids if memory_id in project_of}:
            of_project[project][question_id] = status
    return {project: combined(digest, of_project[project]) for project, digest in digests.items()}


# the parts of a snapshot


def _may_become_semantic(memory: Memory, now: datetime, settings: Settings) -> bool:
    """Whether the sweep or the digest could promote a memory to semantic."""
    move = due_move(memory, now, settings.parameters)
    return (move is not None and move.to == "semantic") or (
        memory.layer == "episodic" and may_be_promoted(memory, now)
    )


def _is_open(asked: ReviewQuestion, living: Set[str]) -> bool:
    """Whether a question waits for an answer about memories that this dream reads."""
    return asked.status == OPEN and all(memory_id in living for memory_id in asked.memory_ids)


def _embedding(embedder: Embedder) -> Callable[[Sequence[str]], Vectors]:
    def embed(texts: Sequence[str]) -> Vectors:
        parts = [
            embedding.vector
            for start in range(0, len(texts), TEXTS_AT_ONCE)
            for embedding in embedder.embed(texts[start : start + TEXTS_AT_ONCE])
        ]
        return np.stack(parts)

    return embed


def _checked(evidence: EvidenceChecker, memories: Sequence[Memory]) -> dict[str, EvidenceCheck]:
    if isinstance(evidence, NoEvidence):
        return {}
    if isinstance(evidence, EveryProject):
        evidence.choose(memories)
    found = ((memory.id, evidence.check(memory)) for memory in memories)
    return {memory_id: check for memory_id, check in found if check is not None}
