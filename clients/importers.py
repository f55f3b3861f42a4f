"""Which program wrote a file or folder, and the notes in it.

A file is recognised by its name where that is agreed on (CLAUDE.md), and by what is in it otherwise. Reverie's own
JSON Lines are recognised too, but not read here: they go to the import as they are.
"""

import json
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reverie.clients.formats import Format
from reverie.clients.front_matter import FrontMatterError, split_document
from reverie.clients.markdown_notes import (
    LARGEST_FILE,
    decoded,
    read_basic_memory,
    read_memory_file,
    read_rules,
)
from reverie.clients.memory_exports import (
    read_agent_memory,
    read_chatgpt,
    read_claude,
    read_claude_memories,
    read_mem0,
    read_memory_server,
    read_memory_service,
)
from reverie.clients.okf import read_concept
from reverie.errors import InvalidInput
from reverie.tools.import_files import Note, Problem, shown_name

LARGEST_EXPORT = 256 * 2**20
"""Bytes of one JSON file that is read whole; it takes about six times as much memory."""

_MOST_FILES = 20_000
_LOOKED_AT = 256 * 1024
_RULE_NAMES = ("claude.md", "claude.local.md", "agents.md", "gemini.md", "copilot-instructions.md")
_RULE_FILES = (".cursorrules", ".windsurfrules", ".clinerules")
_RULE_FOLDERS = (".cursor/rules", ".github/instructions", ".claude/rules", ".windsurf/rules")
_NOT_ENTERED = {".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", "dist", "build", "target"}
_IN_ARCHIVES = ("conversations.json", "memories.json")

MARKDOWN_READERS: dict[str, Callable[[str, bytes], Iterator[Note | Problem]]] = {
    "markdown": read_rules,
    "claude-memory": read_memory_file,
    "basic-memory": read_basic_memory,
    "okf": read_concept,
}
_LIST_READERS: dict[str, Callable[[str, Sequence[Any]], Iterator[Note | Problem]]] = {
    "memory-server": read_memory_server,
    "chatgpt": read_chatgpt,
    "claude": read_claude,
    "claude-memories": read_claude_memories,
}
_VALUE_READERS: dict[str, Callable[[str, Any], Iterator[Note | Problem]]] = {
    "mem0": read_mem0,
    "mcp-memory-service": read_memory_service,
    "agentmemory": read_agent_memory,
}


@dataclass(slots=True)
class FoundFile:
    """A file that was recognised, and how many notes are in it."""

    file: str
    format: Format
    notes: int = 0


@dataclass(slots=True)
class Collected:
    """What was found in the files and folders that were named."""

    root: Path
    own: list[str] = field(default_factory=list)  # JSON Lines of Reverie, by the names that were given
    files: list[FoundFile] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def collect(names: Iterable[str], root: Path, wanted: Format | None = None) -> Collected:
    """Read every file and folder that is named; names of files are relative to `root` where they are inside it.

    Raises:
        InvalidInput: if one cannot be read at all, or nothing in a folder is recognised.
    """
    found = Collected(root)
    for name in names:
        path = Path(name)
        if name == "-" or wanted == "jsonl":
            found.own.append(name)
        elif path.is_dir():
            _collect_folder(found, path, wanted)
        else:
            _collect_file(found, path, name, wanted)
    return found


def _collect_file(found: Collected, path: Path, name: str, wanted: Format | None) -> None:
    try:
        with path.open("rb") as file:
            start = file.read(_LOOKED_AT)
    except OSError as error:
        raise InvalidInput(
            "FILE", f"{name} cannot be read ({error.strerror})", "Name a file or a folder to import."
        ) from None
    shown = shown_name(path, found.root)
    if zipfile.is_zipfile(path):
        _collect_archive(found, path, shown, wanted)
        return
    kind = wanted or recognised(path.name, start, parent=path.parent)
    if kind == "jsonl":
        found.own.append(name)
    else:
        _read_file(found, path, shown, kind)


def _read_file(found: Collected, path: Path, shown: str, kind: Format) -> None:
    largest = LARGEST_FILE if kind in MARKDOWN_READERS else LARGEST_EXPORT
    data = read_bounded(path, largest)
    if isinstance(data, str):
        found.problems.append(Problem(shown, 0, data))
        return
    _keep(found, shown, kind, data)


def read_bounded(path: Path, largest: int) -> bytes | str:
    """Return a file's bytes, or why they cannot be read."""
    try:
        with path.open("rb") as file:
            data = file.read(largest + 1)
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    return data if len(data) <= largest else f"larger than {largest // 2**20} MB"


