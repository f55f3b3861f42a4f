"""Asking git: read-only, without a shell, a prompt, a network or a long wait, and without the repository's orders.

Git never sees the repository's own git directory. Each call gets a scratch one, made for it and removed after it: a
configuration with nothing but how the repository stores its objects, a copy of HEAD and of the index, and links to
the references. Objects are read where they are. Whatever the repository configures (filters, hooks, signers,
monitors, transports, promisors, a work tree elsewhere) is therefore not there to be run or believed, and there is
no index for git to write.
"""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import IO

from reverie.codebase.repository import (
    GitRepository,
    find_repository,
    format_config,
    naming_settings,
    read_head,
    read_plain,
    read_settings,
    storage_settings,
)
from reverie.errors import ReverieError

LARGEST_ANSWER = 200_000_000
"""Bytes that git may say: a tree of trees of trees can be made to have more files than any disk."""

_LARGEST_INDEX = 500_000_000
_LARGEST_LIST = 4_000_000  # of exclusions, or of the ends of a shallow history
_TRUST_HOLDS_FOR = 60.0

# Every command that is ever asked for. Each reads; none fetches, converts a file or compares with the work tree.
_READING = frozenset(
    {
        *("cat-file", "config", "diff-index", "diff-tree", "for-each-ref", "grep", "ls-files", "ls-tree"),
        *("merge-base", "rev-list", "rev-parse", "symbolic-ref"),
    }
)
_IN_WORK_TREE = frozenset({"config", "grep", "ls-files", "rev-parse"})
_WITH_INDEX = frozenset({"diff-index", "grep", "ls-files"})
# The user's own configuration says what to ignore and how addresses are rewritten; nothing else is asked of it.
_WITH_USER_CONFIG = frozenset({"config", "grep", "ls-files"})
_USER_CONFIG = frozenset({"GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM"})

_QUIET = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
# Against what the user's own configuration switches on, for repositories that are the user's.
_SWITCHED_OFF = (
    *("core.fsmonitor=false", "core.untrackedCache=false", f"core.hooksPath={os.devnull}", "protocol.allow=never"),
    *(f"core.attributesFile={os.devnull}", "safe.bareRepository=explicit", "submodule.recurse=false"),
    *("log.showSignature=false", "gc.auto=0", "maintenance.auto=false", "color.ui=false"),
)
_READ_ONLY = ("--no-pager", "--no-replace-objects", *(part for one in _SWITCHED_OFF for part in ("-c", one)))
_NO_WINDOW = 0x08000000 if sys.platform == "win32" else 0  # Windows would flash a console for each call


class GitUnavailable(ReverieError):
    """Git is not installed, could not be started, or took too long."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The output and exit code of one call of git."""

    code: int
    out: str
    complaint: str

    @property
    def data(self) -> bytes:
        """The output as bytes."""
        return os.fsencode(self.out)

    @property
    def refused(self) -> bool:
        """Whether git will not read this repository because it belongs to another user."""
        return self.code == 128 and any(
            words in self.complaint for words in ("dubious ownership", "unsafe repository")
        )


