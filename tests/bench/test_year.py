"""The year of `bench/year.py`: drawn the same way every time, lived with the real tools."""

import importlib
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from reverie.tools.classify import classify

BENCH = Path(__file__).parents[2] / "bench"


def _bench(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCH))
    for known in ("developer", "year"):
        monkeypatch.delitem(sys.modules, known, raising=False)
    return importlib.import_module(name)


def test_the_same_seed_draws_the_same_year(monkeypatch: pytest.MonkeyPatch) -> None:
    developer = _bench("developer", monkeypatch)
    assert developer.year_of(7, 200) == developer.year_of(7, 200)
    assert developer.year_of(7, 200) != developer.year_of(8, 200)


def test_nobody_works_on_sundays_or_holidays_or_at_night(monkeypatch: pytest.MonkeyPatch) -> None:
    developer = _bench("developer", monkeypatch)
    moments = developer.year_of(7, 500).moments
    days = {moment.at.date() for moment in moments}
    assert not any(day.weekday() == 6 for day in days)
    assert not any(first <= day <= last for day in days for first, last in developer.AWAY)
    assert {moment.at.hour for moment in moments} <= set(range(9, 19))


def test_what_is_written_is_of_many_kinds_and_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    writes = _bench("developer", monkeypatch).year_of(7, 500).writes
    layers = Counter(classify(write.content).layer for write in writes)
    assert set(layers) == {"working", "episodic", "semantic", "procedural"}
    assert len({classify(write.content).kind for write in writes}) >= 6
    assert len({write.content for write in writes}) == len(writes)


def test_what_is_needed_was_written_days_to_months_before(monkeypatch: pytest.MonkeyPatch) -> None:
    developer = _bench("developer", monkeypatch)
    year = developer.year_of(7, 500)
    written = {write.number: write.at for write in year.writes}
    needs = [m for m in year.moments if isinstance(m, developer.Query) and m.answer is not None]
    delays = [(need.at - written[need.answer]).days for need in needs]
    assert len(needs) > 50
    assert min(delays) >= 2
    assert max(delays) > 90


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.rule("000-cost")
async def test_a_small_year_lets_go_of_some_and_of_nothing_that_is_held(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    year = _bench("year", monkeypatch)
    report = await year.live(year.year_of(7, 120, 0.05), "l2", None, str(tmp_path))
    assert (report.written, report.kept + report.expired.total()) == (120, 120)
    assert 0 < report.faded < report.may_fade
    assert report.archived > 0
    assert report.searched < report.searched_without
    assert report.found <= report.needed
    assert "expired" in year.told(report)
    assert 0 < year.as_record(report)["smaller"]["rows"] < 1
