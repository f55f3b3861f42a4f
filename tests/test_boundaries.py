"""Imports point one way, and one folder knows each outside library. Proved over the syntax tree."""

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

MAY_IMPORT: dict[str, frozenset[str]] = {
    "core": frozenset(),
    "text": frozenset({"core"}),
    "lifecycle": frozenset({"core"}),
    "guard": frozenset({"core"}),
    "embeddings": frozenset({"core", "text", "llm"}),
    "llm": frozenset({"core", "guard"}),
    "codebase": frozenset({"core", "text"}),
    "storage": frozenset({"core", "text", "lifecycle"}),
    "recall": frozenset({"core", "text", "lifecycle", "embeddings", "guard", "codebase", "storage"}),
    "dream": frozenset({"core", "text", "lifecycle", "embeddings", "llm", "guard", "codebase", "storage"}),
}
MAY_IMPORT["tools"] = frozenset(MAY_IMPORT)
MAY_IMPORT["server"] = frozenset(MAY_IMPORT)
MAY_IMPORT["cli"] = frozenset(MAY_IMPORT)

# A library that is not in this table has no home yet, and importing it is a mistake until it has.
HOMES: dict[str, frozenset[str]] = {
    "anyio": frozenset({"server", "cli"}),
    "filelock": frozenset({"storage"}),
    "lancedb": frozenset({"storage"}),
    "matplotlib": frozenset({"cli"}),
    "mcp": frozenset({"server", "cli"}),
    "numpy": frozenset({"embeddings", "storage", "recall", "dream"}),
    "onnxruntime": frozenset({"embeddings"}),
    "openai": frozenset({"llm"}),
    "pyarrow": frozenset({"storage"}),
    "pydantic": frozenset({"server"}),
    "Stemmer": frozenset({"text"}),
    "tiktoken": frozenset({"embeddings"}),
    "tokenizers": frozenset({"embeddings"}),
    "tree_sitter": frozenset({"codebase"}),
    **{
        f"tree_sitter_{language}": frozenset({"codebase"})
        for language in ("c", "c_sharp", "cpp", "go", "java", "javascript", "php", "ruby", "rust", "typescript")
    },
}

IMPORTED_AS = {"PyStemmer": "Stemmer"}

DOOR = Path("core/__main__.py")  # `python -m reverie` has to live there and opens the command line
THE_CLOCK = Path("core/time.py")

# What the mathematics of memory must not reach for: clock, disk, network and dice.
IMPURE_MODULES = {
    *(
        "asyncio",
        "http",
        "importlib",
        "io",
        "logging",
        "multiprocessing",
        "os",
        "pathlib",
        "random",
        "secrets",
    ),
    *("shutil", "socket", "sqlite3", "subprocess", "tempfile", "threading", "time", "urllib", "uuid"),
}
IMPURE_CALLS = frozenset({"input", "open", "print"})


def complaints(root: Path) -> list[str]:
    """Return everything under the folders of the house that crosses a boundary."""
    return [
        f"{file.relative_to(root)}:{line}: {problem}"
        for folder in MAY_IMPORT
        for file in sorted((root / folder).rglob("*.py"))
        for line, problem in _crossings(folder, file.relative_to(root), file.read_text("utf-8"))
    ]


def _crossings(folder: str, file: Path, source: str) -> Iterator[tuple[int, str]]:
    tree = ast.parse(source)
    for line, module in _imports(tree, file):
        top, _, rest = module.partition(".")
        if top == "reverie":
            part = rest.partition(".")[0]
            target = part if part in MAY_IMPORT else "core"
            if target != folder and target not in MAY_IMPORT[folder] and file != DOOR:
                yield line, f"{folder} may not import {target}"
        elif top not in sys.stdlib_module_names:
            homes = HOMES.get(top, frozenset())
            if folder not in homes:
                yield line, f"{top} belongs in {', '.join(sorted(homes)) or 'no folder yet'}, not in {folder}"
        elif folder == "lifecycle" and top in IMPURE_MODULES:
            yield line, f"lifecycle is pure and may not import {top}"
    for node in ast.walk(tree):
        if _reads_the_clock(node) and file != THE_CLOCK:
            yield node.lineno, "only the injected clock knows the time"
        if folder != "storage" and isinstance(node, ast.Attribute) and node.attr == "database":
            yield node.lineno, "only storage may reach for the database; ask the store"
        if folder != "codebase" and _starts_git(node):
            yield node.lineno, "only codebase may call git"
        if (
            folder == "lifecycle"
            and isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in IMPURE_CALLS
        ):
            yield node.lineno, f"lifecycle is pure and may not call {node.func.id}"


