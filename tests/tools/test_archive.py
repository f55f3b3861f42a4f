"""What is expired or superseded for a day leaves the searched tables, and is found wherever it is asked for."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reverie.memory import LAYERS, to_record
from reverie.recall.results import Recalled
from reverie.settings import Settings
from reverie.storage.audit import audit
from reverie.storage.filters import one_of
from reverie.storage.integrity import IntegrityCheck
from reverie.storage.lance_table import Table
from reverie.storage.rows import Embedded
from reverie.time import iso
from reverie.tools.consolidate import consolidate
from reverie.tools.doctor import Doctor
from reverie.tools.export_jsonl import export
from reverie.tools.forget import forget
from reverie.tools.inspect import inspect, list_memories
from reverie.tools.page import browse
from reverie.tools.page_catalog import BrowseRequest
from reverie.tools.recall import recall
from reverie.tools.requests import (
    ConsolidateRequest,
    ForgetRequest,
    InspectRequest,
    ListRequest,
    MoveRequest,
    RecallRequest,
    RestoreRequest,
    ReviseRequest,
    StatusRequest,
)
from reverie.tools.restore import restore
from reverie.tools.results import Remembered
from reverie.tools.revise import promote, revise
from reverie.tools.session import Session
from reverie.tools.status import status
from reverie.tools.sweep import sweep
from tests.conftest import START, FolderCopy, ManualClock
from tests.tiny_embedder import TinyEmbedder

pytestmark = pytest.mark.anyio

Keep = Callable[..., Awaitable[Remembered]]
Ask = Callable[..., Awaitable[Recalled]]
OpenSession = Callable[..., Awaitable[Session]]

OIL, GAS, FOG = "the lamp burns oil", "the lamp burns gas", "the lamp is dark in fog today"
LONG = "the lamp " + " ".join(f"burns{number}" for number in range(200))


async def places_of(session: Session, memory_id: str) -> list[str]:
    """Name the tables that have a row of this memory."""
    found = []
    for name, table in session.store.database.memory_tables.items():
        if memory_id in (await table.rows(["id"])).column("id").to_pylist():
            found.append(name)
    return found


def files_that_hold(home: Path, word: bytes) -> list[Path]:
    return [path for path in home.rglob("*") if path.is_file() and word in path.read_bytes()]


async def records(session: Session) -> dict[str, dict[str, Any]]:
    return {memory.id: to_record(memory) for memory in await session.store.find()}


async def recalled(session: Session, query: str, **arguments: Any) -> Recalled:
    return await recall(session, RecallRequest(query=query, **arguments))


async def archived(session: Session, clock: ManualClock) -> None:
    """Let two days pass and the upkeep run."""
    clock.advance(days=2)
    await sweep(session)


class Lived:
    """The story's data folder, its clock and its ids; it is lived once, and copied for every other test."""

    def __init__(self) -> None:
        self.folder: FolderCopy | None = None
        self.moment = START
        self.ids: dict[str, str] = {}


@pytest.fixture(scope="module")
def lived() -> Lived:
    return Lived()


@pytest.fixture
async def session(
    request: pytest.FixtureRequest, open_session: OpenSession, home: Path, clock: ManualClock, lived: Lived
) -> Session:
    """A session on an empty store, or, in tests with the story, on a copy of its store."""
    if "story" in request.fixturenames and lived.folder is not None:
        lived.folder.write_to(home)
        clock.moment = lived.moment
    return await open_session()


@pytest.fixture
async def story(session: Session, keep: Keep, clock: ManualClock, home: Path, lived: Lived) -> dict[str, str]:
    """A memory that was superseded, one that expired, one that was forgotten, and what is left of them, archived."""
    if lived.folder is not None:
        return lived.ids
    oil, fog = await keep(OIL, layer="semantic"), await keep(FOG, layer="episodic", forget_after="2d")
    long = await keep(LONG, layer="procedural")
    clock.advance(days=1)
    gas = await revise(session, ReviseRequest(id=oil.id, content=GAS, reason="converted"))
    await forget(session, ForgetRequest(ids=(long.id,), reason="too long"))
    clock.advance(days=2)
    await sweep(session)  # fog is over
    await archived(session, clock)
    await session.store.journal.flush()
    lived.ids = {"oil": oil.id, "gas": gas.id, "fog": fog.id, "long": long.id}
    lived.folder, lived.moment = FolderCopy(home), clock.moment
    return lived.ids


