"""What has become of what was seen: each answer on a real history."""

from collections.abc import Callable

import pytest

from reverie.codebase.evidence import Evidence, EvidenceState
from reverie.codebase.identity import identify_project
from reverie.memory import Anchor

from ..conftest import Repository

Watch = Callable[..., Callable[[], EvidenceState]]

RETRY = "def with_retries(call):\n    return call()\n\n\ndef unrelated():\n    return 1\n"


@pytest.fixture
def watch(repo: Repository) -> Watch:
    """Anchor a text now; return what asks for its freshness later, as another session would."""

    def start(text: str, *files: str) -> Callable[[], EvidenceState]:
        here = identify_project(repo.root)
        anchors = Evidence(here, repo.root).anchor(text, files, here.project).anchors

        def check() -> EvidenceState:
            later = identify_project(repo.root)
            return Evidence(later, repo.root).check(later.project, here.branch, anchors)

        return check

    return start


@pytest.fixture
def retry(repo: Repository) -> Repository:
    repo.write("src/http/retry.py", RETRY)
    repo.write("src/http/client.py", "import retry\n" * 20)
    repo.commit()
    return repo


def _told(checked: EvidenceState) -> tuple[str, str]:
    return checked.freshness, checked.note


def test_what_nobody_touched_is_verified(retry: Repository, watch: Watch) -> None:
    check = watch("It is in `src/http/retry.py`, see `with_retries` and src/http/")
    retry.write("src/other.py")
    retry.commit()
    assert _told(check()) == ("verified", "")


def test_a_memory_that_names_nothing_is_unanchored(retry: Repository, watch: Watch) -> None:
    assert _told(watch("We like tea")()) == ("unanchored", "")


def test_a_changed_file_is_changed_and_nothing_worse(retry: Repository, watch: Watch) -> None:
    check = watch("It is in `src/http/retry.py`")
    retry.write("src/http/retry.py", RETRY + "# more\n")
    assert _told(check()) == ("changed", "src/http/retry.py changed")


def test_a_change_outside_the_symbol_leaves_the_symbol_verified(retry: Repository, watch: Watch) -> None:
    check = watch("`with_retries` wraps every call")
    retry.write("src/http/retry.py", "import time\n" + RETRY.replace("return 1", "return 2"))
    retry.commit()
    assert _told(check()) == ("verified", "")


@pytest.mark.parametrize(
    ("after", "note"),
    [
        (RETRY.replace("call()", "call(3)"), "with_retries: body changed"),
        (RETRY.replace("(call)", "(call, times=3)"), "with_retries: signature changed"),
    ],
)
def test_a_change_of_the_symbol_says_what_changed(retry: Repository, watch: Watch, after: str, note: str) -> None:
    check = watch("`with_retries` wraps every call")
    retry.write("src/http/retry.py", after)
    assert _told(check()) == ("changed", note)


def test_a_renamed_file_has_moved(retry: Repository, watch: Watch) -> None:
    check = watch("It is in `src/http/retry.py`")
    (retry.root / "lib").mkdir()
    retry.git("mv", "src/http/retry.py", "lib/backoff.py")
    retry.commit()
    assert _told(check()) == ("moved", "src/http/retry.py moved to lib/backoff.py")
    assert check().anchors[0].now_at == "lib/backoff.py"


def test_a_file_that_was_moved_and_edited_has_moved(retry: Repository, watch: Watch) -> None:
    check = watch("It is in `src/http/retry.py`")
    retry.git("mv", "src/http/retry.py", "src/retrying.py")
    retry.write("src/retrying.py", RETRY + "\n# and a little more\n")
    retry.commit()
    assert check().anchors[0].now_at == "src/retrying.py"


def test_a_file_renamed_twice_and_rewritten_later_is_followed_through_the_history(
    retry: Repository, watch: Watch
) -> None:
    check = watch("It is in `src/http/retry.py`")
    retry.git("mv", "src/http/retry.py", "src/a.py")
    retry.commit()
    retry.git("mv", "src/a.py", "src/b.py")
    retry.commit()
    retry.write("src/b.py", "\n".join(f"def another_{n}(): return {n}" for n in range(30)))
    retry.commit()
    assert check().anchors[0].now_at == "src/b.py"


def test_a_file_moved_without_telling_git_is_found_by_its_content(retry: Repository, watch: Watch) -> None:
    check = watch("It is in `src/http/retry.py`")
    (retry.root / "src/http/retry.py").rename(retry.root / "src/elsewhere.py")
    assert _told(check()) == ("moved", "src/http/retry.py moved to src/elsewhere.py")


def test_a_moved_symbol_is_found_anywhere(retry: Repository, watch: Watch) -> None:
    check = watch("`with_retries` wraps every call")
    retry.write("src/http/retry.py", "def unrelated():\n    return 1\n")
    retry.write("core/calls.py", "def with_retries(call):\n    return call()\n")
    retry.commit()
    assert _told(check()) == ("moved", "with_retries moved to core/calls.py")


def test_a_symbol_moves_along_with_its_file(retry: Repository, watch: Watch) -> None:
    check = watch("`with_retries` wraps every call")
    retry.git("mv", "src/http/retry.py", "src/retrying.py")
    retry.commit()
    assert check().anchors[0].now_at == "src/retrying.py"


