"""Vectors lose bits as memories fade, and get them back: by a recall, a pin, a restore, or undoing the dream."""

import io
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pyarrow as pa
import pytest

from reverie.embeddings.base import Embedder
from reverie.embeddings.bundled import BundledEmbedder
from reverie.memory import LAYERS
from reverie.recall.results import Recalled
from reverie.storage.packed_vectors import VECTOR_COLUMNS, matrix_of
from reverie.storage.scope import Scope
from reverie.tools import recall
from reverie.tools.consolidate import consolidate
from reverie.tools.forget import forget
from reverie.tools.import_jsonl import import_memories
from reverie.tools.inspect import inspect
from reverie.tools.remember import remember
from reverie.tools.requests import (
    ConsolidateRequest,
    ForgetRequest,
    InspectRequest,
    PinRequest,
    RecallRequest,
    RememberRequest,
    RestoreRequest,
    ReviseRequest,
)
from reverie.tools.restore import restore
from reverie.tools.results import Consolidated, Remembered
from reverie.tools.revise import pin, revise
from reverie.tools.session import Session
from tests.conftest import ManualClock
from tests.tiny_embedder import TinyEmbedder

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

Keep = Callable[..., Awaitable[Remembered]]
Ask = Callable[..., Awaitable[Recalled]]
OpenSession = Callable[..., Awaitable[Session]]

NEST = "The kestrel nests above the harbour gate"
PARTS = ("door", "stair", "lamp", "rail") * 4
LONG = " ".join(f"The {word} of the lighthouse was painted by the keeper." for word in PARTS)


async def dream(session: Session, **arguments: Any) -> Consolidated:
    return await consolidate(session, ConsolidateRequest(**arguments))


async def precision(session: Session, memory_id: str) -> int:
    [memory] = (await inspect(session, InspectRequest(ids=[memory_id]))).memories
    return int(memory["precision"])


async def stored(session: Session, memory_id: str) -> pa.Table:
    """The vectors of a memory and its passages, as the tables have them."""
    parts = [await session.store.database.table(layer).rows(["id", "precision", *VECTOR_COLUMNS]) for layer in LAYERS]
    parts.append(await session.store.database.table("passages").rows(["id", "precision", *VECTOR_COLUMNS]))
    rows = pa.concat_tables([part.select(["id", "precision", *VECTOR_COLUMNS]) for part in parts])
    ours = [one == memory_id or one.startswith(f"{memory_id}#") for one in rows.column("id").to_pylist()]
    return rows.filter(pa.array(ours)).sort_by("id")


def bits_of(embedder: Embedder, text: str) -> list[bytes]:
    [made] = embedder.embed([text])
    return [vector.tobytes() for vector in (made.vector, *made.passages)]


async def whole_vectors(session: Session, memory_id: str) -> list[bytes]:
    rows = await stored(session, memory_id)
    assert set(rows.column("precision").to_pylist()) == {32}
    assert rows.column("packed").null_count == len(rows)
    return [vector.tobytes() for vector in matrix_of(rows, session.embedder.dimensions)]


Faded = Callable[..., Awaitable[str]]


@pytest.fixture
def faded(session: Session, keep: Keep, clock: ManualClock) -> Faded:
    """Remember an episode, let days pass and dream; return its id."""

    async def call(content: str = NEST, days: int = 60) -> str:
        kept = await keep(content, layer="episodic", source="human")
        clock.advance(days=days)
        await dream(session)
        return kept.id

    return call


@pytest.mark.rule("002-compression")
async def test_the_night_packs_vectors_by_retention_and_recall_still_finds_them(
    session: Session, keep: Keep, clock: ManualClock
) -> None:
    kept = await keep(NEST, layer="episodic", source="human", importance=0.9)
    lasting = await keep("Boats have keels", layer="semantic", source="human")
    seen = []
    # the half-life is 30 days: 2^(-1/6) = 0.89, 2^(-2/3) = 0.63, then a line: 0.47 at 40 days and 0.13 at 140
    for days in (5, 15, 20, 100):
        clock.advance(days=days)
        await dream(session)
        seen.append(await precision(session, kept.id))
        hits = await session.store.nearest(TinyEmbedder().embed([NEST])[0].vector, Scope(), 1)
        assert (hits[0].id, hits[0].similarity > 0.5) == (kept.id, True)
    assert seen == [32, 8, 4, 2]
    assert await precision(session, lasting.id) == 32
    answer = await recall.recall(session, RecallRequest(query="where does the kestrel nest?"))
    assert answer.results[0].content == NEST


