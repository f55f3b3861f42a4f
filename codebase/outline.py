"""What a file says of itself where there are no definitions to read: its headings, its keys, its first comment."""

import re
from pathlib import PurePosixPath

from reverie.codebase.symbols import first_sentence

_MOST_LINES = 30
_HEADING = re.compile(r"^(?:#{1,4}\s+(?P<marked>.+?)\s*#*|(?P<plain>\S.*))$")
_UNDERLINE = re.compile(r"^([=\-~^\"'*+#.])\1{2,}\s*$")
_SECTION = re.compile(r"^\s*\[+\s*(?P<name>[^\]]+?)\s*\]+")
_KEY = re.compile(r"^(?P<name>[A-Za-z_][\w.-]*)\s*[:=]")
_JSON_KEY = re.compile(r"^ {2}\"(?P<name>[^\"]+)\"\s*:")
_SQL = re.compile(
    r"^\s*create\s+(?:or\s+replace\s+)?(?P<name>\w+\s+(?:if\s+not\s+exists\s+)?[\w.\"]+)", re.IGNORECASE
)
_SHELL_FUNCTION = re.compile(r"^(?:function\s+)?(?P<name>[A-Za-z_][\w-]*)\s*\(\)")
_RULE = re.compile(r"^(?P<name>[A-Za-z0-9_./-]+)\s*:(?!=)")
_STYLE = re.compile(r"^(?P<name>[.#@]?[\w-][^{};]*?)\s*\{")
_BADGE = re.compile(r"!?\[[^\]]*\]\([^)]*\)|<[^>]+>|^[\s|:=*~\-#_.]+$")
_COMMENT = re.compile(r"^\s*(?:#(?!!)|//[/!]?|--|;|/\*+|<!--|\*|\"\"\"|''')\s?(?P<text>.*?)(?:\*/|-->)?\s*$")
_LICENCE = re.compile(r"copyright|licen[cs]e|spdx|coding[:=]|eslint|vim:|-\*-|pragma|^\W*$", re.IGNORECASE)

_PATTERNS = {
    **dict.fromkeys((".toml", ".ini", ".cfg", ".conf"), (_SECTION, _KEY)),
    **dict.fromkeys((".yaml", ".yml"), (_KEY,)),
    ".json": (_JSON_KEY,),
    ".sql": (_SQL,),
    **dict.fromkeys((".sh", ".bash", ".zsh"), (_SHELL_FUNCTION,)),
    **dict.fromkeys((".css", ".scss", ".less"), (_STYLE,)),
    ".mk": (_RULE,),
}
_DOCUMENTS = (".md", ".markdown", ".rst", ".txt", ".adoc")


def outline_of(path: str, source: bytes) -> list[str]:
    """Return headings of a document, sections and keys of a configuration, functions of a script."""
    pure = PurePosixPath(path)
    lines = source.decode("utf-8", "replace").splitlines()
    if pure.suffix.lower() in _DOCUMENTS:
        return _headings(lines)
    patterns = (_RULE,) if pure.name.lower().endswith("makefile") else _PATTERNS.get(pure.suffix.lower(), ())
    found = (match["name"] for line in lines for pattern in patterns if (match := pattern.match(line)))
    return list(dict.fromkeys(name[:80] for name in found))[:_MOST_LINES]


def purpose_of(path: str, source: bytes) -> str:
    """Return what a file says it is for: its docstring, its first comment, or a document's first paragraph."""
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in (".py", ".pyi"):
        from reverie.codebase.python_symbols import module_doc

        return module_doc(source)
    lines = source[:4_000].decode("utf-8", "replace").splitlines()
    if suffix in _DOCUMENTS or PurePosixPath(path).name == "README":
        return _first_paragraph(lines)
    return _first_comment(lines)


def _headings(lines: list[str]) -> list[str]:
    found: list[str] = []
    for number, line in enumerate(lines):
        heading = _HEADING.match(line)
        if heading is None:
            continue
        underlined = number + 1 < len(lines) and _UNDERLINE.match(lines[number + 1]) and not _UNDERLINE.match(line)
        if heading["marked"] or underlined:
            found.append((heading["marked"] or heading["plain"])[:100])
    return found[:_MOST_LINES]


def _first_paragraph(lines: list[str]) -> str:
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else ""
        said = _BADGE.sub("", line).strip()
        if len(said) > 20 and not line.startswith(("#", "..", "|", "```")) and not _UNDERLINE.match(below):
            return first_sentence(said)
    return ""


def _first_comment(lines: list[str]) -> str:
    for line in lines[:40]:
        comment = _COMMENT.match(line)
        if comment is None:
            if line.strip() and not line.startswith(("#!", "<?php", "package ", "'use strict'", '"use strict"')):
                return ""
        elif not _LICENCE.search(comment["text"]):
            return first_sentence(comment["text"])
    return ""
