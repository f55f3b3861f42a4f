"""Edits to a JSON file that a person wrote: a member is added, changed or removed, every other byte stays.

Comments, trailing commas, a byte order mark, tabs and line endings are kept, because nothing is written anew: a text
is parsed into nodes that know where they stand, and an edit inserts or cuts at one place. Each edit parses the text
again, so no node outlives a change.
"""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Path = tuple[str | int, ...]

_BOM = "\ufeff"
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORDS: dict[str, Json] = {"true": True, "false": False, "null": None}
_TRIVIA = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_BEGIN_TRIVIA = frozenset(" \t\r\n/")
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_LINE_ENDS = re.compile(r"[ \t]*\r?\n")
_DEEPEST = 200
_INDENT = "  "


class NotEditable(Exception):
    """A text that cannot be parsed, or has something else where an entry should go."""


class Node(NamedTuple):
    """A value and where it stands in the text; members of an object and items of an array have nodes of their own."""

    start: int
    end: int
    value: Json
    parts: tuple["Part", ...] = ()

    def part(self, key: str | int) -> "Part | None":
        """Return a member or an item; of members with the same name the last, as JSON readers do."""
        return next((part for part in reversed(self.parts) if part.key == key), None)


class Part(NamedTuple):
    """A member or an item: its key, where its name starts, and where the comma after it ends, if there is one."""

    key: str | int
    start: int
    node: Node
    comma: int | None

    @property
    def end(self) -> int:
        """Where it ends, with its comma."""
        return self.node.end if self.comma is None else self.comma


@lru_cache(maxsize=4)  # several questions are asked about one text, and some files have megabytes
def parse(text: str) -> Node | None:
    """Return the value of a text; None if there is nothing in it but comments.

    Raises:
        NotEditable: saying in which line what was found.
    """
    reader = _Reader(text)
    start = reader.after_trivia(1 if text.startswith(_BOM) else 0)
    if start == len(text):
        return None
    node = reader.value(start, 0)
    end = reader.after_trivia(node.end)
    if end != len(text):
        raise reader.wrong(end, "text after the end")
    return node


def value_at(text: str, path: Path) -> Json:
    """Return what is at a path; None also if nothing is."""
    node = _found(parse(text), path)
    return node.value if node else None


def has(text: str, path: Path) -> bool:
    """Return whether there is something at a path."""
    return _found(parse(text), path) is not None


def put(text: str, path: Path, value: Json) -> str:
    """Set the member at a path; the objects on the way are made if need be.

    Raises:
        NotEditable: if something on the way is not an object, or an item is not there.
    """
    root = parse(text)
    if root is None:
        return _first_text(text, _nested(path, value))
    node = root
    for depth, key in enumerate(path):
        if not isinstance(node.value, dict if isinstance(key, str) else list):
            raise NotEditable(f"{_named(path[:depth])} is not an {'object' if isinstance(key, str) else 'array'}")
        part = node.part(key)
        if part is None:
            if isinstance(key, int):
                raise NotEditable(f"{_named(path[: depth + 1])} is not there")
            rest = _nested(path[depth + 1 :], value)
            return _inserted(text, root, node, json.dumps(key, ensure_ascii=False), rest)
        node = part.node
    written = _written(value, _newline(text), _line_indent(text, node.start), _unit(text, root))
    return text[: node.start] + written + text[node.end :]


def append(text: str, path: Path, value: Json) -> str:
    """Add an item to the array at a path, which is made if need be.

    Raises:
        NotEditable: if something on the way is not an object, or the last not an array.
    """
    root = parse(text)
    node = _found(root, path)
    if root is None or node is None:
        return put(text, path, [value])
    if not isinstance(node.value, list):
        raise NotEditable(f"{_named(path)} is not an array")
    return _inserted(text, root, node, None, value)


