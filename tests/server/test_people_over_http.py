"""People over HTTP, on one real server: who said it, what is personal, and tokens for some projects only."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reverie.tools.catalog import TOOLS
from tests.server.http_process import Answer, HttpProcess, environment, serving

pytestmark = pytest.mark.slow

WORD = "wombatledger"
HERS = f"Her {WORD} keeps the salaries of the night shift in a tin box."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("people")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[HttpProcess]:
    with serving(folder) as running:
        running.until_ready()
        yield running


@pytest.fixture(scope="module")
def ann(server: HttpProcess) -> str:
    return server.new_token("anns-laptop", "admin", user="ann")


@pytest.fixture(scope="module")
def ben(server: HttpProcess) -> str:
    return server.new_token("bens-laptop", "admin", user="ben")


@pytest.fixture(scope="module")
def hers(server: HttpProcess, ann: str) -> str:
    """Return the id of a personal memory of Ann's."""
    kept = server.call("remember", {"content": HERS, "visibility": "personal", "pin": True}, token=ann)
    return str(kept.structured["id"])


def reverie(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "reverie", *arguments],
        env=environment(folder, {"REVERIE_PROJECT": "tests"}),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def everything(answer: Answer) -> str:
    return answer.body.decode().casefold()


def arguments_about(memory_id: str) -> dict[str, dict[str, Any]]:
    return {
        "remember": {"content": "The salaries of the night shift are kept in a tin box."},
        "revise": {"id": memory_id, "content": "x", "reason": "y"},
        "forget": {"ids": [memory_id]},
        "recall": {"query": "salaries of the night shift", "all_projects": True, "include": ["expired"]},
        "brief": {},
        "inspect": {"ids": [memory_id]},
        "status": {},
        "restore": {"ids": [memory_id]},
        "index_codebase": {},
        "promote": {"id": memory_id},
        "demote": {"id": memory_id},
        "pin": {"id": memory_id},
        "consolidate": {"dry_run": True},
        "review": {},
    }


def test_no_tool_tells_another_person_of_a_personal_memory(server: HttpProcess, ben: str, hers: str) -> None:
    asked = arguments_about(hers)
    assert asked.keys() == {tool.name for tool in TOOLS}
    for tool, arguments in asked.items():
        answer = server.call(tool, arguments, token=ben)
        told = everything(answer).replace(hers, "") if hers in json.dumps(arguments) else everything(answer)
        assert WORD not in told, (tool, answer.body)
        assert hers[:8] not in told, (tool, answer.body)
        if hers in json.dumps(arguments):
            unknown = json.loads(json.dumps(arguments).replace(hers, "h" + hers[1:][::-1]))
            assert everything(answer).replace(hers, "?") == everything(server.call(tool, unknown, token=ben)).replace(
                "h" + hers[1:][::-1], "?"
            ), tool


def test_no_resource_and_no_prompt_tells_it_either(server: HttpProcess, ann: str, ben: str, hers: str) -> None:
    for uri in ("memory://brief", "memory://status", f"memory://item/{hers}", f"memory://item/{hers[:8]}"):
        assert WORD not in everything(server.rpc("resources/read", {"uri": uri}, token=ben)), uri
    assert WORD not in everything(server.rpc("prompts/get", {"name": "session_start"}, token=ben))
    assert WORD in everything(server.rpc("resources/read", {"uri": f"memory://item/{hers}"}, token=ann))
    assert WORD in everything(server.rpc("prompts/get", {"name": "session_start"}, token=ann))


def test_its_author_finds_it_with_every_token_of_hers(server: HttpProcess, ann: str, hers: str) -> None:
    other = server.new_token("anns-desktop", "read", user="ann")
    for token in (ann, other):
        found = server.call("recall", {"query": "salaries of the night shift"}, token=token)
        assert WORD in found.text
        assert "personal" in found.text
    [memory] = server.call("inspect", {"ids": [hers]}, token=other).structured["memories"]
    assert (memory["author"], memory["visibility"]) == ("ann", "personal")


def test_the_person_of_the_servers_machine_is_not_shown_it_and_the_audit_names_people(
    server: HttpProcess, folder: Path, ann: str, hers: str
) -> None:
    ours = server.call("remember", {"content": "The tide table hangs in the hall."}, token=ann).structured["id"]
    for command in (
        ["list", "--all-projects"],
        ["recall", "salaries of the night shift"],
        ["export", "-"],
        ["brief"],
    ):
        told = reverie(folder, *command)
        assert told.returncode == 0, told.stderr
        assert WORD not in told.stdout.casefold(), command
    audit = reverie(folder, "audit", "--all-projects", "--last", "200")
    assert hers not in audit.stdout
    [line] = [line for line in audit.stdout.splitlines() if ours in line]
    assert "of ann" in line


def test_an_answer_names_people_where_others_than_the_reader_have_spoken(
    server: HttpProcess, ann: str, ben: str
) -> None:
    server.call("remember", {"content": "The ferry to Amrum takes bicycles."}, token=ann, project="ferry")
    alone = server.call("recall", {"query": "ferry bicycles"}, token=ann, project="ferry").text
    assert "by ann" not in alone
    assert "by ann" in server.call("recall", {"query": "ferry bicycles"}, token=ben, project="ferry").text
    assert "by ann" in server.call("brief", {}, token=ben, project="ferry").text


def test_what_two_people_say_is_confirmed_by_two(server: HttpProcess, ann: str, ben: str) -> None:
    said = {"content": "The lighthouse of Westerhever has two houses beside it.", "source": "human"}
    first = server.call("remember", said, token=ann, project="coast").structured
    assert not server.call("remember", said, token=ann, project="coast").structured.get("confirmed")
    again = server.call("remember", said, token=ben, project="coast").structured
    assert (again["id"], again["confirmed"]) == (first["id"], True)
    [memory] = server.call("inspect", {"ids": [first["id"]]}, token=ann, project="coast").structured["memories"]
    assert memory["confirmed_by"] == ["human ben"]
    assert memory["author"] == "ann"


