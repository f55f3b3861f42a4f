from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from reverie.errors import AmbiguousId, InvalidInput, MemoryNotFound, StoreError, StoreUnavailable
from reverie.memory import LAYERS, Anchor
from reverie.storage.filters import equals
from reverie.storage.rows import Embedded
from reverie.storage.scope import Scope
from reverie.tools.requests import RememberRequest
from reverie.tools.session import Session

pytestmark = pytest.mark.anyio

Make = Callable[..., Embedded]
OpenSession = Callable[..., Awaitable[Session]]


async def test_every_field_of_a_memory_comes_back_as_it_was_written(session: Session, make: Make) -> None:
    now = session.now
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
    await session.store.add([item], actor="test", at=now)
    assert await session.store.resolve(item.memory.id) == item.memory


async def test_a_prefix_of_eight_characters_finds_a_memory(session: Session, make: Make) -> None:
    item = make("one", id="abcdefgh-rest")
    await session.store.add([item], actor="test", at=session.now)
    assert (await session.store.resolve("abcdefgh")).id == "abcdefgh-rest"


async def test_a_prefix_that_fits_several_names_them(session: Session, make: Make) -> None:
    items = [make("one", id="abcdefgh-1"), make("two", id="abcdefgh-2", layer="episodic")]
    await session.store.add(items, actor="test", at=session.now)
    with pytest.raises(AmbiguousId) as caught:
        await session.store.resolve("abcdefgh")
    assert caught.value.candidates == ("abcdefgh-1", "abcdefgh-2")


async def test_an_id_that_is_also_the_beginning_of_another_is_itself(session: Session, make: Make) -> None:
    items = [make("one", id="abcdefgh"), make("two", id="abcdefgh-2")]
    await session.store.add(items, actor="test", at=session.now)
    assert (await session.store.resolve("abcdefgh")).content == "one"


async def test_unknown_and_too_short_ids_are_told_apart(session: Session) -> None:
    with pytest.raises(MemoryNotFound, match="Use recall"):
        await session.store.resolve("nothing-here")
    with pytest.raises(InvalidInput, match="at least 8"):
        await session.store.resolve("abc")


async def test_a_memory_is_found_by_a_word_inside_an_identifier(session: Session, make: Make) -> None:
    item = make("getUserById returns nothing for the deleted")
    await session.store.add([item, make("quite another matter")], actor="test", at=session.now)
    assert [hit.id for hit in await session.store.matching("user", Scope(), 5)] == [item.memory.id]


async def test_a_move_takes_vector_and_text_along(session: Session, make: Make) -> None:
    item = make("the harbour at night")
    await session.store.add([item], actor="test", at=session.now)
    async with session.store.changing():
        moved = await session.store.move(item.memory, "procedural", actor="test", at=session.now)
    assert moved == replace(item.memory, layer="procedural")
    assert await session.store.resolve(item.memory.id) == moved
    assert [hit.table for hit in await session.store.matching("harbour", Scope(), 5)] == ["procedural"]
    [hit] = await session.store.nearest(item.vector, Scope(), 5)
    assert (hit.table, round(hit.similarity, 3)) == ("procedural", 1.0)


async def test_a_move_cut_short_leaves_one_memory_to_readers(session: Session, make: Make) -> None:
    item = make("left behind")
    later = session.now + timedelta(seconds=1)
    twin = replace(item, memory=replace(item.memory, layer="procedural", updated_at=later))
    await session.store.add([item], actor="test", at=session.now)
    await session.store.add([twin], actor="test", at=session.now)
    assert [memory.layer for memory in await session.store.find(equals("id", item.memory.id))] == ["procedural"]


async def test_changing_one_field_leaves_a_counter_that_moved_meanwhile_alone(session: Session, make: Make) -> None:
    item = make("counted")
    await session.store.add([item], actor="test", at=session.now)
    table = session.store.database.table("semantic")
    await table.update_by({"access_count": "access_count + 5"}, equals("id", item.memory.id))
    async with session.store.changing():
        # The caller's copy still says 0: only what it changes may be written.
        await session.store.change([item.memory], {"pinned": True}, action="pinned", actor="test", at=session.now)
    found = await session.store.resolve(item.memory.id)
    assert (found.pinned, found.access_count) == (True, 5)


async def test_the_journal_tells_before_and_after(session: Session, make: Make) -> None:
    item = make("told", tags=("old",))
    await session.store.add([item], actor="remember", at=session.now)
    async with session.store.changing():
        await session.store.change(
            [item.memory],
            {"tags": ("new",), "forget_after": session.now},
            action="edited",
            actor="test",
            at=session.now,
            reason="it's why",
        )
    first, second = await session.store.journal.about(item.memory.id)
    assert (first.action, first.actor) == ("remembered", "remember")
    assert second.before == {"tags": ("old",), "forget_after": None}
    assert second.after == {"tags": ("new",), "forget_after": session.now}
    assert second.reason == "it's why"


