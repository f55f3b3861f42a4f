"""The write-ahead log: new memories that are acknowledged but not in the tables yet.

A `remember` is acknowledged when its line is in the log; a flush writes many lines to the tables at once. The journal
and the access log use the same kind of file.
"""

import asyncio
import base64
import json
import logging
import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa

from reverie.errors import StoreBusy, StoreError, StoreUnavailable
from reverie.memory import Memory, decode, to_record
from reverie.storage.filters import one_of
from reverie.storage.lance_table import ATTEMPTS, Table, translated
from reverie.storage.locks import ProcessLock
from reverie.storage.remote_tables import ObjectStoreState
from reverie.storage.rows import Embedded, Vector, as_rows

_CURRENT = "waiting.jsonl"
_ROTATED = "settling-"
_KEPT = "last"

Result = TypeVar("Result")
Reduce = Callable[[bytes], bytes]


class _Turn:
    """Lines that somebody appends: how they follow from the last line, and what to do once they are written."""

    def __init__(
        self, following: Callable[[bytes], Sequence[bytes]], written: Callable[[bytes, bytes], None] | None
    ) -> None:
        self.following = following
        self.written = written
        self.is_done = False
        self.error: Exception | None = None  # what is raised to whoever appends

    def made_from(self, last: bytes) -> Sequence[bytes]:
        """Return the lines, or none if they cannot be made: then the others are written without them."""
        try:
            return self.following(last)
        except Exception as error:  # noqa: BLE001 - raised by `append` to whoever asked
            self.error = error
            return ()

    def note_written(self, before: bytes, after: bytes) -> None:
        """Do what is to be done once the lines are written."""
        try:
            if self.written is not None:
                self.written(before, after)
        except Exception as error:  # noqa: BLE001 - raised by `append` to whoever asked
            self.error = error


