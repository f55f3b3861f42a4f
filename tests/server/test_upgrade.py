"""A running team is upgraded: an old and a new version serve one home side by side, and no write is lost.

The old version is the last one without authors, taken from this repository's history; or today's, with tomorrow's as
the new one: today's code and one more migration. Both are real `reverie serve --http` processes.
"""

import contextlib
import json
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import pytest

from tests.s3_server import S3Server
from tests.server.http_process import HttpProcess, environment, serving

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

WITHOUT_AUTHORS = "5944e8362f4dfa16d18daa468bcafab9a75bbf7e"
"""The last landed commit with HTTP and without authors: its schema is 8."""

TOMORROW = """
import pyarrow as pa
import reverie.storage.migrations as migrations

async def add_column(connection, dimensions):
    await migrations._add_to_layers(connection, pa.field("weather", pa.string()), migrations.MEMORY_TABLES)

last = migrations.Migration(migrations.NEWEST + 1, "a memory knows the weather", add_column)
migrations.MIGRATIONS, migrations.NEWEST = (*migrations.MIGRATIONS, last), last.number
"""
"""The next version: one more migration, and a number that today's does not know."""

_RUN = "from reverie.__main__ import main; raise SystemExit(main())"
_WRITERS = 3
RATE = {"REVERIE_HTTP_RATE": "100000"}


@dataclass
class Writers:
    """Threads that remember one fact after the other on a server, and move to another when they are refused."""

    servers: list[HttpProcess]
    acknowledged: dict[str, str] = field(default_factory=dict)
    refusals: set[str] = field(default_factory=set)
    _moved: set[int] = field(default_factory=set)
    _done: threading.Event = field(default_factory=threading.Event)
    _failures: list[BaseException] = field(default_factory=list)

    def _write(self, number: int) -> None:
        own, server = 0, 0
        try:
            while not self._done.is_set():
                text = fact(number * 10_000 + own)
                answer = self.servers[server].call("remember", {"content": text, "layer": "semantic"})
                result = answer.result
                if result.get("isError"):
                    self.refusals.add(result["content"][0]["text"])
                    server = len(self.servers) - 1  # the same text again, elsewhere
                    continue
                self.acknowledged[result["structuredContent"]["id"]] = text
                own += 1
                if server:
                    self._moved.add(number)
        except BaseException as error:  # noqa: BLE001 - raised in the test's own thread
            self._failures.append(error)

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        """Write while the block runs."""
        threads = [threading.Thread(target=self._write, args=(number,)) for number in range(_WRITERS)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._done.set()
            for thread in threads:
                thread.join()
        assert not self._failures, self._failures

    def until(self, count: int) -> None:
        """Wait until so many are acknowledged."""
        self._wait_for(lambda: len(self.acknowledged) >= count)

    def until_all_moved(self) -> None:
        """Wait until every writer has been refused by the first server and taken by another."""
        self._wait_for(lambda: len(self._moved) == _WRITERS)

    def _wait_for(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 120
        while not condition():
            assert time.monotonic() < deadline, self.refusals
            assert not self._failures, self._failures
            time.sleep(0.05)


def fact(number: int) -> str:
    return (
        f"Parcel locker {number} stands in street {number * 7919 % 9973} and opens with code w{number * 31 % 9967}."
    )


@pytest.fixture(scope="module")
def version_8(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The old version, installed in a folder of its own."""
    folder = tmp_path_factory.mktemp("old-version")
    archive = subprocess.run(["git", "-C", str(ROOT), "archive", WITHOUT_AUTHORS], capture_output=True, check=False)
    if archive.returncode:
        pytest.skip(f"the history of this clone has no {WITHOUT_AUTHORS[:7]}: {archive.stderr.decode().strip()}")
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
        files.extractall(folder / "source", filter="data")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    installed = subprocess.run(
        [*install, "--target", str(folder / "installed"), str(folder / "source")], capture_output=True, check=False
    )
    if installed.returncode:
        pytest.skip(f"the old version cannot be built here: {installed.stderr.decode()[-300:]}")
    return folder / "installed"


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    server = S3Server(tmp_path_factory.mktemp("s3"))
    server.start()
    try:
        yield server
    finally:
        server.stop()


def run(program: str, folder: Path, settings: dict[str, str], *arguments: str) -> str:
    """Run a command of one version and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\n{_RUN}", *arguments],
        env=environment(folder, settings) | {"REVERIE_ENGINE": "off"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def upgraded_while_writing(folder: Path, old: dict[str, str], new: dict[str, str], program: str) -> None:
    """Serve with the old version, start the new one beside it while people write, and stop the old one."""
    with contextlib.ExitStack() as running:
        first = running.enter_context(serving(folder, **old))
        first.until_ready()
        before = first.call("remember", {"content": "The harbour master keeps the keys."}).structured["id"]
        first.call("pin", {"id": before})
        writers = Writers([first])
        with writers.at_work():
            writers.until(15)
            second = running.enter_context(serving(folder, program=["-c", f"{program}\n{_RUN}"], **new))
            second.token = first.token
            writers.servers.append(second)
            second.until_ready()
            writers.until_all_moved()
            check_it_is_too_old(first, second, before)
            assert first.stop() == 0
            writers.until(len(writers.acknowledged) + 6)
        assert writers.refusals
        assert all("pgrade" in said or "re-embedded" in said for said in writers.refusals), writers.refusals
        assert second.stop() == 0
    check_all_found_once(folder, new, program, writers, before)


def check_it_is_too_old(first: HttpProcess, second: HttpProcess, known: str) -> None:
    """The old version shows nothing of what the new one wrote, and changes nothing: it says that it is too old."""
    mine = second.call("remember", {"content": "My own key is under the mat.", "visibility": "personal"}).structured
    for tool, arguments in (
        ("recall", {"query": "where is the key"}),
        ("promote", {"id": mine["id"], "to": "procedural"}),
        ("remember", {"content": "The old version writes no more."}),
        ("forget", {"ids": [known], "reason": "to be refused"}),
    ):
        refused = first.call(tool, arguments).result
        assert refused["isError"], (tool, refused)
        assert "Upgrade with" in refused["content"][0]["text"]
    assert first.request("GET", "/readyz").status == 503


def check_all_found_once(folder: Path, new: dict[str, str], program: str, writers: Writers, before: str) -> None:
    file = folder / "export.jsonl"
    run(program, folder, new, "export", str(file))
    stored = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    contents = [memory["content"] for memory in stored]
    assert writers.acknowledged.items() <= {memory["id"]: memory["content"] for memory in stored}.items()
    assert len(set(contents)) == len(contents)
    assert [memory["pinned"] for memory in stored if memory["id"] == before] == [True]
    assert "doubled ids none" in " ".join(run(program, folder, new, "doctor").split())
    run(program, folder, new, "audit")  # fails if an event does not follow the one before


def test_a_version_of_the_history_and_todays_serve_one_folder_side_by_side(version_8, tmp_path):
    upgraded_while_writing(tmp_path, {"PYTHONPATH": str(version_8), **RATE}, RATE, "")
    assert (tmp_path / "home" / "domains" / "default" / "current").read_text() == "2"  # a new generation of tables


def test_todays_version_and_tomorrows_serve_one_bucket_side_by_side(s3, tmp_path):
    own = {"REVERIE_HOME": f"s3://{s3.make_bucket()}/team", "REVERIE_HOST_FOLDER": str(tmp_path / "host")}
    settings = {**own, **s3.environment, **RATE}
    upgraded_while_writing(tmp_path, settings, settings, TOMORROW)
