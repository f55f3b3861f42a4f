"""A year in a minute: what forgetting keeps, expires and loses under each curve.

    python bench/year.py                                every curve, and lifespan with two tiers
    python bench/year.py --curve huber --json

The developer of `developer.py` works for a year on a clock that this program moves. Every memory goes in through
`remember`, every question through `recall`, and on the first morning of every five that are worked `sweep` runs as it
does behind a server: it counts the recalls since, expires, and archives. A server does so every five minutes, but
every sweep here is time. The embedder is the tiny one: what is measured is forgetting, not meaning.

Upkeep runs on the same mornings, not behind the answers: a year of table versions piles up within a minute here, and
what runs behind would make two runs differ.

"Decay off" asks the same question at the same moment with nothing hidden that expired and strength left out of the
ranking.

What a search holds and how long a recall takes is measured twice on the store at the end of the year: as forgetting
leaves it, and with everything that was archived back in the layer tables, as it would be without an archive. A recall
is timed by the processor, so that other work on the machine counts less.
"""

import argparse
import asyncio
import dataclasses
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from developer import DAYS, OPENED_WITH_A_RECALL, Query, Write, Year, year_of

from reverie.embeddings import tokens
from reverie.lifecycle.expiry import is_lasting
from reverie.memory import LAYERS, Memory, Tier
from reverie.parameters import STANDARD
from reverie.recall import score as rank
from reverie.settings import RETENTION_MODES, RetentionMode, Settings
from reverie.storage import maintenance as maintenance
from reverie.storage.access_log import AccessRecorder
from reverie.storage.archive import GRACE
from reverie.storage.maintenance import Maintenance
from reverie.storage.purge import _rewrite
from reverie.time import days_between
from reverie.tools import recall, remember
from reverie.tools.export_jsonl import line_of
from reverie.tools.requests import RecallRequest, RememberRequest, StatusRequest
from reverie.tools.session import ServedTexts, Session
from reverie.tools.status import status
from reverie.tools.sweep import sweep
from tests.tiny_embedder import TinyEmbedder

SEED = 7
MEMORIES = 600
SHOWN = 8
WARM_UP = 10
HELD = ("semantic", "procedural")
MORNINGS_BETWEEN_SWEEPS = 5
WITH_TIERS: tuple[tuple[RetentionMode, Tier], ...] = (("lifespan", "elephant"), ("lifespan", "standard"))


class MovingClock:
    """A clock that stands where the simulation puts it."""

    def __init__(self, start: datetime) -> None:
        self.moment = start

    def __call__(self) -> datetime:
        """Return that moment."""
        return self.moment


class MorningUpkeep(Maintenance):
    """Looks after the tables only when it is told to."""

    def note_write(self) -> None:
        """Do nothing."""


class Unheard(AccessRecorder):
    """Lets a question be asked without it counting as a recall."""

    def note(self, memories: Iterable[Memory], at: datetime, session: str | None = None) -> None:
        """Do nothing."""


@dataclass(slots=True)
class Report:
    """What a year under one curve came to."""

    curve: str
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    written: int = 0
    recalls: int = 0
    kept: int = 0
    core: int = 0
    may_fade: int = 0
    faded: int = 0
    expired: Counter[str] = field(default_factory=Counter)
    moved: Counter[str] = field(default_factory=Counter)
    archived: int = 0
    exported_all: int = 0
    exported_kept: int = 0
    searched: int = 0  # bytes of the rows and passages that a plain recall may look at
    searched_without: int = 0  # the same, had nothing been archived
    disk: int = 0  # everything, the journal too
    recall_p50: float = 0.0  # milliseconds of processor time
    recall_p95: float = 0.0
    recall_p50_without: float = 0.0
    recall_p95_without: float = 0.0
    needed: int = 0
    needed_late: int = 0
    gone: Counter[str] = field(default_factory=Counter)
    found: int = 0
    found_off: int = 0


