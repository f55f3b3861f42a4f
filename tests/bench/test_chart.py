"""The chart of `bench/chart.py`: valid SVG whose points are where their values are."""

import importlib
from pathlib import Path
from xml.etree import ElementTree

import pytest

SVG = "{http://www.w3.org/2000/svg}"


def test_a_tenfold_value_is_always_as_far_up_and_names_cannot_break_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "bench"))
    chart = importlib.import_module("chart")
    lines = [chart.Line("a <b> & c", [3.0, 30.0, 300.0])]
    drawn = ElementTree.fromstring(  # noqa: S314 - we drew it
        chart.chart([1_000.0, 10_000.0, 100_000.0], [("ms", lines)], "memories")
    )
    [line] = drawn.iter(f"{SVG}polyline")
    points = [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]
    (left, low), (middle, mid), (right, high) = points
    assert middle - left == pytest.approx(right - middle, abs=0.2)
    assert low - mid == pytest.approx(mid - high, abs=0.2)
    assert low > mid > high
    assert any((text.text or "").startswith("a <b> & c: 300") for text in drawn.iter(f"{SVG}text"))
