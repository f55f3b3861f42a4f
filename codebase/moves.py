"""Finds where a file, symbol or folder was moved: by git's renames, by content, by definitions.

Used only when an anchor is no longer where it was. Each method may find nothing; then the next is tried.
Git compares what it has stored: commits and the index. It is never given a file of the working tree to convert or
compare; those are read here.
"""

import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from reverie.codebase.anchors import likeliest_definition
from reverie.codebase.git import Answer, Git, GitUnavailable
from reverie.codebase.symbols import Symbol, symbols_of
from reverie.codebase.tree import LARGEST_READ, SourceTree, is_foreign, is_parsed

RENAMES_HOLD_FOR = 10.0
"""Seconds for which a comparison of two states is not repeated."""

_ALIKE = "-M50%"
_SAME = "-M100%"
_ALIKE_ENOUGH = 0.5
_SHORTEST_COMPARED = 40  # bytes: a shorter text resembles many
_MOST_NEW_FILES = 300
_MOST_COMPARED = "-l4000"  # git compares each vanished file with each new one up to so many
_MOST_HOPS = 8
_MOST_HASHED = 3_000
_NAMES_LOOKED_FOR = 8
_COMMIT = re.compile(r"[0-9a-f]{7,64}")


@dataclass(frozen=True, slots=True)
class _Compared:
    renames: dict[str, str]
    until: float


@dataclass(frozen=True, slots=True)
class _Change:
    status: str
    old: str
    new: str
    blob: str  # what the new one holds


