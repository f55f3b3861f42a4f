"""Tokens of vendors that nobody has heard of yet: a short prefix, then a long random tail."""

import re
from collections.abc import Iterator
from functools import cache

from reverie.guard.randomness import classes_of, is_placeholder, looks_random
from reverie.guard.span import Span

_SHORTEST_TAIL = 24
# What interfaces call their objects by, in the same form.
_IDS = re.compile(
    r"(?:call|msg|resp|run|req|evt|event|cus|sub|price|prod|acct|asst|thread|file|step|toolu|batch|chunk|item"
    r"|obj|sha)_"
)


@cache
def _prefixed() -> re.Pattern[str]:
    return re.compile(
        r"(?<![A-Za-z0-9_/.+-])[A-Za-z][A-Za-z0-9]{1,11}(?:[_-][a-z0-9]{1,8}){0,2}_(?P<tail>[A-Za-z0-9]{24,200})"
        r"(?![A-Za-z0-9_/.+-])"
    )


def prefixed_in(text: str) -> Iterator[Span]:
    """Yield what is built as vendors build tokens: `acme_live_` and a tail of mixed letters and digits."""
    if "_" not in text:
        return
    for found in _prefixed().finditer(text):
        tail = found["tail"]
        # Upper and lower case and digits all through: hashes and names in snake case have one case only.
        if classes_of(tail) < 3 or not looks_random(tail, _SHORTEST_TAIL):
            continue
        if not is_placeholder(found[0]) and not _IDS.match(found[0]):
            yield Span(*found.span(), "prefixed-token")
