"""An in-memory index from names to the files that seem to define them, updated by file sizes and times."""

import os
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Thread

from reverie.codebase.git import GitUnavailable

MOST_FILES = 20_000
_LARGEST = 1_500_000

KEYWORDS = (
    *("def", "class", "func", "function", "fn", "struct", "enum", "union", "trait", "interface", "type", "const"),
    *("let", "var", "static", "module", "namespace", "record", "define", "macro_rules!", "concept", "using", "mod"),
)
_NAME = r"([A-Za-z_$][\w$]*)"
_DEFINED = re.compile(
    (
        rf"(?<![\w$])(?:{'|'.join(map(re.escape, KEYWORDS))}) {_NAME}"
        rf"|^func \([^)\n]*\) {_NAME}\("  # a method in Go
        rf"|^[ \t]*def self\.{_NAME}"  # one in Ruby
        rf"|^[ \t]*{_NAME}(?: ?=(?!=)|: )"
    ).encode(),
    re.MULTILINE,
)

Stamp = tuple[int, int]


@dataclass(slots=True)
class _Table:
    stamps: dict[str, Stamp] = field(default_factory=dict)
    folders: dict[str, int] = field(default_factory=dict)
    names: dict[str, frozenset[str]] = field(default_factory=dict)  # of each file
    homes: dict[str, set[str]] = field(default_factory=dict)  # of each name


class DefinitionIndex:
    """The index of one project. `list_files` returns its files and may be slow."""

    def __init__(self, root: Path, list_files: Callable[[], list[str]]) -> None:
        self._root = str(root)
        self._list = list_files
        self._guard = Lock()
        self._table: _Table | None = None
        self._building: Thread | None = None
        self.version = 0
        """Increases whenever anything in the project changes."""

    def holding(self, words: Sequence[str]) -> dict[str, list[str]] | None:
        """Return the files that seem to define each word; None while the index is being built."""
        if not all(word.isascii() for word in words):
            return None
        with self._guard:
            if self._table is None:
                self._begin()
            if self._table is None or not self._refresh(self._table):
                return None
            return {word: sorted(self._table.homes.get(word, ())) for word in words}

    def suffixes(self) -> frozenset[str]:
        """Return the suffixes of the indexed files."""
        with self._guard:
            files = self._table.stamps if self._table is not None else {}
            return frozenset(os.path.splitext(path)[1].lower() for path in files)

    def wait(self) -> None:
        """Wait until the index is built, if that has begun."""
        if self._building is not None:
            self._building.join()

    def _begin(self) -> None:
        if self._building is None:
            self._building = Thread(target=self._build, name="reverie-names", daemon=True)
            self._building.start()

    def _build(self) -> None:
        try:
            paths, folders = self._listed({})
        except GitUnavailable:
            return  # it is asked for each name, as if there were no table
        if len(paths) > MOST_FILES:
            return
        table = _Table(folders=folders)
        for path in paths:
            self._take(table, path)
        with self._guard:
            self._table = table

    def _listed(self, known: Iterable[str]) -> tuple[list[str], dict[str, int]]:
        """Return the files, and the times of their folders from before the listing, so that no change is missed."""
        folders = {folder: self._folder_stamp(folder) for folder in known}
        while True:
            paths = self._list()
            above = _folders(paths)
            if above <= folders.keys():
                return paths, {folder: folders[folder] for folder in above}
            folders |= {folder: self._folder_stamp(folder) for folder in above - folders.keys()}

    def _refresh(self, table: _Table) -> bool:
        """Update the index; False if the project has too many files by now."""
        changed = [path for path, old in table.stamps.items() if self._stamp(path) != old]
        moved = any(self._folder_stamp(folder) != old for folder, old in table.folders.items())
        if not changed and not moved:
            return True
        self.version += 1
        for path in changed:
            self._drop(table, path)
            self._take(table, path)
        if moved:
            paths, folders = self._listed(table.folders)
            if len(paths) > MOST_FILES:
                return False
            for path in table.stamps.keys() - set(paths):
                self._drop(table, path)
            for path in [path for path in paths if path not in table.stamps]:
                self._take(table, path)
            table.folders = folders
        return True

    def _take(self, table: _Table, path: str) -> None:
        stamp = self._stamp(path)
        if stamp is None:
            return
        table.stamps[path] = stamp
        try:
            source = Path(self._root, path).read_bytes() if stamp[0] <= _LARGEST else b""
        except OSError:
            source = b""
        names = frozenset(name.decode() for found in _DEFINED.findall(source) for name in found if name)
        table.names[path] = names
        for name in names:
            table.homes.setdefault(name, set()).add(path)

    def _drop(self, table: _Table, path: str) -> None:
        table.stamps.pop(path, None)
        for name in table.names.pop(path, frozenset()):
            homes = table.homes[name]
            homes.discard(path)
            if not homes:
                del table.homes[name]

    def _stamp(self, path: str) -> Stamp | None:
        """Return size and time of a file; None for a link, which may lead out of the project."""
        try:
            found = os.lstat(f"{self._root}/{path}")
        except OSError:
            return None
        return (found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None

    def _folder_stamp(self, folder: str) -> int:
        try:
            return os.stat(f"{self._root}/{folder}").st_mtime_ns
        except OSError:
            return 0


def _folders(paths: Iterable[str]) -> set[str]:
    """Return every folder above these files, so that a new file anywhere shows in the times of one of them."""
    found = {""}
    for path in paths:
        folder = os.path.dirname(path)
        while folder and folder not in found:
            found.add(folder)
            folder = os.path.dirname(folder)
    return found
