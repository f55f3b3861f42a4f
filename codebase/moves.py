"""Where something went: files by git's renames and by content, symbols by their definition, folders by the most.

Asked only when something is not where it was seen. Every way may fail to find anything; then the next is tried.
"""

import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath

from reverie.codebase.git import Git, GitUnavailable
from reverie.codebase.places import likeliest
from reverie.codebase.symbols import Symbol, symbols_of
from reverie.codebase.tree import SourceTree, is_foreign, is_parsed

RENAMES_HOLD_FOR = 10.0
"""Seconds for which a comparison of two states is not repeated."""

_ALIKE = "-M50%"
_MOST_COMPARED = "-l4000"  # git compares each vanished file with each new one up to so many
_MOST_HOPS = 8
_MOST_HASHED = 3_000
_NAMES_LOOKED_FOR = 8
_COMMIT = re.compile(r"[0-9a-f]{7,64}")


@dataclass(frozen=True, slots=True)
class _Compared:
    renames: dict[str, str]
    until: float


class Moves:
    """Looks for what has left its place in one project."""

    def __init__(self, tree: SourceTree, *, patience: float) -> None:
        self._tree = tree
        self._patience = patience
        self._compared: dict[str, _Compared] = {}

    def of_file(self, path: str, commit: str | None, digest: str | None) -> str | None:
        """Return where a file is now, or None if it seems to be gone for good."""
        ways: list[Callable[[], str | None]] = [lambda: self._by_content(path, digest, None)]
        if commit and _COMMIT.fullmatch(commit) and self._tree.has_git:
            ways = [
                lambda: self._renames(commit).get(path),
                lambda: self._through_history(path, commit),
                lambda: self._by_content(path, digest, commit),
                lambda: self._by_definitions(path, commit),
            ]
        for way in ways:
            try:
                found = way()
            except GitUnavailable:
                continue  # too slow this time: the other ways may still tell
            if found and found != path and self._tree.is_file(found):
                return found
        return None

    def of_folder(self, path: str, commit: str | None) -> str | None:
        """Return the folder that most of a folder's files went to."""
        if not commit or not _COMMIT.fullmatch(commit) or not self._tree.has_git:
            return None
        try:
            renames = self._renames(commit)
        except GitUnavailable:
            return None
        targets: Counter[str] = Counter()
        for old, new in renames.items():
            tail = old.removeprefix(f"{path}/")
            if tail != old:
                kept = f"/{tail}" if new.endswith(f"/{tail}") else f"/{PurePosixPath(new).name}"
                targets[new.removesuffix(kept)] += 1
        best = targets.most_common(1)
        return best[0][0] if best and best[0][0] != path and self._tree.is_folder(best[0][0]) else None

    def of_symbol(self, symbol: str, path: str) -> tuple[str, Symbol] | None:
        """Return the only place that defines a symbol now, or the one nearest to where it was."""
        names = list(dict.fromkeys((symbol, symbol.rpartition(".")[2])))
        try:
            places = self._tree.defining(names)
        except GitUnavailable:
            return None
        for name in names:
            elsewhere = [place for place in places[name] if place[0] != path or place[1].qualified != symbol]
            elsewhere = [place for place in elsewhere if place[1].kind != "attribute"]
            found = likeliest(elsewhere, near=[path, str(PurePosixPath(path).with_suffix("")), _parent(path)])
            if found is not None:
                return found
        return None

    # -- the ways --------------------------------------------------------------------------------------

    def _git(self) -> Git:
        return self._tree.git(self._patience)

    def _renames(self, commit: str) -> dict[str, str]:
        """Compare a commit with the working tree and return old path → new path."""
        known = self._compared.get(commit)
        if known is not None and known.until > time.monotonic():
            return known.renames
        options = ("--name-status", "-z", "--diff-filter=R", "--no-ext-diff", "--no-textconv", "--ignore-submodules")
        answer = self._git().ask(self._tree.root, "diff", *options, _ALIKE, _MOST_COMPARED, commit, "--")
        renames = _renames_in(answer.out) if answer.code == 0 else {}
        self._compared[commit] = _Compared(renames, time.monotonic() + RENAMES_HOLD_FOR)
        return renames

    def _through_history(self, path: str, commit: str) -> str | None:
        """Follow a file from commit to commit: renamed first and rewritten later, it looks like another."""
        git = self._git()
        since, here = commit, path
        for _ in range(_MOST_HOPS):
            answer = git.ask(
                self._tree.root,
                *("log", "-1", "--diff-filter=D", "--no-renames", "--format=%H", f"{since}..HEAD", "--", here),
            )
            gone = answer.out.strip()
            if not _COMMIT.fullmatch(gone):
                break
            options = ("-z", "-r", "--no-commit-id", "--name-status", "--diff-filter=R", _ALIKE, _MOST_COMPARED)
            renames = _renames_in(git.ask(self._tree.root, "diff-tree", *options, gone).out)
            if here not in renames:
                return None
            since, here = gone, renames[here]
            if self._tree.is_file(here):
                return here
        return None

    def _by_content(self, path: str, digest: str | None, commit: str | None) -> str | None:
        """Find the same bytes elsewhere: first under the same name, then among files of its kind.

        What lay beside it all along, like one empty `__init__.py` beside another, is no new place.
        """
        if digest is None:
            return None
        name = PurePosixPath(path)
        named = self._tree.paths([name.name], patience=self._patience)
        alike = [other for other in named if self._tree.digest(other) == digest]
        if not alike:
            every = self._tree.paths(patience=self._patience)
            kin = [other for other in every if other.endswith(name.suffix or name.name) and not is_foreign(other)]
            alike = [other for other in kin[:_MOST_HASHED] if self._tree.digest(other) == digest]
        if len(alike) != 1 or (commit is not None and self._existed(alike[0], commit)):
            return None
        return alike[0]

    def _existed(self, path: str, commit: str) -> bool:
        return self._git().ask(self._tree.root, "cat-file", "-e", f"{commit}:{path}").code == 0

    def _by_definitions(self, path: str, commit: str) -> str | None:
        """Find the file that now defines most of what a vanished one defined, as when a module is split."""
        if not is_parsed(path):
            return None
        answer = self._git().ask(self._tree.root, "cat-file", "blob", f"{commit}:{path}")
        if answer.code != 0:
            return None
        before = symbols_of(path, answer.out.encode("utf-8", "surrogateescape"))
        names = [s.name for s in before if "." not in s.qualified and s.kind in ("function", "class", "type")]
        names = [name for name in dict.fromkeys(names) if len(name) > 3 and not name.startswith("_")]
        names = names[:_NAMES_LOOKED_FOR]
        homes = Counter(
            home
            for places in self._tree.defining(names).values()
            for home in {other for other, symbol in places if "." not in symbol.qualified}
        )
        best = homes.most_common(1)
        return best[0][0] if best and best[0][1] * 2 > len(names) and best[0][1] > 1 else None


def _renames_in(listing: str) -> dict[str, str]:
    """Read `R100 NUL old NUL new NUL …`."""
    parts = listing.split("\0")
    renames: dict[str, str] = {}
    for number in range(0, len(parts) - 2, 3):
        if parts[number].startswith("R"):
            renames[parts[number + 1]] = parts[number + 2]
    return renames


def _parent(path: str) -> str:
    parent = str(PurePosixPath(path).parent)
    return "" if parent == "." else parent
