"""Markdown to notes: one fact each, with its heading as context and the lines it stands on.

Reads the instruction files of assistants (CLAUDE.md, AGENTS.md, rules of Cursor and Copilot), Claude Code's memory
folders, notes of basic-memory, and any other Markdown. A bullet, a paragraph, a numbered list or a table is one note;
a code block stays with the sentence before it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from reverie.clients.front_matter import Document, FrontMatterError, split_document
from reverie.memory import Kind
from reverie.tools.import_files import Note, Problem

LARGEST_FILE = 2 * 2**20
"""Bytes of one Markdown file that is read."""

_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_BULLET = re.compile(r"([ \t]*)[-*+][ \t]+(.*)")
_NUMBERED = re.compile(r"([ \t]*)\d{1,4}[.)][ \t]+(.*)")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_RULE = re.compile(r"[ \t]*([-*_][ \t]*){3,}$")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FILE_IMPORT = re.compile(r"@[~./\w-]+(/[\w. -]+)*\.?\w*")  # `@docs/style.md` in a CLAUDE.md: another file's text
_BOLD_LINE = re.compile(r"(\*\*|__)([^*_]+)\1:?")
_TASK = re.compile(r"\[[ xX]\][ \t]+")
_ONLY_A_LINK = re.compile(r"!?\[[^\]]*\]\([^)]*\)[.:]?")
_WORD = re.compile(r"\w")
_INDENT = 2
_FEWEST_LETTERS = 3


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of Markdown that says one thing, the heading above it, and its first and last line."""

    text: str
    first: int
    last: int
    heading: str = ""

    @property
    def content(self) -> str:
        """Return the text with its heading in front, so that it can be understood alone."""
        if not self.heading:
            return self.text
        is_list = self.text.startswith("|") or _NUMBERED.match(self.text)
        return f"{self.heading}:\n{self.text}" if is_list else f"{self.heading}: {self.text}"


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    text: str

    @property
    def indent(self) -> int:
        return len(self.text) - len(self.text.lstrip())


def blocks_of(text: str, first_line: int = 1) -> list[Block]:
    """Split Markdown into pieces that say one thing each; `first_line` is where the text begins in its file."""
    reader = _Reader()
    for number, line in enumerate(_without_comments(text).split("\n"), first_line):
        reader.read(_Line(number, line.rstrip().expandtabs(4)))
    reader.end()
    return [block for block in reader.blocks if _says_something(block.text)]


def _without_comments(text: str) -> str:
    """Take HTML comments out and keep the line numbers."""
    return _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)


def _says_something(text: str) -> bool:
    if len(_WORD.findall(text)) < _FEWEST_LETTERS or _ONLY_A_LINK.fullmatch(text):
        return False
    return not _FILE_IMPORT.fullmatch(text)


