"""Whether a requirement allows a version, for the ways in which people and manifests write both."""

import re

_CLAUSE = re.compile(r"(?P<operator>===|==|~=|>=|<=|!=|~>|\^|~|>|<|=)?\s*v?(?P<version>\d+(?:\.(?:\d+|\*|x))*)")

Version = tuple[int, ...]


def allows(requirement: str, version: str) -> bool | None:
    """Whether a requirement lets a version in; None if either cannot be read.

    A version is as exact as it is written: 4.2 stands for every 4.2.x.
    """
    wanted = _number(version)
    clauses = [(c["operator"] or "", c["version"]) for c in _CLAUSE.finditer(requirement.replace("||", ","))]
    if not wanted or not clauses or "||" in requirement:
        return None
    return all(_lets_in(operator, bound, wanted) for operator, bound in clauses)


def _lets_in(operator: str, written: str, wanted: Version) -> bool:
    bound = _number(written)
    length = min(len(bound), len(wanted))
    here, there = wanted[:length], bound[:length]
    match operator:
        case ">=" | "=>":
            return here >= there
        case ">":
            return here > there or (here == there and len(wanted) < len(bound))
        case "<=":
            return here <= there
        case "<":
            return here < there or (here == there and len(wanted) < len(bound))
        case "!=":
            return here != there
        case "~=" | "~>":
            return (
                here >= there and wanted[: max(1, len(bound) - 1)] == bound[: max(1, len(bound) - 1)][: len(wanted)]
            )
        case "^":
            return here >= there and _significant(wanted) == _significant(bound)[: len(_significant(wanted))]
        case "~":
            return here >= there and wanted[:2] == bound[:2][: len(wanted)]
        case _:  # pinned, or written as if
            return here == there


def _significant(version: Version) -> Version:
    """Return the part that a caret holds: up to the first number that is not zero."""
    for length, number in enumerate(version, 1):
        if number:
            return version[:length]
    return version


def _number(text: str) -> Version:
    found = re.match(r"[^\d]*(\d+(?:\.\d+)*)", text)
    return tuple(int(part) for part in found[1].split(".")) if found else ()
