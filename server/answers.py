"""Results as MCP answers: structured content, and a compact text for the model to read."""

import json
from typing import Any

from mcp.types import CallToolResult, TextContent

from reverie.guard.fence import REFERENCE, fresh_fence, harmless, harmless_line
from reverie.tools.results import (
    Consolidated,
    Forgotten,
    Indexed,
    Inspected,
    Moved,
    Pinned,
    Remembered,
    Restored,
    Reviewed,
    Revised,
    Status,
    lean,
)


def answer(result: Any, text: str | None = None) -> CallToolResult:
    """Pack a result dataclass with its text."""
    return CallToolResult(
        content=[TextContent(type="text", text=told(result) if text is None else text)],
        structured_content=lean(result),
    )


def told(result: Any) -> str:
    """Say a result in as few words as it takes."""
    match result:
        case Remembered():
            return _told_remembered(result)
        case Revised():
            return _told_revised(result)
        case Forgotten():
            verb = "Would forget" if result.dry_run else "Forgot"
            return f"{verb} {_listed(result.forgotten)}.{_skipped(result.skipped)}"
        case Restored():
            return f"Restored {_listed(result.restored)}.{_skipped(result.skipped)}"
        case Moved():
            return f"{result.id}: {result.from_layer} → {result.to_layer}."
        case Pinned():
            return f"{result.id} is {'pinned' if result.pinned else 'no longer pinned'}."
        case Indexed():
            return _told_indexed(result)
        case Status():
            return _told_status(result)
        case Consolidated():
            return _told_dream(result)
        case Reviewed():
            return _told_review(result)
        case Inspected():
            whole = fresh_fence().around(harmless(json.dumps(result.memories, ensure_ascii=False)))
            return f"{REFERENCE}\n{whole}"
        case _:
            raise TypeError(f"no words for {type(result).__name__}")


def _told_remembered(result: Remembered) -> str:
    if result.duplicate_of == result.id:
        counted = ", confirmed" if result.confirmed else ""
        lines = [f"Already remembered as {result.id}{counted}: {'; '.join(result.warnings)}."]
    else:
        verb = "Held back" if result.status == "quarantined" else "Remembered"
        lines = [f"{verb} {result.id} ({result.layer}, {result.kind}, importance {result.importance:.2f})."]
        if result.duplicate_of:
            lines.append(f"Nearly the same as {result.duplicate_of}.")
        lines += [f"Note: {warning}." for warning in result.warnings]
    if result.conflicts:
        at_odds = [f"Conflicts with {c.id} ({c.reason}): {harmless_line(c.content[:120])}" for c in result.conflicts]
        lines += [REFERENCE, fresh_fence().around("\n".join(at_odds))]
    return "\n".join(lines)


def _told_revised(result: Revised) -> str:
    done = f"now stands in for {result.superseded}" if result.superseded else "is held back; the old one stands"
    return "\n".join([f"Revised: {result.id} {done}.", *(f"Note: {warning}." for warning in result.warnings)])


def _told_indexed(result: Indexed) -> str:
    return (
        f"Indexed {result.files} files, {result.symbols} definitions of {result.project}: {result.memories} new, "
        f"{result.updated} updated, {result.removed} removed, {sum(result.skipped.values())} files left out."
    )


def _told_status(result: Status) -> str:
    layers = ", ".join(f"{layer} {counts.get('active', 0)}" for layer, counts in result.counts.items() if counts)
    lines = [
        f"Reverie {result.version}, domain {result.domain}, project {result.project}",
        f"active memories: {layers or 'none yet'}; index {result.index_state}; {result.disk_bytes / 1e6:.1f} MB",
    ]
    return "\n".join(lines + [f"note: {note}" for note in result.health])


def _told_dream(result: Consolidated) -> str:
    head = "A dream would:" if result.dry_run else f"Dream {result.dream_id}:"
    lines = [f"{step.name}: {'; '.join(step.notes)}" for step in result.steps if step.notes]
    skipped = sum(len(step.skipped) for step in result.steps)
    tail = [f"{skipped} set aside (pinned, or changed meanwhile)"] if skipped else []
    if result.questions:
        tail.append(f"{len(result.questions)} new questions: see review")
    if result.cost_cents:
        tail.append(f"cost {result.cost_cents:g} cents")
    return "\n".join([head, *(lines or ["nothing to do"]), *tail])


def _told_review(result: Reviewed) -> str:
    answered = [f"{one['question_id']}: {one['verdict']}" for one in result.resolved]
    if not result.questions:
        return "\n".join(answered) or "No questions are open."
    lines: list[str] = []
    for question in result.questions:
        lines.append(f"[{question['id']}] {question['ask']} ({' | '.join(question['verdicts'])})")
        lines += [f"  evidence: {line}" for line in question["evidence"]]
        lines += [f"  {memory['id']}: {memory['content']}" for memory in question["memories"]]
    return "\n".join([*answered, REFERENCE, fresh_fence().around(harmless("\n".join(lines)))])


def _listed(ids: list[str]) -> str:
    if len(ids) > 10:
        return f"{len(ids)} memories"
    return ", ".join(ids) or "nothing"


def _skipped(skipped: list[Any]) -> str:
    return "".join(f" Skipped {item.id}: {item.reason}." for item in skipped[:10])
