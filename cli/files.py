"""`reverie export`, `import` and `sync`: carrying memories in and out of files.

JSON Lines of Reverie are imported as they are. What other programs wrote is turned into notes first, shown, and asked
about. A sync shows what would be forgotten and where both sides changed, asks, and brings both in step.
"""

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from reverie.cli.commands import Options
from reverie.cli.requests import ExportRequest, ImportRequest, SyncRequest
from reverie.cli.run import alone_with_the_store
from reverie.cli.terminal import (
    DONE,
    FAILED,
    Line,
    Progress,
    agreed,
    ask,
    can_ask,
    columns,
    counted,
    interruptible,
    note,
    say,
    say_json,
    shortened,
    terminal_width,
)
from reverie.clients.importers import MARKDOWN_READERS, Collected, collect
from reverie.clients.sync_folder import Answers, Synced, checked_folder, export_okf, sync
from reverie.errors import InvalidInput, ReverieError
from reverie.ids import short_id
from reverie.memory import Memory
from reverie.tools.export_jsonl import STDOUT, Exported, export
from reverie.tools.export_jsonl import Line as NotedLine
from reverie.tools.import_files import ImportPlan, Problem, import_notes, plan_import
from reverie.tools.import_jsonl import Imported, import_memories
from reverie.tools.requests import checked_label
from reverie.tools.sync_store import one_sync_at_a_time

if TYPE_CHECKING:
    from reverie.tools.session import Session


_STDIN = "-"
_BAD_LINES_SHOWN = 20


async def run_export(session: "Session", request: ExportRequest, options: Options) -> int:
    """Write an export and say how much went where; on stdout there is nothing but the memories."""
    if request.format == "okf":
        return await _export_okf(session, request, options)
    bar = Progress("Exporting")
    try:
        result = await export(
            session,
            request.file,
            project=request.project,
            progress=lambda done, total: bar.show(done / (total or 1), f"{done:,} of {total:,}"),
        )
    finally:
        bar.done()
    _note_unsealed(result)
    if request.file == STDOUT:
        return DONE
    if options.json:
        say_json({"memories": result.memories, "file": result.file})
    else:
        say(f"Exported {counted(result.memories, 'memory')} to {result.file}.")
    return DONE


def _note_unsealed(result: Exported) -> None:
    if not result.sealed:
        note(
            "reverie: the lines carry no seal, because the key of this installation cannot be made: an import will "
            "take them for a stranger's unless --trust is given. REVERIE_CONFIG names the key's folder."
        )


async def _export_okf(session: "Session", request: ExportRequest, options: Options) -> int:
    """Write a folder of Markdown files; 1 if one of them could not be written or read."""
    if request.file == STDOUT:
        raise InvalidInput("FILE", "a folder is needed for okf, not stdout", "Name a folder.")
    result = await export_okf(session, request.file, project=request.project)
    if options.json:
        problems = [str(problem) for problem in result.problems]
        say_json(
            {"memories": result.added, "folder": request.file, "written": len(result.written), "problems": problems}
        )
    else:
        written = counted(len(result.written), "file")
        memories = counted(result.added, "memory")
        say(f"Exported {memories} to {request.file}: {written} written, the others as they were.")
        say(*_problem_lines(result.problems))
    return FAILED if result.problems else DONE


async def run_import(session: "Session", request: ImportRequest, options: Options) -> int:
    """Import files and folders, and report what was skipped; 1 if nothing could be read."""
    wanted = None if request.format == "auto" else request.format
    root = session.here.root or session.folder
    found = collect(request.files, root, wanted)
    if found.own and request.dry_run:
        raise InvalidInput(
            "--dry-run", f"{found.own[0]} is an export of Reverie, which is not previewed", "Leave it out."
        )
    codes = [await _import_own(session, name, request, options) for name in found.own]
    if found.files or found.problems:
        codes.append(await _import_notes(session, found, request, options))
    return FAILED if all(codes) else DONE