class _Reader:
    """Reads lines one by one; a piece is complete when the next one begins."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._headings: list[str] = [""] * 7
        self._piece: list[_Line] = []
        self._kind = ""  # paragraph, bullet, numbered, table; nothing between pieces
        self._fence = ""
        self._parents: list[tuple[int, str]] = []  # bullets that end with a colon, with their indents
        self._lead_in = ""  # a paragraph that ends with a colon and introduces a list or a code block
        self._lead_in_line = 0
        self._last: tuple[str, list[_Line]] | None = None  # the piece before, which a code block may still join

    def read(self, line: _Line) -> None:
        if self._fence:
            self._piece.append(line)
            if line.text.strip().startswith(self._fence) and not line.text.strip().strip(self._fence[0]):
                self._fence = ""
            return
        if fence := _FENCE.match(line.text):
            self._begin_code(line, fence[1])
        elif heading := _HEADING.fullmatch(line.text):
            self._begin_section(len(heading[1]), heading[2])
        elif not self._piece and (bold := _BOLD_LINE.fullmatch(line.text)):
            self._begin_section(6, bold[2])  # as some write headings
        elif not line.text.strip():
            self._blank()
        elif _RULE.fullmatch(line.text):
            self.end()
        else:
            self._text(line)

    def end(self) -> None:
        """Complete the piece that was being read."""
        if self._piece:
            self._keep()
        self._piece, self._kind, self._fence = [], "", ""

    def _begin_section(self, level: int, heading: str) -> None:
        self.end()
        self._headings[level:] = [_plain(heading), *[""] * (6 - level)]
        self._parents, self._lead_in, self._last = [], "", None

    def _begin_code(self, line: _Line, fence: str) -> None:
        if not self._piece and self._last is not None:
            self.blocks.pop()
            self._kind, self._piece = self._last[0], [*self._last[1], _Line(0, "")]
        if not self._piece:
            self._kind = "paragraph"
        self._piece.append(line)
        self._fence = fence

    def _blank(self) -> None:
        if self._kind == "numbered" or (self._kind == "bullet" and self._piece):
            self._piece.append(_Line(0, ""))  # the next line may still belong to it
            return
        self.end()

    def _text(self, line: _Line) -> None:
        stripped = line.text.strip()
        bullet, numbered = _BULLET.fullmatch(line.text), _NUMBERED.fullmatch(line.text)
        if self._kind == "numbered" and (numbered or (bullet and line.indent >= _INDENT)):
            self._piece.append(line)
        elif bullet:
            self._begin_bullet(line)
        elif numbered and self._kind == "bullet" and line.indent > self._piece[0].indent:
            self._piece.append(line)
        elif numbered:
            self._begin(line, "numbered")
        elif stripped.startswith("|"):
            if self._kind == "table":
                self._piece.append(line)
            else:
                self._begin(line, "table")
        elif self._kind in ("bullet", "numbered") and self._after_blank and not line.indent:
            self._begin(line, "paragraph")
        elif self._kind in ("bullet", "numbered", "paragraph"):
            self._piece.append(line)
        else:
            self._begin(line, "paragraph")

    @property
    def _after_blank(self) -> bool:
        return bool(self._piece) and not self._piece[-1].text

    def _begin(self, line: _Line, kind: str) -> None:
        self.end()
        if kind == "paragraph":
            self._lead_in = ""
        self._parents = []
        self._kind, self._piece = kind, [line]

    def _begin_bullet(self, line: _Line) -> None:
        if self._kind == "bullet":
            own = self._piece[0]
            introduces = _joined(self._piece).endswith(":")
            if line.indent > own.indent and not introduces:
                self._piece.append(line)  # a detail of the bullet above
                return
            if line.indent > own.indent:
                self._parents.append((own.indent, _bullet_text(_joined(self._piece))))
                self._piece = []  # it introduces others and says nothing itself
        self.end()
        self._parents = [parent for parent in self._parents if parent[0] < line.indent]
        self._kind, self._piece = "bullet", [line]

    @property
    def _heading(self) -> str:
        """The nearest heading; the title of the whole document only says what file it is."""
        return next((heading for heading in reversed(self._headings[2:]) if heading), "")

    def _keep(self) -> None:
        while self._piece and not self._piece[-1].text:
            self._piece.pop()
        if not self._piece:
            return
        numbered = [line.number for line in self._piece if line.number]
        text = _joined(self._piece)
        if self._kind == "bullet":
            text = _bullet_text(text)
            introduced = [parent for _, parent in self._parents] or [self._lead_in] * bool(self._lead_in)
            text = " ".join([*introduced, text])
        elif self._kind in ("numbered", "table") and self._lead_in:
            text = f"{self._lead_in}\n{text}"
        elif (
            self._kind == "paragraph"
            and text.endswith(":")
            and not any(_FENCE.match(one.text) for one in self._piece)
        ):
            # It introduces a list or a code block; if nothing follows, it says nothing.
            self._lead_in = text
        if text.startswith(("```", "~~~")) and self._lead_in:
            text = f"{self._lead_in}\n{text}"
        if self._kind == "paragraph" and text == self._lead_in:
            self._lead_in_line, self._last = numbered[0], None
            return
        first = self._lead_in_line if self._lead_in and text.startswith(f"{self._lead_in}\n") else numbered[0]
        self._last = self._kind, self._piece
        self.blocks.append(Block(text, first, numbered[-1], self._heading))


def _joined(lines: list[_Line]) -> str:
    """Join the lines of a piece: prose is put on one line, code, lists and tables keep theirs."""
    texts: list[str] = []
    own_line = True
    in_code = ""
    for line in lines:
        fence = _FENCE.match(line.text)
        if in_code:
            texts.append(f"\n{line.text}")
            in_code = "" if fence and line.text.strip().startswith(in_code) else in_code
            own_line = True
            continue
        if fence:
            in_code = fence[1]
            texts.append(f"\n{line.text.strip()}")
            continue
        stripped = line.text.strip()
        if not stripped:
            continue
        starts = bool(_BULLET.fullmatch(line.text) or _NUMBERED.fullmatch(line.text) or stripped.startswith("|"))
        texts.append(f"\n{line.text.rstrip()}" if starts or own_line else f" {stripped}")
        own_line = stripped.startswith("|")
    return "".join(texts).strip()


def _bullet_text(text: str) -> str:
    found = _BULLET.match(text)
    inside = text[found.start(2) :] if found else text
    return _TASK.sub("", inside, count=1) if _TASK.match(inside) else inside


def _plain(heading: str) -> str:
    """Return a heading without emphasis and code marks."""
    return re.sub(r"[*_`]{1,3}(.+?)[*_`]{1,3}", r"\1", heading).strip().rstrip(":")


def decoded(name: str, data: bytes, largest: int = LARGEST_FILE) -> str | Problem:
    """Return the text of a file, or why it cannot be read."""
    if len(data) > largest:
        return Problem(name, 0, f"larger than {largest // 2**20} MB; split it")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        return Problem(name, 0, f"not UTF-8 at byte {error.start + 1}; save it as UTF-8")


def _document(name: str, data: bytes) -> Document | Problem:
    text = decoded(name, data)
    if isinstance(text, Problem):
        return text
    try:
        return split_document(text)
    except FrontMatterError as error:
        return Problem(name, error.line, str(error))


def read_rules(name: str, data: bytes) -> Iterator[Note | Problem]:
    """Read instructions for assistants: CLAUDE.md, AGENTS.md, rules of Cursor and Copilot, or any Markdown."""
    document = _document(name, data)
    if isinstance(document, Problem):
        yield document
        return
    scope = _scope(document.values)
    for block in blocks_of(document.body, document.body_line):
        content = f"{block.content} (for {scope})" if scope else block.content
        yield Note(name, {"content": content, "layer": "semantic"}, block.first, block.last, is_anchored=True)


def _scope(values: dict[str, Any]) -> str:
    """Return the files that a rule of Cursor (`globs`) or Copilot (`applyTo`) is for; nothing if it is for all."""
    if values.get("alwaysApply") is True:
        return ""
    given = values.get("globs") or values.get("applyTo") or ""
    listed = ", ".join(map(str, given)) if isinstance(given, list) else str(given)
    return "" if listed.strip() in ("", "*", "**", "**/*") else listed.strip()[:200]


_KIND_OF_TYPE: dict[str, Kind] = {"feedback": "preference"}


def read_memory_file(name: str, data: bytes) -> Iterator[Note | Problem]:
    """Read a file of Claude Code's memory folder: the index is split, every other file is one memory."""
    document = _document(name, data)
    if isinstance(document, Problem):
        yield document
        return
    values = document.values
    if not values:
        for note in read_rules(name, data):
            is_entry = isinstance(note, Note) and re.search(r"\]\([^)]+\.md\)", note.values["content"])
            if not is_entry:  # a line of the index that leads to a file is that file's summary
                yield note
        return
    body = document.body.strip()
    if not body:
        yield Problem(name, document.body_line, "there is no text below the front matter")
        return
    nested = values.get("metadata")
    kind = str(values.get("type") or (nested.get("type") if isinstance(nested, dict) else "") or "")
    fields: dict[str, Any] = {"content": body, "layer": "semantic"}
    title = str(values.get("description") or values.get("name") or "").strip()
    fields |= {"title": title[:200]} if title else {}
    fields |= {"kind": _KIND_OF_TYPE[kind]} if kind in _KIND_OF_TYPE else {}
    fields |= {"tags": [kind]} if kind else {}
    last = document.body_line + document.body.rstrip().count("\n")
    first = last - body.count("\n")
    yield Note(name, fields, first, last, is_anchored=True)