def test_a_moved_folder_is_found_by_where_most_of_it_went(retry: Repository, watch: Watch) -> None:
    check = watch("Everything about http is in `src/http/`")
    (retry.root / "net").mkdir()
    retry.git("mv", "src/http", "net/http")
    retry.commit()
    assert _told(check()) == ("moved", "src/http moved to net/http")


def test_a_deleted_file_symbol_folder_and_target_are_missing(retry: Repository, watch: Watch) -> None:
    retry.write("Makefile", "lint:\n\truff\n\ntest:\n\tpytest\n")
    retry.commit()
    checks = [watch(text) for text in ("`src/http/client.py`", "`unrelated()`", "`src/http/`", "`make lint`")]
    retry.git("rm", "-rq", "src")
    retry.write("Makefile", "test:\n\tpytest\n")
    retry.commit()
    assert [_told(check()) for check in checks] == [
        ("missing", "src/http/client.py is gone"),
        ("missing", "src/http/retry.py is gone, and unrelated with it"),
        ("missing", "src/http/ is gone"),
        ("missing", "lint is gone from Makefile"),
    ]


def test_of_several_anchors_the_worst_is_told(retry: Repository, watch: Watch) -> None:
    check = watch("`src/http/client.py` uses `src/http/retry.py`")
    retry.write("src/http/retry.py", RETRY + "#\n")
    assert check().freshness == "changed"
    retry.git("mv", "src/http/client.py", "src/client.py")
    assert check().freshness == "moved"
    retry.git("rm", "-qf", "src/http/retry.py")
    assert _told(check()) == ("missing", "src/http/retry.py is gone")


def test_a_file_that_lay_beside_all_along_is_no_new_place(retry: Repository, watch: Watch) -> None:
    retry.write("a/__init__.py", "#\n")
    retry.write("b/__init__.py", "#\n")
    retry.commit()
    check = watch("see `a/__init__.py`")
    retry.git("rm", "-q", "a/__init__.py")
    retry.commit()
    assert _told(check()) == ("missing", "a/__init__.py is gone")


def test_what_comes_back_is_verified_again(retry: Repository, watch: Watch) -> None:
    check = watch("It is in `src/http/retry.py`")
    retry.git("rm", "-q", "src/http/retry.py")
    assert check().freshness == "missing"
    retry.write("src/http/retry.py", RETRY)
    assert check().freshness == "verified"


def test_line_breaks_of_another_system_are_no_change(retry: Repository, watch: Watch) -> None:
    check = watch("It is in `src/http/retry.py`")
    (retry.root / "src/http/retry.py").write_bytes(RETRY.replace("\n", "\r\n").encode())
    assert check().freshness == "verified"


def test_a_dependency_tells_its_new_version(retry: Repository, watch: Watch) -> None:
    retry.write("requirements.txt", "lancedb>=0.40\n")
    check = watch("We use lancedb 0.40")
    retry.write("requirements.txt", "lancedb>=0.50\n")
    assert _told(check()) == ("changed", "lancedb is now >=0.50")
    retry.write("requirements.txt", "pyarrow\n")
    assert _told(check()) == ("missing", "lancedb is gone from requirements.txt")


def test_a_script_that_only_changed_its_manifest_still_works(retry: Repository, watch: Watch) -> None:
    retry.write("setup.cfg", "[options.entry_points]\nconsole_scripts =\n    anvil = x:main\n")
    check = watch("`anvil serve` starts it")
    retry.git("rm", "-qf", "--cached", "--ignore-unmatch", "setup.cfg")
    (retry.root / "setup.cfg").unlink()
    retry.write("pyproject.toml", '[project]\nname = "x"\n[project.scripts]\nanvil = "x:main"\n')
    assert _told(check()) == ("changed", "anvil is now in pyproject.toml")


def test_a_memory_of_another_project_is_unverifiable_not_dead(retry: Repository) -> None:
    evidence = Evidence(identify_project(retry.root), retry.root)
    anchors = (Anchor(path="src/never.py", digest="0" * 32, freshness="verified"),)
    assert evidence.check("github.com/other/one", None, anchors).freshness == "unverifiable"
    assert evidence.check(identify_project(retry.root).project, None, anchors).freshness == "missing"


def test_a_file_noted_where_nothing_could_be_looked_up_is_never_called_missing(retry: Repository) -> None:
    evidence = Evidence(identify_project(retry.root), retry.root)
    checked = evidence.check(identify_project(retry.root).project, None, (Anchor(path="src/never.py"),))
    assert checked.freshness == "unverifiable"


def test_nothing_is_read_again_while_size_and_times_stand(retry: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    here = identify_project(retry.root)
    evidence = Evidence(here, retry.root)
    anchors = evidence.anchor(
        "`with_retries` in `src/http/retry.py` and `src/http/client.py`", [], here.project
    ).anchors
    assert evidence.check(here.project, here.branch, anchors).freshness == "verified"

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a file was read, or git was asked")

    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    monkeypatch.setattr("reverie.codebase.git.Git.ask", refuse)
    assert evidence.check(here.project, here.branch, anchors).freshness == "verified"
