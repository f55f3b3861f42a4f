"""The digest step: a note of the day in at most 1,200 characters, and the promotion of what is durable (000-nightly).

A day is the time since the last digest, or the last 24 hours if there is none. Each project has its own digest: one
across projects would show one project's memories in another.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from reverie.dream.derived_memories import derived_memory, line_of, may_be_quoted, may_be_written
from reverie.dream.judge import DayNote, Judge
from reverie.dream.plan import Change, ChangeSet, NewMemory, Proposal
from reverie.dream.snapshot import Snapshot
from reverie.ids import creation_order
from reverie.lifecycle.vitals import adjusted_importance_of
from reverie.memory import Kind, Memory
from reverie.settings import Settings

MOST_CHARACTERS = 1_200
A_DAY = timedelta(hours=24)
FEWEST_MEMORIES = 3
_LONGEST_GAP = timedelta(days=7)
_DURABLE: frozenset[Kind] = frozenset({"decision", "preference", "how_to", "rejected"})
"""Kinds that an extractive note promotes; not facts, because a passing remark is one by its kind."""


def digest(snapshot: Snapshot, settings: Settings, judge: Judge) -> Proposal:
    """Write the note of the day for each project with enough memories, and promote the durable ones."""
    change_sets: list[ChangeSet] = []
    for project in sorted({memory.project for memory in snapshot.memories}):
        since = _since(project, snapshot)
        if since is None:
            continue
        ledger = _ledger(project, since, snapshot)
        if len(ledger) < FEWEST_MEMORIES:
            continue
        note = judge.day_note(ledger, MOST_CHARACTERS)
        if note is None or len(note.text) > MOST_CHARACTERS or not may_be_written(note.text):
            note = extract(ledger, snapshot.now)
        change_sets.append(_writing(note, ledger, project, snapshot))
        change_sets += _promotions(note, ledger, snapshot)
    return Proposal(tuple(change_sets))


def extract(ledger: Sequence[Memory], now: datetime) -> DayNote:
    """Return a note that quotes the most important memories of the day, as many as fit."""
    text = f"{now:%Y-%m-%d}: {len(ledger)} memories."
    quoted = []
    for memory in ledger:
        line = f"\n- {line_of(memory)}"
        if len(text) + len(line) <= MOST_CHARACTERS:
            text += line
            quoted.append(memory)
    return DayNote(text, tuple(memory.id for memory in quoted if memory.kind in _DURABLE))


def may_be_promoted(memory: Memory, now: datetime) -> bool:
    """Whether a note may promote a memory: by its kind, or a fact that a judge calls durable."""
    durable = memory.kind == "fact" or memory.kind in _DURABLE
    return durable and _may_last(memory) and now - memory.happened_at <= _LONGEST_GAP


def _since(project: str, snapshot: Snapshot) -> datetime | None:
    """Return the moment at which the day begins, or None if it is not over yet."""
    written = [m.created_at for m in snapshot.memories if m.kind == "digest" and m.project == project]
    if not written:
        return snapshot.now - A_DAY
    last = max(written)
    return max(last, snapshot.now - _LONGEST_GAP) if snapshot.now - last >= A_DAY else None


def _ledger(project: str, since: datetime, snapshot: Snapshot) -> list[Memory]:
    """Return the project's memories of the day, the most important first."""
    recent = [
        memory
        for memory in snapshot.original_memories
        if memory.project == project
        and memory.layer != "codebase"
        and since < memory.happened_at <= snapshot.now
        and may_be_quoted(memory)
    ]
    return sorted(
        recent, key=lambda memory: (-adjusted_importance_of(memory), memory.created_at, creation_order(memory.id))
    )


def _writing(note: DayNote, ledger: Sequence[Memory], project: str, snapshot: Snapshot) -> ChangeSet:
    memory = derived_memory(
        note.text,
        kind="digest",
        layer="episodic",
        project=project,
        sources=ledger,
        now=snapshot.now,
        tags=("digest",),
        title=f"The day of {snapshot.now:%Y-%m-%d}",
    )
    return ChangeSet(
        summary="the day's note",
        new_memories=(NewMemory(memory=memory, reason=f"{len(ledger)} memories of the day"),),
    )


def _promotions(note: DayNote, ledger: Sequence[Memory], snapshot: Snapshot) -> Iterator[ChangeSet]:
    for memory in ledger:
        named = memory.id in note.durable and _may_last(memory)
        if named and memory.layer == "episodic" and memory.id not in snapshot.demoted:
            reason = "a durable line of the day's note"
            change = Change(memory_id=memory.id, action="moved", reason=reason, values={"layer": "semantic"})
            yield ChangeSet(summary="episodic → semantic", changes=(change,))


def _may_last(memory: Memory) -> bool:
    """Whether no tier limits a memory's life, as one does for passing remarks (000-passing)."""
    return memory.tier in (None, "permanent")
