"""The git repository of a folder, read from disk, and the part of its configuration that git may see."""

import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
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
    """Return whether a value switches something on."""
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


_LARGEST_POINTER = 8_000
_HEAD = re.compile(rb"ref:\s*refs/\S|[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class GitRepository:
    """One repository on disk."""

    root: Path | None  # the top of the work tree; None for a bare repository that was named on purpose
    git_dir: Path  # HEAD and index
    common_dir: Path  # objects, references and configuration; another than git_dir only in a linked worktree
    is_own: bool  # whether the user who asks owns it


def find_repository(folder: Path, *, only_here: bool = False) -> GitRepository | None:
    """Return the repository around a folder; with `only_here`, the folder must be its top or a bare repository."""
    here = Path(os.path.realpath(folder))
    if only_here:
        found = _at(here)
        return found if found is not None or (here / ".git").exists() else _bare(here)
    for place in _upwards(here):
        try:
            if not os.path.lexists(place / ".git"):
                continue
        except (OSError, ValueError):
            return None
        found = _at(place)
        if found is not None:
            # Inside .git there is no work tree.
            return None if here.is_relative_to(place / ".git") or here.is_relative_to(found.git_dir) else found
        if not (place / ".git").is_dir():
            return None  # a pointer that leads nowhere, or to what is somebody else's
    return None


def read_head(repository: GitRepository) -> bytes:
    """Return what HEAD says, in the one form that git reads from a plain file."""
    head = repository.git_dir / "HEAD"
    try:
        if head.is_symlink():
            return b"ref: " + os.fsencode(os.readlink(head)) + b"\n"
    except OSError:
        return b""
    return read_plain(head, _LARGEST_POINTER) or b""


def read_settings(repository: GitRepository) -> list[Setting]:
    """Return the repository's own configuration as text that nothing is made of yet."""
    return parse_config(read_plain(repository.common_dir / "config", LARGEST) or b"")


def read_plain(path: Path, most: int) -> bytes | None:
    """Return the beginning of a regular file; None for what is absent or no such file, as a pipe that never ends."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError):
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        try:
            return file.read(most)
        except OSError:
            return None


def _upwards(here: Path) -> Iterator[Path]:
    """Yield a folder and those above it, as far up as git would look."""
    listed = os.environ.get("GIT_CEILING_DIRECTORIES", "").split(os.pathsep)
    ceilings = {os.path.realpath(ceiling) for ceiling in listed if os.path.isabs(ceiling)}
    across = is_true(os.environ.get("GIT_DISCOVERY_ACROSS_FILESYSTEM", "false"))
    device = _device(here)
    for place in (here, *here.parents):
        if place != here and (str(place) in ceilings or (not across and _device(place) != device)):
            return
        yield place


def _device(folder: Path) -> int | None:
    try:
        return os.stat(folder).st_dev
    except (OSError, ValueError):
        return None


def _at(root: Path) -> GitRepository | None:
    """Return the repository whose work tree has its top here."""
    dot_git = root / ".git"
    try:
        if dot_git.is_file():
            target = _pointed(dot_git)
        else:
            target = Path(os.path.realpath(dot_git)) if dot_git.is_dir() else None
    except (OSError, ValueError):
        return None
    if target is None or not _is_head(target / "HEAD"):
        return None
    common = _common(target)
    if common is None or not (common / "objects").is_dir() or not (common / "refs").is_dir():
        return None
    if target != dot_git and not _belongs(target, common, root):
        return None
    return GitRepository(root, target, common, all(map(_is_owned, {dot_git, root, target})))


def _bare(folder: Path) -> GitRepository | None:
    if not _is_head(folder / "HEAD") or not (folder / "objects").is_dir() or not (folder / "refs").is_dir():
        return None
    return GitRepository(None, folder, folder, _is_owned(folder))


def _pointed(dot_git: Path) -> Path | None:
    """Follow `gitdir: PATH`."""
    text = read_plain(dot_git, _LARGEST_POINTER) or b""
    if not text.startswith(b"gitdir: "):
        return None
    return Path(os.path.realpath(dot_git.parent / os.fsdecode(text[8:].rstrip(b"\r\n"))))


def _common(git_dir: Path) -> Path | None:
    """Return where the shared parts are; a linked worktree must lie in the repository that it names."""
    pointer = read_plain(git_dir / "commondir", _LARGEST_POINTER)
    if pointer is None:
        return git_dir
    common = Path(os.path.realpath(git_dir / os.fsdecode(pointer.rstrip(b"\r\n"))))
    return common if git_dir.parent == common / "worktrees" else None


def _belongs(git_dir: Path, common: Path, root: Path) -> bool:
    """Return whether a git directory that lies elsewhere is this work tree's, and no other's."""
    if git_dir != common:
        back = read_plain(git_dir / "gitdir", _LARGEST_POINTER)
        return back is not None and _is_here(git_dir / os.fsdecode(back.rstrip(b"\r\n")), root / ".git")
    core = [one for one in parse_config(read_plain(git_dir / "config", LARGEST) or b"") if one.section == "core"]
    worktree = next((one.value for one in reversed(core) if one.key == "worktree" and one.value), None)
    if worktree is not None:  # how a submodule points back
        return _is_here(git_dir / os.fsdecode(worktree.encode("utf-8", "surrogateescape")), root)
    bare = next((is_true(one.value) for one in reversed(core) if one.key == "bare"), False)
    return not bare and git_dir.name != ".git"


def _is_here(said: Path, here: Path) -> bool:
    """Return whether a place is the one that was meant, or has been moved away since it was written down."""
    try:
        return os.path.realpath(said) == os.path.realpath(here) or not os.path.lexists(said)
    except (OSError, ValueError):
        return False


def _is_head(head: Path) -> bool:
    try:
        if head.is_symlink():
            return os.readlink(head).startswith("refs/")
    except OSError:
        return False
    return _HEAD.match(read_plain(head, _LARGEST_POINTER) or b"") is not None


def _is_owned(path: Path) -> bool:
    """Return whether the user who asks owns a path, by git's rule: under sudo, also the user who called it."""
    if not hasattr(os, "geteuid"):
        return True  # Windows keeps owners where Python does not look
    try:
        owner = os.lstat(path).st_uid
    except OSError:
        return False
    mine = {os.geteuid()}
    if mine == {0}:
        mine.add(int(caller) if (caller := os.environ.get("SUDO_UID", "")).isdecimal() else 0)
    return owner in mine
