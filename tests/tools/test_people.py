"""Several people on one store: what a dream may join, what a file may claim, and whose voice counts.

That nobody is shown the personal memories of others is in test_personal_memories.py.
"""

import io
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from reverie.clients.okf import written_concept
from reverie.dream.batch import make_batch
from reverie.dream.derived_memories import derived_memory
from reverie.dream.plan import ChangeSet, NewMemory
from reverie.errors import InvalidInput
from reverie.lifecycle.voices import Voice, confirmed, read_voice
from reverie.memory import Memory
from reverie.storage.scope import EVERYBODY, TEAM, Scope, Viewer, viewer_of
from reverie.tools import catalog
from reverie.tools.consolidate import consolidate, dream_if_due
from reverie.tools.export_jsonl import export
from reverie.tools.forget import forget
from reverie.tools.import_jsonl import import_memories
from reverie.tools.projects import rename
from reverie.tools.recall import recall
from reverie.tools.remember import remember
from reverie.tools.render import render
from reverie.tools.requests import (
    BriefRequest,
    ConsolidateRequest,
    ForgetRequest,
    RecallRequest,
    RememberRequest,
    RestoreRequest,
    ReviseRequest,
)
from reverie.tools.restore import restore
from reverie.tools.revise import revise
from reverie.tools.session import Session
from reverie.tools.sweep import sweep
from tests.conftest import ManualClock, OpenSession

pytestmark = pytest.mark.anyio


async def person(local: Session, name: str, only: frozenset[str] | None = None, project: str = "tests") -> Session:
    return await Session.elsewhere(
        local.domain, project=project, session_id=f"{name}/1", person=name, only_projects=only
    )


async def told(session: Session, content: str, **more: object) -> Memory:
    kept = await remember(session, RememberRequest(content=content, **more))  # type: ignore[arg-type]
    return (await session.store.get([kept.id]))[kept.id]


STEPS = [f"Step {number} of the move to Terraform went well today." for number in range(5)]


async def test_an_answer_says_that_a_memory_was_kept_personal_and_only_then(session: Session) -> None:
    ann = await person(session, "ann")
    mine = RememberRequest(content="The spare key is under the third stone.", visibility="personal")
    said = "Note: kept personal: nobody but you sees it."
    for repeated in (False, True):
        answer = render(await remember(ann, mine))
        assert (said in answer, "kept personal" in answer) == (not repeated, True)
    shared = await remember(ann, RememberRequest(content="The alarm is armed at ten every night."))
    assert "personal" not in render(shared)
    for visibility in ("personal", "team"):
        change = ReviseRequest(
            id=shared.id,
            content=f"The alarm is armed at eleven, for {visibility}.",
            reason="later",
            visibility=visibility,
        )
        shared = await revise(ann, change)
        assert (said in render(shared)) == (visibility == "personal")


# -- dreams --------------------------------------------------------------------------------------------------


async def test_a_night_joins_nothing_that_different_people_see(session: Session, clock: ManualClock) -> None:
    ann, ben = await person(session, "ann"), await person(session, "ben")
    clock.advance(hours=20)
    for who in (ann, ben):
        for step in STEPS:
            await told(who, step, visibility="personal", layer="episodic", kind="event")
    for step in STEPS:
        await told(session, f"{step} So says the team.", layer="episodic", kind="event")
    clock.advance(hours=5)
    assert await dream_if_due(ben) is not None
    everything = {memory.id: memory for memory in await session.whole_store.find()}
    derived = [memory for memory in everything.values() if memory.derived_from]
    assert {memory.owner for memory in derived if memory.kind == "digest"} == {None, "ann", "ben"}
    for memory in derived:
        assert {everything[parent].owner for parent in memory.derived_from} == {memory.owner}
        assert memory.author == (memory.owner or None)
    for memory in everything.values():
        if memory.superseded_by:
            assert everything[memory.superseded_by].owner == memory.owner
    records = await session.store.dream_log.all()
    assert sorted(str(record.owner) for record in records) == ["None", "ann", "ben"]
    for record in records:
        events = await session.store.journal.of_batch(record.id)
        assert {everything[event.memory_id].owner for event in events} <= {record.owner}
        assert not any(event.session.startswith(("ann/", "ben/")) for event in events)  # it was nobody's doing


