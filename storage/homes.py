"""What a domain has beside its tables: which generation of them is in use, locks, logs, the hashes of purged texts.

There are two kinds of home. In a folder (here) all of it is files. In a bucket (bucket.py) tables, pointer, leases
and hashes are objects, which every host shares, and each host has a folder of its own for its logs and caches.

A re-embedding writes a new generation of tables; a pointer says which one is in use.
"""

import asyncio
import hashlib
import os
import secrets
import shutil
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from reverie.errors import StoreDamaged, StoreUnavailable
from reverie.storage.host_chains import HostChain
from reverie.storage.locks import Lock, ProcessLock

if TYPE_CHECKING:
    from lancedb import AsyncTable

    from reverie.storage.remote_tables import ObjectStoreState, RemoteTable

FIRST = 1
POINTER = "current"
TABLES = "tables-"
STAGING = "staging"
PURGED = "purged"
CHAIN = "chain"
MOVED = "moved"
MOVING = "moving"
META = "meta.lance"
_VERSIONS = "_versions"
_DROPPED = "dropped-"


class PurgedTexts(Protocol):
    """The hashes of purged texts, so that a purged text is not stored again."""

    def among(self, contents: Iterable[str]) -> set[str]:
        """Return those of the texts that were purged from this store."""

    def add(self, contents: Iterable[str]) -> None:
        """Add texts. Call it inside `changing()`."""


class DomainHome(Protocol):
    """Where a domain is kept."""

    folder: Path
    """This host's own: logs, locks between its processes, caches. In a folder home the tables are there too."""

    purged_texts: PurgedTexts
    store_options: Mapping[str, str] | None
    """What LanceDB is told about the store; None for a folder."""

    state: "ObjectStoreState | None"
    """Whether the object store answers, and how fresh the tables are; None for a folder."""

    host_chain: "HostChain | None"
    """How this host numbers its events; None for a folder, unless it came from a bucket: then above all of those."""

    @property
    def name(self) -> str:
        """What to call it in a message."""

    async def prepare(self) -> None:
        """Make ready what every use needs."""

    async def note(self, name: str) -> str | None:
        """Return what is noted under a name beside the tables; None if nothing is."""

    async def set_note(self, name: str, text: str | None) -> None:
        """Note something under a name, or with None remove the note."""

    def current(self) -> int:
        """Return the generation in use, as far as this process knows."""

    async def refresh(self) -> int:
        """Return the generation in use, looked up now."""

    async def switch(self, number: int) -> None:
        """Make a generation the one in use, in one step."""

    async def go_back(self, number: int) -> None:
        """Make the generation before the one in use that in use again: nobody has written to the later one."""

    async def copy_tables(self, source: int, target: int) -> None:
        """Replace the tables of a generation by those of another, all but `meta`."""

    def tables(self, number: int) -> str:
        """Return where the tables of a generation are, as LanceDB takes it."""

    def logs(self, number: int) -> Path:
        """Return this host's folder of a generation, in which its write-ahead log is."""

    async def has_tables(self, number: int) -> bool:
        """Whether anything is where the tables of a generation should be."""

    async def older_than(self, number: int) -> list[int]:
        """Return the earlier generations that were not dropped."""

    async def drop(self, number: int) -> None:
        """Remove a generation that is not in use."""

    async def drop_others(self, keep: int) -> None:
        """Remove every generation but one."""

    @property
    def staging(self) -> str:
        """Where a re-embedding gathers new vectors, as LanceDB takes it."""

    async def has_staging(self) -> bool:
        """Whether a re-embedding left something there."""

    async def drop_staging(self) -> None:
        """Remove what a re-embedding gathered, and what is left of dropped generations."""

    def lock(self, name: str) -> Lock:
        """Return a lock that everybody who has this home open respects."""

    def versions_folder(self, number: int, table: str) -> Path | None:
        """Return the folder that has a file for each version of a table; None where that is not on a disk."""

    def remote_table(self, name: str, table: "AsyncTable") -> "RemoteTable | None":
        """Return what keeps a table of an object store up to date; None for a folder."""

    def identity(self, number: int) -> tuple[int, int] | None:
        """Return what tells the tables of a generation from others in the same place; None if they are gone."""

    async def sizes(self) -> dict[str, int]:
        """Return the bytes of every file of the domain by its path, with `/` between folders."""


