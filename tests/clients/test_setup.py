"""Setup and uninstall for every client, on files that somebody else has written."""

import json
import os
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from reverie.cli.requests import CLIENT_NAMES
from reverie.clients import json_edit
from reverie.clients.catalog import CLIENTS, NAMES, Client, Scope, client_named
from reverie.clients.plans import apply, hooks_in, servers_in
from reverie.clients.setup import Planner
from reverie.clients.setup_files import BACKUP_ENDING, backup_of
from tests.clients.conftest import Desk

Write = Callable[[Path, str | bytes], Path]

WITH_FILES = [client for client in CLIENTS if client.servers]
every_client = pytest.mark.parametrize("client", WITH_FILES, ids=lambda client: client.name)
every_scope = pytest.mark.parametrize(
    ("client", "scope"),
    [(client, scope) for client in WITH_FILES for scope in ("user", "project") if client.has_scope(scope)],
    ids=str,
)

FOREIGN = """\
{
  // mine, and it stays
  "theme": "dark", /* really */
  "KEY": {
    "other": { "command": "npx", "args": ["-y", "other-mcp"] } // a tool
  },
  "hooks": {
    "SessionStart": [
      { "hooks": [ { "type": "command", "command": "echo hello" } ] }
    ],
    "sessionStart": [ { "command": "echo hello" } ],
    "Stop": [],
  },
  "last": [1, 2, ], // with a comma
}
"""
FOREIGN_TOML = 'model = "o5" # mine\n\n[mcp_servers.other]\ncommand = "npx"\n\n# the end\n'
FORMS: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "tabs": lambda text: text.replace("  ", "\t"),
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "no final newline": lambda text: text.rstrip("\n"),
    "byte order mark": lambda text: "\ufeff" + text,
    "empty": lambda text: "",
}


def foreign(client: Client, path: Path, form: str = "as it is") -> str:
    """What somebody has in such a file."""
    text = FOREIGN_TOML if path.suffix == ".toml" else FOREIGN.replace("KEY", client.servers[0].key)
    return FORMS[form](text)


def test_the_command_knows_the_clients_of_the_catalog() -> None:
    assert CLIENT_NAMES == NAMES


# ── there and back ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("client", "form"),
    [
        (client, form)
        for client in WITH_FILES
        for form in (FORMS if client.name in ("cursor", "codex", "gemini") else ["as it is", "CRLF"])
    ],
    ids=str,
)
def test_files_of_others_are_byte_for_byte_as_before(client: Client, form: str, desk: Desk, write: Write) -> None:
    for path in desk.files_of(client):
        write(path, foreign(client, path, form))
    before = desk.everything()
    for _ in range(2):  # a second time too
        [plan] = desk.setup(client.name)
        assert plan.refusals == []
        assert is_connected(desk, client)
        for path in desk.files_of(client):
            assert backup_of(path).read_bytes() == before[str(path.relative_to(desk.folder))]
        [plan] = desk.uninstall(client.name)
        assert plan.refusals == []
        assert desk.everything() == before


def is_connected(desk: Desk, client: Client, scope: Scope = "user") -> bool:
    """Whether a client would find the server, and its hooks where it has any, beside what was there."""
    for file in client.servers:
        if scope in file.paths and not file.optional:
            path = desk.machine.path(file.paths[scope])
            servers = servers_in(path.read_bytes().decode(), file)
            if "reverie" not in servers or ("model" in path.read_text("utf-8") and "other" not in servers):
                return False
    if client.hooks is None:
        return True
    text = desk.machine.path(client.hooks.paths[scope]).read_text("utf-8")
    return {hook.event for hook in hooks_in(text)} == {event.name for event in client.hooks.events}


@every_scope
def test_files_and_folders_that_setup_made_are_gone_afterwards(client: Client, scope: Scope, desk: Desk) -> None:
    before = desk.everything()
    desk.setup(client.name, scope=scope)
    assert is_connected(desk, client, scope)
    assert not [name for name in desk.everything() if name.endswith(BACKUP_ENDING)]
    desk.uninstall(client.name)
    assert desk.everything() == before


