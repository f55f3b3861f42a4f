"""The evidence of one session: makes anchors from its project's folder and branch, and checks them later.

A check says whether the file or symbol of an anchor is unchanged, changed, moved or gone. The cheap check comes
first: while size and times of a file are the same, nothing is read. A file is read when they change, parsed when its
bytes change, and git is asked only about what is no longer there.
"""

import hashlib
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reverie.codebase.anchors import MOST_ANCHORS, Anchored, anchor
from reverie.codebase.git import GitUnavailable
from reverie.codebase.identity import ProjectIdentity
from reverie.codebase.manifests import Entry, entries_of, read_manifest
from reverie.codebase.mentions import says_it_is_gone
from reverie.codebase.moves import Moves
from reverie.codebase.symbols import Symbol, find_symbol, symbol_digest
from reverie.codebase.tree import SourceTree, stored_folder
from reverie.memory import GLOBAL_PROJECT, Anchor, Freshness

WORST_FIRST: tuple[Freshness, ...] = ("missing", "moved", "changed", "unverifiable", "verified")

_MANIFEST_KINDS = ("target", "script", "dependency")


def worst(anchors: Iterable[Anchor]) -> Freshness:
    """Return the worst that is known of several anchors."""
    known = {anchor.freshness for anchor in anchors}
    return next((freshness for freshness in WORST_FIRST if freshness in known), "unanchored")


def unverifiable(anchor: Anchor, why: str = "") -> Anchor:
    """Return an anchor that cannot be checked from here; where it was last known to be stays."""
    return replace(anchor, freshness="unverifiable", note=why or None)


def lines_of(source: bytes) -> list[str]:
    """Return the lines of a text file, as their numbers count them."""
    return source.decode("utf-8-sig", "replace").split("\n")


def line_digest(lines: Sequence[str]) -> str:
    """Return the fingerprint of lines of a text file; indentation and spaces at their ends do not count."""
    return hashlib.sha256("\n".join(line.strip() for line in lines).encode()).hexdigest()[:32]


class Checker:
    """Checks anchors against one project's folder."""

    def __init__(self, tree: SourceTree, moves: Moves) -> None:
        self._tree = tree
        self._moves = moves

    def check(self, anchor: Anchor) -> Anchor:
        """Return the anchor with its freshness now."""
        match anchor.kind:
            case "folder":
                return self._folder(anchor)
            case "symbol":
                return self._symbol(anchor)
            case "line":
                return self._line(anchor)
            case kind if kind in _MANIFEST_KINDS:
                return self._entry(anchor)
            case _:
                return self._file(anchor)

    # -- files and folders -----------------------------------------------------------------------------

    def _file(self, anchor: Anchor) -> Anchor:
        digest = self._tree.digest(anchor.path)
        if digest is not None:
            if anchor.digest in (None, digest):
                return _still(anchor)
            return _changed(anchor, f"{anchor.path} changed")
        if anchor.digest is None:
            # Named when it could not be looked at: that it is not here proves nothing.
            return unverifiable(anchor)
        found = self._known_place(anchor) or self._moves.of_file(anchor.path, anchor.commit, anchor.digest)
        return _moved(anchor, found) if found else _missing(anchor, f"{anchor.path} is gone")

    def _folder(self, anchor: Anchor) -> Anchor:
        if self._tree.is_folder(anchor.path):
            return _still(anchor)
        known = anchor.now_at if anchor.now_at and self._tree.is_folder(anchor.now_at) else None
        found = known or self._moves.of_folder(anchor.path, anchor.commit)
        return _moved(anchor, found) if found else _missing(anchor, f"{anchor.path}/ is gone")

    def _known_place(self, anchor: Anchor) -> str | None:
        """Return where an earlier check found it, if it is still there."""
        place = (anchor.now_at or "").partition("::")[0]
        return place if place and self._tree.is_file(place) else None

    def _line(self, anchor: Anchor) -> Anchor:
        """Check lines of a text file, wherever in it they are by now."""
        digest = self._tree.digest(anchor.path)
        if digest is None:
            return replace(self._file(replace(anchor, digest=anchor.file_digest)), digest=anchor.digest)
        if digest == anchor.file_digest:
            return _still(anchor)
        first, last = anchor.span or (1, 1)
        lines = lines_of(self._tree.read(anchor.path) or b"")
        size = max(1, last - first + 1)
        if any(line_digest(lines[start : start + size]) == anchor.digest for start in range(len(lines))):
            return _still(anchor)
        return _changed(anchor, f"{anchor.path} no longer says this")

    # -- symbols ---------------------------------------------------------------------------------------

    def _symbol(self, anchor: Anchor) -> Anchor:
        name = anchor.symbol or ""
        digest = self._tree.digest(anchor.path)
        if digest is not None and digest == anchor.file_digest:
            return _still(anchor)
        if digest is not None:
            symbol = find_symbol(self._tree.symbols(anchor.path), name)
            if symbol is not None:
                return self._compared(anchor, symbol)
        if anchor.digest is None:
            return unverifiable(anchor)
        found = self._symbol_elsewhere(anchor, file_is_gone=digest is None)
        if found is not None:
            return _moved(anchor, found, named=name)
        if digest is None:
            return _missing(anchor, f"{anchor.path} is gone, and {name} with it")
        return _missing(anchor, f"{name} is gone from {anchor.path}")

    def _compared(self, anchor: Anchor, symbol: Symbol) -> Anchor:
        source = self._tree.read(anchor.path)
        digest = symbol_digest(symbol, source) if source is not None else anchor.digest
        if anchor.digest in (None, digest):
            return _still(anchor)
        body, _, signature = (digest or "").partition("-")
        before_body, _, before_signature = (anchor.digest or "").partition("-")
        what = "signature changed" if signature != before_signature else "body changed"
        return _changed(anchor, f"{anchor.symbol}: {what}") if body != before_body else _still(anchor)

    def _symbol_elsewhere(self, anchor: Anchor, *, file_is_gone: bool) -> str | None:
        name = anchor.symbol or ""
        candidates = [self._known_place(anchor)]
        if file_is_gone:
            candidates.append(self._moves.of_file(anchor.path, anchor.commit, anchor.file_digest))
        for path in candidates:
            if path and find_symbol(self._tree.symbols(path), name):
                return path
        found = self._moves.of_symbol(name, anchor.path)
        if found is None:
            return None
        path, symbol = found
        return path if symbol.qualified == name else f"{path}::{symbol.qualified}"

    # -- manifests -------------------------------------------------------------------------------------

    def _entry(self, anchor: Anchor) -> Anchor:
        found = _same_entry(read_manifest(self._tree, anchor.path), anchor)
        if found is not None:
            if anchor.digest in (None, found.digest):
                return _still(anchor)
            return _changed(anchor, _entry_note(anchor, found))
        elsewhere = _same_entry(entries_of(self._tree), anchor)
        if elsewhere is not None:
            # It can still be run, or is still required: only the file that says so is another.
            return replace(_changed(anchor, f"{anchor.symbol} is now in {elsewhere.path}"), now_at=elsewhere.path)
        if anchor.symbol == "python":  # a language is not given up by no longer saying so
            return _changed(anchor, f"{anchor.path} no longer says which python")
        return _missing(anchor, f"{anchor.symbol} is gone from {anchor.path}")


