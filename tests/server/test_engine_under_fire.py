"""The engine is killed while eight sessions write; a hundred sessions come and go. Minutes, so behind the marker."""

import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest

from .conftest import PATIENCE, Wire
from .test_engine import Machine, Wiring, machine, runtime  # noqa: F401 - fixtures

pytestmark = pytest.mark.slow

KILLS = 20
SESSIONS = 8


def test_twenty_kills_while_eight_sessions_write_break_no_session_and_lose_nothing(
    machine: Machine,  # noqa: F811
    chance: random.Random,
    tmp_path: Path,
) -> None:
    wires = [machine.relay() for _ in range(SESSIONS)]
    acknowledged: list[list[str]] = [[] for _ in wires]
    stop = threading.Event()
    broken: list[BaseException] = []

    def write(number: int, wire: Wire) -> None:
        try:
            while not stop.is_set():
                said = f"Session {number} wrote line {len(acknowledged[number])} of its log on shelf {number * 7919}."
                answer = wire.answer(wire.ask("tools/call", name="remember", arguments={"content": said}))
                assert "error" not in answer, answer
                assert not answer["result"].get("isError"), answer
                acknowledged[number].append(said)
        except BaseException as error:  # noqa: BLE001 - it is raised in the test
            broken.append(error)

    threads = [threading.Thread(target=write, args=pair) for pair in enumerate(wires)]
    for thread in threads:
        thread.start()
    killed = 0
    while killed < KILLS:
        before = sum(map(len, acknowledged))
        deadline = time.monotonic() + PATIENCE
        # Most fall while sessions write, some while an engine has hardly begun.
        wanted = before + chance.choice([0, 1, 3, 10, 30])
        while sum(map(len, acknowledged)) < wanted and not broken:
            assert time.monotonic() < deadline, "nobody writes any more"
            time.sleep(0.005)
        time.sleep(chance.random() * 0.2)
        for pid in machine.processes():
            os.kill(pid, signal.SIGKILL)
            killed += 1
    stop.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert broken == []
    lines = sorted(line for written in acknowledged for line in written)
    kept = sorted(memory["content"] for memory in _exported(machine, tmp_path))
    assert [line for line in lines if line not in set(kept)] == []
    assert len(kept) == len(set(kept))
    assert len(machine.processes()) == 1


def test_a_hundred_sessions_leave_one_engine_then_none_and_nothing_that_grows(machine: Machine) -> None:  # noqa: F811
    settings = {"REVERIE_ENGINE_IDLE": "0.2"}
    pids = set()
    for number in range(100):
        wire = machine.relay(**settings)
        wire.call("recall", query=f"what is in box {number}")
        if number % 2:
            wire.process.kill()
        else:
            wire.hang_up()
        wire.process.wait(PATIENCE)
        pids |= set(machine.processes())
    assert len(pids) == 1
    machine.until_nobody()
    assert [file.suffix for file in machine.runtime.iterdir()] == [".log"]
    assert sum(file.stat().st_size for file in machine.runtime.iterdir()) < 1_000_000


def _exported(machine: Machine, folder: Path) -> list[dict[str, str]]:  # noqa: F811
    import json
    import subprocess
    import sys

    file = folder / "all.jsonl"
    environment = machine.environment(REVERIE_ENGINE="off")
    command = [sys.executable, "-m", "reverie", "export", str(file)]
    subprocess.run(command, env=environment, check=True, capture_output=True, cwd=folder)
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]
