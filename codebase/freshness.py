"""Whether the file or symbol of an anchor is unchanged, changed, moved or gone.

The cheap check comes first: while size and times of a file are the same, nothing is read. A file is read when they
change, parsed when its bytes change, and git is asked only about what is no longer there.
"""

from collections.abc import Iterable
from dataclasses import replace

from reverie.codebase.manifests import Entry, entries_of, read_manifest
from reverie.codebase.moves import Moves
from reverie.codebase.symbols import Symbol, find_symbol, symbol_digest
from reverie.codebase.tree import SourceTree
from reverie.memory import Anchor, Freshness

WORST_FIRST: tuple[Freshness, ...] = ("missing", "moved", "changed", "unverifiable", "verified")

_MANIFEST_KINDS = ("target", "script", "dependency")


def worst(anchors: Iterable[Anchor]) -> Freshness:
    """Return the worst that is known of several anchors."""
    known = {anchor.freshness for anchor in anchors}
    return next((freshness for freshness in WORST_FIRST if freshness in known), "unanchored")


def unverifiable(anchor: Anchor, why: str = "") -> Anchor:
    """Return an anchor that cannot be checked from here; where it was last known to be stays."""
    return replace(anchor, freshness="unverifiable", note=why or None)


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
