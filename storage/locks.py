"""Locks, for changes that read before they write: lock files between processes, leases between hosts.

A lock file (`ProcessLock`) is freed by the system when its process dies. In a bucket there is no such system, so a
holder leases the lock for some seconds and renews the lease while it works (`Lease`). Nobody compares clocks: whoever
waits measures by its own clock how long the lease object has stayed as it is, and takes it over once that is longer
than the lease lasts. A lease has a number that rises with every holder. A holder that was held up for so long that
its lease may be another's by now finds that out before it writes (`check_leases`).

A lock of a home in a bucket (`HostLock`) is both, the file first: the processes of one host do not compete for the
lease.
"""

import asyncio
import json
import random
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from filelock import FileLock, Timeout

from reverie.errors import StoreBusy, StoreError, StoreUnavailable

PATIENCE_SECONDS = 30.0
_PAUSE = 0.003


class Lock(Protocol):
    """What keeps others from doing the same at the same time."""

    def held(self, patience: float = PATIENCE_SECONDS) -> AbstractAsyncContextManager[None]:
        """Hold the lock for the length of the block.

        Raises:
            StoreBusy: if others hold it for longer than `patience` seconds.
        """

    def held_if_free(self) -> AbstractAsyncContextManager[bool]:
        """Hold the lock if nobody has it; yield whether it does."""


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


LEASE_SECONDS = 15.0
"""How long a holder that says nothing keeps the lease: so long others wait if it was killed."""

_RENEWALS = 3  # in the time of one lease
_MARGIN = 0.2  # the part of a lease in which its holder no longer trusts it
_LEASE_PAUSE = 0.1
_JUMP = 2**20  # the mark of a holder that died is not known exactly: see `HeldLease.mark`

_HELD: ContextVar[tuple["HeldLease", ...]] = ContextVar("held leases", default=())


@dataclass(frozen=True, slots=True)
class StoredObject:
    """A small object and what names its present content."""

    content: bytes
    tag: str


class SmallObjects(Protocol):
    """Objects with conditional writes: what a lease needs of an object store."""

    async def get(self, key: str) -> StoredObject | None:
        """Return an object; None if there is none.

        Raises:
            StoreUnavailable: if the store does not answer.
        """

    async def put(self, key: str, content: bytes, *, instead_of: str | None) -> str | None:
        """Write an object if it is still the one with this tag, or, with None, if there is none.

        Returns its new tag; None if somebody else was quicker.

        Raises:
            StoreUnavailable: if the store does not answer.
        """


@dataclass(frozen=True, slots=True)
class _Entry:
    """What the object of a lease says."""

    number: int  # rises with every holder
    mark: int  # see `HeldLease.mark`
    owner: str  # empty: free
    host: str
    beat: int  # rises with every renewal, so that the object is another one

    @classmethod
    def read(cls, content: bytes) -> "_Entry":
        known = json.loads(content)
        return cls(**{name: known[name] for name in ("number", "mark", "owner", "host", "beat")})

    def write(self) -> bytes:
        return json.dumps({name: getattr(self, name) for name in self.__slots__}).encode()


class HeldLease:
    """A lease while it is held."""

    def __init__(self, name: str, entry: _Entry, tag: str, until: float, clock: Callable[[], float]) -> None:
        self.name = name
        self.number = entry.number
        """The fencing number: higher than that of every holder before."""
        self.mark = entry.mark
        """A number that holders pass on, each raising it: the journal orders the events of several hosts by it."""
        self.entry = entry
        self.tag = tag
        self.until = until  # by our clock; renewing moves it on
        self.is_lost = False
        self.is_over = False  # given back; a task that began under it may still know of it
        self._clock = clock

    def check(self) -> None:
        """Make sure that the lease is still ours.

        Raises:
            StoreBusy: if it may be another's by now.
        """
        if self.is_lost or self._clock() >= self.until:
            raise StoreBusy(
                f"This host was held up, and another may hold the lease {self.name!r} by now. Nothing more was "
                "written; try again."
            )


def check_leases() -> None:
    """Make sure that every lease that this task holds is still its own; call it before a write that matters.

    Raises:
        StoreBusy: if one may be another's by now.
    """
    for lease in _HELD.get():
        if not lease.is_over:
            lease.check()


def held_lease(name: str) -> HeldLease | None:
    """Return the lease of this name under which this task works."""
    return next((lease for lease in _HELD.get() if lease.name.endswith(name) and not lease.is_over), None)


def holds_a_lease() -> bool:
    """Whether this task works under a lease, and so has to read what is there now."""
    return any(not lease.is_over for lease in _HELD.get())


