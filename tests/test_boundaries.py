"""Imports point one way, and one folder knows each outside library. Proved over the syntax tree."""

import ast
import functools
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# Exactly the imports between folders that exist: a new one fails, and so does one that is no longer needed.
MAY_IMPORT: dict[str, frozenset[str]] = {
    "core": frozenset(),
    "text": frozenset(),
    "lifecycle": frozenset({"core"}),
    "guard": frozenset(),
    "embeddings": frozenset({"core", "text", "llm"}),
    "llm": frozenset({"core", "guard"}),
    "codebase": frozenset({"core", "text"}),
    "storage": frozenset({"core", "text", "lifecycle"}),
    "recall": frozenset({"core", "text", "lifecycle", "embeddings", "guard", "codebase", "storage"}),
    "dream": frozenset({"core", "text", "lifecycle", "embeddings", "llm", "guard", "codebase", "storage"}),
    "tools": frozenset(
        {"core", "text", "lifecycle", "embeddings", "llm", "guard", "codebase", "storage", "recall", "dream"}
    ),
    "server": frozenset({"core", "lifecycle", "guard", "codebase", "storage", "recall", "tools"}),
    "clients": frozenset({"core", "text", "tools", "server"}),
    "cli": frozenset(
        {"core", "lifecycle", "embeddings", "guard", "codebase", "storage", "recall", "tools", "server", "clients"}
    ),
}

# Imports inside a function that would make a cycle at the top of the module: from, to, and why it is so.
LAZY_CYCLES: dict[tuple[str, str], str] = {
    (
        "reverie.codebase.symbols",
        "reverie.codebase.tree_sitter_symbols",
    ): "a parser is loaded for the first file of it",
    ("reverie.embeddings.base", "reverie.embeddings.bundled"): "the settings choose one embedder, the model is heavy",
    ("reverie.embeddings.base", "reverie.embeddings.openai"): "the settings choose one embedder, openai is heavy",
    ("reverie.server.engine", "reverie.server.dream_process"): "the handshake needs no dreams, they are heavy",
    ("reverie.storage.homes", "reverie.storage.bucket"): "few homes are buckets, and their client is heavy",
}

# A library that is not in this table has no home yet, and importing it is a mistake until it has.
HOMES: dict[str, frozenset[str]] = {
    "anyio": frozenset({"server"}),
    "filelock": frozenset({"storage"}),
    "h11": frozenset({"server"}),
    "jwt": frozenset({"server"}),
    "lancedb": frozenset({"storage"}),
    "matplotlib": frozenset({"cli"}),
    "mcp": frozenset({"server", "cli"}),
    "numpy": frozenset({"embeddings", "lifecycle", "storage", "recall", "dream"}),
    "onnxruntime": frozenset({"embeddings"}),
    "obstore": frozenset({"storage"}),
    "openai": frozenset({"llm"}),
    "opentelemetry": frozenset({"server"}),
    "pyarrow": frozenset({"storage"}),
    "pydantic": frozenset({"server"}),
    "starlette": frozenset({"server"}),
    "Stemmer": frozenset({"text"}),
    "tiktoken": frozenset({"embeddings"}),
    "tokenizers": frozenset({"embeddings"}),
    "yaml": frozenset({"clients"}),
    "tree_sitter": frozenset({"codebase"}),
    "uvicorn": frozenset({"server"}),
    **{
        f"tree_sitter_{language}": frozenset({"codebase"})
        for language in ("c", "c_sharp", "cpp", "go", "java", "javascript", "php", "ruby", "rust", "typescript")
    },
}

IMPORTED_AS = {"PyStemmer": "Stemmer", "PyYAML": "yaml"}

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
    for line, module in dict.fromkeys([*_imports(tree, file), *_modules_named_in_texts(tree)]):
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
    renamed = _renamed(tree)
    for node in ast.walk(tree):
        if _reads_the_clock(node, renamed) and file != THE_CLOCK:
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
        if folder == "lifecycle" and isinstance(node, ast.Attribute) and node.attr == "random":
            yield node.lineno, "lifecycle is pure and may not throw dice"


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


def _modules_named_in_texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield modules of ours that a text names, as `reverie.tools.recall:recall` does, to be imported later."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            named = re.fullmatch(r"(reverie\.(\w+)(?:\.\w+)*)\.?(?::\w+)?", node.value)
            if named and named[2] in MAY_IMPORT:
                yield node.lineno, named[1]


