"""Applying change sets as one journalled batch, and undoing it: every field as it was before, unless changed since.

Dreams, sweeps, drift runs and answers in review are applied here. One of them, a change of projects, or one single
event is undone here.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

from reverie.dream.fading import embedded_again, lifted
from reverie.dream.plan import (
    ChangeSet,
    ProposedQuestion,
    SkippedChange,
    keys_of_events,
    keys_of_restored,
    keys_of_undone_dreams,
    question_id,
)
from reverie.dream.snapshot import changed
from reverie.embeddings.base import Embedder
from reverie.errors import InvalidInput
from reverie.lifecycle.expiry import LIVING
from reverie.lifecycle.vitals import KEPT_ACCESS_TIMES
from reverie.memory import Layer, Memory
from reverie.storage.bulk import Edit, RowVersion, remove_strays, version_of, write_batch
from reverie.storage.dream_records import OPEN, ReviewQuestion
from reverie.storage.journal import GONE, Event, state_of
from reverie.storage.rows import FIELDS, Embedded
from reverie.storage.scope import EVERYBODY
from reverie.storage.store import MemoryStore
from reverie.storage.vector_precision import set_precisions

ACTOR = "dream"


@dataclass(frozen=True, slots=True)
class Batch:
    """Change sets as rows and events, ready to be written; `too_late` are those that are left out."""

    added: tuple[Memory, ...]
    edits: tuple[Edit, ...]
    events: tuple[Event, ...]
    questions: tuple[ProposedQuestion, ...]
    too_late: tuple[tuple[ChangeSet, SkippedChange], ...]


def make_batch(
    change_sets: Sequence[ChangeSet],
    memories: Sequence[Memory],
    store: MemoryStore,
    *,
    batch_id: str | None,
    at: datetime,
    actor: str = ACTOR,
    versions: Mapping[str, RowVersion] | None = None,
) -> Batch:
    """Lay change sets out as one batch; nothing is written yet.

    `memories` are what the plan was made from. With `versions`, those of the rows that the change sets touch, one is
    left out if it touches a memory that changed since; without, the caller read the memories inside `changing()`.
    """
    current = {memory.id: memory for memory in memories}
    owners = {memory.id: memory.owner for memory in memories}
    written: dict[str, Memory] = {}
    late = set() if versions is None else _changed_since(memories, versions, touched_ids(change_sets))
    events: list[Event] = []
    questions: list[ProposedQuestion] = []
    too_late: list[tuple[ChangeSet, SkippedChange]] = []
    for change_set in change_sets:
        stale = [memory_id for memory_id in _touched(change_set) if memory_id in late]
        if stale:
            too_late.append((change_set, SkippedChange(stale[0], "changed during the dream")))
            late |= {new.memory.id for new in change_set.new_memories}
            late |= {change.memory_id for change in change_set.changes}
            continue
        exposed = [new.memory.id for new in change_set.new_memories if _is_exposed(new.memory, owners)]
        if exposed:
            too_late.append((change_set, SkippedChange(exposed[0], "would show what is personal to others")))
            continue
        for new in change_set.new_memories:
            current[new.memory.id] = written[new.memory.id] = new.memory
            after = {name: getattr(new.memory, name) for name in FIELDS}
            events.append(
                store.event(
                    "remembered", new.memory, actor=actor, at=at, reason=new.reason, batch=batch_id, after=after
                )
            )
        for change in change_set.changes:
            before = current[change.memory_id]
            after_change = changed(before, change, at)
            names = (*change.values, "updated_at")
            events.append(
                store.event(
                    change.action,
                    before,
                    actor=actor,
                    at=at,
                    reason=change.reason,
                    batch=batch_id,
                    before={name: getattr(before, name) for name in names},
                    after={name: getattr(after_change, name) for name in names},
                )
            )
            current[change.memory_id] = after_change
        questions += change_set.questions
    edits = [Edit(memory, current[memory.id]) for memory in memories if current[memory.id] is not memory]
    added = [current[memory_id] for memory_id in written]
    return Batch(tuple(added), tuple(edits), tuple(events), tuple(questions), tuple(too_late))


def _is_exposed(new: Memory, owners: Mapping[str, str | None]) -> bool:
    """Whether a new memory would be seen by others than those who see what it was derived from."""
    return any(owners.get(parent, new.owner) != new.owner for parent in new.derived_from)


async def write(
    batch: Batch,
    store: MemoryStore,
    at: datetime,
    embedded: Sequence[Embedded] = (),
    again: Mapping[str, Embedded] = MappingProxyType({}),
) -> None:
    """Write a batch: the journal first, new rows before retired ones. Call it inside `changing()`.

    `embedded` are the batch's new memories with their vectors, `again` those whose vectors become finer.
    """
    await store.journal.write(batch.events)
    await write_batch(store, embedded, batch.edits, (), again)
    await store.review_queue.write([review_question(question, at) for question in batch.questions])


def review_question(question: ProposedQuestion, at: datetime) -> ReviewQuestion:
    """Return a proposed question as a row of the review queue."""
    return ReviewQuestion(
        id=question.id,
        asked_at=at,
        kind=question.kind,
        memory_ids=question.memory_ids,
        status=question.model_verdict or OPEN,
        body={
            "ask": question.ask,
            "evidence": list(question.evidence),
            "verdicts": list(question.verdicts),
            "about": list(question.about),
            **({"proposal": question.proposal} if question.proposal else {}),
        },
    )


def touched_ids(change_sets: Iterable[ChangeSet]) -> set[str]:
    """Return the ids of all memories that these change sets change, derive from or ask about."""
    return {memory_id for change_set in change_sets for memory_id in _touched(change_set)}


def _changed_since(memories: Iterable[Memory], versions: Mapping[str, RowVersion], touched: Set[str]) -> set[str]:
    return {one.id for one in memories if one.id in touched and versions.get(one.id) != version_of(one)}


def _touched(change_set: ChangeSet) -> list[str]:
    """Return every memory that a change set changes, derives from or asks about."""
    return [
        *(change.memory_id for change in change_set.changes),
        *(parent for new in change_set.new_memories for parent in new.memory.derived_from),
        *(memory_id for question in change_set.questions for memory_id in question.memory_ids),
    ]


WRITTEN = "remembered"
_IDS_AT_ONCE = 500
_CHANGED_BY_RECALLS = ("access_count", "access_times", "last_accessed_at", "stability", "sessions")
"""Recalls go on changing these without an event: only what the undone events added is taken out."""

Revive = Callable[[Memory], Memory]
"""Returns a memory that comes back to life with what it needs to stay."""


@dataclass(frozen=True, slots=True)
class Undone:
    """The ids of memories that were set back, those of them that are alive again, and what was left, with reasons."""

    restored: tuple[str, ...]
    left: tuple[tuple[str, str], ...]
    revived: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo:
    """Who undoes something, when, and with which embedder texts that come back are embedded again.

    `reason` is what the journal says is undone: the id of a dream, question, batch or event. Without `revive` the
    undo is exact: rows that the events wrote are removed, and `updated_at` is as before. With it the undo is a change
    of its own: a memory that the event wrote is expired, and one that comes back to life passes through `revive`.
    """

    reason: str
    actor: str
    at: datetime
    embedder: Embedder
    revive: Revive | None = None


async def undo_batch(store: MemoryStore, given: str, *, actor: str, at: datetime, embedder: Embedder) -> Undone:
    """Undo a dream, one answer in review, or another batch of changes; call it inside `changing()`.

    Raises:
        InvalidInput: if there is no such dream or batch, or it is undone already.
    """
    dream_log = store.dream_log
    found = await dream_log.named(given)
    if len(found) != 1:
        return await _undo_other_batch(store, given, actor=actor, at=at, embedder=embedder)
    record = found[0]
    if record.status in ("undone", "rolled back"):
        raise InvalidInput(
            "dream_id", f"{record.id} is {record.status} already", "`reverie dreams` lists the others."
        )
    events = await store.journal.of_batch(record.id)
    if len(events) < record.report.get("changes", 0):
        raise InvalidInput(
            "dream_id", f"the events of {record.id} are no longer kept", "Restore memories by their ids."
        )
    keys = keys_of_events(events, await _present(store, list({event.memory_id for event in events})))
    record = replace(record, report={**record.report, "refused": keys})  # the name of the stored field
    await dream_log.write(replace(record, status="undoing"))
    undone = await undo_events(store, events, Undo(reason=record.id, actor=actor, at=at, embedder=embedder))
    await withdraw_questions(store, list(record.report.get("questions", ())))
    await _answer_undone_merges(store, events, at)
    await dream_log.write(replace(record, status="undone"))
    return undone


async def _undo_other_batch(
    store: MemoryStore, given: str, *, actor: str, at: datetime, embedder: Embedder
) -> Undone:
    questions = store.review_queue
    asked = await questions.named(given)
    batch_id = asked[0].id if len(asked) == 1 else given
    events = await store.journal.of_batch(batch_id)
    if not events:
        raise InvalidInput("dream_id", f"no dream has the id {given!r}", "`reverie dreams` lists them.")
    undone = await undo_events(store, events, Undo(reason=batch_id, actor=actor, at=at, embedder=embedder))
    await questions.close([one.id for one in asked], OPEN)
    return undone


async def _answer_undone_merges(store: MemoryStore, events: Sequence[Event], at: datetime) -> None:
    """Record each undone merge as a question answered with `separate`, so that the next dream does not repeat it."""
    merged = [
        event.after["derived_from"] for event in events if event.action == WRITTEN and event.after.get("derived_from")
    ]
    superseded = {event.memory_id for event in events if event.action == "merged"}
    answered = [
        ReviewQuestion(
            id=question_id("merge", tuple(ids)),
            asked_at=at,
            kind="merge",
            memory_ids=tuple(ids),
            status="separate",
            body={"ask": "merged by a dream that was undone", "evidence": [], "verdicts": [], "about": []},
        )
        for ids in merged
        if set(ids) <= superseded
    ]
    await store.review_queue.write(answered)


async def withdraw_questions(store: MemoryStore, question_ids: Sequence[str]) -> None:
    """Remove the open questions of an undone batch, so that a later dream may ask them again."""
    questions = store.review_queue
    still_open = {asked.id for asked in await questions.all() if asked.status == OPEN}
    await questions.remove([question_id for question_id in question_ids if question_id in still_open])


async def read_undone_keys(store: MemoryStore) -> frozenset[str]:
    """Return the keys of every change that somebody took back, by undoing its dream or by restoring the memory."""
    records = await store.dream_log.all()
    restored = await store.journal.with_action("restored")
    # Of single events only those of outcomes: what a killed dream left is undone too, and done again.
    undone = [event for event in await store.journal.with_action("undone") if event.actor != ACTOR]
    outcomes = [event for event in undone if event.before.get("outcome")]
    return keys_of_undone_dreams(records) | keys_of_restored([*restored, *outcomes])


async def undo_events(store: MemoryStore, events: Sequence[Event], undo: Undo) -> Undone:
    """Set every field that the events changed back to what it was; call it inside `changing()`.

    A field that somebody changed since is left, and so is a memory that was purged or pinned since it was written.
    """
    histories: dict[str, list[Event]] = {}
    for event in events:
        histories.setdefault(event.memory_id, []).append(event)
    present = await _present(store, list(histories))
    removed: list[Memory] = []
    edits: list[Edit] = []
    left: list[tuple[str, str]] = []
    already: list[Event] = []  # rows that are as before already: a kill came between the journal and them
    for memory_id, history in histories.items():
        memory = present.get(memory_id)
        written = next((event for event in history if event.action == WRITTEN), None)
        if memory is None:
            if written is None or undo.revive is not None:
                left.append((memory_id, "purged since"))
            elif await _is_last_event(store, history):
                already.append(_state_event(store, memory_id, GONE, undo))
        elif written is not None and undo.revive is not None:
            back, why = _unwritten(memory, undo)
            edits += [Edit(memory, back)] if why is None else []
            left += [(memory_id, why)] if why is not None else []
        elif written is not None:
            if memory.pinned or memory.updated_at != _last(history, "updated_at", written.after):
                left.append((memory_id, "written by the dream, but changed by somebody since"))
            else:
                removed.append(memory)
        else:
            back, kept = as_before(memory, await _with_after(store, memory, history), undo)
            if back != memory:
                edits.append(Edit(memory, back))
            elif await _is_last_event(store, history) and history[-1].state != state_of(memory):
                already.append(_state_event(store, memory_id, state_of(memory), undo))
            if kept:
                left.append((memory_id, f"changed since: {', '.join(kept)}"))
    await _write(store, edits, removed, already, undo)
    await remove_strays(store, _layers_now(histories, present, edits))
    await set_precisions(store, _of_other_precision(histories, present, edits), {})
    return Undone(
        tuple(edit.after.id for edit in edits) + tuple(memory.id for memory in removed),
        tuple(left),
        tuple(edit.after.id for edit in edits if _comes_back(edit.before, edit.after)),
    )


def as_before(memory: Memory, history: Sequence[Event], undo: Undo) -> tuple[Memory, list[str]]:
    """Return a memory without the changes of these events, and the names of fields that somebody changed since."""
    first: dict[str, Any] = {}
    last: dict[str, Any] = {}
    for event in history:
        for name, value in event.before.items():
            first.setdefault(name, value)
        last |= event.after
    values: dict[str, Any] = {}
    kept: list[str] = []
    for name, before in first.items():
        now = getattr(memory, name)
        if name in last and last[name] == before and name != "updated_at":
            continue  # an import records every field, also those that it did not change
        if now in (last.get(name), before):
            values[name] = before
        elif name in _CHANGED_BY_RECALLS:
            values[name] = _without_share(name, before, last[name], now)
        elif name != "updated_at":
            kept.append(name)
    updated_at = values.pop("updated_at", None)
    back = replace(memory, **values)
    if undo.revive is not None and _comes_back(memory, back):
        back = undo.revive(back)
    if undo.revive is None and updated_at is not None and not kept:
        return replace(back, updated_at=updated_at), kept
    if back == memory or (undo.revive is None and kept):  # a later change keeps its own moment
        return back, kept
    return replace(back, updated_at=undo.at), kept


def _unwritten(memory: Memory, undo: Undo) -> tuple[Memory, str | None]:
    """Return a memory expired because its writing is undone, or why it stays."""
    if memory.pinned:
        return memory, "pinned since"
    if memory.status in ("expired", "superseded"):
        return memory, "changed since: status"
    reason = f"undone: {undo.reason}"
    return replace(memory, status="expired", expired_at=undo.at, status_reason=reason, updated_at=undo.at), None


def _comes_back(before: Memory, after: Memory) -> bool:
    return before.status not in LIVING and after.status in LIVING


async def _with_after(store: MemoryStore, memory: Memory, history: Sequence[Event]) -> list[Event]:
    """Return events with the values they left, which an import does not record.

    A field had then the value that the next event about it found, or, if there is none, the one it has now.
    """
    if all(event.before.keys() <= event.after.keys() for event in history):
        return list(history)
    all_events = await store.journal.about(memory.id)
    completed = []
    for event in history:
        later = all_events[next((n for n, one in enumerate(all_events, 1) if one.id == event.id), 0) :]
        after = dict(event.after)
        for name in event.before.keys() - after.keys():
            after[name] = next((one.before[name] for one in later if name in one.before), getattr(memory, name))
        completed.append(replace(event, after=after))
    return completed


async def _write(
    store: MemoryStore, edits: Sequence[Edit], removed: Sequence[Memory], already: Sequence[Event], undo: Undo
) -> None:
    """Write the journal and then the rows; a text or a finer vector that comes back is embedded again."""
    reworded = [edit for edit in edits if edit.before.content != edit.after.content]
    others = [edit for edit in edits if edit.before.content == edit.after.content]
    embedded = await _embedded([edit.after for edit in reworded], undo.embedder)
    again = await embedded_again(lifted(others), undo.embedder)
    await store.journal.write([*_undo_events(store, edits, removed, undo), *already])
    if embedded:
        await store.remove_passages([one.memory.id for one in embedded])
    await write_batch(store, embedded, others, removed, again)


async def _embedded(memories: Sequence[Memory], embedder: Embedder) -> list[Embedded]:
    if not memories:
        return []
    made = await asyncio.to_thread(embedder.embed, [memory.content for memory in memories])
    return [
        Embedded(replace(memory, embedder=embedder.stamp), one.vector, one.passages, one.pieces)
        for memory, one in zip(memories, made, strict=True)
    ]


def _layers_now(
    histories: Mapping[str, Sequence[Event]], present: Mapping[str, Memory], edits: Sequence[Edit]
) -> dict[str, Layer]:
    """Return the layer that each memory which the events moved is in now."""
    after = {edit.after.id: edit.after for edit in edits}
    moved = [one for one, history in histories.items() if any("layer" in event.before for event in history)]
    return {one: after.get(one, present[one]).layer for one in moved if one in present}


def _of_other_precision(
    histories: Mapping[str, Sequence[Event]], present: Mapping[str, Memory], edits: Sequence[Edit]
) -> list[Memory]:
    """Return the memories, as they are now, whose precision the events changed: a kill may have left their passages
    finer than they are."""
    after = {edit.after.id: edit.after for edit in edits}
    touched = [one for one, history in histories.items() if any("precision" in event.before for event in history)]
    return [after.get(one, present[one]) for one in touched if one in present]


def _without_share(name: str, before: Any, after: Any, now: Any) -> Any:
    """Return a value without what the undone events added, and with what recalls added since."""
    match name:
        case "access_count":
            return before + max(0, now - after)
        case "access_times":
            since = [moment for moment in now if moment not in after]
            return tuple(sorted((*before, *since))[-KEPT_ACCESS_TIMES:])
        case "sessions":
            return tuple(dict.fromkeys((*before, *(one for one in now if one not in after))))
        case _:
            return now


def _last(history: Sequence[Event], name: str, written: Mapping[str, Any]) -> Any:
    """Return the value that the batch left in a field of a memory that it wrote itself."""
    return next((event.after[name] for event in reversed(history) if name in event.after), written.get(name))


def _undo_events(store: MemoryStore, edits: Sequence[Edit], removed: Sequence[Memory], undo: Undo) -> list[Event]:
    events = []
    for edit in edits:
        names = [name for name in FIELDS if getattr(edit.before, name) != getattr(edit.after, name)]
        before = {name: getattr(edit.before, name) for name in names}
        after = {name: getattr(edit.after, name) for name in names}
        events.append(
            store.event(
                "undone", edit.before, actor=undo.actor, at=undo.at, reason=undo.reason, before=before, after=after
            )
        )
    for memory in removed:
        before = {name: getattr(memory, name) for name in FIELDS}
        events.append(
            store.event("undone", memory, actor=undo.actor, at=undo.at, reason=undo.reason, before=before, state=GONE)
        )
    return events


async def _is_last_event(store: MemoryStore, history: Sequence[Event]) -> bool:
    """Whether the last of these events is the last one in the journal about its memory."""
    about = await store.journal.about(history[0].memory_id)
    return bool(about) and about[-1].id == history[-1].id


def _state_event(store: MemoryStore, memory_id: str, state: str, undo: Undo) -> Event:
    """Return an event that records the state of a memory whose row needs no change."""
    return Event(
        id=store.new_id(),
        at=undo.at,
        action="undone",
        memory_id=memory_id,
        actor=undo.actor,
        session=store.session,
        reason=undo.reason,
        state=state,
    )


async def _present(store: MemoryStore, ids: Sequence[str]) -> dict[str, Memory]:
    found: dict[str, Memory] = {}
    for start in range(0, len(ids), _IDS_AT_ONCE):
        found |= await store.seen_by(EVERYBODY).get(ids[start : start + _IDS_AT_ONCE])  # whoever undoes may do so
    return found
