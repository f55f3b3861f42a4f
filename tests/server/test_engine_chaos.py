"""What no orderly end is: an engine that is frozen or cannot be loaded, files that others remove or replace."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from reverie.errors import StoreBusy
from reverie.server import endpoint, engine
from reverie.server.endpoint import EngineUnavailable
from reverie.server.engine import Engine
from reverie.server.engine_client import running_engines, store_taken_over
from reverie.settings import load_settings

from .conftest import PATIENCE
from .test_engine import Machine, Wiring, machine, runtime  # noqa: F401 - fixtures

IMPATIENT = """
import os, sys
from reverie.server import endpoint, relay
endpoint.SECONDS_TO_SHOW_LIFE = 2.0
relay.SECONDS_OF_SILENCE = relay.SECONDS_TO_REACH_AGAIN = 1.0
relay._SECONDS_TO_LEAVE = 4.0
sys.exit(relay.serve(os.environ))
"""


@pytest.mark.slow
def test_a_request_to_a_frozen_engine_is_answered_in_words_and_stop_makes_room_for_the_next(
    machine: Machine,  # noqa: F811
) -> None:
    wire = machine.relay(program=[sys.executable, "-c", IMPATIENT])
    kept = wire.call("remember", content="We lint with ruff.")["id"]
    [pid] = machine.processes()
    os.kill(pid, signal.SIGSTOP)
    for _ in range(2):  # it was connected when it froze, and then it is not
        answer = wire.answer(wire.ask("tools/call", name="recall", arguments={"query": "lint"}))
        assert f"process {pid}" in answer["error"]["message"]
        assert "`reverie engine stop`" in answer["error"]["message"]
    [shown] = running_engines(machine.environment())
    assert (shown.is_frozen, shown.pid, shown.is_ours) == (True, pid, True)
    stopped = _command(machine, "engine", "stop")
    assert stopped.stdout == f"Stopped engine {pid}.\n"
    assert [found["id"] for found in wire.call("recall", query="lint")["results"]] == [kept]
    assert pid not in machine.processes()


@pytest.mark.slow
def test_a_relay_ends_with_its_client_although_a_frozen_engine_takes_nothing_in(machine: Machine) -> None:  # noqa: F811
    wire = machine.relay(program=[sys.executable, "-c", IMPATIENT])
    [pid] = machine.processes()
    os.kill(pid, signal.SIGSTOP)
    wire.ask("tools/call", name="remember", arguments={"content": "long " * 400_000})
    wire.hang_up()
    assert wire.process.wait(30) == 0
    os.kill(pid, signal.SIGCONT)


@pytest.mark.slow
def test_an_engine_whose_lock_was_removed_leaves_to_the_one_that_took_its_place(machine: Machine) -> None:  # noqa: F811
    wire = machine.relay()
    wire.call("status")
    [first] = machine.processes()
    for file in machine.runtime.iterdir():  # as what tidies /tmp does
        if file.suffix != ".log":
            file.unlink()
    machine.relay().call("status")
    _until(lambda: first not in machine.processes())
    assert len(machine.processes()) == 1
    assert wire.call("remember", content="The first session goes on.")["id"]
    assert len(machine.processes()) == 1
    assert {file.suffix for file in machine.runtime.iterdir()} == {".sock", ".lock", ".log"}


@pytest.mark.slow
@pytest.mark.parametrize("what", ["pipe", "folder"])
def test_an_engine_whose_socket_was_replaced_leaves(machine: Machine, what: str) -> None:  # noqa: F811
    wire = machine.relay()
    wire.call("status")
    [first] = machine.processes()
    [path] = machine.runtime.glob("*.sock")
    path.unlink()
    if what == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    _until(lambda: first not in machine.processes())
    if what == "folder":  # nobody may remove what is in it; the session waits for whoever put it there
        path.rmdir()
    assert wire.call("remember", content="The session goes on.")["id"]


@pytest.mark.slow
def test_a_pipe_in_place_of_the_log_holds_nobody_up(machine: Machine) -> None:  # noqa: F811
    os.mkfifo(endpoint.Endpoint.of(machine.environment()).log)
    assert "this session works alone" in machine.relay().call("status")["engine"]


@pytest.mark.slow
def test_an_engine_that_cannot_be_loaded_leaves_and_the_session_is_told(
    runtime: Path,  # noqa: F811
    wire: Wiring,
    tmp_path: Path,
) -> None:
    (tmp_path / "mcp.py").write_text("raise ImportError('half an upgrade')\n", "utf-8")
    machine = Machine(runtime, wire, tmp_path / "home", PYTHONPATH=str(tmp_path))  # noqa: F811
    relay = wire(machine.home, **machine.settings)
    answer = relay.answer(
        relay.ask(
            "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "w", "version": "1"}
        )
    )
    assert "`reverie engine`" in answer["error"]["message"]
    machine.until_nobody()
    [log] = runtime.glob("*.log")
    assert "half an upgrade" in log.read_text()


def test_a_session_alone_that_cannot_be_loaded_says_so_to_each_request(
    runtime: Path,  # noqa: F811
    wire: Wiring,
    tmp_path: Path,
) -> None:
    (tmp_path / "mcp.py").write_text("raise ImportError('half an upgrade')\n", "utf-8")
    machine = Machine(runtime, wire, tmp_path / "home", PYTHONPATH=str(tmp_path), REVERIE_ENGINE="off")  # noqa: F811
    relay = wire(machine.home, **machine.settings)
    for method in ("initialize", "tools/list"):
        error = relay.answer(relay.ask(method))["error"]["message"]
        assert "half an upgrade" in error
        assert "Install it again" in error


@pytest.mark.slow
def test_a_call_that_an_engine_leaves_behind_when_it_is_asked_to_stop_is_answered_by_the_next(
    machine: Machine,  # noqa: F811
) -> None:
    wire = machine.relay()
    wire.call("status")
    [first] = machine.processes()
    environment = machine.environment()
    with store_taken_over(environment, load_settings(environment).domain_uri):
        number = wire.ask("tools/call", name="remember", arguments={"content": "We lint with ruff."})
        time.sleep(0.5)
        machine.ask("stop")
        _until(lambda: first not in machine.processes())
    answer = wire.answer(number)
    assert "error" not in answer
    assert answer["result"]["structuredContent"]["id"]


@pytest.mark.slow
def test_a_thousand_connections_that_say_nothing_take_no_files_from_the_engine(machine: Machine) -> None:  # noqa: F811
    few = machine.relay(program=["/bin/sh", "-c", f"ulimit -S -n 256; exec {sys.executable} -m reverie serve"])
    few.call("status")
    [pid] = machine.processes()
    [path] = machine.runtime.glob("*.sock")
    silent = [socket.socket(socket.AF_UNIX) for _ in range(600)]
    try:
        for one in silent:
            one.settimeout(10)
            _until(partial(_connects, one, path))
        assert few.call("remember", content="Silence is no obstacle.")["id"]
        assert len(os.listdir(f"/proc/{pid}/fd")) < 256
    finally:
        for one in silent:
            one.close()
    assert machine.ask("about")["pid"] == pid
    [log] = machine.runtime.glob("*.log")
    assert "Too many open files" not in log.read_text()


@pytest.mark.slow
def test_a_hello_that_never_ends_is_cut_off_and_takes_no_memory(machine: Machine) -> None:  # noqa: F811
    machine.relay().call("status")
    [path] = machine.runtime.glob("*.sock")
    with socket.socket(socket.AF_UNIX) as endless:
        endless.settimeout(PATIENCE)
        endless.connect(str(path))
        with pytest.raises(OSError, match=r"[Bb]roken pipe|reset"):
            endless.sendall(b"x" * 32 * 1024 * 1024)


def test_a_call_waits_for_a_command_with_the_store_to_itself_but_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "SECONDS_TO_WAIT_FOR_A_COMMAND", 0.05)

    async def waits() -> None:
        one = Engine(lambda: load_settings({"REVERIE_HOME": str(tmp_path / "home")}))
        async with one.handed_over():
            with pytest.raises(StoreBusy, match="Another command has the store to itself"):
                async with one.calling():
                    raise AssertionError("the store is another's")
        async with one.calling():
            pass

    asyncio.run(waits())


def test_a_store_that_is_being_opened_is_closed_before_it_is_handed_over(tmp_path: Path) -> None:
    async def hand_over() -> None:
        one = Engine(lambda: load_settings({"REVERIE_HOME": str(tmp_path / "home")}))
        one.start()
        opening = one._opening
        assert opening is not None
        await asyncio.sleep(0)
        async with one.handed_over():
            assert opening.done()

    asyncio.run(hand_over())


def test_while_the_package_is_replaced_no_engine_is_to_be_had_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "SUBPACKAGES", ("server", "removed"))
    environment = {"REVERIE_HOME": str(tmp_path), "REVERIE_RUNTIME": str(tmp_path)}
    with pytest.raises(EngineUnavailable, match="own files are being replaced"):
        endpoint.reach(environment, endpoint.hello(environment, "about", "", "/"))


def test_a_log_that_was_removed_takes_no_room_and_another_file_of_its_name_is_left_alone(tmp_path: Path) -> None:
    path, other = tmp_path / "engine.log", tmp_path / "other"
    other.write_text("of somebody else\n")
    program = (
        "import os, sys; from reverie.server.engine_files import LONGEST_LOG, shorten_log\n"
        "sys.stderr.write('line\\n' * (LONGEST_LOG // 4)); sys.stderr.flush(); shorten_log(sys.argv[1])\n"
        "print(os.fstat(2).st_size); os.replace(sys.argv[2], sys.argv[1])\n"
        "sys.stderr.write('line\\n' * (LONGEST_LOG // 4)); sys.stderr.flush(); shorten_log(sys.argv[1])\n"
        "print(os.fstat(2).st_size)"
    )
    with path.open("ab") as log:
        arguments = [sys.executable, "-c", program, str(path), str(other)]
        sizes = subprocess.run(arguments, stderr=log, stdout=subprocess.PIPE, check=True, text=True).stdout.split()
    assert 190_000 < int(sizes[0]) <= 200_000
    assert sizes[1] == "0"
    assert path.read_text() == "of somebody else\n"


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _connects(one: socket.socket, path: Path) -> bool:
    try:
        one.connect(str(path))
    except BlockingIOError:  # as many as the system lets wait are waiting
        return False
    return True


def _command(machine: Machine, *arguments: str) -> "subprocess.CompletedProcess[str]":  # noqa: F811
    return subprocess.run(
        [sys.executable, "-m", "reverie", *arguments],
        env=machine.environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
