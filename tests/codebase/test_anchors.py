"""From sentences to anchors, on real repositories."""

from collections.abc import Callable
from pathlib import Path

import pytest

from reverie.codebase.anchors import anchor
from reverie.codebase.tree import SourceTree

from ..conftest import MakeRepository, Repository

Seen = Callable[..., set[str]]


@pytest.fixture
def project(repo: Repository) -> Repository:
    repo.write(
        "src/http/retry.py", "def with_retries(call):\n    return call()\n\nclass Backoff:\n    def next(self): ...\n"
    )
    repo.write("src/http/client.py", "class Client:\n    def request(self): ...\n    def close(self): ...\n")
    repo.write("src/server.py", "class Server:\n    def close(self): ...\ndef main(): ...\n")
    repo.write("src/settings.py", "TIMEOUT = 3\ndef parse_config(path): ...\n")
    repo.write("tests/test_settings.py", "def parse_config(path): ...\ndef only_in_tests(): ...\n")
    repo.write("web/src/app.ts", "export class App {}\nexport function renderAll() {}\n")
    repo.write("web/index.html")
    repo.write("docs/index.html")
    repo.write("vendor/lib/thing.py", "def vendored_thing(): ...\n")
    repo.write("Makefile", "lint: deps\n\truff check .\n\ntest:\n\tpytest\n")
    repo.write("package.json", '{"scripts": {"build": "tsc"}, "dependencies": {"react": "^18.2.0"}}')
    repo.write(
        "pyproject.toml",
        '[project]\nname = "x"\ndependencies = ["lancedb>=0.40"]\n[project.scripts]\nanvil = "x:main"\n',
    )
    repo.commit()
    return repo


@pytest.fixture
def seen(project: Repository) -> Seen:
    """Anchor a text and return what it was anchored to."""

    def call(text: str, files: tuple[str, ...] = ()) -> set[str]:
        found = anchor(SourceTree(project.root), text, files).anchors
        return {f"{a.path}::{a.symbol}" if a.symbol else a.path + ("/" if a.kind == "folder" else "") for a in found}

    return call


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The retry logic lives in `src/http/retry.py`", {"src/http/retry.py"}),
        ("It is in http/retry.py, I think", {"src/http/retry.py"}),
        ("retry.py:2 is where it waits", {"src/http/retry.py"}),
        (r"On Windows: src\http\retry.py", {"src/http/retry.py"}),
        ("The client is all of `src/http/`", {"src/http/"}),
        ("Sources are in web/src/ now", {"web/src/"}),
        ("Tests live in the `tests` directory, pages in the docs folder", {"tests/", "docs/"}),
        ("`parse_config` reads the TOML", {"src/settings.py::parse_config"}),
        ("parse_config() reads the TOML", {"src/settings.py::parse_config"}),
        ("`Backoff.next` waits longer each time", {"src/http/retry.py::Backoff.next"}),
        ("`http.retry.Backoff` waits", {"src/http/retry.py::Backoff"}),
        ("`renderAll` draws, in TypeScript", {"web/src/app.ts::renderAll"}),
        ("`TIMEOUT` is in seconds", {"src/settings.py::TIMEOUT"}),
        ("`retry.py::with_retries` wraps calls", {"src/http/retry.py::with_retries"}),
        ("`src/http/client.py` has `close`", {"src/http/client.py", "src/http/client.py::Client.close"}),
        ("Run `make lint` before pushing", {"Makefile::lint"}),
        ("Then run make test again", {"Makefile::test"}),
        ("`npm run build` compiles it", {"package.json::build"}),
        ("`anvil serve` starts it", {"pyproject.toml::anvil"}),
        ("We hold lancedb 0.40 and react 18.2", {"pyproject.toml::lancedb", "package.json::react"}),
    ],
)
def test_a_sentence_is_anchored_to_what_it_names(seen: Seen, text: str, expected: set[str]) -> None:
    assert seen(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("We met and talked about the close of the year", id="ordinary words"),
        pytest.param("`close` the connection", id="a method of two classes"),
        pytest.param("`request` is the object you get", id="a plain word that is a method somewhere"),
        pytest.param("index.html is the start page", id="two files of that name"),
        pytest.param("src/http/missing.py will come", id="a file that is not there"),
        pytest.param("`make deploy` is only planned", id="a target that is not there"),
        pytest.param("`npm install` first", id="a command of npm itself"),
        pytest.param("`os.path.join` and `json.dumps`", id="Python's own library"),
        pytest.param("use and/or, client/server, 24/7", id="slashes in prose"),
        pytest.param("flask 3.0 was considered", id="a version of something else"),
        pytest.param("see ../../etc/passwd and /etc/hosts", id="outside"),
        pytest.param("`vendored_thing` is theirs", id="other people's code"),
        pytest.param("Node.js, e.g. version 20", id="dots in prose"),
    ],
)
def test_what_cannot_be_resolved_is_no_anchor_and_no_error(seen: Seen, text: str) -> None:
    assert seen(text) == set()


