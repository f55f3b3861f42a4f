"""The files of one project on disk: listing, reading, and where a name is defined."""

import hashlib
import os
import re
import stat
import sys
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import NamedTuple

from reverie.codebase.git import Git, GitUnavailable, find_git
from reverie.codebase.name_index import KEYWORDS, DefinitionIndex
from reverie.codebase.symbols import Symbol, symbols_of
from reverie.codebase.tree_sitter_symbols import PARSED_SUFFIXES

SKIPPED_FOLDERS = frozenset(
    {
        *(".git", ".hg", ".svn", ".tox", ".nox", ".venv", "venv", "env", "virtualenv", "__pycache__"),
        *(".mypy_cache", ".ruff_cache", ".pytest_cache", ".idea", ".vscode", ".gradle", ".terraform", ".next"),
        *("node_modules", "bower_components", "site-packages", "vendor", "vendored", "_vendor", "third_party"),
        *("thirdparty", "third-party", "extern", "external", "dist", "build", "target", "out", "coverage"),
        *("Pods", "DerivedData", ".cargo", ".eggs"),
    }
)
"""Folders of tools, of vendored code and of generated files."""

MOST_FILES = 20_000
"""A larger folder, such as a home folder, is not treated as a project."""

_SECONDS_OF_DOUBT = 2.0
"""A folder that changed within this time is read again: a second change may not alter its modification time."""


class _Seen(NamedTuple):
    """The entries of a folder, and its modification time when they were read."""

    changed_ns: int
    since: float  # when it was first seen with that time, on a clock that only counts seconds
    certain: bool  # whether it was read long enough after that
    files: tuple[str, ...]
    folders: tuple[str, ...]


class FolderListing:
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


LARGEST_READ = 8_000_000
"""Bytes of a file that are read; of a larger one only the size is compared."""

PATIENCE = 3.0
"""Seconds that git gets for one query while a caller waits."""

_LARGEST_PARSED = 1_500_000
_MOST_KEPT = 2_000  # parsed files in memory
_MOST_SEARCHED = 60  # files that are parsed to find where a name is defined
_MOST_SUBMODULES = 50

_LONGEST_LINE = 400
# Control characters, line separators, and the halves of characters that stand for bytes that are not UTF-8.
_UNSTORABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NOT_BEFORE, _NOT_AFTER = r"(?<![\w$.])", r"(?![\w$])"
# How a definition reads: what git looks for, and the pattern that the line must fit.
_DEFINING = (
    *((f"{word} NAME", rf"(?<![\w$]){re.escape(word)} NAME{_NOT_AFTER}") for word in KEYWORDS),
    (") NAME(", r"^func \([^)]*\) NAME\("),  # a method in Go
    ("self.NAME", rf"^\s*def self\.NAME{_NOT_AFTER}"),  # one in Ruby
    ("NAME =", r"^\s*NAME =(?!=)"),
    ("NAME: ", r"^\s*NAME: "),
    ("NAME=", r"^\s*NAME=(?!=)"),
)
_DECLARING = (
    ("NAME(", rf"{_NOT_BEFORE}NAME\("),
    ("NAME<", rf"{_NOT_BEFORE}NAME<"),
    (" NAME", rf"^[^=;#/]*[ *&]NAME{_NOT_AFTER}"),
)
_DECLARING_SUFFIXES = PARSED_SUFFIXES - {".py", ".pyi", ".pyw", ".go", ".rs", ".rb", ".rake"}


@dataclass(frozen=True, slots=True)
class _Kept:
    stamp: tuple[int, int, int, int]
    digest: str
    symbols: tuple[Symbol, ...] | None = None


