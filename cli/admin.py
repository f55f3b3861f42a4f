"""`reverie doctor`, `audit`, `reembed` and `move`: checking, converting and moving a store."""

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reverie.cli.commands import Options
from reverie.cli.engine import engine_check
from reverie.cli.requests import AuditRequest, DoctorRequest, MoveHomeRequest, NoRequest
from reverie.cli.run import alone_with_the_store
from reverie.cli.terminal import DONE, FAILED, Line, Progress, Span, counted, one_line, say, say_json
from reverie.clients.hook_trace import described_runs
from reverie.embeddings.base import embedder_from
from reverie.errors import AmbiguousId, InvalidInput, MemoryNotFound, SettingError, StoreUnavailable
from reverie.ids import SHORTEST_PREFIX
from reverie.memory import Memory, author_of
from reverie.settings import HOME, HOST_FOLDER, Settings, load_settings
from reverie.storage.audit import Audit, accept, audit
from reverie.storage.database import Stamp
from reverie.storage.homes import DomainHome, home_of
from reverie.storage.reembed import reembed, stamp_of
from reverie.storage.scope import owner_in
from reverie.time import clock_from
from reverie.tools.doctor import Check, Doctor, versions

if TYPE_CHECKING:
    from reverie.storage.journal import Row
    from reverie.storage.reembed import Made
    from reverie.tools.session import Session


_MARKS: Mapping[str, Span] = {
    "ok": Span("ok  ", "green"),
    "warn": Span("warn", "yellow"),
    "fail": Span("FAIL", "red"),
}


async def run_doctor(request: DoctorRequest, options: Options) -> int:
    """Check everything and report it; 1 if a check failed."""
    try:
        settings = load_settings()
        with alone_with_the_store(if_needed=request.fix):
            checks = [*await Doctor(settings, fix=request.fix).examine(), engine_check(os.environ), _hook_check()]
    except SettingError as error:
        checks = [versions(), Check("settings", "fail", str(error))]
    failed = sum(check.state == "fail" for check in checks)
    if options.json:
        say_json({"healthy": not failed, "checks": [asdict(check) for check in checks]})
    else:
        say(*_checks_lines(checks))
    return FAILED if failed else DONE


def _hook_check() -> Check:
    """Report when clients last ran `reverie-hook`: a hook that cannot start reports nothing by itself."""
    went_well, found = described_runs(os.environ)
    advice = "See docs/hooks.md; a hook that fails once, as after a pause, does no harm."
    return Check("hooks", "ok" if went_well else "warn", found, advice)


def _checks_lines(checks: list[Check]) -> list[Line]:
    width = max(len(check.name) for check in checks)
    lines: list[Line] = []
    for check in checks:
        lines.append((_MARKS[check.state], f"  {check.name.ljust(width)}  {check.found}"))
        if check.advice and check.state != "ok":
            lines.append(f"      {' ' * width}  → {check.advice}")
    failed, warned = (sum(check.state == state for check in checks) for state in ("fail", "warn"))
    if failed:
        verdict = f"{failed} of {len(checks)} checks failed."
    elif warned:
        verdict = f"It works; {warned} of {len(checks)} checks have a warning."
    else:
        verdict = "Everything is in order."
    return [*lines, "", verdict]


async def run_reembed(_request: NoRequest, options: Options) -> int:
    """Convert the store and say from what to what."""
    with alone_with_the_store():
        return await _reembed(options)


