"""The text that an anchor was seen in, then and now, and the lines that differ.

Nothing of a project's code is kept with a memory, only digests. The earlier text is looked for in git: in the commit
that was checked out, and in the later commits of the file, as what was seen may have been committed afterwards. It
counts only if its digest is the anchor's.
"""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from reverie.codebase.evidence import Evidence, line_digest, lines_of
from reverie.codebase.git import GitUnavailable
from reverie.codebase.symbols import find_symbol, symbol_digest, symbols_of
from reverie.codebase.tree import SourceTree, content_digest, is_storable
from reverie.memory import Anchor

LARGEST_TEXT = 1_000_000
MOST_LINES = 120
CONTEXT = 3
PATIENCE = 3.0
_MOST_COMMITS = 20
_COMMIT = re.compile(r"[0-9a-f]{40,64}")

LineKind = Literal["same", "gone", "new", "skipped"]
Kept = Literal["kept", "not kept", "not needed"]


@dataclass(frozen=True, slots=True)
class CodeLine:
    """One line of a difference, with its number before and after; a gap says how many lines it leaves out."""

    kind: LineKind
    before: int | None
    after: int | None
    text: str


@dataclass(frozen=True, slots=True)
class SeenText:
    """An anchor as checked now, whether the text seen then is known, and the lines to show."""

    anchor: Anchor
    kept: Kept
    lines: tuple[CodeLine, ...] = ()
    why: str = ""  # there are no lines


@dataclass(frozen=True, slots=True)
class _Part:
    """Lines of a file, and the number of the first."""

    first: int
    lines: list[str]


def seen_text(evidence: Evidence, project: str, checked: Anchor) -> SeenText:
    """Compare the text that an anchor was made of with the text there now; the anchor must have been checked."""
    tree = evidence.tree_of(project, checked)
    if tree is None:
        return SeenText(checked, "not needed", why="its project is not open here")
    if checked.kind == "folder":
        return SeenText(checked, "not needed", why="it is a folder")
    place = (checked.now_at or checked.path).partition("::")[0]
    source = tree.read(place)
    now = None if source is None else _part(checked, place, source, must_fit=False)
    if checked.freshness == "verified":
        if now is None:
            return SeenText(checked, "not needed", why="it cannot be shown as text")
        return SeenText(checked, "not needed", _as_lines("same", now))
    then = _text_of_then(tree, checked)
    if then is None:
        shown = () if now is None else _as_lines("new" if checked.freshness == "changed" else "same", now)
        return SeenText(checked, "not kept", shown)
    if now is None:
        return SeenText(checked, "kept", _as_lines("gone", then))
    return SeenText(checked, "kept", tuple(_difference(then, now)))


def _text_of_then(tree: SourceTree, anchor: Anchor) -> _Part | None:
    """Return the text that the anchor's digest was made of, if git has it."""
    if anchor.commit is None or not _COMMIT.fullmatch(anchor.commit) or not is_storable(anchor.path):
        return None
    try:
        for commit in (anchor.commit, *_later_commits(tree, anchor)):
            source = _blob(tree, commit, anchor.path)
            part = None if source is None else _part(anchor, anchor.path, source, must_fit=True)
            if part is not None:
                return part
    except GitUnavailable:
        return None
    return None


def _later_commits(tree: SourceTree, anchor: Anchor) -> list[str]:
    found = tree.git(PATIENCE).ask(
        tree.root,
        *("rev-list", "--reverse", f"--max-count={_MOST_COMMITS}", f"{anchor.commit}..HEAD", "--", anchor.path),
    )
    return [line for line in found.out.split("\n") if _COMMIT.fullmatch(line)] if found.code == 0 else []


def _blob(tree: SourceTree, commit: str, path: str) -> bytes | None:
    git, name = tree.git(PATIENCE), f"{commit}:{path}"
    size = git.ask(tree.root, "cat-file", "-s", name)
    if size.code != 0 or not size.out.strip().isdigit() or int(size.out) > LARGEST_TEXT:
        return None
    found = git.ask(tree.root, "cat-file", "blob", name)
    return found.data if found.code == 0 else None


def _part(anchor: Anchor, path: str, source: bytes, *, must_fit: bool) -> _Part | None:
    """Return the lines of a file that an anchor is about; None if they are not there, or are not those it saw."""
    if b"\0" in source or len(source) > LARGEST_TEXT:
        return None
    lines = lines_of(source)
    if anchor.kind == "symbol":
        wanted = (anchor.now_at or "").partition("::")[2] if not must_fit else ""
        symbol = find_symbol(symbols_of(path, source), wanted or anchor.symbol or "")
        if symbol is None or (must_fit and symbol_digest(symbol, source) != anchor.digest):
            return None
        first, last = symbol.span
        return _Part(first, lines[first - 1 : last])
    if anchor.kind == "line":
        first, last = anchor.span or (1, 1)
        size = max(1, last - first + 1)
        starts = [at for at in range(len(lines)) if line_digest(lines[at : at + size]) == anchor.digest]
        if starts:
            return _Part(starts[0] + 1, lines[starts[0] : starts[0] + size])
        return None if must_fit else _Part(first, lines[first - 1 : last])
    if must_fit and (anchor.file_digest or anchor.digest) != content_digest(source) and anchor.kind == "file":
        return None
    return _Part(1, lines[:-1] if lines and not lines[-1] else lines)


def _as_lines(kind: LineKind, part: _Part) -> tuple[CodeLine, ...]:
    numbered = list(enumerate(part.lines, part.first))
    shown = [
        CodeLine(kind, number if kind != "new" else None, number if kind != "gone" else None, text)
        for number, text in numbered[:MOST_LINES]
    ]
    return (*shown, *_gap(len(numbered) - len(shown)))


def _difference(then: _Part, now: _Part) -> Iterator[CodeLine]:
    """Yield the lines that differ, with a few around them, in the order in which they are read."""
    shown = 0
    groups = list(difflib.SequenceMatcher(None, then.lines, now.lines, autojunk=False).get_grouped_opcodes(CONTEXT))
    if not groups:
        yield from _as_lines("same", now)
        return
    after = 0
    for group in groups:
        yield from _gap(group[0][3] - after)
        for word, one, two, three, four in group:
            if word == "equal":
                lines = _same(then, now, range(one, two), range(three, four))
            else:
                lines = [
                    *(CodeLine("gone", then.first + at, None, then.lines[at]) for at in range(one, two)),
                    *(CodeLine("new", None, now.first + at, now.lines[at]) for at in range(three, four)),
                ]
            room = MOST_LINES - shown
            yield from lines[:room]
            shown += min(room, len(lines))
            if len(lines) > room:
                yield from _gap(len(lines) - room)
                return
        after = group[-1][4]
    yield from _gap(len(now.lines) - after)


def _same(then: _Part, now: _Part, before: Sequence[int], after: Sequence[int]) -> list[CodeLine]:
    return [
        CodeLine("same", then.first + one, now.first + two, now.lines[two])
        for one, two in zip(before, after, strict=True)
    ]


def _gap(number: int) -> tuple[CodeLine, ...]:
    return (CodeLine("skipped", None, None, str(number)),) if number > 0 else ()