async def test_other_sessions_see_a_memory_at_once(open_session: OpenSession) -> None:
    from reverie.tools.remember import remember

    writer, reader = await open_session(), await open_session()
    assert await reader.store.count() == 0
    kept = await remember(writer, RememberRequest(content="seen by all"))
    assert (await reader.store.resolve(kept.id)).content == "seen by all"
    [embedding] = await reader.embed(["seen by all"])
    assert [hit.id for hit in await reader.store.nearest(embedding.vector, Scope(), 3)] == [kept.id]


async def test_if_the_journal_cannot_be_written_the_memory_does_not_stay(
    session: Session, make: Make, home: Path
) -> None:
    await session.store.add([make("the first")], actor="test", at=session.now)
    await session.store.journal.flush()
    (home / "domains" / "default" / "journal" / "waiting.jsonl").mkdir()  # where the file should be
    with pytest.raises(StoreError):
        await session.store.add([make("half written? " * 60)], actor="test", at=session.now)
    assert await session.store.count() == 1
    assert await session.store.database.table("passages").count() == 0


async def test_writing_over_a_known_id_replaces_text_vector_and_layer(session: Session, make: Make) -> None:
    old = make("about the moon", id="fixed-id")
    await session.store.add([old], actor="test", at=session.now)
    [first] = await session.store.nearest(old.vector, Scope(), 1)
    assert first.similarity > 0.99
    later = session.now + timedelta(minutes=1)
    new = make("all on ships", id="fixed-id", layer="episodic", updated_at=later)
    async with session.store.changing():
        await session.store.replace([new], actor="test", at=later)
    assert await session.store.find() == [new.memory]
    [hit] = await session.store.nearest(new.vector, Scope(), 1)
    assert (hit.table, hit.similarity > 0.99) == ("episodic", True)


async def test_writing_over_a_known_id_in_its_layer_replaces_the_vector_that_is_searched(
    session: Session, make: Make
) -> None:
    old = make("about the moon", id="fixed-id")
    await session.store.add([old], actor="test", at=session.now)
    await session.store.nearest(old.vector, Scope(), 1)  # now it is on the shelf
    later = session.now + timedelta(minutes=1)
    new = make("all on ships", id="fixed-id", updated_at=later)
    async with session.store.changing():
        await session.store.replace([new], actor="test", at=later)
    [hit] = await session.store.nearest(new.vector, Scope(), 1)
    assert hit.similarity > 0.99


async def test_all_tables_of_the_design_are_there_with_a_primary_key(session: Session) -> None:
    names = (*LAYERS, "archive", "events", "accesses", "dreams", "questions", "meta", "passages", "archived_passages")
    for name in names:
        schema = await session.store.database.table(name).lance.schema()
        assert schema.field("id").nullable is False
        metadata = schema.field("id").metadata or {}
        assert any(b"primary" in key for key in metadata), name


async def test_a_layer_table_has_its_text_and_id_indexed_from_the_first_row(session: Session) -> None:
    for layer in LAYERS:
        assert {"search_text", "id"} <= await session.store.database.table(layer).indexed_columns()


async def test_a_row_that_is_moved_while_it_is_looked_for_is_still_read(session: Session, make: Make) -> None:
    item = make("restless")
    await session.store.add([item], actor="test", at=session.now)
    table = session.store.database.table("semantic")
    stale = await table.row_ids(equals("id", item.memory.id))
    for _ in range(3):  # each update puts the row somewhere else
        await table.update_by({"access_count": "access_count + 1"}, equals("id", item.memory.id))
    rows = await table.take_by_id(stale, ["content", "access_count"])
    assert rows.to_pylist() == [{"content": "restless", "access_count": 3}]
    await table.delete(equals("id", item.memory.id))
    assert len(await table.take_by_id(stale, ["content"])) == 0


async def test_what_a_full_disk_refuses_is_not_there_afterwards_though_nothing_could_be_flushed(
    session: Session, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, refused = make("the lamp that was kept"), make("the lamp that was refused")
    await session.store.add([kept], actor="test", at=session.now)

    async def full(*_given: object) -> None:
        raise StoreUnavailable("The disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(session.store.journal, "write", full)
        patch.setattr(session.store.database.write_ahead_log, "_add", full)
        with pytest.raises(StoreUnavailable):
            await session.store.add([refused], actor="test", at=session.now)
    assert [memory.id for memory in await session.store.find()] == [kept.memory.id]