class Moves:
    """Finds what was moved within one project."""

    def __init__(self, tree: SourceTree, *, patience: float) -> None:
        self._tree = tree
        self._patience = patience
        self._compared: dict[str, _Compared] = {}

    def of_file(self, path: str, commit: str | None, digest: str | None) -> str | None:
        """Return the path of a file now, or None if it seems to be deleted."""
        ways: list[Callable[[], str | None]] = [lambda: self._by_content(path, digest, None)]
        if commit and _COMMIT.fullmatch(commit) and self._tree.has_git:
            ways = [
                lambda: self._renames(commit).get(path),
                lambda: self._through_history(path, commit),
                lambda: self._by_content(path, digest, commit),
                lambda: self._by_similarity(path, commit),
                lambda: self._by_definitions(path, commit),
            ]
        for way in ways:
            try:
                found = way()
            except GitUnavailable:
                continue  # too slow this time: another way may find it
            if found and found != path and self._tree.is_file(found):
                return found
        return None

    def of_folder(self, path: str, commit: str | None) -> str | None:
        """Return the folder that most of a folder's files were moved to."""
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
        """Return the only file that defines a symbol now, or the one nearest to where it was."""
        names = list(dict.fromkeys((symbol, symbol.rpartition(".")[2])))
        try:
            places = self._tree.defining(names)
        except GitUnavailable:
            return None
        for name in names:
            elsewhere = [place for place in places[name] if place[0] != path or place[1].qualified != symbol]
            elsewhere = [place for place in elsewhere if place[1].kind != "attribute"]
            found = likeliest_definition(
                elsewhere, near=[path, str(PurePosixPath(path).with_suffix("")), _parent(path)]
            )
            if found is not None:
                return found
        return None

    # -- the ways --------------------------------------------------------------------------------------

    def _git(self) -> Git:
        return self._tree.git(self._patience)

    def _renames(self, commit: str) -> dict[str, str]:
        """Compare a commit with the index and return old path → new path."""
        known = self._compared.get(commit)
        if known is not None and known.until > time.monotonic():
            return known.renames
        git = self._git()
        answer = self._compare(git, commit, _ALIKE)
        if answer.code != 0:  # a partial clone lacks the texts, but knows which are the same
            answer = self._compare(git, commit, _SAME)
        changes = _changes_in(answer.out) if answer.code == 0 else []
        renames = {change.old: change.new for change in changes if change.status == "R"}
        added = [change for change in changes if change.status == "A"]
        if added:
            renames = {**self._left_behind(git, commit, added), **renames}
        self._compared[commit] = _Compared(renames, time.monotonic() + RENAMES_HOLD_FOR)
        return renames

    def _compare(self, git: Git, commit: str, alike: str) -> Answer:
        options = ("--cached", "--raw", "-z", "--diff-filter=AR", "--ignore-submodules", alike, _MOST_COMPARED)
        return git.ask(self._tree.root, "diff-index", *options, commit, "--")

    def _left_behind(self, git: Git, commit: str, added: Sequence[_Change]) -> dict[str, str]:
        """Pair what was added to the index with the same text under a path that is no longer on disk.

        The index still has the old path if somebody moved a file and added only the new one.
        """
        wanted = {change.blob for change in added}
        before: dict[str, list[str]] = {}
        for entry in git.ask(self._tree.root, "ls-tree", "-r", "-z", commit).out.split("\0"):
            facts, _, path = entry.partition("\t")
            blob = facts.rpartition(" ")[2]
            if blob in wanted and not self._tree.is_file(path):
                before.setdefault(blob, []).append(path)
        pairs = ((before.get(change.blob, []), change.new) for change in added)
        return {old: new for olds, new in pairs for old in (olds if len(olds) == 1 else _of_one_name(olds, new))}

    def _through_history(self, path: str, commit: str) -> str | None:
        """Follow a file from commit to commit: renamed first and rewritten later, it looks like another."""
        git = self._git()
        since, here = commit, path
        for _ in range(_MOST_HOPS):
            # The last commit that touched a path which is gone is the one that removed it.
            touched = ("rev-list", "--max-count=1", "--no-merges", f"{since}..HEAD", "--", f":(literal){here}")
            gone = git.ask(self._tree.root, *touched).out.strip()
            if not _COMMIT.fullmatch(gone):
                break
            options = ("-z", "-r", "--no-commit-id", "--raw", "--diff-filter=R", _ALIKE, _MOST_COMPARED)
            changes = _changes_in(git.ask(self._tree.root, "diff-tree", *options, gone).out)
            moved = next((change.new for change in changes if change.old == here), None)
            if moved is None:
                return None
            since, here = gone, moved
            if self._tree.is_file(here):
                return here
        return None

    def _by_content(self, path: str, digest: str | None, commit: str | None) -> str | None:
        """Find the same bytes elsewhere: first under the same name, then among files of its kind.

        A file that existed all along, as one empty `__init__.py` beside another, is not where it went.
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

    def _by_similarity(self, path: str, commit: str) -> str | None:
        """Find the new file that is most similar to a vanished one, which was moved and edited before any commit."""
        git = self._git()
        before = self._text_at(git, path, commit)
        if before is None or len(before) < _SHORTEST_COMPARED:
            return None
        listed = git.ask(self._tree.root, "ls-tree", "-r", "-z", "--name-only", commit)
        known = set(listed.out.split("\0")) if listed.code == 0 else None
        if known is None:
            return None
        suffix = PurePosixPath(path).suffix
        new = [
            other
            for other in self._tree.paths(patience=self._patience)
            if other not in known and PurePosixPath(other).suffix == suffix and not is_foreign(other)
        ]
        scores = {other: _similarity(before, self._tree.read(other) or b"") for other in new[:_MOST_NEW_FILES]}
        best = sorted(scores, key=lambda other: scores[other], reverse=True)[:2]
        if not best or scores[best[0]] < _ALIKE_ENOUGH or (len(best) > 1 and scores[best[0]] == scores[best[1]]):
            return None
        return best[0]

    def _text_at(self, git: Git, path: str, commit: str) -> bytes | None:
        """Return a file of a commit; None if there is none, or it is too large to be written by hand."""
        size = git.ask(self._tree.root, "cat-file", "-s", f"{commit}:{path}")
        if size.code != 0 or not size.out.strip().isdecimal() or int(size.out) > LARGEST_READ:
            return None
        answer = git.ask(self._tree.root, "cat-file", "blob", f"{commit}:{path}")
        return answer.data if answer.code == 0 else None

    def _by_definitions(self, path: str, commit: str) -> str | None:
        """Find the file that now defines most of what a vanished one defined, as when a module is split."""
        if not is_parsed(path):
            return None
        source = self._text_at(self._git(), path, commit)
        if source is None:
            return None
        before = symbols_of(path, source)
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


def _changes_in(listing: str) -> list[_Change]:
    """Read `:mode mode blob blob R100 NUL old NUL new NUL …`, in which only a rename has two paths."""
    parts = iter(listing.split("\0"))
    changes: list[_Change] = []
    for facts in parts:
        if not facts.startswith(":"):
            continue
        *_, blob, status = facts.split(" ")
        old = next(parts, "")
        changes.append(_Change(status[:1], old, next(parts, "") if status[:1] in "RC" else old, blob))
    return changes


def _of_one_name(paths: Sequence[str], other: str) -> list[str]:
    """Return the only path that has the name of another."""
    named = [path for path in paths if PurePosixPath(path).name == PurePosixPath(other).name]
    return named if len(named) == 1 else []


def _similarity(before: bytes, now: bytes) -> float:
    """Return the share of the larger text that both have, line by line; git's measure for a rename."""
    larger = max(len(before), len(now))
    if not larger or min(len(before), len(now)) < _ALIKE_ENOUGH * larger:
        return 0.0
    both = Counter(before.splitlines(keepends=True)) & Counter(now.splitlines(keepends=True))
    return sum(len(line) * times for line, times in both.items()) / larger


def _parent(path: str) -> str:
    parent = str(PurePosixPath(path).parent)
    return "" if parent == "." else parent
