"""The result of a tool as a compact text, for a model to read and for the terminal where the content is the same."""

from collections.abc import Sequence
from typing import assert_never

from reverie.guard.fence import REFERENCE, fresh_fence, neutralized_json, neutralized_line, quoted
from reverie.ids import short_id, short_ids
from reverie.recall.results import Recalled, lean
from reverie.tools.results import (
    Briefing,
    Consolidated,
    Forgotten,
    Indexed,
    Inspected,
    Moved,
    Pinned,
    Remembered,
    Restored,
    Result,
    Reviewed,
    Revised,
    Skipped,
    Status,
)


def render(result: Result) -> str:
    """Return a result in as few words as it takes."""
    match result:
        case Remembered():
            return _render_remembered(result)
        case Revised():
            return _render_revised(result)
        case Forgotten():
            verb = "Would forget" if result.dry_run else "Forgot"
            return f"{verb} {_listed(result.forgotten)}{_in(result)}.{_skipped(result.skipped)}"
        case Restored():
            return f"Restored {_listed(result.restored)}{_in(result)}.{_skipped(result.skipped)}"
        case Moved():
            return f"{short_id(result.id)}: {result.from_layer} → {result.to_layer}{_in(result)}."
        case Pinned():
            return f"{short_id(result.id)} is {'pinned' if result.pinned else 'no longer pinned'}{_in(result)}."
        case Indexed():
            return _render_indexed(result)
        case Status():
            return _render_status(result)
        case Consolidated():
            return _render_dream(result)
        case Reviewed():
            return _render_review(result)
        case Inspected():
            return f"{REFERENCE}\n{fresh_fence().around(neutralized_json(lean(result)['memories']))}"
        case Recalled() | Briefing():
            return result.text
        case _:
            assert_never(result)


def _render_remembered(result: Remembered) -> str:
    warnings = list(map(neutralized_line, result.warnings))
    if result.duplicate_of == result.id:
        counted = ", confirmed" if result.confirmed else ""
        lines = [f"Already remembered as {short_id(result.id)}{counted}{_in(result)}: {'; '.join(warnings)}."]
    else:
        verb = "Held back" if result.status == "quarantined" else "Remembered"
        facts = f"{result.layer}, {result.kind}, importance {result.importance:.2f}"
        lines = [f"{verb} {short_id(result.id)} ({facts}){_in(result)}."]
        if result.duplicate_of:
            lines.append(f"Nearly the same as {short_id(result.duplicate_of)}.")
        lines += [f"Note: {warning}." for warning in warnings]
    if result.conflicts:
        at_odds = [
            f"Conflicts with {short_id(c.id)} ({neutralized_line(c.reason)}): {neutralized_line(c.content[:120])}"
            for c in result.conflicts
        ]
        lines += [REFERENCE, fresh_fence().around("\n".join(at_odds))]
    return "\n".join(lines)


def _render_revised(result: Revised) -> str:
    old = short_id(result.superseded) if result.superseded else ""
    done = f"now stands in for {old}" if old else "is held back; the old one stands"
    notes = (f"Note: {neutralized_line(warning)}." for warning in result.warnings)
    return "\n".join([f"Revised: {short_id(result.id)} {done}{_in(result)}.", *notes])


def _render_indexed(result: Indexed) -> str:
    return (
        f"Indexed {result.files} files, {result.symbols} definitions of {neutralized_line(result.project)}: "
        f"{result.memories} new, {result.updated} updated, {result.removed} removed, "
        f"{sum(result.skipped.values())} files left out."
    )


def _render_status(result: Status) -> str:
    layers = ", ".join(f"{layer} {counts.get('active', 0)}" for layer, counts in result.counts.items() if counts)
    beside = ", ".join(f"{number} in {name}" for name, number in result.elsewhere.items()) or "none elsewhere"
    lines = [
        f"Reverie {result.version}, domain {result.domain}, project {neutralized_line(result.project)}",
        f"active memories: {layers or 'none yet'}; {beside}; index {result.index_state}; "
        f"{result.disk_bytes / 1e6:.1f} MB; vectors {result.vectors}",
        f"engine: {neutralized_line(result.engine)}",
    ]
    return "\n".join(lines + [f"note: {neutralized_line(note)}" for note in result.health])


def _render_dream(result: Consolidated) -> str:
    head = f"A dream{_of(result)} would:" if result.dry_run else f"Dream {result.dream_id}{_of(result)}:"
    lines = [f"{step.name}: {neutralized_line('; '.join(step.notes))}" for step in result.steps if step.notes]
    skipped = sum(len(step.skipped) for step in result.steps)
    tail = [f"{skipped} set aside (pinned, or changed meanwhile)"] if skipped else []
    if result.questions:
        tail.append(f"{len(result.questions)} new questions: see review")
    if result.cost_cents:
        tail.append(f"cost {result.cost_cents:g} cents")
    return "\n".join([head, *(lines or ["nothing to do"]), *tail])


def _render_review(result: Reviewed) -> str:
    answered = [f"{short_id(one['question_id'])}: {one['verdict']}" for one in result.resolved]
    if not result.questions:
        return "\n".join(answered) or f"No questions are open{_in(result)}."
    lines: list[str] = []
    asked = short_ids(question["id"] for question in result.questions)
    named = short_ids(memory["id"] for question in result.questions for memory in question["memories"])
    for question in result.questions:
        verdicts = " | ".join(question["verdicts"])
        lines.append(f"[{asked[question['id']]}] {neutralized_line(question['ask'])} ({verdicts})")
        lines += [f"  evidence: {neutralized_line(line)}" for line in question["evidence"]]
        lines += [f"  {named[memory['id']]}: {quoted(memory['content'])}" for memory in question["memories"]]
    return "\n".join([*answered, REFERENCE, fresh_fence().around("\n".join(lines))])


def _in(result: Remembered | Revised | Forgotten | Restored | Moved | Pinned | Reviewed) -> str:
    """Name the project that an answer is about."""
    return f" in {neutralized_line(result.project)}" if result.project else ""


def _of(result: Consolidated) -> str:
    return f" of {neutralized_line(result.project)}" if result.project and result.project != "all" else ""


def _listed(ids: list[str]) -> str:
    if len(ids) > 10:
        return f"{len(ids)} memories"
    return ", ".join(short_ids(ids).values()) or "nothing"


def _skipped(skipped: Sequence[Skipped]) -> str:
    return "".join(f" Skipped {short_id(item.id)}: {neutralized_line(item.reason)}." for item in skipped[:10])
