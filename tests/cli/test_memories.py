"""Listing, showing, editing, pinning, moving and forgetting memories from the command line."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reverie.cli import terminal
from reverie.cli.memories import list_lines, memory_lines
from reverie.cli.terminal import as_text
from reverie.tools.results import ListedMemory, MemoryList

pytestmark = pytest.mark.slow

Run = Callable[..., "subprocess.CompletedProcess[str]"]

HOSTILE = "Clear the screen \x1b[2J and turn \u202e around."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, called: Run) -> Path:
    """A store with memories of three ages, one of them expired, one in another project."""
    folder = tmp_path_factory.mktemp("memories")
    lines = [
        {"id": "port", "content": "The API listens on port 8080.", "layer": "semantic", "tags": ["api"],
         "pinned": True, "created_at": "2026-01-01T00:00:00Z"},
        {"id": "sqlite", "content": "We decided on SQLite because one file is easy to back up.", "kind": "decision",
         "layer": "procedural", "created_at": "2026-01-03T00:00:00Z", "importance": 0.9},
        {"id": "deploys", "content": "Deploys go out on Tuesdays.", "layer": "semantic", "kind": "preference",
         "created_at": "2026-01-02T00:00:00Z", "forget_after": "2099-01-01T00:00:00Z"},
        {"id": "gone", "content": "The old API listened on port 80.", "layer": "semantic", "status": "expired"},
        {"id": "elsewhere", "content": "Another project prefers tabs.", "project": "other"},
    ]  # fmt: skip
    result = called(folder, "import", "-", "--trust", stdin="\n".join(map(json.dumps, lines)))
    assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture(scope="module")
def read(folder: Path, called: Run) -> Run:
    """Run a command that only reads the shared store."""
    return lambda *arguments, **settings: called(folder, *arguments, **settings)


@pytest.fixture
def run(tmp_path: Path, called: Run) -> Run:
    """Run a command on a store of the test's own with two memories."""
    lines = [
        {"id": "lamp", "content": "The lamp burns oil.", "layer": "semantic", "tags": ["pier"]},
        {"id": "bell", "content": "The bell rings at noon.", "layer": "semantic", "tags": ["pier"], "pinned": True},
    ]
    assert called(tmp_path, "import", "-", "--trust", stdin="\n".join(map(json.dumps, lines))).returncode == 0
    return lambda *arguments, **settings: called(tmp_path, *arguments, **settings)


def answer(result: "subprocess.CompletedProcess[str]") -> Any:
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def ids(result: "subprocess.CompletedProcess[str]") -> list[str]:
    return [memory["id"] for memory in answer(result)["memories"]]


# ── list ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        pytest.param([], ["sqlite", "deploys", "port"], id="newest first, what is recalled"),
        pytest.param(["--sort", "oldest"], ["port", "deploys", "sqlite"], id="oldest first"),
        pytest.param(["--sort", "important", "--limit", "1"], ["sqlite"], id="the most important"),
        pytest.param(["--layer", "semantic", "--kind", "preference"], ["deploys"], id="by layer and kind"),
        pytest.param(["--tag", "api"], ["port"], id="by tag"),
        pytest.param(["--status", "expired"], ["gone"], id="by status"),
        pytest.param(["--since", "2026-01-02"], ["sqlite", "deploys"], id="since a moment"),
        pytest.param(["--project", "other"], ["elsewhere"], id="of another project"),
        pytest.param(["--tag", "none"], [], id="nothing fits"),
    ],
)
def test_a_list_takes_filters_and_an_order(read: Run, arguments: list[str], found: list[str]) -> None:
    assert ids(read("list", "--json", *arguments)) == found


def test_a_list_has_one_line_a_memory_and_the_counts_at_the_end(read: Run) -> None:
    result = read("list", REVERIE_CLOCK="2026-01-05T00:00:00Z")
    assert result.returncode == 0
    assert result.stdout.splitlines() == [
        "sqlite   2d  procedural/decision  strong    We decided on SQLite because one file is easy to back up.",
        "deploys  3d  semantic/preference  moderate  Deploys go out on Tuesdays.",
        "port     4d  semantic/fact        moderate  [pinned] The API listens on port 8080.",
        "",
        "3 memories in tests: semantic 2, procedural 1",
    ]
    assert read("list", "--limit", "1").stdout.splitlines()[-1].startswith("1 of 3 memories in tests")
    assert "--all-projects" in read("list", "--tag", "none").stdout
    assert "other" in read("list", "--all-projects").stdout


