"""What lets people find and install Reverie: plugin, registry entry, bundle, image. Each says what the package is."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from reverie import __version__
from reverie.clients.catalog import Machine, client_named
from reverie.clients.entries import PLUGIN_SERVER
from reverie.clients.setup import hooks_block
from reverie.memory import KINDS
from reverie.tools.catalog import TOOLS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
SCRIPTS = PROJECT["project"]["scripts"]
FOLDERS = PROJECT["tool"]["setuptools"]["package-dir"].values()


def _json(name: str) -> Any:
    return json.loads((ROOT / name).read_text("utf-8"))


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "mcpb"))


# ── the plugin ────────────────────────────────────────────────────────────────────────────────────────────


def test_the_marketplace_names_a_plugin_that_is_there_in_the_version_of_the_package() -> None:
    [listed] = _json(".claude-plugin/marketplace.json")["plugins"]
    plugin = _json(f"{listed['source']}/.claude-plugin/plugin.json")
    assert plugin["name"] == listed["name"] == "reverie"
    assert plugin["version"] == __version__
    assert plugin["license"] == PROJECT["project"]["license"]


def test_the_plugin_starts_programs_that_the_package_installs() -> None:
    entry = _json("plugin/.mcp.json")["mcpServers"]["reverie"]
    assert (entry["command"], entry["args"]) == ("reverie", ["serve"])
    hooks = json.dumps(_json("plugin/hooks/hooks.json"))
    commands = {entry["command"], *re.findall(r'"command": "([^"]+)"', hooks)}
    assert commands == {"reverie", "reverie-hook"} <= set(SCRIPTS)


def test_the_hooks_of_the_plugin_are_those_of_setup() -> None:
    file = client_named("claude-code").hooks
    assert file is not None
    machine = Machine(home=ROOT, project=ROOT, platform="linux", executable="reverie", hook="reverie-hook")
    written = (ROOT / "plugin" / "hooks" / "hooks.json").read_text("utf-8")
    assert written == hooks_block(file, machine, PLUGIN_SERVER)


def test_the_skill_names_tools_and_kinds_that_exist_and_is_short_enough() -> None:
    text = (ROOT / "plugin" / "skills" / "memory" / "SKILL.md").read_text("utf-8")
    _, front, body = text.split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in front.splitlines())
    assert fields["name"] == "memory"  # the name of its folder
    assert set(fields) <= {"name", "description", "license"}
    assert len(fields["description"]) <= 1_024
    kinds = set(re.findall(r"\| `(\w+)` \|", body))
    assert len(kinds) == 6
    assert kinds <= set(KINDS)
    others = set(re.findall(r"`(\w+)`", body)) - kinds - {"files", "changed", "moved", "missing"}
    assert others == {"recall", "remember", "revise"} <= {tool.name for tool in TOOLS}


# ── the registry ──────────────────────────────────────────────────────────────────────────────────────────


def test_the_registry_entry_is_of_this_package_and_version() -> None:
    entry = _json("server.json")
    [package] = entry["packages"]
    assert entry["version"] == package["version"] == __version__
    assert package["identifier"] == PROJECT["project"]["name"]
    assert package["identifier"] in SCRIPTS  # the registry's clients run `uvx IDENTIFIER`
    assert len(entry["description"]) <= 100


def test_the_readme_claims_the_name_in_the_registry() -> None:
    readme = (ROOT / PROJECT["project"]["readme"]).read_text("utf-8")
    assert f"<!-- mcp-name: {_json('server.json')['name']} -->" in readme


# ── the bundle ────────────────────────────────────────────────────────────────────────────────────────────


def test_the_manifest_of_the_bundle_says_what_the_package_is(script: dict[str, Any]) -> None:
    manifest = script["manifest"]()
    assert manifest["version"] == __version__
    assert manifest["compatibility"]["runtimes"] == {"python": PROJECT["project"]["requires-python"]}
    assert [tool["name"] for tool in manifest["tools"]] == [tool.name for tool in TOOLS]
    assert set(manifest["server"]) == {"type", "entry_point", "mcp_config"}


def test_the_bundle_holds_the_sources_and_what_it_starts(script: dict[str, Any]) -> None:
    packed = script["contents"]()
    assert json.loads(packed["manifest.json"]) == script["manifest"]()
    assert script["manifest"]()["server"]["entry_point"] in packed
    expected = {
        path.relative_to(ROOT).as_posix()
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert expected | {"pyproject.toml", "README.md", "LICENSE", "NOTICE"} <= set(packed)
    assert not [name for name in packed if name.startswith(("tests/", ".git", "bench/"))]


@pytest.mark.anyio
async def test_what_the_bundle_starts_is_a_server(script: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "serve.py").write_text(script["SERVE"], "utf-8")
    parameters = StdioServerParameters(
        command=sys.executable,
        args=[str(tmp_path / "serve.py")],
        env=os.environ | {"REVERIE_HOME": str(tmp_path / "home")},
        cwd=tmp_path,
    )
    async with Client(parameters, read_timeout_seconds=60) as client:
        tools = await client.list_tools()
    assert {tool.name for tool in tools.tools} == {tool.name for tool in TOOLS}


def _run_npx(*words: str, home: Path) -> subprocess.CompletedProcess[str]:
    npx = shutil.which("npx")
    if npx is None:
        pytest.skip("there is no npx here")
    environment = os.environ | {"npm_config_cache": str(home / "npm"), "HOME": str(home)}
    done = subprocess.run([npx, "--yes", *words], env=environment, capture_output=True, text=True, check=False)
    if done.returncode and re.search(r"ENOTFOUND|ECONNREFUSED|ETIMEDOUT|E404|EAI_AGAIN|network", done.stderr):
        pytest.skip("the npm registry cannot be reached")
    return done


@pytest.mark.slow
def test_the_bundle_passes_the_check_of_its_own_tool(script: dict[str, Any], tmp_path: Path) -> None:
    first, second = tmp_path / "first.mcpb", tmp_path / "second.mcpb"
    script["build"](first)
    script["build"](second)
    assert first.read_bytes() == second.read_bytes()
    zipfile.ZipFile(first).extract("manifest.json", tmp_path)
    done = _run_npx(script["TOOL"], "validate", str(tmp_path / "manifest.json"), home=tmp_path)
    assert "Manifest schema validation passes!" in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
def test_claude_code_finds_nothing_wrong_with_the_plugin(tmp_path: Path) -> None:
    for folder in (ROOT / "plugin", ROOT):
        words = ("@anthropic-ai/claude-code", "plugin", "validate", str(folder), "--strict")
        done = _run_npx(*words, home=tmp_path)
        assert "Validation passed" in done.stdout, done.stdout + done.stderr
        assert done.returncode == 0


# ── the image ─────────────────────────────────────────────────────────────────────────────────────────────


def _instructions() -> list[tuple[str, str]]:
    text = re.sub(r"\\\n\s*", " ", (ROOT / "Dockerfile").read_text("utf-8"))
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in lines]


def test_the_image_runs_as_a_user_with_its_data_in_a_volume() -> None:
    final = _instructions()[[word for word, _ in _instructions()].index("USER") - 3 :]
    given = dict(final)
    assert given["USER"] not in ("root", "0")
    assert f"useradd --create-home --uid 10001 {given['USER']}" in given["RUN"]
    values = dict(pair.split("=", 1) for pair in given["ENV"].split())
    volumes = json.loads(given["VOLUME"])
    assert {values["REVERIE_HOME"], values["REVERIE_CONFIG"]} == set(volumes)
    assert all(f"{volume}" in given["RUN"] for volume in volumes)
    assert json.loads(given["ENTRYPOINT"])[0] in SCRIPTS
    assert json.loads(given["CMD"]) == ["serve"]


def test_the_image_is_built_from_what_the_package_needs_and_nothing_else() -> None:
    kept = {
        line.removeprefix("!")
        for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines()
        if line.startswith("!")
    }
    files = {"pyproject.toml", PROJECT["project"]["readme"], *PROJECT["project"]["license-files"]}
    assert kept == {*FOLDERS, *files}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
