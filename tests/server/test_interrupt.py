"""Ctrl-C in `reverie dream`, in a real process: it ends at once, and nothing is half done.

On a machine of its own it ends within two seconds. The limit here is generous, since timing never decides a test:
half the time that the interrupted step would still take.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT"), pytest.mark.slow]

# The real command, but one of its parts takes its time and says when it begins.
SLOW = """
import asyncio, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where CI runs in the background
from reverie.dream import cycle
from reverie.dream.steps import Planner

write = cycle.write

def slow_think(self):
    print("begun", flush=True)
    time.sleep(30)

async def slow_write(*given):
    print("begun", flush=True)
    await asyncio.sleep(0.5)
    await write(*given)
    await asyncio.sleep(0.5)

def slow_embed(memories, embedder):
    print("begun", flush=True)
    time.sleep(30)

if sys.argv[1] == "think":
    Planner.plan_next = slow_think
elif sys.argv[1] == "embed":
    cycle._embedded = slow_embed
else:
    cycle.write = slow_write
from reverie.cli.main import main
sys.exit(main(["dream"]))
"""
PROMPT = 15.0
TEXT = "The nightly backup of the billing database runs on the second replica and is kept for ninety days"


@pytest.mark.parametrize("where", ["think", pytest.param("embed", marks=pytest.mark.slow), "write"])
def test_it_ends_at_once_with_nothing_half_done(tmp_path: Path, called: Callable[..., Any], where: str) -> None:
    lines = [{"id": f"backup{n}", "content": TEXT + "!" * n, "layer": "semantic"} for n in range(3)]
    called(tmp_path, "import", "-", stdin="\n".join(map(json.dumps, lines)))
    before = statuses(tmp_path, called)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REVERIE_")}
    with subprocess.Popen(
        [sys.executable, "-c", SLOW, where],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment
        | {"REVERIE_HOME": str(tmp_path / "home"), "REVERIE_PROJECT": "tests", "REVERIE_ENGINE": "off"},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(PROMPT) == 130
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()
    nights = json.loads(called(tmp_path, "dreams", "--json").stdout)
    if where == "write":
        assert [night["status"] for night in nights] == ["done"]
        assert statuses(tmp_path, called) != before
    else:
        assert nights == []
        assert statuses(tmp_path, called) == before
    audited = called(tmp_path, "audit")
    assert audited.returncode == 0, audited.stdout
    assert called(tmp_path, "dream").returncode == 0  # nothing is locked


def statuses(folder: Path, called: Callable[..., Any]) -> list[str]:
    return [json.loads(line)["status"] for line in called(folder, "export", "-").stdout.splitlines()]
