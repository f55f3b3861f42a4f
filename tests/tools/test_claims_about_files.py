"""Claims about files: what never was is said at once, what is first met is anchored, what moved is proposed."""

import json
from pathlib import Path
from typing import Any

import pytest

from reverie.codebase.mentions import says_it_is_gone
from reverie.dream import drift as drift_step
from reverie.dream.drift import with_new_paths
from reverie.tools.consolidate import consolidate
from reverie.tools.drift import drift
from reverie.tools.import_jsonl import import_memories
from reverie.tools.recall import recall
from reverie.tools.remember import remember
from reverie.tools.requests import (
    ConsolidateRequest,
    PinRequest,
    RecallRequest,
    RememberRequest,
    RestoreRequest,
    ReviewRequest,
)
from reverie.tools.restore import restore
from reverie.tools.review import review
from reverie.tools.revise import pin
from reverie.tools.session import Session

from ..conftest import MakeRepository, ManualClock, OpenSession, Repository

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

BODY = "def load_lamp():\n    return 1\n\n\ndef trim_wick():\n    return 2\n"


@pytest.fixture
async def here(repo: Repository, open_session: OpenSession) -> Session:
    """A session in a repository that had src/wick.py once and has moved src/old/lantern.py."""
    repo.write("src/lamp.py", BODY)
    repo.write("src/wick.py", "def cut():\n    return 'a wick is cut every evening'\n")
    repo.write("src/old/lantern.py", BODY.replace("lamp", "lantern"))
    repo.commit()
    repo.git("rm", "-q", "src/wick.py")
    repo.git("mv", "src/old/lantern.py", "src/lantern.py")
    repo.commit()
    return await open_session(folder=repo.root)


async def keep(session: Session, content: str, **arguments: Any) -> Any:
    return await remember(session, RememberRequest(content=content, layer="semantic", **arguments))


async def imported(session: Session, tmp_path: Path, **lines: str) -> None:
    """Import lines without anchors, as another tool's export has them."""
    file = tmp_path / "export.jsonl"
    project = session.here.project
    file.write_text(
        "".join(json.dumps({"id": i, "content": text, "project": project}) + "\n" for i, text in lines.items())
    )
    with file.open("rb") as lines:
        await import_memories(session, lines, lambda _: None)


# -- said at once --------------------------------------------------------------------------------------


async def test_a_file_that_is_not_there_is_said_at_once_and_the_text_is_kept(here: Session) -> None:
    cases = [
        ("The retry loop is in src/http/retry.py", "src/http/retry.py is not in this project and no commit before"),
        ("Oil is poured in `pump.py`", "pump.py is not in this project: check the name"),
        ("Cutting happens in src/wick.py", "src/wick.py is not in this project: it was there until "),
        ("See src/old/lantern.py", "src/old/lantern.py is not in this project: it moved to src/lantern.py"),
    ]
    for text, told in cases:
        kept = await keep(here, text)
        assert (kept.status, kept.anchors) == ("active", [])
        [warning] = [one for one in kept.warnings if "is not in this project" in one]
        assert warning.startswith(told)


async def test_what_only_looks_like_a_file_is_not_reported(here: Session) -> None:
    for text in (
        "The lamp is read in src/lamp.py and lamp.py alone",
        "We run on `Node.js` and/or Deno, TCP/IP and application/json",
        "Docs are at https://example.org/guide/intro.md and github.com/acme/lamp.git",
        "The system reads /etc/hosts.conf and ~/.config/lamp.toml",
        "Dependencies live in node_modules/left-pad/index.js",
        "Run `make test` in the src folder",
    ):
        assert [one for one in (await keep(here, text)).warnings if "is not in this project" in one] == []


async def test_what_is_remembered_for_another_project_is_not_looked_for_here(here: Session) -> None:
    assert (await keep(here, "The retry loop is in src/http/retry.py", project="elsewhere")).warnings == []


# -- anchored when first met ---------------------------------------------------------------------------


async def test_an_imported_memory_is_anchored_behind_the_first_recall_that_shows_it(
    here: Session, tmp_path: Path, repo: Repository
) -> None:
    await imported(here, tmp_path, lamp="The lamp is loaded in src/lamp.py", tea="We drink tea at four")
    asked = RecallRequest(query="where is the lamp loaded")
    [first] = [row for row in (await recall(here, asked)).results if row.id == "lamp"]
    assert first.freshness == "unanchored"
    await here.domain.work_behind()
    memory = await here.store.resolve("lamp")
    assert [(anchor.path, anchor.kind) for anchor in memory.anchors] == [("src/lamp.py", "file")]
    repo.git("rm", "-q", "src/lamp.py")
    [again] = [row for row in (await recall(here, asked)).results if row.id == "lamp"]
    assert again.freshness == "missing"
    event = (await here.store.journal.about("lamp"))[-1]
    assert (event.action, event.actor) == ("anchored", "recall")
    await restore(here, RestoreRequest(event_id=event.id))
    here.met_ids.clear()  # as in the next session
    await recall(here, asked)
    await here.domain.work_behind()
    assert (await here.store.resolve("lamp")).anchors == ()  # somebody took them away


