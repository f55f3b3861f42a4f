"""`reverie review`: a list in a pipe, answers from a script, and questions one by one on a terminal."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reverie.cli import dreams, terminal
from reverie.cli.dreams import keys_of

Run = Callable[..., "subprocess.CompletedProcess[str]"]

BASE = "the Exporter job of the billing team writes one invoice file to the archive bucket every single night"
TAILS = ("as auditors want it", "when traffic stays low", "before reports get built", "with checks run twice",
         "since customers asked once")  # fmt: skip
MERGED = f"{BASE}, {', '.join(TAILS)}"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory, called: Run) -> Path:
    """A store in which a dream left a question: whether five memories are one."""
    folder = tmp_path_factory.mktemp("review")
    lines = [json.dumps({"content": f"{BASE} {tail}", "layer": "semantic"}) for tail in TAILS]
    assert called(folder, "import", "-", "--trust", stdin="\n".join(lines)).returncode == 0
    assert called(folder, "dream", "--steps", "cluster").returncode == 0
    return folder


@pytest.fixture
def run(asked: Path, tmp_path: Path, called: Run) -> Run:
    """Run a command on a copy of that store."""
    shutil.copytree(asked / "home", tmp_path / "home")
    return lambda *arguments, **settings: called(tmp_path, *arguments, **settings)


@pytest.fixture
def on_a_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run it as if a person sat there."""
    for module in (terminal, dreams):
        monkeypatch.setattr(module, "is_terminal", lambda stream: True)
    return run


def still_open(run: Run) -> list[dict[str, Any]]:
    questions: list[dict[str, Any]] = json.loads(run("review", "--json").stdout)["questions"]
    return questions


def test_a_pipe_gets_the_questions_and_a_script_answers_them(run: Run) -> None:
    [question] = still_open(run)
    listed = run("review")
    assert listed.returncode == 0
    for part in (
        question["id"],
        question["ask"],
        "merge | separate",
        "evidence: 5 memories",
        TAILS[0],
        "1 question open",
    ):
        assert part in " ".join(listed.stdout.split())
    answered = run("review", "--answer", f"{question['id']}=separate")
    assert f"{question['id']}: separate" in answered.stdout
    assert "No question is open." in answered.stdout
    assert still_open(run) == []


def test_an_answer_may_carry_a_text(run: Run) -> None:
    [question] = still_open(run)
    assert run("review", "--answer", f"{question['id']}=merge").returncode == 1  # it needs one
    assert run("review", "--answer", f"{question['id']}=merge:{MERGED}").returncode == 0
    [memory] = json.loads(run("list", "--json").stdout)["memories"]
    assert memory["title"].startswith("the Exporter job")


@pytest.mark.skipif(sys.platform == "win32", reason="the editor is a shell script")
@pytest.mark.parametrize(
    ("typed", "editor", "left", "said"),
    [
        pytest.param("s\n", "", 0, "1 of 1 question answered", id="one key"),
        pytest.param("what?\nseparate\n", "", 0, "1 of 1 question answered", id="a word, after one not understood"),
        pytest.param("\n", "", 1, "0 of 1 question answered", id="later"),
        pytest.param("q\n", "", 1, "0 of 1 question answered", id="quit"),
        pytest.param("m\nq\n", "true", 1, "No text was written", id="a merge without a text"),
        pytest.param("m\n", f"printf '%s' '{MERGED}' >", 0, "1 of 1 question answered", id="a merge with a text"),
    ],
)
def test_a_person_answers_key_by_key(
    on_a_terminal: Run, tmp_path: Path, typed: str, editor: str, left: int, said: str
) -> None:
    script = tmp_path / "editor"
    script.write_text(f'#!/bin/sh\n{editor} "$1"\n')
    script.chmod(0o755)
    result = on_a_terminal("review", stdin=typed, VISUAL=str(script))
    assert result.returncode == 0, result.stderr
    assert said in result.stdout + result.stderr
    assert "[m] merge, [s] separate, [Enter] later, [q] quit:" in result.stderr
    assert len(still_open(on_a_terminal)) == left


@pytest.mark.parametrize(
    ("verdicts", "keys"),
    [
        (["merge", "separate"], "ms"),
        (["bridge", "no_bridge"], "bn"),
        (["outdated", "holds", "revise", "forget"], "ohrf"),
        (["revise", "restore"], "re"),
    ],
)
def test_every_verdict_has_a_key_of_its_own(verdicts: list[str], keys: str) -> None:
    assert "".join(keys_of(verdicts)) == keys
