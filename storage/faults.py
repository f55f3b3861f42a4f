"""What LanceDB's failures mean, and trying again when it is worth it.

LanceDB raises plain RuntimeError, ValueError and OSError, so their text is all there is to tell them
apart by; that reading happens here only. On a damaged file its Rust code may also panic.
"""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable
from typing import TypeVar

from reverie.errors import ReverieError, StoreBusy, StoreDamaged, StoreUnavailable

Result = TypeVar("Result")

ATTEMPTS = 12
_FIRST_PAUSE = 0.01
_LONGEST_PAUSE = 0.5

_CONFLICT = ("commit conflict", "conflict", "concurrent", "retryable", "please retry")
_FULL = ("no space left", "os error 28", "disk quota", "file too large", "os error 27", "os error 122")
_DENIED = (
    "permission denied",
    "read-only file system",
    "os error 13",
    "os error 30",
    "operation not permitted",
)
_VANISHED = ("not found", "no such file", "os error 2)")

LANCE_ERRORS = (RuntimeError, ValueError, OSError)
_PANICS = ("RustPanic", "PanicException")  # classes that no module exports; the second is no Exception
_WHERE_IN_RUST = re.compile(r",\s+/\S+\.rs:\d+(:\d+)?.*")


async def retried(table: str, attempt: Callable[[], Awaitable[Result]], attempts: int = ATTEMPTS) -> Result:
    """Run one LanceDB operation, again with growing random pauses while others get in its way.

    Raises:
        StoreBusy: if the conflict lasts through every attempt.
        StoreUnavailable: if the disk is full or the folder may not be written.
        StoreDamaged: if the table cannot be read.
    """
    pause = _FIRST_PAUSE
    for remaining in reversed(range(attempts)):
        try:
            return await attempt()
        except BaseException as error:
            if not _is_fault(error):
                raise
            text = str(error).lower()
            # A version that another process has just cleaned up reads as a missing file: the next try
            # opens the newest version.
            passing = _says(text, _CONFLICT) or _says(text, _VANISHED)
            if not passing or not remaining:
                raise translated(table, error) from error
        # Jitter needs no cryptographic dice.
        await asyncio.sleep(pause * (0.5 + random.random()))  # noqa: S311
        pause = min(pause * 2, _LONGEST_PAUSE)
    raise AssertionError("unreachable")


def translated(table: str, error: BaseException) -> ReverieError:
    """Return the error that tells the user what happened to this table and what to try."""
    text = str(error).lower()
    first_line = _WHERE_IN_RUST.sub("", str(error).splitlines()[0])[:200] if str(error) else type(error).__name__
    if _says(text, _FULL):
        return StoreUnavailable(
            f"The disk that holds the memories is full ({table}). Free some space and try again; "
            "nothing was half-written."
        )
    if _says(text, _DENIED):
        return StoreUnavailable(
            f"The data folder may not be written ({table}: {first_line}). Check the owner and permissions "
            "of REVERIE_HOME, or set REVERIE_HOME to a folder of yours."
        )
    if _says(text, _CONFLICT):
        return StoreBusy(f"Other processes kept changing {table!r}. Nothing was written; try again in a moment.")
    return StoreDamaged(table, first_line)


def _is_fault(error: BaseException) -> bool:
    """Whether it came from LanceDB: nothing of ours, and no cancellation."""
    if isinstance(error, ReverieError):
        return False
    return isinstance(error, LANCE_ERRORS) or type(error).__name__ in _PANICS


def _says(text: str, signs: tuple[str, ...]) -> bool:
    return any(sign in text for sign in signs)
