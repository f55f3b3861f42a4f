import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import lancedb
import pyarrow as pa
import pytest

from reverie.errors import StoreBusy, StoreError, StoreTooNew, WrongEmbedder
from reverie.memory import LAYERS
from reverie.storage import database
from reverie.storage.migrations import MIGRATIONS, NEWEST, Migration, _add_to_layers
from reverie.storage.purge import purge
from reverie.storage.schema import MEMORY_TABLES, memory_schema, side_schema
from reverie.storage.scope import TEAM, Scope
from reverie.tools import remember
from reverie.tools.requests import RememberRequest
from reverie.tools.session import Session

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("tables_are_created"), pytest.mark.slow]

OpenSession = Callable[..., Awaitable[Session]]

STORES = Path(__file__).parent / "stores"


@pytest.fixture
def old_store(home: Path) -> Path:
    """A store that schema 1 wrote: four memories of which one was revised, one promoted, one pinned."""
    shutil.unpack_archive(STORES / "schema-1.zip", home)
    return home


async def test_an_old_store_is_brought_up_to_date_and_keeps_everything(
    old_store: Path, open_session: OpenSession
) -> None:
    session = await open_session()
    assert (await session.store.database.read_meta())["schema"] == str(NEWEST)
    memories = {memory.content: memory for memory in await session.store.find()}
    assert len(memories) == 5
    keys = memories["The harbour master keeps the keys, it's said."]
    assert (keys.pinned, keys.tags, keys.trust) == (True, ("keys",), 1.0)
    assert memories["Deployed the lighthouse on 2026-03-01."].layer == "semantic"
    assert memories["The lamp burns oil."].superseded_by == memories["The lamp burns gas."].id
    assert {(memory.author, memory.visibility, memory.owner) for memory in memories.values()} == {
        (None, "team", None)
    }
    assert [event.action for event in await session.store.journal.about(keys.id)] == ["remembered", "pinned"]
    assert "memory_id" in await session.store.database.table("events").indexed_columns()


async def test_an_old_store_can_be_searched_and_written_after_the_migration(
    old_store: Path, open_session: OpenSession
) -> None:
    session = await open_session()
    [hit, *_] = await session.store.matching("harbour keys", Scope(), 5)
    assert (await session.store.resolve(hit.id)).pinned
    kept = await remember.remember(session, RememberRequest(content="A new thing entirely", visibility="personal"))
    assert (await session.store.resolve(kept.id)).owner == ""
    assert await session.store.seen_by(TEAM).count() == 5
    assert await session.store.count() == 6


async def vectors_of_schema_1(home: Path) -> dict[str, list[float]]:
    connection = await lancedb.connect_async(str(home / "domains" / "default" / "tables-1"))
    found: dict[str, list[float]] = {}
    for layer in LAYERS:
        rows = await (await connection.open_table(layer)).query().select(["id", "vector"]).to_arrow()
        found |= dict(zip(rows.column("id").to_pylist(), rows.column("vector").to_pylist(), strict=True))
    return found


@pytest.mark.parametrize("killed_after", ["nothing", "the lists were added", "the old column was dropped"])
async def test_whole_vectors_of_an_old_store_become_lists_bit_for_bit_wherever_that_was_cut_short(
    old_store: Path, open_session: OpenSession, killed_after: str
) -> None:
    before = await vectors_of_schema_1(old_store)
    connection = await lancedb.connect_async(str(old_store / "domains" / "default" / "tables-1"))
    for name in ("semantic", "passages") if killed_after != "nothing" else ():
        table = await connection.open_table(name)
        await table.add_columns({"vector_lists": "make_array(vector)"})
        if killed_after == "the old column was dropped":
            await table.drop_columns(["vector"])
    session = await open_session()
    after: dict[str, list[float]] = {}
    for name in (*LAYERS, "passages"):
        table = session.store.database.table(name)
        wanted = memory_schema(64) if name in LAYERS else side_schema(name, 64)
        assert set((await table.lance.schema()).names) == set(wanted.names)
        rows = await table.rows(["id", "precision", "vector", "packed"])
        assert set(rows.column("precision").to_pylist()) <= {32}
        assert rows.column("packed").null_count == len(rows)
        after |= {row["id"]: row["vector"][0] for row in rows.to_pylist() if name in LAYERS}
    assert after == before
    assert len(after) == 5


async def test_sessions_that_open_an_old_store_at_once_migrate_it_once(
    old_store: Path, open_session: OpenSession
) -> None:
    sessions = await asyncio.gather(*(open_session() for _ in range(4)))
    assert [await session.store.count() for session in sessions] == [5, 5, 5, 5]


async def test_sessions_that_open_a_new_store_at_once_make_it_once(open_session: OpenSession) -> None:
    sessions = await asyncio.gather(*(open_session() for _ in range(4)))
    for number, session in enumerate(sessions):
        await remember.remember(session, RememberRequest(content=f"from session {number}"))
    assert [await session.store.count() for session in sessions] == [4, 4, 4, 4]


async def test_a_creation_that_was_cut_short_is_finished(home: Path, open_session: OpenSession) -> None:
    await open_session()
    for table in ("meta", "questions", "procedural"):
        shutil.rmtree(home / "domains" / "default" / "tables-1" / f"{table}.lance")
    again = await open_session()
    kept = await remember.remember(again, RememberRequest(content="after all", layer="procedural"))
    assert (await again.store.resolve(kept.id)).layer == "procedural"


