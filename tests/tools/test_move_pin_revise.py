from collections.abc import Awaitable, Callable

import pytest

from reverie.errors import InvalidInput, MemoryNotFound, MoveRefused
from reverie.tools.requests import MoveRequest, PinRequest, ReviseRequest
from reverie.tools.results import Moved, Pinned, Remembered
from reverie.tools.revise import demote, pin, promote, revise
from reverie.tools.session import Session

pytestmark = pytest.mark.anyio

Keep = Callable[..., Awaitable[Remembered]]


async def test_promoting_climbs_the_ladder_to_its_top(session: Session, keep: Keep) -> None:
    kept = await keep("the lamp burns oil", layer="working")
    climbed = [(await promote(session, MoveRequest(id=kept.id))).to_layer for _ in range(3)]
    assert climbed == ["episodic", "semantic", "procedural"]
    with pytest.raises(MoveRefused, match="highest"):
        await promote(session, MoveRequest(id=kept.id))


async def test_demoting_goes_down_or_to_the_layer_named(session: Session, keep: Keep) -> None:
    kept = await keep("the lamp burns oil", layer="procedural")
    assert await demote(session, MoveRequest(id=kept.id)) == Moved(kept.id, "procedural", "semantic", kept.project)
    assert await demote(session, MoveRequest(id=kept.id[:10], to="working")) == Moved(
        kept.id, "semantic", "working", kept.project
    )
    with pytest.raises(MoveRefused, match="lowest"):
        await demote(session, MoveRequest(id=kept.id))


async def test_codebase_is_beside_the_ladder(session: Session, keep: Keep) -> None:
    kept, code = await keep("the lamp burns oil"), await keep("def lamp(): ...", layer="codebase")
    for memory_id, to in ((kept.id, "codebase"), (code.id, ""), (code.id, "procedural")):
        with pytest.raises(MoveRefused, match="nothing moves into or out of"):
            await promote(session, MoveRequest(id=memory_id, to=to))


async def test_a_layer_that_does_not_exist_is_named(session: Session, keep: Keep) -> None:
    kept = await keep("the lamp burns oil")
    with pytest.raises(InvalidInput, match="attic"):
        await promote(session, MoveRequest(id=kept.id, to="attic"))


async def test_a_pin_is_set_and_taken_away_once(session: Session, keep: Keep) -> None:
    kept = await keep("the lamp burns oil")
    assert await pin(session, PinRequest(id=kept.id)) == Pinned(kept.id, True, kept.project)
    assert await pin(session, PinRequest(id=kept.id)) == Pinned(kept.id, True, kept.project)
    assert (await session.store.resolve(kept.id)).pinned
    assert await pin(session, PinRequest(id=kept.id, pinned=False)) == Pinned(kept.id, False, kept.project)
    actions = [event.action for event in await session.store.journal.about(kept.id)]
    assert actions == ["remembered", "pinned", "unpinned"]


async def test_a_revision_takes_the_vitals_along_and_leaves_the_old_as_history(session: Session, keep: Keep) -> None:
    kept = await keep("the lamp burns oil", importance=0.9, tags=["x"], pin=True, kind="decision", layer="procedural")
    new = await revise(session, ReviseRequest(id=kept.id, content="the lamp burns gas", reason="looked it up"))
    old, now = await session.store.resolve(kept.id), await session.store.resolve(new.id)
    assert (old.status, old.superseded_by, old.status_reason) == ("superseded", new.id, "looked it up")
    assert (now.importance, now.tags, now.pinned, now.kind, now.layer) == (
        0.9,
        ("x",),
        True,
        "decision",
        "procedural",
    )
    assert (now.derived_from, now.title) == ((kept.id,), "the lamp burns gas")


async def test_what_cannot_be_revised_is_said(session: Session, keep: Keep) -> None:
    kept = await keep("the lamp burns oil")
    with pytest.raises(InvalidInput, match="same as before"):
        await revise(session, ReviseRequest(id=kept.id, content="the lamp burns oil"))
    with pytest.raises(InvalidInput, match="content"):
        await revise(session, ReviseRequest(id=kept.id, content=" "))
    with pytest.raises(MemoryNotFound):
        await revise(session, ReviseRequest(id="nothing-here", content="x"))
    new = await revise(session, ReviseRequest(id=kept.id, content="the lamp burns gas"))
    with pytest.raises(InvalidInput, match=new.id):
        await revise(session, ReviseRequest(id=kept.id, content="the lamp is electric"))
