"""A home in a bucket (S3, Google Cloud Storage, Azure): what hosts share is objects, what is a host's own is files.

Objects are written on condition (if absent, if unchanged), which every lease, the pointer and the list of hosts rest
on; a bucket that does not keep such conditions is refused. obstore is the one client for all three kinds of bucket.
"""

import asyncio
import json
import os
import secrets
import socket
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from lancedb import AsyncTable

from reverie.errors import StoreDamaged, StoreUnavailable
from reverie.storage.homes import (
    CHAIN,
    FIRST,
    META,
    POINTER,
    PURGED,
    STAGING,
    TABLES,
    PurgedTexts,
    hash_of,
    make_private,
    purged_among,
    read_chain,
    write_chain,
)
from reverie.storage.host_chains import MOST_HOSTS, HostChain
from reverie.storage.locks import HostLock, Lease, Lock, ProcessLock, StoredObject, check_leases
from reverie.storage.remote_tables import ObjectStoreState, RemoteTable

try:
    import obstore
    from obstore.exceptions import AlreadyExistsError, BaseError, NotFoundError, PreconditionError
    from obstore.store import from_url
except ImportError as missing:
    raise StoreUnavailable("A home in a bucket needs one more package: pip install 'reverie-mcp[team]'.") from missing

HOSTS = "hosts/"
_REQUEST_SECONDS = 15
_SMALL_REQUEST_SECONDS = 5
_CONNECT_SECONDS = 4
_RETRIES = 2
_RETRY_SECONDS = 6
_CHECKED = "conditional-writes"
_HOST = "host"
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_LEASES = "leases/"
_MOST_TRIES = 20
_COPIES_AT_ONCE = 16
_ALLOW_HTTP = ("AWS_ALLOW_HTTP", "AZURE_ALLOW_HTTP", "GOOGLE_ALLOW_HTTP")
_NOBODYS_TAG = json.dumps(['"00000000000000000000000000000000"', None])

STORE_OPTIONS: Mapping[str, str] = {
    "timeout": f"{_REQUEST_SECONDS}s",
    "connect_timeout": f"{_CONNECT_SECONDS}s",
    "client_max_retries": str(_RETRIES),
    "client_retry_timeout": str(_RETRY_SECONDS),
}
"""What LanceDB is told: to give up on a store that is away in seconds, not in minutes."""


class BucketObjects:
    """The small objects under an address."""

    def __init__(self, uri: str, state: ObjectStoreState) -> None:
        self._state = state
        try:
            self.store: Any = from_url(
                uri,
                client_options={
                    "timeout": f"{_SMALL_REQUEST_SECONDS}s",
                    "connect_timeout": f"{_CONNECT_SECONDS}s",
                    "allow_http": _may_use_http(),
                },
                retry_config={"max_retries": _RETRIES, "retry_timeout": timedelta(seconds=_RETRY_SECONDS)},
            )
        except (BaseError, ValueError) as error:
            raise self._translated(uri, error) from error

    async def get(self, key: str) -> StoredObject | None:
        """Return an object; None if there is none.

        Raises:
            StoreUnavailable: if the store does not answer or refuses.
        """
        self._check_answers()
        try:
            found = await obstore.get_async(self.store, key)
            return StoredObject(bytes(await found.bytes_async()), _tag(found.meta))
        except (NotFoundError, FileNotFoundError) as error:
            if (known := self._state.error_for(key, error)) is not None:
                raise known from error  # there is no such bucket
            return None
        except BaseError as error:
            raise self._translated(key, error) from error

    async def put(self, key: str, content: bytes, *, instead_of: str | None) -> str | None:
        """Write an object if it is still the one with this tag, or, with None, if there is none.

        Returns its new tag; None if somebody else was quicker.

        Raises:
            StoreUnavailable: if the store does not answer or refuses.
        """
        self._check_answers()
        try:
            made = await obstore.put_async(self.store, key, content, mode=_mode(instead_of), use_multipart=False)
            return _tag(made)
        except (AlreadyExistsError, PreconditionError):
            return None
        except (NotFoundError, FileNotFoundError) as error:  # it was deleted, or there is no such bucket
            if (known := self._state.error_for(key, error)) is not None:
                raise known from error
            return None
        except BaseError as error:
            if "conditionalrequestconflict" in str(error).lower() or "status 409" in str(error).lower():
                return None
            raise self._translated(key, error) from error

    def put_now(self, key: str, content: bytes, *, instead_of: str | None) -> str | None:
        """Do the same without a task: for what is written once in a while."""
        try:
            return _tag(obstore.put(self.store, key, content, mode=_mode(instead_of), use_multipart=False))
        except (AlreadyExistsError, PreconditionError):
            return None
        except BaseError as error:
            raise self._translated(key, error) from error

    def get_now(self, key: str) -> StoredObject | None:
        """Return an object without a task."""
        try:
            found = obstore.get(self.store, key)
            return StoredObject(bytes(found.bytes()), _tag(found.meta))
        except (NotFoundError, FileNotFoundError):
            return None
        except BaseError as error:
            raise self._translated(key, error) from error

    async def sizes(self, prefix: str = "") -> dict[str, int]:
        """Return the bytes of every object whose key begins so, by key.

        Raises:
            StoreUnavailable: if the store does not answer or refuses.
        """
        sizes: dict[str, int] = {}
        try:
            async for part in obstore.list(self.store, prefix=prefix or None):
                sizes |= {str(one["path"]): int(one["size"]) for one in part}
        except BaseError as error:
            raise self._translated(prefix, error) from error
        return sizes

    async def copy(self, keys: Mapping[str, str]) -> None:
        """Copy objects to other keys, within the store.

        Raises:
            StoreUnavailable: if the store does not answer or refuses.
        """
        turns = asyncio.Semaphore(_COPIES_AT_ONCE)

        async def one(source: str, target: str) -> None:
            async with turns:
                await obstore.copy_async(self.store, source, target)

        try:
            await asyncio.gather(*(one(source, target) for source, target in keys.items()))
        except (BaseError, FileNotFoundError) as error:
            raise self._translated("copy", error) from error

    async def folders(self) -> list[str]:
        """Return the names of what has objects below it."""
        try:
            found = await obstore.list_with_delimiter_async(self.store)
        except BaseError as error:
            raise self._translated("", error) from error
        return [str(prefix).rstrip("/").rpartition("/")[2] for prefix in found["common_prefixes"]]

    async def delete(self, keys: Iterable[str]) -> None:
        """Delete objects; one that is gone is no matter.

        Raises:
            StoreUnavailable: if the store does not answer or refuses.
        """
        try:
            for key in keys:
                try:
                    await obstore.delete_async(self.store, key)
                except (NotFoundError, FileNotFoundError):
                    continue
        except BaseError as error:
            raise self._translated("delete", error) from error

    def _check_answers(self) -> None:
        """Do not wait for a store that did not answer a moment ago."""
        if self._state.is_away():
            raise self._state.away()

    def _translated(self, what: str, error: Exception) -> StoreUnavailable:
        known = self._state.error_for(what, error)
        return known or StoreUnavailable(
            f"The object store of {self._state.name} failed ({what}: {str(error)[:200]})."
        )