def remove(text: str, path: Path) -> str:
    """Cut a member or an item, with the comma that it no longer needs and the space before it; comments stay.

    Raises:
        NotEditable: if the text cannot be parsed.
    """
    holder = _found(parse(text), path[:-1])
    part = holder.part(path[-1]) if holder else None
    if holder is None or part is None:
        return text
    number = next(number for number, one in enumerate(holder.parts) if one is part)
    before = holder.parts[number - 1] if number else None
    floor = before.end if before else holder.start + 1
    comments = list(_COMMENT.finditer(text, floor, part.start))
    start = comments[-1].end() if comments else floor
    end = part.end
    if comments and comments[-1][0].startswith("//") and not _LINE_ENDS.match(text, end):
        start = part.start  # without the line break, what follows would become part of the comment
    if before is not None and part.comma is None and before.comma is not None:  # the last: its neighbour's comma goes
        middle = text[before.comma : start]
        text = text[: before.comma - 1] + middle + text[end:]
    else:
        text = text[:start] + text[end:]
        if len(holder.parts) == 1:
            text = _closed_up(text, holder.start)
    return text


def members(text: str, path: Path) -> Iterator[tuple[str | int, Json]]:
    """Yield keys and values of the object or array at a path; nothing if there is neither."""
    node = _found(parse(text), path)
    for part in node.parts if node else ():
        yield part.key, part.node.value


def dumped(value: Json, newline: str = "\n") -> str:
    """Return a value as a file of its own has it."""
    return _written(value, newline, "", _INDENT) + newline


def _closed_up(text: str, start: int) -> str:
    """Make `{}` of an object or array that holds nothing but space."""
    inside = re.compile(r"[{\[]\s*[}\]]").match(text, start)
    return text if inside is None else f"{text[: start + 1]}{text[inside.end() - 1 :]}"


def _found(node: Node | None, path: Path) -> Node | None:
    for key in path:
        part = node.part(key) if node else None
        node = part.node if part else None
    return node


def _nested(path: Path, value: Json) -> Json:
    for key in reversed(path):
        value = {str(key): value}
    return value


def _named(path: Path) -> str:
    return ".".join(map(str, path)) or "the file"


def _first_text(text: str, value: Json) -> str:
    newline = _newline(text)
    gap = newline if text.strip(_BOM + " \t\r\n") and not text.endswith("\n") else ""  # after a comment
    return text + gap + dumped(value, newline)


def _inserted(text: str, root: Node, holder: Node, name: str | None, value: Json) -> str:
    """Add a member or an item at the end of its holder, in the style of what stands there."""
    last = holder.parts[-1] if holder.parts else None
    close = holder.end - 1
    after_last = last.end if last else holder.start + 1
    at = _end_of_comments(text, after_last, close)
    unit, newline = _unit(text, root), _newline(text)
    head = text[holder.start : holder.parts[0].start] if holder.parts else text[holder.start : close]
    has_lines = "\n" in head or "\n" in text[after_last:close] or not holder.parts
    indent = _line_indent(text, holder.start) + unit
    if holder.parts and "\n" in head:
        indent = _line_indent(text, holder.parts[0].start)
    label = "" if name is None else f"{name}: "
    if has_lines:
        entry = f"{newline}{indent}{label}{_written(value, newline, indent, unit)}"
    else:
        entry = f" {label}{json.dumps(value, ensure_ascii=False)}"
    if last is None:
        closing = f"{newline}{_line_indent(text, holder.start)}"
        return text[:at] + entry + closing + text[close:]
    if last.comma is not None:
        return text[:at] + entry + "," + text[at:]
    return f"{text[: last.node.end]},{text[last.node.end : at]}{entry}{text[at:]}"


def _end_of_comments(text: str, start: int, end: int) -> int:
    """Return where the last comment of a stretch of space and comments ends; its start if there is none."""
    comments = [match.end() for match in _COMMENT.finditer(text, start, end)]
    return comments[-1] if comments else start


