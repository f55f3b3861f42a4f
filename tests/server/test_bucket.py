"""A home in a bucket of a real S3 server: every tool, several hosts, kills, and a store that goes away.

A host is a folder (`REVERIE_HOST_FOLDER`): its write-ahead log, its locks, its chain in the journal.
"""

import asyncio
import itertools
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from reverie.errors import StoreBusy
from reverie.settings import Settings
from reverie.storage import move, write_ahead_log
from reverie.storage.bucket import BucketHome
from reverie.storage.database import Stamp
from reverie.storage.paging import bytes_by_table
from reverie.storage.reembed import Made, reembed
from reverie.storage.remote_tables import FRESH_SECONDS
from reverie.tools.remember import remember
from reverie.tools.requests import RememberRequest
from reverie.tools.session import Session
from tests.s3_server import LosingProxy, S3Server
from tests.tiny_embedder import TinyEmbedder

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A server for all tests of this module."""
    server = S3Server(tmp_path_factory.mktemp("s3"))
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def on_host(s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], dict[str, str]]:
    """Settings of a host on a bucket of the test's own."""
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    home = f"s3://{s3.make_bucket()}/team"

    def settings(host: str) -> dict[str, str]:
        return {"REVERIE_HOME": home, "REVERIE_HOST_FOLDER": str(tmp_path / host)}

    return settings


def fact(number: int) -> str:
    return f"Parcel locker {number} stands in street {number * 7919 % 997} and opens with code w{number * 31 % 9973}."


def test_every_tool_works_and_two_hosts_see_each_other(start_here, called, on_host, tmp_path):
    here = start_here(**on_host("one"))
    there = start_here(**on_host("two"), REVERIE_CLOCK="-1h")  # no order follows from what the clocks say
    lockers = here.call("remember", content="The parcel lockers run on PostgreSQL 16 in production.")["id"]
    shop = there.call("remember", content="Deployments of the web shop go out on Tuesday mornings.")["id"]
    assert found(there, "which database do the parcel lockers run on", lockers)
    assert found(here, "when do deployments of the web shop go out", shop)

    here.call("pin", id=lockers)
    revised = until(
        lambda: there.call(
            "revise", id=lockers, content="The parcel lockers run on PostgreSQL 17.", reason="upgraded"
        )
    )
    assert here.full(revised["id"])["pinned"] or here.full(lockers)["status"] == "superseded"
    assert here.call("promote", id=shop, to="procedural")["to_layer"] == "procedural"
    assert there.call("demote", id=shop, to="semantic")["to_layer"] == "semantic"
    there.call("forget", ids=[shop], reason="no longer")
    assert until(lambda: here.full(shop)["status"] == "expired")
    here.call("restore", ids=[shop])
    assert until(lambda: there.full(shop)["status"] == "active")
    dream = here.call("consolidate")
    assert dream["dream_id"]
    assert until(lambda: there.call("status").get("last_dream"))
    assert there.call("brief")["text"]
    there.call("review")
    assert there.call("status")["home"].startswith("s3://")
    there.call("forget", ids=[shop], reason="gone for good", purge=True)
    refusal = until(
        lambda: refused(here, "remember", content="Deployments of the web shop go out on Tuesday mornings.")
    )
    assert "purged" in refusal
    for host in ("one", "two"):
        done = called(tmp_path, "audit", **on_host(host))
        assert done.returncode == 0, done.stdout


