"""Moving a home: between a folder and a bucket, in either direction, or copying it, as a backup is.

Files are copied as they are, so rows, indexes and the journal stay what they were; every one is read back and
compared before the switch. A move that is cut short goes on where it was: what is there with the right content is not
copied again. The home that is left stays as it is, with a note that says where its memories are now.
"""

import asyncio
import hashlib
import shutil
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import obstore
from obstore.exceptions import BaseError
from obstore.store import LocalStore

from reverie.errors import StoreUnavailable
from reverie.ids import IdMaker
from reverie.storage.access_log import AccessRecorder
from reverie.storage.bucket import BucketHome
from reverie.storage.database import open_generation
from reverie.storage.homes import MOVED, MOVING, POINTER, PURGED, TABLES, DomainHome, write_chain
from reverie.storage.host_chains import SHARED, chain_of
from reverie.storage.lance_table import Table
from reverie.storage.reembed import stamp_of
from reverie.storage.schema import MEMORY_TABLES
from reverie.storage.store import MemoryStore

Progress = Callable[[int, int], None]
_LOG = "additions/"
_MOST_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Moved:
    """What was moved or copied."""

    memories: int
    files: int
    bytes: int


async def move(
    source: DomainHome, target: DomainHome, *, now: datetime, progress: Progress, keep: bool = False
) -> Moved | None:
    """Copy a domain to another home, compare both, and make the other one the home in use; None if there is none.

    With `keep` the source stays in use, and the other one is a backup.

    Raises:
        StoreUnavailable: if either cannot be used, or the target has other memories. Nothing has changed then.
        StoreError: if the source cannot be read. Nothing has changed then.
    """
    await source.prepare()
    await target.prepare()
    await _check_target(source, target)
    stamp = await stamp_of(source)
    if stamp is None:
        return None
    was_moved = await source.note(MOVED)
    if was_moved is not None:  # cut short between the two steps of the switch
        await source.set_note(MOVED, None)
    store = await MemoryStore.open(source, stamp, session="move", new_id=IdMaker(lambda: now), now=now)
    try:
        await AccessRecorder(store).count()
        async with AsyncExitStack() as held:
            for lock in (source.lock("reembed"), store.write_lock, store.database.maintenance_lock):
                await held.enter_async_context(lock.held())
            await held.enter_async_context(store.database.write_ahead_log.paused())
            await store.journal.flush()
            await held.enter_async_context(store.journal.flushed())
            return await _copied_and_switched(store, target, progress, keep=keep)
    finally:
        await store.close()


async def _check_target(source: DomainHome, target: DomainHome) -> None:
    if source.name == target.name:
        raise StoreUnavailable(f"The memories are in {target.name} already.")
    begun = await target.note(MOVING)
    if begun is not None and begun != source.name:
        raise StoreUnavailable(f"A move from {begun} to {target.name} is not finished. Finish that one first.")
    is_old_home = await target.note(MOVED) == source.name  # moving back to where they came from
    if begun is None and not is_old_home and await target.has_tables(await target.refresh()):
        raise StoreUnavailable(f"There are memories in {target.name} already, and a move would cover them.")


async def _copied_and_switched(store: MemoryStore, target: DomainHome, progress: Progress, *, keep: bool) -> Moved:
    source, generation = store.database.home, store.database.generation
    if await target.note(MOVING) is None:
        await target.set_note(MOVING, source.name)
        for old in await target.older_than(2**31):  # of a home that was moved away once
            await target.drop(old)
    files = await _copied(_files_of(source), _files_of(target), f"{TABLES}{generation}/", progress)
    await _copied(_files_of(source), _files_of(target), PURGED, lambda _done, _all: None)
    memories = await _compare_rows(store, await open_generation(target, generation))
    await _go_on_with_journal(store, target)
    await target.set_note(POINTER, str(generation))
    if not keep:
        await source.set_note(MOVED, target.name)
    await target.set_note(MOVED, None)
    await target.set_note(MOVING, None)
    return Moved(memories, len(files), sum(files.values()))


def _files_of(home: DomainHome) -> Any:
    """Return an object store of the files of a home, whichever kind it is."""
    return home.objects.store if isinstance(home, BucketHome) else LocalStore(home.folder)


async def _copied(source: Any, target: Any, prefix: str, progress: Progress) -> dict[str, int]:
    """Copy files until all of them read back as they are in the source; return their sizes."""
    try:
        wanted = await _sizes(source, prefix)
        for remaining in reversed(range(_MOST_ROUNDS)):
            there = await _sizes(target, prefix)
            missing = 0
            for number, (path, size) in enumerate(wanted.items()):
                content = bytes(await (await obstore.get_async(source, path)).bytes_async())
                if there.get(path) != size or not await _reads_as(target, path, content):
                    await obstore.put_async(target, path, content)
                    missing += 1
                progress(number + 1, len(wanted))
            surplus = there.keys() - wanted.keys()
            for path in surplus:
                await obstore.delete_async(target, path)
            if not missing and not surplus:
                return wanted
            if not remaining:
                break
    except (BaseError, OSError) as error:
        raise StoreUnavailable(
            f"The move was cut short ({str(error).splitlines()[0][:200]}). Run it again to go on; until then the "
            "memories are where they were."
        ) from error
    raise StoreUnavailable("What was copied does not read back as it was written. Nothing has changed.")


async def _sizes(store: Any, prefix: str) -> dict[str, int]:
    sizes: dict[str, int] = {}
    async for part in obstore.list(store, prefix=prefix if prefix.endswith("/") else None):
        sizes |= {str(one["path"]): int(one["size"]) for one in part if str(one["path"]).startswith(prefix)}
    return {path: size for path, size in sizes.items() if f"/{_LOG}" not in path}


async def _reads_as(store: Any, path: str, content: bytes) -> bool:
    there = bytes(await (await obstore.get_async(store, path)).bytes_async())
    return hashlib.sha256(there).digest() == hashlib.sha256(content).digest()


async def _compare_rows(store: MemoryStore, copies: dict[str, Table]) -> int:
    """Compare the number of rows of every table, and which memories in which state the tables have."""
    memories = 0
    for name, copy in copies.items():
        original = store.database.raw_table(name)
        columns = ["id", "content_hash", "updated_at"] if name in MEMORY_TABLES else ["id"]
        digests = [_digest((await table.rows(columns)).to_pylist()) for table in (original, copy)]
        if digests[0] != digests[1]:
            raise StoreUnavailable(f"The copy of the table {name!r} differs from it. Nothing has changed.")
        memories += await copy.count() if name in MEMORY_TABLES else 0
    return memories


def _digest(rows: list[dict[str, Any]]) -> str:
    lines = sorted(repr(list(row.values())) for row in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


async def _go_on_with_journal(store: MemoryStore, target: DomainHome) -> None:
    """Have the target number its events above those that it takes over, in a chain that none of them is in."""
    await asyncio.to_thread(shutil.rmtree, target.folder / "journal", ignore_errors=True)  # of an earlier stay
    numbers = [row["number"] for row in await store.journal.rows(("id", "at", "number"))]
    used = {chain_of(number) for number in numbers} - {SHARED}
    if isinstance(target, BucketHome):
        await target.take_chain_beside(used)
    elif used:
        write_chain(target.folder, max(used) + 1)
        await target.prepare()
