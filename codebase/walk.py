"""The files of a folder that has no git, listed again and again: a folder that did not change is not read twice."""

import os
import time
from pathlib import Path
from threading import Lock
from typing import NamedTuple

SKIPPED_FOLDERS = frozenset(
    {
        *(".git", ".hg", ".svn", ".tox", ".nox", ".venv", "venv", "env", "virtualenv", "__pycache__"),
        *(".mypy_cache", ".ruff_cache", ".pytest_cache", ".idea", ".vscode", ".gradle", ".terraform", ".next"),
        *("node_modules", "bower_components", "site-packages", "vendor", "vendored", "_vendor", "third_party"),
        *("thirdparty", "third-party", "extern", "external", "dist", "build", "target", "out", "coverage"),
        *("Pods", "DerivedData", ".cargo", ".eggs"),
    }
)
"""Folders of tools, of other people's code and of what is generated."""

MOST_FILES = 20_000
"""A larger folder, such as a home folder, is not taken for a project."""

_SECONDS_OF_DOUBT = 2.0
"""Within this time of a change another one may leave the folder's time as it is: so long it is read again."""


class _Seen(NamedTuple):
    """A folder as it was at a time of its own."""

    changed_ns: int
    since: float  # when it was first seen with that time, on a clock that only counts seconds
    certain: bool  # whether it was read long enough after that
    files: tuple[str, ...]
    folders: tuple[str, ...]


class Walk:
    """Lists one folder; safe to use from several threads."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._seen: dict[str, _Seen] = {}
        self._guard = Lock()

    def files(self) -> list[str]:
        """Return the files below the root, sorted; none if there are too many."""
        with self._guard:
            seen: dict[str, _Seen] = {}
            found: list[str] = []
            waiting = [""]
            while waiting:
                folder = waiting.pop()
                seen[folder] = self._look(folder)
                found += seen[folder].files
                waiting += seen[folder].folders
                if len(found) > MOST_FILES:
                    self._seen |= seen
                    return []
            self._seen = seen
        return sorted(found)

    def _look(self, folder: str) -> _Seen:
        path = f"{self._root}/{folder}"
        try:
            changed = os.stat(path).st_mtime_ns
            known = self._seen.get(folder)
            if known is not None and known.changed_ns != changed:
                known = None
            if known is not None and known.certain:
                return known
            since = time.monotonic() if known is None else known.since
            certain = time.monotonic() - since >= _SECONDS_OF_DOUBT
            with os.scandir(path) as entries:
                inside = [(entry.name, entry.is_dir(), entry.is_symlink()) for entry in entries]
        except OSError:
            return _Seen(0, 0.0, False, (), ())  # gone meanwhile, or not ours to read
        start = f"{folder}/" if folder else ""
        return _Seen(
            changed,
            since,
            certain,
            tuple(f"{start}{name}" for name, is_folder, _ in inside if not is_folder),
            tuple(
                f"{start}{name}"
                for name, is_folder, is_link in inside
                if is_folder and not is_link and name not in SKIPPED_FOLDERS and not name.startswith(".")
            ),
        )
