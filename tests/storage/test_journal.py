import json
import shutil
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from reverie.storage.audit import audit
from reverie.storage.filters import equals
from reverie.storage.homes import write_chain
from reverie.storage.host_chains import chain_of
from reverie.storage.journal import START, Link, link_after
from reverie.storage.maintenance import fold_old_logs
from reverie.storage.purge import purge
from reverie.storage.rows import Embedded
from reverie.tools.session import Session

pytestmark = pytest.mark.anyio

Make = Callable[..., Embedded]
OpenSession = Callable[..., Awaitable[Session]]


async def _three_memories(session: Session, make: Make) -> list[Embedded]:
    items = [make(f"thing {number}") for number in range(3)]
    await session.store.add(items, actor="test", at=session.now)
    async with session.store.changing():
        await session.store.change(
            [items[0].memory], {"pinned": True}, action="pinned", actor="test", at=session.now, reason="by hand"
        )
    return items


async def test_events_are_read_whether_they_are_pending_or_flushed(open_session: OpenSession, make: Make) -> None:
    mine, other = await open_session(), await open_session()
    [first, *_] = await _three_memories(mine, make)
    pending = await other.store.journal.about(first.memory.id)
    assert [event.action for event in pending] == ["remembered", "pinned"]
    assert await other.store.journal.flush() == 4
    assert await mine.store.journal.about(first.memory.id) == pending
    assert await mine.store.journal.beginning("id", pending[1].id) == [pending[1]]
    assert await mine.store.journal.flush() == 0


async def test_a_flush_cut_short_doubles_no_event(session: Session, make: Make, home: Path) -> None:
    await _three_memories(session, make)
    folder = home / "domains" / "default" / "journal"
    copy = (folder / "waiting.jsonl").read_bytes()
    await session.store.journal.flush()
    (folder / "settling-again.jsonl").write_bytes(copy)
    assert await session.store.journal.flush() == 0
    assert await session.store.database.table("events").count() == 4


def test_a_link_covers_the_number_the_fields_and_the_link_before() -> None:
    row = {
        "id": "e1",
        "at": "2026-01-01T00:00:00Z",
        "action": "pinned",
        "memory_id": "m",
        "actor": "a",
        "session": "s",
        "batch": None,
    }
    link = link_after(START, row, "digest")
    assert link.number == 1
    assert link == link_after(START, row, "digest")
    others = [
        link_after(Link(0, "x"), row, "digest"),
        link_after(START, row, "other"),
        *(link_after(START, {**row, name: "changed"}, "digest") for name in row),
    ]
    assert link.hash not in {other.hash for other in others}


async def test_an_untouched_journal_is_intact_before_and_after_a_flush(session: Session, make: Make) -> None:
    await _three_memories(session, make)
    pending = await audit(session.store)
    assert (pending.events, pending.faults, pending.head.number, pending.memories) == (4, [], 4, 3)
    assert pending.unchecked == []
    await session.store.journal.flush()
    assert await audit(session.store) == pending
    await _three_memories(session, make)  # the chain continues over the flush
    assert (await audit(session.store)).intact


@pytest.mark.parametrize(
    ("column", "value"),
    [("after", '{"pinned": false}'), ("reason", "by nobody"), ("actor", "somebody"), ("memory_id", "another")],
)
async def test_a_changed_event_shows(session: Session, make: Make, column: str, value: str) -> None:
    await _three_memories(session, make)
    await session.store.journal.flush()
    await session.store.database.table("events").update(equals("action", "pinned"), {column: value})
    [fault, *_] = (await audit(session.store)).faults
    assert "event 4" in fault


async def test_blanked_texts_show_unless_there_was_a_purge(session: Session, make: Make) -> None:
    items = await _three_memories(session, make)
    await session.store.journal.flush()
    await session.store.journal.blank([items[0].memory.id])
    assert "texts changed" in (await audit(session.store)).faults[0]
    async with session.store.changing():
        await purge(session.store, [items[0].memory], actor="test", at=session.now)
    found = await audit(session.store)
    assert (found.faults, found.purged) == ([], 3)


