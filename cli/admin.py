"""`reverie doctor`, `reembed`, `audit`, `purge` and `quarantine`: looking after a store."""

import json
import time
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.cli.terminal import Progress, counted, paragraph, say, say_json
from reverie.embeddings.base import embedder_from
from reverie.errors import AmbiguousId, InvalidInput, MemoryNotFound, SettingError
from reverie.guard.fence import neutralized_line
from reverie.ids import SHORTEST_PREFIX
from reverie.memory import Memory
from reverie.settings import Settings, load_settings
from reverie.storage.audit import Audit, accept, audit
from reverie.storage.database import Stamp
from reverie.storage.reembed import reembed, stamp_of
from reverie.time import clock_from
from reverie.tools.arguments import checked_number
from reverie.tools.doctor import Check, Doctor, versions
from reverie.tools.forget import forget
from reverie.tools.quarantine import Decided, Held, decide, held_memories
from reverie.tools.requests import ForgetRequest
from reverie.tools.results import Forgotten

if TYPE_CHECKING:
    from reverie.storage.journal import Row
    from reverie.storage.reembed import Made
    from reverie.tools.session import Session


_MARKS = {"ok": "ok  ", "warn": "warn", "fail": "FAIL"}


async def run_doctor(given: Namespace) -> int:
    """Look at everything and tell it; 1 if anything has failed."""
    try:
        checks = await Doctor(load_settings(), fix=given.fix).examine()
    except SettingError as error:
        checks = [versions(), Check("settings", "fail", str(error))]
    failed = sum(check.state == "fail" for check in checks)
    if given.json:
        say_json({"healthy": not failed, "checks": [asdict(check) for check in checks]})
    else:
        say(*_checks_lines(checks))
    return 1 if failed else 0


def _checks_lines(checks: list[Check]) -> list[str]:
    width = max(len(check.name) for check in checks)
    lines = []
    for check in checks:
        lines.append(f"{_MARKS[check.state]}  {check.name.ljust(width)}  {check.found}")
        if check.advice and check.state != "ok":
            lines.append(f"      {' ' * width}  → {check.advice}")
    failed, warned = (sum(check.state == state for check in checks) for state in ("fail", "warn"))
    if failed:
        verdict = f"{failed} of {len(checks)} checks failed."
    elif warned:
        verdict = f"It works; {warned} of {len(checks)} checks would like your attention."
    else:
        verdict = "Everything is in order."
    return [*lines, "", verdict]


async def run_reembed(settings: Settings, given: Namespace) -> int:
    """Convert the store and say from what to what."""
    embedder = embedder_from(settings)
    folder = Path(settings.domain_uri)
    before = await stamp_of(folder)
    if before is None:
        return _tell(given, "none", embedder.stamp, 0, f"There is no store in {folder} yet: nothing to convert.")
    embedder.warm()
    bar = Progress("Embedding")
    started = time.perf_counter()

    def embed(texts: Sequence[str]) -> "list[Made]":
        return [(embedding.vector, embedding.passages, embedding.pieces) for embedding in embedder.embed(texts)]

    try:
        converted = await reembed(
            folder,
            Stamp(embedder.stamp, embedder.dimensions),
            embed,
            now=clock_from(settings.clock)(),
            progress=lambda done, total: bar.show(done / (total or 1), f"{done:,} of {total:,} texts"),
        )
    finally:
        bar.done()
    if converted is None:
        return _tell(
            given, before.embedder, embedder.stamp, 0, f"The store is already embedded with {embedder.stamp}."
        )
    return _tell(
        given,
        before.embedder,
        embedder.stamp,
        converted,
        f"Converted {counted(converted, 'memory')} from {before.embedder} to {embedder.stamp} "
        f"in {time.perf_counter() - started:.1f} s.",
    )


def _tell(given: Namespace, before: str, now: str, converted: int, sentence: str) -> int:
    if given.json:
        say_json({"before": before, "embedder": now, "converted": converted})
    else:
        say(sentence)
    return 0


_LONGEST_REASON = 60
_IDS_AT_ONCE = 500


async def run_audit(session: "Session", given: Namespace) -> int:
    """Follow the chain of events, compare the rows with it, and print the last events; 1 if something was tampered
    with. With `--accept` the person takes the store as it is."""
    most = int(checked_number("last", given.last, 1, 1_000_000))
    journal = session.store.journal
    if given.accept:
        return await _accept(session, given)
    found = await audit(session.store)
    rows = await journal.rows()
    session.all_projects = given.all_projects
    last = await _in_scope(session, rows)
    if given.about:
        last = _about(last, given.about)
    last = last[-most:]
    if given.json:
        say_json({**asdict(found), "intact": found.intact, "last": last})
    else:
        elsewhere = [] if given.all_projects else ["Shown is this project; --all-projects shows all."]
        say(*map(_event_line, last), *([""] if last else []), *_audit_lines(found), *elsewhere)
    return 0 if found.intact else 1


