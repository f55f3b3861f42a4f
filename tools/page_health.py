"""What the page says of the store as a whole: projects, counts, recall times, hooks, the doctor and the audit."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import datetime, timedelta
from time import perf_counter
from typing import TypeVar

from reverie import __version__
from reverie.errors import ReverieError
from reverie.hooks import last_runs
from reverie.process_memory import resident_bytes
from reverie.storage.audit import Report
from reverie.storage.audit import audit as audit_store
from reverie.storage.paging import bytes_by_table, census_of
from reverie.time import iso
from reverie.tools.catalog import Progress
from reverie.tools.doctor import Doctor
from reverie.tools.page_catalog import (
    Audited,
    CallDurations,
    CheckName,
    Checks,
    ChecksRequest,
    CheckState,
    Diagnosis,
    Health,
    HookRun,
    NothingRequest,
    Overview,
    ProjectsListed,
)
from reverie.tools.projects import list_projects
from reverie.tools.resolve import count_questions
from reverie.tools.session import CheckRun, Session

log = logging.getLogger("reverie.page")


async def projects(session: Session, request: NothingRequest) -> ProjectsListed:
    """List the projects, the largest first."""
    found = await list_projects(session)
    return ProjectsListed(
        projects=[{"name": one.name, "memories": dict(one.memories), "is_here": one.is_here} for one in found],
        here=session.here.project,
    )


async def overview(session: Session, request: NothingRequest) -> Overview:
    """Count what is stored."""
    census = await census_of(session.store)
    return Overview(
        now=iso(session.now),
        first=census.first,
        total=census.total,
        layers=census.layers,
        statuses=census.statuses,
        precisions=census.precisions,
        months=census.months,
        open_questions=await count_questions(session),
        held=census.statuses.get("quarantined", 0),
    )


async def health(session: Session, request: NothingRequest) -> Health:
    """Say how long recalls took, when hooks ran, and what the store takes on disk."""
    times = session.domain.call_times.of("recall")
    runs = await asyncio.to_thread(last_runs, session.environment)
    return Health(
        recall=CallDurations(
            count=len(times.milliseconds),
            p50=times.p50,
            p95=times.p95,
            milliseconds=[round(one, 1) for one in times.milliseconds],
        ),
        hooks=[
            HookRun(
                event=event,
                client=str(run.get("client", "")),
                at=str(run["at"]),
                ms=int(run.get("ms") or 0),
                outcome=str(run.get("outcome", "")),
            )
            for event, run in runs.items()
        ],
        bytes=await bytes_by_table(session.store),
        engine={
            "serves": session.domain.engine,
            "version": __version__,
            "process": os.getpid(),
            "memory_bytes": resident_bytes(),
        },
    )


async def doctor(session: Session, request: NothingRequest) -> Diagnosis:
    """Examine the store; a broken part is a finding."""
    return await _diagnosed(session, _nowhere)


async def audit(session: Session, request: NothingRequest) -> Audited:
    """Follow the chain of events and compare the rows with it."""
    return await _audited(session, _nowhere)


# -- behind the answers ------------------------------------------------------------------------------------


async def checks(session: Session, request: ChecksRequest, progress: Progress) -> Checks:
    """Say what the checks last found, and start those that are asked for: nobody has to wait for them."""
    for name in request.start:
        run = session.domain.checks.setdefault(name, CheckRun())
        if not run.is_running and _is_older(run, session.now, request.older_than):
            run.is_running, run.share, run.doing = True, 0.0, "starting"
            session.domain.run_behind(_run(session, name, run, progress))
    return Checks(
        doctor=_state(session, "doctor"),
        diagnosis=_verdict(session, "doctor", Diagnosis),
        audit=_state(session, "audit"),
        audited=_verdict(session, "audit", Audited),
    )


def _is_older(run: CheckRun, now: datetime, minutes: float) -> bool:
    return run.at is None or now - run.at >= timedelta(minutes=minutes)


async def _run(session: Session, name: CheckName, run: CheckRun, progress: Progress) -> None:
    began = perf_counter()

    async def report(share: float, doing: str) -> None:
        run.share, run.doing = share, doing
        await progress(round(100 * share), 100, f"{name}: {doing}")

    try:
        run.verdict, run.failure = await _CHECKS[name](session, report), ""
        run.at, run.seconds = session.now, perf_counter() - began
    except ReverieError as error:
        run.failure = str(error)
    except Exception:
        log.exception("A check behind the page failed.")
        run.failure = f"{name} failed. `reverie engine log` may say why."
    finally:
        run.is_running = False
        await report(1.0, "done")


def _state(session: Session, name: CheckName) -> CheckState:
    run = session.domain.checks.get(name) or CheckRun()
    return CheckState(
        running=run.is_running,
        share=round(run.share, 3),
        doing=run.doing if run.is_running else "",
        at=None if run.at is None else iso(run.at),
        seconds=round(run.seconds, 1),
        failure=run.failure,
    )


VerdictT = TypeVar("VerdictT")


def _verdict(session: Session, name: CheckName, kind: type[VerdictT]) -> VerdictT | None:
    run = session.domain.checks.get(name)
    return run.verdict if run is not None and isinstance(run.verdict, kind) else None


async def _diagnosed(session: Session, report: Report) -> Diagnosis:
    found = await Doctor(session.settings, embedder=session.embedder).examine(report)
    return Diagnosis(healthy=all(check.state != "fail" for check in found), checks=[asdict(check) for check in found])


async def _audited(session: Session, report: Report) -> Audited:
    found = await audit_store(session.store, report)
    return Audited(
        intact=found.intact,
        events=found.events,
        memories=found.memories,
        folded=found.folded,
        purged=found.purged,
        faults=found.faults,
        unchecked=found.unchecked,
        head=f"{found.head.number} {found.head.hash}",
    )


async def _nowhere(share: float, doing: str) -> None:
    """Report to nobody."""


_CHECKS: dict[CheckName, Callable[[Session, Report], Awaitable[object]]] = {"doctor": _diagnosed, "audit": _audited}