@pytest.mark.parametrize("embedder", [TinyEmbedder(), BundledEmbedder()], ids=["tiny", "bundled"])
async def test_a_recall_brings_the_vector_back_in_the_next_night_bit_for_bit(
    open_session: OpenSession, clock: ManualClock, embedder: Embedder
) -> None:
    session = await open_session(embedder=embedder)
    kept = await remember(session, RememberRequest(content=LONG, layer="episodic", source="human"))
    others = [
        await remember(session, RememberRequest(content=text, layer="episodic", source="human"))
        for text in ("Rain fell on the market", "The ferry to the island was late")
    ]
    fresh = await whole_vectors(session, kept.id)
    assert fresh == bits_of(embedder, LONG)
    assert len(fresh) > (1 if isinstance(embedder, TinyEmbedder) else 0)
    clock.advance(days=40)
    await dream(session)
    rows = await stored(session, kept.id)
    assert set(rows.column("precision").to_pylist()) == {4}
    assert rows.column("vector").null_count == len(rows) == len(fresh)
    answer = await recall.recall(session, RecallRequest(query="who painted the stair of the lighthouse?", limit=1))
    assert [row.id for row in answer.results] == [kept.id]
    await session.accesses.count()
    report = await dream(session)
    assert report.steps[1].name == "forget"
    assert report.steps[1].applied == 1
    assert await whole_vectors(session, kept.id) == fresh
    assert [await precision(session, other.id) for other in others] == [4, 4]


@pytest.mark.rule("002-compression")
@pytest.mark.parametrize("embedder", [TinyEmbedder(), BundledEmbedder()], ids=["tiny", "bundled"])
async def test_undoing_the_dream_brings_every_vector_back_bit_for_bit_and_it_stays(
    open_session: OpenSession, clock: ManualClock, embedder: Embedder
) -> None:
    session = await open_session(embedder=embedder)
    kept = await remember(session, RememberRequest(content=LONG, layer="episodic", source="human"))
    fresh = await whole_vectors(session, kept.id)
    before = await session.store.get([kept.id])
    clock.advance(days=20)
    report = await dream(session)
    events = await session.store.journal.of_batch(report.dream_id)
    assert [(event.action, event.before["precision"], event.after["precision"]) for event in events] == [
        ("vector packed", 32, 8)
    ]
    assert (await dream(session)).changes == []
    await restore(session, RestoreRequest(dream_id=report.dream_id))
    assert await whole_vectors(session, kept.id) == fresh
    assert await session.store.get([kept.id]) == before
    assert (await dream(session)).changes == []  # undone stays undone, at this precision
    clock.advance(days=20)
    later = await dream(session)
    assert await precision(session, kept.id) == 4
    await restore(session, RestoreRequest(dream_id=later.dream_id))
    assert await whole_vectors(session, kept.id) == fresh


async def test_undoing_one_night_of_two_leaves_the_codes_of_the_night_before(
    session: Session, faded: Faded, clock: ManualClock
) -> None:
    kept = await faded(LONG, days=20)
    at_eight_bits = await stored(session, kept)
    clock.advance(days=120)
    later = await dream(session)
    assert await precision(session, kept) == 2
    await restore(session, RestoreRequest(dream_id=later.dream_id))
    assert (await stored(session, kept)).equals(at_eight_bits)


async def test_a_pin_keeps_a_vector_whole_and_makes_a_faded_one_whole_again(
    session: Session, keep: Keep, clock: ManualClock
) -> None:
    pinned = await keep(NEST, layer="episodic", source="human", pin=True)
    late = await keep(LONG, layer="episodic", source="human")
    clock.advance(days=130)
    await dream(session)
    assert [await precision(session, one.id) for one in (pinned, late)] == [32, 2]
    await pin(session, PinRequest(id=late.id))
    await dream(session)
    assert await whole_vectors(session, late.id) == bits_of(session.embedder, LONG)


