"""Whether vectors are in memory or on disk, the same question on the same memories has the same answer."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pytest

from reverie.memory import LAYERS, Memory
from reverie.storage.access_log import AccessRecorder
from reverie.storage.rows import Embedded
from reverie.time import iso
from reverie.tools.recall import recall
from reverie.tools.requests import RecallRequest, StatusRequest
from reverie.tools.results import Status
from reverie.tools.session import Session
from reverie.tools.status import status

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

Make = Callable[..., Embedded]
OpenSession = Callable[..., Awaitable[Session]]

_NOUNS = """anchor barrel bridge candle canvas captain cargo chart cliff compass copper cotton crane deck dock engine
    ferry flag fog gale galley glass harbour hull iron island keel keeper lamp lantern ledger light mast moon mooring
    net oar oil paint pier pilot pump quay rain reef river rope rudder rust sail salt sand signal slip storm tar tide
    timber tower watch wave wharf wheel winch wool"""
WORDS = _NOUNS.split()
STATUSES = ("active", "active", "active", "challenged", "expired", "superseded", "quarantined")
MEMORIES = 420


class NothingRecorded(AccessRecorder):
    """Counts no recall, which would make the memories of the first answer stronger for the second."""

    def note(self, memories: Iterable[Memory], at: datetime, session: str | None = None) -> None:
        """Do nothing."""


def log_of_a_harbour(make: Make, start: datetime) -> list[Embedded]:
    """Memories as an assistant has them: turns, layers, projects, every status and precision, some of them long."""
    dice = np.random.default_rng(15)

    def one(number: int) -> Embedded:
        length = int(dice.choice([6, 9, 14, 130], p=[0.4, 0.3, 0.2, 0.1]))  # the last has passages
        return make(
            f"the {' '.join(dice.choice(WORDS, length))} is number{number}",
            layer="semantic" if number % 3 else str(dice.choice(LAYERS)),
            project=str(dice.choice(["tests", "tests", "global", "elsewhere"])),
            session=f"session-{number // 12}",
            status=str(dice.choice(STATUSES)),
            tags=("night",) if number % 4 == 0 else (),
            happened_at=start - timedelta(minutes=7 * (MEMORIES - number)),
            precision=(32, 32, 8, 4, 2)[number % 5],  # some have faded
        )

    return [one(number) for number in range(MEMORIES)]


def questions() -> list[str]:
    dice = np.random.default_rng(16)
    return [f"where is the {' '.join(dice.choice(WORDS, 1 + n % 4))}?" for n in range(12)]


@pytest.fixture
async def both(open_session: OpenSession, session: Session, make: Make) -> tuple[Session, Session]:
    """Two sessions on one store: one has its vectors in memory, the other on disk."""
    await session.store.add(log_of_a_harbour(make, session.now), actor="test", at=session.now)
    opened = await open_session(search_memory=10), await open_session(search_memory=0)
    for one in opened:
        one.domain.accesses = NothingRecorded(one.store)
    assert [(await status(one, StatusRequest())).vectors for one in opened] == ["in memory", "on disk"]
    return opened


async def test_the_order_the_scores_and_the_counts_are_the_same(both: tuple[Session, Session]) -> None:
    hours_ago = iso(both[0].now - timedelta(hours=20))
    narrowed = [
        RecallRequest(query="x"),
        RecallRequest(query="x", include=("expired", "superseded")),
        RecallRequest(query="x", all_projects=True, limit=50),
        RecallRequest(query="x", layers=("episodic", "codebase")),
        RecallRequest(query="x", tags=("night",)),
        RecallRequest(query="x", since=hours_ago),
        RecallRequest(query="x", min_strength=0.1),
    ]
    filtered: set[str] = set()
    for number, query in enumerate(questions()):
        request = replace(narrowed[number % len(narrowed)], query=query, max_tokens=20_000, explain=True)
        from_memory, from_disk = [await recall(one, request) for one in both]
        assert [row.id for row in from_disk.results] == [row.id for row in from_memory.results]
        for ours, theirs in zip(from_disk.results, from_memory.results, strict=True):
            assert ours.why == pytest.approx(theirs.why, abs=1e-4)
            assert ours.score == pytest.approx(theirs.score, abs=1e-4)
        assert from_disk.filtered == from_memory.filtered
        assert (from_disk.fits, from_disk.total_matches) == (from_memory.fits, from_memory.total_matches)
        assert from_memory.results
        filtered |= from_disk.filtered.keys()
    assert {"quarantine", "status", "scope"} <= filtered


async def test_an_approximate_index_may_miss_a_candidate_but_changes_no_feature(
    both: tuple[Session, Session],
) -> None:
    in_memory, on_disk = both
    table = on_disk.store.database.table("semantic")
    await table.index_vectors()
    assert "vector" in await table.indexed_columns()
    shared, shown = 0, 0
    for query in questions():
        request = RecallRequest(query=query, limit=10, max_tokens=20_000)
        ours, theirs = [
            {row.id: row.score for row in (await recall(one, request)).results} for one in (on_disk, in_memory)
        ]
        shared += len(ours.keys() & theirs.keys())
        shown += len(theirs)
    assert shared >= 0.95 * shown > 0


async def test_a_store_that_outgrows_the_budget_goes_on_answering_from_disk(
    open_session: OpenSession, make: Make
) -> None:
    room_for_150 = 150 * 64 * 4 / 0.75 / 1024 / 1024
    session = await open_session(search_memory=room_for_150)

    async def first_row(query: str) -> str:
        return (await recall(session, RecallRequest(query=query))).results[0].content

    async def vectors() -> str:
        found: Status = await status(session, StatusRequest())
        return found.vectors

    for start, where in ((0, "in memory"), (100, "on disk"), (200, "on disk")):
        items = [make(f"lamp{n} stands at pier{n}", project="tests") for n in range(start, start + 100)]
        await session.store.add(items, actor="test", at=session.now)
        for number in (0, start, start + 99):
            assert await first_row(f"where is lamp{number}") == f"lamp{number} stands at pier{number}"
        assert await vectors() == where
    assert session.store.vectors.cached_vectors([items[0].memory.id]) == {}


async def test_what_answers_need_is_read_ahead_of_the_first_question(open_session: OpenSession, make: Make) -> None:
    session = await open_session()
    item = make("the lamp is lit")
    await session.store.add([item], actor="test", at=session.now)
    assert session.store.vectors.cached_vectors([item.memory.id]) == {}
    await session.warm()
    assert list(session.store.vectors.cached_vectors([item.memory.id])) == [item.memory.id]


async def test_a_memory_that_is_purged_or_changed_elsewhere_is_not_found_on_disk_either(
    both: tuple[Session, Session], make: Make
) -> None:
    in_memory, _ = both
    item = make("the heron nests on the beacon", project="tests")
    await in_memory.store.add([item], actor="test", at=in_memory.now)
    request = RecallRequest(query="where does the heron nest?")
    assert [(await recall(one, request)).results[0].id for one in both] == [item.memory.id] * 2
    async with in_memory.store.changing():
        await in_memory.store.change([item.memory], {"status": "expired"}, action="x", actor="t", at=in_memory.now)
    for one in both:
        answer = await recall(one, request)
        assert item.memory.id not in [row.id for row in answer.results]
        assert answer.filtered["status"] >= 1