async def test_whoever_dreams_hears_of_the_teams_and_their_own_and_undoes_either(
    session: Session, clock: ManualClock
) -> None:
    ann, ben = await person(session, "ann"), await person(session, "ben")
    for step in STEPS:
        await told(ann, step, visibility="personal", layer="episodic", kind="event")
    planned = await consolidate(ben, ConsolidateRequest(dry_run=True))
    assert sum(step.planned for step in planned.steps) == 0
    done = await consolidate(ben, ConsolidateRequest())
    assert (done.changes, done.personal_dream_id) == ([], "")
    assert not any(memory.kind == "digest" for memory in await session.whole_store.find())
    hers = await consolidate(ann, ConsolidateRequest())
    assert {change["step"] for change in hers.changes} >= {"digest"}
    assert hers.personal_dream_id != hers.dream_id
    with pytest.raises(InvalidInput, match="no dream has the id"):
        await restore(ben, RestoreRequest(dream_id=hers.personal_dream_id))
    await restore(ann, RestoreRequest(dream_id=hers.personal_dream_id))
    assert not any(memory.kind == "digest" for memory in await ann.store.find())


async def test_a_change_set_that_would_expose_something_personal_is_left_out(
    session: Session, clock: ManualClock
) -> None:
    ann = await person(session, "ann")
    mine = await told(ann, "The spare key is under the third stone.", visibility="personal")
    ours = await told(ann, "The spare key is at the reception.")
    exposed = replace(
        derived_memory("Keys.", kind="digest", layer="semantic", project="tests", sources=[mine], now=clock()),
        visibility="team",
    )
    change_set = ChangeSet(summary="x", new_memories=(NewMemory(memory=exposed, reason="x"),))
    batch = make_batch([change_set], [mine, ours], session.store, batch_id="b", at=clock())
    assert (batch.added, batch.events) == ((), ())
    assert [skipped.reason for _, skipped in batch.too_late] == ["would show what is personal to others"]
    with pytest.raises(ValueError, match="different people"):
        derived_memory("Keys.", kind="digest", layer="semantic", project="tests", sources=[mine, ours], now=clock())


async def test_a_sweep_of_the_store_expires_everybodys_and_one_of_a_person_only_what_they_see(
    session: Session, clock: ManualClock
) -> None:
    ann = await person(session, "ann")
    mine = await told(ann, "The parking slot is 14 this week.", visibility="personal", forget_after="1d")
    clock.advance(days=2)
    assert (await sweep(session)).expired == {}
    assert (await sweep(session.in_nobodys_name())).expired == {"ttl-expired": [mine.id]}


# -- who said it ---------------------------------------------------------------------------------------------


async def test_the_author_is_whoever_says_it_also_of_a_correction(session: Session) -> None:
    ann, ben = await person(session, "ann"), await person(session, "ben")
    first = await told(ann, "The build runs on four cores.")
    revised = await revise(ben, ReviseRequest(id=first.id, content="The build runs on six cores.", reason="seen"))
    assert first.author == "ann"
    assert (await session.store.get([revised.id]))[revised.id].author == "ben"
    assert (await told(session, "The heating comes on in October.")).author is None


async def test_a_file_does_not_say_who_said_it_but_our_own_export_does(
    session: Session, open_session: OpenSession, tmp_path: Path
) -> None:
    ann = await person(session, "ann")
    ours = await told(ann, "The ferry leaves at nine.")
    assert "author: ann" in written_concept(replace(ours, confirmed_by=("human ben",)))
    assert "human:ben" in written_concept(replace(ours, confirmed_by=("human ben",)))
    target = tmp_path / "export.jsonl"
    await export(session, str(target), progress=lambda done, total: None)
    foreign = json.dumps({"content": "The mayor wrote this.", "author": "mayor", "visibility": "personal"}) + "\n"
    await import_memories(ann, io.BytesIO(foreign.encode()), lambda tally: None, trust=True)
    [claimed] = [memory for memory in await ann.store.find() if "mayor" in memory.content]
    assert (claimed.author, claimed.visibility) == ("ann", "personal")
    changed = json.loads(target.read_text()) | {"author": "mayor", "visibility": "personal"}
    await import_memories(session, io.BytesIO(json.dumps(changed).encode()), lambda tally: None, trust=True)
    assert (await session.store.get([ours.id]))[ours.id].author == "ann"
    elsewhere = await open_session(domain="other")
    with target.open("rb") as file:
        await import_memories(elsewhere, file, lambda tally: None)
    [back] = await elsewhere.store.find()
    assert back.author == "ann"


