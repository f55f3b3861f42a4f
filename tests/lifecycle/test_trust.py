import math

import pytest

from reverie.lifecycle.vitals import derived_trust, half_life_days, imported_trust, trust_of
from reverie.memory import SOURCES


@pytest.mark.rule("002-trust")
@pytest.mark.parametrize(
    ("source", "trust", "days"),
    [
        pytest.param("human", 1.0, 30.0, id="human: 30 / 1"),
        pytest.param("ai", 0.7, 13.636364, id="ai: 30 / (1 + 4·0.3) = 30 / 2.2"),
        pytest.param("interaction", 0.6, 11.538462, id="interaction: 30 / 2.6"),
        pytest.param("ingest", 0.5, 10.0, id="ingest: 30 / 3, three times as fast"),
        pytest.param("code_scan", 0.5, 10.0, id="code_scan: 30 / 3"),
        pytest.param("dream", 0.4, 8.823529, id="dream: 30 / 3.4"),
        pytest.param("import", 0.5, 10.0, id="import without a trust of its own: 30 / 3"),
    ],
)
def test_each_source_has_its_trust_and_its_half_life(source, trust, days):
    assert trust_of(source) == trust
    assert half_life_days(trust_of(source)) == pytest.approx(days, abs=1e-6)


def test_no_source_is_without_trust():
    assert all(0.0 < trust_of(source) <= 1.0 for source in SOURCES)


@pytest.mark.rule("002-trust")
@pytest.mark.parametrize(
    ("given", "kept"),
    [(None, 0.5), (1.0, 0.5), (0.5, 0.5), (0.3, 0.3), (-1.0, 0.0), (math.nan, 0.0)],
)
def test_an_import_keeps_its_own_trust_but_at_most_a_half(given, kept):
    assert imported_trust(given) == kept


def test_what_is_derived_is_trusted_like_its_least_trusted_parent():
    assert derived_trust([1.0, 0.4, 0.7]) == 0.4
    with pytest.raises(ValueError, match="empty"):
        derived_trust([])
