"""What dreams wrote from a memory, kept or undone, leaves no byte of it behind once it is purged."""

import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import lancedb
import pytest

from reverie.storage.audit import audit
from reverie.storage.purge import Quotes
from reverie.tools.consolidate import consolidate
from reverie.tools.forget import forget
from reverie.tools.requests import ConsolidateRequest, ForgetRequest, MoveRequest, RestoreRequest, ReviseRequest
from reverie.tools.restore import restore
from reverie.tools.results import Remembered
from reverie.tools.revise import demote, promote, revise
from reverie.tools.session import Session
from tests.model_server import Api, joins_notes

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

Keep = Callable[..., Awaitable[Remembered]]
BASE = "the Exporter job of the billing team writes one invoice file to the archive bucket every single night"
TAILS = ("as auditors want it", "when traffic stays low", "before reports get built", "with checks run twice")
MARKED = "while the quagmirevault stands open"


@pytest.fixture(autouse=True)
def a_model_that_joins_notes(api: Api) -> None:
    api.script = [joins_notes]


def found_in(home: Path, word: str) -> list[str]:
    """Name every file that holds a word, and every version of every table that says it once it is decoded."""
    holding = []
    for path in home.rglob("*"):
        with suppress(FileNotFoundError, IsADirectoryError):
            if word.encode() in path.read_bytes():
                holding.append(str(path.relative_to(home)))
    for tables in home.rglob("tables-*"):
        connection = lancedb.connect(tables)
        for name in connection.list_tables().tables:
            table = connection.open_table(name)
            for version in table.list_versions():
                table.checkout(version["version"])
                if word in json.dumps(table.to_arrow().to_pylist(), default=str):
                    holding.append(f"{name}, version {version['version']}")
    return holding


def unnamed_files(home: Path) -> dict[str, int]:
    """Count the data files of each table beyond the pieces it lies in: those could not be decoded."""
    extra = {}
    for tables in home.rglob("tables-*"):
        connection = lancedb.connect(tables)
        for name in connection.list_tables().tables:
            pieces = connection.open_table(name).stats()["fragment_stats"]["num_fragments"]
            files = len(list((tables / f"{name}.lance" / "data").glob("*.lance")))
            if files > pieces and name != "meta":
                extra[name] = files - pieces
    return extra


async def _a_life(session: Session, keep: Keep) -> tuple[str, str]:
    """Tell, revise and move a memory about, among others like it; return the ids of both its versions."""
    for tail in TAILS:
        await keep(f"{BASE} {tail}", layer="semantic")
    first = await keep("a zanzibarword nobody should keep", layer="episodic", title="zanzibartitle")
    await promote(session, MoveRequest(id=first.id))
    second = await revise(session, ReviseRequest(id=first.id, content=f"{BASE} {MARKED}", reason="zanzibarreason"))
    for move in (promote, demote, demote, promote):
        await move(session, MoveRequest(id=second.id))
    return first.id, second.id


@pytest.mark.parametrize("undone", [False, True], ids=["kept", "undone"])
async def test_no_byte_is_left_after_a_life_of_moves_revisions_and_dreams(
    undone: bool, session: Session, keep: Keep, api: Api, home: Path, clock: Any
) -> None:
    session.settings = replace(session.settings, llm="openai:some-model", llm_price=(1.0, 1.0))
    first, second = await _a_life(session, keep)
    clock.advance(hours=1)
    dreams = [
        await consolidate(session, ConsolidateRequest(steps=steps))
        for steps in (["digest", "peer_cards"], ["cluster"])
    ]
    dreamt = [m for m in await session.store.find() if m.source == "dream" and "quagmirevault" in m.content]
    assert {memory.kind for memory in dreamt} == {"digest", "peer_card", "fact"}
    if undone:
        clock.advance(hours=1)
        for one in reversed(dreams):
            await restore(session, RestoreRequest(dream_id=one.dream_id))
        assert len(await session.store.find()) == 6
    assert found_in(home, "quagmirevault")
    assert found_in(home, "zanzibar")
    preview = await forget(session, ForgetRequest(ids=[first, second], purge=True, dry_run=True))
    done = await forget(session, ForgetRequest(ids=[first, second], purge=True))
    assert preview.forgotten == done.forgotten
    assert set(done.forgotten) == {first, second} | (set() if undone else {memory.id for memory in dreamt})
    for word in ("quagmire", "zanzibar"):
        assert found_in(home, word) == []
    assert unnamed_files(home) == {}
    left = [memory for memory in await session.store.find() if memory.source != "dream"]
    assert [memory.status for memory in left] == ["active"] * 4  # what a purged merge had replaced is back
    assert (await audit(session.store)).faults == []


async def test_a_pinned_digest_stays_and_is_named(session: Session, keep: Keep, api: Api, clock: Any) -> None:
    ids = [(await keep(text)).id for text in ("Lamps burn oil", "Bells ring twice", "Ropes are stored dry")]
    clock.advance(hours=1)
    await consolidate(session, ConsolidateRequest(steps=["digest"]))
    [digest] = [memory for memory in await session.store.find() if memory.kind == "digest"]
    async with session.store.changing():
        await session.store.change([digest], {"pinned": True}, action="pinned", actor="t", at=session.now)
    done = await forget(session, ForgetRequest(ids=ids[:1], purge=True))
    assert done.forgotten == ids[:1]
    assert (digest.id, "pinned, and written by a dream from what goes") in [(i.id, i.reason) for i in done.skipped]


async def test_a_reason_that_quotes_it_is_blanked_and_the_audit_knows(
    session: Session, keep: Keep, home: Path
) -> None:
    kept = await keep("The zanzibarword opens the quagmirevault behind the mill.")
    other = await keep("Ropes are stored dry")
    reason = "it says: the zanzibarword opens the quagmirevault behind the mill, and that is that"
    async with session.store.changing():
        memory = await session.store.resolve(other.id)
        values = {"status": "challenged", "status_reason": reason}
        await session.store.change([memory], values, action="challenged", actor="t", at=session.now, reason=reason)
    await forget(session, ForgetRequest(ids=[kept.id], purge=True))
    assert found_in(home, "zanzibar") == []
    memory = await session.store.resolve(other.id)
    assert (memory.status, memory.status_reason) == ("challenged", "it says: [purged], and that is that")
    assert (await audit(session.store)).faults == []


async def test_what_a_killed_write_left_in_a_table_goes_as_well(session: Session, keep: Keep, home: Path) -> None:
    kept = await keep("The zanzibarword opens the vault.")
    await session.store.find()  # brings it to its table
    [data] = (home / "domains" / "default" / "tables-1" / "semantic.lance" / "data").glob("*.lance")
    data.with_name("00000000000000000000000000000000000000000000000000.lance").write_bytes(data.read_bytes())
    await forget(session, ForgetRequest(ids=[kept.id], purge=True))
    assert found_in(home, "zanzibar") == []


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("See: the lamp burns oil and never gas. Really.", "See: [purged] Really."),
        ("THE  LAMP\nburns oil, and never gas", "[purged]"),
        ("the lamp burns something else", "the lamp burns something else"),
        ("one two three four five six seven eight nine", "[purged] nine"),
    ],
)
def test_quotations_are_found_whatever_their_spaces_case_and_punctuation(text: str, left: str) -> None:
    quotes = Quotes(["The lamp burns oil and never gas.", "zero one two three four five six seven eight"])
    assert quotes.without(text) == left