async def test_a_file_with_the_id_of_somebodys_personal_memory_gets_another_id(session: Session) -> None:
    ann = await person(session, "ann")
    mine = await told(ann, "The vault opens at ten.", visibility="personal")
    line = json.dumps({"id": mine.id, "content": "The vault is open to everybody."})
    for _ in range(2):
        tally = await import_memories(session, io.BytesIO(line.encode()), lambda tally: None)
    assert (tally.added, tally.unchanged) == (0, 1)
    [imported] = await session.store.find()
    assert imported.id != mine.id
    assert (await ann.store.get([mine.id]))[mine.id].content == "The vault opens at ten."


def test_two_people_are_two_voices_and_one_person_is_one_a_day(clock: ManualClock) -> None:
    said = Memory(
        id="a" * 16,
        content="x",
        content_hash="x",
        title="x",
        kind="fact",
        layer="semantic",
        source="human",
        author="ann",
        session="ann/1",
        trust=1.0,
        stability=1.0,
        created_at=clock(),
        happened_at=clock(),
        updated_at=clock(),
        embedder="",
    )
    assert confirmed(said, Voice("human", clock(), "ann")) is None
    assert (confirmed(said, Voice("human", clock(), "ben")) or {})["confirmed_by"] == ("human ben",)
    assert (confirmed(said, Voice("human", clock(), "")) or {})["confirmed_by"] == ("human",)
    agent = replace(said, source="ai")
    assert confirmed(agent, Voice("ai", clock(), "ann/2")) is None
    assert (confirmed(agent, Voice("ai", clock(), "ben/2")) or {})["confirmations"] == 1
    assert confirmed(agent, Voice("ai", clock() + timedelta(days=1), "ann/2")) is not None
    assert read_voice("human sso:ann bo@x") == Voice("human", None, "sso:ann bo@x")


# -- who sees it ---------------------------------------------------------------------------------------------


async def test_what_is_personal_and_what_is_the_teams_are_two_memories(session: Session) -> None:
    ann = await person(session, "ann")
    text = "Invoices go out on the first of the month."
    mine = await told(ann, text, visibility="personal", source="human")
    ours = await remember(ann, RememberRequest(content=text, source="human"))
    assert ours.id != mine.id
    assert (ours.duplicate_of, ours.conflicts, ours.surprise) == (None, [], None)  # the team knew nothing like it
    with pytest.raises(InvalidInput, match="hide it from everybody"):
        await remember(ann, RememberRequest(content="Mine now.", supersedes=ours.id, visibility="personal"))
    kept = await remember(ann, RememberRequest(content="Invoices go out on the second.", supersedes=mine.id))
    [new] = (await session.store.get([kept.id])).values()
    assert new.derived_from == ()
    assert (await ann.store.get([mine.id]))[mine.id].superseded_by == new.id


async def test_as_of_answers_with_nothing_that_is_somebody_elses(session: Session, clock: ManualClock) -> None:
    ann, ben = await person(session, "ann"), await person(session, "ben")
    mine = await told(ann, "The quiet room has a piano.", visibility="personal")
    clock.advance(hours=1)
    await revise(ann, ReviseRequest(id=mine.id, content="The quiet room has two pianos.", reason="seen"))
    asked = RecallRequest(query="quiet room piano", as_of="30m", all_projects=True)
    assert [row.id for row in (await recall(ann, asked)).results] == [mine.id]
    told_ben = await recall(ben, asked)
    assert (told_ben.results, told_ben.total_matches, told_ben.filtered) == ([], 0, {})


