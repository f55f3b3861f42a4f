import io
import json
from collections.abc import Awaitable, Callable

import pytest

from reverie.errors import InvalidInput, MemoryNotFound
from reverie.settings import RETENTION_MODES
from reverie.storage.scope import Scope
from reverie.tools import remember
from reverie.tools.forget import forget
from reverie.tools.import_jsonl import import_memories
from reverie.tools.requests import (
    ForgetRequest,
    MoveRequest,
    PinRequest,
    RememberRequest,
    RestoreRequest,
    ReviseRequest,
)
from reverie.tools.restore import restore
from reverie.tools.results import Remembered
from reverie.tools.revise import pin, promote, revise
from reverie.tools.session import Session
from reverie.tools.sweep import sweep

pytestmark = pytest.mark.anyio

Keep = Callable[..., Awaitable[Remembered]]
OpenSession = Callable[..., Awaitable[Session]]


async def _last_event(session: Session, memory_id: str) -> str:
    return (await session.store.journal.about(memory_id))[-1].id


async def test_an_event_is_taken_back(session: Session, keep: Keep) -> None:
    kept = await keep("the lamp burns oil")
    await pin(session, PinRequest(id=kept.id))
    await restore(session, RestoreRequest(event_id=await _last_event(session, kept.id)))
    assert not (await session.store.resolve(kept.id)).pinned


async def test_a_move_is_taken_back(session: Session, keep: Keep) -> None:
    kept = await keep("the lamp burns oil", layer="episodic")
    await promote(session, MoveRequest(id=kept.id))
    await restore(session, RestoreRequest(event_id=await _last_event(session, kept.id)))
    assert (await session.store.resolve(kept.id)).layer == "episodic"


async def test_undoing_can_itself_be_undone(session: Session, keep: Keep) -> None:
    kept = await keep("the lamp burns oil")
    await pin(session, PinRequest(id=kept.id))
    await restore(session, RestoreRequest(event_id=await _last_event(session, kept.id)))
    await restore(session, RestoreRequest(event_id=await _last_event(session, kept.id)))
    assert (await session.store.resolve(kept.id)).pinned


async def test_undoing_an_event_leaves_what_was_changed_since_and_says_so(session: Session, keep: Keep) -> None:
    kept = await keep("the lamp burns oil", layer="episodic")
    await promote(session, MoveRequest(id=kept.id))
    first = await _last_event(session, kept.id)
    await promote(session, MoveRequest(id=kept.id))
    answer = await restore(session, RestoreRequest(event_id=first))
    assert (answer.restored, [(one.id, one.reason) for one in answer.skipped]) == (
        [],
        [(kept.id, "changed since: layer")],
    )
    assert (await session.store.resolve(kept.id)).layer == "procedural"


async def test_undoing_an_event_sets_back_the_fields_that_nobody_changed_since(session: Session, keep: Keep) -> None:
    kept = await keep("the lamp burns oil")
    memory = await session.store.resolve(kept.id)
    async with session.store.changing():
        changes = {"tags": ("oil",), "importance": 0.9}
        await session.store.change([memory], changes, action="set", actor="test", at=session.now)
        first = await _last_event(session, kept.id)
        await session.store.change([memory], {"importance": 0.1}, action="set", actor="test", at=session.now)
    answer = await restore(session, RestoreRequest(event_id=first))
    assert (answer.restored, answer.skipped[0].reason) == ([kept.id], "changed since: importance")
    after = await session.store.resolve(kept.id)
    assert (after.tags, after.importance) == (memory.tags, 0.1)


async def test_undoing_an_import_leaves_what_was_changed_since(session: Session, keep: Keep) -> None:
    kept = await keep("the lamp burns oil", layer="semantic")
    line = json.dumps({"id": kept.id, "content": "plums and cherries", "layer": "semantic", "tags": ["fruit"]})
    await import_memories(session, io.BytesIO(line.encode()), lambda _: None)
    imported = await _last_event(session, kept.id)
    await promote(session, MoveRequest(id=kept.id))
    answer = await restore(session, RestoreRequest(event_id=imported))
    assert (answer.restored, answer.skipped) == ([kept.id], [])
    after = await session.store.resolve(kept.id)
    assert (after.content, after.tags, after.layer) == ("the lamp burns oil", (), "procedural")


