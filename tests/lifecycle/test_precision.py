import pytest

from reverie.lifecycle.rules import precision_for, precision_of


@pytest.mark.rule("002-compression")
@pytest.mark.parametrize(
    ("retention", "bits"),
    [(1.0, 32), (0.81, 32), (0.8, 8), (0.51, 8), (0.5, 4), (0.21, 4), (0.2, 2), (0.0, 2)],
)
def test_precision_follows_retention(retention, bits):
    assert precision_for(retention) == bits


@pytest.mark.rule("002-pin")
def test_a_pin_keeps_every_bit(a_memory):
    assert precision_of(a_memory(pinned=True), 0.1) == 32
    assert precision_of(a_memory(), 0.1) == 2
