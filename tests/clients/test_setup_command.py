"""`reverie setup` and `reverie uninstall` as a user runs them, in a home folder of their own."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from reverie.clients.catalog import CLIENTS

pytestmark = pytest.mark.slow

PROGRAM = f"#!{sys.executable}\nfrom reverie.__main__ import main\nraise SystemExit(main())\n"
FOREIGN = '{\n\t// mine\n\t"mcpServers": {\n\t\t"other": {"command": "x"}, // and this\n\t},\n}'


class Home:
    """Somebody's home with Reverie installed under it, and a repository."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "home"
        self.project = folder / "code" / "shop"
        self.program = folder / "bin" / "reverie"
        for one in (self.folder, self.project / ".git", self.program.parent):
            one.mkdir(parents=True)
        for name in ("reverie", "reverie-hook"):
            (self.program.parent / name).write_text(PROGRAM, "utf-8")
            (self.program.parent / name).chmod(0o755)

    @property
    def environment(self) -> dict[str, str]:
        """No variable of the real user may lead out of here."""
        return {"HOME": str(self.folder), "PATH": "/usr/bin:/bin", "REVERIE_ENGINE": "off", "NO_COLOR": "1"}

    def run(self, *words: str, by: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        """Run the command without a terminal."""
        return subprocess.run(
            [*(by or [str(self.program)]), *words],
            env=self.environment,
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def files(self) -> dict[str, bytes]:
        """Return every file in the home and the project."""
        root = self.folder.parent
        places = (self.folder, self.project)
        return {
            str(path.relative_to(root)): path.read_bytes()
            for place in places
            for path in sorted(place.rglob("*"))
            if path.is_file()
        }


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_all_clients_there_and_back(home: Home) -> None:
    mine = home.folder / ".cursor" / "mcp.json"
    mine.parent.mkdir()
    mine.write_text(FOREIGN, "utf-8", newline="")
    before = home.files()
    names = [client.name for client in CLIENTS]
    done = home.run("setup", *names)
    assert (done.returncode, done.stderr) == (0, "")
    for wanted in (
        "Cursor",
        f"{mine}.reverie-backup",
        "Restart Cursor.",
        "Quit Claude Desktop",
        "trust Reverie's",
        "paste this under Settings, Tools, AI Assistant",
        "Zed was not found here; the files wait for it.",
    ):
        assert wanted in done.stdout
    assert str(home.program) in mine.read_text("utf-8")
    assert str(home.program.with_name("reverie-hook")) in (home.folder / ".claude" / "settings.json").read_text(
        "utf-8"
    )
    again = home.files()
    done = home.run("setup", *names)
    assert "Cursor is set up already." in done.stdout
    assert home.files() == again
    done = home.run("uninstall", *names)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Memories stay in" in done.stdout
    assert home.files() == before


def test_without_a_name_and_a_terminal_the_plan_is_shown_and_nothing_done(home: Home) -> None:
    (home.folder / ".gemini").mkdir()
    shown = home.run("setup")
    assert shown.returncode == 2
    assert "Gemini CLI" in shown.stderr
    assert "Codex" not in shown.stderr
    assert "Add --yes" in shown.stderr
    assert home.files() == {}
    assert home.run("setup", "--yes").returncode == 0
    assert (home.folder / ".gemini" / "settings.json").is_file()
    kept = home.files()
    assert home.run("uninstall").returncode == 2
    assert home.files() == kept
    assert home.run("uninstall", "--yes").returncode == 0
    assert home.files() == {}


@pytest.mark.parametrize(("answer", "is_written"), [("y", True), ("n", False)])
def test_a_person_at_the_terminal_is_asked(answer: str, is_written: bool, home: Home) -> None:
    (home.folder / ".codex").mkdir()
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [str(home.program), "setup"],
        env=home.environment,
        cwd=home.project,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        os.write(ours, f"{answer}\n".encode())
        said = b""
        while True:
            try:
                chunk = os.read(ours, 65_536)
            except OSError:  # the other end is closed
                break
            if not chunk:
                break
            said += chunk
        process.wait(60)
    os.close(ours)
    assert b"Connect these? [y/N]" in said
    assert (home.folder / ".codex" / "config.toml").exists() is is_written
    assert process.returncode == (0 if is_written else 1)


def test_nothing_is_found_in_an_empty_home(home: Home) -> None:
    done = home.run("setup")
    assert done.returncode == 0
    assert "No assistant was found here." in done.stdout
    done = home.run("uninstall", "--yes")
    assert "Nothing of ours was found" in done.stdout
    assert home.files() == {}


def test_dry_run_shows_the_difference_and_print_the_block(home: Home) -> None:
    (home.folder / ".claude.json").write_text('{\n  "theme": "dark"\n}\n', "utf-8")
    before = home.files()
    shown = home.run("setup", "claude-code", "--dry-run")
    assert shown.returncode == 0
    assert '-  "theme": "dark"\n+  "theme": "dark",\n+  "mcpServers": {' in shown.stdout
    assert '+            "command": "' in shown.stdout
    printed = home.run("setup", "claude-code", "--print", "--no-hooks")
    where, _, block = printed.stdout.partition("\n")
    assert where == f"Claude Code: {home.folder / '.claude.json'}"
    entry = {"type": "stdio", "command": str(home.program), "args": ["serve"]}
    assert json.loads(block) == {"mcpServers": {"reverie": entry}}
    assert home.files() == before


def test_a_broken_file_fails_with_the_block_to_paste_and_the_rest_is_done(home: Home) -> None:
    broken = home.folder / ".cursor" / "mcp.json"
    broken.parent.mkdir()
    broken.write_text('{"mcpServers": ', "utf-8")
    done = home.run("setup", "cursor", "zed", "--no-hooks")
    assert done.returncode == 1
    assert f"{broken} is left alone: it cannot be edited: line 1: a value is missing." in done.stderr
    assert '"reverie": {' in done.stderr
    assert broken.read_text("utf-8") == '{"mcpServers": '
    assert (home.folder / ".config" / "zed" / "settings.json").is_file()


def test_scope_project_writes_to_the_root_of_the_repository(home: Home) -> None:
    (home.project / "src").mkdir()
    home.project /= "src"
    done = home.run("setup", "claude-code", "--scope", "project", "--json")
    [told] = json.loads(done.stdout)["clients"]
    root = home.project.parent
    assert [file["path"] for file in told["files"]] == [
        str(root / ".mcp.json"),
        str(root / ".claude" / "settings.local.json"),
    ]
    assert all(file["done"] for file in told["files"])
    assert (root / ".mcp.json").is_file()


def test_python_m_reverie_names_the_program_beside_it(home: Home) -> None:
    done = home.run("setup", "cursor", "--no-hooks", by=(sys.executable, "-m", "reverie"))
    assert done.returncode == 0
    entry = json.loads((home.folder / ".cursor" / "mcp.json").read_text("utf-8"))["mcpServers"]["reverie"]
    assert entry["command"] == str(Path(sys.executable).with_name("reverie"))


def test_an_unknown_client_is_told(home: Home) -> None:
    done = home.run("setup", "emacs")
    assert done.returncode == 1
    assert "'emacs' is unknown. It takes: claude-code," in done.stderr


def test_a_program_in_the_cache_of_uv_is_refused(tmp_path: Path) -> None:
    home = Home(tmp_path / ".cache" / "uv" / "archive-v0")
    done = home.run("setup", "cursor")
    assert done.returncode == 1
    assert "uv tool install reverie-mcp" in done.stderr
    assert home.files() == {}


def test_memories_go_only_with_purge_data_and_only_when_agreed(home: Home) -> None:
    store = home.folder / ".local" / "share" / "reverie" / "domains" / "default"
    heads = home.folder / ".config" / "reverie" / "heads"
    for folder in (store, heads):
        folder.mkdir(parents=True)
    (heads / "a.json").write_text(json.dumps({"folder": str(store)}), "utf-8")
    (heads / "b.json").write_text(json.dumps({"folder": "/elsewhere"}), "utf-8")
    assert home.run("uninstall").returncode == 0
    refused = home.run("uninstall", "--purge-data")
    assert refused.returncode == 2
    assert f"All memories of all projects go for good: {store}" in refused.stderr
    assert store.is_dir()
    assert home.run("uninstall", "--purge-data", "--yes").returncode == 0
    assert not store.parent.parent.exists()
    assert [path.name for path in heads.iterdir()] == ["b.json"]


@pytest.mark.slow
def test_a_store_made_after_a_purge_does_not_seem_to_have_lost_its_journal(home: Home) -> None:
    assert home.run("remember", "The harbour opens at six.").returncode == 0
    assert home.run("uninstall", "--purge-data", "--yes").returncode == 0
    assert home.run("remember", "The harbour opens at seven.").returncode == 0
    assert home.run("audit").returncode == 0
