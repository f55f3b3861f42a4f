"""`reverie export` and `reverie import`: carrying memories in and out of files."""

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from reverie.cli.commands import Options, alone_with_the_store
from reverie.cli.requests import ExportRequest, ImportRequest
from reverie.cli.terminal import DONE, FAILED, Progress, columns, counted, interruptible, note, say, say_json
from reverie.errors import InvalidInput, ReverieError
from reverie.tools.export_jsonl import STDOUT, Exported, export
from reverie.tools.import_jsonl import Imported, import_memories

if TYPE_CHECKING:
    from reverie.tools.session import Session


_STDIN = "-"
_BAD_LINES_SHOWN = 20


async def run_export(session: "Session", request: ExportRequest, options: Options) -> int:
    """Write an export and say how much went where; on stdout there is nothing but the memories."""
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


async def run_import(session: "Session", request: ImportRequest, options: Options) -> int:
    """Import a file and report each line that was skipped; 1 if no line could be read."""
    bar = Progress("Importing")
    tally = Imported()
    started = time.perf_counter()
    with _source(request.file) as (file, size):

        def show(so_far: Imported) -> None:
            nonlocal tally
            tally = so_far
            bar.show(file.tell() / size if size else None, f"{counted(so_far.lines, 'line')}")

        try:
            with alone_with_the_store():
                await import_memories(session, file, show, trust=request.trust, revive=request.revive)
        except ReverieError:
            bar.done()
            note(
                f"reverie: stopped after {counted(tally.lines, 'line')}: {counted(tally.added, 'memory')} added, "
                f"{tally.updated:,} updated. They are kept, and the same file can be imported again."
            )
            raise
        finally:
            bar.done()
    if options.json:
        say_json({name: value for name, value in asdict(tally).items() if name != "forgotten_ids"})
    else:
        say(*_import_lines(tally, request.file, time.perf_counter() - started))
    return FAILED if tally.skipped == tally.lines else DONE


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