def test_four_processes_on_two_hosts_are_killed_and_lose_and_double_nothing(wire, called, on_host, tmp_path, chance):
    acknowledged: dict[str, str] = {}

    def work(number: int, host: str, count: int, pause: float) -> None:
        process = wire(**on_host(host))
        process.shake_hands()
        for own in range(number * 1_000, number * 1_000 + count):
            result = process.answer(process.ask("tools/call", name="remember", arguments={"content": fact(own)}))[
                "result"
            ]
            assert not result.get("isError"), result
            acknowledged[result["structuredContent"]["id"]] = fact(own)
        process.ask("tools/call", name="remember", arguments={"content": fact(number * 1_000 + 999)})
        time.sleep(pause)
        process.process.kill()  # perhaps in the middle of that one, or of a flush

    hosts, counts = ("one", "two", "one", "two"), [chance.randrange(10, 25) for _ in range(4)]
    threads = [
        threading.Thread(target=work, args=(number, host, counts[number], chance.random() * 0.3))
        for number, host in enumerate(hosts)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(acknowledged) == sum(counts)
    for host in ("one", "two"):  # each replays what waits in its own log
        called(tmp_path, "status", **on_host(host))
    stored = exported(called, tmp_path, on_host("one"))
    contents = [memory["content"] for memory in stored]
    assert acknowledged.items() <= {memory["id"]: memory["content"] for memory in stored}.items()
    assert len(set(contents)) == len(contents)
    told = json.loads(called(tmp_path, "status", "--json", **on_host("two")).stdout)
    assert sum(count for layer in told["counts"].values() for count in layer.values()) == len(contents)
    # A process that is killed between a memory and its event leaves one without: the audit names just these.
    audit = called(tmp_path, "audit", **on_host("two")).stdout
    assert "does not follow" not in audit
    assert "changed behind" not in audit


def test_memories_move_to_a_bucket_and_back_and_a_move_that_was_cut_short_goes_on(
    called, on_host, tmp_path, monkeypatch
):
    local, bucket = {"REVERIE_HOME": str(tmp_path / "home")}, on_host("one")
    for number in range(3):
        assert called(tmp_path, "remember", fact(number), **local).returncode == 0
    before = exported(called, tmp_path, local)

    real, left = move.obstore.put_async, iter(range(40))

    async def cut(*arguments: Any, **named: Any) -> Any:
        if next(left, None) is None:
            raise OSError("the network went away")
        return await real(*arguments, **named)

    host = {"REVERIE_HOST_FOLDER": bucket["REVERIE_HOST_FOLDER"]}
    with monkeypatch.context() as patch:
        patch.setattr(move.obstore, "put_async", cut)
        done = called(tmp_path, "move", bucket["REVERIE_HOME"], **local, **host)
    assert (done.returncode, "cut short" in done.stderr) == (1, True), done.stderr
    assert "not finished" in called(tmp_path, "status", **bucket).stderr
    assert exported(called, tmp_path, local) == before  # still the home

    done = called(tmp_path, "move", bucket["REVERIE_HOME"], **local, **host)
    assert (done.returncode, "3 memories" in done.stdout) == (0, True), done.stderr
    assert "were moved to s3://" in called(tmp_path, "status", **local).stderr
    assert exported(called, tmp_path, bucket) == before
    assert called(tmp_path, "pin", before[0]["id"], **bucket).returncode == 0
    assert called(tmp_path, "audit", **bucket).returncode == 0

    assert called(tmp_path, "move", local["REVERIE_HOME"], **bucket).returncode == 0
    assert called(tmp_path, "pin", before[1]["id"], **local).returncode == 0
    pinned = {memory["id"] for memory in exported(called, tmp_path, local) if memory.get("pinned")}
    assert pinned == {before[0]["id"], before[1]["id"]}
    audit = called(tmp_path, "audit", **local)
    assert audit.returncode == 0, audit.stdout


def test_a_backup_of_a_bucket_is_rehearsed_after_the_bucket_is_lost(called, s3, on_host, tmp_path):
    bucket, backup = on_host("one"), {"REVERIE_HOME": str(tmp_path / "backup")}
    for number in range(3):
        called(tmp_path, "remember", fact(number), **bucket)
    kept = exported(called, tmp_path, bucket)
    assert called(tmp_path, "move", backup["REVERIE_HOME"], "--copy", **bucket).returncode == 0
    called(tmp_path, "remember", "This came after the backup.", **bucket)
    s3.empty(bucket["REVERIE_HOME"].split("/")[2])
    assert exported(called, tmp_path, backup) == kept
    again = {**bucket, "REVERIE_HOME": bucket["REVERIE_HOME"].replace("/team", "/restored")}
    host = {"REVERIE_HOST_FOLDER": bucket["REVERIE_HOST_FOLDER"]}
    done = called(tmp_path, "move", again["REVERIE_HOME"], **backup, **host)
    assert done.returncode == 0, done.stderr
    assert exported(called, tmp_path, again) == kept
    assert called(tmp_path, "audit", **again).returncode == 0


def test_what_waits_on_a_host_while_another_gives_the_store_a_new_embedder_is_carried_over(on_host, tmp_path):
    home = on_host("one")["REVERIE_HOME"]

    def settings(host: str) -> Settings:
        return Settings(home=home, host_folder=str(tmp_path / host), project="tests")

    class Doubled(TinyEmbedder):
        """Another model."""

        @property
        def stamp(self) -> str:
            return "doubled:64"

    async def story() -> list[str]:
        late = await Session.open(settings("late"), embedder=TinyEmbedder(), folder=tmp_path)
        await remember(late, RememberRequest(content=fact(1)))
        await late.store.database.write_ahead_log.flush()
        await remember(late, RememberRequest(content=fact(2)))  # acknowledged, and waits in the log
        await late.store.database.write_ahead_log.stop()
        other = BucketHome(settings("one").domain_uri, settings("one").domain_folder)

        def embed(texts: Sequence[str]) -> list[Made]:
            return [(one.vector, one.passages, one.pieces) for one in Doubled().embed(texts)]

        await reembed(other, Stamp("doubled:64", 64), embed, now=late.now, progress=lambda _done, _all: None)
        with pytest.raises(StoreBusy):
            await late.store.database.write_ahead_log.flush()
        await late.close()
        again = await Session.open(settings("late"), embedder=Doubled(), folder=tmp_path)
        contents = [memory.content for memory in await again.store.find()]
        assert (await bytes_by_table(again.store))["semantic"] > 1_000
        await again.close()
        return contents

    assert sorted(asyncio.run(story())) == sorted([fact(1), fact(2)])


def exported(called: Callable[..., Any], folder: Path, settings: dict[str, str]) -> list[dict[str, Any]]:
    file = folder / "export.jsonl"
    file.unlink(missing_ok=True)
    done = called(folder, "export", str(file), **settings)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


@pytest.mark.parametrize(("leave", "come_back"), [("pause", "go_on"), ("stop", "start")])
def test_while_the_store_is_away_reads_go_on_and_say_so_and_writes_wait(
    start_here, s3, on_host, monkeypatch, leave, come_back
):
    here = start_here(**on_host("one"))
    known = here.call("remember", content="The parcel lockers run on PostgreSQL 16 in production.")["id"]
    assert found(here, "which database do the parcel lockers run on", known)
    getattr(s3, leave)()
    try:
        time.sleep(FRESH_SECONDS)
        started = time.monotonic()
        answer = here.answer("recall", query="which database do the parcel lockers run on")
        assert not answer.is_error, answer
        assert time.monotonic() - started < 15
        assert [row["id"] for row in answer.structured_content["results"]] == [known]
        assert "has not answered" in answer.structured_content["scope"]["store"]
        assert "has not answered" in answer.content[0].text
        waiting = here.call("remember", content="Deployments of the web shop go out on Tuesday mornings.")["id"]
        rows = here.call("recall", query="when do deployments of the web shop go out")["results"]
        assert [row["id"] for row in rows][:1] == [waiting]  # where it was written it is found at once
        assert "does not answer" in here.refused("forget", ids=[known], reason="a change has to wait")
        monkeypatch.setattr(write_ahead_log, "MOST_WAITING_BYTES", 6_000)
        said = [refused(here, "remember", content=fact(number)) for number in range(8)]
        assert any("no more are taken" in one for one in said)
    finally:
        getattr(s3, come_back)()
    there = start_here(**on_host("two"))
    assert found(there, "when do deployments of the web shop go out", waiting)
    assert until(lambda: "store" not in here.call("recall", query="which database is it").get("scope", {}))


SECONDS_AWAY = 60.0


def test_when_the_store_is_away_for_a_minute_nothing_acknowledged_is_lost(start_here, s3, on_host, monkeypatch):
    here, idle = start_here(**on_host("one")), start_here(**on_host("two"))
    known = here.call("remember", content="The parcel lockers run on PostgreSQL 16 in production.")["id"]
    for host in (here, idle):
        assert found(host, "which database do the parcel lockers run on", known)
    monkeypatch.setattr(write_ahead_log, "MOST_WAITING_BYTES", 40_000)  # so much comes together in the minute
    acknowledged: dict[str, str] = {}
    refusals: list[str] = []
    s3.stop()
    try:
        left = time.monotonic()
        late = start_here(**on_host("three"))  # it cannot open the store, and says so with every call
        for number in itertools.count():
            started = time.monotonic()
            answer = here.answer("recall", query="which database do the parcel lockers run on")
            assert [row["id"] for row in answer.structured_content["results"]][:1] == [known]
            assert "has not answered" in answer.structured_content["scope"]["store"]
            said = here.answer("remember", content=fact(number))
            if said.is_error:
                refusals.append(said.content[0].text)
            else:
                acknowledged[said.structured_content["id"]] = fact(number)
            assert "does not answer" in late.refused("recall", query="which database is it")
            assert "does not answer" in late.refused("remember", content="This host has no log yet.")
            assert time.monotonic() - started < 30
            if time.monotonic() - left > SECONDS_AWAY and refusals:
                break
            time.sleep(1)
        written, text = next(iter(acknowledged.items()))  # what waits in the log is found where it was written
        assert written in [row["id"] for row in here.call("recall", query=text)["results"]]
    finally:
        s3.start()
    assert len(acknowledged) > 3
    assert all("no more are taken until it answers" in one for one in refusals), refusals
    last_id, last = list(acknowledged.items())[-1]
    assert found(idle, last, last_id)
    assert until(lambda: not late.answer("recall", query=last).is_error)  # the same process, not started again
    for memory_id, text in acknowledged.items():
        assert found(late, text, memory_id)
    assert until(lambda: "store" not in here.call("recall", query=last).get("scope", {}))
    assert here.call("remember", content="Writing goes on when the store is back.")["id"]
    assert until(lambda: idle.total() == len(acknowledged) + 2)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        pytest.param({"AWS_SECRET_ACCESS_KEY": "wrong"}, "refuses these credentials", id="a wrong secret"),
        pytest.param({"AWS_ACCESS_KEY_ID": "nobody"}, "refuses these credentials", id="an unknown key"),
        pytest.param({"AWS_ENDPOINT": "http://127.0.0.1:9"}, "does not answer", id="nobody there"),
    ],
)
def test_what_is_wrong_with_a_bucket_is_said_within_seconds(start_here, on_host, monkeypatch, changed, says):
    for name, value in changed.items():
        monkeypatch.setenv(name, value)
    started = time.monotonic()
    assert says in start_here(**on_host("one")).refused("recall", query="anything")
    assert time.monotonic() - started < 30


