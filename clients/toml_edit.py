"""Edits to a TOML file that a person wrote: a table is added or removed, every other byte stays.

A table is written at the end of the file and cut out line by line. tomlkit would take the comments after a table away
with it, though they belong to the next one; so lines are cut here, and `tomllib` has to agree with the result.
"""

import json
import re
import tomllib
from collections.abc import Sequence

from reverie.clients.json_edit import Json, NotEditable

_BOM = "\ufeff"
_HEADER = re.compile(r"\s*\[(?!\[)\s*(.*?)\s*\]\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([A-Za-z0-9_-]+))\s*""")


def parse(text: str) -> dict[str, Json]:
    """Return the values of a text.

    Raises:
        NotEditable: saying what is wrong.
    """
    try:
        return tomllib.loads(text.removeprefix(_BOM))
    except tomllib.TOMLDecodeError as error:
        raise NotEditable(str(error)) from None
    except RecursionError:
        raise NotEditable("nested too deeply") from None


def table_text(path: Sequence[str], values: dict[str, Json], newline: str = "\n") -> str:
    """Write a table of plain values and lists."""
    lines = [f"[{'.'.join(map(_key, path))}]", *(f"{_key(key)} = {_value(value)}" for key, value in values.items())]
    return "".join(f"{line}{newline}" for line in lines)


def add_table(text: str, path: Sequence[str], values: dict[str, Json]) -> str:
    """Add a table at the end.

    Raises:
        NotEditable: if the file cannot be parsed, or its parent is written in a way that a table cannot extend.
    """
    expected = _with(parse(text), path, values)
    newline = _newline(text)
    gap = "" if not text.strip(_BOM + " \t\r\n") else newline if text.endswith("\n") else newline * 2
    added = text + gap + table_text(path, values, newline)
    return _agreed(added, expected, path)


def set_value(text: str, path: Sequence[str], key: str, value: Json) -> str:
    """Change one value of a table that is written under its own header.

    Raises:
        NotEditable: if the value is not there, or not on a line of its own.
    """
    parsed = parse(text)
    expected = _with(parsed, [*path, key], value)
    lines = text.split("\n")
    for number in _lines_of(lines, path)[0]:
        found = _KEY.match(lines[number])
        if found and _unquoted(found) == key and lines[number][found.end() :].startswith("="):
            ending = "\r" if lines[number].endswith("\r") else ""
            comment = re.search(r"\s+#[^\"']*$", lines[number].rstrip("\r"))
            lines[number] = f"{_key(key)} = {_value(value)}{comment[0] if comment else ''}{ending}"
            return _agreed("\n".join(lines), expected, path)
    raise NotEditable(f"{'.'.join(path)}.{key} has no line of its own")


def remove_table(text: str, path: Sequence[str]) -> str:
    """Cut a table and the tables below it; comments after its last value stay, as they belong to what follows.

    Raises:
        NotEditable: if it is not written under headers of its own.
    """
    parsed = parse(text)
    expected = _without(parsed, path)
    if expected == parsed:
        return text
    lines = text.split("\n")
    gone: set[int] = set()
    for block in _lines_of(lines, path):
        gone.update(block)
        if block and block[0] > 0 and not lines[block[0] - 1].strip(" \t\r"):
            gone.add(block[0] - 1)  # the empty line above the header
    left = "\n".join(line for number, line in enumerate(lines) if number not in gone)
    return _agreed(left, expected, path)


def _lines_of(lines: list[str], path: Sequence[str]) -> list[list[int]]:
    """Return the line numbers of each block of a table: its header to its last value, the table itself first."""
    blocks: list[list[int]] = []
    wanted = tuple(path)
    number = 0
    inside = False
    while number < len(lines):
        taken = _statement(lines, number)
        header = _HEADER.match(lines[number].rstrip("\r")) if taken == 1 else None
        is_other = taken == 1 and lines[number].lstrip().startswith("[[")
        if header is not None or is_other:
            name = _names(header[1]) if header else ()
            inside = name[: len(wanted)] == wanted
            if inside:
                blocks.append([number])
        elif inside and lines[number].strip(" \t\r") and not lines[number].lstrip().startswith("#"):
            blocks[-1] += range(blocks[-1][-1] + 1, number + taken)  # with the comments between its values
        number += taken
    return blocks or [[]]


def _statement(lines: list[str], number: int) -> int:
    """Return how many lines the statement on this line takes: more than one for long strings and arrays."""
    if re.match(r"\s*(?:#|$)", lines[number].rstrip("\r")):
        return 1
    for count in range(1, len(lines) - number + 1):
        try:
            tomllib.loads("\n".join(lines[number : number + count]) + "\n")  # with the end that a "\r" needs
        except tomllib.TOMLDecodeError:
            continue
        return count
    return 1


def _names(dotted: str) -> tuple[str, ...]:
    names: list[str] = []
    at = 0
    while (found := _KEY.match(dotted, at)) is not None:
        names.append(_unquoted(found))
        at = found.end()
        if dotted[at : at + 1] != ".":
            break
        at += 1
    return tuple(names)


def _unquoted(found: re.Match[str]) -> str:
    if found[1] is not None:
        try:
            return str(json.loads(f'"{found[1]}"'))
        except json.JSONDecodeError:
            return found[1]
    return found[2] if found[2] is not None else found[3]


def _with(parsed: dict[str, Json], path: Sequence[str], value: Json) -> dict[str, Json]:
    first, *rest = path
    below = parsed.get(first, {})
    if rest and not isinstance(below, dict):
        raise NotEditable(f"{first} is not a table")
    new = _with(below, rest, value) if rest and isinstance(below, dict) else value
    return parsed | {first: new}


def _without(parsed: dict[str, Json], path: Sequence[str]) -> dict[str, Json]:
    first, *rest = path
    below = parsed.get(first)
    if not rest or not isinstance(below, dict):
        return {key: value for key, value in parsed.items() if key != first or rest}
    left = _without(below, rest)
    return {key: (left if key == first else value) for key, value in parsed.items()}


def _agreed(text: str, expected: dict[str, Json], path: Sequence[str]) -> str:
    """Return the text if it says what it should; a parent without any table left says nothing."""
    if _pruned(parse(text)) != _pruned(expected):
        raise NotEditable(f"{'.'.join(path)} is written in a way that cannot be edited line by line")
    return text


def _pruned(value: dict[str, Json]) -> dict[str, Json]:
    return {key: one for key, one in value.items() if one != {}}


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def _value(value: Json) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _newline(text: str) -> str:
    at = text.find("\n")
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"
