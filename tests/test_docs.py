"""What the documents say is true, and what they point at is there."""

import ast
import json
import os
import re
import runpy
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from mcp import Client, StdioServerParameters

from reverie import __version__
from reverie.settings import TABLE
from tests.tables import for_each

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
FOLDERS = tuple(
    tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["package-dir"].values()
)


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


@for_each("setting", [s.variable for s in TABLE])
def test_every_setting_is_in_the_readme(setting: str) -> None:
    assert f"`{setting}`" in _read("README.md")


def test_the_changelog_speaks_of_this_version() -> None:
    assert re.search(rf"^## .*\b{re.escape(__version__)}\b", _read("CHANGELOG.md"), re.MULTILINE)


def test_contributing_fits_on_one_screen() -> None:
    assert len(_read("CONTRIBUTING.md").splitlines()) <= 50


@for_each("page", PAGES)
def test_every_link_leads_to_a_file_that_is_there(page: Path) -> None:
    text = CODE.sub("", page.read_text("utf-8"))
    targets = [a or b for a, b in LINK.findall(text)]
    local = [t.partition("#")[0] for t in targets if not re.match(r"[a-z]+:|#", t)]
    assert [t for t in local if not (page.parent / t).exists()] == []


@for_each("page", PAGES)
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


DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))


def _sources() -> Iterator[Path]:
    """Every text of ours that may cite a decision."""
    yield from (file for file in ROOT.iterdir() if file.suffix in (".md", ".toml"))
    yield from (ROOT / "scripts").iterdir()
    for folder in (*FOLDERS, "tests", "bench", "training", "docs"):
        yield from (file for ending in ("py", "md") for file in (ROOT / folder).rglob(f"*.{ending}"))


def test_decisions_are_numbered_without_holes_and_say_their_number() -> None:
    assert [page.name[:4] for page in DECISIONS] == [f"{number:04}" for number in range(1, len(DECISIONS) + 1)]
    assert [page.name for page in DECISIONS if not page.read_text("utf-8").startswith(f"# {page.name[:4]} ")] == []


def test_every_decision_that_is_cited_exists() -> None:
    numbers = {page.name[:4] for page in DECISIONS}
    cited = {
        (f.name, number) for f in _sources() for number in re.findall(r"ecision (0\d{3})\b", f.read_text("utf-8"))
    }
    assert len(cited) > 10
    assert [one for one in cited if one[1] not in numbers] == []


def test_a_decision_is_cited_by_its_number_or_linked_never_by_half_a_path() -> None:
    half = re.compile(r"docs/decisions/\d{4}(?!-)")
    assert [f.name for f in _sources() if half.search(f.read_text("utf-8"))] == []


@for_each("page", PAGES)
def test_every_module_that_a_page_names_by_its_path_is_there(page: Path) -> None:
    named = re.findall(rf"`((?:{'|'.join(FOLDERS)}|tests|bench|training)/[\w/]+\.py)`", page.read_text("utf-8"))
    assert [path for path in named if not (ROOT / path).exists() and page.name != "evidence.md"] == []


# ── README ────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_first_screen_says_what_it_is_shows_it_and_connects_a_client() -> None:
    screen = "\n".join(_read("README.md").splitlines()[:20])
    for wanted in (
        "memory for coding assistants",
        "docs/demo.svg",
        "pipx install reverie-mcp",
        "reverie setup",
    ):
        assert wanted in screen


def test_the_recorded_terminal_is_a_picture_of_every_command_of_its_script() -> None:
    story = runpy.run_path(str(ROOT / "scripts" / "record"))["STORY"]
    picture = "".join(ElementTree.fromstring(_read("docs/demo.svg")).itertext())  # noqa: S314 - our own file
    for _, commands in story:
        assert [line for line in commands if line not in picture] == []


@pytest.mark.parametrize("name", ["figures", "recall-quality", "sizes"])
def test_the_benchmarks_find_their_markers(name: str) -> None:
    page = _read("docs/benchmarks.md")
    assert page.count(f"<!-- {name} -->") == page.count(f"<!-- /{name} -->") == 1


# ── docs/architecture.md ──────────────────────────────────────────────────────────────────────────────────

ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
NAMED = re.compile(rf"`((?:{'|'.join(FOLDERS)})(?:\.\w+)+)`")
WALKS = ("remember", "recall", "consolidate")


def _section(title: str) -> str:
    return re.split(r"^#+ ", ARCHITECTURE.partition(f"# {title}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def _rows(section: str) -> list[list[str]]:
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def _is_defined(dotted: str) -> bool:
    """Say whether `folder.module`, `folder.module.name` or `folder.module.Class.method` is in the sources."""
    folder, module, *names = dotted.split(".")
    file = ROOT / folder / f"{module}.py"
    if not file.is_file():
        return False
    scope: list[ast.stmt] = ast.parse(file.read_text("utf-8")).body
    for name in names:
        found = [node for node in scope if name in _defined_by(node)]
        if not found:
            return False
        scope = getattr(found[0], "body", [])
    return True


def _defined_by(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = (
        node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    )
    return [target.id for one in targets for target in ast.walk(one) if isinstance(target, ast.Name)]


def test_everything_the_architecture_page_names_is_in_the_code() -> None:
    named = NAMED.findall(ARCHITECTURE)
    assert len(named) > 30
    assert [one for one in named if not _is_defined(one)] == []


@pytest.mark.parametrize("tool", WALKS)
def test_a_walk_has_at_most_ten_steps_and_each_names_a_function(tool: str) -> None:
    steps = re.findall(r"^\d+\. .*(?:\n   .*)*", _section(f"`{tool}`"), re.MULTILINE)
    assert 5 <= len(steps) <= 10
    assert [step for step in steps if not any(one.count(".") >= 2 for one in NAMED.findall(step))] == []


def test_the_glossary_is_short_and_each_word_has_a_module_that_owns_it() -> None:
    rows = _rows(_section("Glossary"))
    assert 20 <= len(rows) <= 30
    assert [word for word, _, *owner in rows if not NAMED.fullmatch("".join(owner))] == []
    assert [word for word, *_ in rows] == sorted((word for word, *_ in rows), key=str.casefold)


def test_every_question_of_a_newcomer_is_answered_with_a_name() -> None:
    rows = _rows(_section("Where is …?"))
    assert len(rows) >= 10
    assert [question for question, answer in rows if not NAMED.search(answer)] == []


# ── mcp.json.example ──────────────────────────────────────────────────────────────────────────────────────


def test_the_example_is_a_file_that_a_client_can_load_as_it_is() -> None:
    assert json.loads(_read("mcp.json.example")) == {
        "mcpServers": {"reverie": {"command": "reverie", "args": ["serve"]}}  # no key and no setting is needed
    }


@pytest.mark.anyio
@pytest.mark.parametrize("command", ["reverie serve", "reverie-mcp"])
async def test_the_command_that_a_client_is_given_starts_a_server_that_offers_its_tools(
    command: str, tmp_path: Path
) -> None:
    name, *arguments = command.split()
    parameters = StdioServerParameters(
        command=str(Path(sysconfig.get_path("scripts")) / name),
        args=arguments,
        env=os.environ | {"REVERIE_HOME": str(tmp_path / "home")},
        cwd=tmp_path,
    )
    async with Client(parameters, read_timeout_seconds=30) as client:
        tools = await client.list_tools()
    assert {"remember", "recall"} <= {tool.name for tool in tools.tools}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