class FolderHome:
    """A domain in a folder of this machine."""

    store_options: Mapping[str, str] | None = None
    state: "ObjectStoreState | None" = None

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.purged_texts: PurgedTexts = PurgedTextsFile(folder)
        self.host_chain: HostChain | None = None

    @property
    def name(self) -> str:
        """The folder."""
        return str(self.folder)

    async def prepare(self) -> None:
        """Make the folder, for its owner only.

        Raises:
            StoreUnavailable: if it cannot be made or written.
        """
        try:
            make_private(self.folder)
            self.host_chain = read_chain(self.folder)
        except OSError as error:
            raise StoreUnavailable(
                f"The data folder {self.folder} cannot be written ({error.strerror}). "
                "Set REVERIE_HOME to a folder that you own."
            ) from error

    async def note(self, name: str) -> str | None:
        """Return the text of a small file; None if there is none."""
        try:
            return (self.folder / name).read_text("utf-8")
        except FileNotFoundError:
            return None

    async def set_note(self, name: str, text: str | None) -> None:
        """Write a small file, or remove it."""
        if text is None:
            (self.folder / name).unlink(missing_ok=True)
            return
        fresh = self.folder / f"{name}.new"
        with fresh.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self.folder / name)

    def current(self) -> int:
        """Return the number of the generation in use; a new store starts with the first."""
        try:
            return int((self.folder / POINTER).read_text("ascii"))
        except FileNotFoundError:
            return FIRST
        except (OSError, ValueError) as error:
            raise StoreDamaged(POINTER, str(error)) from error

    async def refresh(self) -> int:
        """Return the number of the generation in use."""
        return self.current()

    async def switch(self, number: int) -> None:
        """Make a generation the one in use, atomically."""
        await self.set_note(POINTER, str(number))

    async def go_back(self, number: int) -> None:
        """Make an earlier generation the one in use again."""
        await self.switch(number)

    async def copy_tables(self, source: int, target: int) -> None:
        """Link the files of every table but `meta`: LanceDB never changes a file, and no room is needed."""
        await asyncio.to_thread(_link_tables, self.logs(source), self.logs(target))

    def tables(self, number: int) -> str:
        """Return the folder that holds the tables of a generation."""
        return str(self.logs(number))

    def logs(self, number: int) -> Path:
        """Return the same folder: the write-ahead log lies beside the tables."""
        return self.folder / f"{TABLES}{number}"

    async def has_tables(self, number: int) -> bool:
        """Whether that folder is there."""
        return self.logs(number).is_dir()

    async def older_than(self, number: int) -> list[int]:
        """Return the earlier generations that were not dropped."""
        numbers = sorted(int(path.name.removeprefix(TABLES)) for path in self.folder.glob(f"{TABLES}*"))
        return [earlier for earlier in numbers if earlier < number]

    async def drop(self, number: int) -> None:
        """Remove a generation that is not in use."""
        await asyncio.to_thread(shutil.rmtree, self.logs(number), ignore_errors=True)

    async def drop_others(self, keep: int) -> None:
        """Remove every generation but one.

        Each gets another name first: a removal that is cut short leaves nothing that looks like tables.
        """
        for path in self.folder.glob(f"{TABLES}*"):
            if path != self.logs(keep):
                path.rename(self.folder / f"{_DROPPED}{path.name}-{secrets.token_hex(4)}")
        await self._drop_dropped()

    @property
    def staging(self) -> str:
        """A folder beside the tables."""
        return str(self.folder / STAGING)

    async def has_staging(self) -> bool:
        """Whether it is there."""
        return (self.folder / STAGING).is_dir()

    async def drop_staging(self) -> None:
        """Remove it, and what is left of dropped generations."""
        await asyncio.to_thread(shutil.rmtree, self.folder / STAGING, ignore_errors=True)
        await self._drop_dropped()

    async def _drop_dropped(self) -> None:
        for path in self.folder.glob(f"{_DROPPED}*"):
            # A process that still reads it may write there meanwhile.
            await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)

    def lock(self, name: str) -> Lock:
        """Return a lock file."""
        return ProcessLock(self.folder / "locks" / f"{name}.lock")

    def versions_folder(self, number: int, table: str) -> Path | None:
        """Return the folder of a table's versions."""
        return self.logs(number) / f"{table}.lance" / _VERSIONS

    def remote_table(self, name: str, table: "AsyncTable") -> "RemoteTable | None":
        """Return None: LanceDB itself looks for new versions."""
        return None

    def identity(self, number: int) -> tuple[int, int] | None:
        """Return device and inode of the folder of the tables."""
        try:
            found = self.logs(number).stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    async def sizes(self) -> dict[str, int]:
        """Return the bytes of every file; one that goes while it is counted is left out."""
        return await asyncio.to_thread(_sizes, self.folder)