@dataclass(slots=True)
class Life:
    """A year under way: the store, its clock, and what became of what was written."""

    session: Session
    clock: MovingClock
    report: Report
    written: dict[int, tuple[str, datetime]] = field(default_factory=dict)  # by number: id and moment
    expired: dict[str, str] = field(default_factory=dict)  # by id: the rule
    mornings: int = 0


async def live(year: Year, curve: RetentionMode, tier: Tier | None, home: str) -> Report:
    """Live the year on an empty store and insist that nothing was lost that must not be."""
    report = Report(curve if tier is None else f"{curve}, {tier}")
    started, worked = time.perf_counter(), time.process_time()
    clock = MovingClock(year.mornings[0])
    tokens.warm()  # as a server does; until then every answer is measured by a slower bound
    settings = Settings(home=home, retention=curve, tier=tier)
    session = await Session.open(settings, embedder=TinyEmbedder(), clock=clock, folder=Path(home))
    session.domain.maintenance = MorningUpkeep(session.store)
    session.domain.accesses = AccessRecorder(session.store)  # the first one would call upkeep behind our back
    life = Life(session, clock, report)
    mornings = [*year.mornings, year.mornings[0] + timedelta(days=DAYS)]
    for moment in year.moments:
        while mornings[0] <= moment.at:
            await _morning(life, mornings.pop(0))
        await _go_on_to(life, moment.at, f"session-{moment.session}")
        if isinstance(moment, Write):
            life.written[moment.number] = await _remember(session, moment), moment.at
        else:
            await _ask(life, moment)
    for morning in mornings[:-1]:
        await _morning(life, morning)
    await _sweep(life, mornings[-1])
    await _sweep(life, mornings[-1] + GRACE)  # what the last one expired is archived a day later
    memories = await session.store.find()
    _insist(memories, report)
    report.seconds, report.cpu_seconds = time.perf_counter() - started, time.process_time() - worked
    questions = [moment for moment in year.moments if isinstance(moment, Query)]
    await _measure(session, memories, questions, report)
    await session.close()
    return report


async def _remember(session: Session, said: Write) -> str:
    request = RememberRequest(
        content=said.content,
        importance=said.importance,
        source=said.source,
        project=said.project,
        pin=said.pin,
        forget_after=said.forget_after,
        tier=said.tier,
    )
    return (await remember.remember(session, request)).id


async def _go_on_to(life: Life, moment: datetime, session: str) -> None:
    """Move the clock; a session that ends notes what it was served, as a server does at exit."""
    if session != life.session.store.session:
        await life.session.accesses.keep()
        life.session.store.session = session
        life.session.served = ServedTexts()
    life.clock.moment = moment


async def _ask(life: Life, question: Query) -> None:
    session, report = life.session, life.report
    request = RecallRequest(query=question.query, project=question.project, limit=SHOWN)
    report.recalls += 1
    if question.answer is None:
        await recall.recall(session, request)
        return
    wanted, written_at = life.written[question.answer]
    report.needed += 1
    report.needed_late += days_between(written_at, session.now) > STANDARD.archive_days
    if wanted in life.expired:
        report.gone[life.expired[wanted]] += 1
    report.found_off += wanted in await _found_without_decay(session, request)
    answer = await recall.recall(session, request)
    report.found += wanted in {row.id for row in answer.results}


async def _found_without_decay(session: Session, request: RecallRequest) -> set[str]:
    unheard = dataclasses.replace(
        session, domain=dataclasses.replace(session.domain, accesses=Unheard(session.store))
    )
    with patch.object(rank, "STRENGTH_WEIGHT", 0.0):
        answer = await recall.recall(unheard, dataclasses.replace(request, include=["expired"]))
    return {row.id for row in answer.results}


async def _morning(life: Life, moment: datetime) -> None:
    life.mornings += 1
    if life.mornings % MORNINGS_BETWEEN_SWEEPS:
        return
    await _sweep(life, moment)


