"""Curves in plain characters: they fit 80 by 24, need no colour, and survive a pipe."""

from collections.abc import Mapping

from reverie.settings import RETENTION_MODES, RetentionMode
from reverie.tools.curves import Curves

WIDTH = 70
HEIGHT = 17
LETTERS: Mapping[RetentionMode, str] = {
    "huber": "H",
    "l2": "L",
    "elastic": "E",
    "exponential": "X",
    "power": "P",
    "lifespan": "F",
    "strength": "S",
}
MARK = "@"

_GUTTER = 6
_TICKS = 5
_LABEL_EVERY = 4


def drawn(curves: Curves) -> list[str]:
    """Lay the curves out as lines of text; where they meet, the domain's own lies on top."""
    return [
        f"How much is left of {curves.subject}",
        *_plot(curves),
        " " * (_GUTTER - 1) + "+" + "-" * WIDTH,
        _axis(curves.days[-1]),
        *_legend(curves),
    ]


def _plot(curves: Curves) -> list[str]:
    grid = [[" "] * WIDTH for _ in range(HEIGHT)]
    for mode in sorted(RETENTION_MODES, key=lambda mode: mode == curves.chosen):
        for column, left in enumerate(curves.left[mode]):
            grid[_row(left)][column] = LETTERS[mode]
    if curves.standing is not None:
        column = round(curves.standing.day / (curves.days[-1] or 1.0) * (WIDTH - 1))
        grid[_row(curves.standing.retention)][column] = MARK
    return [f"{_level(number)}|{''.join(cells)}".rstrip() for number, cells in enumerate(grid)]


def _row(left: float) -> int:
    return round((1.0 - left) * (HEIGHT - 1))


def _level(row: int) -> str:
    """Name every fourth row: 1.00, 0.75 and so on."""
    named = f"{1.0 - row / (HEIGHT - 1):.2f} " if row % _LABEL_EVERY == 0 else ""
    return named.rjust(_GUTTER - 1)


def _axis(days: float) -> str:
    line = [" "] * (_GUTTER + WIDTH)
    for tick in range(_TICKS):
        share = tick / (_TICKS - 1)
        name = f"{days * share:g}" if days >= _TICKS - 1 else f"{days * share:.2g}"
        name = f"{days * share:.0f}" if len(name) > 5 else name
        start = min(_GUTTER + round(share * (WIDTH - 1)), len(line) - len(name))
        line[start : start + len(name)] = name
    return "".join(line).rstrip() + " d"


def _legend(curves: Curves) -> list[str]:
    names = [f"{LETTERS[mode]} {mode}{' *' if mode == curves.chosen else ''}" for mode in RETENTION_MODES]
    standing = curves.standing
    if standing is None:
        return ["  ".join(names), "* the curve of this domain (REVERIE_RETENTION)"]
    return [
        "  ".join(names),
        f"{MARK} {standing.id} on day {standing.day:.1f}: {standing.retention:.2f} left by the domain's curve *",
        f"  {standing.described}"[: _GUTTER + WIDTH],
    ]
