from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reverie.lifecycle.curves import retention_of
from reverie.settings import RETENTION_MODES, Settings

PROVED = settings(derandomize=True, deadline=None, database=None)
every_mode = pytest.mark.parametrize("mode", RETENTION_MODES)
TEN_YEARS = timedelta(days=3650)


@pytest.mark.rule("002-retention")
def test_huber_is_the_default():
    assert Settings(home="/tmp").retention == "huber"  # noqa: S108 (no file is touched)


@pytest.mark.rule("002-pin")
@every_mode
def test_a_pin_keeps_all_of_a_memory(a_memory, start, mode):
    assert retention_of(a_memory(pinned=True), start + TEN_YEARS, mode) == 1.0


@pytest.mark.rule("001-core")
@every_mode
def test_a_core_memory_keeps_six_tenths_under_every_curve(a_memory, start, mode):
    assert retention_of(a_memory(core=True), start + TEN_YEARS, mode) == 0.60


@pytest.mark.rule("001-exponential")
@every_mode
def test_a_stub_retains_nothing(a_memory, start, mode):
    assert retention_of(a_memory(content=" ", pinned=True), start, mode) == 0.0


@pytest.mark.rule("002-layers")
@pytest.mark.rule("000-decays-or-not")
@pytest.mark.parametrize("mode", ["l2", "huber", "elastic", "lifespan"])
@pytest.mark.parametrize("layer", ["semantic", "procedural", "codebase"])
def test_lasting_layers_do_not_decay_by_half_life_or_lifespan(a_memory, start, mode, layer):
    assert retention_of(a_memory(layer=layer), start + TEN_YEARS, mode) == 1.0


@pytest.mark.rule("002-layers")
def test_episodic_memory_has_a_half_life_of_thirty_days(a_memory, start):
    assert retention_of(a_memory(), start + timedelta(days=30), "l2") == pytest.approx(0.5)
    assert retention_of(a_memory(trust=0.5), start + timedelta(days=10), "l2") == pytest.approx(0.5)


@pytest.mark.rule("002-retention")
@pytest.mark.parametrize("mode", ["l2", "huber", "elastic", "exponential", "power"])
def test_time_counts_from_the_last_recall(a_memory, start, mode):
    now = start + timedelta(days=60)
    assert retention_of(a_memory(last_accessed_at=now, access_count=1), now, mode) == 1.0


@pytest.mark.parametrize("mode", ["lifespan", "strength"])
def test_a_whole_life_counts_from_the_writing(a_memory, start, mode):
    now = start + timedelta(days=60)
    memory = a_memory(last_accessed_at=now)
    assert retention_of(memory, now, mode) == retention_of(a_memory(), now, mode) < 1.0


@pytest.mark.rule("000-tiers")
def test_a_domains_tier_holds_where_the_memory_has_none(a_memory, start):
    now = start + timedelta(days=45)
    assert retention_of(a_memory(), now, "lifespan", "elephant") == pytest.approx(0.5)
    assert retention_of(a_memory(tier="permanent"), now, "lifespan", "elephant") == 1.0


@every_mode
def test_a_naive_now_is_refused(a_memory, start, mode):
    with pytest.raises(ValueError, match="no time zone"):
        retention_of(a_memory(), start.replace(tzinfo=None), mode)


@every_mode
@PROVED
@given(st.floats(-1000, 1000), st.floats(-1000, 1000))
def test_retention_never_rises_and_starts_whole(a_memory, start, mode, one, other):
    sooner, later = sorted((one, other))
    memory = a_memory()
    assert retention_of(memory, start, mode) == 1.0
    assert retention_of(memory, start + timedelta(days=later), mode) <= retention_of(
        memory, start + timedelta(days=sooner), mode
    )
