"""Tables in an object store: when to look for new versions, and what to do while the store does not answer.

On a disk LanceDB looks for the newest version before every read. In an object store that is a request for each
table, so a table counts as up to date for two seconds. Commits of this host's processes are noticed at once, by the
size of a file; those of other hosts within the two seconds; and who holds a lease reads what was there when it got
it, or later.

While the store is away, reads go on with the versions that are known, as far as they are in memory.
"""

import asyncio
import os
import re
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from lancedb import AsyncTable

from reverie.errors import StoreUnavailable
from reverie.storage.locks import check_leases, holds_a_lease

FRESH_SECONDS = 2.0
SECONDS_TO_ANSWER = 4.0
"""A look for a new version that takes longer means that the store is away."""

SECONDS_BETWEEN_TRIES = 5.0
"""While the store is away it is asked again after so long; until then reads do not wait for it."""

SECONDS_BETWEEN_LOOKS = 10.0

Result = TypeVar("Result")

_FULL = re.compile(r"status(?: code)?\W+507|insufficient ?storage|quota ?exceeded|over quota|bucket quota")
_NO_BUCKET = re.compile(r"nosuchbucket|no such bucket|container ?not ?found|bucket does not exist")
_MISSING = re.compile(r"status(?: code)?\W+404|nosuchkey")
_DENIED = re.compile(
    r"status(?: code)?\W+40[13]|access ?denied|permission ?denied|forbidden|unauthenticated|invalidaccesskeyid|"
    r"signaturedoesnotmatch|(?:invalid|missing) credentials|credential provider|169\.254\.169\.254|metadata\.google"
)
_NO_ANSWER = re.compile(
    r"status(?: code)?\W+5\d\d|error sending request|connection (?:refused|reset|closed|error)|timed out|timeout|"
    r"dns error|broken pipe|tcp connect|service unavailable|error decoding response body|incomplete message"
)