@functools.cache
def _all_imports(root: Path) -> tuple[tuple[str, Path, str], ...]:
    """Return the folder, the file and the imported module of every import."""
    files = [(folder, path) for folder in MAY_IMPORT for path in sorted((root / folder).rglob("*.py"))]
    return tuple(
        (folder, path.relative_to(root), module)
        for folder, path in files
        for _, module in _imports(ast.parse(path.read_text("utf-8")), path.relative_to(root))
    )


def _folder_of(module: str) -> str:
    part = module.removeprefix("reverie").removeprefix(".").partition(".")[0]
    return part if part in MAY_IMPORT else "core"


@functools.cache
def _module_imports(root: Path, *, at_import: bool = False) -> dict[str, set[str]]:
    """Return which modules each module imports when it runs: at import alone, or also later but for LAZY_CYCLES."""
    files = {
        _module_name(path.relative_to(root)): path for folder in MAY_IMPORT for path in (root / folder).rglob("*.py")
    }
    imports: dict[str, set[str]] = {}
    for name, path in sorted(files.items()):
        file = path.relative_to(root)
        tree = _ImportsThatRun(at_import).visit(ast.parse(path.read_text("utf-8")))
        named = {module for _, module in _imports(tree, file)}
        for node in ast.walk(tree):  # `from reverie.text import tokenize` names the module after the word import
            if isinstance(node, ast.ImportFrom):
                [module] = {m for _, m in _imports(ast.Module([node], []), file) if m} if node.module else {""}
                package = module or _module_name(file.parent / "__init__.py")
                named |= {f"{package}.{one.name}" for one in node.names}
        listed = set() if at_import else {target for source, target in LAZY_CYCLES if source == name}
        imports[name] = {one for one in named if one in files} - {name} - listed
    return imports


class _ImportsThatRun(ast.NodeTransformer):
    """Drops `if TYPE_CHECKING:`, which never runs, and if asked functions, which run later."""

    def __init__(self, at_import: bool) -> None:
        self._at_import = at_import

    def visit_If(self, node: ast.If) -> ast.AST | None:
        return None if _last_name(node.test) == "TYPE_CHECKING" else self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST | None:
        return None if self._at_import else self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST | None:
        return None if self._at_import else self.generic_visit(node)


def _module_name(file: Path) -> str:
    parts = (*(() if file.parts[0] == "core" else file.parts[:1]), *file.parts[1:-1], file.stem)
    return ".".join(("reverie", *(part for part in parts if part != "__init__")))


def cycles(imports: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other, directly or through others."""
    reached = {name: _reached_from(name, imports) for name in imports}
    groups = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in imports
        if name in reached[name]
    }
    return [list(group) for group in sorted(groups)]


def _reached_from(name: str, imports: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for other in imports.get(waiting.pop(), set()) - found:
            found.add(other)
            waiting.append(other)
    return found


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


_CLOCKS = {
    *{f"{owner}.{name}" for owner in ("datetime", "date") for name in ("now", "utcnow", "today")},
    *{f"time.{name}" for name in ("time", "time_ns", "localtime", "gmtime")},
}


def _renamed(tree: ast.AST) -> dict[str, str]:
    """Return what names stand for that an import gave: `clock` for `time.time`, `dt` for `datetime`."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {name.asname: name.name for name in node.names if name.asname}
        elif isinstance(node, ast.ImportFrom):
            owner = "time." if node.module == "time" else ""
            found |= {name.asname or name.name: owner + name.name for name in node.names if owner or name.asname}
    return found


def _reads_the_clock(node: ast.AST, renamed: dict[str, str]) -> bool:
    """Whether a node is a clock, called or passed on, under whatever name."""
    if isinstance(node, ast.Name):
        return renamed.get(node.id, "") in _CLOCKS
    if not isinstance(node, ast.Attribute):
        return False
    owner = _last_name(node.value)
    return f"{renamed.get(owner, owner)}.{node.attr}" in _CLOCKS


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
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["plots"], *extras["team"]]
    named = (line.partition(">")[0].strip().replace("-", "_") for line in wanted)
    declared = {IMPORTED_AS.get(name, name) for name in named}
    # These are mcp's own vocabulary: they arrive with it.
    arriving = {"anyio", "h11", "jwt", "opentelemetry", "pydantic", "starlette", "uvicorn"}
    assert declared | arriving == set(HOMES)


