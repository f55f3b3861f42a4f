"""Undoing a batch: every field as it was before, unless somebody changed it since."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from reverie.dream.plan import question_id, refused_changes
from reverie.errors import InvalidInput
from reverie.lifecycle.access import KEPT_ACCESS_TIMES
from reverie.memory import Layer, Memory
from reverie.storage.changes import Edit, remove_strays, write_batch
from reverie.storage.hash_chain import GONE, state_of
from reverie.storage.journal import Event
from reverie.storage.review_queue import OPEN, ReviewQuestion
from reverie.storage.rows import FIELDS
from reverie.storage.store import MemoryStore

WRITTEN = "remembered"
_IDS_AT_ONCE = 500
_GROWING = ("access_count", "access_times", "last_accessed_at", "stability", "sessions")
"""What recalls go on changing after a dream: of these only the dream's share is taken back."""


@dataclass(frozen=True, slots=True)
class Undone:
    """What was taken back, and what was left as it is and why."""

    restored: tuple[str, ...]
    left: tuple[tuple[str, str], ...]


async def undo_dream(store: MemoryStore, given: str, *, actor: str, at: datetime) -> Undone:
    """Undo a whole dream, one answer in review, or another batch of changes; call it inside `changing()`.

    Raises:
        InvalidInput: if there is no such dream, or nothing of it is left to undo.
    """
    dream_log = store.dream_log
    found = await dream_log.named(given)
    if len(found) != 1:
        return await _undo_batch(store, given, actor=actor, at=at)
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
    refused = refused_changes(events, await _present(store, list({event.memory_id for event in events})))
    record = replace(record, report={**record.report, "refused": refused})
    await dream_log.write(replace(record, status="undoing"))
    undone = await take_back(store, record.id, events, actor=actor, at=at)
    await withdraw_questions(store, list(record.report.get("questions", ())))
    await _remember_refusals(store, events, at)
    await dream_log.write(replace(record, status="undone"))
    return undone


async def _undo_batch(store: MemoryStore, given: str, *, actor: str, at: datetime) -> Undone:
    questions = store.review_queue
    asked = await questions.named(given)
    batch = asked[0].id if len(asked) == 1 else given
    events = await store.journal.of_batch(batch)
    if not events:
        raise InvalidInput("dream_id", f"no dream has the id {given!r}", "`reverie dreams` lists them.")
    undone = await take_back(store, batch, events, actor=actor, at=at)
    await questions.close([one.id for one in asked], OPEN)
    return undone


