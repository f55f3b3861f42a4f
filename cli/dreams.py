"""`reverie dream` and `reverie dreams`: running a dream, and listing, showing and undoing past ones."""

from dataclasses import asdict

from reverie.cli.asking import agreed
from reverie.cli.commands import Options
from reverie.cli.requests import DreamsRequest
from reverie.cli.terminal import DONE, FAILED, Progress, columns, counted, say, say_json
from reverie.errors import InvalidInput
from reverie.tools import catalog
from reverie.tools.dreams import describe_dream, dream_lines, dreams
from reverie.tools.requests import ConsolidateRequest, RestoreRequest
from reverie.tools.resolve import resolved_batch
from reverie.tools.results import Consolidated
from reverie.tools.session import Session


async def run_dream(session: Session, request: ConsolidateRequest, options: Options) -> int:
    """Run a dream, or show what one would do."""
    await session.warm()
    bar = Progress("dreaming")

    async def show(done: int, total: int, message: str) -> None:
        bar.show(done / total, message)

    try:
        result = await catalog.call(catalog.CONSOLIDATE, session, request, show)
    finally:
        bar.done()
    if options.json:
        say_json(result)
    else:
        say(*result_lines(result))
    return DONE


async def run_dreams(session: Session, request: DreamsRequest, options: Options) -> int:
    """List the dreams, show one, or undo it."""
    if request.undo:
        return await undo_dream(session, request.id, options)
    if request.id:
        record = await describe_dream(session, request.id)
        if options.json:
            say_json(record)
        else:
            say(*dream_lines(record))
    else:
        dream_log = await dreams(session)
        if options.json:
            say_json([asdict(record) for record in dream_log])
        else:
            rows = [
                (n.id, n.at[:16].replace("T", " "), n.status, counted(n.changes, "change"), n.summary)
                for n in dream_log
            ]
            say(*(columns(rows) or ["No dream yet. `reverie dream` runs one; `--dry-run` shows what it would do."]))
    return DONE


async def undo_dream(session: Session, dream_id: str, options: Options) -> int:
    """Show what a dream did, and undo it if that is agreed to.

    Raises:
        InvalidInput: if there is no such dream, or it may not be undone from here.
    """
    if not dream_id:
        raise InvalidInput("ID", "no dream is named", "`reverie dreams` lists them.")
    if not agreed(*await _plan(session, dream_id, options), question=f"Undo {dream_id}?", yes=options.yes):
        return FAILED
    undone = await catalog.call(catalog.RESTORE, session, RestoreRequest(dream_id=dream_id))
    if options.json:
        say_json(undone)
    else:
        left = [f"left as it is: {one.id} ({one.reason})" for one in undone.skipped]
        say(f"Undone: {counted(len(undone.restored), 'memory')} as before.", *left)
    return DONE


async def _plan(session: Session, dream_id: str, options: Options) -> list[str]:
    """Describe what would be undone: a dream, or another batch of changes such as an answer or a drift check."""
    if options.yes:
        return []
    batch = await resolved_batch(session, dream_id)
    try:
        return dream_lines(await describe_dream(session, batch))
    except InvalidInput:
        events = await session.store.journal.of_batch(batch)
        return [f"{batch} changed {counted(len({event.memory_id for event in events}), 'memory')}."]


def result_lines(result: Consolidated) -> list[str]:
    """Say what a dream did, step by step, and in a dry run which memories it would touch and why."""
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
        lines.append(f"`reverie dreams {result.dream_id}` shows it.")
    return lines