def _imports(tree: ast.AST, file: Path) -> Iterator[tuple[int, str]]:
    package = ["reverie", *([] if file.parts[0] == "core" else [file.parts[0]]), *file.parts[1:-1]]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield node.lineno, name.name
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            if module == "reverie":  # `from reverie import storage` names the folder after the word import
                yield from ((node.lineno, f"reverie.{name.name}") for name in node.names)
            else:
                yield node.lineno, module
        elif isinstance(node, ast.Call) and _last_name(node.func) in ("import_module", "__import__"):
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield node.lineno, first.value


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _reads_the_clock(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    owner = _last_name(node.func.value)
    if owner in ("datetime", "date"):
        return node.func.attr in ("now", "utcnow", "today")
    return owner == "time" and node.func.attr in ("time", "time_ns", "localtime", "gmtime")


def _starts_git(node: ast.AST) -> bool:
    if isinstance(node, ast.List | ast.Tuple):
        words = node.elts[:1]
    elif isinstance(node, ast.Call) and _last_name(node.func) == "which":
        words = node.args[:1]
    else:
        return False
    return any(isinstance(word, ast.Constant) and word.value == "git" for word in words)


def test_no_folder_reaches_across_a_boundary() -> None:
    assert complaints(ROOT) == []


def test_the_table_of_folders_is_the_one_that_gets_installed() -> None:
    installed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    expected = {("reverie" if f == "core" else f"reverie.{f}"): f for f in MAY_IMPORT}
    assert installed["package-dir"] == expected
    assert sorted(installed["packages"]) == sorted(expected)


def test_no_folder_at_the_root_hides_the_installed_package() -> None:
    assert not (ROOT / "reverie").exists()
    assert not (ROOT / "reverie.py").exists()


def test_every_dependency_has_a_home_and_every_home_a_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["plots"]]
    named = (line.partition(">")[0].strip().replace("-", "_") for line in wanted)
    declared = {IMPORTED_AS.get(name, name) for name in named}
    # anyio and pydantic are mcp's own vocabulary: they arrive with it.
    assert declared | {"anyio", "pydantic"} == set(HOMES)


@pytest.mark.parametrize(
    ("folder", "line", "complaint"),
    [
        ("core", "import numpy", "numpy belongs in dream, embeddings, recall, storage, not in core"),
        ("core", "from reverie.storage import lance", "core may not import storage"),
        ("core", "from reverie import storage", "core may not import storage"),
        ("core", "from . import storage", "core may not import storage"),
        ("lifecycle", "from reverie.storage.lance import X", "lifecycle may not import storage"),
        ("lifecycle", "from ..storage import lance", "lifecycle may not import storage"),
        ("lifecycle", "import random", "lifecycle is pure and may not import random"),
        ("lifecycle", "from os import environ", "lifecycle is pure and may not import os"),
        ("lifecycle", "open('x')", "lifecycle is pure and may not call open"),
        ("lifecycle", "datetime.now(UTC)", "only the injected clock knows the time"),
        ("lifecycle", "dt.datetime.utcnow()", "only the injected clock knows the time"),
        ("storage", "import openai", "openai belongs in llm, not in storage"),
        ("storage", "import time; time.time()", "only the injected clock knows the time"),
        ("embeddings", "def f():\n    import lancedb.table", "lancedb belongs in storage, not in embeddings"),
        ("embeddings", "importlib.import_module('mcp')", "mcp belongs in cli, server, not in embeddings"),
        ("codebase", "import reverie.tools.recall", "codebase may not import tools"),
        ("tools", "import mcp.types", "mcp belongs in cli, server, not in tools"),
        ("tools", "from reverie.server import app", "tools may not import server"),
        ("tools", "import requests", "requests belongs in no folder yet, not in tools"),
        ("server", "run(['git', 'status'])", "only codebase may call git"),
        ("server", "shutil.which('git')", "only codebase may call git"),
        ("dream", "store.database.table('x')", "only storage may reach for the database; ask the store"),
    ],
)
def test_the_checker_sees_each_kind_of_crossing(tmp_path: Path, folder: str, line: str, complaint: str) -> None:
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "bad.py").write_text(line + "\n")
    assert [c.partition(": ")[2] for c in complaints(tmp_path)] == [complaint]


@pytest.mark.parametrize(
    ("folder", "line"),
    [
        ("core", "import json, os"),
        ("core", "from reverie.errors import ReverieError"),
        ("core", "from .errors import ReverieError"),
        ("storage", "from reverie import lifecycle, memory, __version__"),
        ("storage", "from reverie.lifecycle.trust import X"),
        ("storage", "import lancedb"),
        ("storage", "store.database.table('x')"),
        ("tools", "from reverie.storage.database import Stamp"),
        ("codebase", "shutil.which('git')"),
        ("lifecycle", "from datetime import datetime, timedelta\nimport math"),
        ("server", "import mcp\nfrom reverie.tools import recall"),
        ("server", "import time; time.monotonic()"),
    ],
)
def test_the_checker_lets_pass_what_is_allowed(tmp_path: Path, folder: str, line: str) -> None:
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "good.py").write_text(line + "\n")
    assert complaints(tmp_path) == []