@every_client
def test_a_second_setup_changes_nothing(client: Client, desk: Desk, write: Write) -> None:
    for path in desk.files_of(client):
        write(path, foreign(client, path))
    desk.setup(client.name)
    once = desk.everything()
    [plan] = desk.setup(client.name)
    assert plan.changes == []
    assert desk.everything() == once


@every_client
def test_a_plan_changes_nothing(client: Client, desk: Desk, write: Write) -> None:
    for path in desk.files_of(client):
        write(path, foreign(client, path))
    before = desk.everything()
    plan = Planner(desk.machine, desk.records).plan(client, "user")
    assert plan.visible
    assert desk.everything() == before


@every_client
def test_only_our_entries_go_if_somebody_edited_the_file_since(client: Client, desk: Desk, write: Write) -> None:
    originals = {path: write(path, foreign(client, path)).read_text("utf-8") for path in desk.files_of(client)}
    desk.setup(client.name)
    for path, text in originals.items():
        old, new = ("# mine", "# ours now") if path.suffix == ".toml" else ('"dark"', '"light"')
        path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
        originals[path] = text.replace(old, new)
    desk.uninstall(client.name)
    assert {path: path.read_text("utf-8") for path in originals} == originals
    assert not list(desk.folder.rglob(f"*{BACKUP_ENDING}"))
    assert desk.records.all() == {}


@every_client
def test_a_file_that_setup_made_stays_if_somebody_added_to_it(client: Client, desk: Desk) -> None:
    desk.setup(client.name)
    made = [path for path in desk.files_of(client) if path.exists()]
    for path in made:
        text = path.read_text("utf-8")
        path.write_text(f"{text}# mine\n" if path.suffix == ".toml" else json_edit.put(text, ("mine",), [1]), "utf-8")
    desk.uninstall(client.name)
    for path in made:
        text = path.read_text("utf-8")
        assert "reverie" not in text
        assert "mine" in text


@every_client
def test_without_a_record_entries_are_known_by_their_form(client: Client, desk: Desk, write: Write) -> None:
    originals = {path: write(path, foreign(client, path)).read_bytes() for path in desk.files_of(client)}
    desk.setup(client.name)
    (desk.folder / "config" / "reverie" / "setup.json").write_text("not ours any more", "utf-8")
    desk.uninstall(client.name)
    assert {path: path.read_bytes() for path in originals} == originals


@every_client
def test_another_program_path_is_updated_and_the_file_still_goes_back(
    client: Client, desk: Desk, write: Write
) -> None:
    for path in desk.files_of(client):
        write(path, foreign(client, path))
    before = desk.everything()
    desk.setup(client.name)
    desk.machine = desk.of("linux", "/new/reverie", "/new/reverie-hook")
    desk.setup(client.name)
    for path in desk.files_of(client):
        assert "/opt/bin" not in path.read_text("utf-8")
        assert "/new/reverie" in path.read_text("utf-8")
    desk.uninstall(client.name)
    assert desk.everything() == before


def test_what_a_user_adds_to_our_entry_survives_a_new_program_path(desk: Desk) -> None:
    desk.setup("cursor")
    [path, _] = desk.files_of(client_named("cursor"))
    path.write_text(json_edit.put(path.read_text("utf-8"), ("mcpServers", "reverie", "env"), {"A": "1"}), "utf-8")
    desk.machine = desk.of("linux", "/new/reverie")
    desk.setup("cursor")
    entry = json.loads(path.read_text("utf-8"))["mcpServers"]["reverie"]
    assert entry == {"command": "/new/reverie", "args": ["serve"], "env": {"A": "1"}}


def test_without_hooks_only_the_server_is_written(desk: Desk) -> None:
    desk.setup("claude-code", hooks=False)
    assert [path.exists() for path in desk.files_of(client_named("claude-code"))] == [True, False]
    desk.setup("claude-code")  # with them, later
    assert is_connected(desk, client_named("claude-code"))
    desk.uninstall("claude-code")
    assert not list((desk.folder / "home").iterdir())