def test_a_name_only_tests_define_is_still_a_name(seen: Seen) -> None:
    assert seen("`only_in_tests` is a helper") == {"tests/test_settings.py::only_in_tests"}


def test_a_file_without_an_ending_is_one_if_it_is_there(project: Repository) -> None:
    project.write("Changelog", "1.0\n")
    tree = SourceTree(project.root)
    assert [made.path for made in anchor(tree, "What changed is told in `Changelog`.").anchors] == ["Changelog"]
    assert anchor(tree, "What changed is told in `Annals`.").anchors == ()


def test_files_given_by_the_caller_come_first_and_may_name_a_symbol(project: Repository) -> None:
    files = ["src/settings.py::parse_config", str(project.root / "Makefile"), "nowhere.py", r"src\server.py"]
    found = anchor(SourceTree(project.root), "It works.", files)
    assert [(a.path, a.symbol) for a in found.anchors] == [
        ("src/settings.py", "parse_config"),
        ("Makefile", None),
        ("src/server.py", None),
    ]
    assert found.unresolved == ("nowhere.py",)


def test_an_anchor_holds_the_span_and_what_was_seen_in_the_working_tree(project: Repository) -> None:
    project.write("src/settings.py", "# not committed\nTIMEOUT = 3\ndef parse_config(path):\n    return 1\n")
    tree = SourceTree(project.root)
    [found] = anchor(tree, "`parse_config` reads it").anchors
    assert (found.span, found.file_digest) == ((3, 4), tree.digest("src/settings.py"))


def test_new_files_count_and_ignored_ones_do_not(project: Repository, seen: Seen) -> None:
    project.write(".gitignore", "generated/\n")
    project.write("src/brand_new.py", "def fresh_function(): ...\n")
    project.write("generated/ignored.py", "def ignored_function(): ...\n")
    assert seen("`fresh_function` in brand_new.py") == {
        "src/brand_new.py",
        "src/brand_new.py::fresh_function",
    }
    assert seen("`ignored_function` in ignored.py") == set()


def test_links_that_lead_out_of_the_project_are_not_followed(project: Repository, tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("def top_secret(): ...\n")
    (project.root / "src/link.py").symlink_to(tmp_path / "secret.py")
    (project.root / "src/up").symlink_to(tmp_path)
    tree = SourceTree(project.root)
    assert anchor(tree, "`top_secret` in src/link.py and src/up/secret.py", ["src/link.py"]).anchors == ()
    assert tree.read("src/link.py") is None
    assert tree.digest("src/up/secret.py") is None


def test_a_link_that_stays_inside_is_an_ordinary_file(project: Repository, seen: Seen) -> None:
    (project.root / "current.py").symlink_to("src/settings.py")
    assert seen("see `current.py`") == {"current.py"}


def test_spaces_and_letters_of_any_language_are_fine_in_a_path(make_repository: MakeRepository) -> None:
    repo = make_repository("Mein Projekt ünd so")
    repo.write("docs/Über uns.md")
    repo.write("src/größe.py", "def größe(): ...\n")
    repo.commit()
    found = anchor(SourceTree(repo.root), "Siehe `docs/Über uns.md` und src/größe.py; `größe.py`").anchors
    assert [a.path for a in found] == ["docs/Über uns.md", "src/größe.py"]


def test_without_git_the_folder_is_walked(tmp_path: Path) -> None:
    repo = Repository(tmp_path / "plain")
    repo.write("pkg/mod.py", "def some_function(): ...\n")
    repo.write("node_modules/x/mod2.py", "def some_function(): ...\n")
    found = anchor(SourceTree(repo.root), "`some_function` is in mod.py, mod2.py is not ours").anchors
    assert [(a.path, a.symbol) for a in found] == [("pkg/mod.py", None), ("pkg/mod.py", "some_function")]