_OBSERVATION = re.compile(r"\[([^\]\n]{1,60})\][ \t]+(.+)", re.DOTALL)
_CONTEXT = re.compile(r"[ \t]*\(([^()]*)\)[ \t]*$")
_TAG = re.compile(r"(?:^|[ \t])#([\w/-]+)")
_WIKI_LINK = re.compile(r"\[\[([^\]|]+)(?:\|[^\]]*)?\]\]")
_KIND_OF_CATEGORY: dict[str, Kind] = {
    "decision": "decision",
    "preference": "preference",
    "rejected": "rejected",
    "how-to": "how_to",
    "howto": "how_to",
    "technique": "how_to",
    "fix": "error_fix",
    "event": "event",
}


def read_basic_memory(name: str, data: bytes) -> Iterator[Note | Problem]:
    """Read a note of basic-memory: its observations and relations, and the prose around them."""
    document = _document(name, data)
    if isinstance(document, Problem):
        yield document
        return
    title = str(document.values.get("title") or name.rpartition("/")[2].removesuffix(".md"))
    given = document.values.get("tags")
    shared = [str(tag) for tag in given if str(tag).strip()] if isinstance(given, list) else []
    for block in blocks_of(document.body, document.body_line):
        fields: dict[str, Any] = {"layer": "semantic", "entities": [title]}
        tags = list(shared)
        observed = _OBSERVATION.fullmatch(block.text)
        if observed:
            text = observed[2]
            tags += [observed[1].strip(), *_TAG.findall(text)]
            fields |= (
                {"kind": _KIND_OF_CATEGORY[k]} if (k := observed[1].strip().lower()) in _KIND_OF_CATEGORY else {}
            )
            fields["content"] = f"{title}: {_TAG.sub('', text).strip()}"
        elif linked := _WIKI_LINK.findall(block.text):
            fields["entities"] = [title, *linked]
            fields["content"] = f"{title} {_WIKI_LINK.sub(_link_name, block.text).replace('_', ' ').strip()}"
        else:
            fields["content"] = f"{title}: {replace(block, heading='').content}"
        fields["tags"] = list(dict.fromkeys(tags))
        yield Note(name, fields, block.first, block.last, is_anchored=True)


def _link_name(found: "re.Match[str]") -> str:
    return found[1].strip()
