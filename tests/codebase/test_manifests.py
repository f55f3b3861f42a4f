"""What manifests promise, and which promise a command relies on."""

import pytest

from reverie.codebase.manifests import entries_of, entry_for
from reverie.codebase.tree import SourceTree

from ..conftest import Repository

FILES = {
    "Makefile": ".PHONY: lint\nCC := gcc\nlint: deps\n\truff check .\n\ntest unit:\n\tpytest\n",
    "justfile": "build target='x':\n    cargo build\n",
    "package.json": '{"scripts": {"build": "tsc", "test": "jest"}, "devDependencies": {"@types/node": "^20"}}',
    "pyproject.toml": '[project]\nname = "x"\nrequires-python = ">=3.11"\ndependencies = ["lancedb[x]>=0.40,<1"]\n'
    '[project.scripts]\nanvil = "x:main"\n[dependency-groups]\ndev = ["pytest>=9", {include-group = "a"}]\n',
    "setup.py": "setup(install_requires=['six>=1.0'], include_package_data=True,\n"
    "      entry_points={'console_scripts': ['old-anvil = x.cli:main']})\n",
    "tox.ini": "[tox]\nenvlist = py311, docs\n[testenv:lint]\ncommands = ruff\n",
    "noxfile.py": "@nox.session\ndef docs(session):\n    session.run('x')\n",
    "composer.json": '{"scripts": {"stan": "phpstan"}, "require": {"monolog/monolog": "^3"}}',
    "Rakefile": "task :deploy do\n  sh 'x'\nend\n",
    "Taskfile.yml": "version: 3\ntasks:\n  release:\n    cmds: [x]\n",
    "requirements.txt": "# ours\nrequests==2.31.0  # pinned\n-r other.txt\n",
    "Cargo.toml": '[dependencies]\nserde = { version = "1.0", features = ["derive"] }\n',
    "go.mod": "module x\n\nrequire (\n\tgithub.com/spf13/cobra v1.8.0\n)\n",
    "Gemfile": "gem 'rails', '~> 7.1'\n",
}


@pytest.fixture
def tree(repo: Repository) -> SourceTree:
    for path, text in FILES.items():
        repo.write(path, text)
    return SourceTree(repo.root)


@pytest.mark.parametrize(
    ("command", "place"),
    [
        ("make lint", "Makefile:3"),
        ("make -j4 VERBOSE=1 unit", "Makefile:6"),
        ("cd x && make test", "Makefile:6"),
        ("just build", "justfile:1"),
        ("npm run build", "package.json:1"),
        ("npm test", "package.json:1"),
        ("yarn build --watch", "package.json:1"),
        ("anvil serve", "pyproject.toml:6"),
        ("poetry run anvil", "pyproject.toml:6"),
        ("old-anvil", "setup.py:2"),
        ("tox -e lint", "tox.ini:3"),
        ("tox -e docs", "tox.ini:2"),
        ("nox -s docs", "noxfile.py:2"),
        ("composer run stan", "composer.json:1"),
        ("rake deploy", "Rakefile:1"),
        ("task release", "Taskfile.yml:3"),
    ],
)
def test_a_command_is_traced_to_the_line_that_makes_it_work(tree: SourceTree, command: str, place: str) -> None:
    entry = entry_for(entries_of(tree), command)
    assert entry is not None
    assert f"{entry.path}:{entry.line}" == place


@pytest.mark.parametrize(
    "command", ["make deploy", "make CC", "npm install", "npm build", "include_package_data", "ls -l", "make", ""]
)
def test_what_no_manifest_defines_is_no_command_of_ours(tree: SourceTree, command: str) -> None:
    assert entry_for(entries_of(tree), command) is None


def test_dependencies_are_read_with_their_versions(tree: SourceTree) -> None:
    found = {entry.name: entry.value for entry in entries_of(tree) if entry.kind == "dependency"}
    assert found == {
        "@types/node": "^20",
        "python": ">=3.11",
        "lancedb": ">=0.40,<1",
        "pytest": ">=9",
        "six": ">=1.0",
        "monolog/monolog": "^3",
        "requests": "==2.31.0",
        "serde": "1.0",
        "github.com/spf13/cobra": "v1.8.0",
        "rails": "~> 7.1",
    }


def test_a_manifest_that_is_broken_promises_nothing_and_spoils_nothing(repo: Repository) -> None:
    for path in FILES:
        repo.write(path, "{[broken = \n\x01")
    repo.write("Makefile", "lint:\n\truff\n")
    assert [entry.name for entry in entries_of(SourceTree(repo.root))] == ["lint"]