def test_a_project_is_disconnected_from_wherever_uninstall_runs(desk: Desk) -> None:
    desk.setup("cursor", scope="project")
    project = desk.machine.project
    assert list(project.iterdir())
    (desk.folder / "elsewhere").mkdir()
    desk.machine = Desk.of(desk, "linux")
    object.__setattr__(desk.machine, "project", desk.folder / "elsewhere")
    desk.uninstall("cursor")
    assert not list(project.iterdir())


# ── what is written ───────────────────────────────────────────────────────────────────────────────────────


def _written(desk: Desk, name: str, number: int = 0) -> dict[str, object]:
    text = desk.files_of(client_named(name))[number].read_text("utf-8")
    return tomllib.loads(text) if text.startswith("[") else json.loads(text)


def test_each_client_gets_the_entry_of_its_documentation(desk: Desk) -> None:
    desk.setup(*(client.name for client in WITH_FILES))
    plain = {"command": "/opt/bin/reverie", "args": ["serve"]}
    for name in ("claude-desktop", "cursor", "windsurf", "cline", "continue"):
        assert _written(desk, name) == {"mcpServers": {"reverie": plain}}
    assert _written(desk, "claude-code") == {"mcpServers": {"reverie": {"type": "stdio", **plain}}}
    assert _written(desk, "zed") == {"context_servers": {"reverie": plain}}
    assert _written(desk, "vscode") == {
        "servers": {"reverie": {"type": "stdio", **plain, "cwd": "${workspaceFolder}"}}
    }
    assert _written(desk, "opencode") == {
        "mcp": {"reverie": {"type": "local", "command": ["/opt/bin/reverie", "serve"], "enabled": True}}
    }
    codex = _written(desk, "codex")["mcp_servers"]["reverie"]  # type: ignore[index]
    assert {"command": codex["command"], "args": codex["args"]} == plain
    assert {"REVERIE_HOME", "OPENAI_API_KEY"} <= set(codex["env_vars"])
    gemini = _written(desk, "gemini")
    assert gemini["mcpServers"] == {"reverie": plain}
    assert gemini["hooks"]["SessionStart"] == [  # type: ignore[index]
        {"hooks": [{"type": "command", "command": "/opt/bin/reverie-hook", "timeout": 5000}]}
    ]


def test_claude_code_runs_the_hook_without_a_shell_and_recalls_through_the_server(desk: Desk) -> None:
    desk.setup("claude-code")
    hooks = _written(desk, "claude-code", 1)["hooks"]
    assert isinstance(hooks, dict)
    assert hooks["SessionStart"] == [
        {
            "matcher": "startup|resume|clear|compact",
            "hooks": [{"type": "command", "command": "/opt/bin/reverie-hook", "args": [], "timeout": 5}],
        }
    ]
    recall = {"type": "mcp_tool", "server": "reverie", "tool": "recall", "timeout": 3}
    assert hooks["UserPromptSubmit"] == [
        {
            "hooks": [
                {**recall, "input": {"query": "${prompt}", "client_session": "${session_id}", "max_tokens": 300}}
            ]
        },
    ]


@pytest.mark.parametrize(
    ("platform", "files"),
    [
        ("darwin", ["Library/Application Support/Claude/claude_desktop_config.json", ".config/zed/settings.json"]),
        ("win32", ["Roaming/Claude/claude_desktop_config.json", "Roaming/Zed/settings.json"]),
        ("linux", [".config/Claude/claude_desktop_config.json", ".config/zed/settings.json"]),
    ],
)
def test_each_platform_has_its_own_folders(platform: str, files: list[str], desk: Desk) -> None:
    desk.machine = desk.of(platform, r"C:\Py\Scripts\reverie.exe", r"C:\Py\Scripts\reverie-hook.exe")
    desk.setup("claude-desktop", "zed")
    for file in files:
        assert r"C:\\Py\\Scripts\\reverie.exe" in (desk.machine.home / file).read_text("utf-8")
    desk.uninstall("claude-desktop", "zed")
    assert not list(desk.machine.home.iterdir())