def test_only_its_author_changes_who_sees_a_memory(server: HttpProcess, ann: str, ben: str) -> None:
    text = "The mussel beds are counted in May."
    kept = server.call("remember", {"content": text}, token=ann, project="beds").structured["id"]
    change = {"id": kept, "content": text, "reason": "mine", "visibility": "personal"}
    assert "only its author" in server.call("revise", change, token=ben, project="beds").text
    personal = server.call("revise", change, token=ann, project="beds").structured["id"]
    assert "mussel" not in server.call("recall", {"query": "mussel beds"}, token=ben, project="beds").text
    assert "mussel" in server.call("recall", {"query": "mussel beds"}, token=ann, project="beds").text
    [old] = server.call("inspect", {"ids": [kept]}, token=ben, project="beds").structured["memories"]
    assert old["status"] == "expired"
    assert personal not in json.dumps(old)
    back = {"id": personal, "content": f"{text} Twice.", "reason": "for all", "visibility": "team"}
    shared = server.call("revise", back, token=ann, project="beds").structured["id"]
    [new] = server.call("inspect", {"ids": [shared]}, token=ben, project="beds").structured["memories"]
    assert personal not in json.dumps(new)
    assert "Twice" in server.call("recall", {"query": "mussel beds"}, token=ben, project="beds").text


# -- tokens for some projects ----------------------------------------------------------------------------------


def test_a_token_for_a_project_sees_and_writes_no_other(server: HttpProcess, folder: Path, ann: str) -> None:
    text = "The walrus invoice is paid by the aquarium."
    elsewhere = server.call("remember", {"content": text, "pin": True}, token=ann, project="aquarium").structured[
        "id"
    ]
    limits = ("--project", "shop", "--project", "harbour")
    made = reverie(folder, "tokens", "create", "guest", "--scope", "admin", *limits, "--json")
    guest = json.loads(made.stdout)["token"]
    listed = json.loads(reverie(folder, "tokens", "list", "--json").stdout)
    assert [one["projects"] for one in listed if one["name"] == "guest"] == [["shop", "harbour"]]
    for tool, arguments in arguments_about(elsewhere).items():
        answer = server.call(
            tool,
            {**arguments, **({"query": "walrus invoice"} if tool == "recall" else {})},
            token=guest,
            project="shop",
        )
        assert "walrus" not in everything(answer), tool
        refused = server.call(tool, arguments, token=guest, project="aquarium")
        assert "not for the project 'aquarium'" in refused.text or tool == "index_codebase", tool
    written = server.call("remember", {"content": "x y z", "project": "aquarium"}, token=guest, project="shop")
    assert "not for the project" in written.text
    assert (
        "not for the project"
        in server.call("remember", {"content": "x y z", "project": "global"}, token=guest, project="shop").text
    )
    for project in ("shop", "harbour"):
        said = {"content": f"The {project} opens at eight."}
        assert server.call("remember", said, token=guest, project=project).structured["project"] == project
    status = server.call("status", {}, token=guest, project="shop").structured
    assert sum(sum(counts.values()) for counts in status["counts"].values()) == 2
    assert status["elsewhere"] == {"other projects": 1}  # the harbour's
    assert reverie(folder, "tokens", "revoke", "guest").returncode == 0
    assert server.call("status", {}, token=guest, project="shop").status == 401


def test_the_command_makes_lists_and_revokes_tokens(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    assert "There are no tokens" in reverie(tmp_path, "tokens").stdout
    made = reverie(tmp_path, "tokens", "create", "carla", "--scope", "read", "--expires", "90d", "--project", "shop")
    token = made.stdout.splitlines()[0]
    assert token.startswith("rvr_")
    [header, row] = reverie(tmp_path, "tokens", "list").stdout.splitlines()
    assert header.split() == ["name", "user", "scope", "projects", "created", "expires"]
    assert row.split()[:4] == ["carla", "carla", "read", "shop"]
    for file in (tmp_path / "config" / "tokens").iterdir():
        assert token not in file.read_text()
    for wrong, told in (
        (("create", "carla", "--scope", "read"), "there is a token 'carla' already"),
        (("create", "dora"), "a token needs a scope"),
        (("create", "dora", "--scope", "owner"), "invalid choice"),
        (("create", "dora", "--scope", "read", "--project", "a\x07b"), "no project's name"),
        (("revoke", "dora"), "there is no token 'dora'"),
    ):
        refused = reverie(tmp_path, "tokens", *wrong)
        assert refused.returncode != 0
        assert told in refused.stderr, (wrong, refused.stderr)
    assert reverie(tmp_path, "tokens", "revoke", "carla").stdout == "Revoked carla.\n"
    assert "There are no tokens" in reverie(tmp_path, "tokens").stdout


def test_a_token_file_that_names_no_projects_properly_lets_nobody_in(server: HttpProcess) -> None:
    token = server.new_token("edited", "read", projects=["shop"])
    file = server.tokens.path / "edited.json"
    for projects in ("shop", [7], [""], {"shop": 1}):
        file.write_text(json.dumps(json.loads(file.read_text()) | {"projects": projects}))
        assert server.call("status", {}, token=token, project="shop").status == 401, projects
    file.write_text(json.dumps(json.loads(file.read_text()) | {"projects": ["harbour"]}))
    assert "not for the project 'shop'" in server.call("status", {}, token=token, project="shop").text
    assert server.call("status", {}, token=token, project="harbour").structured["project"] == "harbour"
    file.unlink()
