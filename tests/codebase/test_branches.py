"""What was learned on another branch, while it lives, after it was merged, and after it is gone."""

from collections.abc import Callable
from pathlib import Path

import pytest

from reverie.codebase.evidence import Evidence, EvidenceState
from reverie.codebase.identity import identify_project

from ..conftest import Repository

Learn = Callable[[str], Callable[[], EvidenceState]]


@pytest.fixture
def learn(repo: Repository) -> Learn:
    """Learn something on the branch that is checked out; return what checks it from wherever one stands later."""
    repo.write("README.md")
    repo.commit()
    repo.git("checkout", "-qb", "feature/retries")
    repo.write("src/retry.py", "def with_retries(): ...\n")
    repo.write("README.md", "Now with retries.\n")
    repo.commit()

    def start(text: str) -> Callable[[], EvidenceState]:
        here = identify_project(repo.root)
        anchors = Evidence(here, repo.root).anchor(text, [], here.project).anchors
        assert anchors

        def check() -> EvidenceState:
            later = identify_project(repo.root)
            return Evidence(later, repo.root).check(later.project, here.branch, anchors)

        return check

    return start


def test_what_lives_on_another_branch_is_out_of_sight_not_gone(repo: Repository, learn: Learn) -> None:
    check = learn("Retries are in `src/retry.py`")
    assert check().freshness == "verified"
    repo.git("checkout", "-q", "main")
    found = check()
    assert found.freshness == "unverifiable"
    assert found.note == (
        "on branch feature/retries, not checked out here; learned on branch feature/retries, not merged here"
    )


def test_once_merged_it_counts_like_anything_else(repo: Repository, learn: Learn) -> None:
    check = learn("Retries are in `src/retry.py`")
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "-m", "merge", "feature/retries")
    assert (check().freshness, check().note) == ("verified", "")
    repo.git("rm", "-q", "src/retry.py")
    repo.commit()
    assert (check().freshness, check().note) == ("missing", "src/retry.py is gone")


def test_squashed_into_the_main_line_it_is_verified_there(repo: Repository, learn: Learn) -> None:
    check = learn("Retries are in `src/retry.py`")
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--squash", "feature/retries")
    repo.commit()
    repo.git("branch", "-qD", "feature/retries")
    assert check().freshness == "verified"


def test_when_the_branch_is_gone_unmerged_the_main_line_decides(repo: Repository, learn: Learn) -> None:
    check = learn("Retries are in `src/retry.py`")
    repo.git("checkout", "-q", "main")
    repo.git("branch", "-qD", "feature/retries")
    found = check()
    assert found.freshness == "missing"
    assert "branch feature/retries is gone and was not merged" in found.note


def test_what_the_main_line_has_too_survives_the_branch_even_seen_from_a_third(
    repo: Repository, learn: Learn
) -> None:
    check = learn("The story is told in `README.md`")
    repo.git("checkout", "-q", "main")
    repo.git("branch", "-qD", "feature/retries")
    assert check().freshness == "changed"
    repo.git("checkout", "-q", "--orphan", "pages")
    repo.git("rm", "-rqf", ".")
    repo.write("index.html")
    repo.commit()
    found = check()
    assert found.freshness == "changed"
    assert "the main line has README.md" in found.note


def test_a_remote_branch_counts_as_living(repo: Repository, learn: Learn, tmp_path: Path) -> None:
    check = learn("Retries are in `src/retry.py`")
    repo.git("init", "-q", "--bare", str(tmp_path / "hub.git"))
    repo.git("remote", "add", "origin", str(tmp_path / "hub.git"))
    repo.git("push", "-q", "origin", "feature/retries")
    repo.git("checkout", "-q", "main")
    repo.git("branch", "-qD", "feature/retries")
    assert check().freshness == "unverifiable"
