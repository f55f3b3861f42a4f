import math
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from reverie.errors import AmbiguousId, InvalidInput, MemoryNotFound, StoreError
from reverie.memory import LAYERS, Anchor
from reverie.storage.features import Question
from reverie.storage.filters import equals
from reverie.storage.rows import Embedded
from reverie.storage.scope import Scope
from reverie.tools.session import Workspace

pytestmark = pytest.mark.anyio

Make = Callable[..., Embedded]
OpenWorkspace = Callable[..., Awaitable[Workspace]]


async def test_every_field_of_a_memory_comes_back_as_it_was_written(workspace: Workspace, make: Make) -> None:
    now = workspace.now
    item = make(
        "it's \x00 a 'text' -- with\nlines",
        kind="decision",
        layer="episodic",
        tags=("a'b", "null"),
        entities=("Ada",),
        project="host/owner/name",
        branch="main",
        session="s0",
        source="human",
        source_ref="README.md",
        trust=1.0,
        confidence=0.75,
        derived_from=("x", "y"),
        importance=0.9,
        surprise=0.125,
        valence=-0.5,
        stability=0.37,
        confirmations=1,
        confirmed_by=("ai",),
        happened_at=now - timedelta(days=400, microseconds=1),
        last_accessed_at=now,
        access_count=3,
        access_times=(now - timedelta(days=1), now),
        sessions=("s1", "s2"),
        core=True,
        pinned=True,
        tier="elephant",
        forget_after=now + timedelta(days=30),
        status="challenged",
        expired_at=now,
        status_reason="because",
        superseded_by="z",
        anchors=(Anchor(path="core/a.py", symbol="f", kind="symbol", digest="d", span=(1, 9), commit="c"),),
        precision=8,
    )
    await workspace.store.add([item], actor="test", at=now)
    assert await workspace.store.resolve(item.memory.id) == item.memory


async def test_a_prefix_of_eight_characters_finds_a_memory(workspace: Workspace, make: Make) -> None:
    item = make("one", id="abcdefgh-rest")
    await workspace.store.add([item], actor="test", at=workspace.now)
    assert (await workspace.store.resolve("abcdefgh")).id == "abcdefgh-rest"


async def test_a_prefix_that_fits_several_names_them(workspace: Workspace, make: Make) -> None:
    items = [make("one", id="abcdefgh-1"), make("two", id="abcdefgh-2", layer="episodic")]
    await workspace.store.add(items, actor="test", at=workspace.now)
    with pytest.raises(AmbiguousId) as caught:
        await workspace.store.resolve("abcdefgh")
    assert caught.value.candidates == ("abcdefgh-1", "abcdefgh-2")


async def test_an_id_that_is_also_the_beginning_of_another_is_itself(workspace: Workspace, make: Make) -> None:
    items = [make("one", id="abcdefgh"), make("two", id="abcdefgh-2")]
    await workspace.store.add(items, actor="test", at=workspace.now)
    assert (await workspace.store.resolve("abcdefgh")).content == "one"


async def test_unknown_and_too_short_ids_are_told_apart(workspace: Workspace) -> None:
    with pytest.raises(MemoryNotFound, match="Use recall"):
        await workspace.store.resolve("nothing-here")
    with pytest.raises(InvalidInput, match="at least 8"):
        await workspace.store.resolve("abc")


async def test_a_memory_is_found_by_a_word_inside_an_identifier(workspace: Workspace, make: Make) -> None:
    item = make("getUserById returns nothing for the deleted")
    await workspace.store.add([item, make("quite another matter")], actor="test", at=workspace.now)
    assert [hit.id for hit in await workspace.store.matching("user", Scope(), 5)] == [item.memory.id]


async def test_a_move_takes_vector_and_text_along(workspace: Workspace, make: Make) -> None:
    item = make("the harbour at night")
    await workspace.store.add([item], actor="test", at=workspace.now)
    async with workspace.store.changing():
        moved = await workspace.store.move(item.memory, "procedural", actor="test", at=workspace.now)
    assert moved == replace(item.memory, layer="procedural")
    assert await workspace.store.resolve(item.memory.id) == moved
    assert [hit.table for hit in await workspace.store.matching("harbour", Scope(), 5)] == ["procedural"]
    [hit] = await workspace.store.nearest(item.vector, Scope(), 5)
    assert (hit.table, round(hit.similarity, 3)) == ("procedural", 1.0)


async def test_a_move_cut_short_leaves_one_memory_to_readers(workspace: Workspace, make: Make) -> None:
    item = make("left behind")
    later = workspace.now + timedelta(seconds=1)
    twin = replace(item, memory=replace(item.memory, layer="procedural", updated_at=later))
    await workspace.store.add([item], actor="test", at=workspace.now)
    await workspace.store.add([twin], actor="test", at=workspace.now)
    assert [memory.layer for memory in await workspace.store.find(equals("id", item.memory.id))] == ["procedural"]


async def test_changing_one_field_leaves_a_counter_that_moved_meanwhile_alone(
    workspace: Workspace, make: Make
) -> None:
    item = make("counted")
    await workspace.store.add([item], actor="test", at=workspace.now)
    table = workspace.store.database.table("semantic")
    await table.update_by({"access_count": "access_count + 5"}, equals("id", item.memory.id))
    async with workspace.store.changing():
        # The caller's copy still says 0: only what it changes may be written.
        await workspace.store.change([item.memory], {"pinned": True}, action="pinned", actor="test", at=workspace.now)
    found = await workspace.store.resolve(item.memory.id)
    assert (found.pinned, found.access_count) == (True, 5)


