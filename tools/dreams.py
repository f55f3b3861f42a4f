"""The list of dreams, and what one of them did."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from reverie.storage.dream_records import DreamRecord
from reverie.storage.store import MemoryStore
from reverie.time import iso
from reverie.tools.resolve import memories_of, resolved_dream, sees_dream, sees_event
from reverie.tools.session import Session

_SHOWN = 5
_TITLE = 70

_PHRASES = {
    "sweep": "By the clock",
    "forget": "Faded",
    "dedupe": "Said twice",
    "cluster": "Grown together",
    "digest": "The day",
    "peer_cards": "Who and what",
    "synthesis": "Connections",
    "beliefs": "Doubts",
    "drift": "Against the code",
    "prune": "Logs",
}


@dataclass(frozen=True)
class DreamLine:
    """One dream in a list."""

    id: str
    at: str
    status: str
    changes: int
    questions: int
    summary: str


async def dreams(session: Session) -> list[DreamLine]:
    """Return all dreams of the team and of this person's personal memories, the latest first."""
    return [_line(record) for record in await session.store.dream_log.all() if sees_dream(session, record)]


async def last_dream(store: MemoryStore) -> DreamRecord | None:
    """Return the latest dream of the team that was not rolled back, or None."""
    found = (one for one in await store.dream_log.all() if one.status != "rolled back" and one.owner is None)
    return next(found, None)


async def when_last_dreamed(store: MemoryStore) -> str | None:
    """Name the latest dream that was not rolled back and its moment; None if there was none."""
    record = await last_dream(store)
    return None if record is None else f"{record.id} at {iso(record.started_at)} ({record.status})"


async def describe_dream(session: Session, dream_id: str) -> dict[str, Any]:
    """Return what one dream did, step by step and memory by memory.

    Changes in other projects are only counted, as `elsewhere`, unless the session asks for all projects.

    Raises:
        InvalidInput: if there is no such dream.
    """
    record = await resolved_dream(session, dream_id, "id")
    events = await session.store.journal.of_batch(record.id)
    memories = await memories_of(session, events)
    by_action: dict[str, list[dict[str, str]]] = {}
    elsewhere = 0
    for event in events:
        memory = memories.get(event.memory_id)
        if sees_event(session, event, memories) is False:
            elsewhere += 1
            continue
        title = memory.title[:_TITLE] if memory else "gone since"
        by_action.setdefault(event.action, []).append(
            {"id": event.memory_id, "title": title, "reason": event.reason or ""}
        )
    return {
        "id": record.id,
        "at": iso(record.started_at),
        "status": record.status,
        "steps": record.report.get("steps", []),
        "changes": by_action,
        "elsewhere": elsewhere,
        "questions": record.report.get("questions", []),
        "calls": record.report.get("calls", []),
        "notes": record.report.get("notes", []),
    }


def dream_lines(record: dict[str, Any]) -> list[str]:
    """Return a described dream as lines for a terminal."""
    lines = [f"The dream {record['id']} of {record['at'][:16].replace('T', ' ')}, {record['status']}.", ""]
    for step in record["steps"]:
        done = [f"{summary} {count}×" if count > 1 else summary for summary, count in step["summaries"].items()]
        said = [*done, *step["notes"], *([f"{step['skipped']} set aside"] if step["skipped"] else [])]
        if said:
            lines.append(f"{_PHRASES.get(step['name'], step['name'])}: {'; '.join(said)}.")
    if len(lines) == 2:
        lines.append("Nothing had to be done.")
    for action, changed in record["changes"].items():
        lines += ["", f"{action} ({len(changed)})"]
        lines += [
            f"  {one['id']}  {one['title']}" + (f"  ({one['reason']})" if one["reason"] else "")
            for one in changed[:_SHOWN]
        ]
        if len(changed) > _SHOWN:
            lines.append(f"  and {len(changed) - _SHOWN} more")
    if record["elsewhere"]:
        lines += ["", f"{record['elsewhere']} more in other projects; --all-projects shows them."]
    if record["questions"]:
        lines += ["", f"{len(record['questions'])} questions asked; the assistant's review tool answers them."]
    if record["calls"]:
        spent = sum(call["cents"] for call in record["calls"])
        outcomes = Counter(call["outcome"] for call in record["calls"])
        lines += ["", f"The language model was asked {len(record['calls'])} times, for {spent:.3f} cents:"]
        lines += [f"  {count}× {outcome}" for outcome, count in outcomes.items()]
    lines += [f"note: {note}" for note in record["notes"]]
    if record["status"] == "done" and (record["changes"] or record["elsewhere"]):
        lines += ["", f"To undo all of it: reverie dreams {record['id']} --undo"]
    return lines


def _line(record: DreamRecord) -> DreamLine:
    done = Counter(
        {summary: count for step in record.report.get("steps", []) for summary, count in step["summaries"].items()}
    )
    summary = ", ".join(f"{text} {count}×" if count > 1 else text for text, count in done.most_common(4))
    return DreamLine(
        id=record.id,
        at=iso(record.started_at),
        status=record.status,
        changes=int(record.report.get("changes", 0)),
        questions=len(record.report.get("questions", [])),
        summary=summary or "nothing to do",
    )
