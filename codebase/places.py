"""Choosing between several definitions of one name."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from reverie.codebase.symbols import Symbol

Place = tuple[str, Symbol]
"""A file, and what it defines there."""

_ASIDE = frozenset(
    {
        *("test", "tests", "testing", "spec", "specs", "__tests__", "testdata", "fixtures", "examples", "example"),
        *("docs", "doc", "samples", "sample", "benchmarks", "bench", "demo", "demos", "stubs", "typeshed"),
        *("migrations", "mocks"),
    }
)
_TEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.\w+$|[._](?:test|spec)\.\w+$")


def likeliest(places: Sequence[Place], near: Sequence[str] = (), *, name: str = "") -> Place | None:
    """Choose what a name must mean: the only definition in a place nearby, else the only one that is no test.

    Of a function and methods that share its name, the name alone means the function.
    """
    close = [place for place in places if any(_lies_in(place[0], path) for path in near if path)]
    exact = [place for place in places if place[1].qualified == name]
    for group in (close, places, exact):
        if not group:
            continue
        best = [place for place in group if _aside(place) == min(map(_aside, group))]
        # Overloads and conditional definitions are one name in one file.
        if len({(path, symbol.qualified) for path, symbol in best}) == 1:
            return best[0]
    return None


def is_aside(path: str) -> bool:
    """Whether a file is a test, an example or documentation rather than the project's main line."""
    return bool(_ASIDE.intersection(PurePosixPath(path).parts[:-1]) or _TEST_FILE.search(path))


def _aside(place: Place) -> int:
    """Rank a definition: sources, then headers and stubs, then what is beside the main line."""
    path = PurePosixPath(place[0])
    # A package that passes on a function by `name = module.name` does not define it.
    passed_on = 1 if place[1].kind in ("constant", "attribute") else 0
    if is_aside(place[0]):
        return 4 + passed_on
    announced = path.suffix in (".h", ".hh", ".hpp", ".pyi") or path.name.endswith(".d.ts")
    return (2 if announced else 0) + passed_on


def _lies_in(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")
