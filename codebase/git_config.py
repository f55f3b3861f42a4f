"""A repository's configuration as text: what of it may be told to git, and nothing else.

Git's configuration can name programs that git then runs: filters, hooks, signers, monitors, editors, transports.
New ones come with each release, so that a list of the dangerous is never complete. Here is the list of the harmless:
how objects and references are stored, and what names the project. Nothing is included from other files.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

LARGEST = 4_000_000
"""Bytes of a configuration that are read."""

_MOST_SETTINGS = 20_000
_FLAGS = frozenset({"filemode", "ignorecase", "precomposeunicode", "symlinks"})
_STORAGE = {"objectformat": ("sha1", "sha256"), "refstorage": ("files", "reftable")}
_NAMING = {"branch": ("remote", "merge"), "remote": ("url", "pushurl"), "url": ("insteadof",)}
_TRUE = ("", "true", "yes", "on", "1")
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", "\\": "\\", '"': '"'}


class Setting(NamedTuple):
    """One line of a configuration."""

    section: str
    subsection: str
    key: str
    value: str | None  # None: the key stands alone, which means true


def parse_config(source: bytes) -> list[Setting]:
    """Read a configuration as git does; what follows a line that makes no sense is not read."""
    text = source[:LARGEST].decode("utf-8", "surrogateescape").removeprefix("\ufeff").replace("\r\n", "\n")
    found: list[Setting] = []
    try:
        for setting in _settings(text):
            found.append(setting)
            if len(found) >= _MOST_SETTINGS:
                break
    except _Malformed:
        pass  # git would refuse the whole file; what came before is as good as it was
    return found


def is_true(value: str | None) -> bool:
    """Whether a value switches something on."""
    return value is None or value.lower() in _TRUE[1:]


def storage_settings(settings: Iterable[Setting]) -> list[Setting]:
    """Return what says how objects, references and file names are stored."""
    kept: dict[str, Setting] = {}
    for one in settings:
        if one.subsection:
            continue
        if one.section == "core" and one.key in _FLAGS:
            kept[one.key] = one._replace(value="true" if is_true(one.value) else "false")
        elif one.section == "extensions" and (one.value or "").lower() in _STORAGE.get(one.key, ()):
            kept[one.key] = one._replace(value=(one.value or "").lower())
    return list(kept.values())


def naming_settings(settings: Iterable[Setting]) -> list[Setting]:
    """Return what names the project: addresses of remotes, how they are rewritten, which one a branch follows."""
    return [one for one in settings if one.key in _NAMING.get(one.section, ()) and one.subsection and one.value]


def format_config(settings: Iterable[Setting]) -> bytes:
    """Write settings so that git reads back exactly these."""
    lines = []
    for one in settings:
        if any("\0" in part or "\n" in part for part in (one.subsection, one.value or "")):
            continue  # no honest address has either
        head = f'[{one.section} "{_escaped(one.subsection)}"]' if one.subsection else f"[{one.section}]"
        lines.append(f'{head}\n\t{one.key} = "{_escaped(one.value or "")}"\n')
    return "".join(lines).encode("utf-8", "surrogateescape")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


class _Malformed(Exception):
    """A configuration cannot be read any further."""


def _settings(text: str) -> Iterator[Setting]:
    section = subsection = ""
    at = 0
    while at < len(text):
        char = text[at]
        if char.isspace():
            at += 1
        elif char in "#;":
            at = _end_of_line(text, at)
        elif char == "[":
            section, subsection, at = _header(text, at + 1)
        elif section and char.isascii() and char.isalpha():
            key, value, at = _assignment(text, at)
            yield Setting(section, subsection, key, value)
        else:
            raise _Malformed


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _header(text: str, at: int) -> tuple[str, str, int]:
    start = at
    while at < len(text) and ((text[at].isascii() and text[at].isalnum()) or text[at] in ".-"):
        at += 1
    name = text[start:at].lower()
    if at < len(text) and text[at] == "]" and name:
        section, _, subsection = name.partition(".")  # the old form: [section.subsection]
        return section, subsection, at + 1
    while at < len(text) and text[at] in " \t":
        at += 1
    if not name or at >= len(text) or text[at] != '"':
        raise _Malformed
    at += 1
    inside: list[str] = []
    while at < len(text) and text[at] not in '"\n':
        if text[at] == "\\":
            at += 1
        inside.append(text[at : at + 1])
        at += 1
    if text[at : at + 2] != '"]':
        raise _Malformed
    return name, "".join(inside), at + 2


def _assignment(text: str, at: int) -> tuple[str, str | None, int]:
    start = at
    while at < len(text) and ((text[at].isascii() and text[at].isalnum()) or text[at] == "-"):
        at += 1
    key = text[start:at].lower()
    while at < len(text) and text[at] in " \t":
        at += 1
    if at >= len(text) or text[at] == "\n":
        return key, None, at
    if text[at] != "=":
        raise _Malformed
    value, at = _value(text, at + 1)
    return key, value, at


def _value(text: str, at: int) -> tuple[str, int]:
    parts: list[str] = []
    kept = 0  # how many parts are left when blanks at the end are cut
    quoted = False
    while at < len(text) and (quoted or text[at] != "\n"):
        char = text[at]
        at += 1
        if char == "\n":
            raise _Malformed
        if char == '"':
            quoted = not quoted
            kept = len(parts)
        elif char == "\\":
            if text[at : at + 1] != "\n":  # at a line's end it joins the next
                if text[at : at + 1] not in _ESCAPES:
                    raise _Malformed
                parts.append(_ESCAPES[text[at]])
                kept = len(parts)
            at += 1
        elif char in "#;" and not quoted:
            at = _end_of_line(text, at)
        elif char.isspace() and not quoted:
            if parts:
                parts.append(char)
        else:
            parts.append(char)
            kept = len(parts)
    if quoted:
        raise _Malformed
    return "".join(parts[:kept]), at