async def _remember_refusals(store: MemoryStore, events: Sequence[Event], at: datetime) -> None:
    """Note each merge that was undone as answered with `separate`, or the next night would merge again."""
    merged = [
        event.after["derived_from"] for event in events if event.action == WRITTEN and event.after.get("derived_from")
    ]
    superseded = {event.memory_id for event in events if event.action == "merged"}
    refused = [
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
    await store.review_queue.write(refused)


async def take_back(store: MemoryStore, batch: str, events: Sequence[Event], *, actor: str, at: datetime) -> Undone:
    """Undo the events of a batch; call it inside `changing()`."""
    histories: dict[str, list[Event]] = {}
    for event in events:
        histories.setdefault(event.memory_id, []).append(event)
    present = await _present(store, list(histories))
    removed: list[Memory] = []
    edits: list[Edit] = []
    left: list[tuple[str, str]] = []
    as_told: list[Event] = []  # rows that stand as before already: a kill came between the journal and them
    for memory_id, history in histories.items():
        memory = present.get(memory_id)
        written = next((event for event in history if event.action == WRITTEN), None)
        if memory is None:
            if written is None:
                left.append((memory_id, "purged since"))
            elif await _still_told(store, history):
                as_told.append(_noted(store, batch, memory_id, GONE, actor=actor, at=at))
        elif written is None:
            back, kept = as_before(memory, history)
            if back != memory:
                edits.append(Edit(memory, back))
            elif await _still_told(store, history):
                as_told.append(_noted(store, batch, memory_id, state_of(memory), actor=actor, at=at))
            if kept:
                left.append((memory_id, f"changed since: {', '.join(kept)}"))
        elif memory.pinned or memory.updated_at != _last(history, "updated_at", written.after):
            left.append((memory_id, "written by the dream, but changed by somebody since"))
        else:
            removed.append(memory)
    await store.journal.write([*_recorded(store, batch, edits, removed, actor=actor, at=at), *as_told])
    await write_batch(store, (), edits, removed)
    await remove_strays(store, _homes(histories, present, edits))
    return Undone(tuple(edit.after.id for edit in edits) + tuple(memory.id for memory in removed), tuple(left))


async def withdraw_questions(store: MemoryStore, question_ids: Sequence[str]) -> None:
    """Take the questions of an undone batch off the record, so that a later night may ask them again."""
    questions = store.review_queue
    still_open = {asked.id for asked in await questions.all() if asked.status == OPEN}
    await questions.remove([question_id for question_id in question_ids if question_id in still_open])


def as_before(memory: Memory, history: Sequence[Event]) -> tuple[Memory, list[str]]:
    """Return a memory with the changes of these events taken back, and the fields that somebody changed since."""
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
        if now in (last.get(name), before):
            values[name] = before
        elif name in _GROWING:
            values[name] = _without_share(name, before, last[name], now)
        elif name != "updated_at":
            kept.append(name)
    if kept:  # it has a later history: when it was last changed is part of that
        values.pop("updated_at", None)
    return replace(memory, **values), kept


def _homes(
    histories: Mapping[str, Sequence[Event]], present: Mapping[str, Memory], edits: Sequence[Edit]
) -> dict[str, Layer]:
    """Return where each memory that the batch moved lives now."""
    after = {edit.after.id: edit.after for edit in edits}
    moved = [one for one, history in histories.items() if any("layer" in event.before for event in history)]
    return {one: after.get(one, present[one]).layer for one in moved if one in present}


def _without_share(name: str, before: Any, after: Any, now: Any) -> Any:
    """Take what the dream carried over out of what recalls have made of it since."""
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


def _recorded(
    store: MemoryStore, batch: str, edits: Sequence[Edit], removed: Sequence[Memory], *, actor: str, at: datetime
) -> list[Event]:
    events = []
    for edit in edits:
        names = [name for name in FIELDS if getattr(edit.before, name) != getattr(edit.after, name)]
        before = {name: getattr(edit.before, name) for name in names}
        after = {name: getattr(edit.after, name) for name in names}
        events.append(
            store.event("undone", edit.before, actor=actor, at=at, reason=batch, before=before, after=after)
        )
    for memory in removed:
        before = {name: getattr(memory, name) for name in FIELDS}
        events.append(store.event("undone", memory, actor=actor, at=at, reason=batch, before=before, state=GONE))
    return events


async def _still_told(store: MemoryStore, history: Sequence[Event]) -> bool:
    """Whether what a batch did to a memory is the last that the journal says of it."""
    about = await store.journal.about(history[0].memory_id)
    return bool(about) and about[-1].id == history[-1].id


def _noted(store: MemoryStore, batch: str, memory_id: str, state: str, *, actor: str, at: datetime) -> Event:
    """Say in the journal how a memory stands that needed no undoing."""
    return Event(
        id=store.new_id(),
        at=at,
        action="undone",
        memory_id=memory_id,
        actor=actor,
        session=store.session,
        reason=batch,
        state=state,
    )


async def _present(store: MemoryStore, ids: Sequence[str]) -> dict[str, Memory]:
    found: dict[str, Memory] = {}
    for start in range(0, len(ids), _IDS_AT_ONCE):
        found |= await store.get(ids[start : start + _IDS_AT_ONCE])
    return found