def test_a_commit_whose_answer_is_lost_doubles_nothing(start_here, called, s3, on_host, tmp_path, monkeypatch):
    here = start_here(**on_host("one"))
    here.call("remember", content=fact(0))
    here.call("recall", query="parcel locker")
    monkeypatch.setattr(LosingProxy, "port", s3.port, raising=False)
    monkeypatch.setattr(LosingProxy, "lose", ".manifest")
    proxy = ThreadingHTTPServer(("127.0.0.1", 0), LosingProxy)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    try:
        with monkeypatch.context() as patch:
            patch.setenv("AWS_ENDPOINT", f"http://127.0.0.1:{proxy.server_port}")
            behind = start_here(**on_host("one"))
            ids = [behind.call("remember", content=fact(number))["id"] for number in (1, 2, 3)]
            assert until(lambda: ids[-1] in [row["id"] for row in behind.call("recall", query=fact(3))["results"]])
            behind.call("pin", id=ids[0])
        assert LosingProxy.lost
    finally:
        proxy.shutdown()
        proxy.server_close()
    told = json.loads(called(tmp_path, "status", "--json", **on_host("one")).stdout)
    assert sum(count for layer in told["counts"].values() for count in layer.values()) == 4
    doctor = called(tmp_path, "doctor", **on_host("one")).stdout
    assert "doubled ids  none" in doctor, doctor
    audit = called(tmp_path, "audit", **on_host("one"))
    assert audit.returncode == 0, audit.stdout