@pytest.mark.parametrize(
    ("platform", "hook", "client", "command"),
    [
        ("linux", "/my apps/reverie-hook", "claude-code", "/my apps/reverie-hook"),
        ("linux", "/my apps/reverie-hook", "cursor", "'/my apps/reverie-hook'"),
        ("win32", r"C:\My Apps\reverie-hook.exe", "cursor", r'"C:\My Apps\reverie-hook.exe"'),
        ("win32", r"C:\My Apps\reverie-hook.exe", "codex", r'& "C:\My Apps\reverie-hook.exe"'),
        ("win32", r"C:\Apps\reverie-hook.exe", "codex", r"C:\Apps\reverie-hook.exe"),
    ],
)
def test_a_path_with_spaces_is_quoted_for_the_shell_that_reads_it(
    platform: str, hook: str, client: str, command: str, desk: Desk
) -> None:
    desk.machine = desk.of(platform, hook=hook)
    before = desk.everything()
    desk.setup(client)
    text = desk.files_of(client_named(client))[1].read_text("utf-8")
    assert {found.handler["command"] for found in hooks_in(text) if "command" in found.handler} == {command}
    desk.uninstall(client)
    assert desk.everything() == before


def test_clients_may_keep_their_files_elsewhere(desk: Desk, tmp_path: Path) -> None:
    places = {"CLAUDE_CONFIG_DIR": str(tmp_path / "c"), "CODEX_HOME": str(tmp_path / "x")}
    object.__setattr__(desk.machine, "environment", places)
    desk.setup("claude-code", "codex")
    assert {path.name for path in (tmp_path / "c").iterdir()} == {".claude.json", "settings.json"}
    assert {path.name for path in (tmp_path / "x").iterdir()} == {"config.toml", "hooks.json"}


def test_an_existing_jsonc_of_opencode_is_the_one_that_is_edited(desk: Desk, write: Write) -> None:
    path = write(desk.machine.home / ".config" / "opencode" / "opencode.jsonc", "{ /* mine */ }\n")
    desk.setup("opencode")
    assert '"reverie"' in path.read_text("utf-8")
    assert not path.with_suffix(".json").exists()


def test_the_extension_of_cline_is_connected_where_it_is_installed(desk: Desk, write: Write) -> None:
    extension = desk.machine.paths(client_named("cline").servers[1].paths["user"])[0]
    desk.setup("cline")
    assert not extension.exists()
    write(extension, "{}")
    desk.setup("cline")
    assert '"reverie"' in extension.read_text("utf-8")


def test_installed_clients_are_found_by_their_folders_and_programs(desk: Desk, tmp_path: Path) -> None:
    assert [client.name for client in CLIENTS if desk.machine.has(client)] == []
    (desk.machine.home / ".codeium" / "windsurf").mkdir(parents=True)
    program = tmp_path / "bin" / "gemini"
    program.parent.mkdir()
    program.touch(0o755)
    object.__setattr__(desk.machine, "environment", {"PATH": str(program.parent)})
    assert [client.name for client in CLIENTS if desk.machine.has(client)] == ["gemini", "windsurf"]


# ── files that resist ─────────────────────────────────────────────────────────────────────────────────────


@every_client
@pytest.mark.parametrize(
    "content", [b'{"a": ', b"\xff\xfe{\x00}\x00", b"[mcp_servers\n"], ids=["cut", "utf-16", "toml"]
)
def test_a_file_that_cannot_be_parsed_is_left_and_the_block_is_told(
    client: Client, content: bytes, desk: Desk, write: Write
) -> None:
    paths = [write(path, content) for path in desk.files_of(client)]
    before = desk.everything()
    [plan] = desk.setup(client.name)
    assert sorted({refusal.path for refusal in plan.refusals}) == sorted(paths)
    assert all("cannot be edited" in refusal.why for refusal in plan.refusals)
    assert all("reverie" in refusal.block for refusal in plan.refusals)
    assert desk.everything() == before
    [plan] = desk.uninstall(client.name)
    assert (plan.changes, plan.refusals) == ([], [])
    assert desk.everything() == before


