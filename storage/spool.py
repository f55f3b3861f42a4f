"""A file in which lines wait until they are written to a table many at a time.

A commit to a table takes some 5 ms and makes later ones slower; a line at the end of a file takes a fraction of one
and survives the process just as well. All processes share the file, so that any of them can settle it.
"""

import asyncio
import os
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from filelock import FileLock, Timeout

from reverie.errors import StoreBusy
from reverie.storage.faults import translated

_WAITING = "waiting.jsonl"
_SET_ASIDE = "settling-"
_KEPT = "last"
_PATIENCE_SECONDS = 30.0
_PAUSE_SECONDS = 0.002

Result = TypeVar("Result")
Reduce = Callable[[bytes], bytes]


class _State(NamedTuple):
    """What tells whether a file is still as it was."""

    inode: int
    size: int


class Spool:
    """A folder with the file that is written now and those that were set aside to be settled."""

    def __init__(self, folder: Path, lock: Path, keep: Reduce | None = None) -> None:
        self._folder = folder
        self._waiting = folder / _WAITING
        self._keep = keep  # what of the last line is kept when the file is set aside, for the next one to follow
        self._lock = FileLock(lock, thread_local=False, mode=0o600)
        self._tasks = asyncio.Lock()  # the lock file is for processes; in one, it lets the same holder in twice
        self._tail: tuple[_State, bytes] | None = None  # the file as this process left it, and its last line
        folder.mkdir(exist_ok=True, mode=0o700)

    async def append(
        self, following: Callable[[bytes], Sequence[bytes]], written: Callable[[bytes, bytes], None] | None = None
    ) -> None:
        """Write lines at the end: all of them or none. They are made from the last one, which may be empty.

        `written` is called before anybody else may append, with the line they follow and the last of them.

        Raises:
            StoreUnavailable: if the disk is full or the folder may not be written.
        """

        def write() -> None:
            end, last = self._end()
            lines = following(last)
            self._write(b"".join(lines), end, lines[-1])
            if written is not None:
                written(last, lines[-1])

        await self._do(write)

    async def lines(self, containing: bytes = b"") -> list[bytes]:
        """Return the lines that wait and contain a text. Read the table after this, not before."""
        return [line for line in waiting_lines(self._folder) if containing in line]

    def waiting_bytes(self) -> int:
        """Return how much waits, without asking for the lock; nothing if the store was re-embedded meanwhile."""
        try:
            with os.scandir(self._folder) as entries:
                return sum(_state(Path(entry.path)).size for entry in entries if entry.name.endswith(".jsonl"))
        except FileNotFoundError:
            return 0

    async def last(self) -> bytes:
        """Return the last line written, or what was kept of it."""
        return await self._do(lambda: self._end()[1])

    async def start_from(self, last: bytes, *, anew: bool = False) -> None:
        """Say what the first line follows, unless that is known; anew only where nothing waits."""

        def start() -> None:
            if anew or not self._end()[1]:
                self._write_kept(last)

        await self._do(start)

    async def set_aside(self) -> tuple[list[Path], list[Path]]:
        """Start a new file. Return what was set aside earlier and never settled, and what is now."""
        earlier = sorted(self._folder.glob(f"{_SET_ASIDE}*"))

        def begin_anew() -> list[Path]:
            if not _state(self._waiting).size:
                return []
            if self._keep is not None:
                self._write_kept(self._keep(self._end()[1]))
            aside = self._folder / f"{_SET_ASIDE}{secrets.token_hex(6)}.jsonl"
            self._waiting.rename(aside)
            self._tail = None
            return [aside]

        return earlier, await self._do(begin_anew)

    def _end(self) -> tuple[int, bytes]:
        """Return where the last whole line ends, and that line; read anew if others wrote since.

        A line without an end was left by a crash of the machine, and is written over.
        """
        state = _state(self._waiting)
        if self._tail is not None and self._tail[0] == state:
            return state.size, self._tail[1]
        lines = lines_of(self._waiting)
        last = lines[-1] if lines else _content(self._folder / _KEPT)
        return sum(map(len, lines)), last

    def _write(self, data: bytes, end: int, last: bytes) -> None:
        file = os.open(self._waiting, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.ftruncate(file, end)
            os.lseek(file, end, os.SEEK_SET)
            try:
                _write_all(file, data)
            except OSError:
                os.ftruncate(file, end)
                raise
        finally:
            os.close(file)
        self._tail = (_state(self._waiting), last)

    def _write_kept(self, last: bytes) -> None:
        fresh = self._folder / f"{_KEPT}.new"
        file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            _write_all(file, last)
            os.fsync(file)
        finally:
            os.close(file)
        fresh.replace(self._folder / _KEPT)

    async def _do(self, work: Callable[[], Result]) -> Result:
        """Work on the files while nobody else does: at once if they are free, else off the event loop."""
        async with self._tasks:
            try:
                if not self._acquire(patience=0.0):
                    await asyncio.to_thread(self._acquire, _PATIENCE_SECONDS)
                try:
                    return work()
                finally:
                    self._lock.release()
            except OSError as error:
                raise translated(self._folder.name, error) from error

    def _acquire(self, patience: float) -> bool:
        """Hold the lock; without patience, say whether that was possible."""
        try:
            self._lock.acquire(patience, _PAUSE_SECONDS)
        except Timeout:
            if not patience:
                return False
            raise StoreBusy(f"Another Reverie process holds {self._folder.name}. Try again in a moment.") from None
        return True


def waiting_lines(folder: Path) -> list[bytes]:
    """Return every line of a spool's folder, the oldest first, whatever others do to it meanwhile.

    The newest are read first: should they be set aside now, they are met again, which does no harm, and not missed.
    """
    newest = lines_of(folder / _WAITING)
    older = [line for path in sorted(folder.glob(f"{_SET_ASIDE}*")) for line in lines_of(path)]
    return list(dict.fromkeys((*older, *newest)))


def lines_of(path: Path) -> list[bytes]:
    """Return the complete lines of a file; one that is not there has none: it was settled meanwhile."""
    data = _content(path)
    return data[: data.rfind(b"\n") + 1].splitlines(keepends=True)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def _state(path: Path) -> _State:
    try:
        known = path.stat()
    except FileNotFoundError:
        return _State(0, 0)
    return _State(known.st_ino, known.st_size)


def _write_all(file: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]