class Careless(BaseHTTPRequestHandler):
    """An S3 server that ignores conditions, or that is full."""

    protocol_version = "HTTP/1.1"
    objects: ClassVar[dict[str, bytes]] = {}
    is_full: ClassVar[bool] = False

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        if self.is_full:
            self._answer(507, b"<Error><Code>InsufficientStorage</Code></Error>")
        else:
            self.objects[self.path] = body
            self._answer(200)

    def do_GET(self) -> None:
        if "list-type" in self.path:
            self._answer(
                200, b'<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"></ListBucketResult>'
            )
        elif self.path in self.objects:
            self._answer(200, self.objects[self.path])
        else:
            self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")

    def do_POST(self) -> None:
        keys = re.findall(rb"<Key>(.*?)</Key>", self.rfile.read(int(self.headers["Content-Length"])))
        deleted = b"".join(b"<Deleted><Key>" + key + b"</Key></Deleted>" for key in keys)
        self._answer(200, b"<DeleteResult>" + deleted + b"</DeleteResult>")

    def do_DELETE(self) -> None:
        self.objects.pop(self.path, None)
        self._answer(204)

    def _answer(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("ETag", '"1"')
        self.send_header("Last-Modified", "Mon, 02 Mar 2026 09:30:00 GMT")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize(
    ("is_full", "says"), [(False, "does not keep to conditional writes"), (True, "is full or over its quota")]
)
def test_a_bucket_that_cannot_be_used_is_refused_at_the_start(start_here, on_host, monkeypatch, is_full, says):
    monkeypatch.setattr(Careless, "is_full", is_full)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Careless)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        monkeypatch.setenv("AWS_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        assert says in start_here(**on_host("one")).refused("remember", content="Nothing can be kept here.")
    finally:
        server.shutdown()
        server.server_close()


def found(server: Any, query: str, memory_id: str) -> bool:
    """Whether a host finds what another wrote: within the time it takes to be flushed and noticed."""
    return until(lambda: memory_id in [row["id"] for row in server.call("recall", query=query)["results"]])


def refused(server: Any, tool: str, **arguments: Any) -> str:
    answer = server.answer(tool, **arguments)
    return answer.content[0].text if answer.is_error else ""


def until(look: Callable[[], Any], patience: float = 30.0) -> Any:
    deadline = time.monotonic() + patience
    while not (seen := look()):
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.1)
    return seen