@every_client
def test_a_read_only_file_is_left_and_the_block_is_told(client: Client, desk: Desk, write: Write) -> None:
    for path in desk.files_of(client):
        write(path, foreign(client, path)).chmod(0o444)
    before = desk.everything()
    [plan] = desk.setup(client.name)
    assert {refusal.path for refusal in plan.refusals} == set(desk.files_of(client))
    assert all(refusal.why == "it is read-only" and refusal.block for refusal in plan.refusals)
    assert desk.everything() == before


def test_a_broken_file_does_not_keep_the_others_from_being_written(desk: Desk, write: Write) -> None:
    server, hooks = desk.files_of(client_named("claude-code"))
    write(hooks, "{")
    [plan] = desk.setup("claude-code")
    assert [refusal.path for refusal in plan.refusals] == [hooks]
    assert "reverie" in server.read_text("utf-8")
    assert hooks.read_text("utf-8") == "{"


def test_entries_become_unreadable_after_setup(desk: Desk, write: Write) -> None:
    [path, _] = desk.files_of(client_named("cursor"))
    write(path, "{}")
    desk.setup("cursor", hooks=False)
    path.write_text(path.read_text("utf-8") + "<<<<<<<\n", "utf-8")
    broken = path.read_bytes()
    [plan] = desk.uninstall("cursor")
    assert "by hand" in plan.refusals[0].why
    assert path.read_bytes() == broken
    assert desk.records.of(path) is not None  # it can be tried again


@pytest.mark.parametrize("kind", ["folder", "fifo", "circle", "file in the way"])
def test_what_is_no_file_is_refused(kind: str, desk: Desk) -> None:
    [path, _] = desk.files_of(client_named("cursor"))
    if kind == "file in the way":
        path.parent.write_text("a file", "utf-8")
    else:
        path.parent.mkdir()
    match kind:
        case "folder":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case "circle":
            path.symlink_to(path)
    [plan] = desk.setup("cursor", hooks=False)
    assert [refusal.path for refusal in plan.refusals] == [path]
    assert plan.changes == []


def test_a_link_is_followed_and_stays(desk: Desk, write: Write) -> None:
    real = write(desk.folder / "dotfiles" / "claude.json", '{"theme": "dark"}\n')
    link, _ = desk.files_of(client_named("claude-code"))
    link.symlink_to(real)
    before = real.read_bytes()
    desk.setup("claude-code", hooks=False)
    assert link.is_symlink()
    assert "reverie" in real.read_text("utf-8")
    desk.uninstall("claude-code")
    assert link.is_symlink()
    assert real.read_bytes() == before
    assert [path.name for path in real.parent.iterdir()] == ["claude.json"]


def test_a_link_to_a_file_that_is_not_there_yet_makes_that_file(desk: Desk) -> None:
    link, _ = desk.files_of(client_named("claude-code"))
    link.symlink_to(desk.folder / "dotfiles" / "claude.json")
    before = desk.everything()
    desk.setup("claude-code", hooks=False)
    assert (desk.folder / "dotfiles" / "claude.json").is_file()
    desk.uninstall("claude-code")
    assert desk.everything() == before


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o640])
def test_a_file_and_its_backup_keep_its_mode(mode: int, desk: Desk, write: Write) -> None:
    path, _ = desk.files_of(client_named("claude-code"))
    write(path, "{}").chmod(mode)
    desk.setup("claude-code", hooks=False)
    assert {stat.S_IMODE(one.stat().st_mode) for one in (path, backup_of(path))} == {mode}
    desk.uninstall("claude-code")
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_is_for_its_owner_and_one_of_the_project_for_all(desk: Desk) -> None:
    desk.setup("cursor")
    desk.setup("cursor", scope="project")
    modes = [
        stat.S_IMODE(one.stat().st_mode)
        for scope in ("user", "project")
        for path in [desk.machine.path(client_named("cursor").servers[0].paths[scope])]
        for one in (path, path.parent)
    ]
    assert modes == [0o600, 0o700, 0o644, 0o755]


