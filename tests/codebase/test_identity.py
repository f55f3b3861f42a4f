import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reverie.codebase.identity import ProjectIdentity, identify_project

Run = Callable[..., str]
HOSTED = "github.com/acme/anvil"
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here to ask")
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="stands in for git with a shell script")


@pytest.fixture(autouse=True)
def _plain_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "gitconfig"
    config.write_text(
        "[user]\n\tname = Wile\n\temail = wile@example.org\n[init]\n\tdefaultBranch = main\n"
        '[protocol "file"]\n\tallow = always\n[advice]\n\tdetachedHead = false\n'
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))


@pytest.fixture
def git() -> Run:
    def run(folder: Path, *arguments: str) -> str:
        # Later commits get later dates, so that "the oldest" means something.
        made = 1_700_000_000 + next(ticks)
        dates = {"GIT_AUTHOR_DATE": f"{made} +0000", "GIT_COMMITTER_DATE": f"{made} +0000"}
        return subprocess.run(
            ["git", "-C", str(folder), *arguments],
            check=True,
            capture_output=True,
            text=True,
            env=os.environ | dates,
        ).stdout.strip()

    ticks = iter(range(10_000))
    return run


@pytest.fixture
def repository(tmp_path: Path, git: Run) -> Path:
    return _repository(tmp_path / "anvil", git)


def _repository(folder: Path, git: Run) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet")
    _commit(folder, git, "first")
    return folder


def _commit(folder: Path, git: Run, name: str) -> str:
    (folder / f"{name}.txt").write_text(name)
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", name)
    return git(folder, "rev-parse", "HEAD")


def _clone(source: Path | str, target: Path, git: Run, *options: str) -> Path:
    git(target.parent, "clone", "--quiet", *options, str(source), str(target))
    return target


def _project(folder: Path) -> str:
    return identify_project(folder).project


# ── what names a project ──────────────────────────────────────────────────────────────────────────────────


def test_the_remote_names_the_project_and_head_says_where_we_stand(repository: Path, git: Run) -> None:
    git(repository, "remote", "add", "origin", "https://wile:hunter2@GitHub.com/acme/anvil.git")
    head = git(repository, "rev-parse", "HEAD")
    place = str(repository.resolve())
    assert identify_project(repository) == ProjectIdentity(
        HOSTED, repository.resolve(), "main", head, remotes=(HOSTED,), place=place
    )


def test_without_a_remote_the_root_commit_names_the_project(repository: Path, git: Run) -> None:
    root = git(repository, "rev-parse", "HEAD")
    _commit(repository, git, "second")
    assert _project(repository) == f"git:{root[:12]}"


def test_a_subfolder_belongs_to_the_project_around_it(repository: Path) -> None:
    deep = repository / "src" / "deep"
    deep.mkdir(parents=True)
    found = identify_project(deep)
    assert found.root == repository.resolve()
    assert found.project == _project(repository)


def test_a_relative_folder_and_a_symlink_lead_to_the_same_project(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "src").mkdir()
    link = tmp_path / "link"
    link.symlink_to(repository / "src", target_is_directory=True)
    monkeypatch.chdir(repository)
    assert identify_project(link) == identify_project(Path()) == identify_project(repository)


@pytest.mark.parametrize("name", ["the anvil", "наковальня 🔨", 'it\'s "quoted"', "two\nlines", "-n", "$(echo x)"])
def test_a_folder_may_have_any_name(tmp_path: Path, git: Run, name: str) -> None:
    repository = _repository(tmp_path / name, git)
    (repository / "sub folder").mkdir()
    found = identify_project(repository / "sub folder")
    assert found.root == repository.resolve()
    assert found.project.startswith("git:")


def test_a_folder_outside_any_repository_is_a_project_of_its_own(tmp_path: Path) -> None:
    found = identify_project(tmp_path)
    assert found.project.startswith(f"folder:{tmp_path.name}-")
    assert (found.root, found.place, found.note) == (tmp_path.resolve(), str(tmp_path.resolve()), None)


def test_a_folder_that_does_not_exist_has_a_name_and_no_root(tmp_path: Path) -> None:
    found = identify_project(tmp_path / "nowhere")
    assert found.project.startswith("folder:nowhere-")
    assert found.root is None