def _keep(found: Collected, shown: str, kind: Format, data: bytes) -> None:
    item = FoundFile(shown, kind)
    for one in read_notes(shown, kind, data):
        if isinstance(one, Problem):
            found.problems.append(one)
        else:
            found.notes.append(one)
            item.notes += 1
    found.files.append(item)


def read_notes(name: str, kind: Format, data: bytes) -> Iterator[Note | Problem]:
    """Return the notes of a file in a format, and what in it cannot be read."""
    if kind in MARKDOWN_READERS:
        yield from MARKDOWN_READERS[kind](name, data)
        return
    values = _json_values(name, data)
    if isinstance(values, Problem):
        yield values
    elif kind in _LIST_READERS:
        records = _graph_records(values) if kind == "memory-server" else values
        if isinstance(records, list):
            yield from _LIST_READERS[kind](name, records)
        else:
            yield Problem(name, 0, f"not an export of {kind}: a list is expected")
    else:
        yield from _VALUE_READERS[kind](name, values if kind != "agentmemory" or isinstance(values, dict) else {})


def _graph_records(values: Any) -> Any:
    """Return the graph as records: the server's file has one a line, what it answers has two lists."""
    if not isinstance(values, dict) or "type" in values:
        return [values] if isinstance(values, dict) else values
    lists = [(values.get("entities"), "entity"), (values.get("relations"), "relation")]
    return [
        {"type": kind, **record} if isinstance(record, dict) else record
        for records, kind in lists
        for record in (records if isinstance(records, list) else [])
    ]


def _json_values(name: str, data: bytes) -> Any:
    """Return the value of a JSON file, or the values of its lines."""
    text = decoded(name, data, LARGEST_EXPORT)
    if isinstance(text, Problem):
        return text
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            return Problem(name, error.lineno, f"not JSON: {error.msg}; the file may be cut off")
    except (ValueError, RecursionError):
        return Problem(name, 0, "not JSON that can be read: too deep, or a number too long")
    values: list[Any] = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            values += [json.loads(line)] if line.strip() else []
        except (ValueError, RecursionError):
            return Problem(name, number, "not JSON; the file may be cut off")
    return values


def recognised(name: str, start: bytes, parent: Path | None = None) -> Format:
    """Return the format of a file by its name and its beginning; what is nothing else is taken for JSON Lines."""
    lower = name.casefold()
    if lower.endswith((".md", ".mdc", ".markdown")) or lower in _RULE_FILES:
        return _markdown_format(lower, start, parent)
    text = start.decode("utf-8-sig", "replace").lstrip()
    whole = _parsed(text)
    first = whole if whole is not None else _parsed(text.partition("\n")[0])
    if isinstance(first, dict):
        return _object_format(first)
    if isinstance(first, list):
        return _list_format(first)
    return _by_keys(text) if text[:1] in ("[", "{") else "jsonl"


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _object_format(value: dict[str, Any]) -> Format:
    keys = value.keys()
    if value.get("type") in ("entity", "relation") or ("entities" in keys and "relations" in keys):
        return "memory-server"
    if "export_metadata" in keys and "memories" in keys:
        return "mcp-memory-service"
    if "memories" in keys and ("exportedAt" in keys or "sessions" in keys):
        return "agentmemory"
    if "memory" in keys or any(isinstance(value.get(name), list) for name in ("results", "records", "memories")):
        return "mem0"
    if "mapping" in keys:
        return "chatgpt"
    return "claude" if "chat_messages" in keys else "jsonl"


def _list_format(values: list[Any]) -> Format:
    first = next((value for value in values if isinstance(value, dict)), {})
    if "conversations_memory" in first or "project_memories" in first:
        return "claude-memories"
    if "content_hash" in first and "memory" not in first:
        return "mcp-memory-service"
    return _object_format(first)


_KEYS: tuple[tuple[str, Format], ...] = (
    ('"mapping"', "chatgpt"),
    ('"chat_messages"', "claude"),
    ('"conversations_memory"', "claude-memories"),
    ('"export_metadata"', "mcp-memory-service"),
    ('"exportedAt"', "agentmemory"),
    ('"entityType"', "memory-server"),
    ('"memory":', "mem0"),
)


def _by_keys(text: str) -> Format:
    """Recognise a file whose beginning is not complete JSON by the first telling key in it."""
    places = [(text.find(key), kind) for key, kind in _KEYS if key in text]
    return min(places)[1] if places else "jsonl"


