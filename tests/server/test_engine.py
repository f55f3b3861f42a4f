"""One engine per machine: relays share it, it survives being killed, nobody else gets in, and it leaves."""

import contextlib
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reverie.server import endpoint
from reverie.server.endpoint import Endpoint, EngineUnavailable
from reverie.server.relay import REPEATED

from .conftest import PATIENCE, Wire, _environment

pytestmark = pytest.mark.slow

Wiring = Callable[..., Wire]


class Machine:
    """A folder for sockets of its own, and relays that use it."""

    def __init__(self, runtime: Path, wiring: Wiring, home: Path, **settings: str) -> None:
        self.settings = {"REVERIE_ENGINE": "auto", "REVERIE_RUNTIME": str(runtime)} | settings
        self.runtime = runtime
        self.home = home
        self._wiring = wiring
        self._raw: list[Raw] = []

    def environment(self, **settings: str) -> dict[str, str]:
        return _environment(self.home, self.settings | settings)

    def relay(self, **settings: str) -> Wire:
        """Start a relay, hands shaken."""
        wire = self._wiring(self.home, **self.settings | settings)
        wire.shake_hands()
        return wire

    def ask(self, kind: str, **settings: str) -> dict[str, Any]:
        """Ask the engine of these settings something without starting one."""
        environment = self.environment(**settings)
        said = endpoint.hello(environment, kind, "", "/")
        connection = endpoint.reach(environment, said, within=PATIENCE, starting=False)
        connection.close()
        return connection.engine

    def connect(self, session: str, **settings: str) -> "Raw":
        environment = self.environment(**settings)
        said = endpoint.hello(environment, "session", session, str(self.home.parent))
        self._raw.append(Raw(endpoint.reach(environment, said, within=PATIENCE)))
        return self._raw[-1]

    def processes(self) -> list[int]:
        """Return the process ids of the engines of this machine."""
        found = []
        for folder in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                command = (folder / "cmdline").read_bytes().split(b"\0")
                if b"reverie.server.engine_process" in command and os.fsencode(self.runtime) in command:
                    found.append(int(folder.name))
        return found

    def stop(self) -> None:
        for raw in self._raw:
            raw.connection.close()
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        self.until_nobody()

    def until_nobody(self, patience: float = PATIENCE) -> None:
        deadline = time.monotonic() + patience
        while self.processes():
            assert time.monotonic() < deadline, "an engine is left behind"
            time.sleep(0.05)


