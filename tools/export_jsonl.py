"""Export: every memory as a line of JSON, oldest first, each line sealed; the file appears only when complete."""

import json
import os
import secrets
import stat
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from reverie.errors import InvalidInput, KeyUnavailable
from reverie.guard.hidden_text import escaped_json
from reverie.ids import content_hash
from reverie.installation import Installation
from reverie.memory import Memory, encode, to_record
from reverie.tools.requests import checked_label
from reverie.tools.screening import screened_fields
from reverie.tools.session import Session

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
        """Return a reason as one line of reasonable length."""
        reason = " ".join(str(error).split())
        return cls(line, reason if len(reason) <= _SHOWN else f"{reason[:_SHOWN]}…")


@dataclass(frozen=True, slots=True)
class Line:
    """An object, and its line number."""

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
    """Return whether this installation exported a line just as it is.

    Raises:
        KeyUnavailable: if the installation's key can be neither read nor made.
    """
    seal = values.get(SEAL)
    return isinstance(seal, str) and installation.fits(_PURPOSE, payload_of(values), seal)


def written_line(values: Mapping[str, Any]) -> bytes:
    """Return an object as one line, without characters that end a line or control a terminal."""
    return escaped_json(json.dumps(values, ensure_ascii=False)).encode() + b"\n"


def read_lines(file: BinaryIO) -> Iterator[Line | BadLine]:
    """Yield objects one by one, with one line in memory at a time; empty lines are skipped.

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


STDOUT = "-"

Progress = Callable[[int, int], None]

_ROWS_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Exported:
    """How many memories were written, where to, and whether the lines are sealed."""

    memories: int
    file: str
    sealed: bool = True


async def export(session: Session, file: str, *, project: str = "", progress: Progress) -> Exported:
    """Write the memories of every status, of all projects or of one, to a file or to stdout.

    The file appears under its name only once it is complete, and belongs to its owner alone.

    Raises:
        InvalidInput: if the file cannot be written.
        StoreError: if the store cannot be read.
    """
    keep_out_of(session.settings.home, file)
    await session.accesses.count_if_possible()
    written = 0
    installation = _installation(session)
    with _target(file) as out:
        async for memory in _oldest_first(session, checked_label("project", project), progress):
            out.write(line_of(session.as_read(memory), installation))
            written += 1
    return Exported(written, file, sealed=installation is not None)


def keep_out_of(home: str, file: str, argument: str = "file") -> None:
    """Refuse a path inside the data folder, also through links."""
    if file != STDOUT and Path(file).resolve().is_relative_to(Path(home).resolve()):
        raise InvalidInput(argument, f"{file} lies in the data folder", "Name a file in a folder of yours.")


def line_of(memory: Memory, installation: Installation | None) -> bytes:
    """Return a memory as one line of an export, sealed if there is a key."""
    record = _without_secrets(to_record(memory))
    return written_line(record if installation is None else record | {SEAL: seal_of(record, installation)})


def _installation(session: Session) -> Installation | None:
    """Return what seals an export; None if no key can be made, because a backup must not depend on it."""
    try:
        session.settings.installation.seal("export", b"")
    except KeyUnavailable:
        return None
    return session.settings.installation


def _without_secrets(record: dict[str, Any]) -> dict[str, Any]:
    """Return a memory without secrets; it may be older than the rule that finds them."""
    clean, found = screened_fields(record)
    clean = {name: encode(value) for name, value in clean.items()}
    return clean | {"content_hash": content_hash(clean["content"])} if found else record


async def _oldest_first(session: Session, project: str, progress: Progress) -> AsyncIterator[Memory]:
    """Read memories by creation and id, a few hundred at a time: a store may be larger than memory."""
    where = session.of_project(project) if project else None
    ids = await session.store.ids_oldest_first(where)
    progress(0, len(ids))
    for start in range(0, len(ids), _ROWS_AT_ONCE):
        part = ids[start : start + _ROWS_AT_ONCE]
        for memory in (await session.store.get(part)).values():
            yield memory
        progress(start + len(part), len(ids))


@contextmanager
def _target(file: str) -> Iterator[BinaryIO]:
    if file == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        # A link is followed, so that it still is one afterwards.
        with _replaced(Path(file).resolve()) as out:
            yield out
    except OSError as error:
        raise InvalidInput(
            "file", f"{file} cannot be written ({error.strerror or error})", "Name a file in a folder of yours."
        ) from error


@contextmanager
def _replaced(path: Path) -> Iterator[BinaryIO]:
    """Write to a temporary file and rename it at the end; a pipe or a device is written directly."""
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        with path.open("wb") as out:
            yield out
        return
    beside = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
