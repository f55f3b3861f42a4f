import asyncio
from pathlib import Path

import pytest

from reverie.errors import StoreBusy, StoreDamaged, StoreUnavailable
from reverie.storage import lance_table as faults
from reverie.storage.lance_table import ATTEMPTS, retried
from reverie.storage.locks import ProcessLock

pytestmark = pytest.mark.anyio


class Failing:
    """Fails so many times with an error, then succeeds."""

    def __init__(self, error: Exception, times: int) -> None:
        self.error = error
        self.left = times
        self.calls = 0

    async def __call__(self) -> str:
        self.calls += 1
        if self.left:
            self.left -= 1
            raise self.error
        return "done"


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "_FIRST_PAUSE", 0.0)


CONFLICT = RuntimeError("lance error: Retryable commit conflict for version 7: preempted. Please retry.")


async def test_a_conflict_is_tried_again_until_it_passes() -> None:
    attempt = Failing(CONFLICT, 5)
    assert await retried("semantic", attempt) == "done"
    assert attempt.calls == 6


async def test_a_conflict_that_lasts_is_told_as_a_busy_store() -> None:
    attempt = Failing(CONFLICT, 1000)
    with pytest.raises(StoreBusy, match="Nothing was written"):
        await retried("semantic", attempt)
    assert attempt.calls == ATTEMPTS


@pytest.mark.parametrize(
    ("error", "expected", "says"),
    [
        (OSError("No space left on device (os error 28)"), StoreUnavailable, "full"),
        (OSError("File too large (os error 27)"), StoreUnavailable, "full"),
        (RuntimeError("Permission denied (os error 13)"), StoreUnavailable, "REVERIE_HOME"),
        (OSError("Read-only file system (os error 30)"), StoreUnavailable, "REVERIE_HOME"),
        (ValueError("Invalid data: file is truncated"), StoreDamaged, "reverie doctor"),
    ],
)
async def test_what_trying_again_cannot_mend_is_told_at_once(
    error: Exception, expected: type[Exception], says: str
) -> None:
    attempt = Failing(error, 1000)
    with pytest.raises(expected, match=says):
        await retried("semantic", attempt)
    assert attempt.calls == 1


async def test_a_mistake_of_ours_is_not_dressed_up() -> None:
    with pytest.raises(KeyError):
        await retried("semantic", Failing(KeyError("x"), 1))


async def test_a_lock_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    locks = [ProcessLock(tmp_path / "l") for _ in range(4)]
    inside = most = 0

    async def work(lock: ProcessLock) -> None:
        nonlocal inside, most
        for _ in range(5):
            async with lock.held():
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0.001)
                inside -= 1

    await asyncio.gather(*(work(lock) for lock in locks))
    assert most == 1


async def test_waiting_for_a_lock_ends_with_a_clear_error(tmp_path: Path) -> None:
    mine, theirs = ProcessLock(tmp_path / "l"), ProcessLock(tmp_path / "l")
    async with mine.held():
        with pytest.raises(StoreBusy, match="Another Reverie process"):
            async with theirs.held(patience=0.05):
                pass
    async with theirs.held(patience=0.05):
        pass


async def test_a_lock_that_is_taken_is_left_alone_if_only_asked_for(tmp_path: Path) -> None:
    mine, theirs = ProcessLock(tmp_path / "l"), ProcessLock(tmp_path / "l")
    async with mine.held_if_free() as ours:
        assert ours
        async with theirs.held_if_free() as free:
            assert not free


async def test_a_lock_file_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreUnavailable, match="REVERIE_HOME"):
        async with ProcessLock(tmp_path / "file" / "l").held():
            pass


def test_the_stand_in_for_overrides_is_gone_after_the_import_of_lancedb() -> None:
    overrides = pytest.importorskip("overrides")  # LanceDB needs it before Python 3.12 only
    assert overrides.__file__
