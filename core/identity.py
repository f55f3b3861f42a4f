"""Ids that sort by time, and the fingerprint of a text."""

import hashlib
import re
import secrets
import threading

from reverie.clock import Clock

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's: nothing that reads like another
_TIME_DIGITS = 9  # milliseconds until the year 3084
_RANDOM_DIGITS = 7

SHORTEST_PREFIX = 8
ID_PATTERN = re.compile(r"[A-Za-z0-9_.:-]{1,64}", re.ASCII)


class IdMaker:
    """Makes ids of 16 characters: nine of time, then seven of chance.

    Within a process no two share their time part, so ids sort in the order they were made.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = 0
        self._guard = threading.Lock()

    def __call__(self) -> str:
        """Return a new id."""
        with self._guard:
            self._last = max(self._last + 1, int(self._clock().timestamp() * 1000))
            moment = self._last
        return _written(moment, _TIME_DIGITS) + _written(secrets.randbits(5 * _RANDOM_DIGITS), _RANDOM_DIGITS)


def content_hash(content: str) -> str:
    """Return the fingerprint by which an identical text is recognised."""
    return hashlib.sha256(content.encode()).hexdigest()


def derived_id(payload: bytes) -> str:
    """Return the id that a payload always gets: 16 characters of its SHA-256."""
    length = _TIME_DIGITS + _RANDOM_DIGITS
    return _written(int.from_bytes(hashlib.sha256(payload).digest()[: length * 5 // 8]), length)


def _written(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 32)
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))