async def _reembed(options: Options) -> int:
    settings = load_settings()
    embedder = embedder_from(settings)
    home = home_of(settings.domain_uri, settings.domain_folder)
    before = await stamp_of(home)
    if before is None:
        return _report(
            options, "none", embedder.stamp, 0, f"There is no store in {home.name} yet: nothing to convert."
        )
    embedder.warm()
    bar = Progress("Embedding")
    started = time.perf_counter()

    def embed(texts: Sequence[str]) -> "list[Made]":
        return [(embedding.vector, embedding.passages, embedding.pieces) for embedding in embedder.embed(texts)]

    try:
        converted = await reembed(
            home,
            Stamp(embedder.stamp, embedder.dimensions),
            embed,
            now=clock_from(settings.clock)(),
            progress=lambda done, total: bar.show(done / (total or 1), f"{done:,} of {total:,} texts"),
        )
    finally:
        bar.done()
    if converted is None:
        return _report(
            options, before.embedder, embedder.stamp, 0, f"The store is already embedded with {embedder.stamp}."
        )
    return _report(
        options,
        before.embedder,
        embedder.stamp,
        converted,
        f"Converted {counted(converted, 'memory')} from {before.embedder} to {embedder.stamp} "
        f"in {time.perf_counter() - started:.1f} s.",
    )


def _report(options: Options, before: str, now: str, converted: int, sentence: str) -> int:
    if options.json:
        say_json({"before": before, "embedder": now, "converted": converted})
    else:
        say(sentence)
    return DONE


_LONGEST_REASON = 60
_IDS_AT_ONCE = 500


async def run_audit(session: "Session", request: AuditRequest, options: Options) -> int:
    """Follow the chain of events, compare the rows with it, and print the last events; 1 if something was tampered
    with. With `--accept` the person takes the store as it is."""
    if request.accept:
        return await _accept(session, options)
    found = await audit(session.store)
    last = await _in_scope(session, await session.store.journal.rows())
    if request.about:
        last = _about(last, request.about)
    last = last[-request.last :]
    if options.json:
        say_json({**asdict(found), "intact": found.intact, "last": last})
    else:
        elsewhere = (
            [] if options.all_projects else ["Only events of this project are shown; --all-projects shows all."]
        )
        say(*map(_event_line, last), *([""] if last else []), *_audit_lines(found), *elsewhere)
    return DONE if found.intact else FAILED


async def _accept(session: "Session", options: Options) -> int:
    found = await accept(session.store, actor="audit", at=session.now)
    if options.json:
        say_json({**asdict(found), "intact": found.intact, "accepted": True})
    else:
        say(
            *(f"- {fault}" for fault in found.faults),
            f"Accepted as it is, with {counted(len(found.faults), 'fault')}; the journal says so."
            if found.faults
            else "There was no fault. The present state is accepted; the journal says so.",
        )
    return DONE


async def _in_scope(session: "Session", rows: "list[Row]") -> "list[Row]":
    """Leave out events of memories of other projects, even of memories that are gone.

    Events of other people's personal memories are always left out.
    """
    ids = list(dict.fromkeys(row["memory_id"] for row in rows if row["memory_id"]))
    memories: dict[str, Memory] = {}
    for start in range(0, len(ids), _IDS_AT_ONCE):
        memories |= await session.whole_store.get(ids[start : start + _IDS_AT_ONCE])
    projects = {memory.id: memory.project for memory in memories.values()}
    hidden = {memory.id for memory in memories.values() if not session.store.viewer.sees(memory)}
    for row in rows:  # of a memory that is gone, the project and the owner are in its own events
        if row["memory_id"] in memories:
            continue
        values = json.loads(row["before"]) | json.loads(row["after"])
        if project := values.get("project"):
            projects[row["memory_id"]] = project
        if not session.store.viewer.sees_owner(owner_in(values)):
            hidden.add(row["memory_id"])
    hidden |= {one for one, project in projects.items() if not session.sees_project(project)}
    return [row for row in rows if row["memory_id"] not in hidden]


def _about(rows: "list[Row]", given: str) -> "list[Row]":
    """Return the events of the one memory that an id names, even if that memory is gone."""
    ids = {row["memory_id"] for row in rows if row["memory_id"]}
    found = [given] if given in ids else sorted(one for one in ids if one.startswith(given))
    if found != [given] and len(given) < SHORTEST_PREFIX:
        raise InvalidInput("--about", f"{given!r} is too short", f"Give at least {SHORTEST_PREFIX} characters.")
    if not found:
        raise MemoryNotFound(given)
    if len(found) > 1:
        raise AmbiguousId(given, found)
    return [row for row in rows if row["memory_id"] == found[0]]