async def test_the_night_anchors_what_no_recall_has_met_and_an_undo_takes_it_back(
    here: Session, tmp_path: Path
) -> None:
    await imported(
        here,
        tmp_path,
        lamp="The lamp is loaded in src/lamp.py",
        gone="Wicks are cut in src/wick.py",
        past="src/wick.py was removed when we went electric",
        tea="We drink tea at four",
    )
    dreamt = await consolidate(here, ConsolidateRequest(steps=["drift"]))
    found = {one.id: [anchor.path for anchor in one.anchors] for one in await here.store.find()}
    assert found == {"lamp": ["src/lamp.py"], "gone": ["src/wick.py"], "past": [], "tea": []}
    await consolidate(here, ConsolidateRequest(steps=["drift"]))
    assert {one.id: one.status for one in await here.store.find()} == {
        "lamp": "active",
        "gone": "challenged",  # its file is in the history only
        "past": "active",
        "tea": "active",
    }
    await restore(here, RestoreRequest(dream_id=dreamt.dream_id))
    await consolidate(here, ConsolidateRequest(steps=["drift"]))
    assert (await here.store.resolve("lamp")).anchors == ()


async def test_a_night_looks_at_so_many_and_the_next_at_others(
    here: Session, tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drift_step, "MOST_LOOKED_AT", 2)
    await imported(here, tmp_path, **{f"m{number}": f"Part {number} is in src/lamp.py" for number in range(5)})
    anchored = []
    for _ in range(3):
        await consolidate(here, ConsolidateRequest(steps=["drift"]))
        anchored.append(sum(bool(memory.anchors) for memory in await here.store.find()))
        clock.advance(days=1)
    assert anchored == [2, 4, 5]


# -- every project whose root can be found -------------------------------------------------------------


async def test_a_dream_checks_every_project_that_a_session_stood_in(
    make_repository: MakeRepository, open_session: OpenSession, clock: ManualClock, tmp_path: Path
) -> None:
    roots = [make_repository(name) for name in ("north", "south", "east")]
    kept = []
    for root in roots:
        root.write("src/lamp.py", f"# {root.root.name}\n{BODY}")
        root.commit()
        session = await open_session(folder=root.root)
        kept.append((await keep(session, f"The lamp of {root.root.name} is in src/lamp.py")).id)
    for root in roots:
        root.git("rm", "-q", "src/lamp.py")
    # Another repository lies where the third one was.
    roots[2].root.rename(tmp_path / "moved-away")
    other = make_repository("east")
    other.write("README.md")
    other.commit()
    (tmp_path / "nowhere").mkdir()
    timer = await open_session(folder=tmp_path / "nowhere")  # a timer starts it in no project
    clock.advance(days=1)
    await consolidate(timer, ConsolidateRequest())
    assert [(await timer.store.resolve(one)).status for one in kept] == ["challenged", "challenged", "active"]
    asked = {one.memory_ids[0] for one in await timer.store.review_queue.open()}
    assert asked == {kept[0], kept[1]}


async def test_no_root_comes_from_a_memory(
    make_repository: MakeRepository, open_session: OpenSession, tmp_path: Path
) -> None:
    hidden = make_repository("hidden")
    hidden.write("src/secret.py", BODY)
    hidden.commit()
    session = await open_session(folder=make_repository("open").root)
    anchor = {"path": "src/secret.py", "kind": "file", "digest": "0" * 32, "root": str(hidden.root)}
    file = tmp_path / "export.jsonl"
    line = {"id": "m1", "content": "See src/secret.py", "project": str(hidden.root), "anchors": [anchor]}
    file.write_text(json.dumps(line))
    with file.open("rb") as lines:
        await import_memories(session, lines, lambda _: None)
    checker = drift_step.evidence_of_others(await session.store.projects.read(), (), [str(hidden.root)])
    assert checker == []
    await consolidate(session, ConsolidateRequest())
    assert (await session.store.resolve("m1")).status == "active"


# -- what moved is proposed in the text ----------------------------------------------------------------


