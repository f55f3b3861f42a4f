"""A developer's year, drawn from a seed: what is written, when, and which of it is asked for later.

Four projects, working days with one to four sessions, mornings and afternoons, holidays, bursts. A week has its main
project and a session its component, so what is written together is about the same thing.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TypeVar

FIRST_DAY = date(2026, 1, 5)
DAYS = 365
AWAY = (
    (date(2026, 4, 3), date(2026, 4, 10)),
    (date(2026, 5, 1), date(2026, 5, 1)),
    (date(2026, 8, 3), date(2026, 8, 21)),
    (date(2026, 12, 23), date(2027, 1, 2)),
)
SATURDAYS_WORKED = 0.12
SESSIONS_A_DAY = ((1, 2, 3, 4), (0.3, 0.4, 0.2, 0.1))
BURSTS = 0.1
OPENED_WITH_A_RECALL = 0.25
ON_TOPIC = 0.75
MAIN_PROJECT = 0.7

SHORTEST_DELAY_DAYS, LONGEST_DELAY_DAYS = 2.0, 300.0
NEEDED_ANYWAY, NEEDED_PER_IMPORTANCE = 0.08, 0.4
"""A memory is asked for later with probability 0.08 + 0.4 · importance: what seems important is needed more often,
but not only that."""

PINNED, WITH_DEADLINE, WITH_TIER = 0.03, 0.04, 0.06
DEADLINES = ("7d", "14d", "30d", "60d")
TIERS = (("goldfish", "standard", "elephant", "permanent"), (0.3, 0.35, 0.25, 0.1))
SOURCES = (("human", "ai", "ingest"), (0.25, 0.55, 0.2))

PROJECTS = {
    "ledger": "importer journal reconciler exporter payroll audit invoice balance scheduler gateway",
    "harbour": "crane berth manifest tugboat customs pilotage tide warehouse weighbridge dispatcher",
    "atlas": "tiles geocoder router basemap elevation cache projection labels satellite viewer",
    "kiln": "furnace sensor recipe batcher alarm conveyor glaze calibrator historian dashboard",
}
THINGS = (
    "retries timeouts pagination backpressure idempotency checksums snapshots webhooks sharding throttling "
    "caching migrations rollbacks fixtures tracing metrics quotas locking queues batching streaming encoding "
    "compression rounding timezones currencies permissions tokens sessions cookies uploads thumbnails search "
    "sorting filters exports imports backups replicas failover deadlines heartbeats leases partitions cursors "
    "schemas validators parsers"
)
DETAILS = (
    "postgres redis kafka nginx sqlite parquet protobuf openapi terraform ansible docker systemd grafana loki "
    "pytest hypothesis mypy ruff gradle webpack vite react svelte pandas arrow duckdb celery airflow vault consul "
    "envoy istio graphql grpc avro jsonl toml yaml cron rsync minio s3 lambda fargate kustomize helm argo tekton"
)
PEOPLE = "Ana Bo Chidi Dora Emre Farah"

# How often, in what words, and how important it tends to be; `classify` reads kind and layer off the words.
WORDINGS: tuple[tuple[float, str, tuple[float, float]], ...] = (
    (0.14, "Merged the {component} change about {thing}; {detail} needed {n} attempts.", (0.1, 0.5)),
    (0.10, "Deployed {component} to staging with {thing}, and {detail} settled after {n} minutes.", (0.1, 0.5)),
    (0.10, "Yesterday {person} walked through {thing} in {component} and showed {detail}.", (0.05, 0.4)),
    (0.12, "Fixed the {component}: {thing} broke when {detail} restarted, {n} rows were lost.", (0.3, 0.8)),
    (0.05, "The {component} crashed under {thing}; the root cause was {detail} version {n}.", (0.3, 0.8)),
    (0.12, "Currently working on {thing} for {component}, {detail} is still open.", (0.1, 0.4)),
    (0.13, "The {component} keeps {thing} in {detail}, {n} entries at most.", (0.3, 0.7)),
    (0.09, "We decided on {detail} for {thing} in {component} because {n} machines run it already.", (0.5, 0.9)),
    (0.04, "{person} prefers {detail} over anything else for {thing} in {component}.", (0.4, 0.8)),
    (0.08, "To run the {component} checks on {thing}, call `make {detail}` with {n} workers.", (0.4, 0.8)),
    (0.03, "Rejected {detail} for {thing} in {component}: {n} seconds is too slow.", (0.4, 0.7)),
)

Pick = TypeVar("Pick")


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """Something worth keeping, at the moment it is said."""

    number: int
    at: datetime
    session: int
    project: str
    content: str
    importance: float
    source: str
    pin: bool
    forget_after: str
    tier: str
    words: tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Something asked; `answer` is the number of the memory that knows, None where a session only looks around."""

    at: datetime
    session: int
    project: str
    query: str
    answer: int | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """An hour or two on one component."""

    number: int
    start: datetime
    minutes: float
    project: str
    component: str


@dataclass(frozen=True, slots=True)
class Year:
    """Everything that happens, in order, and the mornings on which the machine is switched on."""

    moments: tuple[Write | Query, ...]
    mornings: tuple[datetime, ...]
    sessions: int

    @property
    def writes(self) -> list[Write]:
        """What is said, in order."""
        return [moment for moment in self.moments if isinstance(moment, Write)]


