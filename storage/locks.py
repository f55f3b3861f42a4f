"""A lock across processes, for changes that read before they write."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from reverie.errors import StoreBusy, StoreUnavailable

PATIENCE_SECONDS = 30.0
_PAUSE = 0.003


class ProcessLock:
    """A named lock file; held by at most one task of one process, freed by the system if that process dies."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = FileLock(path, thread_local=False, mode=0o600)
        self._tasks = asyncio.Lock()

    @asynccontextmanager
    async def held(self, patience: float = PATIENCE_SECONDS) -> AsyncIterator[None]:
        """Hold the lock for the length of the block.

        Raises:
            StoreBusy: if others hold it for longer than `patience` seconds.
        """
        async with self._tasks:
            await self._acquire(patience)
            try:
                yield
            finally:
                self._file.release()

    @asynccontextmanager
    async def held_if_free(self) -> AsyncIterator[bool]:
        """Hold the lock if nobody has it; yield whether it does."""
        if self._tasks.locked():
            yield False
            return
        async with self._tasks:
            if not self._try():
                yield False
                return
            try:
                yield True
            finally:
                self._file.release()

    async def _acquire(self, patience: float) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + patience
        while not self._try():
            if loop.time() > deadline:
                raise StoreBusy(
                    f"Another Reverie process has held {self._path.name} for {patience:.0f} seconds. "
                    "Try again; if it lasts, `reverie doctor` shows who is at work."
                )
            # Uneven pauses, so that eight waiting processes do not keep meeting.
            await asyncio.sleep(_PAUSE * (0.5 + random.random()))  # noqa: S311

    def _try(self) -> bool:
        try:
            self._file.acquire(blocking=False)
        except Timeout:
            return False
        except OSError as error:
            raise StoreUnavailable(
                f"The lock file {self._path} cannot be written ({error.strerror}). "
                "Check the owner and permissions of REVERIE_HOME."
            ) from error
        return True
