"""Results as text for the terminal."""

from reverie.cli.terminal import columns, counted, paragraph
from reverie.recall.results import Recalled, RecalledMemory, freshness_word
from reverie.tools.results import Remembered, Status

_LEFT_OUT = {
    "scope": "outside the scope",
    "status": "let go or replaced",
    "quarantine": "in quarantine",
    "distance": "too far from the question",
    "strength": "too weak",
    "does not fit": "beside the question",
    "source": "beyond a low-trust source's third",
    "limit": "beyond --limit",
    "budget": "beyond --max-tokens",
}


def told_remembered(result: Remembered) -> list[str]:
    """Say what became of a text, and what it is at odds with."""
    if result.duplicate_of == result.id:
        counted = ", now confirmed" if result.confirmed else ""
        lines = [f"Already remembered as {result.id}{counted} in {result.project}: {'; '.join(result.warnings)}."]
    else:
        verb = "Held back" if result.status == "quarantined" else "Remembered"
        lines = [
            f"{verb} {result.id} in {result.project} "
            f"({result.layer}, {result.kind}, importance {result.importance:.2f}).",
            *([f"Nearly the same as {result.duplicate_of}."] if result.duplicate_of else []),
            *(f"Note: {warning}." for warning in result.warnings),
        ]
    for conflict in result.conflicts:
        lines += [f"At odds with {conflict.id} ({conflict.reason}):", paragraph(conflict.content)]
    return lines


def told_recalled(result: Recalled) -> list[str]:
    """List what was found, best first, and count what was left out."""
    lines = ["Nothing fits well; the nearest:", ""] if result.fits == "weak" else list[str]()
    for number, row in enumerate(result.results, 1):
        lines += [f"{number}. {_label(row)}", paragraph(row.content), ""]
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


def told_status(result: Status) -> list[str]:
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
    ]
    if result.elsewhere:
        facts.append(("elsewhere", ", ".join(f"{number:,} in {name}" for name, number in result.elsewhere.items())))
    remembered = columns(table) if len(table) > 1 else ["  Nothing is remembered of this project yet."]
    notes = [f"note: {note}" for note in result.health]
    return [f"Reverie {result.version}", *columns(facts), "", *remembered, *([""] if notes else []), *notes]


def _label(row: RecalledMemory) -> str:
    notes = [row.layer, row.kind, row.strength_word, _age(row.age_days), f"score {row.score:.2f}"]
    if row.pinned:
        notes.append("pinned")
    if row.status != "active":
        notes.append(row.status)
    if row.freshness not in ("verified", "unanchored", "unverifiable") or row.evidence:
        word = freshness_word(row.freshness, row.created_at)
        notes.append(f"{word}: {row.evidence}" if row.evidence else word)
    why = ", ".join(f"{name} {value:.2f}" for name, value in (row.why or {}).items())
    return f"{row.id}  {', '.join(notes)}" + _after("\n  because ", why)


def _age(days: float) -> str:
    if days >= 1:
        return f"{counted(round(days), 'day')} old"
    return f"{counted(round(days * 24), 'hour')} old" if days * 24 >= 1 else "new"


def _after(introduction: str, text: str) -> str:
    return introduction + text if text else ""
