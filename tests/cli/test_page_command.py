"""`reverie page`: served by the engine, or by the command itself until Ctrl-C."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reverie.server import endpoint
from tests.server.conftest import PATIENCE, _wiring
from tests.server.test_engine import Machine

pytestmark = [pytest.mark.skipif(sys.platform == "win32", reason="needs signals"), pytest.mark.slow]


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine on which the first command starts an engine."""
    runtime, folder = Path(tempfile.mkdtemp(prefix="rv")), tmp_path_factory.mktemp("machine")
    with _wiring(folder) as wiring:
        machine = Machine(runtime, wiring, folder / "home")
        try:
            yield machine
        finally:
            machine.stop()
            for engine in endpoint._started:
                engine.wait(PATIENCE)
    shutil.rmtree(runtime)


def command(machine: Machine, *arguments: str, **settings: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "reverie", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=machine.environment(**settings),
        cwd=machine.home.parent,
    )


def followed(address: str) -> dict[str, str]:
    """Follow a link as a script would; return what later calls send along."""
    opened = urllib.request.urlopen(address, timeout=PATIENCE)  # noqa: S310 - our own page
    [key] = set(re.findall(r"#key=([\w-]+)", opened.read().decode()))
    cookie = opened.headers["set-cookie"].partition(";")[0]
    return {"Content-Type": "application/json", "X-Reverie-Key": key, "Cookie": cookie}


def called(address: str, name: str, headers: dict[str, str] | None = None, **arguments: Any) -> Any:
    """Follow a link, unless that was done before, and call the API."""
    request = urllib.request.Request(  # noqa: S310 - our own page
        f"{address.partition('/open/')[0]}/api/v1/{name}",
        json.dumps(arguments).encode(),
        followed(address) if headers is None else headers,
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310 - our own page
        return json.load(answer)


def test_the_engine_serves_the_page_to_every_command_that_asks(machine: Machine) -> None:
    first, second = (command(machine, "page", "--print").communicate(timeout=PATIENCE) for _ in range(2))
    assert (first[1], second[1]) == ("", "")
    links = [first[0].strip(), second[0].strip()]
    assert links[0] != links[1]
    assert len({link.partition("/open/")[0] for link in links}) == 1
    kept = called(links[0], "remember", content="The harbour crane is painted red.", layer="semantic")
    assert [row["id"] for row in called(links[1], "browse")["memories"]] == [kept["id"]]
    [pid] = machine.processes()
    third = command(machine, "page", "--print", "--json").communicate(timeout=PATIENCE)[0]
    assert str(pid) in called(json.loads(third)["address"], "status")["engine"]


def test_a_port_that_another_page_is_not_on_is_refused_with_advice(machine: Machine) -> None:
    command(machine, "page", "--print").communicate(timeout=PATIENCE)
    process = command(machine, "page", "--print", "--port", "1")
    said, complaint = process.communicate(timeout=PATIENCE)
    assert (process.returncode, said) == (1, "")
    assert "already served on port" in complaint


def test_without_an_engine_the_command_serves_the_page_until_ctrl_c(machine: Machine) -> None:
    process = command(machine, "page", "--print", "--no-engine", REVERIE_PROJECT="alone")
    assert process.stdout is not None
    link = process.stdout.readline().strip()
    assert called(link, "status")["project"] == "alone"
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(link, timeout=PATIENCE)  # noqa: S310 - our own page
    assert refused.value.code == 403
    refused.value.close()
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Traceback" not in complaint


def test_a_page_goes_on_after_its_engine_was_killed_and_another_session_started_the_next(machine: Machine) -> None:
    address = command(machine, "page", "--print").communicate(timeout=PATIENCE)[0].strip()
    headers = followed(address)
    first = called(address, "health", headers)["engine"]["process"]
    os.kill(first, signal.SIGKILL)
    # Any command or session starts the next engine; nobody runs `reverie page` again.
    assert command(machine, "status").communicate(timeout=PATIENCE)[0]
    until = time.monotonic() + PATIENCE
    while True:
        try:
            second = called(address, "health", headers)["engine"]["process"]
            break
        except urllib.error.URLError:
            assert time.monotonic() < until
            time.sleep(0.1)
    assert second != first
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(address, timeout=PATIENCE)  # noqa: S310 - a link that was used stays used
