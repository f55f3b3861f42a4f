"""`reverie forget`, `restore`, `purge` and `quarantine`: each shows what it would do, and asks first."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from reverie.cli.commands import CommandSession, Options
from reverie.cli.dreams import undo_dream
from reverie.cli.requests import PurgeRequest, QuarantineRequest
from reverie.cli.run import alone_with_the_store
from reverie.cli.terminal import (
    DONE,
    FAILED,
    Cell,
    Line,
    Span,
    agreed,
    counted,
    one_line,
    paragraph,
    say,
    say_json,
    shortened,
    table,
    terminal_width,
)
from reverie.ids import short_id, short_ids
from reverie.tools import catalog
from reverie.tools.render import render
from reverie.tools.requests import MOST_IDS, ForgetRequest, NamedRequest, RestoreRequest
from reverie.tools.results import Forgotten

if TYPE_CHECKING:
    from reverie.tools.quarantine import Decided, Held
    from reverie.tools.session import Session

_MOST_SHOWN = 20


async def run_forget(session: CommandSession, request: ForgetRequest, options: Options) -> int:
    """Forget memories by id or filter; 1 if none could be."""
    return await _forget(session, request, options)


async def run_purge(session: CommandSession, request: PurgeRequest, options: Options) -> int:
    """Remove memories for good, and report which were not removed; 1 if none could be."""
    return await _forget(session, ForgetRequest(ids=request.ids, purge=True, dry_run=request.dry_run), options)


async def _forget(session: CommandSession, request: ForgetRequest, options: Options) -> int:
    if not (request.dry_run or options.yes):
        planned = await catalog.call(catalog.FORGET, session, replace(request, dry_run=True))
        if planned.forgotten:
            verb = "Remove for good" if request.purge else "Forget"
            plan = await _plan(session, planned, request.ids)
            if not agreed(*plan, question=f"{verb} {counted(len(planned.forgotten), 'memory')}?", yes=False):
                return FAILED
            request = _as_shown(request, planned)
    with alone_with_the_store(if_needed=request.purge and not request.dry_run):
        result = await catalog.call(catalog.FORGET, session, request)
    if options.json:
        say_json(result)
    elif request.purge:
        say(*_purge_lines(result, request.ids))
    else:
        say(*render(result).splitlines())
        if result.dry_run:
            say(*await _plan(session, result, request.ids))
        elif result.forgotten:
            say("`reverie restore ID` brings one back.")
    return DONE if result.forgotten else FAILED


async def _plan(session: CommandSession, planned: Forgotten, asked: Sequence[str]) -> list[Line]:
    """List what would be forgotten, what a dream derived from it, and what stays and why."""
    ids = planned.forgotten
    along = [one for one in ids if asked and not one.startswith(tuple(asked))]
    lines = await _memory_lines(session, ids)
    lines += [f"  derived from them by a dream, so included: {', '.join(short_ids(along).values())}"] if along else []
    left = [f"  stays: {short_id(one.id)} ({one_line(one.reason)})" for one in planned.skipped[:_MOST_SHOWN]]
    return [*lines, *left]


async def _memory_lines(session: CommandSession, ids: Sequence[str]) -> list[Line]:
    """Show the first of some memories, one a line, and count the rest."""
    if not ids:  # a filter that fits nothing
        return []
    shown = await catalog.call(catalog.NAMED, session, NamedRequest(ids=tuple(ids[:_MOST_SHOWN])))
    short = short_ids(ids)
    width = max(20, terminal_width() - 40)
    rows: list[tuple[Cell, ...]] = [
        (Span(short[memory.id], "cyan"), f"{memory.layer}/{memory.kind}", shortened(memory.title, width))
        for memory in shown.memories
    ]
    more = len(ids) - len(rows)
    return [*table(rows), *([f"  and {more:,} more"] if more else [])]


def _as_shown(request: ForgetRequest, planned: Forgotten) -> ForgetRequest:
    """Return a request for exactly what was shown: by the time of the answer, a filter may match more."""
    if request.ids or request.purge or len(planned.forgotten) > MOST_IDS:
        return request
    return ForgetRequest(ids=tuple(planned.forgotten), reason=request.reason)


def _purge_lines(result: Forgotten, asked: Sequence[str]) -> list[Line]:
    verb = "Would remove" if result.dry_run else "Removed"
    lines: list[Line] = [f"{verb} {counted(len(result.forgotten), 'memory')} for good."]
    along = [memory_id for memory_id in result.forgotten if asked and not memory_id.startswith(tuple(asked))]
    lines += [f"Included, because a dream derived them from these: {', '.join(along)}."] if along else []
    lines += [f"Left {item.id}: {item.reason}." for item in result.skipped]
    if result.forgotten and not result.dry_run:
        lines.append("Files that you exported earlier still have them; delete those yourself.")
    return lines


async def run_restore(session: CommandSession, request: RestoreRequest, options: Options) -> int:
    """Bring memories back; before undoing a dream or an event, show it and ask."""
    if request.dream_id and not (request.ids or request.event_id):
        return await undo_dream(session, request.dream_id, options)
    if request.event_id and not (request.ids or options.yes):
        plan = await catalog.call(catalog.UNDO_PLAN, session, request)
        if not agreed(*plan.lines, question="Undo it?", yes=False):
            return FAILED
    result = await catalog.call(catalog.RESTORE, session, request)
    if options.json:
        say_json(result)
    else:
        say(*render(result).splitlines())
    return DONE


async def run_quarantine(session: "Session", request: QuarantineRequest, options: Options) -> int:
    """List the memories in quarantine, or release or forget some of them."""
    from reverie.tools.quarantine import decide, held_memories  # imports LanceDB, which `forget` does not need
    from reverie.tools.resolve import resolved_each

    if not (request.release or request.forget):
        held = await held_memories(session)
        if options.json:
            say_json([asdict(one) for one in held])
        else:
            say(*_held_lines(held))
        return DONE
    if request.forget:
        going = await resolved_each(session, request.forget, "--forget")
        plan = await _memory_lines(session, [memory.id for memory in going])
        if not agreed(*plan, question=f"Forget {counted(len(going), 'memory')}?", yes=options.yes):
            return FAILED
    decided = await decide(session, release=request.release, discard=request.forget, actor="quarantine")
    if options.json:
        say_json(decided)
    else:
        say(*_decided_lines(decided))
    return DONE


def _decided_lines(decided: "Decided") -> list[Line]:
    done = {"Released": decided.released, "Forgotten": decided.forgotten}
    lines = [f"{word} {', '.join(ids)}." for word, ids in done.items() if ids]
    return [*lines, *(f"Left {item.id}: it {item.reason}." for item in decided.skipped)]


def _held_lines(held: "Sequence[Held]") -> list[Line]:
    if not held:
        return ["Nothing is held back."]
    lines: list[Line] = []
    for one in held:
        label = f"  from {one.source}, {one.created_at[:10]}: {one_line(one.reason)}"
        lines += [(Span(one.id, "cyan"), label), paragraph(one.content), ""]
    return [*lines, "`reverie quarantine --release ID` makes one recallable; `--forget ID` forgets it."]