def _markdown_format(lower: str, start: bytes, parent: Path | None) -> Format:
    if lower in _RULE_NAMES or lower.endswith((".mdc", ".instructions.md")):
        return "markdown"
    if lower == "memory.md" or (parent is not None and parent.name == "memory" and (parent / "MEMORY.md").is_file()):
        return "claude-memory"
    try:
        values = split_document(start.decode("utf-8-sig", "replace").replace("\r\n", "\n")).values
    except FrontMatterError:
        return "markdown"
    if "permalink" in values:
        return "basic-memory"
    return "okf" if isinstance(values.get("reverie"), dict) else "markdown"


def _collect_archive(found: Collected, path: Path, shown: str, wanted: Format | None) -> None:
    """Read the conversations and memories of a zip file; nothing is unpacked to disk."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [one for one in archive.infolist() if one.filename.rpartition("/")[2] in _IN_ARCHIVES]
            if not members:
                found.problems.append(Problem(shown, 0, f"has none of {', '.join(_IN_ARCHIVES)}"))
            for member in members:
                inside = f"{shown}/{member.filename.rpartition('/')[2]}"
                with archive.open(member) as file:
                    data = file.read(LARGEST_EXPORT + 1)  # what it says about its size may be wrong
                if len(data) > LARGEST_EXPORT:
                    found.problems.append(Problem(inside, 0, f"larger than {LARGEST_EXPORT // 2**20} MB"))
                    continue
                _keep(found, inside, wanted or recognised(member.filename, data[:_LOOKED_AT]), data)
    except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError) as error:
        found.problems.append(Problem(shown, 0, f"cannot be read as a zip file ({error})"))


def _collect_folder(found: Collected, folder: Path, wanted: Format | None) -> None:
    files = _folder_files(found, folder, wanted)
    for path, kind in files:
        _read_file(found, path, shown_name(path, found.root), kind)
    if not files:
        what = f"that can be read as {wanted}" if wanted else "that is recognised"
        raise InvalidInput(
            "FILE", f"there is nothing in {folder} {what}", "Name a file, or say with --format what its files are."
        )


def _folder_files(found: Collected, folder: Path, wanted: Format | None) -> list[tuple[Path, Format]]:
    is_memory = (folder / "MEMORY.md").is_file()
    files: list[tuple[Path, Format]] = []
    for path in _walked(folder, found):
        inside = path.relative_to(folder).as_posix()
        kind = _format_in_folder(path, inside, is_memory=is_memory, wanted=wanted)
        if kind is not None:
            files.append((path, kind))
    return files


def _format_in_folder(path: Path, inside: str, *, is_memory: bool, wanted: Format | None) -> Format | None:
    lower = path.name.casefold()
    is_markdown = lower.endswith((".md", ".mdc")) or lower in _RULE_FILES
    if wanted is not None:
        fits = is_markdown if wanted in MARKDOWN_READERS else lower.endswith((".json", ".jsonl"))
        return wanted if fits and not (wanted == "okf" and lower in ("index.md", "log.md")) else None
    if lower in _IN_ARCHIVES:
        start = read_bounded(path, LARGEST_EXPORT)
        return recognised(path.name, start[:_LOOKED_AT]) if isinstance(start, bytes) else None
    if not is_markdown:
        return None
    if is_memory:
        return "claude-memory" if lower.endswith(".md") else None
    if lower in _RULE_NAMES or lower in _RULE_FILES:
        return "markdown"
    if any(f"{place}/" in f"{inside.rpartition('/')[0]}/" for place in _RULE_FOLDERS):
        return "markdown"
    start = read_bounded(path, LARGEST_FILE)
    if not isinstance(start, bytes) or not start.startswith((b"---", b"\xef\xbb\xbf---")):
        return None
    kind = _markdown_format(lower, start, None)
    return kind if kind in ("basic-memory", "okf") else None


def _walked(folder: Path, found: Collected) -> Iterator[Path]:
    """Yield the files of a folder in order, without following links; a link that leaves the folder is reported."""
    number = 0
    inside = folder.resolve()
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _NOT_ENTERED)
        for name in sorted(names):
            path = Path(place) / name
            if path.is_symlink() and not path.resolve().is_relative_to(inside):
                if name.casefold().endswith((".md", ".mdc", ".json")):
                    shown = shown_name(Path(place), found.root) + f"/{name}"
                    found.problems.append(Problem(shown, 0, "a link that leaves the folder: not followed"))
                continue
            number += 1
            if number > _MOST_FILES:
                found.problems.append(Problem(str(folder), 0, f"only the first {_MOST_FILES:,} files were looked at"))
                return
            yield path
