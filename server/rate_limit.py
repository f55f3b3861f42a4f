"""Limits on how much one session may ask for: a runaway loop gets an error instead of filling the disk."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from reverie.errors import RateLimited

WRITES_PER_MINUTE = 6_000
"""Twice what a session can write one by one; nobody who works comes near it."""

MOST_WAITING = 2_000
"""Calls that may wait for their answer at once."""

MOST_AT_ONCE = 4
"""Calls of one session that are worked on at once: a flood of one session's does not hold up the others'."""

_WINDOW = 60.0


class RateLimit:
    """Counts the calls of one session."""

    def __init__(
        self,
        writes_per_minute: int = WRITES_PER_MINUTE,
        most_waiting: int = MOST_WAITING,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._writes_per_minute = writes_per_minute
        self._most_waiting = most_waiting
        self._clock = clock
        self._written: deque[float] = deque()
        self._waiting = 0
        self._working = asyncio.Semaphore(MOST_AT_ONCE)

    @asynccontextmanager
    async def kept(self, *, writes: bool) -> AsyncIterator[None]:
        """Count one call for as long as it lasts.

        Raises:
            RateLimited: if it is one too many; nothing was done then.
        """
        if self._waiting >= self._most_waiting:
            raise RateLimited(
                f"{self._waiting:,} calls wait for their answer. Wait for some of them, then call again."
            )
        if writes:
            self._count_write()
        self._waiting += 1
        try:
            async with self._working:
                yield
        finally:
            self._waiting -= 1

    def _count_write(self) -> None:
        now = self._clock()
        while self._written and self._written[0] <= now - _WINDOW:
            self._written.popleft()
        if len(self._written) >= self._writes_per_minute:
            wait = self._written[0] + _WINDOW - now
            raise RateLimited(
                f"This session has changed memories {len(self._written):,} times within a minute, which is the most "
                f"it may. Go on in {wait:.0f} seconds; for many memories at once use `reverie import`."
            )
        self._written.append(now)
