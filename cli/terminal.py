"""Output and questions of a command: results on stdout, progress and errors on stderr.

A line is a text, or a row of texts of which some have a style. Text is escaped first, styles are added after that, so
a memory cannot colour, move or clear anything on the terminal.

It also asks the person at the terminal: yes or no, one key of several, or a text in their editor.
"""

import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass
from typing import Any, Literal, TextIO

from reverie.errors import InvalidInput
from reverie.guard.hidden_text import escaped_json, spelled_out
from reverie.recall.results import structured

DONE = 0
FAILED = 1
REFUSED = 2
"""The command was not understood, or needs --yes because there is nobody to ask."""
INTERRUPTED = 130
"""Ctrl-C ended the command; the number is the shells' own."""

Style = Literal["bold", "dim", "red", "green", "yellow", "cyan"]
ColorMode = Literal["auto", "always", "never"]

_CODES: Mapping[Style, str] = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_BAR = 24
_INDENT = "   "
_WIDTH = 80
_NARROWEST = 40
_WIDEST_TEXT = 110
_color_mode: ColorMode = "auto"


@dataclass(frozen=True, slots=True)
class Span:
    """A text with a style."""

    text: str
    style: Style

    def __str__(self) -> str:
        return self.text


Cell = str | Span
Line = str | tuple[Cell, ...]


def set_color(mode: ColorMode) -> None:
    """Choose whether styles are shown: `auto` means on a terminal, unless NO_COLOR is set."""
    global _color_mode
    _color_mode = mode


def say(*lines: Line) -> None:
    """Write lines for a person to stdout."""
    _write(sys.stdout, "".join(f"{_shown(line, sys.stdout)}\n" for line in lines))


def note(*lines: Line) -> None:
    """Write lines for a person to stderr, where they do not mix with the result."""
    _write(sys.stderr, "".join(f"{_shown(line, sys.stderr)}\n" for line in lines))


def say_json(value: Any) -> None:
    """Write one JSON value to stdout, and nothing else."""
    plain = structured(value) if is_dataclass(value) and not isinstance(value, type) else value
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    _write(sys.stdout, escaped_json(json.dumps(plain, ensure_ascii=not utf8)) + "\n")


def as_text(line: Line) -> str:
    """Return a line as a pipe gets it: without styles, and with control characters escaped."""
    return spelled_out(line) if isinstance(line, str) else spelled_out("".join(map(str, line))).rstrip()


def is_terminal(stream: TextIO | None) -> bool:
    """Whether this stream is a terminal."""
    return stream is not None and stream.isatty()


def terminal_width() -> int:
    """Return the width of the terminal in columns; 80 if it is unknown."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return max(_NARROWEST, int(columns))
    try:
        found = os.get_terminal_size(sys.__stdout__.fileno()).columns if sys.__stdout__ else 0
    except (ValueError, OSError):  # closed, or no terminal
        found = 0
    return max(_NARROWEST, found or _WIDTH)


def paragraph(text: str, indent: str = _INDENT, hanging: str = "") -> str:
    """Wrap a text to the terminal, keeping its own line breaks; `hanging` indents all but the first line more."""
    import textwrap  # as the other imports in functions here: only where it is used, for a quick start

    wrapper = textwrap.TextWrapper(
        min(terminal_width(), _WIDEST_TEXT),
        initial_indent=indent,
        subsequent_indent=indent + hanging,
        break_on_hyphens=False,
    )
    return "\n".join(wrapper.fill(line) for line in text.strip().splitlines())


def columns(rows: Sequence[tuple[str, ...]], indent: str = "  ") -> list[str]:
    """Align rows in columns, two spaces apart; a cell is always one line."""
    return [as_text(line) for line in table(rows, indent)]


def table(rows: Sequence[tuple[Cell, ...]], indent: str = "  ") -> list[tuple[Cell, ...]]:
    """Align rows in columns as `columns` does, keeping the style of each cell."""
    cells = [tuple(_one_line(cell) for cell in row) for row in rows]
    widths = (
        [max(display_width(str(row[number])) for row in cells) for number in range(len(cells[0]))] if cells else []
    )
    lines: list[tuple[Cell, ...]] = []
    for row in cells:
        line: list[Cell] = [indent]
        for number, (cell, width) in enumerate(zip(row, widths, strict=True), 1):
            gap = " " * (width - display_width(str(cell)) + 2) if any(map(str, row[number:])) else ""
            line += [cell, gap]
        lines.append(tuple(line))
    return lines


def one_line(text: str) -> str:
    """Return a text on one line, with control characters escaped."""
    return " ".join(spelled_out(text).split())


def shortened(text: str, width: int) -> str:
    """Cut a text to one line of `width` columns; an ellipsis marks the cut."""
    text = one_line(text)
    if display_width(text) <= width:
        return text
    while text and display_width(text) >= width:
        text = text[:-1]
    return text.rstrip() + "…"


def display_width(text: str) -> int:
    """Return how many columns a text takes: two for each wide character, none for combining ones."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def counted(number: int, noun: str) -> str:
    """Return `1 memory`, `2,000 memories`."""
    endings = {"ry": "ries", "ch": "ches"}
    plural = noun[:-2] + endings[noun[-2:]] if noun[-2:] in endings else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


