"""Which repository a folder belongs to, found by looking at the disk and believing nothing that it says of others.

Git itself takes three things on trust that whoever wrote the files may have written: a folder that looks like the
inside of a `.git` (any clone may hold one), a `core.worktree` that points anywhere, and a `.git` file that points to
somebody else's repository. Here a work tree is the folder that holds `.git`, and a pointer counts only where what it
points to belongs to no other work tree.
"""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reverie.codebase.git_config import LARGEST, Setting, is_true, parse_config

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
    """Whether a git directory that lies elsewhere is this work tree's, and no other's."""
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
    """Whether a place is the one that was meant, or has been moved away since it was written down."""
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
    """Whether the user who asks owns a path, by git's rule: under sudo, also the user who called it."""
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
