from datetime import timedelta

import pytest

from reverie.lifecycle.expiry import ttl_expired

DAY = timedelta(days=1)


@pytest.mark.rule("003-ttl")
def test_a_memory_expires_after_its_deadline_not_at_it(a_memory, start):
    memory = a_memory(forget_after=start + DAY)
    assert ttl_expired(memory, start + DAY) is None
    verdict = ttl_expired(memory, start + DAY + timedelta(seconds=1))
    assert verdict.rule == "ttl-expired"
    assert "2026-01-02T09:00:00Z" in verdict.reason


@pytest.mark.rule("003-ttl")
@pytest.mark.parametrize("held", [{"layer": "semantic"}, {"core": True}, {"kind": "decision"}], ids=str)
def test_a_deadline_is_someones_word_and_holds_for_every_layer(a_memory, start, held):
    assert ttl_expired(a_memory(forget_after=start, **held), start + DAY).rule == "ttl-expired"


@pytest.mark.rule("002-pin")
def test_a_pin_stands_above_the_deadline(a_memory, start):
    assert ttl_expired(a_memory(forget_after=start, pinned=True), start + DAY) is None


def test_without_a_deadline_nothing_expires(a_memory, start):
    assert ttl_expired(a_memory(), start + 10_000 * DAY) is None


def test_what_has_expired_does_not_expire_again(a_memory, start):
    assert ttl_expired(a_memory(forget_after=start, status="expired"), start + DAY) is None