class SourceTree:
    """One project's folder, read again only where size or times say that something changed."""

    def __init__(self, root: Path, *, patience: float = PATIENCE) -> None:
        self.root = Path(os.path.realpath(root))
        self._patience = patience
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._guard = Lock()
        self._by_git: bool | None = None
        self._walk = FolderListing(self.root)
        self._names = DefinitionIndex(self.root, self._sources)
        self._declared: tuple[int, dict[str, list[str]]] = (0, {})

    # -- single files ----------------------------------------------------------------------------------

    def locate(self, path: str) -> Path | None:
        """Return where a path of the project lies on disk, or None if it is not there or not inside."""
        parts = PurePosixPath(path).parts
        if not parts or parts[0].startswith("/") or ".." in parts or not is_storable(path):
            return None
        if sys.platform == "win32" and (":" in path or "\\" in path):
            return None  # another drive, or another machine, which looking at would already tell who we are
        place = self.root.joinpath(*parts)
        if not os.path.lexists(place):  # most names that a text could mean are not there, and this is quick
            return None
        try:
            real = os.path.realpath(place, strict=True)
        except (OSError, ValueError):
            return None
        return place if real == str(self.root) or real.startswith(str(self.root) + os.sep) else None

    def is_file(self, path: str) -> bool:
        """Return whether a file of the project has this path."""
        place = self.locate(path)
        return place is not None and place.is_file()

    def is_folder(self, path: str) -> bool:
        """Return whether a folder of the project has this path."""
        place = self.locate(path)
        return place is not None and place.is_dir()

    def digest(self, path: str) -> str | None:
        """Return the fingerprint of a file, or None if there is none; line breaks of Windows do not count."""
        place = self.locate(path)
        if place is None:
            return None
        stamp = _stamp(place)
        if stamp is None:
            return None
        kept = self._recalled(path, stamp)
        if kept is None:
            source = _read(place, stamp)
            if source is None:
                return None
            kept = _Kept(stamp, _digest(source, stamp))
            self._keep(path, kept)
        return kept.digest

    def read(self, path: str) -> bytes | None:
        """Return a file's bytes; None if there is no such file or it is too large."""
        place = self.locate(path)
        stamp = _stamp(place) if place is not None else None
        if place is None or stamp is None or stamp[0] > LARGEST_READ:
            return None
        return _read(place, stamp)

    def symbols(self, path: str) -> tuple[Symbol, ...]:
        """Return what a file defines; nothing if it is gone, too large or of no known language."""
        place = self.locate(path)
        stamp = _stamp(place) if place is not None else None
        if place is None or stamp is None or stamp[0] > _LARGEST_PARSED or not is_parsed(path):
            return ()
        kept = self._recalled(path, stamp)
        if kept is not None and kept.symbols is not None:
            return kept.symbols
        source = _read(place, stamp)
        if source is None:
            return ()
        found = symbols_of(path, source)
        self._keep(path, _Kept(stamp, _digest(source, stamp), found))
        return found

    # -- the whole project -----------------------------------------------------------------------------

    @property
    def has_git(self) -> bool:
        """Whether git answers for this folder."""
        if self._by_git is None:
            try:
                answer = self.git().ask(self.root, "rev-parse", "--is-inside-work-tree")
            except GitUnavailable:
                return False
            self._by_git = answer.code == 0 and answer.out.strip() == "true"
        return self._by_git

    def git(self, patience: float | None = None) -> Git:
        """Return git with a fresh deadline.

        Raises:
            GitUnavailable: if there is none.
        """
        return find_git(patience or self._patience)

    def paths(self, ending: Sequence[str] = (), *, patience: float | None = None) -> list[str]:
        """List the project's files, sorted: tracked and new ones, not what git ignores.

        With endings (`retry.py`, `http/client`), only the files that end so, and those in folders that do.

        Raises:
            GitUnavailable: if git took too long.
        """
        return [path for path in self.listing(ending, patience=patience) if is_storable(path)]

    def listing(self, ending: Sequence[str] = (), *, patience: float | None = None) -> list[str]:
        """List the project's files like `paths`, including names that are no valid text.

        Raises:
            GitUnavailable: if git took too long.
        """
        if not self.has_git:
            return _fitting(self._walk.files(), ending)
        patterns = [pattern for tail in ending for pattern in _patterns(tail)]
        return sorted(set(self._listed(self.git(patience), "", patterns, _MOST_SUBMODULES)))

    def defining(self, names: Iterable[str]) -> dict[str, list[tuple[str, Symbol]]]:
        """Find the definitions of names anywhere in the project, in files that are the project's own.

        Raises:
            GitUnavailable: if git took too long.
        """
        found: dict[str, list[tuple[str, Symbol]]] = {name: [] for name in names}
        wanted = {name: last for name in found if (last := name.rpartition(".")[2])}
        if not wanted:
            return found
        holding = self._holding(sorted(set(wanted.values())))
        for name, last in wanted.items():
            for path in holding.get(last, ()):
                found[name] += [(path, symbol) for symbol in self.symbols(path) if _is_called(symbol, name)]
        return found

    # -- inside ----------------------------------------------------------------------------------------

    def _holding(self, words: Sequence[str]) -> dict[str, list[str]]:
        """Return the source files that seem to define each word, by how a definition reads in most languages."""
        if not self.has_git:
            return self._holding_by_walk(words)
        known = self._names.holding(words)
        holding = self._matching(words, _DEFINING, PARSED_SUFFIXES) if known is None else known
        unseen = [word for word in words if not holding[word]]
        if unseen:  # in these languages nothing but its place says that a line defines something
            holding |= self._declaring(unseen, known=known is not None)
        return {word: paths[:_MOST_SEARCHED] for word, paths in holding.items()}

    def _declaring(self, words: Sequence[str], *, known: bool) -> dict[str, list[str]]:
        """Ask git for declarations; where the table of names is there, once for each word until something changes."""
        if not known:
            return self._matching(words, _DECLARING, _DECLARING_SUFFIXES)
        if _DECLARING_SUFFIXES.isdisjoint(self._names.suffixes()):
            return {}
        version = self._names.version
        if self._declared[0] != version:
            self._declared = (version, {})
        asked = self._declared[1]
        new = [word for word in words if word not in asked]
        if new:
            asked |= self._matching(new, _DECLARING, _DECLARING_SUFFIXES)
        return {word: asked[word] for word in words}

    def _sources(self) -> list[str]:
        return [path for path in self.paths() if is_parsed(path) and not is_foreign(path)]

    def _matching(
        self, words: Sequence[str], shapes: Sequence[tuple[str, str]], suffixes: Iterable[str]
    ) -> dict[str, list[str]]:
        """Return the files with a line of one of these shapes around each word.

        Git looks for fixed strings, which is ten times quicker than for patterns; the pattern settles it.
        """
        fixed = [part for word in words for text, _ in shapes for part in ("-e", text.replace("NAME", word))]
        globs = [f":(glob,icase)**/*{suffix}" for suffix in sorted(suffixes)]
        # What a user likes to see (line numbers, colours, submodules) would change the form of the answer.
        form = ("-z", "-I", "-F", "--no-color", "--no-line-number", "--no-column", "--no-textconv")
        where = ("-H", "--full-name", "--untracked", "--no-recurse-submodules")
        lines = self.git().ask(self.root, "grep", *form, *where, *fixed, "--", *globs).out.split("\n")
        either = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
        pattern = re.compile("|".join(f"(?:{shape})" for _, shape in shapes).replace("NAME", f"({either})"))
        holding: dict[str, dict[str, None]] = {word: {} for word in words}
        for line in lines:
            path, _, text = line.partition("\0")
            found = pattern.search(text[:_LONGEST_LINE])
            if found and is_storable(path) and not is_foreign(path):
                word = next(group for group in found.groups() if group)
                holding[word].setdefault(path)
        return {word: [*paths] for word, paths in holding.items()}

    def _holding_by_walk(self, words: Sequence[str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {word: [] for word in words}
        patterns = {word: re.compile(rb"\b" + re.escape(word.encode()) + rb"\b") for word in words}
        for path in self.paths():
            if is_parsed(path) and not is_foreign(path):
                source = self.read(path) or b""
                for word, pattern in patterns.items():
                    if len(found[word]) < _MOST_SEARCHED and pattern.search(source):
                        found[word].append(path)
        return found

    def _listed(self, git: Git, folder: str, patterns: Sequence[str], submodules: int) -> list[str]:
        specs = [f":(glob){pattern}" for pattern in patterns]
        inside = _Inside(self.root)
        answer = git.ask(
            self.root / folder if folder else self.root,
            *("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate", "--stage"),
            *("--", *specs),
        )
        # `--stage` marks submodules (160000), but leaves new files without it: both forms are read.
        paths: list[str] = []
        inner: list[str] = []
        for entry in answer.out.split("\0"):
            head, tab, name = entry.partition("\t")
            path = f"{folder}/{name or head}" if folder else (name if tab else head)
            if not path:
                continue
            if tab and head.startswith("160000"):
                inner.append(path)
            elif not path.endswith("/") and inside.holds(path):
                paths.append(path)
        if patterns and submodules:  # a pattern names no submodule, so that they are looked up separately
            inner = self._submodules(git, folder)
        for path in inner[:submodules]:
            # A path of a submodule is what a stranger wrote: it may be a link that leads anywhere.
            if os.path.lexists(self.root / path / ".git") and self.locate(path) == self._real(path):
                paths += self._listed(git, path, patterns, 0)
        return paths

    def _submodules(self, git: Git, folder: str) -> list[str]:
        listed = self.locate(".gitmodules")
        if folder or listed is None or not listed.is_file():
            return []
        answer = git.ask(self.root, "config", "-z", "--file", str(listed), "--get-regexp", r"^submodule\..*\.path$")
        return [entry.partition("\n")[2] for entry in answer.out.split("\0") if entry]

    def _real(self, path: str) -> Path:
        return Path(os.path.realpath(self.root / path))

    def _recalled(self, path: str, stamp: tuple[int, int, int, int]) -> _Kept | None:
        with self._guard:
            kept = self._kept.get(path)
            if kept is None or kept.stamp != stamp:
                return None
            self._kept.move_to_end(path)
            return kept

    def _keep(self, path: str, kept: _Kept) -> None:
        with self._guard:
            self._kept[path] = kept
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)


class _Inside:
    """Tells which paths are there and inside; each folder is looked at once."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._folders: dict[str, bool] = {}

    def holds(self, path: str) -> bool:
        folder = os.path.dirname(path)
        if folder not in self._folders:
            # A folder that was tracked may have become a link that leads out.
            real = os.path.realpath(f"{self._root}/{folder}")
            self._folders[folder] = real == self._root or real.startswith(self._root + os.sep)
        return self._folders[folder] and os.path.lexists(f"{self._root}/{path}")


def is_storable(path: str) -> bool:
    """Return whether a path is valid text: file names can be any bytes, tables and answers only text."""
    return path.isprintable() or not _UNSTORABLE.search(path)


def stored_folder(folder: Path) -> str:
    """Return a folder as text that can be stored and compared; bytes that are not UTF-8 become question marks."""
    return os.path.realpath(folder).encode("utf-8", "replace").decode("utf-8")


def is_parsed(path: str) -> bool:
    """Return whether the definitions of this file can be read."""
    return PurePosixPath(path).suffix.lower() in PARSED_SUFFIXES


def is_foreign(path: str) -> bool:
    """Return whether a path belongs to vendored or generated code."""
    return any(part in SKIPPED_FOLDERS for part in PurePosixPath(path).parts[:-1])


def _is_called(symbol: Symbol, name: str) -> bool:
    return symbol.qualified == name or symbol.qualified.endswith(f".{name}")


def _patterns(tail: str) -> list[str]:
    escaped = re.sub(r"([*?\[\\])", r"\\\1", tail)
    return [f"**/{escaped}", *([f"**/{escaped}/**"] if "/" in tail else [])]


def _fitting(paths: Iterable[str], ending: Sequence[str]) -> list[str]:
    if not ending:
        return list(paths)
    return [
        path for path in paths if any(f"/{path}".endswith(f"/{tail}") or f"/{tail}/" in f"/{path}" for tail in ending)
    ]


def _stamp(place: Path) -> tuple[int, int, int, int] | None:
    try:
        found = place.stat()
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def _read(place: Path, stamp: tuple[int, int, int, int]) -> bytes | None:
    if stamp[0] > LARGEST_READ:
        return b""
    try:
        return place.read_bytes()
    except OSError:
        return None


def _digest(source: bytes, stamp: tuple[int, int, int, int]) -> str:
    if stamp[0] > LARGEST_READ:
        return f"size:{stamp[0]}"
    return content_digest(source)


def content_digest(source: bytes) -> str:
    """Return the fingerprint of a file's bytes; in a text, the kind of line break does not count."""
    if b"\r" in source and b"\0" not in source[:8_000]:
        source = source.replace(b"\r\n", b"\n")
    return hashlib.sha256(source).hexdigest()[:32]