def test_every_allowed_import_between_folders_exists() -> None:
    found: dict[str, set[str]] = {folder: set() for folder in MAY_IMPORT}
    for folder, file, module in _all_imports(ROOT):
        if module.partition(".")[0] == "reverie" and file != DOOR:
            found[folder].add(_folder_of(module))
    unused = {folder: sorted(allowed - found[folder]) for folder, allowed in MAY_IMPORT.items()}
    assert {folder: targets for folder, targets in unused.items() if targets} == {}


def test_every_home_of_a_library_uses_it() -> None:
    used = {(module.partition(".")[0], folder) for folder, _, module in _all_imports(ROOT)}
    grammars = {name for name in HOMES if name.startswith("tree_sitter_")}  # imported by the name of a language
    assert [
        f"{folder} does not import {library}"
        for library, homes in HOMES.items()
        for folder in sorted(homes)
        if library not in grammars and (library, folder) not in used
    ] == []


def test_no_modules_import_each_other_in_a_cycle() -> None:
    assert cycles(_module_imports(ROOT)) == []
    assert cycles(_module_imports(ROOT, at_import=True)) == []  # what LAZY_CYCLES lists is imported in functions


def test_every_listed_lazy_import_would_make_a_cycle() -> None:
    imports = _module_imports(ROOT)
    for source, target in LAZY_CYCLES:
        assert cycles({**imports, source: imports[source] | {target}}), f"{source} → {target} makes no cycle"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("import reverie.text.second", "import reverie.text.first"),
        ("from reverie.text.second import X", "from reverie.text import first"),
        ("from reverie.text import second", "def f():\n    from reverie.text.first import X"),
        ("from .second import X", "if X:\n    from . import first"),
    ],
)
def test_the_checker_sees_a_cycle(tmp_path: Path, first: str, second: str) -> None:
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "first.py").write_text(first + "\n")
    (tmp_path / "text" / "second.py").write_text(second + "\n")
    assert cycles(_module_imports(tmp_path)) == [["reverie.text.first", "reverie.text.second"]]


def test_imports_for_types_alone_are_no_cycle(tmp_path: Path) -> None:
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "first.py").write_text("if TYPE_CHECKING:\n    from reverie.text.second import X\n")
    (tmp_path / "text" / "second.py").write_text("from reverie.text.first import Y\n")
    assert cycles(_module_imports(tmp_path)) == []


@pytest.mark.parametrize(
    ("folder", "line", "complaint"),
    [
        ("core", "import numpy", "numpy belongs in dream, embeddings, lifecycle, recall, storage, not in core"),
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
        ("lifecycle", "from datetime import datetime as dt; dt.now()", "only the injected clock knows the time"),
        ("lifecycle", "import numpy as np; np.random.rand()", "lifecycle is pure and may not throw dice"),
        ("storage", "import openai", "openai belongs in llm, not in storage"),
        ("storage", "import time; time.time()", "only the injected clock knows the time"),
        ("storage", "from time import time as clock; clock()", "only the injected clock knows the time"),
        ("storage", "def f(now=datetime.now): ...", "only the injected clock knows the time"),
        ("storage", "field(default_factory=date.today)", "only the injected clock knows the time"),
        ("embeddings", "def f():\n    import lancedb.table", "lancedb belongs in storage, not in embeddings"),
        ("embeddings", "importlib.import_module('mcp')", "mcp belongs in cli, server, not in embeddings"),
        ("codebase", "import reverie.tools.recall", "codebase may not import tools"),
        ("tools", "import mcp.types", "mcp belongs in cli, server, not in tools"),
        ("tools", "from reverie.server import app", "tools may not import server"),
        ("tools", "TOOL = Tool('reverie.server.app:serve')", "tools may not import server"),
        (
            "tools",
            "from importlib import import_module as load; load('reverie.cli.main')",
            "tools may not import cli",
        ),
        ("tools", "load(f'reverie.cli.{name}')", "tools may not import cli"),
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
        ("storage", "from reverie.lifecycle.vitals import X"),
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


def test_a_home_in_a_folder_loads_nothing_of_a_bucket() -> None:
    program = "import sys, reverie.tools.session, reverie.cli.main; print([m for m in sys.modules if 'obstore' in m])"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