# ── worktrees and clones share it ─────────────────────────────────────────────────────────────────────────


def test_a_worktree_shares_the_project_but_has_its_own_root_and_branch(
    repository: Path, tmp_path: Path, git: Run
) -> None:
    git(repository, "worktree", "add", "--quiet", "-b", "feature/x", str(tmp_path / "beside"))
    found = identify_project(tmp_path / "beside")
    assert found.project == _project(repository)
    assert found.root == (tmp_path / "beside").resolve()
    assert found.branch == "feature/x"


def test_a_worktree_on_an_orphan_branch_shares_the_project(repository: Path, tmp_path: Path, git: Run) -> None:
    pages = tmp_path / "pages"
    git(repository, "worktree", "add", "--quiet", "--detach", str(pages))
    git(pages, "checkout", "--quiet", "--orphan", "gh-pages")
    assert _project(pages) == _project(repository)
    _commit(pages, git, "page")
    assert _project(pages) == _project(repository)


def test_two_clones_of_a_hosted_project_share_it_however_they_were_cloned(
    repository: Path, tmp_path: Path, git: Run
) -> None:
    other = _clone(repository, tmp_path / "other", git)
    git(repository, "remote", "add", "origin", "git@github.com:acme/anvil.git")
    git(other, "remote", "set-url", "origin", "ssh://git@github.com:22/acme/anvil")
    assert _project(other) == _project(repository) == HOSTED


def test_a_clone_of_a_clone_on_disk_is_the_project_of_the_first(repository: Path, tmp_path: Path, git: Run) -> None:
    clone = _clone(repository, tmp_path / "clone", git)
    second = _clone(clone, tmp_path / "clone of clone", git)
    assert _project(second) == _project(clone) == _project(repository)
    git(repository, "remote", "add", "origin", "https://github.com/acme/anvil")
    assert _project(second) == _project(clone) == HOSTED


def test_remotes_on_disk_may_be_relative_file_urls_or_name_the_git_folder(
    repository: Path, tmp_path: Path, git: Run
) -> None:
    git(repository, "remote", "add", "origin", "https://github.com/acme/anvil")
    clone = _clone(repository, tmp_path / "clone", git)
    for url in ("../anvil", "../anvil/.git", repository.as_uri(), f"{repository}/"):
        git(clone, "remote", "set-url", "origin", url)
        assert _project(clone) == HOSTED, url


def test_a_relative_remote_is_found_from_a_worktree_that_stands_elsewhere(
    repository: Path, tmp_path: Path, git: Run
) -> None:
    git(repository, "remote", "add", "origin", "https://github.com/acme/anvil")
    clone = _clone(repository, tmp_path / "clone", git)
    git(clone, "remote", "set-url", "origin", "../anvil")
    far = tmp_path / "far" / "away"
    git(clone, "worktree", "add", "--quiet", "--detach", str(far))
    assert _project(far) == HOSTED


def test_a_bare_hub_and_its_clones_are_one_project(repository: Path, tmp_path: Path, git: Run) -> None:
    hub = _clone(repository, tmp_path / "hub.git", git, "--bare")
    git(hub, "remote", "remove", "origin")
    clone = _clone(hub, tmp_path / "clone", git)
    assert _project(clone) == _project(repository)
    git(hub, "remote", "add", "mirror", "git@github.com:acme/anvil.git")
    git(clone, "remote", "set-url", "origin", str(tmp_path / "hub"))  # git would find hub.git, and so must we
    assert _project(clone) == HOSTED


def test_a_clone_keeps_its_name_when_the_hub_gets_its_first_push(tmp_path: Path, git: Run) -> None:
    git(tmp_path, "init", "--quiet", "--bare", "hub.git")
    clone = _clone(tmp_path / "hub.git", tmp_path / "clone", git)
    _commit(clone, git, "first")
    before = _project(clone)
    git(clone, "push", "--quiet", "origin", "HEAD")
    assert before.startswith("git:")
    assert _project(clone) == before


