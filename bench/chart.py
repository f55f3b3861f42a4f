"""Line charts as SVG, side by side, with logarithmic axes: readable on a light and on a dark page."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 400, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 36, 28, 92
COLOURS = ("#0b7285", "#d9480f", "#868e96")
_INK = "#868e96"  # can be read on white and on black


@dataclass(frozen=True)
class Line:
    """One line of a chart: its name, and a value for each place on the horizontal axis."""

    name: str
    values: Sequence[float]


def chart(across: Sequence[float], parts: Sequence[tuple[str, Sequence[Line]]], label: str) -> str:
    """Draw one panel for each part, `(label of its vertical axis, lines)`."""
    width = WIDTH * len(parts)
    drawn = "".join(
        f'<g transform="translate({number * WIDTH} 0)">{_panel(across, name, lines, label)}</g>'
        for number, (name, lines) in enumerate(parts)
    )
    title = escape(f"{', '.join(name for name, _ in parts)} against {label}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}" '
        f'role="img" font-family="sans-serif" font-size="12" fill="{_INK}"><title>{title}</title>{drawn}</svg>\n'
    )


def _panel(across: Sequence[float], name: str, lines: Sequence[Line], label: str) -> str:
    values = [value for line in lines for value in line.values]
    low, high = _decades(values)
    left, right = math.log10(min(across)), math.log10(max(across))

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(value) - left) / ((right - left) or 1.0)

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - (math.log10(value) - low) / (high - low))

    floor = HEIGHT - BOTTOM
    drawn = [f'<text x="{LEFT}" y="16">{escape(name)}</text>']
    for power in range(low, high + 1):
        at = y(10.0**power)
        drawn.append(f'<path d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}" stroke="{_INK}" stroke-opacity="0.3"/>')
        drawn.append(f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{10**power:,g}</text>')
    for value in across:
        drawn.append(f'<text x="{x(value):.1f}" y="{floor + 18}" text-anchor="middle">{value:,.0f}</text>')
    drawn.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{floor + 34}" text-anchor="middle">{escape(label)}</text>'
    )
    for number, (line, colour) in enumerate(zip(lines, COLOURS, strict=False)):
        points = " ".join(f"{x(at):.1f},{y(value):.1f}" for at, value in zip(across, line.values, strict=True))
        drawn.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        drawn += [
            f'<circle cx="{x(at):.1f}" cy="{y(value):.1f}" r="3" fill="{colour}"/>'
            for at, value in zip(across, line.values, strict=True)
        ]
        last = line.values[-1]
        below = floor + 58 + 14 * number
        drawn.append(f'<rect x="{LEFT}" y="{below - 8}" width="10" height="3" fill="{colour}"/>')
        drawn.append(
            f'<text x="{LEFT + 16}" y="{below - 3}">{escape(line.name)}: {last:,.0f} at {across[-1]:,.0f}</text>'
        )
    return "".join(drawn)


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """Return the powers of ten between which all values lie, at least one apart."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)
