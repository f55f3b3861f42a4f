"""Digests, cards and bridges, which a dream derives from other memories: what they may quote, their trust, and the
screening of their text.

The digest step writes a note of the day in at most 1,200 characters, and promotes what is durable (000-nightly). A
day is the time since the last digest, or the last 24 hours if there is none. Each project has its own digest: one
across projects would show one project's memories in another. Cards are in dream/peer_cards.py.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from reverie.dream.judge import DayNote, Judge
from reverie.dream.plan import Change, ChangeSet, NewMemory, Proposal, derived_memory_id
from reverie.dream.snapshot import DERIVED_KINDS, Snapshot
from reverie.guard.injection import signs_of_injection
from reverie.guard.secrets import redact, without_private
from reverie.ids import content_hash, creation_order
from reverie.lifecycle.vitals import adjusted_importance_of, derived_trust, first_stability
from reverie.memory import Kind, Layer, Memory
from reverie.settings import Settings
from reverie.text.shorten import cut_at_word, one_line, title_of

LEAST_TRUST_TO_BUILD_ON = 0.5
"""Readers cannot tell whose words a card, digest or bridge repeats, so it quotes nothing less trusted than this."""


def may_be_quoted(memory: Memory) -> bool:
    """Whether a digest may quote a memory."""
    return memory.status == "active" and memory.trust >= LEAST_TRUST_TO_BUILD_ON and memory.forget_after is None


def may_be_built_on(memory: Memory) -> bool:
    """Whether a card or bridge may be derived from a memory: these last, so the memory must have no limited tier."""
    return may_be_quoted(memory) and memory.tier in (None, "permanent")


def may_be_written(text: str) -> bool:
    """Whether a text from a model or an assistant may be stored: no secrets, no private parts, no instructions."""
    return bool(text.strip()) and not (
        without_private(text).dropped or redact(text).found or signs_of_injection(text)
    )


LONGEST_LINE = 160
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


def line_of(memory: Memory, naming: Sequence[str] = ()) -> str:
    """Return the sentence of a memory that has one of these names, or its first one, cut to the length of a line."""
    sentences = [part.strip() for part in _SENTENCE_END.split(memory.content.strip()) if part.strip()]
    folded = [name.casefold() for name in naming]
    chosen = next(
        (part for part in sentences if any(name in part.casefold() for name in folded)),
        sentences[0] if sentences else "",
    )
    return cut_at_word(one_line(chosen), LONGEST_LINE)


def spelled(entity: str, memories: tuple[Memory, ...]) -> str:
    """Return an entity in the spelling of the first memory that names it."""
    for memory in memories:
        at = memory.content.casefold().find(entity)
        if at >= 0 and len(memory.content.casefold()) == len(memory.content):
            return memory.content[at : at + len(entity)]
    return entity


def shared_by(sources: Sequence[Memory]) -> dict[str, Any]:
    """Return who said, and who may see, what is derived from memories: at most those who see all of them.

    Raises:
        ValueError: if different people see them; a dream reads what one person sees, or everybody.
    """
    if len({memory.owner for memory in sources}) > 1:
        raise ValueError("Nothing is derived from memories that different people see.")
    authors = {memory.author for memory in sources}
    return {"author": authors.pop() if len(authors) == 1 else None, "visibility": sources[0].visibility}


DERIVED_IMPORTANCE = 0.3
"""A derived memory must not outrank the memories that it repeats."""


def derived_memory(
    text: str, *, kind: Kind, layer: Layer, project: str, sources: Sequence[Memory], now: datetime, **fields: Any
) -> Memory:
    """Return a memory derived from others; its id is a hash of the moment and the ids of its sources."""
    return Memory(
        id=derived_memory_id(
            now, kind, project, *fields.get("entities", ()), *sorted(memory.id for memory in sources)
        ),
        content=text,
        content_hash=content_hash(text),
        kind=kind,
        layer=layer,
        project=project,
        **shared_by(sources),
        source="dream",
        trust=derived_trust(memory.trust for memory in sources),
        confidence=min(memory.confidence for memory in sources),
        derived_from=tuple(memory.id for memory in sources),
        importance=DERIVED_IMPORTANCE,
        stability=first_stability(DERIVED_IMPORTANCE),
        created_at=now,
        happened_at=now,
        updated_at=now,
        embedder=sources[0].embedder,
        **{"title": title_of(text), **fields},
    )


MOST_CHARACTERS = 1_200
A_DAY = timedelta(hours=24)
FEWEST_FOR_A_DIGEST = 3
LONGEST_GAP = timedelta(days=7)
"""A note is about no more than these last days, however long ago the note before it was."""

_DURABLE: frozenset[Kind] = frozenset({"decision", "preference", "how_to", "rejected"})
"""Kinds that an extractive note promotes; not facts, because a passing remark is one by its kind."""


def digest(snapshot: Snapshot, settings: Settings, judge: Judge) -> Proposal:
    """Write the note of the day for each project with enough memories, and promote the durable ones."""
    change_sets: list[ChangeSet] = []
    for project, own in sorted(_by_project(snapshot.memories).items()):
        ledger = _ledger(own, snapshot.now)
        if len(ledger) < FEWEST_FOR_A_DIGEST:
            continue
        note = judge.day_note(ledger, MOST_CHARACTERS)
        if note is None or len(note.text) > MOST_CHARACTERS or not may_be_written(note.text):
            note = extract(ledger, snapshot.now)
        change_sets.append(_digest_change_set(note, ledger, project, snapshot))
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
    return durable and _may_last(memory) and now - memory.happened_at <= LONGEST_GAP


def due_digests(memories: Sequence[Memory], now: datetime) -> set[str]:
    """Return the projects that get a note now; `memories` have at least all notes, and what happened lately."""
    by_project = _by_project(memories).items()
    return {project for project, own in by_project if len(_ledger(own, now)) >= FEWEST_FOR_A_DIGEST}


def _by_project(memories: Sequence[Memory]) -> dict[str, list[Memory]]:
    by_project: dict[str, list[Memory]] = {}
    for memory in memories:
        by_project.setdefault(memory.project, []).append(memory)
    return by_project


def _since(memories: Sequence[Memory], now: datetime) -> datetime | None:
    """Return the moment at which the day of a project begins, or None if it is not over yet."""
    written = [memory.created_at for memory in memories if memory.kind == "digest"]
    if not written:
        return now - A_DAY
    last = max(written)
    return max(last, now - LONGEST_GAP) if now - last >= A_DAY else None


def _ledger(memories: Sequence[Memory], now: datetime) -> list[Memory]:
    """Return a project's memories of the day, the most important first; none if the day is not over yet."""
    since = _since(memories, now)
    if since is None:
        return []
    recent = [
        memory
        for memory in memories
        if memory.kind not in DERIVED_KINDS
        and memory.layer != "codebase"
        and since < memory.happened_at <= now
        and may_be_quoted(memory)
    ]
    return sorted(
        recent, key=lambda memory: (-adjusted_importance_of(memory), memory.created_at, creation_order(memory.id))
    )


def _digest_change_set(note: DayNote, ledger: Sequence[Memory], project: str, snapshot: Snapshot) -> ChangeSet:
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
