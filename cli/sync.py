"""`reverie sync`: shows what would be forgotten and where both sides changed, asks, and brings both in step."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.cli.commands import Options, alone_with_the_store
from reverie.cli.requests import SyncRequest
from reverie.cli.terminal import DONE, FAILED, Line, ask, can_ask, counted, note, say, say_json
from reverie.clients.sync_folder import Answers, Synced, checked_folder, sync
from reverie.tools.requests import checked_label
from reverie.tools.sync_store import one_sync_at_a_time

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
            return _told(foreseen, request, options)
        answers = Answers(_about_conflicts(foreseen, request, options), _about_gone(foreseen, options))
        with alone_with_the_store(if_needed=not foreseen.is_in_step):
            done = await sync(session, root, state_file, project=project, trust=request.trust, answers=answers)
    return _told(done, request, options)


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


def _told(result: Synced, request: SyncRequest, options: Options) -> int:
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
