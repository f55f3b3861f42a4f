"""Dreaming as a client sees it, over real stdio: tools, progress, cancelling, the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from reverie.dream.steps import STEPS
from reverie.tools import requests

pytestmark = pytest.mark.slow


def told(home: Path, *arguments: str) -> Any:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REVERIE_")}
    done = subprocess.run(
        [sys.executable, "-m", "reverie", *arguments],
        env=environment | {"REVERIE_HOME": str(home), "REVERIE_PROJECT": "tests", "REVERIE_ENGINE": "off"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) if "--json" in arguments else done.stdout


def test_the_steps_a_client_may_name_are_those_there_are():
    assert tuple(requests.StepName.__args__) == tuple(STEPS)


def test_a_dream_over_the_protocol_is_told_step_by_step_and_undone(server):
    text = "The nightly backup of the billing database runs on the second replica and is kept for ninety days"
    first = server.call("remember", content=text, layer="semantic")["id"]
    server.call("remember", content=text + "!", layer="semantic")
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async def dream() -> Any:
        return await server.client.call_tool("consolidate", {}, progress_callback=hear)

    result = server.run(dream).structured_content
    assert [step["name"] for step in result["steps"]] == list(STEPS)
    assert [message for _, _, message in heard][: len(STEPS) + 1] == ["reading", *STEPS]
    assert heard[-1][2] == "done"
    assert [one[0] for one in heard] == sorted(one[0] for one in heard)
    assert server.full(first)["status"] == "superseded"
    assert server.call("status")["last_dream"].startswith(result["dream_id"])
    assert server.call("restore", dream_id=result["dream_id"])["restored"]
    assert server.full(first)["status"] == "active"


def test_review_over_the_protocol_refuses_what_is_wrong(server):
    assert server.call("review")["resolved"] == []
    assert "no question has the id" in server.refused("review", decisions=[{"question_id": "qx", "verdict": "merge"}])
    assert "'nap' is unknown" in server.refused("consolidate", steps=["nap"]) or "steps" in server.refused(
        "consolidate", steps=["nap"]
    )


def test_a_cancelled_dream_changes_nothing_and_leaves_the_next_one_free(server):
    async def cancelled() -> None:
        with anyio.move_on_after(0.01):
            await server.client.call_tool("consolidate", {})

    server.call("remember", content="The lamp of the harbour burns oil", layer="semantic")
    server.run(cancelled)
    assert server.until_done("consolidate", "is dreaming")["dream_id"]


@pytest.mark.slow
@pytest.mark.rule("003-http")
def test_cron_can_dream_and_a_person_can_read_and_undo_it(tmp_path):
    home = tmp_path / "home"
    text = "The nightly backup of the billing database runs on the second replica and is kept for ninety days"
    for mark in (".", "!"):
        told(home, "remember", text + mark, "--layer", "semantic", "--json")
    preview = told(home, "dream", "--dry-run")
    assert "nothing is changed" in preview
    assert "dedupe, duplicate (1)" in preview
    dream = told(home, "dream", "--json")
    [line] = told(home, "dreams", "--json")
    assert (line["id"], line["status"]) == (dream["dream_id"], "done")
    story = told(home, "dreams", dream["dream_id"])
    assert "Said twice: said again." in story
    assert f"reverie dreams {dream['dream_id']} --undo" in story
    assert "as before" in told(home, "dreams", dream["dream_id"], "--undo", "--yes")
    assert "undone" in told(home, "dreams")
