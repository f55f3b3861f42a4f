from collections.abc import Awaitable, Callable

import pytest

from reverie.errors import InvalidInput, MemoryNotFound
from reverie.tools.forget import Request, forget
from reverie.tools.move import move
from reverie.tools.pin import pin
from reverie.tools.restore import restore
from reverie.tools.results import Remembered
from reverie.tools.revise import revise
from reverie.tools.workspace import Workspace

pytestmark = pytest.mark.anyio

Keep = Callable[..., Awaitable[Remembered]]


async def _last_event(workspace: Workspace, memory_id: str) -> str:
    return (await workspace.store.journal.about(memory_id))[-1].id


async def test_an_event_is_taken_back(workspace: Workspace, keep: Keep) -> None:
    kept = await keep("the lamp burns oil")
    await pin(workspace, kept.id)
    await restore(workspace, event_id=await _last_event(workspace, kept.id))
    assert not (await workspace.store.resolve(kept.id)).pinned


async def test_a_move_is_taken_back(workspace: Workspace, keep: Keep) -> None:
    kept = await keep("the lamp burns oil", layer="episodic")
    await move(workspace, kept.id, "", "up")
    await restore(workspace, event_id=await _last_event(workspace, kept.id))
    assert (await workspace.store.resolve(kept.id)).layer == "episodic"


async def test_undoing_can_itself_be_undone(workspace: Workspace, keep: Keep) -> None:
    kept = await keep("the lamp burns oil")
    await pin(workspace, kept.id)
    await restore(workspace, event_id=await _last_event(workspace, kept.id))
    await restore(workspace, event_id=await _last_event(workspace, kept.id))
    assert (await workspace.store.resolve(kept.id)).pinned


async def test_undoing_a_writing_lets_the_memory_go_softly(workspace: Workspace, keep: Keep) -> None:
    kept = await keep("the lamp burns oil")
    await restore(workspace, event_id=await _last_event(workspace, kept.id))
    assert (await workspace.store.resolve(kept.id)).status == "expired"


async def test_the_superseded_comes_back_beside_its_successor(workspace: Workspace, keep: Keep) -> None:
    kept = await keep("the lamp burns oil")
    new = await revise(workspace, kept.id, "the lamp burns gas", "")
    assert (await restore(workspace, ids=[kept.id])).restored == [kept.id]
    memory = await workspace.store.resolve(kept.id)
    assert (memory.status, memory.superseded_by, memory.expired_at) == ("active", None, None)
    assert (await workspace.store.resolve(new.id)).status == "active"


async def test_what_is_active_needs_no_restoring(workspace: Workspace, keep: Keep) -> None:
    kept = await keep("the lamp burns oil")
    answer = await restore(workspace, ids=[kept.id])
    assert (answer.restored, answer.skipped[0].reason) == ([], "already active")


async def test_what_was_purged_cannot_be_restored(workspace: Workspace, keep: Keep) -> None:
    kept = await keep("the lamp burns oil")
    await pin(workspace, kept.id)
    event = await _last_event(workspace, kept.id)
    await pin(workspace, kept.id, pinned=False)
    await forget(workspace, Request(ids=[kept.id], purge=True))
    with pytest.raises(MemoryNotFound):
        await restore(workspace, ids=[kept.id])
    assert (await restore(workspace, event_id=event)).skipped[0].reason == "purged since"


@pytest.mark.parametrize(
    "arguments", [{}, {"ids": ["a" * 9], "event_id": "b"}, {"event_id": "unknown"}, {"dream_id": "unknown"}]
)
async def test_a_wrong_request_is_told_what_to_give(workspace: Workspace, arguments: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        await restore(workspace, **arguments)  # type: ignore[arg-type]