async def test_a_removed_event_shows_in_the_middle_and_at_the_end(session: Session, make: Make) -> None:
    await _three_memories(session, make)
    await session.store.journal.flush()
    table = session.store.database.table("events")
    await table.delete(equals("number", 4))
    assert "events 4 to 4 are missing at the end" in (await audit(session.store)).faults[0]
    await table.delete(equals("number", 2))
    assert "events 2 to 2 are missing" in (await audit(session.store)).faults[0]


async def test_a_changed_line_in_the_file_shows(session: Session, make: Make, home: Path) -> None:
    await _three_memories(session, make)
    file = home / "domains" / "default" / "journal" / "waiting.jsonl"
    file.write_bytes(file.read_bytes().replace(b"by hand", b"by foot"))
    assert not (await audit(session.store)).intact


async def test_old_events_that_replaced_nothing_are_folded_and_the_chain_holds(session: Session, make: Make) -> None:
    items = await _three_memories(session, make)
    later = session.now + timedelta(days=100)
    async with session.store.changing():
        await session.store.change([items[1].memory], {"pinned": True}, action="pinned", actor="t", at=later)
    for _ in range(2):  # the second time there is nothing left to fold
        async with session.store.changing():
            await fold_old_logs(session.store, later - timedelta(days=90), later)
    journal = session.store.journal
    left = await journal.rows()
    assert [(row["number"], row["action"]) for row in left] == [
        (3, "remembered"),
        (4, "pinned"),
        (5, "pinned"),
        (6, "folded"),
    ]
    assert json.loads(left[-1]["reason"])["counts"] == {"remembered": 2}
    found = await audit(session.store)
    assert (found.faults, found.folded) == ([], 2)
    await journal.flush()
    await session.store.database.table("events").delete(equals("number", 5))
    assert not (await audit(session.store)).intact


async def test_the_chain_of_one_host_is_folded_and_checked_like_a_folders(
    open_session: OpenSession, make: Make, home: Path
) -> None:
    write_chain(home / "domains" / "default", 3)  # as after a move from a bucket
    host = await open_session()
    items = await _three_memories(host, make)
    later = host.now + timedelta(days=100)
    async with host.store.changing():
        await host.store.change([items[1].memory], {"pinned": True}, action="pinned", actor="t", at=later)
        await fold_old_logs(host.store, later - timedelta(days=90), later)
    left = await host.store.journal.rows()
    assert [row["action"] for row in left] == ["remembered", "pinned", "pinned", "folded"]
    assert {chain_of(row["number"]) for row in left} == {3}
    found = await audit(host.store)
    assert (found.faults, found.folded) == ([], 2)
    await host.store.journal.flush()
    await host.store.database.table("events").delete(equals("number", left[2]["number"]))
    assert "does not follow from the one before it" in (await audit(host.store)).faults[0]


async def test_events_of_several_hosts_are_in_order_whatever_their_clocks_said(
    open_session: OpenSession, make: Make, home: Path
) -> None:
    folder, [item] = home / "domains" / "default", [make("thing")]
    for index in (5, 2, 9):  # one host after the other, each with a journal of its own
        write_chain(folder, index)
        host = await open_session()
        if index == 5:
            await host.store.add([item], actor="test", at=host.now)
        async with host.store.changing():
            at = host.now - timedelta(hours=index)
            await host.store.change([item.memory], {"title": f"by {index}"}, action="retitled", actor="t", at=at)
        await host.store.journal.flush()
        shutil.rmtree(folder / "journal")
    events = await host.store.journal.about(item.memory.id)
    assert [event.after.get("title") for event in events] == [None, "by 5", "by 2", "by 9"]
    # The last of them says what the row must be; where the other chains end is not known here.
    assert [fault for fault in (await audit(host.store)).faults if "changed behind" in fault] == []
