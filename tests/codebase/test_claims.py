"""Facts that a repository can answer: a verdict and a receipt."""

import pytest

from reverie.codebase.anchors import anchor
from reverie.codebase.claims import Claim, Finding, check_claim, claims_about
from reverie.codebase.manifests import allows
from reverie.codebase.tree import SourceTree

from ..conftest import Repository


@pytest.fixture
def tree(repo: Repository) -> SourceTree:
    repo.write("src/lamp.py", "import os\n\ndef load_lamp(): ...\n")
    repo.write("Makefile", "lint:\n\truff\n")
    repo.write(
        "pyproject.toml",
        '[project]\nname = "x"\nrequires-python = ">=3.11"\ndependencies = ["lancedb>=0.40,<0.41"]\n'
        "[tool.ruff]\nline-length = 118\n",
    )
    repo.write("compose.yaml", "services:\n  web:\n    restart: always\n")
    repo.commit()
    return SourceTree(repo.root)


@pytest.mark.parametrize(
    ("claim", "finding"),
    [
        (Claim("file", "src/lamp.py"), Finding("holds", "src/lamp.py")),
        (Claim("file", "src/oil.py"), Finding("fails", "", "no file src/oil.py")),
        (Claim("file", "../outside"), Finding("fails", "", "no file ../outside")),
        (Claim("folder", "src"), Finding("holds", "src")),
        (Claim("symbol", "load_lamp"), Finding("holds", "src/lamp.py:3")),
        (Claim("symbol", "load_lamp", path="src/lamp.py"), Finding("holds", "src/lamp.py:3")),
        (
            Claim("symbol", "load_lamp", path="src/oil.py"),
            Finding("fails", "src/lamp.py:3", "load_lamp is in src/lamp.py, not in src/oil.py"),
        ),
        (Claim("symbol", "load_oil"), Finding("fails", "", "nothing here defines load_oil")),
        (Claim("target", "lint"), Finding("holds", "Makefile:1")),
        (Claim("target", "make lint"), Finding("holds", "Makefile:1")),
        (Claim("target", "make test"), Finding("fails", "Makefile", "make test is in none of Makefile")),
        (Claim("dependency", "LanceDB"), Finding("holds", "pyproject.toml:4")),
        (Claim("dependency", "flask"), Finding("fails", "pyproject.toml", "flask is not a dependency")),
        (Claim("version", "lancedb", "0.40"), Finding("holds", "pyproject.toml:4")),
        (Claim("version", "lancedb", "0.41"), Finding("fails", "pyproject.toml:4", "lancedb is >=0.40,<0.41")),
        (Claim("version", "python", "3.11"), Finding("holds", "pyproject.toml:3")),
        (Claim("setting", "line-length", "118"), Finding("holds", "pyproject.toml:6")),
        (
            Claim("setting", "tool.ruff.line_length", "100"),
            Finding("fails", "pyproject.toml:6", "tool.ruff.line_length is 118"),
        ),
        (Claim("setting", "restart", "always"), Finding("holds", "compose.yaml:3")),
        (Claim("setting", "colour", "white"), Finding("unknown", "", "no configuration here sets colour")),
    ],
)
def test_each_kind_of_claim_gets_a_verdict_and_a_receipt(tree: SourceTree, claim: Claim, finding: Finding) -> None:
    assert check_claim(tree, claim) == finding


def test_where_there_is_no_manifest_nothing_is_disproved(repo: Repository) -> None:
    repo.write("a.txt")
    tree = SourceTree(repo.root)
    assert check_claim(tree, Claim("target", "lint")).verdict == "unknown"
    assert check_claim(tree, Claim("dependency", "flask")).verdict == "unknown"


def test_a_memory_claims_what_it_is_anchored_to_and_the_versions_and_settings_it_names(tree: SourceTree) -> None:
    text = "`load_lamp` needs lancedb 0.39; run `make lint`, with `line-length = 118`."
    claims = claims_about(text, anchor(tree, text).anchors)
    assert [(claim.kind, claim.name, claim.value) for claim in claims] == [
        ("target", "lint", ""),
        ("symbol", "load_lamp", ""),
        ("version", "lancedb", "0.39"),
        ("setting", "line-length", "118"),
    ]
    assert [check_claim(tree, claim).verdict for claim in claims] == ["holds", "holds", "fails", "holds"]


@pytest.mark.parametrize(
    ("requirement", "version", "allowed"),
    [
        (">=4.2,<5", "4.2", True),
        (">=4.2,<5", "5.0", False),
        ("==4.2.11", "4.2", True),
        ("==4.2.11", "4.3", False),
        ("^1.2.3", "1.9", True),
        ("^1.2.3", "2.0", False),
        ("^0.2.3", "0.3", False),
        ("~=1.4.2", "1.4.9", True),
        ("~=1.4.2", "1.5", False),
        ("~1.2", "1.3", False),
        ("<5.1", "5", True),
        ("", "1", None),
        (">=1", "latest", None),
    ],
)
def test_a_requirement_lets_in_what_it_says(requirement: str, version: str, allowed: bool | None) -> None:
    assert allows(requirement, version) is allowed