async def _sweep(life: Life, moment: datetime) -> None:
    await _go_on_to(life, moment, f"morning-{life.mornings}")
    await life.session.accesses.count()  # or it is counted behind our back while tables are rewritten
    with patch.object(maintenance, "KEEP_VERSIONS_FOR", timedelta(0)):  # nobody else is reading an older one
        await life.session.maintenance.run()
    swept = await sweep(life.session)
    life.expired |= {memory_id: rule for rule, ids in swept.expired.items() for memory_id in ids}
    life.report.expired.update({rule: len(ids) for rule, ids in swept.expired.items()})
    life.report.moved.update({move: len(ids) for move, ids in swept.moved.items()})


def _insist(memories: Sequence[Memory], report: Report) -> None:
    """Nothing pinned is ever lost, and nothing semantic, procedural or core but by a deadline of its own."""
    for memory in memories:
        if memory.status != "active":
            assert not memory.pinned, f"{memory.id} was pinned"
            held = memory.core or memory.layer in HELD
            assert not held or memory.status_reason == "ttl-expired", f"{memory.id} is {memory.layer}"
    gone = sum(memory.status != "active" for memory in memories)
    assert gone == report.expired.total(), "the sweeps told what they did"


async def _measure(session: Session, memories: Sequence[Memory], questions: Sequence[Query], report: Report) -> None:
    """Weigh what a search looks at and time recalls: with the archive, and with all of it back in the layers."""
    kept = [memory for memory in memories if memory.status == "active"]
    gone = [memory for memory in memories if memory.status != "active"]
    report.written, report.kept = len(memories), len(kept)
    report.core = sum(memory.core for memory in kept)
    report.may_fade = sum(_may_fade(memory) for memory in memories)
    report.faded = sum(_may_fade(memory) for memory in gone)
    report.exported_all = sum(len(line_of(memory, None)) for memory in memories)
    report.exported_kept = sum(len(line_of(memory, None)) for memory in kept)
    await session.maintenance.stop()
    report.archived = await session.store.archive.table.count()
    report.searched = await _searched_bytes(session)
    report.disk = (await status(session, StatusRequest())).disk_bytes
    report.recall_p50, report.recall_p95 = await _recall_times(session, questions)
    async with session.store.changing():
        await session.store.archive.bring_back([memory.id for memory in gone])
    assert await session.store.archive.table.count() == 0
    report.searched_without = await _searched_bytes(session)
    report.recall_p50_without, report.recall_p95_without = await _recall_times(session, questions)


def _may_fade(memory: Memory) -> bool:
    return not memory.pinned and not is_lasting(memory)


async def _searched_bytes(session: Session) -> int:
    """Return the bytes of the layers' rows and passages, as values; the tables are written out anew."""
    values = 0
    for name in (*LAYERS, "passages"):
        table = session.store.database.table(name)
        if await table.count():
            await _rewrite(table)
            values += (await table.rows((await table.lance.schema()).names)).nbytes
    return values