def test_a_file_that_changes_between_plan_and_write_is_left(desk: Desk, write: Write) -> None:
    path, _ = desk.files_of(client_named("claude-code"))
    write(path, "{}")
    records = desk.records
    plan = Planner(desk.machine, records).plan(client_named("claude-code"), "user", hooks=False)
    path.write_text('{"numStartups": 7}', "utf-8")
    assert apply(plan, records) == []
    assert "another program changed it" in plan.refusals[0].why
    assert path.read_text("utf-8") == '{"numStartups": 7}'
    assert records.all() == {}
    assert not backup_of(path).exists()


def test_no_file_is_touched_if_the_record_cannot_be_written(desk: Desk, write: Write) -> None:
    write(desk.folder / "config" / "reverie", "a file where the folder should be")
    before = desk.everything()
    [plan] = desk.setup("cursor", hooks=False)
    assert "the record of it" in plan.refusals[0].why
    assert desk.everything() == before


def test_of_two_setups_at_once_one_is_told_to_try_again(desk: Desk) -> None:
    first, second = desk.records, desk.records
    cursor = Planner(desk.machine, first).plan(client_named("cursor"), "user")
    zed = Planner(desk.machine, second).plan(client_named("zed"), "user")
    assert len(apply(cursor, first)) == 2
    assert apply(zed, second) == []
    assert "try again" in zed.refusals[0].why
    assert not (desk.machine.home / ".config").exists()
    desk.setup("zed")
    assert len(desk.records.all()) == 3


# ── what is wired already ─────────────────────────────────────────────────────────────────────────────────

BY_HAND = [
    {"command": "reverie", "args": ["serve"]},
    {"command": "uvx", "args": ["reverie-mcp"]},
    {"command": "uvx", "args": ["--from", "reverie-mcp==0.1.0", "reverie", "serve"]},
    {"command": "/usr/bin/python3", "args": ["-m", "reverie", "serve"]},
    {"command": "/opt/bin/reverie", "args": ["serve"]},  # just as setup would write it
]


@pytest.mark.parametrize("entry", BY_HAND, ids=lambda entry: entry["command"])
@pytest.mark.parametrize("name", ["reverie", "memory"])
def test_an_entry_by_hand_is_neither_doubled_nor_removed(name: str, entry: object, desk: Desk, write: Write) -> None:
    path, _ = desk.files_of(client_named("cursor"))
    write(path, json.dumps({"mcpServers": {name: entry}}, indent=4))
    before = desk.everything()
    [plan] = desk.setup("cursor", hooks=False)
    assert plan.visible == []
    assert path.read_bytes() == before["home/.cursor/mcp.json"]
    [plan] = desk.uninstall("cursor")
    assert plan.notes == [f"{path}: mcpServers.{name} stays, because setup did not write it."]
    assert desk.everything() == before


def test_a_hook_asks_the_server_by_the_name_that_it_has(desk: Desk, write: Write) -> None:
    path, _ = desk.files_of(client_named("claude-code"))
    write(path, json.dumps({"mcpServers": {"memory": BY_HAND[0]}}))
    desk.setup("claude-code")
    hooks = _written(desk, "claude-code", 1)["hooks"]
    assert hooks["UserPromptSubmit"][0]["hooks"][0]["server"] == "memory"  # type: ignore[index]


def test_another_server_with_our_name_is_not_overwritten(desk: Desk, write: Write) -> None:
    path, _ = desk.files_of(client_named("cursor"))
    text = '{"mcpServers": {"reverie": {"command": "/opt/reverie-audio"}}}'
    write(path, text)
    [plan] = desk.setup("cursor", hooks=False)
    assert "rename it first" in plan.refusals[0].why
    assert path.read_text("utf-8") == text


