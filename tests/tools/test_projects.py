"""A project keeps its name and its memories whatever becomes of its remotes; a folder is a project of its own."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from reverie.codebase.identity import MARKER, NO_PROJECT, mark_folder
from reverie.errors import InvalidInput, StoreDamaged
from reverie.recall.results import Recalled
from reverie.tools import projects, recall, remember
from reverie.tools.consolidate import consolidate
from reverie.tools.requests import ConsolidateRequest, RecallRequest, RememberRequest, RestoreRequest, StatusRequest
from reverie.tools.restore import restore
from reverie.tools.results import Remembered
from reverie.tools.session import Session
from reverie.tools.status import status

from ..conftest import OpenSession, Repository

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LAMP = "The lamp on the pier burns oil"
HTTPS = "https://github.com/acme/anvil.git"
HOSTED = "github.com/acme/anvil"


async def _keep(session: Session, text: str = LAMP, **arguments: Any) -> Remembered:
    return await remember.remember(session, RememberRequest(content=text, **arguments))


async def _ask(session: Session, query: str = "which lamp on the pier", **arguments: Any) -> Recalled:
    return await recall.recall(session, RecallRequest(query=query, **arguments))


async def _sees(session: Session, text: str = LAMP) -> bool:
    return text in [row.content for row in (await _ask(session, text)).results]


@pytest.fixture
def started(repo: Repository) -> Repository:
    """A repository with one commit and no remote."""
    repo.write("lamp.py")
    repo.commit()
    return repo


# ── remotes come, go and change ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param([("remote", "add", "origin", HTTPS)], id="a remote is added"),
        pytest.param(
            [("remote", "add", "origin", HTTPS), ("remote", "rename", "origin", "upstream")], id="then renamed"
        ),
        pytest.param([("remote", "add", "origin", HTTPS), ("remote", "remove", "origin")], id="then removed"),
        pytest.param(
            [("remote", "add", "origin", HTTPS), ("remote", "set-url", "origin", "git@github.com:acme/anvil.git")],
            id="from https to ssh",
        ),
        pytest.param(
            [("remote", "add", "origin", HTTPS), ("remote", "set-url", "origin", "https://gitlab.com/acme/forge")],
            id="moved to another host",
        ),
        pytest.param(
            [
                ("remote", "add", "origin", HTTPS),
                ("remote", "rename", "origin", "upstream"),
                ("remote", "add", "origin", "git@github.com:wile/anvil.git"),
            ],
            id="a fork becomes the origin",
        ),
        pytest.param([("commit", "--quiet", "--amend", "-m", "another first step")], id="history rewritten"),
    ],
)
async def test_a_project_keeps_its_name_and_memories(
    started: Repository, open_session: OpenSession, changes: list[tuple[str, ...]]
) -> None:
    first = await open_session(folder=started.root)
    await _keep(first)
    for change in changes:
        started.git(*change)
        later = await open_session(folder=started.root)
        assert later.here.project == first.here.project
        assert await _sees(later)
        assert later.recognised.alike == ()


async def test_a_project_named_by_its_remote_keeps_its_memories_when_the_remote_changes_or_goes(
    started: Repository, open_session: OpenSession
) -> None:
    started.git("remote", "add", "origin", HTTPS)
    first = await open_session(folder=started.root)
    await _keep(first)
    started.git("remote", "set-url", "origin", "https://github.com/acme/forge")
    assert (await open_session(folder=started.root)).here.project == HOSTED
    started.git("remote", "remove", "origin")
    later = await open_session(folder=started.root)
    assert later.here.project == HOSTED
    assert await _sees(later)


async def test_another_clone_finds_the_project_under_every_name_that_the_first_one_had(
    started: Repository, open_session: OpenSession, tmp_path: Path
) -> None:
    await _keep(await open_session(folder=started.root))
    for url in (HTTPS, "https://github.com/acme/forge"):
        if started.git("remote"):
            started.git("remote", "remove", "origin")
        started.git("remote", "add", "origin", url)
        await open_session(folder=started.root)
    for number, url in enumerate((HTTPS, "https://wile:hunter2@github.com/acme/forge.git")):
        clone = tmp_path / f"clone-{number}"
        started.git("clone", "--quiet", str(started.root), str(clone))
        Repository(clone).git("remote", "set-url", "origin", url)
        assert await _sees(await open_session(folder=clone))


async def test_a_worktree_and_a_shallow_clone_are_the_same_project(
    started: Repository, open_session: OpenSession, tmp_path: Path
) -> None:
    started.git("remote", "add", "origin", HTTPS)
    started.write("more.py")
    started.commit()
    await _keep(await open_session(folder=started.root))
    started.git("worktree", "add", "--quiet", str(tmp_path / "beside"))
    assert await _sees(await open_session(folder=tmp_path / "beside"))
    shallow = tmp_path / "shallow"
    started.git("clone", "--quiet", "--depth", "1", f"file://{started.root}", str(shallow))
    Repository(shallow).git("remote", "set-url", "origin", HTTPS)
    session = await open_session(folder=shallow)
    assert await _sees(session)
    [known] = (await session.store.projects.read()).known.values()
    assert len(known.root_commits) == 1  # where a shallow history ends is not noted as a root


async def test_memories_from_before_the_first_commit_and_before_git_stay_in_view(
    open_session: OpenSession, tmp_path: Path, git_without_surprises: None
) -> None:
    (tmp_path / "young").mkdir()
    young = Repository(tmp_path / "young")
    before = await open_session(folder=young.root)
    await _keep(before)
    young.git("init", "--quiet")
    young.write("lamp.py")
    young.commit()
    young.git("remote", "add", "origin", HTTPS)
    later = await open_session(folder=young.root)
    assert later.here.project == before.here.project
    assert await _sees(later)


async def test_what_an_older_version_kept_under_the_root_commit_is_seen_after_a_remote_was_added(
    started: Repository, open_session: OpenSession
) -> None:
    older = await open_session(project=f"git:{started.git('rev-parse', 'HEAD')[:12]}")  # notes nothing
    await _keep(older)
    started.git("remote", "add", "origin", HTTPS)
    assert await _sees(await open_session(folder=started.root))


async def test_what_an_older_version_kept_as_global_is_seen_everywhere(
    started: Repository, open_session: OpenSession, tmp_path: Path
) -> None:
    await _keep(await open_session(), project="global")
    assert await _sees(await open_session(folder=started.root))
    assert await _sees(await open_session(folder=tmp_path))


async def test_a_second_session_in_a_known_folder_asks_git_for_no_root_and_writes_nothing(
    started: Repository, open_session: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    started.git("remote", "add", "origin", HTTPS)
    version = (await open_session(folder=started.root)).meta_version
    monkeypatch.setattr("reverie.tools.project_identity.root_commits", lambda *_: pytest.fail("git was asked"))
    assert (await open_session(folder=started.root)).meta_version == version


async def test_what_could_not_be_noted_at_the_start_is_noted_at_a_later_call(
    started: Repository, open_session: OpenSession
) -> None:
    first = await open_session(project="elsewhere")
    async with first.store.changing():
        busy = await open_session(folder=started.root)
        assert not busy.recognised.is_noted
        await busy.refresh()
        assert not busy.recognised.is_noted
    await busy.refresh()
    assert busy.recognised.is_noted
    assert (await busy.store.projects.read()).known.keys() == {busy.here.project}


async def test_a_session_opens_under_its_name_while_a_layer_is_damaged(
    started: Repository, open_session: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await open_session(folder=started.root)
    await _keep(first)
    started.git("remote", "add", "origin", HTTPS)

    async def damaged(*_: object) -> None:
        raise StoreDamaged("semantic", "a file is cut short")

    monkeypatch.setattr("reverie.tools.project_identity._counted", damaged)
    later = await open_session(folder=started.root)
    assert later.here.project == first.here.project
    assert await _sees(later)


# ── what must not be taken for the same ───────────────────────────────────────────────────────────────────


async def _fork(started: Repository, tmp_path: Path, url: str, name: str = "fork") -> Path:
    started.git("clone", "--quiet", str(started.root), str(tmp_path / name))
    Repository(tmp_path / name).git("remote", "set-url", "origin", url)
    return tmp_path / name


async def test_a_fork_shares_the_root_commit_but_not_the_memories_and_is_told_of(
    started: Repository, open_session: OpenSession, tmp_path: Path
) -> None:
    started.git("remote", "add", "origin", HTTPS)
    await _keep(await open_session(folder=started.root))
    fork = await open_session(folder=await _fork(started, tmp_path, "https://github.com/mallory/anvil"))
    assert fork.here.project == "github.com/mallory/anvil"
    assert not await _sees(fork)
    answer = await recall.recall(fork, RecallRequest(query=LAMP))
    text = answer.text
    assert answer.scope["same_project_elsewhere"] == {HOSTED: 1}
    assert "reverie projects merge github.com/acme/anvil" in text
    assert any(HOSTED in note for note in (await status(fork, StatusRequest())).health)


async def test_a_fork_that_lists_the_other_as_a_second_remote_does_not_read_its_memories(
    started: Repository, open_session: OpenSession, tmp_path: Path
) -> None:
    started.git("remote", "add", "origin", HTTPS)
    await _keep(await open_session(folder=started.root))
    fork = await _fork(started, tmp_path, "https://github.com/mallory/anvil")
    Repository(fork).git("remote", "add", "upstream", HTTPS)
    assert not await _sees(await open_session(folder=fork))


async def test_two_projects_that_both_have_memories_are_never_joined_by_themselves(
    started: Repository, open_session: OpenSession, tmp_path: Path
) -> None:
    local = await open_session(folder=started.root)
    await _keep(local)
    clone = await open_session(folder=await _fork(started, tmp_path, HTTPS))
    await _keep(clone, "The bell on the quay is cracked")
    assert clone.here.project == HOSTED  # the first repository is still there, so this is another
    started.git("remote", "add", "origin", HTTPS)
    later = await open_session(folder=started.root)
    assert later.here.project == local.here.project
    assert not await _sees(later, "The bell on the quay is cracked")
    assert [(one.name, one.memories) for one in later.recognised.alike] == [(HOSTED, 1)]


async def test_an_older_versions_two_names_for_one_repository_are_told_of_in_every_session_until_merged(
    started: Repository, open_session: OpenSession
) -> None:
    root = f"git:{started.git('rev-parse', 'HEAD')[:12]}"
    await _keep(await open_session(project=root))
    await _keep(await open_session(project=HOSTED), "The bell on the quay is cracked")
    started.git("remote", "add", "origin", HTTPS)
    for _ in range(2):
        session = await open_session(folder=started.root)
        assert session.here.project == HOSTED
        assert [(one.name, one.memories) for one in session.recognised.alike] == [(root, 1)]
    await projects.merge(session, root)
    assert session.recognised.alike == ()
    assert await _sees(session)
    assert (await open_session(folder=started.root)).recognised.alike == ()


async def test_another_repository_in_the_same_folder_is_another_project(
    started: Repository, open_session: OpenSession
) -> None:
    await _keep(await open_session(folder=started.root))
    shutil.rmtree(started.root / ".git")
    started.git("init", "--quiet")
    started.write("other.py")
    started.commit()
    assert not await _sees(await open_session(folder=started.root))


async def test_a_project_whose_history_was_begun_anew_is_told_of_until_it_is_merged(
    started: Repository, open_session: OpenSession
) -> None:
    before = await open_session(folder=started.root)
    await _keep(before)
    shutil.rmtree(started.root / ".git")
    started.git("init", "--quiet")
    started.commit()
    for _ in range(2):  # not only by the session that sees it first
        anew = await open_session(folder=started.root)
        answer = await recall.recall(anew, RecallRequest(query=LAMP))
        assert answer.results == []
        assert answer.scope["same_project_elsewhere"] == {before.here.project: 1}
        assert f"reverie projects merge {before.here.project}" in answer.text
    await projects.merge(anew, before.here.project)
    assert await _sees(anew)
    assert (await open_session(folder=started.root)).recognised.alike == ()


async def test_repositories_with_remotes_that_take_turns_in_a_folder_are_no_look_alikes(
    started: Repository, open_session: OpenSession
) -> None:
    started.git("remote", "add", "origin", HTTPS)
    await _keep(await open_session(folder=started.root))
    shutil.rmtree(started.root / ".git")
    started.git("init", "--quiet")
    started.write("other.py")
    started.commit()
    started.git("remote", "add", "origin", "https://github.com/mallory/other")
    for _ in range(2):
        other = await open_session(folder=started.root)
        assert (await _sees(other), other.recognised.alike) == (False, ())


async def test_another_shallow_clone_in_the_same_folder_is_another_project_and_a_renamed_one_is_not(
    started: Repository, open_session: OpenSession, tmp_path: Path, make_repository: Any
) -> None:
    other = make_repository("other")
    for repository in (started, other):
        repository.write("more.py", f"{repository.root}")
        repository.commit()
    place = Repository(tmp_path / "workspace")

    def clone(source: Repository, url: str) -> None:
        shutil.rmtree(place.root, ignore_errors=True)
        source.git("clone", "--quiet", "--depth", "1", f"file://{source.root}", str(place.root))
        place.git("remote", "set-url", "origin", url)

    clone(started, HTTPS)
    await _keep(await open_session(folder=place.root))
    place.git("remote", "set-url", "origin", "https://github.com/acme/forge")
    assert await _sees(await open_session(folder=place.root))
    clone(other, "https://github.com/mallory/other")
    assert not await _sees(await open_session(folder=place.root))


# ── folders without git ───────────────────────────────────────────────────────────────────────────────────


async def test_a_folder_without_git_is_not_seen_from_others(
    open_session: OpenSession, tmp_path: Path, git_without_surprises: None
) -> None:
    for name in ("one/app", "two/app"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "package.json").write_text('{"name": "@acme/app"}')
    one, two = await open_session(folder=tmp_path / "one/app"), await open_session(folder=tmp_path / "two/app")
    assert one.here.project.startswith("folder:@acme/app-")
    assert one.here.project != two.here.project
    await _keep(one)
    assert await _sees(one)
    assert not await _sees(two)
    (tmp_path / "one/app/src").mkdir()
    assert await _sees(await open_session(folder=tmp_path / "one/app/src"))


async def test_a_folder_stays_the_same_project_when_it_gets_a_manifest(
    open_session: OpenSession, tmp_path: Path, git_without_surprises: None
) -> None:
    (tmp_path / "plain").mkdir()
    await _keep(await open_session(folder=tmp_path / "plain"))
    (tmp_path / "plain/pyproject.toml").write_text('[project]\nname = "renamed"\n')
    assert await _sees(await open_session(folder=tmp_path / "plain"))


async def test_a_moved_folder_is_told_of_and_one_with_a_marker_is_known_again(
    open_session: OpenSession, tmp_path: Path, git_without_surprises: None
) -> None:
    for name in ("plain", "marked"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "Cargo.toml").write_text(f'[package]\nname = "{name}"\n')
    mark_folder(tmp_path / "marked", "harbour")
    for name in ("plain", "marked"):
        await _keep(await open_session(folder=tmp_path / name), f"{LAMP} in {name}")
        (tmp_path / name).rename(tmp_path / f"{name}-moved")
    plain = await open_session(folder=tmp_path / "plain-moved")
    assert not await _sees(plain, f"{LAMP} in plain")
    assert [one.memories for one in plain.recognised.alike] == [1]
    marked = await open_session(folder=tmp_path / "marked-moved")
    assert marked.here.project.startswith("marker:harbour-")
    assert await _sees(marked, f"{LAMP} in marked")


async def test_a_marker_in_an_archive_cannot_name_another_project(
    open_session: OpenSession, tmp_path: Path, git_without_surprises: None
) -> None:
    await _keep(await open_session(project=HOSTED))
    (tmp_path / "archive").mkdir()
    for written in (HOSTED, f"{HOSTED}-0123456789abcdef", "../x\n", "0123456789abcdef\n"):
        (tmp_path / "archive" / MARKER).write_text(written)
        found = await open_session(folder=tmp_path / "archive")
        assert found.here.project.startswith(("marker:", "folder:"))
        assert not await _sees(found)


async def test_where_there_is_no_project_memories_are_kept_apart_and_status_says_so(
    open_session: OpenSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git_without_surprises: None
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "wile"))
    (tmp_path / "wile/.config").mkdir(parents=True)
    for place in (tmp_path / "wile", tmp_path / "wile/.config", Path("/")):
        nowhere = await open_session(folder=place)
        assert nowhere.here.project == NO_PROJECT
        assert any("is no project" in note for note in (await status(nowhere, StatusRequest())).health)
    kept = await _keep(nowhere)
    assert kept.project == NO_PROJECT
    (tmp_path / "wile/app").mkdir()
    assert not await _sees(await open_session(folder=tmp_path / "wile/app"))
    assert await _sees(await open_session(folder=tmp_path / "wile"))


@pytest.mark.parametrize("variable", ["CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "WORKSPACE_FOLDER_PATHS"])
async def test_the_folder_that_the_client_names_counts(
    started: Repository,
    open_session: OpenSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
) -> None:
    own = (await open_session(folder=started.root)).here.project
    (tmp_path / "launched").mkdir()
    monkeypatch.setenv(variable, str(started.root))
    assert (await open_session(folder=tmp_path / "launched")).here.project == own
    monkeypatch.setenv(variable, str(tmp_path / "gone"))
    assert (await open_session(folder=tmp_path / "launched")).here.project.startswith("folder:launched-")
    monkeypatch.setenv(variable, ".")
    assert (await open_session(folder=tmp_path / "launched")).here.project.startswith("folder:launched-")


async def test_a_session_in_another_worktree_of_the_clients_repository_stands_there(
    started: Repository, open_session: OpenSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started.git("worktree", "add", "--quiet", str(tmp_path / "beside"))
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(started.root))
    assert (await open_session(folder=tmp_path / "beside")).here.root == tmp_path / "beside"


# ── renaming, joining, moving ─────────────────────────────────────────────────────────────────────────────

LONG = "The harbour has many lamps. " * 400 + "The thirteenth is made of brass."


async def test_a_merge_moves_every_row_and_every_session_sees_it_at_once(
    open_session: OpenSession, started: Repository
) -> None:
    other = await open_session(project="old")
    ids = [(await _keep(other)).id, (await _keep(other, LONG)).id]
    running = await open_session(folder=started.root)
    assert not await _sees(running)  # its indexes are in memory from now on
    planned = await projects.merge(await open_session(), "old", running.here.project, dry_run=True)
    assert (planned.memories, planned.change_id) == (2, "")
    assert not await _sees(running)
    done = await projects.merge(await open_session(), "old", running.here.project)
    await running.refresh()
    assert await _sees(running)
    assert (await _ask(running, "thirteenth brass")).results[0].id == ids[1]
    found = await running.store.get(ids)
    assert {memory.project for memory in found.values()} == {running.here.project}
    passages = await running.store.database.table("passages").rows(["project"])
    assert set(passages.column("project").to_pylist()) == {running.here.project}
    await other.refresh()
    assert other.here.project == running.here.project  # REVERIE_PROJECT=old goes on to mean it
    assert (await _keep(other, "A new note")).project == running.here.project
    assert await projects.undo_change(running, done.change_id) == 2
    assert not await _sees(running)
    passages = await running.store.database.table("passages").rows(["project"])
    assert set(passages.column("project").to_pylist()) == {"old"}


async def test_restore_takes_back_a_merge_too(open_session: OpenSession) -> None:
    old, new = await open_session(project="old"), await open_session(project="new")
    await _keep(old)
    done = await projects.merge(new, "old")
    assert await _sees(new)
    await restore(new, RestoreRequest(dream_id=done.change_id))
    await new.refresh()
    assert not await _sees(new)
    assert not (await new.store.projects.read()).known


async def test_the_past_is_seen_from_the_project_that_memories_went_to(open_session: OpenSession, clock: Any) -> None:
    old, new = await open_session(project="old"), await open_session(project="new")
    await _keep(old)
    clock.advance(days=1)
    then = clock().isoformat()
    clock.advance(days=1)
    await projects.merge(new, "old")
    assert [row.content for row in (await _ask(new, as_of=then)).results] == [LAMP]


async def test_a_renamed_project_is_known_by_both_names_in_every_call(
    started: Repository, open_session: OpenSession
) -> None:
    session = await open_session(folder=started.root)
    before = session.here.project
    await _keep(session)
    await projects.rename(session, "", "harbour")
    assert session.here.project == "harbour"
    assert await _sees(session)
    for name in (before, "harbour"):
        assert (await _ask(session, project=name)).results
        assert (await consolidate(session, ConsolidateRequest(project=name, dry_run=True))).project == "harbour"
    again = await open_session(folder=started.root)
    assert again.here.project == "harbour"
    with pytest.raises(InvalidInput, match="already"):
        await projects.rename(again, "harbour", "harbour")


async def test_a_name_that_another_project_has_is_refused_and_so_are_unknown_ones(
    open_session: OpenSession,
) -> None:
    one, two = await open_session(project="one"), await open_session(project="two")
    await _keep(one)
    await _keep(two)
    with pytest.raises(InvalidInput, match="memories of its own"):
        await projects.rename(one, "one", "two")
    with pytest.raises(InvalidInput, match="no project is called"):
        await projects.merge(one, "three")
    with pytest.raises(InvalidInput, match="global"):
        await projects.merge(one, "one", "global")
    with pytest.raises(InvalidInput, match="no change"):
        await projects.undo_change(one, "nothing-like-it")


async def test_single_memories_move_out_of_global_and_back(open_session: OpenSession) -> None:
    session = await open_session(project="harbour")
    kept = await _keep(session, project="global")
    moved = await projects.move_memories(session, [kept.id], "harbour")
    elsewhere = await open_session(project="mill")
    assert not await _sees(elsewhere)
    assert await _sees(session)
    await projects.undo_change(session, moved.change_id)
    assert await _sees(elsewhere)


async def test_status_counts_this_project_and_what_is_elsewhere(open_session: OpenSession) -> None:
    here = await open_session(project="here")
    await _keep(here, layer="semantic")
    await _keep(here, "The bell is cracked", project="global")
    await _keep(here, "The mill turns", project="mill")
    told = await status(here, StatusRequest())
    assert told.counts["semantic"] == {"active": 1}
    assert sum(sum(counts.values()) for counts in told.counts.values()) == 1
    assert told.elsewhere == {"global": 1, "other projects": 1}