def test_a_clone_whose_origin_is_gone_still_has_its_root_commit(repository: Path, tmp_path: Path, git: Run) -> None:
    clone = _clone(repository, tmp_path / "clone", git)
    before = _project(clone)
    shutil.rmtree(repository)
    assert _project(clone) == before


def test_an_origin_that_became_a_plain_folder_is_not_mistaken_for_the_repository_around_it(
    tmp_path: Path, git: Run
) -> None:
    around = _repository(tmp_path / "around", git)
    inner = _repository(around / "inner", git)
    git(inner, "commit", "--quiet", "--allow-empty", "--amend", "-m", "another root")
    clone = _clone(inner, tmp_path / "clone", git)
    before = _project(clone)
    shutil.rmtree(inner / ".git")
    assert _project(clone) == before != _project(around)


def test_two_repositories_that_name_each_other_as_origin_come_to_an_end(
    repository: Path, tmp_path: Path, git: Run
) -> None:
    clone = _clone(repository, tmp_path / "clone", git)
    before = _project(repository)
    git(repository, "remote", "add", "origin", str(clone))
    assert _project(repository) == _project(clone) == before


def test_a_shallow_clone_asks_its_origin_because_its_own_history_ends_early(
    repository: Path, tmp_path: Path, git: Run
) -> None:
    end = _commit(repository, git, "second")
    shallow = _clone(repository.as_uri(), tmp_path / "shallow", git, "--depth", "1")
    assert _project(shallow) == _project(repository)
    git(shallow, "remote", "remove", "origin")
    assert _project(shallow) == f"git:{end[:12]}"
    _commit(shallow, git, "third")
    assert _project(shallow) == f"git:{end[:12]}"


def test_a_submodule_is_a_project_of_its_own(repository: Path, tmp_path: Path, git: Run) -> None:
    library = _repository(tmp_path / "library", git)
    git(library, "remote", "add", "origin", "https://github.com/acme/spring")
    git(repository, "submodule", "--quiet", "add", str(library), "vendor/spring")
    found = identify_project(repository / "vendor" / "spring")
    assert found.project == "github.com/acme/spring"
    assert found.root == (repository / "vendor" / "spring").resolve()
    assert _project(repository / "vendor") == _project(repository)


# ── branches and roots ────────────────────────────────────────────────────────────────────────────────────


def test_a_detached_head_has_a_commit_but_no_branch(repository: Path, git: Run) -> None:
    before = _project(repository)
    git(repository, "checkout", "--quiet", "--detach")
    found = identify_project(repository)
    assert found.branch is None
    assert found.commit == git(repository, "rev-parse", "HEAD")
    assert found.project == before


def test_a_detached_head_without_any_branch_still_has_a_root(repository: Path, git: Run) -> None:
    before = _project(repository)
    git(repository, "checkout", "--quiet", "--detach")
    git(repository, "branch", "--quiet", "-D", "main")
    assert _project(repository) == before


def test_before_its_first_commit_a_repository_is_named_as_the_folder_was(tmp_path: Path, git: Run) -> None:
    new = tmp_path / "new"
    new.mkdir()
    before = _project(new)
    git(tmp_path, "init", "--quiet", "new")
    assert identify_project(new) == ProjectIdentity(before, new.resolve(), "main", None, place=str(new.resolve()))


def test_a_remote_names_the_project_even_before_the_first_commit(tmp_path: Path, git: Run) -> None:
    git(tmp_path, "init", "--quiet", "new")
    git(tmp_path / "new", "remote", "add", "origin", "git@github.com:acme/anvil.git")
    assert _project(tmp_path / "new") == HOSTED
    _commit(tmp_path / "new", git, "first")
    assert _project(tmp_path / "new") == HOSTED


def test_an_empty_bare_repository_is_a_folder_like_any_other(tmp_path: Path, git: Run) -> None:
    git(tmp_path, "init", "--quiet", "--bare", "hub.git")
    found = identify_project(tmp_path / "hub.git")
    assert found.project.startswith("folder:hub.git-")
    assert found.root == tmp_path / "hub.git"