async def test_a_purge_leaves_what_somebody_else_keeps(session: Session) -> None:
    ann, ben = await person(session, "ann"), await person(session, "ben")
    text = "The old alarm code is written in the red book."
    mine = await told(ann, text, visibility="personal")
    theirs = await told(ben, text)
    gone = await forget(ben, ForgetRequest(ids=(theirs.id,), purge=True))
    assert (gone.forgotten, gone.skipped) == ([theirs.id], [])
    assert mine.id in await ann.store.get([mine.id])


def test_a_viewer_is_one_condition_and_a_scope_never_sees_more() -> None:
    assert EVERYBODY.narrowed(None) is None
    assert Scope().viewer == TEAM
    limited = viewer_of("ann", frozenset({"shop"}))
    assert Scope(viewer=limited).projects == ("shop",)
    assert Scope(viewer=limited, projects=("shop", "global", "vault")).projects == ("shop",)
    assert Scope(viewer=limited, projects=("vault",)).projects == ()
    row = {"project": "shop", "visibility": "personal", "author": "ann"}
    assert limited.admits(row)
    assert not viewer_of("ben").admits(row)
    assert not viewer_of("").admits(row)
    assert viewer_of("").admits(row | {"author": None})
    assert not TEAM.admits(row)
    assert TEAM.admits({"project": "shop", "visibility": None, "author": None})
    assert not Viewer(frozenset()).admits({"project": "shop"})
    assert "O''Hara" in viewer_of("O'Hara").condition().sql


async def test_the_archive_and_a_search_on_disk_know_whose_a_memory_is(
    open_session: OpenSession, clock: ManualClock
) -> None:
    local = await open_session(search_memory=0.000001)
    ann, ben = await person(local, "ann"), await person(local, "ben")
    mine = await told(ann, "The attic holds a telescope and maps. " * 200, visibility="personal")
    gone = await told(ann, "The attic hatch squeaks.", visibility="personal")
    await told(ben, "The cellar holds wine.")
    await forget(ann, ForgetRequest(ids=(gone.id,)))
    clock.advance(days=2)
    assert await local.domain.store.archive.take_in(clock()) == 1
    assert not await local.domain.store.vectors.are_in_memory()
    asked = RecallRequest(query="What does the attic hold?")
    hers, his = await recall(ann, asked), await recall(ben, asked)
    assert mine.id in [row.id for row in hers.results]
    assert hers.filtered["archive"] == 1
    assert mine.id not in [row.id for row in his.results]
    assert not {"archive", "scope"} & his.filtered.keys()
    wider = replace(asked, include=("expired",), all_projects=True)
    assert gone.id in [row.id for row in (await recall(ann, wider)).results]
    assert not {mine.id, gone.id} & {row.id for row in (await recall(ben, wider)).results}


async def test_a_limited_token_is_told_that_a_project_is_not_its_own_and_nothing_about_it(
    session: Session,
) -> None:
    await told(session, "The aquarium keeps two walruses.", project="aquarium")
    await catalog.call(catalog.REMEMBER, session, RememberRequest(content="x y z", project="old-zoo"))
    await rename(session, "old-zoo", "secret-zoo")
    guest = await person(session, "guest", frozenset({"tests"}))
    said = set()
    for named in ("aquarium", "old-zoo", "secret-zoo", "never-heard-of", "global"):
        for tool, request in (
            (catalog.RECALL, RecallRequest(query="walruses", project=named)),
            (catalog.RECALL, RecallRequest(query="walruses", project=named, client_session="c")),
            (catalog.BRIEF, BriefRequest(project=named)),
            (catalog.FORGET, ForgetRequest(project=named, older_than="1d")),
            (catalog.CONSOLIDATE, ConsolidateRequest(project=named)),
            (catalog.REMEMBER, RememberRequest(content="a b c", project=named)),
        ):
            with pytest.raises(InvalidInput, match="not for the project") as refused:
                await catalog.call(tool, guest, request)  # type: ignore[arg-type]
            said.add(str(refused.value).replace(named, "X"))
    assert len(said) == 1
    with pytest.raises(InvalidInput) as refused:
        await person(session, "guest", frozenset({"tests"}), project="old-zoo")
    assert "secret-zoo" not in str(refused.value)
    assert await catalog.call(catalog.BRIEF, guest, BriefRequest(project="tests"))