def _tag(meta: Any) -> str:
    """Return what names the content of an object: its ETag and, where the store counts them, its version."""
    return json.dumps([meta.get("e_tag"), meta.get("version")])


def _mode(instead_of: str | None) -> Any:
    if instead_of is None:
        return "create"
    known = dict(zip(("e_tag", "version"), json.loads(instead_of), strict=True))
    return {name: value for name, value in known.items() if value is not None}


def _may_use_http() -> bool:
    return any(os.environ.get(name, "").strip().lower() in ("1", "true", "yes") for name in _ALLOW_HTTP)


class PurgedTextsObject:
    """The hashes of purged texts in one object, as this process read them last."""

    def __init__(self, objects: BucketObjects) -> None:
        self._objects = objects
        self._hashes: frozenset[str] = frozenset()

    def among(self, contents: Iterable[str]) -> set[str]:
        """Return those of the texts that were purged from this store, as far as this host has heard."""
        return purged_among(contents, self._hashes)

    def add(self, contents: Iterable[str]) -> None:
        """Add texts. Call it inside `changing()`.

        Raises:
            StoreUnavailable: if the object cannot be written.
        """
        wanted = {hash_of(content) for content in contents}
        for _ in range(_MOST_TRIES):
            there = self._objects.get_now(PURGED)
            known = frozenset() if there is None else _hashes_in(there.content)
            if wanted <= known:
                break
            content = "".join(f"{one}\n" for one in sorted(known | wanted)).encode("ascii")
            if self._objects.put_now(PURGED, content, instead_of=there.tag if there else None) is not None:
                break
        self._hashes |= wanted

    async def refresh(self) -> None:
        """Read what other hosts added."""
        there = await self._objects.get(PURGED)
        if there is not None:
            self._hashes = _hashes_in(there.content)


def _hashes_in(content: bytes) -> frozenset[str]:
    return frozenset(content.decode("ascii", "replace").split())


