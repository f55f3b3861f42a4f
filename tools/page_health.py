"""What the page says of the store as a whole: projects, counts, recall times, hooks, the doctor and the audit."""

import asyncio
import os
from dataclasses import asdict

from reverie import __version__
from reverie.hook_runs import last_runs
from reverie.process_memory import resident_bytes
from reverie.storage.audit import audit as audit_store
from reverie.storage.paging import bytes_by_table, census_of
from reverie.time import iso
from reverie.tools.doctor import Doctor
from reverie.tools.page_catalog import (
    Audited,
    CallDurations,
    Diagnosis,
    Health,
    HookRun,
    NothingRequest,
    Overview,
    ProjectsListed,
)
from reverie.tools.projects import list_projects
from reverie.tools.resolve import count_questions
from reverie.tools.session import Session


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
    checks = await Doctor(session.settings, embedder=session.embedder).examine()
    return Diagnosis(
        healthy=all(check.state != "fail" for check in checks), checks=[asdict(check) for check in checks]
    )


async def audit(session: Session, request: NothingRequest) -> Audited:
    """Follow the chain of events and compare the rows with it."""
    found = await audit_store(session.store)
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