async def _import_own(session: "Session", name: str, request: ImportRequest, options: Options) -> int:
    """Import JSON Lines and report each line that was skipped; 1 if no line could be read."""
    bar = Progress("Importing")
    tally = Imported()
    started = time.perf_counter()
    with _source(name) as (file, size):

        def show(so_far: Imported) -> None:
            nonlocal tally
            tally = so_far
            bar.show(file.tell() / size if size else None, f"{counted(so_far.lines, 'line')}")

        with _report_if_stopped(bar, lambda: tally), alone_with_the_store():
            await import_memories(session, file, show, trust=request.trust, revive=request.revive)
    if options.json:
        say_json(_counts(tally))
    else:
        say(*_import_lines(tally, name, time.perf_counter() - started))
    return FAILED if tally.skipped == tally.lines else DONE


@contextmanager
def _report_if_stopped(bar: Progress, tally: Callable[[], Imported]) -> Iterator[None]:
    """Say how far an import came that fails."""
    try:
        yield
    except ReverieError:
        bar.done()
        done = tally()
        note(
            f"reverie: stopped after {counted(done.lines, 'line')}: {counted(done.added, 'memory')} added, "
            f"{done.updated:,} updated. They are kept, and the same file can be imported again."
        )
        raise
    finally:
        bar.done()


def _counts(tally: Imported) -> dict[str, object]:
    return {name: value for name, value in asdict(tally).items() if name != "forgotten_ids"}


async def _import_notes(session: "Session", found: Collected, request: ImportRequest, options: Options) -> int:
    """Show what other programs' files would bring, ask, and import it; 1 if nothing could be read."""
    lined = [one.file for one in found.files if one.format in MARKDOWN_READERS]
    plan = await plan_import(session, found.notes, found.root, files=lined, project=request.project)
    preview = [*_preview_lines(found, plan), *_problem_lines(found.problems)]
    if request.dry_run or not found.notes:
        if options.json:
            say_json(_plan_counts(found, plan))
        else:
            say(*preview)
        return DONE if found.notes else FAILED
    question = f"Import {counted(len(plan.lines), 'note')}?"
    if plan.lines and not agreed(*preview, question=question, yes=options.yes):
        return FAILED
    bar = Progress("Importing")
    tally = Imported()
    started = time.perf_counter()

    def show(so_far: Imported) -> None:
        nonlocal tally
        tally = so_far
        bar.show(so_far.lines / (len(plan.lines) or 1), f"{counted(so_far.lines, 'note')}")

    with _report_if_stopped(bar, lambda: tally), alone_with_the_store():
        done = await import_notes(session, plan, show, trust=request.trust, revive=request.revive)
    if options.json:
        gone = [{"id": memory.id, "source_ref": memory.source_ref} for memory in done.gone]
        say_json(_counts(done.tally) | _plan_counts(found, plan) | {"superseded": done.superseded, "gone": gone})
        return DONE
    where = found.files[0].file if len(found.files) == 1 else counted(len(found.files), "file")
    say(*_import_lines(done.tally, where, time.perf_counter() - started))
    if done.superseded:
        say(f"{counted(done.superseded, 'changed line')} took the place of what was imported before.")
    if plan.known:
        say(f"Remembered already, word for word: {counted(plan.known, 'note')}.")
    say(*_gone_lines(done.gone), *_problem_lines(found.problems))
    return DONE


def _plan_counts(found: Collected, plan: ImportPlan) -> dict[str, object]:
    return {
        "files": [asdict(one) for one in found.files],
        "notes": len(found.notes),
        "new": len(plan.new),
        "known": plan.known,
        "repeated": plan.repeated,
        "changed": len(plan.replaces),
        "no_longer_there": len(plan.gone),
        "problems": [str(problem) for problem in found.problems],
    }


_NOTES_SHOWN = 8
_FILES_SHOWN = 15


def _preview_lines(found: Collected, plan: ImportPlan) -> list[Line]:
    """Say what was found in which file, show the first notes, and count what is new."""
    rows = [(one.file, one.format, counted(one.notes, "note")) for one in found.files[:_FILES_SHOWN]]
    lines: list[Line] = list(columns(rows))
    if len(found.files) > _FILES_SHOWN:
        lines.append(f"  and {len(found.files) - _FILES_SHOWN:,} more files")
    new = set(plan.new)
    shown = [line.values for line in plan.lines if isinstance(line, NotedLine) and line.values["id"] in new]
    width = max(20, terminal_width() - 36)
    if shown:
        lines += ["", "For example:"]
        lines += columns(
            [(str(one["source_ref"])[-30:], shortened(str(one["content"]), width)) for one in shown[:_NOTES_SHOWN]]
        )
    counts = [f"{len(plan.new):,} new", f"{len(plan.lines) - len(plan.new):,} imported before"]
    counts += [f"{plan.known:,} known word for word"] if plan.known else []
    counts += [f"{plan.repeated:,} said twice"] if plan.repeated else []
    counts += [f"{len(plan.replaces):,} of the new ones are changed lines"] if plan.replaces else []
    return [*lines, "", f"{counted(len(found.notes), 'note')}: {', '.join(counts)}.", *_gone_lines(plan.gone)]