class LogFile:
    """A folder with the log file that is written now and those that were rotated out to be flushed."""

    def __init__(self, folder: Path, lock: Path, keep: Reduce | None = None) -> None:
        self._folder = folder
        self._current = folder / _CURRENT
        self._keep = keep  # what of the last line is kept at a rotation, for the next line to follow
        self._lock = ProcessLock(lock)
        self._turns: list[_Turn] = []  # what waits to be appended
        self._tail: tuple[int, bytes] | None = None  # where the file ended as this process left it, and its last line
        folder.mkdir(exist_ok=True, mode=0o700)

    async def append(
        self, following: Callable[[bytes], Sequence[bytes]], written: Callable[[bytes, bytes], None] | None = None
    ) -> None:
        """Write lines at the end: all of them or none. They are made from the last one, which may be empty.

        `written` is called before anybody else may append, with the line they follow and the last of them. What
        several sessions of this process append at once is written together.

        Raises:
            StoreUnavailable: if the disk is full or the folder may not be written.
        """
        turn = _Turn(following, written)
        self._turns.append(turn)
        try:
            await asyncio.sleep(0)  # whoever comes at the same moment joins
            if not turn.is_done:  # else another has written it along with its own
                await self._do(self._write_turns)
        finally:
            if not turn.is_done:  # cancelled, or the lock was not to be had: nobody else may write it later
                self._turns.remove(turn)
        if isinstance(turn.error, OSError):
            raise translated(self._folder.name, turn.error) from turn.error
        if turn.error is not None:
            raise turn.error

    def _write_turns(self) -> None:
        """Write the lines of everybody who waits, in the order they came, with one write."""
        turns, self._turns = self._turns, []
        made: list[tuple[_Turn, bytes, bytes]] = []
        data: list[bytes] = []
        try:
            end, last = self._end()
            for turn in turns:
                if lines := turn.made_from(last):
                    made.append((turn, last, lines[-1]))
                    data += lines
                    last = lines[-1]
            if data:
                self._write(b"".join(data), end, last)
        except OSError as error:
            for turn in turns:
                turn.error = error
            return
        finally:
            for turn in turns:
                turn.is_done = True
        for turn, before, after in made:
            turn.note_written(before, after)

    async def lines(self, containing: bytes = b"") -> list[bytes]:
        """Return the pending lines that contain a text. Read the table after this, not before."""
        return [line for line in pending_lines(self._folder) if containing in line]

    async def take_back(self, lines: Sequence[bytes]) -> bool:
        """Cut off lines if they are the last; it takes no room on the disk. Return whether they were."""

        def cut() -> bool:
            there, count = lines_of(self._current), len(lines)
            if there[-count:] != list(lines):
                return False
            os.truncate(self._current, sum(map(len, there[:-count])))
            self._tail = None
            return True

        return await self._do(cut)

    def pending_bytes(self) -> int:
        """Return how much is pending, without the lock; nothing if the store was re-embedded meanwhile."""
        try:
            with os.scandir(self._folder) as entries:
                return sum(_size(Path(entry.path)) for entry in entries if entry.name.endswith(".jsonl"))
        except FileNotFoundError:
            return 0

    async def last(self) -> bytes:
        """Return the last line written, or what was kept of it."""
        return await self._do(lambda: self._end()[1])

    async def start_from(self, last: bytes, *, overwrite: bool = False) -> None:
        """Say what the first line follows, unless that is known; overwrite it only where nothing is pending."""

        def start() -> None:
            if overwrite or not self._end()[1]:
                self._write_kept(last)

        await self._do(start)

    async def rotate(self) -> tuple[list[Path], list[Path]]:
        """Start a new file. Return the files rotated out earlier and never flushed, and the one rotated out now."""
        earlier = sorted(self._folder.glob(f"{_ROTATED}*"))

        def start_new_file() -> list[Path]:
            if not _size(self._current):
                return []
            if self._keep is not None:
                self._write_kept(self._keep(self._end()[1]))
            rotated = self._folder / f"{_ROTATED}{secrets.token_hex(6)}.jsonl"
            self._current.rename(rotated)
            self._tail = None
            return [rotated]

        return earlier, await self._do(start_new_file)

    def _end(self) -> tuple[int, bytes]:
        """Return where the last complete line ends, and that line; read again if others wrote since.

        Size and inode do not tell that: another process may rotate the file out and write as much into a new one,
        which the system gives the old one's inode. So the last line is compared. A line without an end was left by a
        crash of the machine, and is overwritten.
        """
        if self._tail is not None and _ends_with(self._current, *self._tail):
            return self._tail
        lines = lines_of(self._current)
        last = lines[-1] if lines else _content(self._folder / _KEPT)
        return sum(map(len, lines)), last

    def _write(self, data: bytes, end: int, last: bytes) -> None:
        file = os.open(self._current, os.O_WRONLY | os.O_CREAT, 0o600)
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
        self._tail = (end + len(data), last)

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
        """Work on the files under the lock."""
        async with self._lock.held():
            try:
                return work()
            except OSError as error:
                raise translated(self._folder.name, error) from error


def pending_lines(folder: Path) -> list[bytes]:
    """Return every line in a log's folder, the oldest first, whatever others do to it meanwhile.

    The newest are read first: if they are rotated out now, they are read twice, which does no harm, and not missed.
    """
    newest = lines_of(folder / _CURRENT)
    older = [line for path in sorted(folder.glob(f"{_ROTATED}*")) for line in lines_of(path)]
    return list(dict.fromkeys((*older, *newest)))


def hand_over(source: Path, target: Path) -> None:
    """Move the files of one log's folder to another's; call it while nobody flushes either.

    They arrive as files whose flush was cut short: of those nothing is written that the tables have already.
    """
    target.mkdir(parents=True, exist_ok=True, mode=0o700)
    for path in sorted(source.glob("*.jsonl")):
        path.rename(target / f"{_ROTATED}{secrets.token_hex(6)}.jsonl")


def lines_of(path: Path) -> list[bytes]:
    """Return the complete lines of a file; one that is gone has none: it was flushed meanwhile."""
    data = _content(path)
    return data[: data.rfind(b"\n") + 1].splitlines(keepends=True)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _ends_with(path: Path, size: int, last: bytes) -> bool:
    """Return whether a file has this size and ends with this line."""
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size != size:
                return False
            file.seek(size - len(last))
            return file.read() == last
    except FileNotFoundError:
        return False