def test_merging_an_older_project_does_not_change_who_we_are(tmp_path: Path, git: Run) -> None:
    older = _repository(tmp_path / "older", git)
    ours = tmp_path / "ours"
    ours.mkdir()
    git(ours, "init", "--quiet")
    _commit(ours, git, "our first")
    before = _project(ours)
    git(ours, "fetch", "--quiet", str(older), "main")
    git(ours, "merge", "--quiet", "--allow-unrelated-histories", "-m", "take them in", "FETCH_HEAD")
    assert _project(ours) == before != _project(older)


def test_of_several_roots_the_oldest_is_chosen_on_every_branch(repository: Path, git: Run) -> None:
    before = _project(repository)
    git(repository, "checkout", "--quiet", "--orphan", "second-root")
    _commit(repository, git, "elsewhere")
    assert _project(repository) == before


# ── which remote ──────────────────────────────────────────────────────────────────────────────────────────


def test_the_only_remote_counts_whatever_it_is_called(repository: Path, git: Run) -> None:
    git(repository, "remote", "add", "work", "git@github.com:acme/anvil.git")
    assert _project(repository) == HOSTED


def test_among_several_without_origin_the_one_that_main_follows_counts_on_every_branch(
    repository: Path, git: Run
) -> None:
    git(repository, "remote", "add", "a-fork", "git@github.com:wile/anvil.git")
    git(repository, "remote", "add", "upstream", "git@github.com:acme/anvil.git")
    assert _project(repository) == "github.com/wile/anvil"  # nothing to go by: the first by name
    git(repository, "config", "branch.topic.remote", "a-fork")
    git(repository, "config", "branch.main.remote", "upstream")
    git(repository, "checkout", "--quiet", "-b", "topic")
    assert _project(repository) == HOSTED


def test_origin_comes_before_the_remote_that_a_branch_follows(repository: Path, git: Run) -> None:
    git(repository, "remote", "add", "origin", "git@github.com:acme/anvil.git")
    git(repository, "remote", "add", "upstream", "git@github.com:else/where.git")
    git(repository, "config", "branch.main.remote", "upstream")
    assert _project(repository) == HOSTED


def test_insteadof_is_resolved_as_git_would(repository: Path, git: Run) -> None:
    git(repository, "config", "url.git@github.com:.insteadOf", "gh:")
    git(repository, "remote", "add", "origin", "gh:acme/anvil")
    assert _project(repository) == HOSTED


def test_a_remote_that_names_nothing_falls_back_to_the_root_commit(repository: Path, git: Run) -> None:
    before = _project(repository)
    git(repository, "remote", "add", "origin", "ext::sh -c whoami")
    assert _project(repository) == before


def test_a_name_that_is_not_utf8_can_still_be_stored(repository: Path, git: Run) -> None:
    with (repository / ".git" / "config").open("ab") as config:
        config.write(b'[remote "origin"]\n\turl = https://host/acme/anv\xefl\n')
    _project(repository).encode("utf-8")


# ── a git that is missing, slow, misled or unwilling ──────────────────────────────────────────────────────