def _gone_lines(gone: Sequence[Memory]) -> list[Line]:
    if not gone:
        return []
    rows = [(short_id(one.id), str(one.source_ref), shortened(one.title, 60)) for one in gone[:_NOTES_SHOWN]]
    more = [f"  and {len(gone) - _NOTES_SHOWN:,} more"] if len(gone) > _NOTES_SHOWN else []
    return [
        f"{counted(len(gone), 'memory')} came from lines that are no longer there; `reverie forget ID` forgets one:",
        *columns(rows),
        *more,
    ]


def _problem_lines(problems: Sequence[Problem]) -> list[Line]:
    if not problems:
        return []
    more = len(problems) - _BAD_LINES_SHOWN
    return [
        "Not read or written:",
        *(f"  {problem}" for problem in problems[:_BAD_LINES_SHOWN]),
        *([f"  and {more:,} more; --json lists them"] if more > 0 else []),
    ]


@contextmanager
def _source(name: str) -> Iterator[tuple[BinaryIO, int]]:
    """Open what is to be imported, with its size if that is known."""
    if name == _STDIN:
        with tempfile.TemporaryFile() as log_file:
            with interruptible():
                shutil.copyfileobj(sys.stdin.buffer, log_file)
            size = log_file.tell()
            log_file.seek(0)
            yield log_file, size
        return
    path = Path(name)
    try:
        file = path.open("rb")
    except OSError as error:
        raise InvalidInput("FILE", f"{name} cannot be read ({error.strerror})", "Name a JSON Lines file.") from None
    with file:
        yield file, path.stat().st_size if path.is_file() else 0


def _import_lines(tally: Imported, name: str, seconds: float) -> list[str]:
    kept = tally.added + tally.updated + tally.unchanged
    parts = [f"{tally.added:,} new", f"{tally.updated:,} updated", f"{tally.unchanged:,} unchanged"]
    where = "stdin" if name == _STDIN else name
    lines = [f"Imported {counted(kept, 'memory')} from {where} in {seconds:.1f} s: {', '.join(parts)}."]
    if not tally.lines:
        return [f"There is no line in {where}: nothing was imported."]
    if tally.unproven:
        edited = f" ({tally.broken_seals:,} with a seal that does not fit)" if tally.broken_seals else ""
        lines.append(
            f"{counted(tally.unproven, 'line')}{edited} were not exported here, and are trusted at most at 0.5; "
            "--trust takes them at their word."
        )
    if tally.revived:
        lines.append(f"Brought back {counted(tally.revived, 'memory')} that had been forgotten here.")
    elif tally.forgotten:
        lines.append(
            f"Left out {counted(tally.forgotten, 'line')} about memories that were forgotten here since; --revive "
            "brings them back."
        )
    if tally.redacted:
        lines.append(f"Took secrets or private parts out of {counted(tally.redacted, 'line')}.")
    if tally.quarantined:
        lines.append(f"Held back {counted(tally.quarantined, 'memory')} for review: see `reverie quarantine`.")
    if tally.purged:
        lines.append(f"Kept out {counted(tally.purged, 'line')} whose text was purged here.")
    if tally.skipped:
        lines.append(f"Skipped {counted(tally.skipped, 'line')}:")
        lines += columns([(f"line {bad.line}", bad.reason) for bad in tally.bad_lines[:_BAD_LINES_SHOWN]])
    if tally.skipped > _BAD_LINES_SHOWN:
        lines.append(f"  and {tally.skipped - _BAD_LINES_SHOWN:,} more; --json lists up to a thousand")
    return lines


if TYPE_CHECKING:
    from reverie.tools.session import Session

_SHOWN = 20
_CHOICES = {"b": "both", "f": "file", "s": "store"}


