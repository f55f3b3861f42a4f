"""What the documents say is true, and what they point at is there."""

import json
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from reverie import __version__
from reverie.settings import TABLE

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
CLIENTS: dict[str, dict[str, Any]] = json.loads((ROOT / "mcp.json.example").read_text("utf-8"))


def _read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def test_generated_documents_are_in_step_with_the_program() -> None:
    checked = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "docs"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("setting", [s.variable for s in TABLE])
def test_every_setting_is_in_the_readme(setting: str) -> None:
    assert f"`{setting}`" in _read("README.md")


def test_the_changelog_speaks_of_this_version() -> None:
    assert re.search(rf"^## .*\b{re.escape(__version__)}\b", _read("CHANGELOG.md"), re.MULTILINE)


def test_contributing_fits_on_one_screen() -> None:
    assert len(_read("CONTRIBUTING.md").splitlines()) <= 50


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_file_that_is_there(page: Path) -> None:
    text = CODE.sub("", page.read_text("utf-8"))
    targets = [a or b for a, b in LINK.findall(text)]
    local = [t.partition("#")[0] for t in targets if not re.match(r"[a-z]+:|#", t)]
    assert [t for t in local if not (page.parent / t).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_into_a_page_leads_to_a_heading_that_is_there(page: Path) -> None:
    text = CODE.sub("", page.read_text("utf-8"))
    for target in (a or b for a, b in LINK.findall(text)):
        file, mark, anchor = target.partition("#")
        if mark and not re.match(r"[a-z]+:", target):
            pointed = page.parent / file if file else page
            assert anchor in _anchors(pointed.read_text("utf-8")), target


def _anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ +(.*?)\s*$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_decision_has_a_number_of_its_own() -> None:
    numbers = [int(page.name[:4]) for page in (ROOT / "docs" / "decisions").glob("*.md")]
    assert len(set(numbers)) == len(numbers) > 0


# ── mcp.json.example ──────────────────────────────────────────────────────────────────────────────────────


def _server(client: str) -> dict[str, Any]:
    [servers] = CLIENTS[client].values()
    server: dict[str, Any] = servers["reverie"]
    return server


def test_the_example_has_a_block_for_each_client_under_the_key_it_reads() -> None:
    assert {name: list(block) for name, block in CLIENTS.items()} == {
        "Claude Desktop: claude_desktop_config.json": ["mcpServers"],
        "Claude Code: .mcp.json": ["mcpServers"],
        "Cursor: .cursor/mcp.json": ["mcpServers"],
        "VS Code: .vscode/mcp.json": ["servers"],
    }


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_starts_the_same_command(client: str) -> None:
    server = _server(client)
    assert (server["command"], server["args"]) == ("reverie", ["serve"])
    assert server.get("type", "stdio") == "stdio"
    assert "env" not in server  # no key and no setting is needed


@pytest.mark.anyio
async def test_the_command_of_the_example_starts_a_server_that_offers_its_tools(tmp_path: Path) -> None:
    server = _server("Claude Code: .mcp.json")
    installed = Path(sysconfig.get_path("scripts")) / server["command"]
    parameters = StdioServerParameters(
        command=str(installed),
        args=server["args"],
        env=os.environ | {"REVERIE_HOME": str(tmp_path / "home")},
        cwd=tmp_path,
    )
    async with Client(parameters, read_timeout_seconds=30) as client:
        tools = await client.list_tools()
    assert {"remember", "recall"} <= {tool.name for tool in tools.tools}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
