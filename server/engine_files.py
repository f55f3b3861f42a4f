"""The files of an engine in the runtime folder: its lock, what it listens on, and its log.

Everything may be removed or replaced under it, by a person or by what tidies temporary folders.
"""

import os
import socket
import sys
from contextlib import suppress

from reverie.server.endpoint import LOCKED_BYTES, Endpoint

LONGEST_LOG = 1_000_000
_KEPT_OF_A_LOG = 200_000
_SECONDS_A_LOG_IS_KEPT = 14 * 86_400
_BACKLOG = 256


class Lock:
    """A lock file, held by one process until it ends, however it ends."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: int | None = None
        while self._file is None:
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            if not _lock(file):
                os.close(file)
                return
            # The last holder removes the file: a lock on a file that has gone excludes nobody.
            if _is_at(file, path):
                self._file = file
                self._note_process()
            else:
                os.close(file)

    @property
    def is_held(self) -> bool:
        """Return whether this process has the lock."""
        return self._file is not None

    def release(self) -> None:
        """Remove the file and release the lock."""
        if self._file is not None:
            with suppress(OSError):  # Windows does not remove an open file
                if _is_at(self._file, self._path):  # and not the lock of another, after somebody removed ours
                    os.unlink(self._path)
            os.close(self._file)
            self._file = None

    def _note_process(self) -> None:
        """Write down who holds it, so that an engine which no longer answers can be ended."""
        assert self._file is not None  # noqa: S101 - it has just been taken
        with suppress(OSError):  # a full disk: the lock holds all the same
            os.lseek(self._file, LOCKED_BYTES, os.SEEK_SET)
            os.write(self._file, b"%d\n" % os.getpid())
            os.ftruncate(self._file, os.lseek(self._file, 0, os.SEEK_CUR))


def identity(path: str) -> tuple[int, int] | None:
    """Return what tells this file from another that took its place; nothing if there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _lock(file: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_at(file: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


def listen(endpoint: Endpoint, secret: str) -> socket.socket:
    """Listen on the endpoint, whose lock this process holds; what an earlier engine left there is removed."""
    for path in (endpoint.socket, endpoint.port):
        with suppress(FileNotFoundError):
            os.unlink(path)
    if not endpoint.by_port:
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listening.bind(endpoint.socket)
        listening.listen(_BACKLOG)
        return listening
    listening = socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG)
    fresh = f"{endpoint.port}.new"
    with suppress(FileNotFoundError):
        os.unlink(fresh)
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.write(f"{listening.getsockname()[1]} {secret}\n")
    os.replace(fresh, endpoint.port)
    return listening


def shorten_log(path: str) -> None:
    """Keep the end of a log that has grown too long; stderr appends to it."""
    try:
        if os.fstat(2).st_size <= LONGEST_LOG:
            return
        if not _is_at(2, path):  # somebody removed it: nobody can read it, and it still takes room
            os.ftruncate(2, 0)
            return
        with open(path, "rb") as file:
            file.seek(-_KEPT_OF_A_LOG, os.SEEK_END)
            kept = file.read()
        os.ftruncate(2, 0)
        os.write(2, kept[kept.find(b"\n") + 1 :])
    except OSError:
        return  # stderr is no file


def remove_old_logs(endpoint: Endpoint) -> None:
    """Remove the logs of engines that have not run for long, as those of earlier versions."""
    os.utime(endpoint.lock)  # the file system's clock, by which the logs are dated
    oldest = os.stat(endpoint.lock).st_mtime - _SECONDS_A_LOG_IS_KEPT
    with os.scandir(endpoint.folder) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.name.endswith(".log") and entry.path != endpoint.log and entry.stat().st_mtime < oldest:
                    os.unlink(entry.path)
