"""A home in Azure's blob storage, by the same code as one in S3: on Azurite, Microsoft's own server for tests.

Google Cloud Storage (`gs://`) is not tested: no server of it that answers conditional writes can be had here.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from lancedb import AsyncConnection

from reverie.settings import Settings
from reverie.storage import database
from reverie.storage.migrations import MIGRATIONS, NEWEST, Migration, _add_to_layers
from reverie.storage.remote_tables import FRESH_SECONDS
from reverie.storage.schema import MEMORY_TABLES
from reverie.tools.remember import remember
from reverie.tools.requests import RememberRequest
from reverie.tools.session import Session
from tests.azure_server import AzureServer
from tests.server.test_bucket import exported, fact, found, refused, until
from tests.tiny_embedder import TinyEmbedder

pytestmark = pytest.mark.slow

OnHost = Callable[[str], dict[str, str]]


@pytest.fixture(scope="module")
def azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AzureServer]:
    if reason := AzureServer.why_not():
        pytest.skip(reason)
    server = AzureServer(tmp_path_factory.mktemp("azure"))
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def on_host(azure: AzureServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OnHost:
    """Settings of a host on a container of the test's own."""
    for name, value in azure.environment.items():
        monkeypatch.setenv(name, value)
    home = f"az://{azure.make_container()}/team"

    def settings(host: str) -> dict[str, str]:
        return {"REVERIE_HOME": home, "REVERIE_HOST_FOLDER": str(tmp_path / host)}

    return settings


def test_two_hosts_share_a_home_in_azure_and_a_purge_reaches_both(start_here, called, on_host, tmp_path):
    here, there = start_here(**on_host("one")), start_here(**on_host("two"))
    lockers = here.call("remember", content="The parcel lockers run on PostgreSQL 16 in production.")["id"]
    shop = there.call("remember", content="Deployments of the web shop go out on Tuesday mornings.")["id"]
    assert found(there, "which database do the parcel lockers run on", lockers)
    assert found(here, "when do deployments of the web shop go out", shop)
    there.call("pin", id=lockers)
    assert until(lambda: here.full(lockers)["pinned"])
    here.call("forget", ids=[shop], reason="gone for good", purge=True)
    text = "Deployments of the web shop go out on Tuesday mornings."
    assert "purged" in until(lambda: refused(there, "remember", content=text))
    assert there.call("consolidate")["dream_id"]
    for host in ("one", "two"):
        done = called(tmp_path, "audit", **on_host(host))
        assert done.returncode == 0, done.stdout


def test_hosts_that_change_the_same_memory_at_once_take_turns_by_leases(start_here, on_host):
    hosts = [start_here(**on_host(name)) for name in ("one", "two", "three")]
    known = hosts[0].call("remember", content=fact(0))["id"]
    for host in hosts:
        assert found(host, fact(0), known)

    def work(number: int) -> None:
        for own in range(4):
            hosts[number].call("remember", content=fact(number * 100 + own + 1))
            hosts[number].call("pin", id=known, pinned=own % 2 == 0)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(hosts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert until(lambda: [host.total() for host in hosts] == [13, 13, 13])


def test_while_azure_is_away_a_host_reads_on_and_what_it_remembers_waits(start_here, azure, on_host):
    here = start_here(**on_host("one"))
    known = here.call("remember", content="The parcel lockers run on PostgreSQL 16 in production.")["id"]
    assert found(here, "which database do the parcel lockers run on", known)
    azure.pause()
    try:
        time.sleep(FRESH_SECONDS)
        answer = here.call("recall", query="which database do the parcel lockers run on")
        assert "has not answered" in answer["scope"]["store"]
        waiting = here.call("remember", content="Deployments of the web shop go out on Tuesday mornings.")["id"]
        late = start_here(**on_host("two"))
        assert "does not answer" in late.refused("recall", query="when do deployments go out")
    finally:
        azure.go_on()
    assert until(lambda: not late.answer("recall", query="when do deployments go out").is_error)
    assert found(late, "when do deployments of the web shop go out", waiting)


def test_memories_move_to_azure_and_back(called, on_host, tmp_path):
    local, azure = {"REVERIE_HOME": str(tmp_path / "home")}, on_host("one")
    for number in range(3):
        assert called(tmp_path, "remember", fact(number), **local).returncode == 0
    before = exported(called, tmp_path, local)
    host = {"REVERIE_HOST_FOLDER": azure["REVERIE_HOST_FOLDER"]}
    done = called(tmp_path, "move", azure["REVERIE_HOME"], **local, **host)
    assert done.returncode == 0, done.stderr
    assert exported(called, tmp_path, azure) == before
    assert called(tmp_path, "move", local["REVERIE_HOME"], **azure).returncode == 0
    assert exported(called, tmp_path, local) == before


def test_an_upgrade_copies_the_tables_within_azure(on_host, tmp_path, monkeypatch):
    async def add_column(connection: AsyncConnection, dimensions: int) -> None:
        await _add_to_layers(connection, pa.field("weather", pa.string()), MEMORY_TABLES)

    async def story() -> list[str]:
        settings = Settings(home=on_host("one")["REVERIE_HOME"], host_folder=str(tmp_path / "one"), project="tests")
        old = await Session.open(settings, embedder=TinyEmbedder(), folder=tmp_path)
        await remember(old, RememberRequest(content=fact(1)))
        await old.store.database.write_ahead_log.flush()
        await remember(old, RememberRequest(content=fact(2)))  # waits in the log
        monkeypatch.setattr(database, "MIGRATIONS", (*MIGRATIONS, Migration(NEWEST + 1, "weather", add_column)))
        monkeypatch.setattr(database, "NEWEST", NEWEST + 1)
        new = await Session.open(settings, embedder=TinyEmbedder(), folder=tmp_path)
        assert not old.store.is_current()
        contents = [memory.content for memory in await new.store.find()]
        await new.domain.maintenance.run()
        assert await new.store.database.home.older_than(2) == []
        for session in (old, new):
            await session.close()
        return contents

    assert sorted(asyncio.run(story())) == sorted([fact(1), fact(2)])
