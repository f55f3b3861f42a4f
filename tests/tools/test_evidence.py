"""Remembering in a repository, recalling later: the whole way through the tools."""

import pytest

from reverie.recall.results import RecalledMemory
from reverie.recall.score import FRESHNESS_FACTORS
from reverie.tools import recall, remember
from reverie.tools.inspect import inspect
from reverie.tools.requests import InspectRequest, RecallRequest, RememberRequest, ReviseRequest
from reverie.tools.results import Remembered
from reverie.tools.revise import revise
from reverie.tools.session import Session

from ..conftest import OpenSession, Repository

pytestmark = pytest.mark.anyio


@pytest.fixture
async def here(repo: Repository, open_session: OpenSession) -> Session:
    repo.write("src/lamp.py", "def load_lamp():\n    return 1\n")
    repo.write("src/oil.py", "def fill_oil():\n    return 1\n")
    repo.commit()
    return await open_session(folder=repo.root)


async def _keep(session: Session, content: str, **arguments: object) -> Remembered:
    return await remember.remember(session, RememberRequest(content=content, **arguments))


async def _ask(session: Session, query: str) -> list[RecalledMemory]:
    answer = await recall.recall(session, RecallRequest(query=query))
    return answer.results


async def test_a_memory_is_anchored_with_commit_and_branch_and_recalled_as_verified(
    repo: Repository, here: Session
) -> None:
    kept = await _keep(here, "The lamp is read in `src/lamp.py` by `load_lamp`.")
    assert [(a["path"], a["symbol"], a["freshness"]) for a in kept.anchors] == [
        ("src/lamp.py", None, "verified"),
        ("src/lamp.py", "load_lamp", "verified"),
    ]
    memory = await here.store.resolve(kept.id)
    assert {anchor.commit for anchor in memory.anchors} == {repo.git("rev-parse", "HEAD")}
    assert memory.branch == "main"
    [row] = await _ask(here, "where is the lamp read")
    assert (row.freshness, row.evidence) == ("verified", "")


async def test_recall_says_what_changed_moved_and_went_and_inspect_where_to(repo: Repository, here: Session) -> None:
    kept = await _keep(here, "The lamp is read by `load_lamp`.")
    repo.write("src/lamp.py", "def load_lamp(path):\n    return 1\n")
    [row] = await _ask(here, "lamp")
    assert (row.freshness, row.evidence) == ("changed", "load_lamp: signature changed")
    repo.git("checkout", "-q", ".")
    repo.git("mv", "src/lamp.py", "src/lantern.py")
    [row] = await _ask(here, "lamp")
    assert (row.freshness, row.evidence) == ("moved", "load_lamp moved to src/lantern.py")
    [shown] = (await inspect(here, InspectRequest(ids=[kept.id]))).memories
    assert (shown["freshness"], shown["anchors"][0]["now_at"]) == ("moved", "src/lantern.py")
    repo.git("rm", "-qf", "src/lantern.py")
    answer = await recall.recall(here, RecallRequest(query="lamp"))
    text = answer.text
    assert answer.results[0].freshness == "missing"
    assert "missing: src/lamp.py is gone, and load_lamp with it" in text


async def test_what_is_gone_sinks_and_is_never_hidden(repo: Repository, here: Session) -> None:
    await _keep(here, "Boats are painted green every year.")
    first = await _keep(here, "The lighthouse keeps its records: lamp.", files=["src/lamp.py"])
    second = await _keep(here, "The lighthouse keeps its records: oil.", files=["src/oil.py"])
    before = {row.id: row.score for row in await _ask(here, "lighthouse records")}
    best = max((first.id, second.id), key=before.__getitem__)
    (repo.root / ("src/lamp.py" if best == first.id else "src/oil.py")).unlink()
    after = await _ask(here, "lighthouse records")
    assert {row.id for row in after} == before.keys()
    assert after[0].id == ({first.id, second.id} - {best}).pop()
    assert {row.id: row.score for row in after}[best] == pytest.approx(before[best] * 0.6, abs=1e-3)


def test_demotion_orders_the_answers_of_a_check() -> None:
    words = ("verified", "changed", "moved", "missing")
    assert [FRESHNESS_FACTORS[word] for word in words] == sorted(
        (FRESHNESS_FACTORS[word] for word in words), reverse=True
    )
    assert FRESHNESS_FACTORS["unverifiable"] == FRESHNESS_FACTORS["unanchored"] == 1.0


async def test_recall_writes_nothing(repo: Repository, here: Session) -> None:
    kept = await _keep(here, "Oil is filled in `src/oil.py`.")
    repo.git("rm", "-q", "src/oil.py")
    before = await here.store.resolve(kept.id)
    await _ask(here, "oil")
    assert (await here.store.resolve(kept.id)).anchors == before.anchors


async def test_a_file_that_is_not_there_is_a_warning_not_an_error(here: Session) -> None:
    kept = await _keep(here, "It will come.", files=["src/later.py", "src/oil.py::fill_oil"])
    assert [a["symbol"] for a in kept.anchors] == ["fill_oil"]
    assert kept.warnings == ["src/later.py is not in this project: not anchored"]


async def test_the_branch_is_the_one_checked_out_now_not_when_the_session_began(
    repo: Repository, here: Session
) -> None:
    repo.git("checkout", "-qb", "feature/oil")
    here.evidence._folders.clear()  # a second has passed
    kept = await _keep(here, "Oil is filled in `src/oil.py`.")
    assert (await here.store.resolve(kept.id)).branch == "feature/oil"


async def test_a_session_in_another_project_cannot_verify_and_does_not_doubt(
    repo: Repository, here: Session, open_session: OpenSession, make_repository
) -> None:
    await _keep(here, "Oil is filled in `src/oil.py`.")
    other = make_repository("other")
    other.write("README.md")
    other.commit()
    elsewhere = await open_session(folder=other.root)
    answer = await recall.recall(elsewhere, RecallRequest(query="oil", all_projects=True))
    assert [row.freshness for row in answer.results] == ["unverifiable"]


async def test_the_same_text_again_renews_what_was_seen(repo: Repository, here: Session) -> None:
    kept = await _keep(here, "Oil is filled in `src/oil.py`.")
    repo.write("src/oil.py", "def fill_oil():\n    return 2\n")
    again = await _keep(here, "Oil is filled in `src/oil.py`.")
    assert again.id == kept.id
    [row] = await _ask(here, "oil")
    assert row.freshness == "verified"


async def test_a_revision_is_anchored_to_what_the_new_text_names(repo: Repository, here: Session) -> None:
    kept = await _keep(here, "Oil is filled in `src/oil.py`.", files=["src/lamp.py"])
    repo.git("mv", "src/oil.py", "src/fuel.py")
    revised = await revise(here, ReviseRequest(id=kept.id, content="Oil is filled in `src/fuel.py`.", reason="moved"))
    anchors = (await here.store.resolve(revised.id)).anchors
    assert [anchor.path for anchor in anchors] == ["src/lamp.py", "src/fuel.py"]