class ObjectStoreState:
    """What a process knows of one object store: whether it answers, and since when tables must be looked at anew."""

    def __init__(
        self,
        name: str,
        folder: Path,
        clock: Callable[[], float] = time.monotonic,
        watch: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.name = name
        self.commits = folder / "commits"
        self.clock = clock
        self._watch = watch  # looks at what else of the home may have changed
        self._watched_at = self.clock()
        self.stale_before = float("-inf")
        self._away_since: float | None = None
        self._try_again_at = 0.0

    def expire(self) -> None:
        """Have every table looked at anew before its next read."""
        self.stale_before = self.clock()

    def is_away(self) -> bool:
        """Whether the store did not answer a moment ago, and it is too early to ask again."""
        return self._away_since is not None and self.clock() < self._try_again_at

    @property
    def seconds_away(self) -> float | None:
        """How long the store has not answered, as far as anybody asked; None if it did the last time."""
        return None if self._away_since is None else self.clock() - self._away_since

    async def watch(self) -> None:
        """Look once in a while at what else of the home may have changed, such as the generation in use."""
        if self._watch is not None and self.clock() - self._watched_at > SECONDS_BETWEEN_LOOKS:
            self._watched_at = self.clock()
            await self._watch()

    def note_away(self) -> None:
        """Note that it did not answer."""
        if self._away_since is None:
            self._away_since = self.clock()
        self._try_again_at = self.clock() + SECONDS_BETWEEN_TRIES

    def note_answer(self) -> None:
        """Note that it answered."""
        self._away_since = None

    def away(self, detail: str = "") -> StoreUnavailable:
        """Return the error that says so."""
        why = f" ({detail})" if detail else ""
        return StoreUnavailable(
            f"The object store of {self.name} does not answer{why}. What is remembered waits in this host's log; "
            "changes and reads of what is not in memory have to wait until it is back."
        )

    def error_for(self, what: str, error: BaseException) -> StoreUnavailable | None:
        """Return what an error of the object store means; None if it says nothing about the store itself."""
        text, detail = _without_settings(str(error).lower()), _short(error)
        if _FULL.search(text):
            return StoreUnavailable(
                f"The bucket of {self.name} is full or over its quota ({what}: {detail}). Make room and try again; "
                "what is remembered waits in this host's log."
            )
        if _NO_BUCKET.search(text):
            return StoreUnavailable(
                f"There is no bucket for {self.name} ({detail}). Create it, or correct REVERIE_HOME."
            )
        if _MISSING.search(text):
            return None
        if _DENIED.search(text):
            return StoreUnavailable(
                f"The object store of {self.name} refuses these credentials ({what}: {detail}). Set "
                "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and, if it is not Amazon's, AWS_ENDPOINT; "
                "for gs:// and az:// the variables of Google and Azure."
            )
        if isinstance(error, TimeoutError) or _NO_ANSWER.search(text):
            self.note_away()
            return self.away(detail)
        return None


def _without_settings(text: str) -> str:
    """Leave out what an error says of the client's settings, such as its timeouts."""
    return re.sub(r"(?:max_retries|retry_timeout)\W+\S+", "", text.partition("debug source")[0])


def _short(error: BaseException) -> str:
    line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return " ".join(line.split())[:200]


class RemoteTable:
    """Keeps one table of an object store up to date."""

    def __init__(self, name: str, lance: AsyncTable, state: ObjectStoreState) -> None:
        self.state = state
        self._name = name
        self._lance = lance
        self._mark = state.commits / name  # a byte for every commit by a process of this host
        self._seen = _size(self._mark)
        self._looked_at = state.clock()
        self._looking = asyncio.Lock()
        self._version: int | None = None  # of the table as it is open

    async def run(self, operation: Callable[[], Awaitable[Result]], *, writes: bool) -> Result:
        """Run an operation on the newest version; while the store is away a read may get an older one.

        Raises:
            StoreUnavailable: if the store does not answer, and what was asked for is not in memory.
            StoreBusy: if a lease under which this task works may be another's by now.
        """
        must_be_fresh = writes or holds_a_lease()
        await self.look(must_be_fresh=must_be_fresh)
        if writes:
            check_leases()
        if not self.state.is_away():
            return await operation()
        try:
            return await asyncio.wait_for(operation(), SECONDS_TO_ANSWER)
        except TimeoutError as error:
            self.state.note_away()
            raise self.state.away() from error

    async def look(self, *, must_be_fresh: bool = False) -> None:
        """Look for a newer version, unless that was done a moment ago or the store is away.

        Raises:
            StoreUnavailable: if the store does not answer although the newest version is needed.
        """
        if self._is_fresh():
            return
        async with self._looking:
            if self._is_fresh():
                return
            if self.state.is_away():
                if must_be_fresh:
                    raise self.state.away()
                return
            asked_at, size = self.state.clock(), _size(self._mark)
            try:
                async with asyncio.timeout(SECONDS_TO_ANSWER):
                    await self._lance.checkout_latest()  # type: ignore[no-untyped-call]
                    await self.state.watch()
            except StoreUnavailable:
                if must_be_fresh or not self.state.is_away():
                    raise
                return
            except (TimeoutError, RuntimeError, ValueError, OSError) as error:
                known = self.state.error_for(self._name, error)
                if known is None:
                    raise
                if must_be_fresh or not self.state.is_away():
                    raise known from error
                return
            self.state.note_answer()
            self._looked_at, self._seen, self._version = asked_at, size, None

    async def version(self) -> int:
        """Return the newest version that is known.

        Raises:
            StoreUnavailable: if the store does not answer although the newest version is needed.
        """
        await self.look(must_be_fresh=holds_a_lease())
        if self._version is None:
            self._version = int(await self._lance.version())
        return self._version

    def expire(self) -> None:
        """Look for a newer version before the next operation."""
        self._looked_at, self._version = float("-inf"), None

    def note_commit(self) -> None:
        """Tell the other processes of this host that the table has a new version; this one has it already."""
        self.state.note_answer()
        self._version = None
        before = _size(self._mark)
        try:
            descriptor = os.open(self._mark, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(descriptor, b".")
            finally:
                os.close(descriptor)
        except OSError:
            return  # others then notice it as other hosts do
        if before == self._seen and _size(self._mark) == before + 1:
            self._seen = before + 1

    def _is_fresh(self) -> bool:
        oldest = max(self.state.clock() - FRESH_SECONDS, self.state.stale_before)
        return self._looked_at >= oldest and _size(self._mark) == self._seen


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