async def test_what_moved_is_corrected_in_the_text_by_a_proposal(
    repo: Repository, here: Session, clock: ManualClock
) -> None:
    kept = await keep(here, "The lamp is loaded in src/lamp.py, see load_lamp", source="human", importance=0.9)
    repo.git("mv", "src/lamp.py", "src/light.py")
    repo.commit()
    clock.advance(days=1)
    [question_id] = (await consolidate(here, ConsolidateRequest(steps=["drift"]))).questions
    [question] = (await review(here, ReviewRequest())).questions
    new_text = "The lamp is loaded in src/light.py, see load_lamp"
    assert (question["id"], question["kind"], question["proposal"]) == (question_id, "moved", new_text)
    assert question["evidence"][0] == "src/lamp.py moved to src/light.py"
    assert question["evidence"][-1] == f"proposed: {new_text}"
    assert (await here.store.resolve(kept.id)).content.count("src/lamp.py") == 1  # nothing is changed unasked
    [done] = (
        await review(here, ReviewRequest(decisions=[{"question_id": question_id, "verdict": "revise"}]))
    ).resolved
    [memory] = [one for one in await here.store.find() if one.status == "active"]
    assert (memory.content, memory.source, memory.trust, memory.importance) == (new_text, "human", 1.0, 0.9)
    assert {(anchor.path, anchor.freshness) for anchor in memory.anchors} == {("src/light.py", "verified")}
    assert (await here.store.resolve(kept.id)).superseded_by == memory.id
    for _ in range(2):
        clock.advance(days=1)
        assert (await consolidate(here, ConsolidateRequest(steps=["drift"]))).questions == []
    await restore(here, RestoreRequest(dream_id=done["question_id"]))
    assert (await here.store.resolve(kept.id)).status == "active"


async def test_who_says_that_the_text_stays_is_not_asked_again(
    repo: Repository, here: Session, clock: ManualClock
) -> None:
    await keep(here, "The lamp is loaded in src/lamp.py")
    repo.git("mv", "src/lamp.py", "src/light.py")
    await drift(here)
    [question] = (await review(here, ReviewRequest())).questions
    await review(here, ReviewRequest(decisions=[{"question_id": question["id"], "verdict": "holds"}]))
    clock.advance(days=1)
    assert (await consolidate(here, ConsolidateRequest(steps=["drift"]))).questions == []


async def test_a_proposal_is_withdrawn_when_the_file_moves_again_and_asked_anew(
    repo: Repository, here: Session, clock: ManualClock
) -> None:
    await keep(here, "The lamp is loaded in src/lamp.py")
    repo.git("mv", "src/lamp.py", "src/light.py")
    await consolidate(here, ConsolidateRequest(steps=["drift"]))
    repo.git("mv", "src/light.py", "src/bulb.py")
    clock.advance(days=1)
    await consolidate(here, ConsolidateRequest(steps=["drift"]))
    [question] = (await review(here, ReviewRequest())).questions
    assert question["proposal"] == "The lamp is loaded in src/bulb.py"
    repo.git("mv", "src/bulb.py", "src/lamp.py")
    clock.advance(days=1)
    await consolidate(here, ConsolidateRequest(steps=["drift"]))
    assert (await review(here, ReviewRequest())).questions == []


async def test_an_imported_text_about_a_path_of_long_ago_gets_a_proposal_too(
    here: Session, tmp_path: Path, clock: ManualClock
) -> None:
    await imported(here, tmp_path, lantern="The lantern is loaded in src/old/lantern.py")
    await consolidate(here, ConsolidateRequest(steps=["drift"]))
    clock.advance(days=1)
    await consolidate(here, ConsolidateRequest(steps=["drift"]))
    [question] = (await review(here, ReviewRequest())).questions
    assert question["proposal"] == "The lantern is loaded in src/lantern.py"


async def test_what_is_pinned_is_not_asked_about(repo: Repository, here: Session) -> None:
    kept = await keep(here, "The lamp is loaded in src/lamp.py")
    await pin(here, PinRequest(id=kept.id))
    repo.git("mv", "src/lamp.py", "src/light.py")
    assert (await consolidate(here, ConsolidateRequest(steps=["drift"]))).questions == []


@pytest.mark.parametrize(
    ("text", "then"),
    [
        ("see src/http/retry.py.", "see src/net/again.py."),
        ("see `./src/http/retry.py:12`", "see `./src/net/again.py:12`"),
        ("see http/retry.py", "see src/net/again.py"),
        ("see retry.py", "see again.py"),
        ("see other/retry.py and retry.pyc", "see other/retry.py and retry.pyc"),
        ("nothing of the kind", "nothing of the kind"),
    ],
)
def test_a_path_is_replaced_as_it_is_written(text: str, then: str) -> None:
    assert with_new_paths(text, {"src/http/retry.py": "src/net/again.py"}) == then


def test_a_text_about_the_past_is_told_from_a_claim() -> None:
    assert says_it_is_gone("src/a.py was deleted in March")
    assert not says_it_is_gone("Charging is done in src/a.py")
