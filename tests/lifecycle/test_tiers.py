from datetime import timedelta

import pytest

from reverie.lifecycle.expiry import effective_age, expiry_by_tier, threshold_seconds, tier_expired


@pytest.mark.rule("000-effective-age")
@pytest.mark.parametrize(
    ("age", "accesses", "effective", "lives"),
    [
        pytest.param(78_840_000, 3, 22_075_200, True, id="2.5 years, three recalls: − 56,764,800"),
        pytest.param(78_840_000, 0, 78_840_000, True, id="2.5 years, none"),
        pytest.param(97_776_000, 0, 97_776_000, False, id="3.1 years, none"),
        pytest.param(94_608_000, 0, 94_608_000, True, id="three years to the second"),
        pytest.param(189_216_000, 5, 94_608_000, True, id="six years, five recalls"),
        pytest.param(189_216_001, 5, 94_608_001, False, id="a second more: not for ever, whatever the seed says"),
    ],
)
def test_every_recall_takes_a_fifth_of_the_threshold_off_the_age(a_memory, start, age, accesses, effective, lives):
    assert effective_age(age, accesses, 94_608_000.0) == pytest.approx(effective)
    verdict = tier_expired(a_memory(access_count=accesses), start + timedelta(seconds=age))
    assert (verdict is None) is lives
    assert lives or verdict.rule == "lifespan-expired"


@pytest.mark.rule("000-tiers")
@pytest.mark.parametrize(
    ("tier", "span"),
    [
        ("goldfish", timedelta(hours=8)),
        ("standard", timedelta(days=7)),
        ("elephant", timedelta(days=90)),
    ],
)
def test_a_tier_is_the_threshold(a_memory, start, tier, span):
    second = timedelta(seconds=1)
    memory = a_memory(tier=tier)
    assert tier_expired(memory, start + span) is None
    assert tier_expired(memory, start + span + second).rule == "tier-expired"
    recalled = a_memory(tier=tier, access_count=5)
    assert tier_expired(recalled, start + 2 * span) is None
    assert tier_expired(recalled, start + 2 * span + second).rule == "tier-expired"


@pytest.mark.rule("000-tiers")
def test_permanent_never_expires(a_memory, start):
    assert threshold_seconds("permanent") is None
    assert tier_expired(a_memory(tier="permanent"), start + timedelta(days=36_500)) is None
    assert expiry_by_tier(a_memory(tier="permanent")) is None


@pytest.mark.rule("000-tiers")
def test_the_memorys_own_tier_goes_before_the_domains(a_memory, start):
    later = start + timedelta(days=30)
    assert tier_expired(a_memory(), later, "standard").rule == "tier-expired"
    assert tier_expired(a_memory(tier="elephant"), later, "standard") is None


@pytest.mark.rule("000-tiers")
@pytest.mark.parametrize(
    "held",
    [{"pinned": True}, {"core": True}, {"layer": "semantic"}, {"layer": "procedural"}, {"kind": "decision"}],
    ids=str,
)
def test_facts_decisions_core_and_pinned_memories_never_expire_by_tier(a_memory, start, held):
    memory = a_memory(tier="goldfish", **held)
    assert tier_expired(memory, start + timedelta(days=36_500)) is None
    assert expiry_by_tier(memory) is None


@pytest.mark.rule("000-tiers")
def test_working_memory_is_volatile_even_for_a_decision(a_memory, start):
    memory = a_memory(tier="goldfish", layer="working", kind="decision")
    assert tier_expired(memory, start + timedelta(hours=9)).rule == "tier-expired"


def test_the_day_of_expiry_is_known_ahead(a_memory, start):
    assert expiry_by_tier(a_memory(tier="standard", access_count=5)) == start + timedelta(days=14)
