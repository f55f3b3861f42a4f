"""The demo does what it says, in a few seconds, and leaves nothing behind."""

import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from reverie.cli import demo
from reverie.cli.demo import LEARNED, QUESTIONS
from reverie.server.app import build_server
from reverie.server.engine import Engine, LazySession
from reverie.settings import load_settings

pytestmark = pytest.mark.slow


def played(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    (folder / "tmp").mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-m", "reverie", "demo", *arguments],
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        env=os.environ | {"TMPDIR": str(folder / "tmp"), "HOME": str(folder), "REVERIE_HOME": str(folder / "home")},
        cwd=folder,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("demo")
    result = played(folder, "--json")
    assert (result.returncode, result.stderr) == (0, "")
    assert [path.name for path in folder.rglob("*")] == ["tmp"]  # no data folder, nothing temporary
    told: dict[str, Any] = json.loads(result.stdout)
    return told


def test_a_dozen_things_are_remembered(story: dict[str, Any]) -> None:
    assert len(story["remembered"]) == len(LEARNED) == 12
    assert {answer["status"] for answer in story["remembered"]} == {"active"}


@pytest.mark.parametrize(
    ("number", "word"), list(enumerate(["SQLite", "Tuesdays", "daylight saving", "plain functions"]))
)
def test_each_question_finds_its_answer_by_other_words(story: dict[str, Any], number: int, word: str) -> None:
    answer = story["recalled"][number]["answer"]
    assert word in answer
    shared = set(re.findall(r"\w{4,}", QUESTIONS[number].lower())) & set(re.findall(r"\w{4,}", answer.lower()))
    assert shared <= {"mara", "were"}


def test_the_conflict_is_noticed_and_the_pin_holds(story: dict[str, Any]) -> None:
    [conflict] = story["conflict"]["conflicts"]
    assert conflict["content"] == "The API listens on port 8080."
    assert (story["promoted"]["from_layer"], story["promoted"]["to_layer"]) == ("episodic", "semantic")
    assert (story["refused"]["forgotten"], story["refused"]["skipped"][0]["reason"]) == ([], "pinned")


@asynccontextmanager
async def _in_this_process(folder: Path, **settings: str) -> AsyncIterator[demo.Session]:
    environment = {"REVERIE_HOME": str(folder / "home"), "REVERIE_CONFIG": str(folder / "config")} | settings
    environment |= {"REVERIE_PROJECT": demo.PROJECT}
    engine = Engine(lambda: load_settings(environment))
    async with Client(build_server(LazySession(engine, folder, environment))) as client:
        yield demo.Session(client, 0.1)
    await engine.close()


def test_a_person_reads_the_story_and_a_block_that_can_be_pasted(
    tmp_path: Path, called: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`story` has shown that the servers of a demo start; here they need not start again."""
    monkeypatch.setattr(demo, "_connected", _in_this_process)
    result = called(tmp_path, "demo")
    assert (result.returncode, result.stderr) == (0, "")
    assert max(map(len, result.stdout.splitlines())) <= 120
    assert "claude mcp add reverie -- " in result.stdout
    block = json.loads(result.stdout[result.stdout.index("\n  {\n") :])
    command = block["mcpServers"]["reverie"]
    assert Path(command["command"]).exists()
    assert command["args"][-1] == "serve"