@dataclass(frozen=True, slots=True)
class Git:
    """One git program and the deadline for all its answers."""

    program: str
    deadline: float

    def ask(self, folder: Path, *arguments: str, only_here: bool = False) -> Answer:
        """Ask git about the repository around a folder; with `only_here`, no repository further up counts.

        Raises:
            GitUnavailable: if git cannot be started, says too much, or the deadline passes.
        """
        command = arguments[0]
        if command not in _READING:
            raise ValueError(f"git {command} is not among the commands that only read")
        if command == "config" and "--file" in arguments:  # a file, whoever's it is, read as a mere text
            with _scratch_folder() as scratch:
                return self._run(scratch, folder, (command, "--no-includes", *arguments[1:]))
        repository = find_repository(folder, only_here=only_here)
        if repository is None:
            return Answer(128, "", "fatal: not a git repository")
        if not repository.is_own and not self._is_trusted(repository):
            return Answer(128, "", f"fatal: detected dubious ownership in repository at '{repository.root}'")
        if arguments == ("rev-parse", "--git-common-dir"):
            return Answer(0, f"{repository.common_dir}\n", "")
        return self._ask(repository, folder, arguments)

    def _ask(self, repository: GitRepository, folder: Path, arguments: Sequence[str]) -> Answer:
        command = arguments[0]
        environment = {"GIT_OBJECT_DIRECTORY": str(repository.common_dir / "objects")}
        in_work_tree = command in _IN_WORK_TREE and repository.root is not None
        if in_work_tree and stat.S_ISFIFO(_mode(repository.root, ".gitignore")):
            raise GitUnavailable(".gitignore is a pipe, which git would wait for")
        if in_work_tree:
            environment["GIT_WORK_TREE"] = str(repository.root)
        try:
            with _scratch_folder() as scratch:
                _fill(scratch, repository, command, bare=not in_work_tree)
                place = folder if in_work_tree else scratch
                return self._run(scratch, place, arguments, environment, as_user=command in _WITH_USER_CONFIG)
        except OSError as error:
            raise GitUnavailable(f"git could not be given a folder to work in ({error})") from error

    def _run(
        self,
        scratch: Path,
        folder: Path,
        arguments: Sequence[str],
        environment: Mapping[str, str] | None = None,
        *,
        as_user: bool = False,
    ) -> Answer:
        surroundings = {
            name: value
            for name, value in os.environ.items()
            # The caller's GIT_DIR, GIT_TRACE and the like, as inside a hook, are about another repository.
            if not name.startswith("GIT_") or name == "GIT_EXEC_PATH" or (as_user and name in _USER_CONFIG)
        }
        if not as_user:
            surroundings |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        try:
            process = subprocess.Popen(  # noqa: S603 - an absolute program and a list, never a shell
                [self.program, *_READ_ONLY, *arguments],
                cwd=folder,
                stdin=subprocess.DEVNULL,  # the server's own stdin carries the protocol
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**surroundings, **_QUIET, "GIT_DIR": str(scratch), **(environment or {})},
                start_new_session=True,
                creationflags=_NO_WINDOW,
            )
        except (OSError, ValueError) as error:
            raise GitUnavailable(f"git could not be started ({error})") from error
        return _answer(process, self.deadline)

    def _is_trusted(self, repository: GitRepository) -> bool:
        """Return whether the user's own configuration says that this repository of another user may be read."""
        wanted = str(repository.root or repository.git_dir)
        trusted = False
        for said in self._safe_directories():
            folder = os.path.expanduser(said)
            if not said:
                trusted = False  # an empty one takes back all before it
            elif (
                said == "*"
                or (folder.endswith("/*") and wanted.startswith(folder[:-1]))
                or (os.path.isabs(folder) and os.path.realpath(folder) == wanted)
            ):
                trusted = True
        return trusted

    def _safe_directories(self) -> list[str]:
        names = ("HOME", "XDG_CONFIG_HOME", *sorted(_USER_CONFIG))
        key = (self.program, *(os.environ.get(name, "") for name in names))
        known = _trusted.get(key)
        if known is None or known[1] < time.monotonic():
            with _scratch_folder() as scratch:
                asked = ("config", "-z", "--get-all", "safe.directory")
                said = self._run(scratch, scratch, asked, as_user=True).out.split("\0")[:-1]
            known = _trusted[key] = (said, time.monotonic() + _TRUST_HOLDS_FOR)
        return known[0]


_trusted: dict[tuple[str, ...], tuple[list[str], float]] = {}


def find_git(patience: float) -> Git:
    """Find git on the PATH and give it this many seconds for everything it will be asked.

    Raises:
        GitUnavailable: if there is none.
    """
    program = shutil.which("git")
    # A relative hit comes from the working directory, which is the user's repository, not an installation.
    if program is None or not Path(program).is_absolute():
        raise GitUnavailable("git is not installed")
    return Git(program, time.monotonic() + patience)


# -- the scratch git directory ---------------------------------------------------------------------------