async def test_what_is_retired_for_a_day_is_in_the_archive_and_nowhere_else(
    session: Session, story: dict[str, str]
) -> None:
    places = {name: await places_of(session, memory_id) for name, memory_id in story.items()}
    assert places == {"oil": ["archive"], "gas": ["semantic"], "fog": ["archive"], "long": ["archive"]}
    database = session.store.database
    assert await database.table("passages").count() == 0 < await database.table("archived_passages").count()
    assert (await audit(session.store)).faults == []


async def test_a_plain_recall_searches_without_it_and_says_how_much_it_passed_over(
    session: Session, story: dict[str, str], ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ask("lamp burns")  # counts the archive, which has changed
    read: list[str] = []
    rows, take = Table.rows, Table.take

    async def noted_rows(self: Table, *arguments: Any, **named: Any) -> Any:
        read.append(self.name)
        return await rows(self, *arguments, **named)

    async def noted_take(self: Table, *arguments: Any, **named: Any) -> Any:
        read.append(self.name)
        return await take(self, *arguments, **named)

    monkeypatch.setattr(Table, "rows", noted_rows)
    monkeypatch.setattr(Table, "take", noted_take)
    answer = await ask("lamp burns")
    assert [row.id for row in answer.results] == [story["gas"]]
    assert answer.filtered["archive"] == 3
    assert not {"archive", "archived_passages"} & set(read)
    assert session.store.vectors._archived == {}  # nor is anything of it in memory
    assert (await ask("lamp burns", layers=["semantic"])).filtered["archive"] == 1


@pytest.mark.parametrize("search_memory", [None, 0], ids=["in memory", "on disk"])
async def test_what_is_asked_for_is_found_in_the_archive(
    session: Session, story: dict[str, str], open_session: OpenSession, search_memory: int | None
) -> None:
    if search_memory == 0:
        session = await open_session(search_memory=0)
        assert await session.store.vectors.say_where() == "on disk"

    async def found(**arguments: Any) -> set[str]:
        answer = await recalled(session, "the lamp burns oil", **arguments)
        return {row.id for row in answer.results}

    assert await found() == {story["gas"]}
    assert await found(include=["superseded"]) == {story["gas"], story["oil"]}
    assert await found(include=["expired"]) >= {story["gas"], story["fog"], story["long"]}
    assert await found(include=["expired", "superseded"], layers=["semantic"]) == {story["gas"], story["oil"]}
    end = " ".join(LONG.split()[-30:])  # found through a passage of its own
    assert story["long"] in {r.id for r in (await recalled(session, end, include=["expired"])).results}


async def test_the_past_is_answered_from_the_archive(
    session: Session, story: dict[str, str], ask: Ask, clock: ManualClock
) -> None:
    then = iso((await session.store.resolve(story["oil"])).created_at)
    answer = await ask("the lamp burns", as_of=then)
    assert {row.id: row.status for row in answer.results} == {
        story[name]: "active" for name in ("oil", "fog", "long")
    }
    page = await browse(session, BrowseRequest(as_of=then))
    assert {row.id for row in page.memories} == {story[name] for name in ("oil", "fog", "long")}


async def test_lists_counts_and_single_memories_are_complete(
    session: Session, story: dict[str, str], tmp_path: Path
) -> None:
    [shown] = (await inspect(session, InspectRequest(ids=(story["gas"],)))).memories
    assert shown["lineage"]["supersedes"] == [story["oil"]]
    [old] = (await inspect(session, InspectRequest(ids=(story["oil"][:14],)))).memories
    assert (old["status"], old["content"], old["superseded_by"]) == ("superseded", OIL, story["gas"])
    listed = await list_memories(session, ListRequest(status=("expired", "superseded")))
    assert {row.id for row in listed.memories} == {story["oil"], story["fog"], story["long"]}
    page = await browse(session, BrowseRequest(statuses=("expired",), layers=("episodic",)))
    assert [row.id for row in page.memories] == [story["fog"]]
    counts = (await status(session, StatusRequest())).counts
    assert counts == {
        **{layer: {} for layer in LAYERS},
        "semantic": {"active": 1, "superseded": 1},
        "episodic": {"expired": 1},
        "procedural": {"expired": 1},
    }
    file = tmp_path / "export.jsonl"
    await export(session, str(file), progress=lambda done, total: None)
    assert all(memory_id in file.read_text("utf-8") for memory_id in story.values())


@pytest.mark.parametrize("way", ["restore", "promote", "undo", "import"])
async def test_whatever_changes_an_archived_memory_brings_it_back_into_its_layer(
    session: Session, story: dict[str, str], ask: Ask, clock: ManualClock, way: str
) -> None:
    match way:
        case "restore":
            await restore(session, RestoreRequest(ids=(story["long"],)))
            assert await session.store.database.table("archived_passages").count() == 0
            assert await session.store.database.table("passages").count() > 0
            end = " ".join(LONG.split()[-30:])
            assert story["long"] in {row.id for row in (await ask(end)).results}
            changed, home = "long", "procedural"
        case "promote":
            await promote(session, MoveRequest(id=story["fog"]))
            changed, home = "fog", "semantic"
        case "undo":
            [event] = [e for e in await session.store.journal.about(story["oil"]) if e.action != "remembered"]
            await restore(session, RestoreRequest(event_id=event.id))
            changed, home = "oil", "semantic"
        case _:
            memory = replace(await session.store.resolve(story["fog"]), updated_at=session.now)
            made = TinyEmbedder().embed([memory.content])
            item = Embedded(memory, made[0].vector, made[0].passages)
            async with session.store.changing():
                await session.store.replace([item], actor="test", at=session.now)
            changed, home = "fog", "episodic"
    assert await places_of(session, story[changed]) == [home]
    assert (await audit(session.store)).faults == []
    clock.advance(hours=23)
    await sweep(session)
    assert await places_of(session, story[changed]) == [home]  # a day of grace from its last change


async def test_a_purge_leaves_no_byte_of_an_archived_memory(
    session: Session, keep: Keep, clock: ManualClock, home: Path
) -> None:
    others = [await keep(f"an ordinary thing number {number}") for number in range(3)]
    secret = await keep("the zanzibarword opens the quagmirevault " + " ".join(f"w{n}" for n in range(80)))
    await forget(session, ForgetRequest(ids=(secret.id, others[0].id), reason="a trial"))
    await archived(session, clock)
    assert await places_of(session, secret.id) == ["archive"]
    assert any("archive.lance" in str(path) for path in files_that_hold(home, b"zanzibarword"))
    await forget(session, ForgetRequest(ids=(secret.id,), purge=True))
    assert files_that_hold(home, b"zanzibarword") == []
    assert await session.store.database.table("archived_passages").count() == 0
    assert await places_of(session, others[0].id) == ["archive"]
    assert (await audit(session.store)).faults == []


async def test_the_audit_sees_a_row_of_the_archive_changed_behind_its_back(
    session: Session, story: dict[str, str]
) -> None:
    await session.store.archive.table.update_by({"content": "'the lamp burns coal'"}, one_of("id", [story["oil"]]))
    [fault] = (await audit(session.store)).faults
    assert f"memory {story['oil']} was changed behind the journal" in fault


async def test_a_dream_is_undone_exactly_after_what_it_retired_was_archived(
    session: Session, keep: Keep, clock: ManualClock
) -> None:
    await keep("The worker fills the cache of the Exporter", layer="semantic")
    await keep("the worker fills the cache, of the Exporter!", layer="semantic")
    await keep("It is to be gone tomorrow", forget_after="1d", layer="episodic")
    clock.advance(days=3)
    before = await records(session)
    dreamt = await consolidate(session, ConsolidateRequest())
    retired = [one.id for one in await session.store.find() if one.status in ("expired", "superseded")]
    assert len(retired) >= 2
    await archived(session, clock)
    assert [await places_of(session, one) for one in retired] == [["archive"]] * len(retired)
    session.all_projects = True
    await restore(session, RestoreRequest(dream_id=dreamt.dream_id))
    assert await records(session) == before
    assert await session.store.archive.table.count() == 0
    assert (await audit(session.store)).faults == []


async def test_recalls_of_archived_memories_are_counted_where_they_are(
    session: Session, story: dict[str, str], ask: Ask
) -> None:
    before = (await session.store.resolve(story["oil"])).access_count
    await ask("the lamp burns oil", include=["superseded"])
    await session.accesses.count()
    assert (await session.store.resolve(story["oil"])).access_count == before + 1
    assert await places_of(session, story["oil"]) == ["archive"]


async def test_a_pinned_memory_is_never_archived(session: Session, keep: Keep, clock: ManualClock) -> None:
    kept = await keep(OIL, pin=True)
    async with session.store.changing():
        memory = await session.store.resolve(kept.id)
        await session.store.change([memory], {"status": "expired"}, action="forgotten", actor="test", at=session.now)
    await archived(session, clock)
    assert await places_of(session, kept.id) == [kept.layer]


async def test_doctor_reports_and_mends_a_copy_that_a_killed_move_left(
    session: Session, story: dict[str, str], home: Path
) -> None:
    rows = await session.store.archive.table.rows(session.store.archive._columns(), one_of("id", [story["oil"]]))
    await session.store.database.table("semantic").add(rows)
    assert (await session.store.resolve(story["oil"])).content == OIL
    doctor = Doctor(Settings(home=str(home), project="tests"), embedder=TinyEmbedder(), fix=True)
    database = session.store.database
    check = await IntegrityCheck.of(database.home, database.generation)
    assert await check.doubled() == {story["oil"]: ["semantic", "archive"]}
    await doctor.examine()
    assert await places_of(session, story["oil"]) == ["semantic"]
    await sweep(session)  # and it is still due
    assert await places_of(session, story["oil"]) == ["archive"]


async def test_an_older_row_that_a_killed_promotion_left_does_not_come_up_when_the_newer_is_archived(
    session: Session, keep: Keep, ask: Ask, clock: ManualClock
) -> None:
    kept = await keep(OIL, layer="episodic")
    stray = await session.store.database.table("episodic").rows(session.store.archive._columns())
    clock.advance(minutes=1)
    await promote(session, MoveRequest(id=kept.id))
    await session.store.database.table("episodic").add(stray)
    clock.advance(minutes=1)
    await forget(session, ForgetRequest(ids=(kept.id,), reason="a trial"))
    await archived(session, clock)
    assert await places_of(session, kept.id) == ["archive"]
    assert (await ask(OIL)).results == []


async def test_forgetting_makes_what_a_search_holds_in_memory_smaller(
    session: Session, keep: Keep, ask: Ask, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reverie.storage.vector_search._FEWEST_GONE", 1)
    kept = [await keep(f"lamp number {number} burns oil", layer="semantic") for number in range(8)]
    found = await ask("lamp burns oil")
    assert len(session.store.vectors._indexes["semantic"]) == 8
    await forget(session, ForgetRequest(ids=tuple(one.id for one in kept[2:]), reason="a trial"))
    await archived(session, clock)
    index = session.store.vectors._indexes["semantic"]
    assert [index.id_at(number) for number in range(len(index))] == [one.id for one in kept[:2]]
    again = await ask("lamp burns oil")
    assert {row.id for row in again.results} == {one.id for one in kept[:2]}
    assert again.results[0].content in {row.content for row in found.results}
