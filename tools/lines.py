"""The lines of a JSON Lines file as JSON objects, however badly it was written, and the seal that ours carry.

A line of an export carries a seal over everything else in it, made with the key of this installation. It proves
that the line is ours and as it was, wherever it stands: in a file that was cut, sorted or joined with another.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from reverie.guard.hidden import escaped_json
from reverie.installation import Installation

LONGEST_LINE = 4 * 2**20
"""Twice what the longest memory takes with every character escaped."""

SEAL = "seal"
_PURPOSE = "export"
_BOM = b"\xef\xbb\xbf"
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that was skipped, and why."""

    line: int
    reason: str

    @classmethod
    def because(cls, line: int, error: object) -> "BadLine":
        """Tell a reason in one line of reasonable length."""
        reason = " ".join(str(error).split())
        return cls(line, reason if len(reason) <= _SHOWN else f"{reason[:_SHOWN]}…")


@dataclass(frozen=True, slots=True)
class Line:
    """An object, and the number of the line it stood on."""

    number: int
    values: dict[str, Any]


def payload_of(values: Mapping[str, Any]) -> bytes:
    """Return the values of a line in a form that does not depend on order, spaces or escapes; without its seal."""
    sealed = {name: value for name, value in values.items() if name != SEAL}
    return json.dumps(sealed, sort_keys=True, separators=(",", ":")).encode()


def seal_of(values: Mapping[str, Any], installation: Installation) -> str:
    """Return the seal of a line.

    Raises:
        KeyUnavailable: if the installation's key can be neither read nor made.
    """
    return installation.seal(_PURPOSE, payload_of(values))


def is_ours(values: Mapping[str, Any], installation: Installation) -> bool:
    """Say whether this installation exported a line just as it is.

    Raises:
        KeyUnavailable: if the installation's key can be neither read nor made.
    """
    seal = values.get(SEAL)
    return isinstance(seal, str) and installation.fits(_PURPOSE, payload_of(values), seal)


def written_line(values: Mapping[str, Any]) -> bytes:
    """Write an object as one line, which nothing in it can end early and no terminal obeys."""
    return escaped_json(json.dumps(values, ensure_ascii=False)).encode() + b"\n"


def read_lines(file: BinaryIO) -> Iterator[Line | BadLine]:
    """Read objects one by one, holding no more than a line; empty lines are passed over.

    What Windows programs add, a byte order mark and carriage returns, is no fault.
    """
    number = 0
    while text := file.readline(LONGEST_LINE + 1):
        number += 1
        if number == 1:
            text = text.removeprefix(_BOM)
        if len(text) > LONGEST_LINE:
            _skip_rest(file, text)
            yield BadLine(number, f"longer than {LONGEST_LINE // 2**20} MB; a memory holds 100,000 characters")
        elif text.strip():
            yield _parsed(number, text)


def _skip_rest(file: BinaryIO, text: bytes) -> None:
    while text and not text.endswith(b"\n"):
        text = file.readline(LONGEST_LINE)


def _parsed(number: int, text: bytes) -> Line | BadLine:
    try:
        values = json.loads(text.decode())
    except UnicodeDecodeError as error:
        return BadLine(number, f"not UTF-8 at byte {error.start + 1}; save the file as UTF-8")
    except json.JSONDecodeError as error:
        return BadLine.because(number, f"not JSON: {error.msg} at character {error.pos + 1}")
    except (ValueError, RecursionError):  # a number of thousands of digits; brackets without end
        return BadLine(number, "not JSON that can be read: too deep, or a number too long")
    if not isinstance(values, dict):
        return BadLine(number, f"not an object but {_called(values)}; a memory is written as {{…}}")
    return Line(number, values)


def _called(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "a number"