async def _recall_times(session: Session, questions: Sequence[Query]) -> tuple[float, float]:
    """Return what the year's questions take if they are asked again, uncounted: the median and the 95th percentile.

    A session of its own asks them, so that nothing is in memory but what this store needs.
    """
    asking = await Session.open(
        session.settings, embedder=TinyEmbedder(), clock=session.domain.clock, folder=Path(session.settings.home)
    )
    asking.domain.accesses = Unheard(asking.store)
    took = []
    for number, question in enumerate([*questions[:WARM_UP], *questions]):
        request = RecallRequest(query=question.query, project=question.project, limit=SHOWN)
        began = time.process_time()
        await recall.recall(asking, request)
        if number >= WARM_UP:
            took.append(1000 * (time.process_time() - began))
    await asking.close()
    took.sort()
    return took[len(took) // 2], took[int(len(took) * 0.95)]


def told(report: Report) -> str:
    """Lay one year out as a table."""
    rules = ", ".join(f"{rule} {count}" for rule, count in sorted(report.expired.items())) or "none"
    gone_by = ", ".join(f"{rule} {count}" for rule, count in sorted(report.gone.items()))
    rows = [
        ("written", f"{report.written:,}, recalls {report.recalls:,}"),
        ("kept", f"{report.kept:,} ({_share(report.kept, report.written)})"),
        ("expired", f"{report.expired.total():,}: {rules}"),
        ("", f"{_share(report.faded, report.may_fade)} of the {report.may_fade:,} that may fade"),
        ("moved", ", ".join(f"{move} {count}" for move, count in sorted(report.moved.items())) or "none"),
        ("core", f"{report.core:,}"),
        ("archived", f"{report.archived:,}"),
        ("export", _shrunk(report.exported_all, report.exported_kept)),
        ("searched", _shrunk(report.searched_without, report.searched)),
        ("disk", f"{report.disk / 1000:,.0f} kB, journal and archive included"),
        ("recall", f"median {report.recall_p50:.1f} ms, without the archive {report.recall_p50_without:.1f} ms"),
        ("", f"p95 {report.recall_p95:.1f} ms, without the archive {report.recall_p95_without:.1f} ms"),
        ("needed later", f"{report.needed:,}, {report.needed_late:,} of them after more than 90 days"),
        ("gone by then", f"{report.gone.total():,} ({_share(report.gone.total(), report.needed)}) {gone_by}"),
        (
            f"in the top {SHOWN}",
            f"{_share(report.found, report.needed)}; decay off {_share(report.found_off, report.needed)}",
        ),
        ("took", f"{report.seconds:.0f} s, {report.cpu_seconds:.0f} s of it on the processor"),
    ]
    return "\n".join([f"── {report.curve}", *(f"  {name:<14}{value}".rstrip() for name, value in rows)])


def _share(part: int, whole: int) -> str:
    return f"{100 * part / (whole or 1):.1f} %"


def _shrunk(before: int, after: int) -> str:
    return f"{before / 1000:,.0f} kB → {after / 1000:,.0f} kB ({_share(before - after, before)} smaller)"


def as_record(report: Report) -> dict[str, Any]:
    """Return a report as JSON values, with the shares that the page quotes."""
    values = {part.name: getattr(report, part.name) for part in dataclasses.fields(report)}
    return {name: dict(value) if isinstance(value, Counter) else value for name, value in values.items()} | {
        "smaller": {
            "rows": round(1 - report.kept / report.written, 4),
            "export": round(1 - report.exported_kept / report.exported_all, 4),
            "searched": round(1 - report.searched / report.searched_without, 4),
        },
        "gone_share": round(report.gone.total() / report.needed, 4),
        "found_share": round(report.found / report.needed, 4),
        "found_off_share": round(report.found_off / report.needed, 4),
    }


def main() -> None:
    """Live the year under the curves asked for and print what each came to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--curve", choices=RETENTION_MODES, help="only this one")
    parser.add_argument("--tier", choices=("goldfish", "standard", "elephant", "permanent"), help="the domain's tier")
    parser.add_argument("--memories", type=int, default=MEMORIES, help="how many are written in the year")
    parser.add_argument(
        "--looks", type=float, default=OPENED_WITH_A_RECALL, help="share of sessions that begin with a recall"
    )
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    year = year_of(given.seed, given.memories, given.looks)
    runs: list[tuple[RetentionMode, Tier | None]]
    if given.curve or given.tier:
        runs = [(given.curve or "huber", given.tier)]
    else:
        runs = [*((mode, None) for mode in RETENTION_MODES), *WITH_TIERS]
    reports = []
    for curve, tier in runs:
        with tempfile.TemporaryDirectory() as home:
            report = asyncio.run(live(year, curve, tier, home))
        reports.append(as_record(report))
        if not given.json:
            print(told(report), flush=True)
    if given.json:
        print(json.dumps(reports, ensure_ascii=False))


if __name__ == "__main__":
    main()