def _audit_lines(found: Audit) -> list[str]:
    unchecked = [f"Not checked: {reason}." for reason in found.unchecked]
    if not found.intact:
        return [
            "The store was tampered with:",
            *(f"- {fault}" for fault in found.faults),
            *unchecked,
            "If you did it on purpose, as by restoring a backup, `reverie audit --accept` accepts this state.",
        ]
    lines = [
        f"The journal is as it was written: {counted(found.events, 'event')}, each linked to the one before.",
        f"{counted(found.memories, 'memory')} as the last event about each left it.",
    ]
    if found.folded:
        lines.append(
            f"{counted(found.folded, 'earlier event')} that replaced nothing were folded away after 90 days."
        )
    if found.purged:
        lines.append(f"{counted(found.purged, 'event')} had their texts removed by a purge.")
    lines += unchecked
    return [*lines, f"Its last link is {found.head.number} {found.head.hash}: note it elsewhere to compare later."]


def _event_line(row: "Row") -> str:
    reason = one_line(row["reason"] or "")[:_LONGEST_REASON]
    what = f"{row['number']:>6}  {row['at'][:19]}  {row['action']:<12} {row['memory_id']:<18} by {row['actor']}"
    if author := author_of(row["session"]):
        what += f" of {author}"
    return f"{what}: {reason}" if reason else what


_DOMAINS: Final = "domains"


async def run_move(request: MoveHomeRequest, options: Options) -> int:
    """Move every domain of the home that is set, and say what to set now."""
    with alone_with_the_store():
        return await _move(request, options)


async def _move(request: MoveHomeRequest, options: Options) -> int:
    try:
        from reverie.storage.move import move  # needs a package that only homes in buckets use
    except ImportError as error:
        raise StoreUnavailable("`reverie move` needs one more package: pip install 'reverie-mcp[team]'.") from error

    settings = load_settings()
    target = _settings_for(request.to, settings)
    memories = files = 0
    for domain in await _domains(settings):
        bar = Progress(f"Copying {domain}")
        try:
            moved = await move(
                _home(replace(settings, domain=domain)),
                _home(replace(target, domain=domain)),
                now=clock_from(settings.clock)(),
                progress=partial(_show_files, bar),
                keep=request.copy,
            )
        finally:
            bar.done()
        if moved is not None:
            memories, files = memories + moved.memories, files + moved.files
    if options.json:
        say_json(
            {"from": settings.home, "to": target.home, "copy": request.copy, "memories": memories, "files": files}
        )
        return DONE
    if not files:
        say(f"There is no store in {settings.home} yet: nothing to move.")
        return DONE
    say(f"{counted(memories, 'memory')} in {files:,} files were copied to {target.home}, read back and compared.")
    if request.copy:
        say(f"{settings.home} stays in use. To restore the copy, set {HOME.variable}={target.home} and move it back.")
        return DONE
    say(f"Set {HOME.variable}={target.home} from now on. The copy in {settings.home} stays until you remove it.")
    if settings.is_local and (Path(settings.home) / "reverie.toml").exists():
        say("reverie.toml is not read from a bucket: set its values in the environment of every host.")
    return DONE


def _show_files(bar: Progress, done: int, total: int) -> None:
    bar.show(done / (total or 1), f"{done:,} of {total:,} files")


def _settings_for(to: str, settings: Settings) -> Settings:
    own = {HOME.variable: to} | ({HOST_FOLDER.variable: settings.host_folder} if settings.host_folder else {})
    return replace(settings, home=load_settings(own).home)


def _home(settings: Settings) -> DomainHome:
    return home_of(settings.domain_uri, settings.domain_folder)


async def _domains(settings: Settings) -> list[str]:
    if settings.is_local:
        folder = Path(settings.home) / _DOMAINS
        return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    from reverie.storage.bucket import domains_in

    return await domains_in(f"{settings.home.rstrip('/')}/{_DOMAINS}")