async def test_undoing_the_writing_of_a_memory_that_was_pinned_since_leaves_it(session: Session, keep: Keep) -> None:
    kept = await keep("the lamp burns oil")
    written = await _last_event(session, kept.id)
    await pin(session, PinRequest(id=kept.id))
    assert (await restore(session, RestoreRequest(event_id=written))).skipped[0].reason == "pinned since"
    assert (await session.store.resolve(kept.id)).status == "active"


async def test_undoing_a_writing_lets_the_memory_go_softly(session: Session, keep: Keep) -> None:
    kept = await keep("the lamp burns oil")
    await restore(session, RestoreRequest(event_id=await _last_event(session, kept.id)))
    assert (await session.store.resolve(kept.id)).status == "expired"


async def test_the_superseded_comes_back_beside_its_successor(session: Session, keep: Keep) -> None:
    kept = await keep("the lamp burns oil")
    new = await revise(session, ReviseRequest(id=kept.id, content="the lamp burns gas"))
    assert (await restore(session, RestoreRequest(ids=[kept.id]))).restored == [kept.id]
    memory = await session.store.resolve(kept.id)
    assert (memory.status, memory.superseded_by, memory.expired_at) == ("active", None, None)
    assert (await session.store.resolve(new.id)).status == "active"


async def test_what_is_active_needs_no_restoring(session: Session, keep: Keep) -> None:
    kept = await keep("the lamp burns oil")
    answer = await restore(session, RestoreRequest(ids=[kept.id]))
    assert (answer.restored, answer.skipped[0].reason) == ([], "already active")


async def test_what_was_purged_cannot_be_restored(session: Session, keep: Keep) -> None:
    kept = await keep("the lamp burns oil")
    await pin(session, PinRequest(id=kept.id))
    event = await _last_event(session, kept.id)
    await pin(session, PinRequest(id=kept.id, pinned=False))
    await forget(session, ForgetRequest(ids=[kept.id], purge=True))
    with pytest.raises(MemoryNotFound):
        await restore(session, RestoreRequest(ids=[kept.id]))
    assert (await restore(session, RestoreRequest(event_id=event))).skipped[0].reason == "purged since"


