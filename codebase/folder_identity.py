"""The identity of a folder without git: its marker file, else its manifest's name and path, else its path."""

import hashlib
import json
import os
import re
import secrets
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from reverie.errors import InvalidInput
from reverie.folders import CLIENT_FOLDERS

MARKER = ".reverie"
"""The file that gives a folder without git a name that survives a move. Only `reverie projects mark` makes one."""

NO_PROJECT = "no-project"
"""The project of sessions that stand in no project: in `/`, a home folder, or where temporary files are kept."""

_FOLDER, _MARKED = "folder:", "marker:"
_LONGEST_FILE = 1_000_000
_LONGEST_NAME = 40
_ODD = re.compile(r"[^\w.@/-]+")
_MARK = re.compile(r"(?:(?P<name>[^\n]{0,200})-)?(?P<id>[0-9a-f]{16})\s*")
_MODULE = re.compile(r"^module\s+\"?(?P<name>[^\s\"]+)", re.MULTILINE)
_SYSTEM = ("bin", "boot", "dev", "etc", "lib", "lib64", "proc", "run", "sbin", "sys", "usr", "System", "Library")


def named_folder(here: Path) -> tuple[str, Path | None]:
    """Return the name of the project that a folder without git belongs to, and that project's root."""
    if is_no_project(here):
        return NO_PROJECT, None
    around = [folder for folder in (here, *here.parents) if not is_no_project(folder)]
    for folder in around:
        marked = _marked(folder / MARKER)
        if marked is not None:
            return marked, folder
    # A manifest further up is this project's only if it is not the stray one of a folder full of projects.
    for folder in around:
        if os.path.lexists(folder / ".git"):  # there is a repository, but no git that would read it
            return path_name(folder), folder
        if _manifest_name(folder):
            return path_name(folder), folder
    return path_name(here), here if here.is_dir() else None


def path_name(folder: Path) -> str:
    """Return the name of a folder by its path, made readable by its manifest's name or its own."""
    readable = _readable(_manifest_name(folder) or folder.name) or "folder"
    digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:8]
    return f"{_FOLDER}{readable}-{digest}"


def readable_part(name: str) -> str | None:
    """Return what of a folder's project name its manifest or folder gave, or None for another sort of project."""
    return name.removeprefix(_FOLDER).rpartition("-")[0] if name.startswith(_FOLDER) else None


def is_no_project(folder: Path) -> bool:
    """Whether clients are merely started there: the root of a disk, a home, folders of the system, of settings."""
    folder = Path(os.path.realpath(folder))
    if folder == Path(folder.anchor) or (folder.parent == Path(folder.anchor) and folder.name in ("home", "Users")):
        return True
    home = _home()
    if home is not None and len(home.parts) > 1 and folder.is_relative_to(home) and folder != home:
        return folder.relative_to(home).parts[0].startswith(".")  # settings and keys
    named = [os.environ.get(variable) for variable in ("TMPDIR", "TEMP", "TMP")]
    temporary = {Path(os.path.realpath(place)) for place in (*named, "/tmp", "/var/tmp") if place}  # noqa: S108
    return folder in temporary or folder == home or (len(folder.parts) > 1 and folder.parts[1] in _SYSTEM)


def client_folder(environment: Mapping[str, str]) -> Path | None:
    """Return the folder that the client says it works in, if it says so and there is one."""
    for variable in CLIENT_FOLDERS:
        whole = environment.get(variable, "").strip()
        for given in dict.fromkeys((whole, *re.split(rf"[,{os.pathsep}]", whole))):
            folder = Path(given.strip())
            if given.strip() and folder.is_absolute() and folder.is_dir():
                return folder
    return None


def mark_folder(folder: Path, name: str) -> str:
    """Write a marker file into a folder; return the name of the project.

    Raises:
        InvalidInput: if there is one already, or it cannot be written.
    """
    marked = f"{_readable(name or folder.name) or 'folder'}-{secrets.token_hex(8)}"
    try:
        with (folder / MARKER).open("x", encoding="utf-8") as file:
            file.write(f"{marked}\n")
    except FileExistsError:
        raise InvalidInput("mark", f"{folder / MARKER} is there already", "It names the project; keep it.") from None
    except OSError as error:
        raise InvalidInput("mark", f"{folder / MARKER}: {error.strerror}", "Check who owns the folder.") from error
    return f"{_MARKED}{marked}"


def _home() -> Path | None:
    try:
        return Path(os.path.realpath(Path.home()))
    except RuntimeError:
        return None  # a user without a home


def _marked(file: Path) -> str | None:
    text = _read(file)
    found = _MARK.fullmatch(text) if text else None
    if found is None or not _is_ours(file):
        return None
    return f"{_MARKED}{_readable(found['name'] or '') or 'folder'}-{found['id']}"


def _is_ours(file: Path) -> bool:
    """Return whether the file is this user's: in a shared folder others may put one above ours."""
    try:
        return not hasattr(os, "getuid") or file.stat().st_uid == os.getuid()
    except OSError:
        return False


def _manifest_name(folder: Path) -> str | None:
    for file, reader in _MANIFESTS.items():
        text = _read(folder / file)
        if text is None:
            continue
        try:
            name = reader(text)
        except (ValueError, TypeError, AttributeError, RecursionError):  # half edited, or not what its name says
            name = None
        return name if isinstance(name, str) and name.strip() else folder.name
    return None


def _read(file: Path) -> str | None:
    try:
        if not file.is_file() or file.stat().st_size > _LONGEST_FILE:
            return None
        return file.read_text("utf-8", "replace")
    except (OSError, ValueError):
        return None


def _readable(name: str) -> str:
    return _ODD.sub("-", name).strip("-./")[:_LONGEST_NAME]


def _in_json(text: str) -> Any:
    return json.loads(text).get("name")


def _in_pyproject(text: str) -> Any:
    data = tomllib.loads(text)
    return data.get("project", {}).get("name") or data.get("tool", {}).get("poetry", {}).get("name")


def _in_cargo(text: str) -> Any:
    return tomllib.loads(text).get("package", {}).get("name")


def _in_go_module(text: str) -> Any:
    found = _MODULE.search(text)
    return found and found["name"]


_MANIFESTS: Mapping[str, Callable[[str], Any]] = {
    "package.json": _in_json,
    "pyproject.toml": _in_pyproject,
    "Cargo.toml": _in_cargo,
    "go.mod": _in_go_module,
    "composer.json": _in_json,
}
