"""Ids: how they are made, how they sort, and their short forms; and the fingerprint of a text."""

import hashlib
import re
import secrets
import threading
from collections.abc import Iterable

from reverie.time import Clock

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's: nothing that reads like another
_TIME_DIGITS = 9  # milliseconds until the year 3084
_RANDOM_DIGITS = 7
_IDS_COMPARED = 8

_LETTERS = _ALPHABET[10:]

SHORTEST_PREFIX = 8
ID_PATTERN = re.compile(r"[A-Za-z0-9_.:-]{1,64}", re.ASCII)


# What `memory_id` makes, and the ids of questions. Ids of the first versions begin with their time, so with a digit.
_RANDOM_FIRST = re.compile(rf"[{_LETTERS}][{_ALPHABET}]{{15,16}}")
_CODE = re.compile(r"code-[0-9a-f]{20}")


class IdMaker:
    """Makes ids of a time part of nine characters and a random part of seven or eight.

    Within a process no two ids share a time part. Ids of events, dreams and accesses begin with it, and so sort in
    the order they were made. Ids of memories begin with the random part, so that eight characters tell them apart;
    `creation_order` is their sort key.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = 0
        self._guard = threading.Lock()

    def __call__(self) -> str:
        """Return a new id that sorts by time."""
        return _base32(self._moment(), _TIME_DIGITS) + _base32(self._random(), _RANDOM_DIGITS)

    def memory(self) -> str:
        """Return a new id for a memory."""
        return memory_id(self._random(), self._moment())

    def for_call(self, call_id: str) -> "CallIds":
        """Return a maker of ids whose random parts follow from the id of a call."""
        return CallIds(self, call_id)

    def has_made(self, event_id: str) -> bool:
        """Return whether an earlier attempt at this call made an event; False where ids belong to no call."""
        return False

    def _random(self) -> int:
        return secrets.randbits(64)

    def _moment(self) -> int:
        with self._guard:
            self._last = max(self._last + 1, int(self._clock().timestamp() * 1000))
            return self._last


class CallIds(IdMaker):
    """Makes the ids of what one call writes; a call that is sent again gets the same random parts in the same order.

    So a repeated call recognises that it was done: a memory or an event has its random part.
    """

    def __init__(self, maker: IdMaker, call_id: str) -> None:
        self._maker = maker
        self._call_id = call_id
        self._made = 0

    def has_made(self, event_id: str) -> bool:
        """Return whether this call, or an earlier attempt at it, made an event as one of its first ids."""
        ends = (_base32(_random_of(self._call_id, number), _RANDOM_DIGITS) for number in range(_IDS_COMPARED))
        return event_id[_TIME_DIGITS:] in ends

    def _random(self) -> int:
        self._made += 1
        return _random_of(self._call_id, self._made - 1)

    def _moment(self) -> int:
        return self._maker._moment()


def _random_of(call_id: str, number: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{call_id} {number}".encode()).digest()[:8])


def memory_id(random: int, moment: int) -> str:
    """Return an id: eight random characters, a letter first, then the time in milliseconds."""
    rest, first = divmod(random, len(_LETTERS))
    return _LETTERS[first] + _base32(rest, SHORTEST_PREFIX - 1) + _base32(moment, _TIME_DIGITS)


def creation_order(one: str) -> str:
    """Return the sort key of an id, of the old and the new form: its time, then its random part."""
    made_by_us = len(one) == SHORTEST_PREFIX + _TIME_DIGITS and _RANDOM_FIRST.fullmatch(one)
    return one[SHORTEST_PREFIX:] + one[:SHORTEST_PREFIX] if made_by_us else one


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """Return for each id the shortest form that names it in a text: eight characters if those are random.

    Ids that begin with their time, and ids from elsewhere, share beginnings, so they are not shortened.
    """
    distinct = list(dict.fromkeys(ids))
    short: dict[str, str] = {}
    for one in distinct:
        length = _short_length(one)
        while any(other != one and other.startswith(one[:length]) for other in distinct) and length < len(one):
            length += 1
        short[one] = one[:length]
    return short


def short_id(one: str) -> str:
    """Return the short form of a single id."""
    return one[: _short_length(one)]


def _short_length(one: str) -> int:
    if _RANDOM_FIRST.fullmatch(one):
        return SHORTEST_PREFIX
    return len("code-") + SHORTEST_PREFIX if _CODE.fullmatch(one) else len(one)


def content_hash(content: str) -> str:
    """Return the fingerprint by which an identical text is recognised."""
    return hashlib.sha256(content.encode()).hexdigest()


def derived_id(payload: bytes) -> str:
    """Return the id that a payload always gets: 16 characters of its SHA-256, a letter first."""
    number = int.from_bytes(hashlib.sha256(payload).digest())
    rest, first = divmod(number, len(_LETTERS))
    return _LETTERS[first] + _base32(rest, _TIME_DIGITS + _RANDOM_DIGITS - 1)


def _base32(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 32)
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))
