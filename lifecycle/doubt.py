"""How a challenged memory names the one that speaks against it, so that recall can tell which is the newer word."""

import re
from typing import Final

_BY: Final = re.compile(r"challenged: (\S+) says otherwise")


def doubted_because_of(newer_id: str) -> str:
    """Return the status reason of a memory that a newer one contradicts."""
    return f"challenged: {newer_id} says otherwise"


def challenger_in(status_reason: str | None) -> str | None:
    """Return the id of the memory that speaks against a challenged one, if it is one that does."""
    found = _BY.fullmatch(status_reason or "")
    return found[1] if found else None
