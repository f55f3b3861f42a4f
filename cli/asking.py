"""Asking the person at the terminal: yes or no, one key of several, or a text in their editor."""

import asyncio
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reverie.cli.terminal import Line, is_terminal, note
from reverie.errors import InvalidInput

_UNCHANGED = "Nothing was changed."


class NobodyToAsk(Exception):
    """A command wants to ask before it changes something, and there is no terminal."""

    def __init__(self) -> None:
        super().__init__(
            f"{_UNCHANGED} This asks first, and there is no terminal to ask on. Add --yes to do it without asking."
        )


def can_ask() -> bool:
    """Whether a person types into stdin and reads stderr."""
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)


def agreed(*plan: Line, question: str, yes: bool) -> bool:
    """Show on stderr what would be done and ask whether to do it; with `yes` neither.

    Raises:
        NobodyToAsk: if there is no terminal.
    """
    if yes:
        return True
    note(*plan)
    if not can_ask():
        raise NobodyToAsk
    if ask(f"{question} [y/N] ").casefold() in ("y", "yes"):
        return True
    note(_UNCHANGED)
    return False


def ask(prompt: str) -> str:
    """Return the line that the person types; the end of input counts as an empty one."""
    sys.stderr.write(prompt)
    sys.stderr.flush()
    with interruptible():
        return sys.stdin.readline().strip()


def edited(text: str) -> str | None:
    """Open a text in the person's editor; return the new one, or None if it is empty or unchanged.

    Raises:
        InvalidInput: if no editor can be started, or it ended with an error.
    """
    command = _editor()
    with tempfile.TemporaryDirectory(prefix="reverie-") as folder:
        file = Path(folder) / "memory.md"
        file.write_text(text, "utf-8", newline="")
        _run_editor([*command, str(file)])
        try:
            new = file.read_bytes().decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput("$EDITOR", f"the saved file cannot be read ({error})", _UNCHANGED) from None
    new = new.replace("\r\n", "\n")
    if not text.endswith("\n"):
        new = new.rstrip("\n")  # most editors end a file with a line break
    return None if not new.strip() or new == text else new


def _editor() -> list[str]:
    for name in ("VISUAL", "EDITOR"):
        chosen = os.environ.get(name, "").strip()
        if chosen:
            return [chosen] if shutil.which(chosen) else shlex.split(chosen, posix=sys.platform != "win32")
    fallback = "notepad" if sys.platform == "win32" else "vi"
    found = shutil.which(fallback)
    if found is None or not is_terminal(sys.stdin):
        reason = "there is no terminal for vi" if found else f"{fallback} is not there either"
        raise InvalidInput("$EDITOR", f"it is not set, and {reason}", "Set it, or use `reverie revise ID TEXT`.")
    note(f"$EDITOR is not set; opening {fallback}.")
    return [found]


def _run_editor(command: list[str]) -> None:
    # Ctrl-C belongs to the editor. A handler, unlike SIG_IGN, is not passed on to it.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        code = subprocess.run(command, check=False).returncode  # noqa: S603 - the person's own editor
    except OSError as error:
        raise InvalidInput(
            "$EDITOR", f"{command[0]} cannot be started ({error.strerror})", "Set it to your editor."
        ) from None
    finally:
        signal.signal(signal.SIGINT, before)
    if code:
        raise InvalidInput("$EDITOR", f"{command[0]} ended with code {code}", _UNCHANGED)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C end a read of stdin at once; asyncio's own handler would wait for the read to return."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    task = asyncio.current_task()
    if task is not None and task.cancelling():  # it came just before, and asyncio would tell us after the read
        raise KeyboardInterrupt
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