def year_of(seed: int, memories: int, looks: float = OPENED_WITH_A_RECALL) -> Year:
    """Draw a year with so many memories, `looks` the share of sessions that begin with a recall.

    The same seed gives the same year.
    """
    dice = random.Random(seed)  # noqa: S311 - dice that fall the same way every time
    sessions = _sessions(dice)
    writes = _writes(dice, sessions, memories)
    questions = [*_needs(dice, sessions, writes), *_looks_around(dice, sessions, looks)]
    return Year(
        tuple(sorted([*writes, *questions], key=lambda moment: moment.at)),
        tuple(sorted({session.start.replace(hour=8, minute=55, second=0, microsecond=0) for session in sessions})),
        len(sessions),
    )


def _sessions(dice: random.Random) -> list[Session]:
    sessions: list[Session] = []
    main = "ledger"
    for offset in range(DAYS):
        day = FIRST_DAY + timedelta(days=offset)
        if day.weekday() == 0:
            main = dice.choice(list(PROJECTS))
        if not _at_work(day, dice):
            continue
        count = _one(dice, *SESSIONS_A_DAY)
        for hour in sorted(dice.sample((9.0, 10.7, 13.5, 16.0), count)):
            project = main if dice.random() < MAIN_PROJECT else dice.choice(list(PROJECTS))
            start = datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(hours=hour + dice.random() * 0.4)
            component = dice.choice(PROJECTS[project].split())
            sessions.append(Session(len(sessions), start, dice.uniform(20, 70), project, component))
    return sessions


def _at_work(day: date, dice: random.Random) -> bool:
    if any(first <= day <= last for first, last in AWAY) or day.weekday() == 6:
        return False
    return day.weekday() < 5 or dice.random() < SATURDAYS_WORKED


def _writes(dice: random.Random, sessions: Sequence[Session], count: int) -> list[Write]:
    weights = [dice.uniform(0.3, 1.7) * (4.0 if dice.random() < BURSTS else 1.0) for _ in sessions]
    placed = sorted(dice.choices(sessions, weights, k=count), key=lambda session: session.number)
    moments = sorted(
        ((session, _within(dice, session)) for session in placed), key=lambda pair: (pair[0].number, pair[1])
    )
    return [_write(dice, number, session, at) for number, (session, at) in enumerate(moments)]


def _write(dice: random.Random, number: int, session: Session, at: datetime) -> Write:
    _, wording, (least, most) = dice.choices(WORDINGS, [share for share, _, _ in WORDINGS])[0]
    on_topic = dice.random() < ON_TOPIC
    component = session.component if on_topic else dice.choice(PROJECTS[session.project].split())
    words = (component, dice.choice(THINGS.split()), dice.choice(DETAILS.split()))
    content = wording.format(
        component=words[0], thing=words[1], detail=words[2], person=dice.choice(PEOPLE.split()), n=dice.randint(2, 99)
    )
    special = dice.random()
    return Write(
        number=number,
        at=at,
        session=session.number,
        project=session.project,
        content=content,
        importance=round(dice.uniform(least, most), 2),
        source=_one(dice, *SOURCES),
        pin=special < PINNED,
        forget_after=dice.choice(DEADLINES) if PINNED <= special < PINNED + WITH_DEADLINE else "",
        tier=_one(dice, *TIERS) if PINNED + WITH_DEADLINE <= special < PINNED + WITH_DEADLINE + WITH_TIER else "",
        words=words,
    )


def _looks_around(dice: random.Random, sessions: Sequence[Session], share: float) -> list[Query]:
    return [
        Query(
            at=session.start + timedelta(seconds=30),
            session=session.number,
            project=session.project,
            query=f"what is known about {session.component} and {dice.choice(THINGS.split())}",
        )
        for session in sessions
        if dice.random() < share
    ]


def _needs(dice: random.Random, sessions: Sequence[Session], writes: Sequence[Write]) -> list[Query]:
    """Ask for some of it again, days to months later; what has a deadline is not wanted after it."""
    questions = []
    for write in writes:
        if write.forget_after or dice.random() >= NEEDED_ANYWAY + NEEDED_PER_IMPORTANCE * write.importance:
            continue
        delay = math.exp(dice.uniform(math.log(SHORTEST_DELAY_DAYS), math.log(LONGEST_DELAY_DAYS)))
        due = write.at + timedelta(days=delay)
        session = next((session for session in sessions if session.start >= due), None)
        if session is None:
            continue
        component, thing, detail = write.words
        questions.append(
            Query(
                at=_within(dice, session),
                session=session.number,
                project=write.project,
                query=f"what about {dice.choice((thing, detail))} in the {component}",
                answer=write.number,
            )
        )
    return questions


def _within(dice: random.Random, session: Session) -> datetime:
    return session.start + timedelta(minutes=1 + dice.random() * session.minutes)


def _one(dice: random.Random, values: Sequence[Pick], weights: Sequence[float]) -> Pick:
    return dice.choices(values, weights)[0]
