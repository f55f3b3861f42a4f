"""The commands that call one tool and print its result: `remember`, `recall`, `brief`, `status`, `revise`, `pin` …

Text that is the same for a model and a person comes from `tools/render.py`; the rest is formatted here.
"""

from dataclasses import replace

from reverie.cli.commands import CommandSession, Options
from reverie.cli.terminal import DONE, Line, Span, columns, counted, one_line, paragraph, say, say_json
from reverie.recall.results import Recalled, RecalledMemory, freshness_word
from reverie.tools import catalog
from reverie.tools.render import render
from reverie.tools.requests import (
    BriefRequest,
    MoveRequest,
    PinRequest,
    RecallRequest,
    RememberRequest,
    ReviseRequest,
    StatusRequest,
)
from reverie.tools.results import Remembered, Result, Status


async def run_remember(session: CommandSession, request: RememberRequest, options: Options) -> int:
    """Remember a text, and report what was stored and what it conflicts with."""
    result = await catalog.call(catalog.REMEMBER, session, request)
    return _print(result, remembered_lines(result), options)


async def run_recall(session: CommandSession, request: RecallRequest, options: Options) -> int:
    """Search, and list what was found."""
    await session.warm_model()
    result = await catalog.call(catalog.RECALL, session, request)
    return _print(result, recalled_lines(result), options)


async def run_brief(session: CommandSession, request: BriefRequest, options: Options) -> int:
    """Print what a session starts with."""
    result = await catalog.call(catalog.BRIEF, session, request)
    return _print(result, rendered(result), options)


async def run_status(session: CommandSession, request: StatusRequest, options: Options) -> int:
    """Print counts, settings and what needs attention."""
    await session.warm_model()
    result = await catalog.call(catalog.STATUS, session, request)
    return _print(result, status_lines(result), options)


async def run_revise(session: CommandSession, request: ReviseRequest, options: Options) -> int:
    """Correct a memory."""
    result = await catalog.call(catalog.REVISE, session, request)
    return _print(result, rendered(result), options)


async def run_pin(session: CommandSession, request: PinRequest, options: Options) -> int:
    """Pin a memory."""
    result = await catalog.call(catalog.PIN, session, request)
    return _print(result, rendered(result), options)


async def run_unpin(session: CommandSession, request: PinRequest, options: Options) -> int:
    """Take the pin from a memory."""
    return await run_pin(session, replace(request, pinned=False), options)


async def run_promote(session: CommandSession, request: MoveRequest, options: Options) -> int:
    """Move a memory up a layer."""
    result = await catalog.call(catalog.PROMOTE, session, request)
    return _print(result, rendered(result), options)


async def run_demote(session: CommandSession, request: MoveRequest, options: Options) -> int:
    """Move a memory down a layer."""
    result = await catalog.call(catalog.DEMOTE, session, request)
    return _print(result, rendered(result), options)


def rendered(result: Result) -> list[Line]:
    """Return a result in the words that a model reads, wrapped to the terminal."""
    return [
        paragraph(line, "", hanging="  " if line.startswith("- ") else "") for line in render(result).splitlines()
    ]


def _print(result: Result, lines: list[Line], options: Options) -> int:
    if options.json:
        say_json(result)
    else:
        say(*lines)
    return DONE


_LEFT_OUT = {
    "scope": "outside the scope",
    "status": "expired or replaced",
    "archive": "in the archive",
    "quarantine": "in quarantine",
    "distance": "too far from the question",
    "strength": "too weak",
    "does not fit": "not about the question",
    "source": "more than a third from one low-trust source",
    "limit": "beyond --limit",
    "budget": "beyond --max-tokens",
}


