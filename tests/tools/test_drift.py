"""Drift: what moved is repaired, what is gone is challenged and, days later, expired; all of it can be undone."""

import pytest

from reverie.memory import Anchor
from reverie.tools import remember
from reverie.tools.consolidate import consolidate
from reverie.tools.drift import drift
from reverie.tools.requests import ConsolidateRequest, PinRequest, RememberRequest, RestoreRequest
from reverie.tools.restore import restore
from reverie.tools.results import Drifted
from reverie.tools.revise import pin
from reverie.tools.session import Session

from ..conftest import ManualClock, OpenSession, Repository

pytestmark = pytest.mark.anyio


@pytest.fixture
async def here(repo: Repository, open_session: OpenSession) -> Session:
    repo.write("src/lamp.py", "def load_lamp():\n    return 1\n")
    repo.write("src/oil.py", "def fill_oil():\n    return 1\n")
    repo.commit()
    return await open_session(folder=repo.root)


async def _keep(session: Session, content: str, **arguments: object) -> str:
    return (await remember.remember(session, RememberRequest(content=content, **arguments))).id


def _actions(found: Drifted) -> list[tuple[str, str]]:
    return [(row.freshness, row.action) for row in found.memories]


async def test_when_nothing_moved_nothing_is_done(here: Session) -> None:
    await _keep(here, "The lamp is read in `src/lamp.py`.")
    await _keep(here, "We like tea.")
    found = await drift(here)
    assert (found.checked, found.freshness, found.memories, found.drift_id) == (1, {"verified": 1}, [], "")


async def test_a_moved_anchor_learns_where_to_and_stays_moved_because_the_text_is_old(
    repo: Repository, here: Session
) -> None:
    kept = await _keep(here, "The lamp is read in `src/lamp.py`.")
    repo.git("mv", "src/lamp.py", "src/lantern.py")
    assert _actions(await drift(here)) == [("moved", "repaired")]
    memory = await here.store.resolve(kept)
    assert (memory.status, memory.anchors[0].path, memory.anchors[0].now_at) == (
        "active",
        "src/lamp.py",
        "src/lantern.py",
    )
    again = await drift(here)
    assert (_actions(again), again.drift_id) == ([("moved", "none")], "")


async def test_what_is_gone_is_challenged_at_once_and_expired_on_the_third_day(
    repo: Repository, here: Session, clock: ManualClock
) -> None:
    kept = await _keep(here, "The lamp is read in `src/lamp.py`.")
    repo.git("rm", "-q", "src/lamp.py")
    assert _actions(await drift(here)) == [("missing", "challenged")]
    memory = await here.store.resolve(kept)
    assert (memory.status, memory.status_reason) == ("challenged", "drift: src/lamp.py is gone")
    for _ in range(5):  # however often it is looked at on one day
        assert (await drift(here)).drift_id == ""
    clock.advance(days=1)
    assert _actions(await drift(here)) == [("missing", "noted")]
    clock.advance(days=1)
    last = await drift(here)
    assert _actions(last) == [("missing", "expired")]
    memory = await here.store.resolve(kept)
    assert (memory.status, memory.expired_at) == ("expired", clock())
    assert memory.anchors[0].missing_on == ("2026-03-02", "2026-03-03", "2026-03-04")


async def test_a_run_can_be_undone_and_what_was_restored_is_not_taken_again_at_once(
    repo: Repository, here: Session, clock: ManualClock
) -> None:
    kept = await _keep(here, "The lamp is read in `src/lamp.py`.")
    repo.git("rm", "-q", "src/lamp.py")
    for _ in range(3):
        last = await drift(here)
        clock.advance(days=1)
    assert (await restore(here, RestoreRequest(dream_id=last.drift_id))).restored == [kept]
    assert (await here.store.resolve(kept)).status == "challenged"
    for _ in range(2):
        clock.advance(days=1)
        await drift(here)
        assert (await here.store.resolve(kept)).status == "challenged"
    clock.advance(days=1)
    await drift(here)
    assert (await here.store.resolve(kept)).status == "expired"


async def test_what_is_found_again_is_active_again_and_starts_anew(
    repo: Repository, here: Session, clock: ManualClock
) -> None:
    kept = await _keep(here, "The lamp is read in `src/lamp.py`.")
    repo.git("rm", "-q", "src/lamp.py")
    for _ in range(2):
        await drift(here)
        clock.advance(days=1)
    repo.git("checkout", "-q", "HEAD", "src/lamp.py")
    assert _actions(await drift(here)) == [("verified", "healed")]
    memory = await here.store.resolve(kept)
    assert (memory.status, memory.status_reason, memory.anchors[0].missing_on) == ("active", None, ())


async def test_a_memory_of_which_a_part_still_stands_is_challenged_but_never_expired(
    repo: Repository, here: Session, clock: ManualClock
) -> None:
    kept = await _keep(here, "`src/lamp.py` needs `src/oil.py`.")
    repo.git("rm", "-q", "src/lamp.py")
    for _ in range(5):
        await drift(here)
        clock.advance(days=1)
    assert (await here.store.resolve(kept)).status == "challenged"