async def test_the_journal_tells_before_and_after(workspace: Workspace, make: Make) -> None:
    item = make("told", tags=("old",))
    await workspace.store.add([item], actor="remember", at=workspace.now)
    async with workspace.store.changing():
        await workspace.store.change(
            [item.memory],
            {"tags": ("new",), "forget_after": workspace.now},
            action="edited",
            actor="test",
            at=workspace.now,
            reason="it's why",
        )
    first, second = await workspace.store.journal.about(item.memory.id)
    assert (first.action, first.actor) == ("remembered", "remember")
    assert second.before == {"tags": ("old",), "forget_after": None}
    assert second.after == {"tags": ("new",), "forget_after": workspace.now}
    assert second.reason == "it's why"


async def test_other_sessions_see_a_memory_at_once(open_workspace: OpenWorkspace) -> None:
    from reverie.tools.remember import Request, remember

    writer, reader = await open_workspace(), await open_workspace()
    assert await reader.store.count() == 0
    kept = await remember(writer, Request(content="seen by all"))
    assert (await reader.store.resolve(kept.id)).content == "seen by all"
    [embedding] = await reader.embed(["seen by all"])
    assert [hit.id for hit in await reader.store.nearest(embedding.vector, Scope(), 3)] == [kept.id]


async def test_if_the_journal_cannot_be_written_the_memory_does_not_stay(
    workspace: Workspace, make: Make, home: Path
) -> None:
    await workspace.store.add([make("the first")], actor="test", at=workspace.now)
    await workspace.store.journal.settle()
    (home / "domains" / "default" / "journal" / "waiting.jsonl").mkdir()  # where the file should be
    with pytest.raises(StoreError):
        await workspace.store.add([make("half written? " * 60)], actor="test", at=workspace.now)
    assert await workspace.store.count() == 1
    assert await workspace.store.database.table("passages").count() == 0


async def test_writing_over_a_known_id_replaces_text_vector_and_layer(workspace: Workspace, make: Make) -> None:
    old = make("about the moon", id="fixed-id")
    await workspace.store.add([old], actor="test", at=workspace.now)
    [first] = await workspace.store.nearest(old.vector, Scope(), 1)
    assert first.similarity > 0.99
    later = workspace.now + timedelta(minutes=1)
    new = make("all on ships", id="fixed-id", layer="episodic", updated_at=later)
    async with workspace.store.changing():
        await workspace.store.replace([new], actor="test", at=later)
    assert await workspace.store.find() == [new.memory]
    [hit] = await workspace.store.nearest(new.vector, Scope(), 1)
    assert (hit.table, hit.similarity > 0.99) == ("episodic", True)


async def test_writing_over_a_known_id_in_its_layer_replaces_the_vector_that_is_searched(
    workspace: Workspace, make: Make
) -> None:
    old = make("about the moon", id="fixed-id")
    await workspace.store.add([old], actor="test", at=workspace.now)
    await workspace.store.nearest(old.vector, Scope(), 1)  # now it is on the shelf
    later = workspace.now + timedelta(minutes=1)
    new = make("all on ships", id="fixed-id", updated_at=later)
    async with workspace.store.changing():
        await workspace.store.replace([new], actor="test", at=later)
    [hit] = await workspace.store.nearest(new.vector, Scope(), 1)
    assert hit.similarity > 0.99


async def test_all_tables_of_the_design_are_there_with_a_primary_key(workspace: Workspace) -> None:
    names = (*LAYERS, "events", "accesses", "dreams", "questions", "meta", "passages")
    for name in names:
        schema = await workspace.store.database.table(name).lance.schema()
        assert schema.field("id").nullable is False
        metadata = schema.field("id").metadata or {}
        assert any(b"primary" in key for key in metadata), name


async def test_a_layer_table_has_its_text_and_id_indexed_from_the_first_row(workspace: Workspace) -> None:
    for layer in LAYERS:
        assert {"search_text", "id"} <= await workspace.store.database.table(layer).indexed_columns()


async def test_a_row_that_is_moved_while_it_is_looked_for_is_still_read(workspace: Workspace, make: Make) -> None:
    item = make("restless")
    await workspace.store.add([item], actor="test", at=workspace.now)
    table = workspace.store.database.table("semantic")
    stale = await table.places(equals("id", item.memory.id))
    for _ in range(3):  # each update puts the row somewhere else
        await table.update_by({"access_count": "access_count + 1"}, equals("id", item.memory.id))
    rows = await table.at_places(stale, ["content", "access_count"])
    assert rows.to_pylist() == [{"content": "restless", "access_count": 3}]
    await table.delete(equals("id", item.memory.id))
    assert len(await table.at_places(stale, ["content"])) == 0


async def test_a_search_knows_what_the_words_of_a_question_could_score(workspace: Workspace, make: Make) -> None:
    items = [make("the lamp is lit"), make("quite another matter")]
    await workspace.store.add(items, actor="test", at=workspace.now)
    found = await workspace.store.search.find(Question("lamp glass"), Scope(), 5)
    # Of two memories one has a lamp, ln(1 + 1.5 / 1.5), none glass, ln(1 + 2.5 / 0.5); each k1 + 1 times at most.
    assert found.most_text == pytest.approx(2.2 * (math.log(2) + math.log(6)))
    assert [0.0 < candidate.text < found.most_text for candidate in found.candidates] == [True]
