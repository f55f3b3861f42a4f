"""Files of other programs: read with care, written as a whole or not at all, and a record of what setup did to each.

The record lies in Reverie's configuration folder. It knows the bytes that setup left (as a digest) and where the
bytes from before are, so that uninstall can put a file back exactly, unless somebody changed it since.
"""

import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from reverie.clients.catalog import Scope
from reverie.clients.json_edit import Json

BACKUP_ENDING = ".reverie-backup"
_LARGEST = 100_000_000
_RECORDS = "setup.json"
_WRITERS = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


class NotWritable(Exception):
    """A file of a client can be neither read nor written as it is; nothing was changed."""


def real_path(path: Path) -> Path:
    """Follow links to the file that is meant; it need not exist.

    Raises:
        NotWritable: if the links go in a circle.
    """
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:
        raise NotWritable(f"its links lead nowhere ({_reason(error)})") from None


def read(path: Path) -> bytes | None:
    """Return the bytes of a file, or None if there is none.

    Raises:
        NotWritable: if it is not a file, is too large, or may not be read.
    """
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise NotWritable("it is not a file")
        if found.st_size > _LARGEST:
            raise NotWritable(f"it has {found.st_size:,} bytes")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NotWritable(f"it cannot be read ({_reason(error)})") from None


def check_writable(path: Path) -> None:
    """Pass a file that may be replaced, or a path at which one may be made.

    Raises:
        NotWritable: if it is marked as read-only, or its folder is not ours to write to.
    """
    # The super-user may write anything; but whoever took away the right to write did so on purpose.
    if os.path.exists(path) and not (path.stat().st_mode & _WRITERS and os.access(path, os.W_OK)):
        raise NotWritable("it is read-only")
    folder = next(one for one in path.parents if os.path.exists(one))
    if not os.path.isdir(folder):
        raise NotWritable(f"{folder} is not a folder")
    if not os.access(folder, os.W_OK):
        raise NotWritable(f"the folder {folder} is read-only")


def missing_folders(path: Path) -> list[Path]:
    """Return the folders that have to be made for a file, the outermost first."""
    return [folder for folder in reversed(path.parents) if not os.path.exists(folder)]


def write(path: Path, content: bytes, *, expected: bytes | None, mode: int = 0o600) -> None:
    """Replace a file in one step, keeping its mode; a new one and its folders get the given one.

    Raises:
        NotWritable: if it cannot be written, or is not what was `expected` any more.
    """
    try:
        for folder in missing_folders(path):
            folder.mkdir()
            folder.chmod(mode | (mode & 0o444) >> 2)  # whoever may read may enter; whatever the umask says
        _replace(path, content, expected=expected, mode=mode)
    except OSError as error:
        raise NotWritable(f"it cannot be written ({_reason(error)})") from None


def _replace(path: Path, content: bytes, *, expected: bytes | None, mode: int) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".reverie-new", dir=path.parent)
    new = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if expected is None:
            new.chmod(mode)
        else:
            before = path.stat()
            new.chmod(stat.S_IMODE(before.st_mode))
            if hasattr(os, "chown") and (before.st_uid, before.st_gid) != (os.getuid(), os.getgid()):
                with suppress(PermissionError):
                    os.chown(new, before.st_uid, before.st_gid)
        if read(path) != expected:
            raise NotWritable("another program changed it at the same moment: try again")
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def delete(path: Path, folders: tuple[str, ...]) -> None:
    """Remove a file that setup made, and the folders that it made for it, if they are empty.

    Raises:
        NotWritable: if the file cannot be removed.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise NotWritable(f"it cannot be removed ({_reason(error)})") from None
    for folder in reversed(folders):
        with suppress(OSError):  # not empty, or gone
            Path(folder).rmdir()


def back_up(path: Path, content: bytes) -> None:
    """Keep the bytes from before setup beside the file, with its mode.

    Raises:
        NotWritable: if that cannot be written.
    """
    backup = backup_of(path)
    try:
        write(backup, content, expected=read(backup))
        backup.chmod(stat.S_IMODE(path.stat().st_mode))
    except (OSError, NotWritable) as error:
        raise NotWritable(f"no backup of it can be made at {backup}: {error}") from None


def backup_of(path: Path) -> Path:
    """Return where the bytes from before setup are kept: beside the file, one for each."""
    return path.with_name(path.name + BACKUP_ENDING)


def digest(content: bytes) -> str:
    """Return a fingerprint of a file's bytes."""
    return hashlib.sha256(content).hexdigest()


def _reason(error: BaseException) -> str:
    return (error.strerror if isinstance(error, OSError) and error.strerror else str(error)) or type(error).__name__


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What setup did to one file.

    `exact` means that the backup, or the absence of a file, is what was there before `entries` were added.
    `containers` are the keys that setup made to put entries into.
    """

    client: str
    scope: Scope
    project: str
    after: str
    exact: bool = True
    created: bool = False
    folders: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()

    def leaves(self, content: bytes) -> bool:
        """Whether these are the bytes that setup left."""
        return self.exact and digest(content) == self.after


class Records:
    """The records of this installation, by the real path of the file."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _RECORDS
        self._folders: list[str] = []
        self._content: bytes | None = None
        self._records = self._read()

    def of(self, path: Path) -> Record | None:
        """Return the record of a file."""
        return self._records.get(str(path))

    def all(self) -> Mapping[str, Record]:
        """Return every record."""
        return self._records

    def keep(self, path: Path, record: Record | None) -> None:
        """Write the record of a file, or with None drop it; the last one takes the file of records with it.

        Raises:
            NotWritable: if the records cannot be written.
        """
        left = {name: one for name, one in self._records.items() if name != str(path)}
        if record is not None:
            left[str(path)] = record
        if left == self._records:
            return
        try:
            content: bytes | None = None
            if left:
                if self._content is None:
                    self._folders = [str(folder) for folder in missing_folders(self._path)]
                files = {name: asdict(one) for name, one in left.items()}
                value = {"version": 1, "folders": self._folders, "files": files}
                content = (json.dumps(value, indent=2) + "\n").encode()
                write(self._path, content, expected=self._content)  # not if another setup wrote one meanwhile
            else:
                delete(self._path, tuple(self._folders))
        except (NotWritable, OSError) as error:
            raise NotWritable(f"the record of it in {self._path} cannot be written: {error}") from None
        self._records, self._content = left, content

    def _read(self) -> dict[str, Record]:
        """Read the records; where they are lost or unreadable, entries are recognised by their form alone."""
        try:
            self._content = read(self._path)
            content: Json = json.loads(self._content or b"{}")
        except (NotWritable, ValueError):
            return {}
        if not isinstance(content, dict):
            return {}
        files, folders = content.get("files"), content.get("folders")
        self._folders = [str(folder) for folder in folders] if isinstance(folders, list) else []
        if not isinstance(files, dict):
            return {}
        found = {name: _record(value) for name, value in files.items()}
        return {name: record for name, record in found.items() if record is not None}


def _record(value: Json) -> Record | None:
    known = {one.name for one in fields(Record)}
    if not isinstance(value, dict) or not {"client", "scope", "project", "after"} <= set(value) <= known:
        return None
    try:
        read_back = Record(**value)  # type: ignore[arg-type] # whoever writes this file can write the others too
        lists = {name: tuple(map(str, getattr(read_back, name))) for name in ("folders", "entries", "containers")}
        return replace(read_back, **lists)  # type: ignore[arg-type]
    except TypeError:
        return None