def _written(value: Json, newline: str, indent: str, unit: str) -> str:
    """Write a value; an array of plain values is on one line, as people write it."""
    inner = f"{newline}{indent}{unit}"
    if isinstance(value, dict) and value:
        parts = [
            f"{json.dumps(key, ensure_ascii=False)}: {_written(one, newline, indent + unit, unit)}"
            for key, one in value.items()
        ]
        return f"{{{inner}{f',{inner}'.join(parts)}{newline}{indent}}}"
    if isinstance(value, list) and any(isinstance(one, dict | list) for one in value):
        parts = [_written(one, newline, indent + unit, unit) for one in value]
        return f"[{inner}{f',{inner}'.join(parts)}{newline}{indent}]"
    return json.dumps(value, ensure_ascii=False)


def _newline(text: str) -> str:
    at = text.find("\n")
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str, root: Node) -> str:
    """Return by how much a level is indented: as the first member of the file is."""
    if root.parts and "\n" in text[root.start : root.parts[0].start]:
        found = _line_indent(text, root.parts[0].start)
        outer = _line_indent(text, root.start)
        if found.startswith(outer) and found != outer:
            return found[len(outer) :]
    return _INDENT


class _Reader:
    """Reads values with comments and trailing commas."""

    def __init__(self, text: str) -> None:
        self._text = text

    def after_trivia(self, at: int) -> int:
        """Skip space and comments."""
        if self._text[at : at + 1] not in _BEGIN_TRIVIA:
            return at
        found = _TRIVIA.match(self._text, at)
        return found.end() if found else at

    def wrong(self, at: int, what: str) -> NotEditable:
        """Say what is wrong, and in which line."""
        line = self._text.count("\n", 0, at) + 1
        return NotEditable(f"line {line}: {what}")

    def value(self, at: int, depth: int) -> Node:
        """Read the value that starts here."""
        if depth > _DEEPEST:
            raise self.wrong(at, "nested too deeply")
        first = self._text[at : at + 1]
        if first in ("{", "["):
            return self._holder(at, depth, "}" if first == "{" else "]")
        if first == '"':
            end, read = self._string(at)
            return Node(at, end, read)
        for word, meant in _WORDS.items():
            if self._text.startswith(word, at):
                return Node(at, at + len(word), meant)
        number = _NUMBER.match(self._text, at)
        if number is None:
            raise self.wrong(at, "a value is missing" if first in ("", ",", "}", "]") else f"unexpected {first!r}")
        return Node(at, number.end(), json.loads(number[0]))

    def _string(self, at: int) -> tuple[int, str]:
        found = _STRING.match(self._text, at)
        if found is None:
            raise self.wrong(at, "a text does not end on its line")
        if "\\" not in found[0]:
            return found.end(), found[0][1:-1]
        try:
            return found.end(), str(json.loads(found[0]))
        except json.JSONDecodeError as error:
            raise self.wrong(at, error.msg) from None

    def _holder(self, start: int, depth: int, close: str) -> Node:
        parts: list[Part] = []
        at = self.after_trivia(start + 1)
        while self._text[at : at + 1] != close:
            if parts and parts[-1].comma is None:
                raise self.wrong(at, "a comma is missing" if at < len(self._text) else f"{close} is missing")
            name_at, key = at, len(parts)
            name: str | int = key
            if close == "}":
                name, at = self._name(at)
            node = self.value(at, depth + 1)
            at = self.after_trivia(node.end)
            comma = at + 1 if self._text[at : at + 1] == "," else None
            parts.append(Part(name, name_at, node, comma))
            at = at if comma is None else self.after_trivia(comma)
        value: Json = (
            {str(part.key): part.node.value for part in parts}
            if close == "}"
            else [part.node.value for part in parts]
        )
        return Node(start, at + 1, value, tuple(parts))

    def _name(self, at: int) -> tuple[str, int]:
        if self._text[at : at + 1] != '"':
            raise self.wrong(at, "a name in double quotes is missing" if at < len(self._text) else "} is missing")
        end, name = self._string(at)
        colon = self.after_trivia(end)
        if self._text[colon : colon + 1] != ":":
            raise self.wrong(colon, f"a colon after {name!r} is missing")
        return name, self.after_trivia(colon + 1)
