"""`reverie dream` and `reverie dreams`: a dream from the command line, for people and for cron."""

from argparse import Namespace
from dataclasses import asdict

from reverie.cli.terminal import Progress, columns, counted, say, say_json
from reverie.tools.consolidate import consolidate
from reverie.tools.dreams import describe_dream, dream_lines, dreams
from reverie.tools.requests import ConsolidateRequest, RestoreRequest
from reverie.tools.restore import restore
from reverie.tools.results import Consolidated
from reverie.tools.session import Session


async def run_dream(session: Session, given: Namespace) -> int:
    """Dream once, or show what a dream would do."""
    progress = Progress("dreaming")

    async def tell(done: int, total: int, message: str) -> None:
        progress.show(done / total, message)

    try:
        result = await consolidate(
            session,
            ConsolidateRequest(
                dry_run=given.dry_run, steps=given.steps, project=given.project, budget_cents=given.budget_cents
            ),
            tell,
        )
    finally:
        progress.done()
    if given.json:
        say_json(result)
    else:
        say(*told_dream(result))
    return 0


async def run_dreams(session: Session, given: Namespace) -> int:
    """List the nights, tell one, or undo it."""
    session.all_projects = given.all_projects
    if given.undo:
        undone = await restore(session, RestoreRequest(dream_id=given.id))
        if given.json:
            say_json(undone)
        else:
            left = [f"left as it is: {one.id} ({one.reason})" for one in undone.skipped]
            say(f"Undone: {counted(len(undone.restored), 'memory')} as before.", *left)
    elif given.id:
        record = await describe_dream(session, given.id)
        if given.json:
            say_json(record)
        else:
            say(*dream_lines(record))
    else:
        dream_log = await dreams(session)
        if given.json:
            say_json([asdict(record) for record in dream_log])
        else:
            rows = [
                (n.id, n.at[:16].replace("T", " "), n.status, counted(n.changes, "change"), n.summary)
                for n in dream_log
            ]
            say(*(columns(rows) or ["No dream yet. `reverie dream` runs one; `--dry-run` shows what it would do."]))
    return 0


def told_dream(result: Consolidated) -> list[str]:
    """Say what a night did, step by step, and in a dry run which memories it would touch and why."""
    lines = ["This dream would do the following; nothing is changed."] if result.dry_run else []
    rows = [(step.name, "; ".join(step.notes) or "–") for step in result.steps]
    lines += columns(rows)
    if result.dry_run:
        by_reason: dict[str, list[str]] = {}
        for change in result.changes:
            by_reason.setdefault(f"{change['step']}, {change['action']}", []).append(change["id"])
        for reason, ids in by_reason.items():
            lines += ["", f"{reason} ({len(ids)})", *(f"  {memory_id}" for memory_id in ids)]
    for step in result.steps:
        lines += [f"set aside by {step.name}: {one.id} ({one.reason})" for one in step.skipped[:5]]
    if result.questions:
        lines.append(f"{counted(len(result.questions), 'question')} for review.")
    lines.append("")
    if result.dry_run:
        lines.append("Run `reverie dream` to do it.")
    else:
        cost = f", {result.cost_cents:g} cents" if result.cost_cents else ""
        lines.append(f"Dream {result.dream_id}: {result.duration_ms / 1000:.1f} s{cost}.")
        lines.append(f"`reverie dreams {result.dream_id}` tells it.")
    return lines