def test_hooks_that_a_user_put_beside_ours_stay(desk: Desk) -> None:
    desk.setup("claude-code")
    _, path = desk.files_of(client_named("claude-code"))
    mine = {"type": "command", "command": "say hello"}
    text = json_edit.append(path.read_text("utf-8"), ("hooks", "PreCompact", 0, "hooks"), mine)
    path.write_text(text, "utf-8")
    desk.uninstall("claude-code")
    assert json.loads(path.read_text("utf-8")) == {"hooks": {"PreCompact": [{"hooks": [mine]}]}}


def test_hooks_of_others_that_look_like_ours_stay(desk: Desk, write: Write) -> None:
    _, path = desk.files_of(client_named("claude-code"))
    theirs = {"type": "mcp_tool", "server": "mem0", "tool": "recall", "input": {"query": "${prompt}"}}
    by_hand = {"type": "command", "command": "reverie-hook"}
    write(
        path, json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [theirs]}], "PreCompact": [{"hooks": [by_hand]}]}})
    )
    before = path.read_bytes()
    desk.setup("claude-code")
    hooks = json.loads(path.read_bytes())["hooks"]
    assert len(hooks["UserPromptSubmit"]) == 2
    assert hooks["PreCompact"] == [{"hooks": [by_hand]}]
    (desk.folder / "config" / "reverie" / "setup.json").unlink()
    [plan] = desk.uninstall("claude-code")
    assert path.read_bytes() == before
    assert plan.notes == [f"{path}: hooks.PreCompact stays, because setup did not write it."]


def test_the_plugin_makes_setup_needless(desk: Desk, write: Write) -> None:
    desk.setup("claude-code")
    _, path = desk.files_of(client_named("claude-code"))
    path.write_text(json_edit.put(path.read_text("utf-8"), ("enabledPlugins", "reverie@reverie"), True), "utf-8")
    [plan] = desk.setup("claude-code")
    assert plan.changes == []
    assert "The plugin reverie@reverie connects it already" in plan.notes[0]
    assert plan.notes[1].startswith("Wired twice: ")
    [plan] = desk.uninstall("claude-code")
    assert plan.notes == ["The plugin reverie@reverie stays: remove it in Claude Code with /plugin."]
    assert json.loads(path.read_text("utf-8")) == {"enabledPlugins": {"reverie@reverie": True}}
    [plan] = desk.setup("claude-code")
    assert len(plan.notes) == 1


def test_vs_code_gets_no_hooks_of_its_own_beside_those_of_claude_code(desk: Desk) -> None:
    plans = desk.setup("claude-code", "vscode")
    assert any("reads Claude Code's settings too" in text for text in plans[1].notes)
    assert not (desk.machine.home / ".copilot").exists()


def test_hooks_that_vs_code_has_already_are_noticed(desk: Desk) -> None:
    desk.setup("vscode")
    [plan] = desk.setup("claude-code")
    assert any("VS Code reads these hooks too" in text for text in plan.notes)


def test_cursor_may_read_the_hooks_of_claude_code(desk: Desk) -> None:
    plans = desk.setup("claude-code", "cursor")
    assert any("does no harm" in text for text in plans[1].notes)


def test_two_scopes_and_folders_of_their_own_are_noticed(desk: Desk, write: Write) -> None:
    path, _ = desk.files_of(client_named("claude-code"))
    write(path, json.dumps({"projects": {"/code/shop": {"mcpServers": {"reverie": BY_HAND[0]}}}}))
    desk.setup("claude-code", scope="project", hooks=False)
    [plan] = desk.setup("claude-code", hooks=False)
    assert "/code/shop" in plan.notes[0]
    assert "(project scope)" in plan.notes[1]


def test_without_the_hook_program_no_hooks_are_written(desk: Desk) -> None:
    desk.machine = desk.of("linux", hook="")
    [plan] = desk.setup("cursor")
    assert "reverie-hook is not beside reverie" in plan.notes[0]
    assert [path.exists() for path in desk.files_of(client_named("cursor"))] == [True, False]


def test_a_client_without_that_scope_is_told(desk: Desk) -> None:
    [plan] = desk.setup("zed", scope="project")
    assert plan.notes == ["Zed has no project scope; nothing is written for it."]