async def test_a_creation_killed_within_a_table_is_finished(home: Path, open_session: OpenSession) -> None:
    await open_session()
    tables = home / "domains" / "default" / "tables-1"
    for table in ("meta", "codebase", "events"):
        shutil.rmtree(tables / f"{table}.lance")
    (tables / "codebase.lance" / "data").mkdir(parents=True)
    (tables / "events.lance" / "_versions").mkdir(parents=True)
    again = await open_session()
    kept = await remember.remember(again, RememberRequest(content="after all", layer="codebase"))
    assert (await again.store.resolve(kept.id)).layer == "codebase"


async def test_a_store_from_the_future_is_refused_with_the_remedy(open_session: OpenSession) -> None:
    session = await open_session()
    await session.store.database.write_meta({"schema": str(NEWEST + 1)})
    with pytest.raises(StoreTooNew, match="pip install -U reverie-mcp"):
        await open_session()


async def test_a_store_embedded_otherwise_is_refused_with_the_remedy(open_session: OpenSession) -> None:
    session = await open_session()
    await remember.remember(session, RememberRequest(content="the lamp burns oil"))
    await session.store.database.write_meta({"embedder": "openai:text-embedding-3-small"})
    with pytest.raises(WrongEmbedder, match="reverie reembed") as caught:
        await open_session()
    assert (caught.value.stored, caught.value.configured) == ("openai:text-embedding-3-small", "tiny:64")


def test_migrations_are_numbered_without_gaps() -> None:
    assert [migration.number for migration in MIGRATIONS] == list(range(1, NEWEST + 1))


@pytest.fixture
def tomorrow(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Turn this process into the next version: one more migration, which may fail once."""

    def become(failure: BaseException | None = None) -> None:
        failures = [failure] if failure is not None else []

        async def add_column(connection: lancedb.AsyncConnection, dimensions: int) -> None:
            await _add_to_layers(connection, pa.field("weather", pa.string()), MEMORY_TABLES)
            if failures:
                raise failures.pop()

        last = Migration(NEWEST + 1, "a memory knows the weather", add_column)
        monkeypatch.setattr(database, "MIGRATIONS", (*MIGRATIONS, last))
        monkeypatch.setattr(database, "NEWEST", last.number)

    return become


async def columns_of(session: Session) -> set[str]:
    return set((await session.store.database.table("semantic").lance.schema()).names)


async def test_an_upgrade_takes_along_what_waits_in_the_log_and_shuts_older_sessions_out(
    home: Path, open_session: OpenSession, tomorrow: Callable[..., None]
) -> None:
    old = await open_session()
    await remember.remember(old, RememberRequest(content="flushed before the upgrade"))
    await old.store.database.write_ahead_log.flush()
    await remember.remember(old, RememberRequest(content="acknowledged, and waits in the log"))
    tomorrow()
    new = await open_session()
    assert {memory.content for memory in await new.store.find()} == {
        "flushed before the upgrade",
        "acknowledged, and waits in the log",
    }
    assert "weather" in await columns_of(new)
    assert not old.store.is_current()
    with pytest.raises(StoreBusy, match="upgraded"):
        await remember.remember(old, RememberRequest(content="too late"))
    await new.domain.maintenance.run()  # the old tables go once nobody reads them any more
    assert [path.name for path in (home / "domains" / "default").glob("tables-*")] == ["tables-2"]
    assert await new.store.count() == 2
    assert "upgrade" not in await new.store.database.read_meta()


@pytest.mark.parametrize("failure", [RuntimeError("lance error: no space left on device"), OSError(5, "I/O error")])
async def test_an_upgrade_that_fails_leaves_the_store_as_it_was_and_in_use(
    open_session: OpenSession, tomorrow: Callable[..., None], failure: Exception
) -> None:
    old = await open_session()
    await remember.remember(old, RememberRequest(content="kept in any case"))
    tomorrow(failure)
    with pytest.raises(StoreError):
        await open_session()
    assert old.store.is_current()
    await remember.remember(old, RememberRequest(content="written after the failure"))
    assert await old.store.count() == 2
    assert "weather" not in await columns_of(old)
    assert await (await open_session()).store.count() == 2  # the next attempt succeeds


async def test_an_upgrade_that_is_killed_half_way_is_finished_by_the_next_to_open_the_store(
    open_session: OpenSession, tomorrow: Callable[..., None]
) -> None:
    old = await open_session()
    await remember.remember(old, RememberRequest(content="kept in any case"))
    tomorrow(asyncio.CancelledError())
    with pytest.raises(asyncio.CancelledError):
        await open_session()
    with pytest.raises(StoreBusy):
        await remember.remember(old, RememberRequest(content="refused meanwhile"))
    sessions = await asyncio.gather(*(open_session() for _ in range(3)))
    assert [await session.store.count() for session in sessions] == [1, 1, 1]
    assert "weather" in await columns_of(sessions[0])


def files_with(word: bytes, folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and word in path.read_bytes()]


async def test_a_purge_after_an_upgrade_leaves_nothing_in_the_tables_that_were_replaced(
    home: Path, open_session: OpenSession, tomorrow: Callable[..., None]
) -> None:
    old = await open_session()
    kept = await remember.remember(old, RememberRequest(content="The albatross nests on the northern cliff."))
    await old.store.database.write_ahead_log.flush()
    tomorrow()
    new = await open_session()
    assert {path.parts[-4] for path in files_with(b"albatross", home)} >= {"tables-1", "tables-2"}
    async with new.store.changing():
        await purge(new.store, [await new.store.resolve(kept.id)], actor="tests", at=new.now)
    assert not files_with(b"albatross", home)
