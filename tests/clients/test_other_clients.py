"""Clients themselves, after `reverie setup`: that they read what it wrote.

They are not fetched here: put them on the PATH, or name the folder of their programs in REVERIE_TEST_CLIENTS, as in
`npm install @google/gemini-cli @openai/codex opencode-ai cline` and `node_modules/.bin`. Those that are not there are
skipped, with the reason.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PATIENCE = 120


class Home:
    """An empty home with a project, in which setup was run and clients are started."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "home" / "shop"
        self.project.mkdir(parents=True)
        self.programs = os.pathsep.join((os.environ.get("REVERIE_TEST_CLIENTS", ""), os.environ["PATH"]))
        self.environment = {"PATH": self.programs, "HOME": str(folder / "home"), "TERM": "dumb"}

    def run(self, *command: str) -> str:
        done = subprocess.run(
            command, cwd=self.project, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        return re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)

    def lists(self, client: str, *arguments: str) -> str:
        program = shutil.which(client, path=self.programs)
        if program is None:
            pytest.skip(f"{client} is not installed here: see the top of this file")
        return self.run(program, *arguments)

    def set_up(self, client: str) -> str:
        return self.run(sys.executable, "-m", "reverie", "setup", client, "--yes")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path)
    runtime = Path(tempfile.mkdtemp(prefix="rv"))  # those of pytest are too long for a socket
    home.environment["REVERIE_RUNTIME"] = str(runtime)
    yield home
    home.run(sys.executable, "-m", "reverie", "engine", "stop", "--all")
    shutil.rmtree(runtime, ignore_errors=True)


def test_gemini_starts_the_server_in_a_folder_that_it_trusts_and_in_no_other(home: Home) -> None:
    before = home.lists("gemini", "mcp", "list")
    assert "reverie" not in before
    assert "in a folder that it trusts" in home.set_up("gemini")
    assert "Disabled" in home.lists("gemini", "mcp", "list")
    trusted = home.project.parent / ".gemini" / "trustedFolders.json"
    trusted.write_text(json.dumps({str(home.project): "TRUST_FOLDER"}))
    assert re.search(r"reverie: .*serve \(stdio\) - Connected", home.lists("gemini", "mcp", "list"))


@pytest.mark.parametrize(
    ("client", "arguments", "says"),
    [
        ("codex", ("mcp", "list"), r"reverie +\S*reverie +serve .*enabled"),
        ("opencode", ("mcp", "list"), r"reverie +connected"),
        ("cline", ("config", "mcp"), r"reverie \[stdio\]"),
    ],
)
def test_a_client_reads_what_setup_wrote_and_nothing_after_uninstall(
    home: Home, client: str, arguments: tuple[str, ...], says: str
) -> None:
    assert not re.search(says, home.lists(client, *arguments))
    home.set_up(client)
    assert re.search(says, home.lists(client, *arguments))
    home.run(sys.executable, "-m", "reverie", "uninstall", client, "--yes")
    assert not re.search(says, home.lists(client, *arguments))