class Lease:
    """A lock between hosts, as an object with conditional writes."""

    def __init__(
        self,
        objects: SmallObjects,
        key: str,
        *,
        host: str = "",
        seconds: float = LEASE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the objects and the key of this one. `host` names this host, if a lock file there guards the lease.

        Then a lease in the name of the same host is left over from a process that was killed: whoever held it would
        hold the file as well.
        """
        self._objects = objects
        self._host = host
        self._key = key
        self._seconds = seconds
        self._clock = clock
        self._seen: tuple[str, float] | None = None  # the tag of another's lease, and since when we know it

    @asynccontextmanager
    async def held(self, patience: float = PATIENCE_SECONDS) -> AsyncIterator[HeldLease]:
        """Hold the lease for the length of the block.

        Raises:
            StoreBusy: if others hold it for longer than `patience` seconds.
            StoreUnavailable: if the object store does not answer.
        """
        deadline = self._clock() + patience
        while (held := await self._try()) is None:
            if self._clock() > deadline:
                raise StoreBusy(
                    f"Another host has held the lease {self._key!r} for {patience:.0f} seconds. Try again later."
                )
            await asyncio.sleep(_LEASE_PAUSE * (0.5 + random.random()))  # noqa: S311 - jitter
        async with self._kept(held):
            yield held

    @asynccontextmanager
    async def held_if_free(self) -> AsyncIterator[HeldLease | None]:
        """Hold the lease if nobody has it, or nobody has renewed it for long; yield it, or None."""
        held = await self._try()
        if held is None:
            yield None
            return
        async with self._kept(held):
            yield held

    async def _try(self) -> HeldLease | None:
        there = await self._objects.get(self._key)
        now = self._clock()
        if there is None:
            return await self._take(_Entry(1, 0, _new_owner(), self._host, 0), None)
        entry = _Entry.read(there.content)
        own = replace(entry, number=entry.number + 1, owner=_new_owner(), host=self._host, beat=0)
        if not entry.owner:
            return await self._take(own, there.tag)
        if self._seen is None or self._seen[0] != there.tag:
            self._seen = there.tag, now
        is_left_over = bool(self._host) and entry.host == self._host
        if not is_left_over and now - self._seen[1] < self._seconds:
            return None
        return await self._take(replace(own, mark=own.mark + _JUMP), there.tag)  # its holder died

    async def _take(self, entry: _Entry, instead_of: str | None) -> HeldLease | None:
        asked_at = self._clock()
        tag = await self._put(entry, instead_of)
        if tag is None:
            return None
        self._seen = None
        return HeldLease(self._key, entry, tag, asked_at + self._trusted, self._clock)

    @property
    def _trusted(self) -> float:
        return self._seconds * (1 - _MARGIN)

    async def _put(self, entry: _Entry, instead_of: str | None) -> str | None:
        """Write the object; None if it is another's. An earlier write of ours may have arrived without an answer."""
        tag = await self._objects.put(self._key, entry.write(), instead_of=instead_of)
        if tag is not None:
            return tag
        there = await self._objects.get(self._key)
        if there is None or _Entry.read(there.content).owner != entry.owner:
            return None
        if there.content == entry.write():
            return there.tag
        return await self._objects.put(self._key, entry.write(), instead_of=there.tag)

    @asynccontextmanager
    async def _kept(self, held: HeldLease) -> AsyncIterator[None]:
        """Renew a lease until the block ends, then give it back."""
        done = asyncio.Event()
        renewing = asyncio.create_task(self._renew(held, done))
        before = _HELD.get()
        _HELD.set((*before, held))
        try:
            yield
        finally:
            _HELD.set(before)
            held.is_over = True
            done.set()
            await asyncio.gather(renewing, return_exceptions=True)
            await self._give_back(held)

    async def _renew(self, held: HeldLease, done: asyncio.Event) -> None:
        while not held.is_lost:
            with suppress(TimeoutError):
                await asyncio.wait_for(done.wait(), self._seconds / _RENEWALS)
                return
            asked_at = self._clock()
            entry = replace(held.entry, beat=held.entry.beat + 1, mark=held.mark)
            with suppress(StoreError):  # `until` stays where it is
                tag = await self._put(entry, held.tag)
                if tag is None:
                    held.is_lost = True
                else:
                    held.entry, held.tag, held.until = entry, tag, asked_at + self._trusted

    async def _give_back(self, held: HeldLease) -> None:
        if held.is_lost:
            return
        free = replace(held.entry, owner="", mark=held.mark)
        with suppress(StoreError):  # then it runs out
            if await self._objects.put(self._key, free.write(), instead_of=held.tag) is not None:
                return
            there = await self._objects.get(self._key)  # a renewal may have arrived without an answer
            if there is not None and _Entry.read(there.content).owner == held.entry.owner:
                await self._objects.put(self._key, free.write(), instead_of=there.tag)


class HostLock:
    """A lock of a home in a bucket: between the processes of this host a file, between hosts a lease."""

    def __init__(self, file: ProcessLock, lease: Lease, acquired: Callable[[], None] = lambda: None) -> None:
        self._file = file
        self._lease = lease
        self._acquired = acquired  # called when it is held: what others wrote before has to be read anew
        self.lease: HeldLease | None = None
        """The lease, while this process holds it."""

    @asynccontextmanager
    async def held(self, patience: float = PATIENCE_SECONDS) -> AsyncIterator[None]:
        """Hold the lock for the length of the block.

        Raises:
            StoreBusy: if others hold it for longer than `patience` seconds.
            StoreUnavailable: if the object store does not answer.
        """
        async with self._file.held(patience), self._lease.held(patience) as lease:
            with self._noted(lease):
                yield

    @asynccontextmanager
    async def held_if_free(self) -> AsyncIterator[bool]:
        """Hold the lock if nobody has it; yield whether it does."""
        async with self._file.held_if_free() as ours:
            if not ours:
                yield False
                return
            async with self._lease.held_if_free() as lease:
                if lease is None:
                    yield False
                    return
                with self._noted(lease):
                    yield True

    def _noted(self, lease: HeldLease) -> "_Noted":
        self._acquired()
        return _Noted(self, lease)


class _Noted:
    """Says in a lock which lease it holds."""

    def __init__(self, lock: HostLock, lease: HeldLease) -> None:
        self._lock, self._lease = lock, lease

    def __enter__(self) -> None:
        self._lock.lease = self._lease

    def __exit__(self, *_error: object) -> None:
        self._lock.lease = None


def _new_owner() -> str:
    return secrets.token_hex(8)