@contextmanager
def _scratch_folder() -> Iterator[Path]:
    """Make the smallest folder that git takes for a git directory, readable by this user alone."""
    try:
        scratch = Path(tempfile.mkdtemp(prefix="reverie-git-"))
    except OSError as error:
        raise GitUnavailable(f"git could not be given a folder to work in ({error})") from error
    try:
        (scratch / "objects").mkdir()
        (scratch / "HEAD").write_bytes(b"ref: refs/heads/none\n")
        (scratch / "refs").mkdir()
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _fill(scratch: Path, repository: GitRepository, command: str, *, bare: bool) -> None:
    """Put in what a command needs of a repository."""
    common = repository.common_dir
    settings = read_settings(repository)
    storage = storage_settings(settings)
    version = 1 if any(one.section == "extensions" for one in storage) else 0
    head = f"[core]\n\trepositoryformatversion = {version}\n\tbare = {'true' if bare else 'false'}\n"
    naming = naming_settings(settings) if command == "config" else []
    (scratch / "config").write_bytes(head.encode() + format_config([*storage, *naming]))
    (scratch / "HEAD").write_bytes(read_head(repository))
    (scratch / "refs").rmdir()
    for name in ("refs", "packed-refs", "reftable"):
        _show(common / name, scratch / name)
    shallow = read_plain(common / "shallow", _LARGEST_LIST)
    if shallow is not None:
        (scratch / "shallow").write_bytes(shallow)
    if command in _WITH_INDEX:
        for index in (repository.git_dir / "index", *repository.git_dir.glob("sharedindex.*")):
            _copy(index, scratch / index.name)
    excluded = read_plain(common / "info/exclude", _LARGEST_LIST) if command in _WITH_USER_CONFIG else None
    if excluded is not None:
        (scratch / "info").mkdir()
        (scratch / "info/exclude").write_bytes(excluded)


def _mode(root: Path | None, name: str) -> int:
    try:
        return 0 if root is None else os.lstat(root / name).st_mode
    except OSError:
        return 0


def _show(real: Path, shown: Path) -> None:
    """Give git a part of the repository, by a link or, where links are not possible, a copy."""
    try:
        shown.symlink_to(real)
    except OSError:  # Windows gives links to few
        if real.is_dir():
            shutil.copytree(real, shown, symlinks=True)
        else:
            _copy(real, shown)


def _copy(real: Path, copy: Path) -> None:
    """Copy a file as it is now; git replaces its files as a whole, so that no half one is seen."""
    source = read_plain(real, _LARGEST_INDEX + 1)
    if source is None:
        return
    if len(source) > _LARGEST_INDEX:
        raise GitUnavailable(f"{real.name} of the repository is too large")
    copy.write_bytes(source)


# -- the answer ------------------------------------------------------------------------------------------


class _Reader(Thread):
    """Reads one of git's pipes to its end, or until it is too much."""

    def __init__(self, pipe: IO[bytes]) -> None:
        super().__init__(name="reverie-git", daemon=True)
        self._pipe = pipe
        self._parts: list[bytes] = []
        self.too_much = False
        self.start()

    def run(self) -> None:
        size = 0
        with suppress(OSError, ValueError):  # closed because git was ended
            while part := self._pipe.read1(1 << 16):  # type: ignore[attr-defined]
                size += len(part)
                if size > LARGEST_ANSWER:
                    self.too_much = True
                    return
                self._parts.append(part)

    def text(self) -> str:
        return os.fsdecode(b"".join(self._parts))


def _answer(process: "subprocess.Popen[bytes]", deadline: float) -> Answer:
    assert process.stdout is not None  # noqa: S101 - both were asked for
    assert process.stderr is not None  # noqa: S101
    with process:
        readers = (_Reader(process.stdout), _Reader(process.stderr))
        for reader in readers:
            reader.join(max(deadline - time.monotonic(), 0.001))
        late = any(reader.is_alive() for reader in readers)
        if not late and not any(reader.too_much for reader in readers):
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(max(deadline - time.monotonic(), 0.001))
                return Answer(code, readers[0].text(), readers[1].text())
            late = True
        _end(process)
        for reader in readers:
            reader.join()
    raise GitUnavailable("git did not answer in time" if late else "git had too much to say")


def _end(process: "subprocess.Popen[bytes]") -> None:
    # The whole group: `git` may be a wrapper whose child would keep the pipes open.
    if sys.platform == "win32":
        process.kill()
    else:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