async def test_a_pinned_memory_is_reported_and_left_alone(
    repo: Repository, here: Session, clock: ManualClock
) -> None:
    gone = await _keep(here, "The lamp is read in `src/lamp.py`.")
    moved = await _keep(here, "Oil is filled in `src/oil.py`.")
    await pin(here, PinRequest(id=gone))
    await pin(here, PinRequest(id=moved))
    before = [await here.store.resolve(kept) for kept in (gone, moved)]
    repo.git("rm", "-q", "src/lamp.py")
    repo.git("mv", "src/oil.py", "oil.py")
    for _ in range(4):
        found = await drift(here)
        assert _actions(found) == [("missing", "pinned: left alone"), ("moved", "pinned: left alone")]
        clock.advance(days=1)
    assert [await here.store.resolve(kept) for kept in (gone, moved)] == before


async def test_a_dry_run_only_tells(repo: Repository, here: Session) -> None:
    kept = await _keep(here, "The lamp is read in `src/lamp.py`.")
    before = await here.store.resolve(kept)
    repo.git("rm", "-q", "src/lamp.py")
    assert _actions(await drift(here, dry_run=True)) == [("missing", "challenged")]
    assert await here.store.resolve(kept) == before


async def test_memories_of_other_projects_are_counted_as_unverifiable_and_live_on(
    repo: Repository, here: Session, open_session: OpenSession, make_repository, clock: ManualClock
) -> None:
    kept = await _keep(here, "The lamp is read in `src/lamp.py`.")
    other = make_repository("other")
    other.write("README.md")
    other.commit()
    elsewhere = await open_session(folder=other.root)
    for _ in range(4):
        found = await drift(elsewhere)
        assert (found.checked, found.freshness) == (0, {"unverifiable": 1})
        clock.advance(days=1)
    assert (await here.store.resolve(kept)).status == "active"


async def test_relative_paths_count_from_the_project_root_wherever_the_session_stands(
    repo: Repository, here: Session, open_session: OpenSession, monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    """The twin's fault: two dreams forgot whatever named a path that is missing from the working directory."""
    await _keep(here, "The lamp is read in `src/lamp.py`.")
    repo.write("deep/down/x.py")
    deeper = await open_session(folder=repo.root / "deep/down")
    monkeypatch.chdir(tmp_path)
    assert (await drift(deeper)).freshness == {"verified": 1}


async def test_a_memory_that_others_changed_meanwhile_is_not_overwritten(
    repo: Repository, here: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = await _keep(here, "The lamp is read in `src/lamp.py`.")
    repo.git("rm", "-q", "src/lamp.py")
    planned = here.store.get

    async def pinned_first(ids):  # another session pins it between our look and our write
        monkeypatch.undo()
        memory = await here.store.resolve(kept)
        await here.store.change([memory], {"pinned": True}, action="pinned", actor="test", at=here.now)
        return await planned(ids)

    monkeypatch.setattr(here.store, "get", pinned_first)
    await drift(here)
    assert (await here.store.resolve(kept)).status == "active"


async def test_eight_thousand_lines_of_code_later_an_old_anchor_without_new_fields_still_reads(
    here: Session,
) -> None:
    from reverie.storage.rows import anchors_from

    old = {"path": "a.py", "symbol": None, "kind": "file", "digest": "d", "span": [1, 2], "commit": None}
    assert anchors_from([old]) == (Anchor(path="a.py", digest="d", span=(1, 2)),)


async def test_a_memory_restored_by_its_id_is_not_expired_again_at_once_by_a_dream(
    repo: Repository, here: Session, clock: ManualClock
) -> None:
    kept = await _keep(here, "The lamp is read in `src/lamp.py`.")
    repo.git("rm", "-q", "src/lamp.py")
    for _ in range(3):
        await consolidate(here, ConsolidateRequest(steps=["drift"]))
        clock.advance(days=1)
    assert (await here.store.resolve(kept)).status == "expired"
    await restore(here, RestoreRequest(ids=[kept]))
    clock.advance(days=1)
    await consolidate(here, ConsolidateRequest(steps=["drift"]))
    assert (await here.store.resolve(kept)).status in ("active", "challenged")


async def test_a_challenge_that_was_taken_back_is_not_repeated_by_the_command_either(
    repo: Repository, here: Session, clock: ManualClock
) -> None:
    kept = await _keep(here, "The lamp is read in `src/lamp.py`.")
    repo.git("rm", "-q", "src/lamp.py")
    await drift(here)
    await restore(here, RestoreRequest(ids=[kept]))
    clock.advance(days=1)
    assert _actions(await drift(here)) == [("missing", "none")]
    assert (await here.store.resolve(kept)).status == "active"