def test_titles_are_cut_to_the_terminal_and_escaped() -> None:
    memory = ListedMemory(
        id="m1", title=HOSTILE * 3, layer="semantic", kind="fact", status="active", strength=0.5,
        strength_word="moderate", pinned=False, tags=[], project="p", age_days=400.0, created_at="",
    )  # fmt: skip
    found = MemoryList([memory], 1, {"semantic": 1}, "p")
    for width in (80, None):
        first = as_text(list_lines(found, everywhere=False, width=width)[0])
        assert first.startswith("m1  57w  semantic/fact  moderate  Clear the screen \\x1b[2J")
        assert (len(first) <= 80, "\x1b" in first, "\u202e" in first) == (width is not None, False, False)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["list", "--sort", "tallest"], 2, "invalid choice"),
        (["list", "--layer", "cellar"], 1, "'cellar' is unknown"),
        (["list", "--limit", "0"], 1, "out of range"),
        (["list", "--since", "soon"], 1, "soon"),
        (["show"], 2, "ID"),
        (["show", "nothing-like-it"], 1, "No memory has the id"),
        (["edit", "nothing-like-it"], 1, "No memory has the id"),
        (["forget"], 1, "nothing says what to forget"),
        (["restore"], 1, "say what to restore"),
        (["review", "--answer", "nonsense"], 2, "is not QUESTION=VERDICT"),
        (["review", "--answer", "nothing-like-it=merge"], 1, "no question has the id"),
        (["completion", "tcsh"], 2, "invalid choice"),
    ],
)
def test_what_cannot_be_done_is_said_on_stderr(read: Run, arguments: list[str], code: int, said: str) -> None:
    result = read(*arguments)
    assert (result.returncode, result.stdout) == (code, "")
    assert said in result.stderr


# ── show ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_memory_is_shown_with_everything_a_person_asks_for(read: Run) -> None:
    shown = read("show", "port", "sqlite").stdout
    for part in (
        "The API listens on port 8080.",
        "semantic fact",
        "pinned",
        "tags: api",
        "Importance 0.",
        "Retention",
        "365 days",
        "it is pinned",
        "History",
        "remembered  by import",
        "We decided on SQLite",
    ):
        assert part in shown
    [memory] = answer(read("show", "port", "--json"))["memories"]
    assert (memory["id"], memory["pinned"]) == ("port", True)


def test_no_part_of_a_shown_memory_commands_the_terminal(read: Run) -> None:
    [memory] = answer(read("show", "port", "--json"))["memories"]
    memory |= {
        "title": HOSTILE,
        "content": HOSTILE,
        "tags": [HOSTILE],
        "status_reason": HOSTILE,
        "project": HOSTILE,
        "anchors": [{"path": HOSTILE, "symbol": HOSTILE, "freshness": "moved", "now_at": HOSTILE, "note": HOSTILE}],
        "events": [{"id": "e", "at": "2026-01-01T00:00:00Z", "action": "x", "actor": HOSTILE, "reason": HOSTILE}],
    }
    said = "\n".join(map(as_text, memory_lines(memory)))
    assert "Clear the screen" in said
    assert not set(said) & set("\x1b\u202e")


# ── edit, revise ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.skipif(sys.platform == "win32", reason="the editor is a shell command")
def test_editing_revises_and_an_unchanged_text_does_nothing(run: Run) -> None:
    untouched = run("edit", "lamp", EDITOR="true", VISUAL="")
    assert (untouched.returncode, untouched.stdout) == (0, "")
    assert "nothing was changed" in untouched.stderr
    revised = answer(run("edit", "lamp", "--json", "--reason", "gas now", EDITOR="sed -i s/oil/gas/", VISUAL=""))
    assert revised["superseded"] == "lamp"
    [new, old] = answer(run("show", revised["id"], "lamp", "--json"))["memories"]
    assert (new["content"], old["status"], old["status_reason"]) == ("The lamp burns gas.", "superseded", "gas now")


def test_revising_takes_the_text_as_an_argument_or_from_stdin(run: Run) -> None:
    first = answer(run("revise", "lamp", "The lamp burns gas.", "--json"))
    second = run("revise", first["id"], "-", stdin="The lamp is electric.\n")
    assert "Revised" in second.stdout
    assert "The lamp is electric." in run("list").stdout