async def _accept(session: "Session", given: Namespace) -> int:
    found = await accept(session.store, actor="audit", at=session.now)
    if given.json:
        say_json({**asdict(found), "intact": found.intact, "accepted": True})
    else:
        say(
            *(f"- {fault}" for fault in found.faults),
            f"Accepted as it is, with {counted(len(found.faults), 'fault')}; the journal says so."
            if found.faults
            else "There was nothing to accept but the present state; the journal says so.",
        )
    return 0


async def _in_scope(session: "Session", rows: "list[Row]") -> "list[Row]":
    """Leave out what happened to memories of other projects, also to those that are no longer there."""
    if session.all_projects:
        return rows
    ids = list(dict.fromkeys(row["memory_id"] for row in rows if row["memory_id"]))
    memories: dict[str, Memory] = {}
    for start in range(0, len(ids), _IDS_AT_ONCE):
        memories |= await session.store.get(ids[start : start + _IDS_AT_ONCE])
    projects = {memory.id: memory.project for memory in memories.values()}
    for row in rows:  # of what is gone its own events tell whose it was
        told = json.loads(row["after"]).get("project") or json.loads(row["before"]).get("project")
        if told and row["memory_id"] not in memories:
            projects[row["memory_id"]] = told
    hidden = {one for one, project in projects.items() if not session.sees_project(project)}
    return [row for row in rows if row["memory_id"] not in hidden]


def _about(rows: "list[Row]", given: str) -> "list[Row]":
    """Return the events of the one memory that an id names, which may be gone by now."""
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
            "If you did it on purpose, as by restoring a backup, `reverie audit --accept` takes the store as it is.",
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
    reason = neutralized_line(row["reason"] or "")[:_LONGEST_REASON]
    what = f"{row['number']:>6}  {row['at'][:19]}  {row['action']:<12} {row['memory_id']:<18} by {row['actor']}"
    return f"{what}: {reason}" if reason else what


async def run_purge(session: "Session", given: Namespace) -> int:
    """Remove memories for good, and tell what was left; 1 if nothing could be removed."""
    session.all_projects = given.all_projects
    result = await forget(session, ForgetRequest(ids=given.ids, purge=True, dry_run=given.dry_run))
    if given.json:
        say_json(result)
    else:
        say(*_told_purge(result, given.ids))
    return 0 if result.forgotten else 1


async def run_quarantine(session: "Session", given: Namespace) -> int:
    """List what is held back, or release or forget some of it."""
    session.all_projects = given.all_projects
    if given.release or given.forget:
        decided = await decide(session, release=given.release, discard=given.forget, actor="quarantine")
        if given.json:
            say_json(decided)
        else:
            say(*_told_decided(decided))
        return 0
    held = await held_memories(session)
    if given.json:
        say_json([asdict(one) for one in held])
    else:
        say(*_told_held(held))
    return 0


def _told_purge(result: Forgotten, asked: list[str]) -> list[str]:
    verb = "Would remove" if result.dry_run else "Removed"
    lines = [f"{verb} {counted(len(result.forgotten), 'memory')} for good."]
    along = [memory_id for memory_id in result.forgotten if not memory_id.startswith(tuple(asked))]
    lines += [f"Goes along, written by a dream from them: {', '.join(along)}."] if along else []
    lines += [f"Left {item.id}: {item.reason}." for item in result.skipped]
    if result.forgotten and not result.dry_run:
        lines.append("Files that you exported earlier are yours to delete.")
    return lines


def _told_decided(decided: Decided) -> list[str]:
    done = {"Released": decided.released, "Forgotten": decided.forgotten}
    lines = [f"{word} {', '.join(ids)}." for word, ids in done.items() if ids]
    return [*lines, *(f"Left {item.id}: it {item.reason}." for item in decided.skipped)]


def _told_held(held: list[Held]) -> list[str]:
    if not held:
        return ["Nothing is held back."]
    lines: list[str] = []
    for one in held:
        why = " ".join(one.reason.split())
        lines += [f"{one.id}  from {one.source}, {one.created_at[:10]}: {why}", paragraph(one.content), ""]
    return [*lines, "`reverie quarantine --release ID` lets one be recalled; `--forget ID` lets it go."]