def remembered_lines(result: Remembered) -> list[Line]:
    """Report what was stored, and what it conflicts with."""
    if result.duplicate_of == result.id:
        confirmed = ", now confirmed" if result.confirmed else ""
        why = "; ".join(result.warnings)
        lines: list[Line] = [f"Already remembered as {result.id}{confirmed} in {result.project}: {why}."]
    else:
        verb = "Held back" if result.status == "quarantined" else "Remembered"
        lines = [
            f"{verb} {result.id} in {result.project} "
            f"({result.layer}, {result.kind}, importance {result.importance:.2f}).",
            *([f"Nearly the same as {result.duplicate_of}."] if result.duplicate_of else []),
            *(f"Note: {warning}." for warning in result.warnings),
        ]
    for conflict in result.conflicts:
        lines += [f"Conflicts with {conflict.id} ({conflict.reason}):", paragraph(conflict.content)]
    return lines


def recalled_lines(result: Recalled) -> list[Line]:
    """List what was found, best first, and count what was left out."""
    lines: list[Line] = ["Nothing fits well; the nearest:", ""] if result.fits == "weak" else []
    for number, row in enumerate(result.results, 1):
        outcome = f"[{row.outcome}] " if row.outcome else ""
        lines += [*_label(number, row), paragraph(outcome + row.content), ""]
    if not result.results:
        lines += ["Nothing fits. Try other words, --all-projects, or --include expired,superseded.", ""]
    left_out = ", ".join(f"{count} {_LEFT_OUT.get(reason, reason)}" for reason, count in result.filtered.items())
    lines.append(
        f"{len(result.results)} of {counted(result.total_matches, 'match')}" + _after("; left out: ", left_out)
    )
    for name, memories in result.scope.get("same_project_elsewhere", {}).items():
        lines.append(
            f"{counted(memories, 'memory')} under {name}, which looks like this project; see `reverie projects`."
        )
    if result.index_state == "warming":
        lines.append("Found by words only: the embedding model is still loading.")
    elif result.index_state != "ready":
        lines.append("Found by words only: the embedding model is not available. `reverie doctor` says why.")
    return lines


def status_lines(result: Status) -> list[Line]:
    """Show the counts by layer and what needs attention."""
    statuses = list(dict.fromkeys(status for counts in result.counts.values() for status in counts))
    table = [("layer", *statuses)]
    table += [
        (layer, *(str(counts.get(status, "") or "") for status in statuses))
        for layer, counts in result.counts.items()
        if counts
    ]
    facts = [
        ("data folder", result.home),
        ("domain", result.domain),
        ("project", result.project),
        ("embedder", f"{result.embedder} ({result.index_state})"),
        ("on disk", f"{result.disk_bytes / 1e6:.1f} MB"),
        ("vectors", result.vectors),
        ("engine", result.engine),
    ]
    if result.elsewhere:
        facts.append(("elsewhere", ", ".join(f"{number:,} in {name}" for name, number in result.elsewhere.items())))
    remembered = columns(table) if len(table) > 1 else ["  Nothing is remembered of this project yet."]
    notes = [f"note: {note}" for note in result.health]
    return [f"Reverie {result.version}", *columns(facts), "", *remembered, *([""] if notes else []), *notes]


def _label(number: int, row: RecalledMemory) -> list[Line]:
    notes = [row.layer, row.kind, row.strength_word, _age(row.age_days), f"score {row.score:.2f}"]
    if row.pinned:
        notes.append("pinned")
    if row.status != "active":
        notes.append(row.status)
    if row.freshness not in ("verified", "unanchored", "unverifiable") or row.evidence:
        word = freshness_word(row.freshness, row.created_at)
        notes.append(f"{word}: {one_line(row.evidence)}" if row.evidence else word)
    label: Line = (f"{number}. ", Span(row.id, "cyan"), f"  {', '.join(notes)}")
    why = ", ".join(f"{name} {value:.2f}" for name, value in (row.why or {}).items())
    return [label, f"  because {why}"] if why else [label]


def _age(days: float) -> str:
    if days >= 1:
        return f"{counted(round(days), 'day')} old"
    return f"{counted(round(days * 24), 'hour')} old" if days * 24 >= 1 else "new"


def _after(introduction: str, text: str) -> str:
    return introduction + text if text else ""