def _same_entry(entries: Iterable[Entry], anchor: Anchor) -> Entry | None:
    return next((entry for entry in entries if (entry.kind, entry.name) == (anchor.kind, anchor.symbol)), None)


def _entry_note(anchor: Anchor, entry: Entry) -> str:
    if entry.kind == "dependency":
        return f"{entry.name} is now {entry.value or 'without a version'}"
    return f"{anchor.symbol} in {anchor.path} changed"


def _still(anchor: Anchor) -> Anchor:
    return replace(anchor, freshness="verified", now_at=None, note=None)


def _changed(anchor: Anchor, note: str) -> Anchor:
    return replace(anchor, freshness="changed", now_at=None, note=note)


def _moved(anchor: Anchor, to: str, named: str = "") -> Anchor:
    return replace(anchor, freshness="moved", now_at=to, note=f"{named or anchor.path} moved to {to}")


def _missing(anchor: Anchor, note: str) -> Anchor:
    return replace(anchor, freshness="missing", now_at=None, note=note)


CHECKOUT_HOLDS_FOR = 1.0
"""Seconds for which the branch and commit of the working tree are cached."""

MAINLINES = ("main", "master", "trunk", "develop")

_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_HEADS = "refs/heads/"
_NO_BRANCH = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{")  # what no branch may be called, and git would interpret


@dataclass(frozen=True, slots=True)
class Checkout:
    """The commit and branch that are checked out; both None if git does not answer."""

    commit: str | None = None
    branch: str | None = None


class Branches:
    """Commits and branches of one project. If git does not answer, an anchor is left unchanged."""

    def __init__(self, tree: SourceTree, *, patience: float) -> None:
        self._tree = tree
        self._patience = patience
        self._checkout: tuple[Checkout, float] | None = None
        self._merged: dict[tuple[str, str], bool | None] = {}

    def checkout(self) -> Checkout:
        """Return what is checked out now; branches are switched while a session runs."""
        if self._checkout is not None and self._checkout[1] > time.monotonic():
            return self._checkout[0]
        checkout = self._asked()
        self._checkout = (checkout, time.monotonic() + CHECKOUT_HOLDS_FOR)
        return checkout

    def seen_from_here(self, anchor: Anchor, branch: str | None) -> Anchor:
        """Judge an anchor that is not in the working tree by the branch it was learned on.

        A file on an existing branch is unverifiable from here. For a deleted branch the main branch decides.
        """
        if anchor.freshness not in ("missing", "moved") or not branch or not anchor.commit:
            return anchor
        try:
            if branch == self.checkout().branch or self._is_merged(anchor.commit) is not False:
                return anchor
            tip = self._tip(branch)
            if tip is not None:
                return self._out_of_sight(anchor, branch, tip)
            return self._by_the_main_line(anchor, branch)
        except GitUnavailable:
            return anchor

    def unmerged(self, branch: str | None, commit: str | None) -> str | None:
        """Return a note if a memory was learned on a branch that is not merged into the checkout; else None."""
        if not branch or not commit or branch in MAINLINES:
            return None
        try:
            if branch == self.checkout().branch or self._is_merged(commit) is not False:
                return None
        except GitUnavailable:
            return None
        return f"learned on branch {branch}, not merged here"

    def _out_of_sight(self, anchor: Anchor, branch: str, tip: str) -> Anchor:
        if self._blob(tip, anchor.path) is None:
            return anchor
        return replace(
            anchor, freshness="unverifiable", now_at=None, note=f"on branch {branch}, not checked out here"
        )

    def _by_the_main_line(self, anchor: Anchor, branch: str) -> Anchor:
        gone = f"branch {branch} is gone and was not merged"
        main = next((tip for name in ("origin/HEAD", *MAINLINES) if (tip := self._tip(name))), None)
        there = self._blob(main, anchor.path) if main else None
        if there is None:
            return replace(anchor, note=f"{anchor.note}; {gone}" if anchor.note else gone)
        same = there == self._blob(anchor.commit or "", anchor.path)
        return replace(
            anchor,
            freshness="verified" if same else "changed",
            now_at=None,
            note=f"{gone}; the main line has {anchor.path}",
        )

    def _asked(self) -> Checkout:
        try:
            answer = self._ask("rev-parse", "HEAD", "--symbolic-full-name", "HEAD")
            lines = answer.split("\n")
            if _COMMIT.fullmatch(lines[0]):
                name = lines[1] if len(lines) > 1 else ""
                return Checkout(lines[0], _branch(name))
            unborn = self._ask("symbolic-ref", "--quiet", "HEAD").strip()
            return Checkout(None, _branch(unborn))
        except GitUnavailable:
            return Checkout()

    def _is_merged(self, commit: str) -> bool | None:
        """Return whether a commit is part of what is checked out; None if git does not know it."""
        head = self.checkout().commit
        if head is None or not _COMMIT.fullmatch(commit):
            return None
        if (commit, head) not in self._merged:
            git = self._tree.git(self._patience)
            code = git.ask(self._tree.root, "merge-base", "--is-ancestor", commit, head).code
            self._merged[commit, head] = {0: True, 1: False}.get(code)
        return self._merged[commit, head]

    def _tip(self, branch: str) -> str | None:
        """Return the commit of a branch here or at a remote."""
        if _NO_BRANCH.search(branch):
            return None
        for name in (f"refs/heads/{branch}", f"refs/remotes/{branch}", f"refs/remotes/origin/{branch}"):
            found = self._ask("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").strip()
            if _COMMIT.fullmatch(found):
                return found
        return None

    def _blob(self, commit: str, path: str) -> str | None:
        if not _COMMIT.fullmatch(commit):
            return None  # what was stored or imported may be anything, also an option
        found = self._ask("rev-parse", "--verify", "--quiet", f"{commit}:{path}").strip()
        return found if _COMMIT.fullmatch(found) else None

    def _ask(self, *arguments: str) -> str:
        return self._tree.git(self._patience).ask(self._tree.root, *arguments).out


def _branch(reference: str) -> str | None:
    """Return the name of a branch, as it can be stored; None for anything else."""
    if not reference.startswith(_HEADS):
        return None
    return reference.removeprefix(_HEADS).encode("utf-8", "replace").decode("utf-8")


PATIENCE_AT_RECALL = 1.0
PATIENCE_AT_DRIFT = 30.0
"""Seconds that git may take: somebody waits for a recall, nobody for drift."""


@dataclass(frozen=True, slots=True)
class EvidenceState:
    """The anchors of one memory as checked now, the worst freshness among them, and a short note."""

    freshness: Freshness
    anchors: tuple[Anchor, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class _ProjectFolder:
    """A project's folder with its checkers: a quick one for recall, a thorough one for drift."""

    tree: SourceTree
    quick: Checker
    thorough: Checker
    branches: Branches


class Evidence:
    """Anchors and checks against the session's project, with or without git. Safe to use from several threads."""

    def __init__(self, here: ProjectIdentity, folder: Path) -> None:
        self.names: tuple[str, ...] = (here.project,)  # all that memories of the project may be kept under
        self._root = here.root or _own_folder(folder)
        self._folders: dict[str, _ProjectFolder] = {}

    @property
    def tree(self) -> SourceTree | None:
        """The session's project on disk, if it works in one."""
        folder = self._project_folder(self._root)
        return folder.tree if folder else None

    def tree_of(self, project: str, anchor: Anchor) -> SourceTree | None:
        """Return the folder in which an anchor of a project can be looked up from here."""
        folder = self._folder_of(project, anchor)
        return folder.tree if folder else None

    def checkout(self) -> Checkout:
        """Return the commit and branch that are checked out now."""
        folder = self._project_folder(self._root)
        return folder.branches.checkout() if folder and folder.tree.has_git else Checkout()

    def anchor(self, text: str, files: Sequence[str], project: str) -> Anchored:
        """Anchor a text to what it names in the session's project; a text of another project gets no anchors."""
        folder = self._project_folder(self._root)
        if folder is None or project not in (*self.names, GLOBAL_PROJECT):
            return Anchored((), tuple(files))
        found = anchor(folder.tree, text, files)
        commit = self.checkout().commit if found.anchors else None
        root = stored_folder(folder.tree.root) if project == GLOBAL_PROJECT else None
        return replace(found, anchors=tuple(replace(made, commit=commit, root=root) for made in found.anchors))

    def anchor_old(self, text: str, project: str) -> tuple[Anchor, ...]:
        """Anchor a text that was written some time ago, or elsewhere: to what is there, and to what was there once.

        A file that is only in the history becomes an anchor too, in its last state: a check then reports where it
        moved, or that it is gone. A text that speaks of the past may mean exactly that, and gets none.
        """
        found = self.anchor(text, (), project)
        if says_it_is_gone(text):
            return found.anchors
        root = found.anchors[0].root if found.anchors else None
        once = [replace(one.anchor, root=root) for one in found.absent if one.anchor is not None]
        return (*found.anchors, *once)[:MOST_ANCHORS]

    def where_now(self, anchor: Anchor) -> str | None:
        """Return where the file of an anchor is now, if it was moved."""
        folder = self._project_folder(self._root)
        return folder.quick.check(anchor).now_at if folder else None

    def check(
        self, project: str, branch: str | None, anchors: Sequence[Anchor], *, thorough: bool = False
    ) -> EvidenceState:
        """Check the anchors of a memory against its own project."""
        if not anchors:
            return EvidenceState("unanchored")
        checked = tuple(self._checked(project, branch, anchor, thorough=thorough) for anchor in anchors)
        freshness = worst(checked)
        notes = [anchor.note for anchor in checked if anchor.freshness == freshness and anchor.note]
        learned = self._learned_elsewhere(project, branch, anchors)
        return EvidenceState(
            freshness, checked, "; ".join(dict.fromkeys([*notes[:3], *([learned] if learned else [])]))
        )

    def _checked(self, project: str, branch: str | None, anchor: Anchor, *, thorough: bool) -> Anchor:
        folder = self._folder_of(project, anchor)
        if folder is None:
            return unverifiable(anchor, "of another project" if project not in self.names else "no project root here")
        checker = folder.thorough if thorough else folder.quick
        return folder.branches.seen_from_here(checker.check(anchor), branch)

    def _learned_elsewhere(self, project: str, branch: str | None, anchors: Sequence[Anchor]) -> str | None:
        folder = self._folder_of(project, anchors[0])
        return folder.branches.unmerged(branch, anchors[0].commit) if folder else None

    def _folder_of(self, project: str, anchor: Anchor) -> _ProjectFolder | None:
        if anchor.root is not None:
            # A folder that a memory names is only compared, never read: an import can name any folder.
            here = self._root is not None and anchor.root == stored_folder(self._root)
            return self._project_folder(self._root) if here else None
        return self._project_folder(self._root) if project in self.names else None

    def _project_folder(self, root: Path | None) -> _ProjectFolder | None:
        if root is None or not root.is_dir():
            return None
        key = str(root)
        if key not in self._folders:
            tree = SourceTree(root)
            self._folders[key] = _ProjectFolder(
                tree,
                Checker(tree, Moves(tree, patience=PATIENCE_AT_RECALL)),
                Checker(tree, Moves(tree, patience=PATIENCE_AT_DRIFT)),
                Branches(tree, patience=PATIENCE_AT_RECALL),
            )
        return self._folders[key]


def _own_folder(folder: Path) -> Path | None:
    """Return a folder without git as a project root, unless it is the root of a disk or the home."""
    folder = folder.resolve()
    return None if folder in (Path(folder.anchor), Path.home()) else folder