def _write_all(file: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]


MOST_AT_ONCE = 50
"""More memories than this are written to the tables directly: that is no slower, and the file stays small."""

_SECONDS_TO_GATHER = 2.0
_SECONDS_BETWEEN_TRIES = 3.0

OnFlush = Callable[[str, int, pa.Table], None]

_PAUSED: ContextVar[bool] = ContextVar("flushing is paused", default=False)

log = logging.getLogger(__name__)


MOST_WAITING_BYTES = 64 * 2**20
"""So much waits in a host's log while the object store is away: about ten thousand memories. More is refused."""


@dataclass(frozen=True, slots=True)
class RemoteLog:
    """What a log has to know whose tables are in an object store, shared with other hosts."""

    state: ObjectStoreState
    is_current: Callable[[], Awaitable[bool]]
    """Looks up whether the tables are still those in use: another host may have re-embedded the store."""


class WriteAheadLog:
    """Takes new memories and flushes them to the tables of one generation."""

    def __init__(
        self,
        log_file: LogFile,
        flush_lock: ProcessLock,
        tables: Mapping[str, Table],
        dimensions: int,
        remote: RemoteLog | None = None,
    ) -> None:
        self._log_file = log_file
        self._flush_lock = flush_lock
        self._tables = tables  # raw tables: others flush this log first, which would be a circle
        self._dimensions = dimensions
        self._remote = remote
        self._decoded: dict[bytes, Embedded] = {}
        self._task: asyncio.Task[None] | None = None
        self.on_flush: OnFlush = lambda table, version, rows: None
        """Called with every commit: the table, its version now, the rows."""
        self.flush_events: Callable[[], Awaitable[int]] | None = None
        """In a bucket called before memories become visible to other hosts: then so are the events about them."""

    async def write(self, items: Sequence[Embedded]) -> None:
        """Append memories; on return they survive the process.

        Raises:
            StoreUnavailable: if the disk is full or the folder may not be written, or if too much waits already for
                an object store that is away.
        """
        lines = [_to_line(item) for item in items]
        if self._remote is not None:
            self._check_room(sum(map(len, lines)), self._remote.state)
        await self._log_file.append(lambda _last: lines)
        self._decoded |= zip(lines, items, strict=True)
        if self._task is None or self._task.done():
            outside = copy_context()
            outside.run(_PAUSED.set, False)  # it outlives a block in which it begins
            self._task = asyncio.create_task(self._flush_soon(), context=outside)

    def _check_room(self, size: int, state: ObjectStoreState) -> None:
        waiting = self._log_file.pending_bytes()
        if waiting + size > MOST_WAITING_BYTES:
            raise StoreUnavailable(
                f"{waiting / 2**20:.0f} MB of new memories wait in this host's log for the object store of "
                f"{state.name}, and no more are taken until it answers. What waits is not lost; repeat this later."
            )

    async def take_back(self, items: Sequence[Embedded]) -> bool:
        """Remove memories that were just written, if nothing follows them in the log; return whether that was so."""
        lines = [_to_line(item) for item in items]
        is_done = bool(lines) and await self._log_file.take_back(lines)
        for line in lines if is_done else ():
            self._decoded.pop(line, None)
        return is_done

    def pending_bytes(self) -> int:
        """Return how much waits to be written to the tables."""
        return self._log_file.pending_bytes()

    async def pending(self) -> list[Embedded]:
        """Return the memories of all processes that no table holds yet. Read the tables after this, not before."""
        if not self._log_file.pending_bytes():
            return []
        lines = await self._log_file.lines()
        self._decoded = {line: self._decoded.get(line) or _from_line(line) for line in lines}
        return list(self._decoded.values())

    async def flush(self) -> None:
        """Write everything pending to the tables.

        Raises:
            StoreError: if it cannot be written there; it stays pending.
        """
        if self._log_file.pending_bytes():
            async with self._flush_lock.held():
                if self._log_file.pending_bytes():  # else another did it while this one waited for its turn
                    await self._flush_now()

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """Flush, and let nobody else flush until the block ends; inside, reading a table does not flush.

        Whoever needs the journal's lock as well takes it inside: a flush of memories may flush the journal.
        """
        async with self._flush_lock.held():
            await self._flush_now()
            before = _PAUSED.set(True)
            try:
                yield
            finally:
                _PAUSED.reset(before)

    async def flush_before_read(self) -> None:
        """Flush if that is possible; what the tables have can be read in any case."""
        if _PAUSED.get() or (self._remote is not None and self._remote.state.is_away()):
            return
        try:
            await self.flush()
        except StoreError as error:
            log.warning("New memories wait to be written: %s", error)

    async def stop(self) -> None:
        """Stop the background flush; what is pending is safe in the log, and the next reader flushes it."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _flush_soon(self) -> None:
        await asyncio.sleep(_SECONDS_TO_GATHER)
        await self.flush_before_read()
        while self._remote is not None and self._log_file.pending_bytes():  # the store was away; nobody may read here
            await asyncio.sleep(_SECONDS_BETWEEN_TRIES)
            await self.flush_before_read()

    async def _flush_now(self) -> None:
        await self._check_current()
        earlier, now = await self._log_file.rotate()
        lines = (line for path in (*earlier, *now) for line in lines_of(path))
        items = [self._decoded.get(line) or _from_line(line) for line in lines]
        if self.flush_events is not None:
            await self.flush_events()
        for table, rows in as_rows(items, self._dimensions).items():
            fresh = await self._without_flushed(table, rows) if earlier else rows
            await self._add(table, fresh)
        await self._check_current()  # else the tables may have been copied without these; the files stay
        for path in (*earlier, *now):
            path.unlink(missing_ok=True)
        self._decoded.clear()

    async def _add(self, table: str, rows: pa.Table) -> None:
        """Append rows. In an object store a commit may have succeeded whose answer was lost: look before each try."""
        if self._remote is not None:
            await self._add_remotely(table, rows)
        elif len(rows):
            self.on_flush(table, await self._tables[table].add(rows), rows)

    async def _add_remotely(self, table: str, rows: pa.Table) -> None:
        for remaining in reversed(range(ATTEMPTS)):
            if not len(rows):
                return
            try:
                self.on_flush(table, await self._tables[table].add(rows, attempts=1), rows)
                return
            except StoreBusy:
                if not remaining:
                    raise
            rows = await self._without_flushed(table, rows)

    async def _check_current(self) -> None:
        if self._remote is not None and not await self._remote.is_current():
            raise StoreBusy("Another host re-embedded the store: these memories are written when it is next opened.")

    async def _without_flushed(self, table: str, rows: pa.Table) -> pa.Table:
        """Leave out what reached the table before a flush was cut short."""
        ids = rows.column("id").to_pylist()
        there = set((await self._tables[table].rows(["id"], one_of("id", ids))).column("id").to_pylist())
        return rows.filter(pa.array([row_id not in there for row_id in ids]))


def _to_line(item: Embedded) -> bytes:
    known = {
        "memory": to_record(item.memory),
        "vector": _encoded(item.vector),
        "passages": [_encoded(passage) for passage in item.passages],
        "pieces": base64.b64encode(item.pieces).decode(),
    }
    return json.dumps(known, ensure_ascii=False).encode() + b"\n"


def _from_line(line: bytes) -> Embedded:
    known = json.loads(line)
    memory = Memory(**{name: decode(name, value) for name, value in known["memory"].items()})
    passages = tuple(map(_decoded, known["passages"]))
    return Embedded(memory, _decoded(known["vector"]), passages, base64.b64decode(known["pieces"]))


def memory_in(line: bytes) -> Memory:
    """Return the memory of a line."""
    return _from_line(line).memory


def _encoded(vector: Vector) -> str:
    return base64.b64encode(np.ascontiguousarray(vector, "<f4").tobytes()).decode()


def _decoded(text: str) -> Vector:
    return np.frombuffer(base64.b64decode(text), "<f4")