async def run_sync(session: "Session", request: SyncRequest, options: Options) -> int:
    """Bring a folder and the store in step; 1 if a file could not be read or written."""
    project = session.project_for(checked_label("--project", request.project))
    async with one_sync_at_a_time(session, Path(request.folder)) as state_file:
        is_new = not state_file.exists()
        root = checked_folder(
            session, request.folder, make=is_new and not request.dry_run, may_lack=is_new and request.dry_run
        )
        foreseen = await sync(session, root, state_file, project=project, trust=request.trust, dry_run=True)
        if request.dry_run:
            return _report(foreseen, request, options)
        answers = Answers(_about_conflicts(foreseen, request, options), _about_gone(foreseen, options))
        with alone_with_the_store(if_needed=not foreseen.is_in_step):
            done = await sync(session, root, state_file, project=project, trust=request.trust, answers=answers)
    return _report(done, request, options)


def _about_conflicts(foreseen: Synced, request: SyncRequest, options: Options) -> dict[str, str]:
    """Ask what stands where both sides changed a text; without a terminal or with --yes, both do."""
    if request.prefer != "ask":
        return dict.fromkeys(foreseen.conflicts, request.prefer)
    chosen: dict[str, str] = {}
    if options.yes or not can_ask():
        return chosen
    for path in foreseen.conflicts:
        note(f"{path} and its memory were both changed since the last sync.")
        answer = ask("Keep [b]oth, the [f]ile's text or the [s]tore's? [b] ")[:1].casefold()
        chosen[path] = _CHOICES.get(answer, "both")
    return chosen


def _about_gone(foreseen: Synced, options: Options) -> dict[str, bool]:
    """Ask whether to forget memories whose files are gone; without a terminal that waits for --yes."""
    gone = foreseen.pending
    if not gone or options.yes:
        return dict.fromkeys(gone, True)
    if not can_ask():
        return {}
    note("Removed, or marked as deprecated:", *_listed(gone))
    agreed = ask("Forget their memories? `reverie restore` brings one back. [y/N] ").casefold() in ("y", "yes")
    return dict.fromkeys(gone, agreed)


def _report(result: Synced, request: SyncRequest, options: Options) -> int:
    if options.json:
        problems = [str(problem) for problem in result.problems]
        say_json(asdict(result) | {"problems": problems, "dry_run": request.dry_run})
    else:
        say(*_lines(result, request))
    return FAILED if result.problems else DONE


def _lines(result: Synced, request: SyncRequest) -> list[Line]:
    lines: list[Line] = []
    if result.is_in_step:
        lines.append(f"{request.folder} and the store are in step.")
    else:
        would = "Would bring" if request.dry_run else "Brought"
        lines.append(f"{would} {request.folder} and the store in step:")
        to_store = [
            f"{number:,} {word}"
            for number, word in (
                (result.added, "new"),
                (result.revised, "revised"),
                (result.updated, "updated"),
                (len(result.forgotten), "forgotten"),
            )
            if number
        ]
        lines += [f"  memories: {', '.join(to_store)}"] if to_store else []
        lines += [f"  files written: {len(result.written):,}"] if result.written else []
        lines += [f"  files removed: {len(result.removed):,}"] if result.removed else []
    if result.conflicts:
        lines += ["Both sides changed these texts:", *_listed(result.conflicts)]
        if result.questions:
            lines.append("Both are kept; `reverie review` asks which of them holds.")
    if result.merged:
        lines += ["Both sides changed one field, and the file's stands:", *_listed(result.merged)]
    if result.pending:
        lines += ["These files are gone; their memories stay until --yes forgets them:", *_listed(result.pending)]
    if result.quarantined:
        lines.append(f"Held back {counted(result.quarantined, 'memory')} for review: see `reverie quarantine`.")
    if result.redacted:
        lines.append(f"Took secrets or private parts out of {counted(result.redacted, 'file')}.")
    if result.problems:
        lines += ["Left alone:", *_listed([str(problem) for problem in result.problems])]
    return lines


def _listed(texts: Sequence[str]) -> list[Line]:
    more = [f"  and {len(texts) - _SHOWN:,} more"] if len(texts) > _SHOWN else []
    return [*(f"  {text}" for text in texts[:_SHOWN]), *more]