def home_of(uri: str, folder: Path) -> DomainHome:
    """Return the home at an address; `folder` is where this host keeps its own part of it."""
    if "://" not in uri:
        return FolderHome(Path(uri))
    from reverie.storage.bucket import BucketHome  # few homes are buckets, and its library takes long to load

    return BucketHome(uri, folder)


def make_private(folder: Path) -> None:
    """Make the folder of a domain and the two above it, for their owner only, and one for lock files.

    Raises:
        OSError: if that cannot be done.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for part in (folder.parent.parent, folder.parent, folder):
        part.chmod(0o700)
    (folder / "locks").mkdir(exist_ok=True, mode=0o700)


def read_chain(folder: Path) -> HostChain | None:
    """Return the chain of the journal that is written from a folder; None for the one that needs no number."""
    try:
        return HostChain(int((folder / CHAIN).read_text("ascii")))
    except FileNotFoundError:
        return None


def write_chain(folder: Path, index: int) -> HostChain:
    """Say which chain is written from a folder."""
    fresh = folder / f"{CHAIN}.new"
    fresh.write_text(str(index), "ascii")
    fresh.replace(folder / CHAIN)
    return HostChain(index)


def _link_tables(source: Path, target: Path) -> None:
    for table in sorted(source.glob("*.lance")):
        if table.name == META:
            continue
        copy = target / table.name
        shutil.rmtree(copy, ignore_errors=True)  # of an attempt that was cut short
        # Versions first: the files of each were there before it.
        for part in sorted(table.iterdir(), key=lambda path: (path.name != _VERSIONS, path.name)):
            shutil.copytree(part, copy / part.name, copy_function=_link)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        shutil.copy2(source, target)


def _sizes(folder: Path) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            try:
                sizes[Path(path).relative_to(folder).as_posix()] = os.stat(path).st_size
            except FileNotFoundError:
                continue
    return sizes


class PurgedTextsFile:
    """Reads and appends the hashes in a file beside the tables."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / PURGED
        self._size = 0
        self._hashes: frozenset[str] = frozenset()  # as of a file of that size

    def among(self, contents: Iterable[str]) -> set[str]:
        """Return those of the texts that were purged from this store.

        Raises:
            StoreUnavailable: if the file cannot be read.
        """
        return purged_among(contents, self._read())

    def add(self, contents: Iterable[str]) -> None:
        """Add texts. Call it inside `changing()`.

        Raises:
            StoreUnavailable: if the file cannot be written.
        """
        new = {hash_of(content) for content in contents} - self._read()
        if not new:
            return
        try:
            descriptor = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with open(descriptor, "a", encoding="ascii") as file:
                file.write("".join(f"{one}\n" for one in sorted(new)))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise self._unavailable(error) from error

    def _read(self) -> frozenset[str]:
        try:
            size = self._file.stat().st_size
            if size != self._size:
                self._hashes = frozenset(self._file.read_text("ascii").split())
                self._size = size
        except FileNotFoundError:
            return frozenset()
        except (OSError, UnicodeDecodeError) as error:
            raise self._unavailable(error) from error
        return self._hashes

    def _unavailable(self, error: Exception) -> StoreUnavailable:
        return StoreUnavailable(
            f"The list of what was purged, {self._file}, cannot be used ({error}). Check its owner and permissions."
        )


def purged_among(contents: Iterable[str], hashes: frozenset[str]) -> set[str]:
    """Return those of the texts whose hash is among these."""
    return {content for content in contents if hash_of(content) in hashes} if hashes else set()


def hash_of(content: str) -> str:
    """Return the hash of a text; a copy with other spaces, capitals or compositions has the same one."""
    plain = " ".join(unicodedata.normalize("NFKC", content).casefold().split())
    return hashlib.sha256(plain.encode()).hexdigest()