def test_without_git_the_folder_names_the_project_and_the_note_says_why(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = identify_project(repository)
    assert found.project.startswith("folder:anvil-")
    assert found.place == str(repository.resolve())  # by which the store knows it again
    assert "git is not installed" in (found.note or "")
    assert "REVERIE_PROJECT" in (found.note or "")


def _stand_in(folder: Path, script: str) -> str:
    folder.mkdir()
    program = folder / "git"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


@posix_only
def test_a_git_that_hangs_is_given_up_in_time_with_all_its_children(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", _stand_in(tmp_path / "bin", "sleep 30; echo never"))
    started = time.monotonic()
    found = identify_project(repository, patience=0.2)
    assert time.monotonic() - started < 5
    assert found.project.startswith("folder:anvil-")
    assert "in time" in (found.note or "")


@posix_only
def test_a_slow_history_walk_keeps_what_is_already_known(
    repository: Path, tmp_path: Path, git: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.which("git")
    head = git(repository, "rev-parse", "HEAD")
    script = f'case "$*" in *rev-list*) sleep 30;; *) exec "{real}" "$@";; esac'
    monkeypatch.setenv("PATH", _stand_in(tmp_path / "bin", script))
    found = identify_project(repository, patience=1.0)
    assert found.project.startswith("folder:anvil-")
    assert (found.place, found.root, found.branch, found.commit) == (
        str(repository.resolve()),
        repository.resolve(),
        "main",
        head,
    )


@posix_only
def test_a_git_that_cannot_be_started_is_handled(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _stand_in(tmp_path / "bin", "")
    (tmp_path / "bin" / "git").write_bytes(b"\x00not a program")
    monkeypatch.setenv("PATH", path)
    assert "could not be started" in (identify_project(repository).note or "")


def test_a_git_lying_in_the_users_folder_is_never_run(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _stand_in(repository / "bin", f"touch '{tmp_path}/ran'")
    monkeypatch.chdir(repository)
    monkeypatch.setenv("PATH", "bin")
    assert "not installed" in (identify_project(repository).note or "")
    assert not (tmp_path / "ran").exists()


@posix_only
@pytest.mark.parametrize("where", ["anvil", "anvil/src", "beside"])
def test_a_repository_of_another_user_is_named_by_its_remote_without_being_trusted(
    repository: Path, tmp_path: Path, git: Run, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    git(repository, "remote", "add", "origin", "git@github.com:acme/anvil.git")
    git(repository, "worktree", "add", "--quiet", str(tmp_path / "beside"))
    (repository / "src").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    found = identify_project(tmp_path / where)
    assert found.project == HOSTED
    assert found.root == (tmp_path / where.removesuffix("/src")).resolve()
    assert "safe.directory" in (found.note or "")


@posix_only
def test_a_repository_of_another_user_without_a_remote_is_named_by_its_folder(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert _project(repository).startswith("folder:anvil-")


@posix_only
@pytest.mark.parametrize(
    ("said", "trusted"),
    [(["*"], True), (["{root}"], True), (["{parent}/*"], True), (["/elsewhere"], False), (["{root}", ""], False)],
)
def test_a_repository_of_another_user_is_read_where_the_user_says_so(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str], trusted: bool
) -> None:
    named = [one.format(root=repository.resolve(), parent=repository.resolve().parent) for one in said]
    config = tmp_path / "gitconfig-with-trust"
    config.write_text("[safe]\n" + "".join(f'\tdirectory = "{one}"\n' for one in named))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert _project(repository).startswith("git:") is trusted


def test_what_a_repository_says_of_itself_makes_it_no_safer(
    repository: Path, git: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(repository, "config", "safe.directory", "*")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert "safe.directory" in (identify_project(repository).note or "")


def test_git_variables_of_the_caller_do_not_lead_to_another_repository(
    repository: Path, tmp_path: Path, git: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = _repository(tmp_path / "other", git)
    git(other, "remote", "add", "origin", "https://github.com/else/where")
    before = identify_project(repository)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))
    assert identify_project(repository) == before
    assert not (tmp_path / "trace").exists()


@posix_only
def test_asking_writes_nothing_and_runs_nothing_that_the_repository_configures(
    repository: Path, tmp_path: Path, git: Run
) -> None:
    touch = tmp_path / "hook"
    touch.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\n")
    touch.chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "core.sshCommand", "core.editor", "diff.external"):
        git(repository, "config", key, str(touch))
    git(repository, "config", "alias.rev-parse", f"!{touch}")
    before = _state(repository)
    assert _project(repository).startswith("git:")
    assert _state(repository) == before
    assert not (tmp_path / "ran").exists()


def _state(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(p): (p.stat().st_mtime_ns, p.stat().st_size) for p in sorted(folder.rglob("*"))}


@posix_only
def test_a_hosted_project_costs_two_calls_of_git_and_a_local_one_three(
    repository: Path, tmp_path: Path, git: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.which("git")
    monkeypatch.setenv("PATH", _stand_in(tmp_path / "bin", f'echo x >> "{tmp_path}/calls"; exec "{real}" "$@"'))
    identify_project(repository)
    assert (tmp_path / "calls").read_text().count("x") == 3
    (tmp_path / "calls").unlink()
    subprocess.run([str(real), "-C", str(repository), "remote", "add", "origin", "host:a/b"], check=True)
    identify_project(repository)
    assert (tmp_path / "calls").read_text().count("x") == 2
