import asyncio
import multiprocessing
from pathlib import Path

import pytest

from reverie.errors import StoreUnavailable
from reverie.storage.write_ahead_log import LogFile, lines_of

pytestmark = pytest.mark.anyio


@pytest.fixture
def log_file(tmp_path: Path) -> LogFile:
    return _log_file(tmp_path)


def _log_file(folder: Path) -> LogFile:
    return LogFile(folder / "spool", folder / "spool.lock", keep=lambda line: line[:1])


async def _write(log_file: LogFile, *lines: bytes) -> None:
    await log_file.append(lambda _last: list(lines))


async def test_lines_come_back_in_the_order_they_were_written(log_file: LogFile) -> None:
    await _write(log_file, b"1 one\n", b"2 two\n")
    await _write(log_file, b"3 three\n")
    assert await log_file.lines() == [b"1 one\n", b"2 two\n", b"3 three\n"]
    assert await log_file.lines(containing=b"t") == [b"2 two\n", b"3 three\n"]
    assert log_file.pending_bytes() == 20


async def test_each_line_is_made_from_the_last_one_whoever_wrote_it(tmp_path: Path) -> None:
    mine, other = _log_file(tmp_path), _log_file(tmp_path)
    for log_file in (mine, other, other, mine):
        await log_file.append(lambda last: [b"%d\n" % (int(last or b"0") + 1)])
    assert await mine.lines() == [b"1\n", b"2\n", b"3\n", b"4\n"]


async def test_a_new_file_of_the_same_size_and_inode_is_not_taken_for_the_old_one(tmp_path: Path) -> None:
    mine, other = _log_file(tmp_path), _log_file(tmp_path)
    await _write(mine, b"1\n")
    await other.rotate()
    [rotated] = (tmp_path / "spool").glob("settling-*")
    await _write(other, b"2\n")
    # Systems give the inode of a removed file to the next one; here the same is done by hand.
    rotated.write_bytes(b"2\n")
    rotated.replace(tmp_path / "spool" / "waiting.jsonl")
    await mine.append(lambda last: [b"%d\n" % (int(last) + 1)])
    assert await mine.lines() == [b"2\n", b"3\n"]


async def test_who_is_cancelled_while_others_hold_the_file_leaves_it_free(tmp_path: Path) -> None:
    mine, other = _log_file(tmp_path), _log_file(tmp_path)
    async with other._lock.held():
        waiting = asyncio.create_task(_write(mine, b"never\n"))
        await asyncio.sleep(0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    await _write(other, b"1\n")
    assert await other.lines() == [b"1\n"]


async def test_what_several_append_at_once_is_written_together_in_order(
    log_file: LogFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes: list[bytes] = []
    write = log_file._write
    monkeypatch.setattr(log_file, "_write", lambda data, *rest: (writes.append(data), write(data, *rest)))
    noted: list[tuple[bytes, bytes]] = []

    async def one() -> None:
        await log_file.append(
            lambda last: [b"%d\n" % (int(last or b"0") + 1)], lambda before, after: noted.append((before, after))
        )

    await asyncio.gather(*(one() for _ in range(8)))
    assert await log_file.lines() == [b"%d\n" % number for number in range(1, 9)]
    assert len(writes) == 1
    assert noted == [(b"" if n == 1 else b"%d\n" % (n - 1), b"%d\n" % n) for n in range(1, 9)]


async def test_lines_that_cannot_be_made_fail_alone(log_file: LogFile) -> None:
    def impossible(_last: bytes) -> list[bytes]:
        raise LookupError("nothing to follow")

    answers = await asyncio.gather(
        _write(log_file, b"1\n"), log_file.append(impossible), _write(log_file, b"2\n"), return_exceptions=True
    )
    assert [type(answer) for answer in answers] == [type(None), LookupError, type(None)]
    assert await log_file.lines() == [b"1\n", b"2\n"]


async def test_a_write_that_fails_fails_for_all_of_them_and_leaves_nothing(
    log_file: LogFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _write(log_file, b"1\n")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("reverie.storage.write_ahead_log._write_all", full)
    answers = await asyncio.gather(*(_write(log_file, b"%d\n" % n) for n in range(3)), return_exceptions=True)
    assert [type(answer) for answer in answers] == [StoreUnavailable] * 3
    monkeypatch.undo()
    await _write(log_file, b"2\n")
    assert await log_file.lines() == [b"1\n", b"2\n"]


async def test_lines_of_a_call_that_was_cancelled_are_never_written(log_file: LogFile) -> None:
    appending = asyncio.create_task(_write(log_file, b"1\n"))
    await asyncio.sleep(0)
    appending.cancel()
    await asyncio.gather(appending, return_exceptions=True)
    await _write(log_file, b"2\n")
    assert (await log_file.lines())[-1] == b"2\n"
    assert len(await log_file.lines()) == 1


async def test_after_a_file_is_set_aside_the_next_line_follows_what_was_kept(log_file: LogFile) -> None:
    await _write(log_file, b"7 seven\n")
    earlier, now = await log_file.rotate()
    assert (earlier, [lines_of(path) for path in now]) == ([], [[b"7 seven\n"]])
    assert await log_file.last() == b"7"
    await _write(log_file, b"8 eight\n")
    assert await log_file.lines() == [b"7 seven\n", b"8 eight\n"]  # until the first is flushed, readers see both


async def test_what_was_never_flushed_is_named_again(log_file: LogFile) -> None:
    await _write(log_file, b"1\n")
    _, first = await log_file.rotate()
    assert await log_file.rotate() == (first, [])
    first[0].unlink()
    assert await log_file.rotate() == ([], [])
    assert log_file.pending_bytes() == 0


async def test_a_torso_left_by_a_crash_is_written_over(tmp_path: Path) -> None:
    await _write(_log_file(tmp_path), b"whole\n")
    with (tmp_path / "spool" / "waiting.jsonl").open("ab") as file:
        file.write(b"half a li")
    again = _log_file(tmp_path)
    assert await again.lines() == [b"whole\n"]
    await _write(again, b"next\n")
    assert await again.lines() == [b"whole\n", b"next\n"]


async def test_where_to_start_from_is_said_once(log_file: LogFile) -> None:
    await log_file.start_from(b"5")
    await log_file.start_from(b"9")
    assert await log_file.last() == b"5"


async def test_files_are_for_their_owner_only(log_file: LogFile, tmp_path: Path) -> None:
    await _write(log_file, b"1\n")
    await log_file.rotate()
    await _write(log_file, b"2\n")
    modes = {path.name[:4]: oct(path.stat().st_mode & 0o777) for path in (tmp_path / "spool").iterdir()}
    assert modes == {"wait": "0o600", "sett": "0o600", "last": "0o600"}


def _count_up(folder: Path, times: int) -> None:
    async def count() -> None:
        log_file = LogFile(folder / "spool", folder / "spool.lock", keep=lambda line: line)
        for turn in range(times):
            await log_file.append(lambda last: [b"%d\n" % (int(last or b"0") + 1)])
            if turn % 20 == 19:
                await log_file.rotate()

    asyncio.run(count())


@pytest.mark.slow
def test_processes_that_write_at_once_lose_nothing_and_number_on(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_count_up, args=(tmp_path, 50)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    numbers = asyncio.run(_log_file(tmp_path).lines())
    assert sorted(map(int, numbers)) == list(range(1, 151))