@pytest.mark.parametrize(
    "arguments", [{}, {"ids": ["a" * 9], "event_id": "b"}, {"event_id": "unknown"}, {"dream_id": "unknown"}]
)
async def test_a_wrong_request_is_told_what_to_give(session: Session, arguments: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        await restore(session, RestoreRequest(**arguments))  # type: ignore[arg-type]


# ── what a sweep expired and a user brought back stays ─────────────────────────────────────────────────────────────


async def _swept_away(session: Session, memory_id: str) -> None:
    assert [memory_id] in (await sweep(session)).expired.values()


async def _stays(session: Session, memory_id: str) -> None:
    assert (await sweep(session)).expired == {}
    assert (await session.store.resolve(memory_id)).status == "active"


@pytest.mark.parametrize("retention", RETENTION_MODES)
async def test_what_expired_as_faded_and_was_restored_stays(
    open_session: OpenSession, clock: Callable[[], object], retention: str
) -> None:
    session = await open_session(retention=retention)
    kept = await remember.remember(session, RememberRequest(content="ship moon", layer="episodic", importance=0.1))
    clock.advance(days=400)  # type: ignore[attr-defined]
    await _swept_away(session, kept.id)
    assert (await restore(session, RestoreRequest(ids=[kept.id]))).restored == [kept.id]
    await _stays(session, kept.id)


async def test_a_deadline_that_has_passed_is_cleared(
    session: Session, keep: Keep, clock: Callable[[], object]
) -> None:
    kept = await keep("the fair is in town", forget_after="2d")
    clock.advance(days=3)  # type: ignore[attr-defined]
    await _swept_away(session, kept.id)
    await restore(session, RestoreRequest(ids=[kept.id]))
    assert (await session.store.resolve(kept.id)).forget_after is None
    await _stays(session, kept.id)


async def test_a_deadline_still_to_come_is_kept(session: Session, keep: Keep) -> None:
    kept = await keep("the fair is in town", forget_after="2d")
    await forget(session, ForgetRequest(ids=[kept.id]))
    deadline = (await session.store.resolve(kept.id)).forget_after
    await restore(session, RestoreRequest(ids=[kept.id]))
    assert (await session.store.resolve(kept.id)).forget_after == deadline is not None


@pytest.mark.parametrize(
    ("tier", "days", "raised"),
    [
        pytest.param("goldfish", 1, "standard", id="8 h gone, 7 d to come"),
        pytest.param("goldfish", 8.2, "elephant", id="standard (8.4 d with a recall) would end within 8 h"),
        pytest.param("standard", 10, "elephant", id="7 d gone, 90 d to come"),
        pytest.param("elephant", 100, "permanent", id="90 d gone, nothing longer but for ever"),
    ],
)
async def test_an_outlived_tier_is_raised(
    session: Session, keep: Keep, clock: Callable[[], object], tier: str, days: float, raised: str
) -> None:
    kept = await keep("the harbour froze", layer="episodic", importance=0.6, tier=tier)
    clock.advance(days=days)  # type: ignore[attr-defined]
    await _swept_away(session, kept.id)
    await restore(session, RestoreRequest(ids=[kept.id]))
    assert (await session.store.resolve(kept.id)).tier == raised
    await _stays(session, kept.id)


async def test_a_tier_that_was_not_outlived_is_left_alone(
    session: Session, keep: Keep, clock: Callable[[], object]
) -> None:
    kept = await keep("the harbour froze", layer="episodic", tier="standard")
    clock.advance(days=5)  # type: ignore[attr-defined]
    await forget(session, ForgetRequest(ids=[kept.id]))
    await restore(session, RestoreRequest(ids=[kept.id]))
    assert (await session.store.resolve(kept.id)).tier == "standard"
    await _stays(session, kept.id)


async def test_the_tier_of_the_domain_does_not_take_it_away_again(
    open_session: OpenSession, clock: Callable[[], object]
) -> None:
    session = await open_session(tier="standard")
    kept = await remember.remember(session, RememberRequest(content="ship moon", layer="episodic"))
    clock.advance(days=10)  # type: ignore[attr-defined]
    await _swept_away(session, kept.id)
    await restore(session, RestoreRequest(ids=[kept.id]))
    assert (await session.store.resolve(kept.id)).tier == "elephant"
    await _stays(session, kept.id)


async def test_undoing_the_sweep_by_its_event_keeps_the_memory_too(
    session: Session, keep: Keep, clock: Callable[[], object]
) -> None:
    kept = await keep("ship moon", layer="episodic", importance=0.1)
    clock.advance(days=400)  # type: ignore[attr-defined]
    await _swept_away(session, kept.id)
    await restore(session, RestoreRequest(event_id=await _last_event(session, kept.id)))
    await _stays(session, kept.id)


async def test_a_restore_counts_as_a_recall(session: Session, keep: Keep, clock: Callable[[], object]) -> None:
    kept = await keep("the lamp burns oil")
    await forget(session, ForgetRequest(ids=[kept.id]))
    clock.advance(days=1)  # type: ignore[attr-defined]
    await restore(session, RestoreRequest(ids=[kept.id]))
    memory = await session.store.resolve(kept.id)
    assert (memory.access_count, memory.last_accessed_at) == (1, session.now)
    assert memory.tier is None


async def test_an_import_that_changed_a_text_is_taken_back_with_its_vector(session: Session, keep: Keep) -> None:
    kept = await keep("the lamp burns oil", layer="semantic")
    before = await session.store.resolve(kept.id)
    line = json.dumps({"id": kept.id, "content": "plums and cherries", "layer": "semantic"})
    await import_memories(session, io.BytesIO(line.encode()), lambda _: None)
    await restore(session, RestoreRequest(event_id=await _last_event(session, kept.id)))
    after = await session.store.resolve(kept.id)
    assert (after.content, after.title, after.trust) == (before.content, before.title, before.trust)
    [embedding] = await session.embed([before.content])
    [hit] = await session.store.nearest(embedding.vector, Scope(), 1)
    assert hit.similarity == pytest.approx(1.0)