class BucketHome:
    """A domain in a bucket, as one host sees it."""

    def __init__(self, uri: str, folder: Path) -> None:
        self.uri = uri.rstrip("/")
        self.folder = folder
        self.store_options: Mapping[str, str] | None = STORE_OPTIONS
        self._own_state = ObjectStoreState(self.uri, folder, watch=self._watch)
        self.state: ObjectStoreState | None = self._own_state
        self.objects = BucketObjects(self.uri, self._own_state)
        self._purged = PurgedTextsObject(self.objects)
        self.purged_texts: PurgedTexts = self._purged
        self.host_chain: HostChain | None = None
        self._host = ""
        self._current = 0  # not looked up yet
        self._pointer_tag: str | None = None

    @property
    def name(self) -> str:
        """The address."""
        return self.uri

    async def prepare(self) -> None:
        """Make this host's folder, and make sure that the bucket can be used.

        Raises:
            StoreUnavailable: if the bucket cannot be reached or used, or the folder cannot be written.
        """
        try:
            make_private(self.folder)
            self._own_state.commits.mkdir(exist_ok=True, mode=0o700)
        except OSError as error:
            raise StoreUnavailable(
                f"This host's folder for {self.uri}, {self.folder}, cannot be written ({error.strerror}). Set "
                "REVERIE_HOST_FOLDER to a folder that you own."
            ) from error
        checked = self.folder / _CHECKED
        async with ProcessLock(self.folder / "locks" / "host.lock").held():
            if not checked.exists():
                await self._check_conditions()
                checked.touch(mode=0o600)
            self.host_chain = await self._chain()
            self._host = _identity_of_host(self.folder / _HOST)
        await self._purged.refresh()

    async def _check_conditions(self) -> None:
        """Make sure that conditional writes hold: without them two hosts could both believe that they won."""
        key = f"probe-{secrets.token_hex(8)}"
        first = await self.objects.put(key, b"1", instead_of=None)
        try:
            again = await self.objects.put(key, b"2", instead_of=None)
            other = await self.objects.put(key, b"3", instead_of=_NOBODYS_TAG)
            right = await self.objects.put(key, b"4", instead_of=first) if first else None
        finally:
            await self.objects.delete([key])
        if first is None or right is None or again is not None or other is not None:
            raise StoreUnavailable(
                f"The object store of {self.uri} does not keep to conditional writes (If-None-Match, If-Match), "
                "without which several hosts would overwrite each other. Use one that does: Amazon S3, Google Cloud "
                "Storage, Azure, SeaweedFS, MinIO, R2."
            )

    async def take_chain_beside(self, used: Iterable[int]) -> None:
        """Give this host a chain that none of these is: their events were written elsewhere and moved here."""
        for index in used:
            await self.objects.put(f"{HOSTS}{index}", b"{}", instead_of=None)
        if self.host_chain is not None and self.host_chain.index in used:
            (self.folder / CHAIN).unlink(missing_ok=True)
            self.host_chain = await self._chain()

    async def _chain(self) -> HostChain:
        """Return the chain of this host's events; a new host takes the first number that is free."""
        if (known := read_chain(self.folder)) is not None:
            return known
        taken = [int(key.rpartition("/")[2]) for key in await self.objects.sizes(HOSTS)]
        for index in range(max(taken, default=-1) + 1, MOST_HOSTS):
            who = json.dumps({"host": socket.gethostname()}).encode()
            if await self.objects.put(f"{HOSTS}{index}", who, instead_of=None) is not None:
                return write_chain(self.folder, index)
        raise StoreUnavailable(
            f"{self.uri} was opened by {MOST_HOSTS:,} hosts, which is as many as can be told apart."
        )

    async def note(self, name: str) -> str | None:
        """Return the text of a small object; None if there is none."""
        there = await self.objects.get(name)
        return None if there is None else there.content.decode()

    async def set_note(self, name: str, text: str | None) -> None:
        """Write a small object, or delete it."""
        if text is None:
            await self.objects.delete([name])
            return
        for _ in range(_MOST_TRIES):
            there = await self.objects.get(name)
            if await self.objects.put(name, text.encode(), instead_of=None if there is None else there.tag):
                return
        raise StoreUnavailable(f"Another host keeps writing {name!r} in {self.uri}.")

    def current(self) -> int:
        """Return the generation in use, as any process of this host last saw it."""
        try:
            return int((self.folder / POINTER).read_text("ascii"))
        except (OSError, ValueError):
            return self._current or FIRST

    async def refresh(self) -> int:
        """Look up the generation in use.

        Raises:
            StoreUnavailable: if the store does not answer.
        """
        there = await self.objects.get(POINTER)
        try:
            seen = FIRST if there is None else int(there.content)
        except ValueError as error:
            raise StoreDamaged(POINTER, str(error)) from error
        if seen != self._current or not (self.folder / POINTER).exists():
            self._current = seen
            self._tell_host()
        self._pointer_tag = None if there is None else there.tag
        self._own_state.note_answer()
        return self._current

    def _tell_host(self) -> None:
        """Tell the other processes of this host which generation is in use: they look it up only now and then."""
        fresh = self.folder / f"{POINTER}.{secrets.token_hex(4)}"
        try:
            fresh.write_text(str(self._current), "ascii")
            fresh.replace(self.folder / POINTER)
        except OSError:
            fresh.unlink(missing_ok=True)  # then they notice as other hosts do

    async def _watch(self) -> None:
        await self.refresh()
        await self._purged.refresh()

    async def switch(self, number: int) -> None:
        """Make a generation the one in use, unless somebody else has meanwhile.

        Raises:
            StoreUnavailable: if somebody has, or the store does not answer.
            StoreBusy: if the lease of the re-embedding is another host's by now.
        """
        before = await self.refresh()
        check_leases()
        if number <= before or not await self.objects.put(
            POINTER, str(number).encode(), instead_of=self._pointer_tag
        ):
            raise StoreUnavailable(f"Another host has re-embedded {self.uri} meanwhile. Nothing was changed.")
        await self.refresh()

    async def go_back(self, number: int) -> None:
        """Make an earlier generation the one in use again, unless the lease is another host's by now."""
        await self.refresh()
        check_leases()
        await self.objects.put(POINTER, str(number).encode(), instead_of=self._pointer_tag)
        await self.refresh()

    async def copy_tables(self, source: int, target: int) -> None:
        """Have the store copy the objects of every table but `meta`."""
        prefixes = f"{TABLES}{source}/", f"{TABLES}{target}/"
        left = await self.objects.sizes(prefixes[1])  # by an attempt that was cut short
        await self.objects.delete(key for key in left if not key.startswith(f"{prefixes[1]}{META}/"))
        # In the order of the listing, which names a version before its files: those were there before it.
        wanted = [key for key in await self.objects.sizes(prefixes[0]) if not key.startswith(f"{prefixes[0]}{META}/")]
        await self.objects.copy({key: f"{prefixes[1]}{key.removeprefix(prefixes[0])}" for key in wanted})

    def tables(self, number: int) -> str:
        """Return the address of the tables of a generation."""
        return f"{self.uri}/{TABLES}{number}"

    def logs(self, number: int) -> Path:
        """Return this host's folder of a generation."""
        return self.folder / f"{TABLES}{number}"

    async def has_tables(self, number: int) -> bool:
        """Whether there are objects of this generation."""
        return f"{TABLES}{number}" in await self.objects.folders()

    async def older_than(self, number: int) -> list[int]:
        """Return the earlier generations that have objects."""
        names = [name for name in await self.objects.folders() if name.startswith(TABLES)]
        return sorted(one for name in names if (one := int(name.removeprefix(TABLES))) < number)

    async def drop(self, number: int) -> None:
        """Delete the objects of a generation."""
        await self.objects.delete(await self.objects.sizes(f"{TABLES}{number}/"))

    async def drop_others(self, keep: int) -> None:
        """Delete the objects of every generation but one; what waits in a host's log for them stays there."""
        for number in [one for one in await self.older_than(2**31) if one != keep]:
            await self.drop(number)

    @property
    def staging(self) -> str:
        """An address beside the tables."""
        return f"{self.uri}/{STAGING}"

    async def has_staging(self) -> bool:
        """Whether there are objects."""
        return STAGING in await self.objects.folders()

    async def drop_staging(self) -> None:
        """Delete them."""
        await self.objects.delete(await self.objects.sizes(f"{STAGING}/"))

    def lock(self, name: str) -> Lock:
        """Return a lock file of this host and a lease between hosts."""
        file = ProcessLock(self.folder / "locks" / f"{name}.lock")
        return HostLock(file, Lease(self.objects, f"{_LEASES}{name}", host=self._host), self._own_state.expire)

    def versions_folder(self, number: int, table: str) -> Path | None:
        """Return None: versions are objects."""
        return None

    def remote_table(self, name: str, table: AsyncTable) -> RemoteTable | None:
        """Return what keeps a table up to date."""
        return RemoteTable(name, table, self._own_state)

    def identity(self, number: int) -> tuple[int, int] | None:
        """Return the same for every store: a bucket is not moved away while it is open."""
        return 0, number

    async def sizes(self) -> dict[str, int]:
        """Return the bytes of every object of the domain by key."""
        return await self.objects.sizes()


def _identity_of_host(file: Path) -> str:
    """Return what tells this host from every other, also from one that was started with a copy of its folder."""
    try:
        own = file.read_text("ascii")
    except FileNotFoundError:
        own = secrets.token_hex(8)
        file.write_text(own, "ascii")
    try:
        boot = _BOOT.read_text("ascii").strip()
    except OSError:
        return ""  # not to be told for certain: then a lease of a killed process has to run out
    return f"{socket.gethostname()} {own} {boot}"


async def domains_in(uri: str) -> list[str]:
    """Return the names of the domains under an address.

    Raises:
        StoreUnavailable: if the store does not answer or refuses.
    """
    return sorted(await BucketObjects(uri, ObjectStoreState(uri, Path())).folders())