class Progress:
    """A progress bar on stderr, drawn only on a terminal."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._shown = is_terminal(sys.stderr)
        self._drawn = False

    def show(self, share: float | None, detail: str) -> None:
        """Draw the share that is done; without a share, only the detail."""
        if not self._shown:
            return
        bar = ""
        if share is not None:
            full = round(min(max(share, 0.0), 1.0) * _BAR)
            bar = f"[{'#' * full}{'.' * (_BAR - full)}] {share:4.0%}  "
        _write(sys.stderr, f"\r\x1b[K{self._what}  {bar}{spelled_out(detail)}")
        self._drawn = True

    def done(self) -> None:
        """Clear the bar."""
        if self._drawn:
            _write(sys.stderr, "\r\x1b[K")
            self._drawn = False


def give_up_on_stdout() -> None:
    """Write nothing more to a pipe whose reader has gone, not even at the interpreter's exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _has_color(stream: TextIO) -> bool:
    if _color_mode != "auto":
        return _color_mode == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not is_terminal(stream):
        return False
    return sys.platform != "win32" or "WT_SESSION" in os.environ  # the old console prints the codes


def _shown(line: Line, stream: TextIO) -> str:
    if isinstance(line, str) or not _has_color(stream):
        return as_text(line)
    return "".join(_painted(part) if isinstance(part, Span) else spelled_out(part) for part in line).rstrip()


def _painted(span: Span) -> str:
    return f"\x1b[{_CODES[span.style]}m{spelled_out(span.text)}\x1b[0m" if span.text else ""


def _one_line(cell: Cell) -> Cell:
    text = one_line(str(cell))
    return Span(text, cell.style) if isinstance(cell, Span) else text


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
    except UnicodeEncodeError:  # the terminal's encoding has no such character
        stream.write(text.encode(stream.encoding, "backslashreplace").decode(stream.encoding))
    stream.flush()


_UNCHANGED = "Nothing was changed."


class NobodyToAsk(Exception):
    """A command has to ask before a change, and there is no terminal."""

    def __init__(self) -> None:
        super().__init__(
            f"{_UNCHANGED} The command asks first, and there is no terminal. Add --yes to run it without asking."
        )


def can_ask() -> bool:
    """Whether a person types into stdin and reads stderr."""
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)


def agreed(*plan: Line, question: str, yes: bool) -> bool:
    """Show on stderr what would be done, and ask whether to do it; with `yes`, do neither.

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
    import tempfile
    from pathlib import Path

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
    import shlex
    import shutil

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
    import subprocess

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
    task = _current_task()
    if task is not None and task.cancelling():  # Ctrl-C came just before; asyncio would report it only after the read
        raise KeyboardInterrupt
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _current_task() -> Any:
    """Return the task that runs this; None where there is no event loop."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return None
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None
