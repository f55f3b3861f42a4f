"""Every odd shape a repository can have: evidence is made and checked, nothing fails, nothing is written into it."""

import hashlib
import os
import subprocess
import time
from pathlib import Path

import pytest

from reverie.codebase.evidence import Evidence
from reverie.codebase.git import GitUnavailable, find_git
from reverie.codebase.identity import identify_project
from reverie.codebase.outline import begin_scan
from reverie.codebase.tree import SourceTree

from ..conftest import MakeRepository, Repository

SENTENCE = "`load_lamp` is in `src/lamp.py`; see lamp.py and src/"


def _fill(repo: Repository) -> Repository:
    repo.write("src/lamp.py", "def load_lamp():\n    return 1\n")
    return repo


def _freshness(folder: Path) -> tuple[int, str]:
    """Anchor the sentence in a folder and check it again as another session would."""
    here = identify_project(folder)
    anchors = Evidence(here, folder).anchor(SENTENCE, [], here.project).anchors
    later = identify_project(folder)
    return len(anchors), Evidence(later, folder).check(later.project, here.branch, anchors).freshness


def _fingerprint(folder: Path) -> dict[str, tuple[str, int]]:
    return {
        str(path.relative_to(folder)): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def test_no_repository_at_all(tmp_path: Path) -> None:
    plain = _fill(Repository(tmp_path / "plain"))
    assert _freshness(plain.root) == (3, "verified")
    (plain.root / "src/lamp.py").rename(plain.root / "src/torch.py")
    here = identify_project(plain.root)
    assert Evidence(here, plain.root).check(here.project, None, ()).freshness == "unanchored"


def test_a_file_that_moves_in_a_folder_without_git_is_found_by_its_content(tmp_path: Path) -> None:
    plain = _fill(Repository(tmp_path / "plain"))
    here = identify_project(plain.root)
    anchors = Evidence(here, plain.root).anchor("see `src/lamp.py`", [], here.project).anchors
    (plain.root / "src/lamp.py").rename(plain.root / "torch.py")
    found = Evidence(here, plain.root).check(here.project, None, anchors)
    assert (found.freshness, found.anchors[0].now_at) == ("moved", "torch.py")


def test_a_folder_without_git_is_not_looked_at_from_another(tmp_path: Path) -> None:
    plain = _fill(Repository(tmp_path / "plain"))
    here = identify_project(plain.root)
    anchors = Evidence(here, plain.root).anchor("see `src/lamp.py`", [], here.project).anchors
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    found = Evidence(identify_project(elsewhere), elsewhere).check(here.project, None, anchors)
    # A folder is a project of its own, and one project's memories are not looked up from another.
    assert (found.freshness, found.note) == ("unverifiable", "of another project")


def test_a_folder_without_git_that_is_gone_makes_its_memories_unverifiable(tmp_path: Path) -> None:
    plain = _fill(Repository(tmp_path / "plain"))
    here = identify_project(plain.root)
    anchors = Evidence(here, plain.root).anchor(SENTENCE, [], here.project).anchors
    plain.root.rename(tmp_path / "renamed")
    assert Evidence(here, tmp_path).check(here.project, None, anchors).freshness == "unverifiable"


def test_a_home_folder_is_not_taken_for_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Evidence(identify_project(tmp_path), tmp_path).tree is None


def test_a_bare_repository(make_repository: MakeRepository) -> None:
    bare = make_repository("hub.git", "--bare")
    here = identify_project(bare.root)
    assert Evidence(here, bare.root).anchor(SENTENCE, [], here.project).anchors == ()
    assert SourceTree(bare.root).has_git is False


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_in_the_place_of_gitignore_is_not_waited_for(repo: Repository) -> None:
    _fill(repo)
    os.mkfifo(repo.root / ".gitignore")
    git = find_git(30)
    began = time.perf_counter()
    with pytest.raises(GitUnavailable, match="pipe"):
        git.ask(repo.root, "ls-files", "--others", "--exclude-standard")
    assert time.perf_counter() - began < 15


def test_an_unborn_branch(repo: Repository) -> None:
    _fill(repo)
    assert _freshness(repo.root) == (3, "verified")


def test_memories_from_before_the_first_commit_are_still_checked_after_it(repo: Repository) -> None:
    _fill(repo)
    before = identify_project(repo.root)
    anchors = Evidence(before, repo.root).anchor(SENTENCE, [], before.project).anchors
    repo.commit()
    repo.git("rm", "-q", "src/lamp.py")
    after = identify_project(repo.root)
    assert before.place == after.place  # by which a session knows that the two are one
    evidence = Evidence(after, repo.root)
    evidence.names = (before.project, after.project)
    assert evidence.check(before.project, None, anchors).freshness == "missing"


def test_a_detached_head(repo: Repository) -> None:
    _fill(repo).commit()
    repo.git("checkout", "-q", "--detach")
    assert _freshness(repo.root) == (3, "verified")


def test_a_worktree_checks_its_own_files(repo: Repository, tmp_path: Path) -> None:
    _fill(repo).commit()
    here = identify_project(repo.root)
    anchors = Evidence(here, repo.root).anchor("see `src/lamp.py`", [], here.project).anchors
    repo.git("worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    (tmp_path / "tree/src/lamp.py").unlink()
    there = identify_project(tmp_path / "tree")
    assert there.project == here.project
    assert Evidence(there, tmp_path / "tree").check(here.project, "main", anchors).freshness == "missing"
    assert Evidence(here, repo.root).check(here.project, "main", anchors).freshness == "verified"


def test_a_shallow_clone_that_does_not_have_the_commit(repo: Repository, tmp_path: Path) -> None:
    _fill(repo)
    repo.write("src/big.py", "x = 1\n" * 50)
    repo.commit()
    here = identify_project(repo.root)
    anchors = Evidence(here, repo.root).anchor("see `src/lamp.py` and `src/big.py`", [], here.project).anchors
    repo.git("mv", "src/lamp.py", "torch.py")
    repo.git("rm", "-q", "src/big.py")
    repo.commit()
    clone = tmp_path / "shallow"
    repo.git("clone", "-q", "--depth", "1", repo.root.as_uri(), str(clone))
    there = identify_project(clone)
    found = Evidence(there, clone).check(there.project, None, anchors)
    assert [(a.freshness, a.now_at) for a in found.anchors] == [("moved", "torch.py"), ("missing", None)]


def test_files_of_a_submodule_belong_to_the_project_around_it(
    repo: Repository, make_repository: MakeRepository
) -> None:
    inner = _fill(make_repository("inner"))
    inner.commit()
    repo.write("README.md")
    repo.commit()
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", inner.root.as_uri(), "libs/inner")
    repo.commit()
    tree = SourceTree(repo.root)
    assert "libs/inner/src/lamp.py" in tree.paths()
    assert tree.paths(["lamp.py"]) == ["libs/inner/src/lamp.py"]
    here = identify_project(repo.root)
    anchors = Evidence(here, repo.root).anchor("see lamp.py", [], here.project).anchors
    assert [a.path for a in anchors] == ["libs/inner/src/lamp.py"]


def test_a_history_of_a_thousand_commits_is_no_reason_to_wait(repo: Repository) -> None:
    """The stream of commits is written by fast-import; what is asked of git does not read the history whole."""
    stream = []
    for number in range(1, 1001):
        message = f"step {number}"
        stream.append(
            f"commit refs/heads/main\nmark :{number}\ncommitter W <w@x> {1_700_000_000 + number} +0000\n"
            f"data {len(message)}\n{message}\n"
            + (f"from :{number - 1}\n" if number > 1 else "")
            + f"M 100644 inline f{number % 50}.py\ndata {len(str(number)) + 5}\nx = {number}\n\n"
        )
    subprocess.run(
        ["git", "-C", str(repo.root), "fast-import", "--quiet"], input="".join(stream), text=True, check=True
    )
    repo.git("reset", "-q", "--hard")
    first = repo.git("rev-list", "--max-parents=0", "HEAD")
    repo.git("checkout", "-q", first)
    here = identify_project(repo.root)
    anchors = Evidence(here, repo.root).anchor("see `f1.py`", [], here.project).anchors
    repo.git("checkout", "-q", "main")
    repo.git("mv", "f1.py", "renamed.py")
    repo.commit()
    found = Evidence(here, repo.root).check(here.project, None, anchors)
    assert (found.freshness, found.anchors[0].now_at) == ("moved", "renamed.py")


def test_a_file_with_a_line_break_or_a_glob_in_its_name_does_no_harm(repo: Repository) -> None:
    _fill(repo)
    repo.write("src/odd\nname.py", "def odd_one(): ...\n")
    repo.write("src/[x]*.py", "def glob_one(): ...\n")
    repo.commit()
    assert _freshness(repo.root) == (3, "verified")
    here = identify_project(repo.root)
    [anchor] = Evidence(here, repo.root).anchor("`glob_one` it is", [], here.project).anchors
    assert anchor.path == "src/[x]*.py"


def test_nothing_is_written_into_the_repository(repo: Repository) -> None:
    _fill(repo).commit()
    repo.write("src/new.py", "def new_one(): ...\n")
    # A newer time on a tracked file is what would make `git status` refresh its index.
    os.utime(repo.root / "src/lamp.py", (1_800_000_000, 1_800_000_000))
    before = _fingerprint(repo.root)
    here = identify_project(repo.root)
    evidence = Evidence(here, repo.root)
    anchors = evidence.anchor(SENTENCE + " `new_one`", [], here.project).anchors
    (repo.root / "src/lamp.py").rename(repo.root / "src/torch.py")
    evidence.check(here.project, here.branch, anchors, thorough=True)
    (repo.root / "src/torch.py").rename(repo.root / "src/lamp.py")
    begin_scan(SourceTree(repo.root))
    assert _fingerprint(repo.root) == before


def test_a_git_that_is_not_there_leaves_paths_and_digests(
    repo: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _fill(repo).commit()
    here = identify_project(repo.root)
    monkeypatch.setenv("PATH", str(tmp_path))
    evidence = Evidence(here, repo.root)
    anchors = evidence.anchor("see `src/lamp.py`", [], here.project).anchors
    assert [a.path for a in anchors] == ["src/lamp.py"]
    assert evidence.check(here.project, here.branch, anchors).freshness == "verified"
    (repo.root / "src/lamp.py").unlink()
    assert evidence.check(here.project, here.branch, anchors).freshness == "missing"