# ── pin, promote ──────────────────────────────────────────────────────────────────────────────────────────


def test_single_memories_are_pinned_and_moved(run: Run) -> None:
    assert run("pin", "lamp").stdout == "lamp is pinned in tests.\n"
    assert run("unpin", "lamp").stdout == "lamp is no longer pinned in tests.\n"
    assert answer(run("promote", "lamp", "--json"))["to_layer"] == "procedural"
    assert run("demote", "lamp", "--to", "episodic").stdout == "lamp: procedural → episodic in tests.\n"
    assert "The lamp burns oil." in run("brief").stdout


# ── forget, restore, purge ────────────────────────────────────────────────────────────────────────────────


def test_without_a_terminal_forgetting_is_shown_and_refused_until_yes_is_given(run: Run) -> None:
    for command in (["forget", "lamp"], ["forget", "--tag", "pier"], ["purge", "lamp"]):
        refused = run(*command)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "The lamp burns oil." in refused.stderr
        assert "--yes" in refused.stderr
    assert ids(run("list", "--json")) == ["bell", "lamp"]
    looked = run("forget", "--tag", "pier", "--dry-run")
    assert "Would forget lamp" in looked.stdout
    assert "stays: bell (pinned)" in looked.stdout
    assert answer(run("forget", "--tag", "pier", "--yes", "--json"))["forgotten"] == ["lamp"]
    assert ids(run("list", "--json")) == ["bell"]
    assert "Restored lamp" in run("restore", "lamp").stdout
    assert "Removed 1 memory for good." in run("purge", "lamp", "--yes").stdout
    assert run("forget", "bell", "--yes").returncode == 1  # it is pinned


def test_a_filter_that_fits_nothing_is_told_without_an_error_about_ids(run: Run) -> None:
    looked = run("forget", "--tag", "nowhere", "--dry-run")
    assert (looked.returncode, looked.stdout, looked.stderr) == (1, "Would forget nothing in tests.\n", "")


@pytest.mark.parametrize(("typed", "code", "left"), [("y\n", 0, ["bell"]), ("n\n", 1, ["bell", "lamp"])])
def test_on_a_terminal_the_person_decides(
    run: Run, monkeypatch: pytest.MonkeyPatch, typed: str, code: int, left: list[str]
) -> None:
    monkeypatch.setattr(terminal, "is_terminal", lambda stream: True)
    result = run("forget", "--tag", "pier", stdin=typed)
    assert (result.returncode, "Forget 1 memory? [y/N]" in result.stderr) == (code, True)
    assert ids(run("list", "--json")) == left


def test_undoing_an_event_is_shown_first(run: Run) -> None:
    run("pin", "lamp")
    [memory] = answer(run("show", "lamp", "--json"))["memories"]
    event = memory["events"][-1]["id"]
    refused = run("restore", "--event-id", event)
    assert (refused.returncode, f"{event}: pinned lamp" in refused.stderr) == (2, True)
    assert answer(run("restore", "--event-id", event, "--yes", "--json"))["restored"] == ["lamp"]


# ── a real terminal ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
def test_a_real_terminal_gets_colours_its_width_and_a_question(folder: Path) -> None:
    import pty

    script = (
        "stty cols 60; reverie() { "
        + sys.executable
        + ' -m reverie "$@"; }; reverie list; reverie forget port deploys'
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("REVERIE_", "NO_COLOR"))}
    kept |= {
        "REVERIE_HOME": str(folder / "home"),
        "REVERIE_PROJECT": "tests",
        "TERM": "xterm",
        "REVERIE_ENGINE": "off",
    }
    master, slave = pty.openpty()
    with subprocess.Popen(
        ["/bin/sh", "-c", script],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=kept,
        cwd=folder,
        start_new_session=True,
    ) as process:
        os.close(slave)
        said = b""
        while b"[y/N]" not in said:
            said += os.read(master, 4_096)
        os.write(master, b"no\n")
        assert process.wait(60) == 1
    os.close(master)
    lines = said.decode().replace("\r\n", "\n").splitlines()
    assert lines[0] == "\x1b[36msqlite\x1b[0m   " + lines[0].partition("\x1b[0m   ")[2]
    assert lines[0].endswith("…")
    assert "Forget 1 memory? [y/N]" in lines[-1]
