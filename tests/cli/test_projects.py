"""Projects as a client and a person see them: over stdio, in memory, and as real commands."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import ListRootsResult, Root

from reverie.server.app import build_server
from reverie.server.engine import Engine, LazySession
from reverie.settings import Settings

from ..conftest import Repository

pytestmark = pytest.mark.slow

Run = Callable[..., "subprocess.CompletedProcess[str]"]

LAMP = "The lamp on the pier burns oil."
HTTPS = "https://github.com/acme/anvil.git"


@pytest.fixture
def here(repo: Repository) -> Repository:
    """A repository with one commit."""
    repo.write("lamp.py")
    repo.commit()
    return repo


def test_a_server_finds_the_memories_again_after_a_remote_was_added_and_changed(
    start: Any, start_here: Any, here: Repository
) -> None:
    """One process remembers; after each change another, which is this one, finds it."""
    kept = start(REVERIE_PROJECT="", CLAUDE_PROJECT_DIR=str(here.root)).call("remember", content=LAMP)
    for change in (
        ("add", "origin", HTTPS),
        ("set-url", "origin", "git@github.com:acme/forge.git"),
        ("rename", "origin", "hub"),
    ):
        here.git("remote", *change)
        server = start_here(within=here.root, REVERIE_PROJECT="")
        assert [row["id"] for row in server.call("recall", query=LAMP)["results"]] == [kept["id"]]
        assert server.call("status")["project"] == kept["project"]


def test_every_answer_that_writes_names_the_project(start_here: Any, here: Repository) -> None:
    server = start_here(within=here.root, REVERIE_PROJECT="")
    project = server.call("status")["project"]
    kept = server.call("remember", content=LAMP, layer="semantic")
    revised = server.call("revise", id=kept["id"], content="The lamp on the pier burns gas.", reason="seen")
    calls = {
        "promote": {"id": revised["id"]},
        "demote": {"id": revised["id"]},
        "pin": {"id": revised["id"], "pinned": True},
        "restore": {"ids": [kept["id"]]},
        "forget": {"ids": [kept["id"]]},
        "index_codebase": {},
        "consolidate": {"project": project},
        "review": {},
    }
    assert (kept["project"], revised["project"]) == (project, project)
    for tool, arguments in calls.items():
        answer = server.answer(tool, **arguments)
        assert answer.structured_content is not None, (tool, answer.content)
        assert answer.structured_content["project"] == project, tool
        assert project in answer.content[0].text, tool
    shared = server.answer("remember", content="Everybody signs commits.", project="global")
    assert shared.structured_content["project"] == "global"
    assert " in global" in shared.content[0].text


def test_a_running_server_follows_a_merge_that_a_command_makes(start: Any, called: Run, tmp_path: Path) -> None:
    server = start(REVERIE_PROJECT="new")
    assert called(tmp_path, "remember", LAMP, REVERIE_PROJECT="old").returncode == 0
    assert server.call("recall", query=LAMP)["results"] == []
    done = called(tmp_path, "projects", "merge", "old", "new", "--yes", "--json")
    assert done.returncode == 0, done.stderr
    change = json.loads(done.stdout)
    assert [row["content"] for row in server.call("recall", query=LAMP)["results"]] == [LAMP]
    assert called(tmp_path, "projects", "undo", change["change_id"], "--yes").returncode == 0
    assert server.call("recall", query=LAMP)["results"] == []


@pytest.mark.anyio
async def test_a_client_that_started_us_nowhere_is_asked_for_its_roots(
    here: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    async def roots(_context: Any) -> ListRootsResult:
        gone = (tmp_path / "gone").as_uri()
        return ListRootsResult(roots=[Root(uri=gone), Root(uri=here.root.as_uri())])

    for callback, expected in ((roots, "git:"), (None, "no-project")):
        parts = LazySession(Engine(lambda: Settings(home=str(tmp_path / "store"))), tmp_path)
        async with Client(build_server(parts), mode="legacy", list_roots_callback=callback) as client:
            told = await client.call_tool("status", {})
            assert told.structured_content is not None
            assert told.structured_content["project"].startswith(expected)
        await parts.engine.close()


# ── the command ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def run(tmp_path: Path, called: Run) -> Run:
    """Run a command on a store with a memory in each of two projects."""
    for project in ("old", "new"):
        assert called(tmp_path, "remember", f"{LAMP} Says {project}.", REVERIE_PROJECT=project).returncode == 0
    return lambda *arguments, **settings: called(tmp_path, *arguments, **{"REVERIE_PROJECT": "new"} | settings)


def test_projects_are_listed_for_people_and_for_machines(run: Run) -> None:
    told = run("projects")
    assert "new (here)" in told.stdout
    listed = {one["name"]: one for one in json.loads(run("projects", "--json").stdout)}
    assert {name: one["memories"] for name, one in listed.items()} == {"old": {"active": 1}, "new": {"active": 1}}
    assert [name for name, one in listed.items() if one["is_here"]] == ["new"]


def test_a_change_is_shown_first_and_made_only_when_agreed_to(run: Run) -> None:
    planned = run("projects", "merge", "old", "--dry-run")
    assert (planned.returncode, planned.stdout) == (0, "Would move 1 memory of old to new.\n")
    refused = run("projects", "merge", "old")
    assert refused.returncode == 2
    assert "Nothing was changed" in refused.stderr
    assert len(json.loads(run("projects", "--json").stdout)) == 2
    assert run("projects", "merge", "old", "--yes").returncode == 0
    assert len(json.loads(run("projects", "--json").stdout)) == 1
    assert len(json.loads(run("recall", LAMP, "--json").stdout)["results"]) == 2


def test_renaming_and_moving_go_through_the_command_too(run: Run) -> None:
    assert run("projects", "rename", "old", "harbour", "--yes").returncode == 0
    names = {one["name"]: one["aliases"] for one in json.loads(run("projects", "--json").stdout)}
    assert names == {"harbour": ["old"], "new": []}
    [row] = json.loads(run("recall", LAMP, "--json", "--project", "old").stdout)["results"]
    assert run("projects", "move", row["id"], "new", "--yes").returncode == 0
    assert [one["name"] for one in json.loads(run("projects", "--json").stdout)] == ["new"]


IMPOSSIBLE = [
    (("rename",), "takes [OLD] NEW"),
    (("merge", "nobody", "--yes"), "no project is called nobody"),
    (("rename", "old", "new", "--yes"), "memories of its own"),
    (("rename", "old", "two\nlines", "--yes"), "no name for a project"),
    (("undo", "nothing-like-it", "--yes"), "no change of projects"),
    (("move", "nothing-like-it", "new", "--yes"), "nothing-like-it"),
]


def test_what_cannot_be_done_is_told(run: Run, subtests: pytest.Subtests) -> None:
    for arguments, told in IMPOSSIBLE:
        with subtests.test(told):
            result = run("projects", *arguments)
            assert result.returncode == 1
            assert told in result.stderr


def test_a_folder_is_marked_only_when_agreed_to_and_known_again_where_it_moves(
    called: Run, tmp_path: Path, git_without_surprises: None
) -> None:
    def run(folder: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return called(tmp_path, *arguments, REVERIE_PROJECT="", CLAUDE_PROJECT_DIR=str(tmp_path / folder))

    (tmp_path / "plain").mkdir()
    assert run("plain", "remember", LAMP).returncode == 0
    assert run("plain", "projects", "mark").returncode == 2
    assert not (tmp_path / "plain/.reverie").exists()
    told = json.loads(run("plain", "projects", "mark", "harbour", "--yes", "--json").stdout)
    (tmp_path / "plain").rename(tmp_path / "moved")
    assert json.loads(run("moved", "status", "--json").stdout)["project"] == told["project"]
    assert [row["content"] for row in json.loads(run("moved", "recall", LAMP, "--json").stdout)["results"]] == [LAMP]
    assert run("moved", "projects", "mark", "again", "--yes").returncode == 1


def test_an_unknown_setting_is_told_by_every_command_status_and_doctor(called: Run, tmp_path: Path) -> None:
    for command in ("status", "doctor"):
        result = called(tmp_path, command, REVERIE_PROJEKT="x")
        assert "REVERIE_PROJEKT is set, but there is no such setting" in result.stderr
        assert "REVERIE_PROJEKT" in result.stdout
        assert "REVERIE_PROJECT" in result.stdout


def test_a_number_out_of_range_is_told(called: Run, tmp_path: Path) -> None:
    for last in ("-5", "0"):
        result = called(tmp_path, "audit", f"--last={last}")
        assert result.returncode == 1
        assert "last: " in result.stderr
        assert "out of range" in result.stderr
