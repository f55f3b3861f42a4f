"""What a person or a script sees of a command: results on stdout, progress and complaints on stderr."""

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import is_dataclass
from typing import Any

from reverie.guard.hidden_text import escaped_json, spelled_out
from reverie.recall.results import structured

INTERRUPTED = 130
"""The exit code of a command that Ctrl-C ended, as shells have it."""

_BAR = 24
_INDENT = "   "


def say(*lines: str) -> None:
    """Write lines for a person to stdout."""
    _write(sys.stdout, "".join(f"{spelled_out(line)}\n" for line in lines))


def note(*lines: str) -> None:
    """Write lines for a person to stderr, where they are in nobody's way."""
    _write(sys.stderr, "".join(f"{spelled_out(line)}\n" for line in lines))


def say_json(value: Any) -> None:
    """Write one JSON value to stdout, and nothing else."""
    plain = structured(value) if is_dataclass(value) and not isinstance(value, type) else value
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    _write(sys.stdout, escaped_json(json.dumps(plain, ensure_ascii=not utf8)) + "\n")


def paragraph(text: str, indent: str = _INDENT) -> str:
    """Wrap a text to the terminal, keeping its own line breaks."""
    width = max(40, min(shutil.get_terminal_size((96, 24)).columns, 110))
    wrapped = (
        textwrap.fill(line, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False) or ""
        for line in text.strip().splitlines()
    )
    return "\n".join(wrapped)


def columns(rows: Sequence[tuple[str, ...]], indent: str = "  ") -> list[str]:
    """Align rows in columns, two spaces apart; a cell is one line, whatever it quotes."""
    rows = [tuple(" ".join(cell.split()) for cell in row) for row in rows]
    widths = [max(len(row[number]) for row in rows) for number in range(len(rows[0]))] if rows else []
    return [
        (indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
        for row in rows
    ]


def counted(number: int, noun: str) -> str:
    """Return `1 memory`, `2,000 memories`."""
    endings = {"ry": "ries", "ch": "ches"}
    plural = noun[:-2] + endings[noun[-2:]] if noun[-2:] in endings else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


class Progress:
    """A bar on stderr, drawn only if a person is looking."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._shown = sys.stderr.isatty()
        self._drawn = False

    def show(self, share: float | None, detail: str) -> None:
        """Draw how much is done; without a share, only the detail."""
        if not self._shown:
            return
        bar = ""
        if share is not None:
            full = round(min(max(share, 0.0), 1.0) * _BAR)
            bar = f"[{'#' * full}{'.' * (_BAR - full)}] {share:4.0%}  "
        _write(sys.stderr, f"\r\x1b[K{self._what}  {bar}{spelled_out(detail)}")
        self._drawn = True

    def done(self) -> None:
        """Wipe the bar away."""
        if self._drawn:
            _write(sys.stderr, "\r\x1b[K")
            self._drawn = False


def give_up_on_stdout() -> None:
    """Let nothing more be written to a pipe whose reader has gone, not even by the interpreter's exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write(stream: Any, text: str) -> None:
    try:
        stream.write(text)
    except UnicodeEncodeError:  # a terminal that knows only its own letters
        stream.write(text.encode(stream.encoding, "backslashreplace").decode(stream.encoding))
    stream.flush()