class Raw:
    """A session without a relay: lines on the socket."""

    def __init__(self, connection: endpoint.Connection) -> None:
        self.connection = connection

    def say(self, **message: Any) -> None:
        self.connection.send(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")

    def answer(self, number: int) -> dict[str, Any]:
        while line := self.connection.receive():
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == number:
                return message
        raise AssertionError("the engine has gone")

    def shake_hands(self) -> "Raw":
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        self.say(id=0, method="initialize", params=params)
        self.answer(0)
        self.say(method="notifications/initialized")
        return self

    def call(self, number: int, tool: str, **arguments: Any) -> dict[str, Any]:
        self.say(id=number, method="tools/call", params={"name": tool, "arguments": arguments})
        result = self.answer(number)["result"]
        assert not result.get("isError"), result
        content: dict[str, Any] = result["structuredContent"]
        return content


@pytest.fixture
def runtime() -> Iterator[Path]:
    """A folder whose path is short enough for a socket, which those of pytest are not."""
    folder = Path(tempfile.mkdtemp(prefix="rv"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def machine(runtime: Path, wire: Wiring, tmp_path: Path) -> Iterator[Machine]:
    """A machine on which no engine runs, before the test and after it."""
    machine = Machine(runtime, wire, tmp_path / "home")
    yield machine
    machine.stop()


@pytest.fixture(params=["auto", "port"])
def either_machine(request: pytest.FixtureRequest, runtime: Path, wire: Wiring, tmp_path: Path) -> Iterator[Machine]:
    """The same with a Unix socket and with a loopback port."""
    machine = Machine(runtime, wire, tmp_path / "home", REVERIE_ENGINE=request.param)
    yield machine
    machine.stop()


def test_sessions_share_one_engine_and_what_it_remembers(either_machine: Machine) -> None:
    machine = either_machine
    first = machine.relay()
    kept = first.call("remember", content="The harbour crane is serviced by Okafor & Sons.")
    second = machine.relay()
    found = second.call("recall", query="who services the crane")
    assert [row["id"] for row in found["results"]] == [kept["id"]]
    [pid] = machine.processes()
    about = machine.ask("about")
    assert (about["pid"], about["sessions"]) == (pid, 2)
    assert str(pid) in first.call("status")["engine"]


def test_a_line_that_is_no_message_is_answered_through_the_relay_as_on_stdio(machine: Machine) -> None:
    wire = machine.relay()
    for line, code in (("not json", -32700), ("[1]", -32600), ('{"id": 7, "method": "\\ud83d"}', -32700)):
        wire.send(line)
        assert json.loads(wire.next_line())["error"]["code"] == code, line
    assert wire.call("status")["engine"]


def test_a_session_sees_its_own_project_and_folder(machine: Machine, tmp_path: Path) -> None:
    one, other = machine.relay(REVERIE_PROJECT="one"), machine.relay(REVERIE_PROJECT="other")
    kept = one.call("remember", content="The lamp on the pier burns oil.")
    assert kept["project"] == "one"
    assert other.call("status")["project"] == "other"
    assert not other.call("recall", query="lamp on the pier")["results"]
    assert len(machine.processes()) == 1


def test_sessions_that_start_at_once_start_one_engine(machine: Machine) -> None:
    wires = [machine._wiring(machine.home, **machine.settings) for _ in range(6)]
    for wire in wires:
        wire.shake_hands()
    assert len(machine.processes()) == 1
    assert machine.ask("about")["sessions"] == 6


def test_another_setting_or_version_gets_another_engine(machine: Machine) -> None:
    def key(**settings: str) -> str:
        return endpoint.engine_key(machine.environment(**settings))

    assert key() == key() == key(REVERIE_PROJECT="another", REVERIE_ENGINE="auto", CLAUDE_PROJECT_DIR="/x")
    different = {
        key(),
        key(REVERIE_DOMAIN="alfred"),
        key(REVERIE_CLOCK="+90d"),
        key(REVERIE_HOME="/elsewhere"),
        key(REVERIE_ENGINE="port"),
        key(REVERIE_EMBEDDER="openai:m", OPENAI_API_KEY="one"),
        key(REVERIE_EMBEDDER="openai:m", OPENAI_API_KEY="two"),
    }
    assert len(different) == 7
    machine.home.mkdir()
    before = key()
    (machine.home / "reverie.toml").write_text('retention = "l2"\n')
    assert key() != before


def test_the_stamp_of_the_package_covers_every_folder_that_is_installed() -> None:
    import tomllib

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    installed = {name for name in project["tool"]["setuptools"]["package-dir"].values() if name != "core"}
    assert {name.partition("/")[0] for name in installed} == set(endpoint.SUBPACKAGES)


def test_a_relay_imports_nothing_but_the_standard_library() -> None:
    script = "import sys, reverie.server.relay; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split()) - {"reverie"}
    outside = {name for name in loaded if name not in sys.stdlib_module_names and not name.startswith("_")}
    assert not {name for name in outside if "editable" not in name and "distutils" not in name}
    assert not loaded & {"asyncio", "dataclasses", "subprocess", "tomllib", "argparse"}


# ── an engine that ends ───────────────────────────────────────────────────────────────────────────────────


def test_a_request_that_the_engine_did_not_live_to_answer_is_answered_by_the_next(either_machine: Machine) -> None:
    machine = either_machine
    wire = machine.relay()
    first = wire.call("remember", content="The first bell rings at six.")
    [pid] = machine.processes()
    os.kill(pid, signal.SIGSTOP)
    number = wire.ask("tools/call", name="remember", arguments={"content": "The second bell rings at noon."})
    time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    second = wire.answer(number)["result"]["structuredContent"]
    found = wire.call("recall", query="when do the bells ring")["results"]
    assert {row["id"] for row in found} == {first["id"], second["id"]}
    assert machine.processes() != [pid]


def test_an_engine_that_ends_between_two_requests_is_not_missed(machine: Machine) -> None:
    wire = machine.relay()
    [pid] = machine.processes()
    os.kill(pid, signal.SIGKILL)
    machine.until_nobody()
    assert wire.call("status")["engine"]
    assert len(machine.processes()) == 1


def test_a_repeated_call_is_done_once(machine: Machine) -> None:
    key = "a" * 32
    first = machine.connect(key).shake_hands()
    old = first.call(1, "remember", content="The gate opens at seven.", layer="episodic")
    new = first.call(2, "remember", content="The gate opens at eight.", supersedes=old["id"], layer="episodic")
    moved = first.call(3, "promote", id=new["id"])
    revised = first.call(4, "revise", id=new["id"], content="The gate opens at nine.", reason="winter")
    again = machine.connect(key).shake_hands()
    again.say(method=REPEATED, params={"ids": [1, 2, 3, 4]})
    assert again.call(1, "remember", content="The gate opens at seven.", layer="episodic")["id"] == old["id"]
    repeated = again.call(2, "remember", content="The gate opens at eight.", supersedes=old["id"], layer="episodic")
    assert repeated["id"] == new["id"]
    assert again.call(3, "promote", id=new["id"]) == moved
    assert moved["to_layer"] == "semantic"
    repeated = again.call(4, "revise", id=new["id"], content="The gate opens at nine.", reason="winter")
    assert (repeated["id"], repeated["superseded"]) == (revised["id"], new["id"])
    counts = again.call(5, "status")["counts"]
    assert sum(number for layer in counts.values() for number in layer.values()) == 3


def test_the_same_call_of_another_session_is_another_call(machine: Machine) -> None:
    first, second = machine.connect("a" * 32).shake_hands(), machine.connect("b" * 32).shake_hands()
    one = first.call(1, "remember", content="The ferry leaves at nine.")
    second.say(method=REPEATED, params={"ids": [1]})
    other = second.call(1, "remember", content="The train leaves at ten.")
    assert one["id"] != other["id"]


def test_one_sessions_flood_does_not_hold_up_another(machine: Machine) -> None:
    flooding, other = machine.relay(), machine.relay()
    flooding.call("remember", content="The warehouse is on Canal Street.")
    numbers = [
        flooding.ask("tools/call", name="recall", arguments={"query": f"street of warehouse {number}"})
        for number in range(300)
    ]
    other.call("remember", content="The office is on Mill Lane.")
    assert len(_answered(flooding, numbers)) < len(numbers)
    flooding.answer(numbers[-1])


def _answered(wire: Wire, numbers: list[int]) -> list[bytes]:
    """Return the lines that have come by now."""
    lines = []
    with contextlib.suppress(AssertionError):
        while len(lines) < len(numbers):
            lines.append(wire.next_line(0.0))
    return lines


# ── nobody else gets in ───────────────────────────────────────────────────────────────────────────────────


def test_socket_folder_and_port_file_are_their_owners_alone(either_machine: Machine) -> None:
    machine = either_machine
    machine.relay()
    assert stat.S_IMODE(machine.runtime.stat().st_mode) == 0o700
    for file in machine.runtime.iterdir():
        assert not stat.S_IMODE(file.stat().st_mode) & 0o077, file


def test_a_folder_that_others_can_enter_is_not_used(machine: Machine) -> None:
    machine.runtime.chmod(0o755)
    wire = machine.relay()
    assert "only you can enter" in wire.call("status")["engine"]
    assert not machine.processes()
    machine.runtime.chmod(0o700)


def test_a_port_without_the_secret_is_of_no_use(runtime: Path, wire: Wiring, tmp_path: Path) -> None:
    machine = Machine(runtime, wire, tmp_path / "home", REVERIE_ENGINE="port")
    machine.relay()
    [file] = runtime.glob("*.port")
    port, secret = file.read_text().split()
    file.write_text(f"{port} {'0' * len(secret)}")
    with pytest.raises(EngineUnavailable, match="another program listens"):
        endpoint.connect(Endpoint.of(machine.environment()), {}, within=5)
    with socket.create_connection(("127.0.0.1", int(port))) as stranger:
        lines = stranger.makefile("rb")
        stranger.sendall(b'{"nonce": "1"}\n')
        assert json.loads(lines.readline())["nonce"]
        stranger.sendall(json.dumps(endpoint.hello({}, "session", "", "/") | {"proof": "guessed"}).encode() + b"\n")
        assert "proof" in json.loads(lines.readline())["error"]
        assert lines.readline() == b""
    file.write_text(f"{port} {secret}")
    machine.stop()


GARBAGE = {
    "a browser": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "bytes": b"\x00\xff" * 5_000 + b"\n",
    "a list": b"[1, 2]\n",
    "deep nesting": b"[" * 100_000 + b"\n",
    "another protocol": b'{"protocol": 99, "kind": "session"}\n',
    "another kind": b'{"protocol": 1, "kind": "nonsense"}\n',
    "no kind": b'{"protocol": 1}\n',
    "calls of nothing": b'{"protocol": 1, "kind": "calls"}\n[]\n{"tool": "nothing"}\n',
    "nothing": b"",
}


def test_garbage_on_the_socket_is_dropped_and_the_engine_serves_on(machine: Machine) -> None:
    wire = machine.relay()
    [path] = machine.runtime.glob("*.sock")
    wrong = []
    for name, said in GARBAGE.items():
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.settimeout(PATIENCE)
            stranger.connect(str(path))
            stranger.sendall(said)
            stranger.shutdown(socket.SHUT_WR)
            lines = [json.loads(line) for line in stranger.makefile("rb").read().splitlines()]
        if any("error" not in line and "pid" not in line for line in lines):
            wrong.append((name, lines))
    assert wrong == []
    assert wire.call("status")["engine"]
    assert len(machine.processes()) == 1


def test_what_an_earlier_engine_left_behind_is_no_obstacle(machine: Machine) -> None:
    at = Endpoint.of(machine.environment())
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(at.socket)
    Path(at.lock).write_text("4711")
    machine.relay()
    assert len(machine.processes()) == 1


def test_where_no_engine_can_listen_the_session_works_alone(machine: Machine) -> None:
    at = Endpoint.of(machine.environment())
    os.makedirs(at.socket)  # which nothing can listen on, and nobody can remove as a file
    wire = machine.relay()
    assert wire.call("status")["engine"].startswith("none, because")
    assert not machine.processes()


# ── leaving ───────────────────────────────────────────────────────────────────────────────────────────────


def test_it_leaves_some_time_after_its_last_session_and_takes_its_files_along(machine: Machine) -> None:
    wires = [machine.relay(REVERIE_ENGINE_IDLE="0.01") for _ in range(2)]
    wires[0].call("remember", content="The tide turns at four.")
    wires[0].hang_up()
    wires[1].process.kill()
    machine.until_nobody()
    assert [file.suffix for file in machine.runtime.iterdir()] == [".log"]
    again = machine.relay(REVERIE_ENGINE_IDLE="0.01")
    assert again.call("recall", query="when does the tide turn")["results"]


def test_a_data_folder_that_was_removed_is_begun_anew_and_an_engine_without_sessions_leaves_it(
    machine: Machine,
) -> None:
    wire = machine.relay()
    wire.call("remember", content="The lamp burns oil.")
    shutil.rmtree(machine.home)
    kept = wire.call("remember", content="The stove burns wood.")
    assert [row["id"] for row in wire.call("recall", query="what burns")["results"]] == [kept["id"]]
    shutil.rmtree(machine.home)
    wire.hang_up()
    machine.until_nobody()
    assert not machine.relay().call("recall", query="what burns")["results"]


def test_asked_to_stop_it_goes_and_the_next_request_starts_another(machine: Machine) -> None:
    wire = machine.relay()
    pid = machine.ask("stop")["pid"]
    machine.until_nobody()
    assert wire.call("status")["engine"]
    assert machine.ask("about")["pid"] != pid


def test_the_end_of_stdin_ends_the_relay_at_once_and_leaves_the_engine(machine: Machine) -> None:
    wire, other = machine.relay(), machine.relay()
    wire.hang_up()
    assert wire.process.wait(PATIENCE) == 0
    assert other.call("status")["engine"]
    assert not wire.stderr
