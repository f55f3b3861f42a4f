"""Memory ids, their short forms in texts, and the content hash."""

import hashlib
import re
import secrets
import threading
from collections.abc import Iterable

from reverie.time import Clock

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's: nothing that reads like another
_TIME_DIGITS = 9  # milliseconds until the year 3084
_RANDOM_DIGITS = 7
_FEW = 8

_LETTERS = _DIGITS[10:]

SHORTEST_PREFIX = 8
ID_PATTERN = re.compile(r"[A-Za-z0-9_.:-]{1,64}", re.ASCII)


# What `memory_id` makes, and the ids of questions; one of the first versions begins with its time: with a digit.
_CHANCE_FIRST = re.compile(rf"[{_LETTERS}][{_DIGITS}]{{15,16}}")
_CODE = re.compile(r"code-[0-9a-f]{20}")


class IdMaker:
    """Makes ids of nine characters of time and seven or eight of chance.

    Within a process no two share their time part. Those of events, dreams and accesses begin with it, and so sort in
    the order they were made. Those of memories begin with chance, so that eight characters tell them apart;
    `creation_order` gives what they sort by.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = 0
        self._guard = threading.Lock()

    def __call__(self) -> str:
        """Return a new id that sorts by time."""
        return _written(self._moment(), _TIME_DIGITS) + _written(self._chance(), _RANDOM_DIGITS)

    def memory(self) -> str:
        """Return a new id for a memory."""
        return memory_id(self._chance(), self._moment())

    def for_call(self, call_id: str) -> "CallIds":
        """Return a maker of ids whose random parts follow from the id of a call."""
        return CallIds(self, call_id)

    def has_made(self, event_id: str) -> bool:
        """Return whether an earlier sending of this call made an event; there is none without a call."""
        return False

    def _chance(self) -> int:
        return secrets.randbits(64)

    def _moment(self) -> int:
        with self._guard:
            self._last = max(self._last + 1, int(self._clock().timestamp() * 1000))
            return self._last


class CallIds(IdMaker):
    """Makes the ids of what one call writes. A call that is sent twice makes the same random parts in the same order.

    So a repeated call can tell that it was done: by the memory, or the event, whose id has its random part.
    """

    def __init__(self, maker: IdMaker, call_id: str) -> None:
        self._maker = maker
        self._call_id = call_id
        self._made = 0

    def has_made(self, event_id: str) -> bool:
        """Return whether this call, or an earlier sending of it, made an event, as one of the first few things."""
        ends = (_written(_chance_of(self._call_id, number), _RANDOM_DIGITS) for number in range(_FEW))
        return event_id[_TIME_DIGITS:] in ends

    def _chance(self) -> int:
        self._made += 1
        return _chance_of(self._call_id, self._made - 1)

    def _moment(self) -> int:
        return self._maker._moment()


def _chance_of(call_id: str, number: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{call_id} {number}".encode()).digest()[:8])


def memory_id(chance: int, moment: int) -> str:
    """Return an id: eight random characters, a letter first, then the time in milliseconds."""
    rest, first = divmod(chance, len(_LETTERS))
    return _LETTERS[first] + _written(rest, SHORTEST_PREFIX - 1) + _written(moment, _TIME_DIGITS)


def creation_order(one: str) -> str:
    """Return the sort key of an id, of the old and the new form: its time, then its random part."""
    made_by_us = len(one) == SHORTEST_PREFIX + _TIME_DIGITS and _CHANCE_FIRST.fullmatch(one)
    return one[SHORTEST_PREFIX:] + one[:SHORTEST_PREFIX] if made_by_us else one


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """Return for each id the shortest form that names it in a text: eight characters where they are of chance.

    Ids that begin with their time, and those that came from elsewhere, share beginnings: they stay whole.
    """
    whole = list(dict.fromkeys(ids))
    short: dict[str, str] = {}
    for one in whole:
        length = _telling(one)
        while any(other != one and other.startswith(one[:length]) for other in whole) and length < len(one):
            length += 1
        short[one] = one[:length]
    return short


def short_id(one: str) -> str:
    """Return the short form of a single id."""
    return one[: _telling(one)]


def _telling(one: str) -> int:
    if _CHANCE_FIRST.fullmatch(one):
        return SHORTEST_PREFIX
    return len("code-") + SHORTEST_PREFIX if _CODE.fullmatch(one) else len(one)


def content_hash(content: str) -> str:
    """Return the fingerprint by which an identical text is recognised."""
    return hashlib.sha256(content.encode()).hexdigest()


def derived_id(payload: bytes) -> str:
    """Return the id that a payload always gets: 16 characters of its SHA-256, a letter first."""
    number = int.from_bytes(hashlib.sha256(payload).digest())
    rest, first = divmod(number, len(_LETTERS))
    return _LETTERS[first] + _written(rest, _TIME_DIGITS + _RANDOM_DIGITS - 1)


def _written(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 32)
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))
