"""Asking git: read-only, without a shell, a prompt, a network or a long wait."""

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from reverie.errors import ReverieError

# Of the caller's GIT_* variables only these survive: they say where git's own configuration lives and how
# far up to look. All others (GIT_DIR, GIT_WORK_TREE, GIT_TRACE …) would answer for another repository,
# as inside a hook, or write files.
_KEPT = frozenset(
    {
        "GIT_CEILING_DIRECTORIES",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CONFIG_SYSTEM",
        "GIT_DISCOVERY_ACROSS_FILESYSTEM",
        "GIT_EXEC_PATH",
    }
)
_QUIET = {
    "GIT_ALLOW_PROTOCOL": "none",  # a partial clone would otherwise fetch what it lacks
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_READ_ONLY = ("--no-pager", "--no-replace-objects", "-c", "core.fsmonitor=false")
_NO_WINDOW = 0x08000000 if sys.platform == "win32" else 0  # Windows would flash a console for each call


class GitUnavailable(ReverieError):
    """Git is not installed, could not be started, or took too long."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one call of git said."""

    code: int
    out: str
    complaint: str

    @property
    def refused(self) -> bool:
        """Whether git will not read this repository because it belongs to another user."""
        return self.code == 128 and any(
            words in self.complaint for words in ("dubious ownership", "unsafe repository")
        )


@dataclass(frozen=True, slots=True)
class Git:
    """One git program and the moment by which all its answers must be in."""

    program: str
    deadline: float

    def ask(self, folder: Path, *arguments: str, only_here: bool = False) -> Answer:
        """Run git in a folder; with `only_here`, no repository further up counts.

        Raises:
            GitUnavailable: if git cannot be started, or the deadline passes.
        """
        environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_") or k in _KEPT} | _QUIET
        if only_here:
            environment["GIT_CEILING_DIRECTORIES"] = str(folder.parent)
        try:
            process = subprocess.Popen(  # noqa: S603 - an absolute program and a list, never a shell
                [self.program, "-C", str(folder), *_READ_ONLY, *arguments],
                stdin=subprocess.DEVNULL,  # the server's own stdin carries the protocol
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                start_new_session=True,
                creationflags=_NO_WINDOW,
            )
        except (OSError, ValueError) as error:
            raise GitUnavailable(f"git could not be started ({error})") from error
        with process:
            try:
                out, complaint = process.communicate(timeout=max(self.deadline - time.monotonic(), 0.001))
            except subprocess.TimeoutExpired:
                _end(process)
                raise GitUnavailable("git did not answer in time") from None
        return Answer(process.returncode, os.fsdecode(out), os.fsdecode(complaint))


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


def _end(process: subprocess.Popen[bytes]) -> None:
    # The whole group: `git` may be a wrapper whose child would keep the pipes open.
    if sys.platform == "win32":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
