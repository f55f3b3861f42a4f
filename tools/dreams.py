"""The journal of nights: which there were, and one of them as a short story."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from reverie.storage.dream_log import Night, Nights
from reverie.time import iso
from reverie.tools.resolve import resolved_dream, sees_event
from reverie.tools.session import Workspace

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
    """One night in a list."""

    id: str
    at: str
    status: str
    changes: int
    questions: int
    summary: str


async def dreams(workspace: Workspace) -> list[DreamLine]:
    """List the nights, the latest first."""
    return [_line(night) for night in await _nights(workspace).all()]


async def last_dream(workspace: Workspace) -> Night | None:
    """Return the latest night that was not rolled back, or None."""
    return next((night for night in await _nights(workspace).all() if night.status != "rolled back"), None)


async def told(workspace: Workspace, dream_id: str) -> dict[str, Any]:
    """Tell one night: what each step did, to which memories, and how to undo it.

    What it did in other projects is counted under `elsewhere`, unless all are asked for.

    Raises:
        InvalidInput: if there is no such night.
    """
    night = await resolved_dream(workspace, dream_id, "id")
    events = await workspace.store.journal.of_batch(night.id)
    memories = await workspace.store.get(list(dict.fromkeys(event.memory_id for event in events)))
    by_action: dict[str, list[dict[str, str]]] = {}
    elsewhere = 0
    for event in events:
        memory = memories.get(event.memory_id)
        if not workspace.all_projects and sees_event(workspace, event, memories) is False:
            elsewhere += 1
            continue
        title = memory.title[:_TITLE] if memory else "gone since"
        by_action.setdefault(event.action, []).append(
            {"id": event.memory_id, "title": title, "reason": event.reason or ""}
        )
    return {
        "id": night.id,
        "at": iso(night.started_at),
        "status": night.status,
        "steps": night.report.get("steps", []),
        "changes": by_action,
        "elsewhere": elsewhere,
        "questions": night.report.get("questions", []),
        "calls": night.report.get("calls", []),
        "notes": night.report.get("notes", []),
    }


def story(night: dict[str, Any]) -> list[str]:
    """Return a night as lines for a person."""
    lines = [f"The dream {night['id']} of {night['at'][:16].replace('T', ' ')}, {night['status']}.", ""]
    for step in night["steps"]:
        done = [f"{summary} {count}×" if count > 1 else summary for summary, count in step["summaries"].items()]
        said = [*done, *step["notes"], *([f"{step['skipped']} set aside"] if step["skipped"] else [])]
        if said:
            lines.append(f"{_PHRASES.get(step['name'], step['name'])}: {'; '.join(said)}.")
    if len(lines) == 2:
        lines.append("Nothing had to be done.")
    for action, changed in night["changes"].items():
        lines += ["", f"{action} ({len(changed)})"]
        lines += [
            f"  {one['id']}  {one['title']}" + (f"  ({one['reason']})" if one["reason"] else "")
            for one in changed[:_SHOWN]
        ]
        if len(changed) > _SHOWN:
            lines.append(f"  and {len(changed) - _SHOWN} more")
    if night["elsewhere"]:
        lines += ["", f"{night['elsewhere']} more in other projects; --all-projects shows them."]
    if night["questions"]:
        lines += ["", f"{len(night['questions'])} questions asked; the assistant's review tool answers them."]
    if night["calls"]:
        spent = sum(call["cents"] for call in night["calls"])
        outcomes = Counter(call["outcome"] for call in night["calls"])
        lines += ["", f"The language model was asked {len(night['calls'])} times, for {spent:.3f} cents:"]
        lines += [f"  {count}× {outcome}" for outcome, count in outcomes.items()]
    lines += [f"note: {note}" for note in night["notes"]]
    if night["status"] == "done" and (night["changes"] or night["elsewhere"]):
        lines += ["", f"To undo all of it: reverie dreams {night['id']} --undo"]
    return lines


def _line(night: Night) -> DreamLine:
    done = Counter(
        {summary: count for step in night.report.get("steps", []) for summary, count in step["summaries"].items()}
    )
    summary = ", ".join(f"{text} {count}×" if count > 1 else text for text, count in done.most_common(4))
    return DreamLine(
        id=night.id,
        at=iso(night.started_at),
        status=night.status,
        changes=int(night.report.get("changes", 0)),
        questions=len(night.report.get("questions", [])),
        summary=summary or "nothing to do",
    )


def _nights(workspace: Workspace) -> Nights:
    return Nights(workspace.store.database.table("dreams"))