async def test_a_restored_memory_has_its_whole_vector_at_once(session: Session, faded: Faded) -> None:
    kept = await faded(LONG)
    await forget(session, ForgetRequest(ids=[kept]))
    assert await precision(session, kept) == 4
    assert (await restore(session, RestoreRequest(ids=[kept]))).restored == [kept]
    assert await whole_vectors(session, kept) == bits_of(session.embedder, LONG)
    unpacked, restored = (await session.store.journal.about(kept))[-2:]
    assert (unpacked.action, unpacked.before, unpacked.after) == (
        "vector unpacked",
        {"precision": 4},
        {"precision": 32},
    )
    assert restored.action == "restored"


async def test_a_restored_event_of_forgetting_brings_the_whole_vector_too(session: Session, faded: Faded) -> None:
    kept = await faded()
    await forget(session, ForgetRequest(ids=[kept]))
    last = (await session.store.journal.about(kept))[-1]
    await restore(session, RestoreRequest(event_id=last.id))
    assert await whole_vectors(session, kept) == bits_of(session.embedder, NEST)


async def test_what_is_made_of_a_faded_memory_has_a_whole_vector(session: Session, faded: Faded) -> None:
    kept = await faded()
    revised = await revise(session, ReviseRequest(id=kept, content=NEST + " in spring"))
    assert await whole_vectors(session, revised.id) == bits_of(session.embedder, NEST + " in spring")
    assert await precision(session, kept) == 4


async def test_a_promoted_memory_takes_its_packed_vector_along_and_gets_the_whole_one_in_the_night(
    session: Session, faded: Faded
) -> None:
    kept = await faded(days=20)
    memory = (await session.store.get([kept]))[kept]
    async with session.store.changing():
        await session.store.move(memory, "semantic", actor="promote", at=session.now)
    assert (await stored(session, kept)).column("precision").to_pylist() == [8]
    await dream(session)
    assert await whole_vectors(session, kept) == bits_of(session.embedder, NEST)


async def test_a_dry_run_names_the_vectors_and_changes_none(session: Session, keep: Keep, clock: ManualClock) -> None:
    kept = await keep(NEST, layer="episodic", source="human")
    clock.advance(days=20)
    report = await dream(session, dry_run=True)
    assert [one.planned for one in report.steps if one.name == "forget"] == [1]
    assert await precision(session, kept.id) == 32


async def test_an_import_keeps_the_precision_and_packs_the_vector(session: Session) -> None:
    lines = [
        {"id": "faded-1", "content": NEST, "layer": "episodic", "precision": 2},
        {"id": "odd-1", "content": "Boats have keels", "layer": "episodic", "precision": 16},
    ]
    text = "\n".join(json.dumps(line) for line in lines)
    await import_memories(session, io.BytesIO(text.encode()), lambda _: None)
    assert (await stored(session, "faded-1")).column("vector").null_count == 1
    assert [await precision(session, one) for one in ("faded-1", "odd-1")] == [2, 32]
    assert await whole_vectors(session, "odd-1") == bits_of(session.embedder, "Boats have keels")


async def test_another_session_sees_a_vector_fade_and_come_back_in_memory_and_on_disk(
    open_session: OpenSession, session: Session, keep: Keep, clock: ManualClock
) -> None:
    kept = await keep(NEST, layer="episodic", source="human")
    watching = await open_session(), await open_session(search_memory=0)
    query = TinyEmbedder().embed([NEST])[0].vector

    async def seen() -> list[float]:
        hits = [await one.store.nearest(query, Scope(), 1) for one in watching]
        assert [hit.id for found in hits for hit in found] == [kept.id, kept.id]
        return [hit.similarity for found in hits for hit in found]

    assert await seen() == pytest.approx([1.0, 1.0], abs=1e-5)
    clock.advance(days=140)
    report = await dream(session)
    faded = await seen()
    assert faded[0] == pytest.approx(faded[1], abs=1e-5)
    assert abs(faded[0] - 1.0) > 1e-3
    await restore(session, RestoreRequest(dream_id=report.dream_id))
    assert await seen() == pytest.approx([1.0, 1.0], abs=1e-5)
