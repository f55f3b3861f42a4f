"""Near-identical memories: one stays, and loses nothing that was known of the others."""

from datetime import timedelta

import pytest

from reverie.dream.plan import Change
from tests.dream.conftest import NOW, a_memory, planned

TEXT = "The nightly backup of the billing database runs on the second replica and is kept for ninety days"


def changes(plan) -> dict[str, Change]:
    return {change.memory_id: change for change_set in plan.change_sets for change in change_set.changes}


@pytest.mark.rule("003-contradiction")
def test_the_older_gives_way_to_the_newer_with_an_event_and_is_not_deleted():
    plan = planned([a_memory(1, TEXT), a_memory(2, TEXT + ".")], "dedupe")
    change = changes(plan)["m0001"]
    assert change.action == "duplicate"
    assert change.values["status"] == "superseded"
    assert change.values["superseded_by"] == "m0002"


def test_recalls_and_voices_are_carried_over():
    seen = NOW - timedelta(days=2)
    older = a_memory(
        1,
        TEXT,
        source="ai",
        created_at=NOW - timedelta(days=40),
        access_count=3,
        last_accessed_at=seen,
        access_times=(seen,),
        confirmed_by=("ingest",),
    )
    newer = a_memory(2, TEXT + ".", access_count=2, confirmed_by=("interaction",), confirmations=1)
    kept = changes(planned([older, newer], "dedupe"))["m0002"].values
    assert kept["access_count"] == 5
    assert kept["last_accessed_at"] == seen
    assert kept["confirmed_by"] == ("interaction", "ai 2026-01-21T09:30Z", "ingest")
    assert kept["confirmations"] == 3
    assert "importance" not in kept


def test_of_three_the_newest_stands_in_for_both():
    plan = planned([a_memory(1, TEXT), a_memory(2, TEXT + "!"), a_memory(3, TEXT + ".")], "dedupe")
    assert [changes(plan)[one].values["superseded_by"] for one in ("m0001", "m0002")] == ["m0003", "m0003"]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(TEXT.replace("ninety", "sixty"), id="a number"),
        pytest.param(TEXT.replace("is kept", "is not kept"), id="a negation"),
        pytest.param(TEXT.replace("billing", "Billing-2"), id="a name"),
        pytest.param(TEXT.replace("second", "first"), id="a word"),
        pytest.param(TEXT + " in cold/storage", id="a path"),
    ],
)
def test_a_difference_that_means_something_keeps_both(other):
    assert planned([a_memory(1, TEXT), a_memory(2, other)], "dedupe").is_empty


@pytest.mark.parametrize(
    "differs",
    [
        {"project": "q"},
        {"layer": "procedural"},
        {"pinned": True},
        {"forget_after": NOW + timedelta(days=9)},
        {"tier": "elephant"},
    ],
    ids=lambda differs: next(iter(differs)),
)
def test_another_scope_or_standing_keeps_both(differs):
    assert planned([a_memory(1, TEXT, **differs), a_memory(2, TEXT)], "dedupe").is_empty
    assert planned([a_memory(1, TEXT), a_memory(2, TEXT, **differs)], "dedupe").is_empty


def test_what_happened_on_two_days_is_two_events():
    again = a_memory(2, TEXT, kind="event", happened_at=NOW)
    assert planned([a_memory(1, TEXT, kind="event"), again], "dedupe").is_empty


def test_a_less_trusted_repetition_does_not_replace_what_a_human_said():
    plan = planned([a_memory(1, TEXT), a_memory(2, TEXT, source="ingest")], "dedupe")
    assert changes(plan)["m0002"].values["superseded_by"] == "m0001"
    assert changes(plan)["m0001"].values["confirmed_by"] == ("ingest",)


def test_a_template_with_other_numbers_is_compared_with_few_and_merged_with_none():
    held = [a_memory(number, f"Run {number} of the import took {number * 7} seconds") for number in range(300)]
    assert planned(held, "dedupe").is_empty
