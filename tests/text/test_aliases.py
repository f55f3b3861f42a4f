"""Which names are joined, and which stay two because they could be two things."""

import pytest

from reverie.text.aliases import entities_of, entity_named


def joined(*names: str) -> set[frozenset[str]]:
    return {frozenset(entity.spellings) for entity in entities_of(dict.fromkeys(names, 1))}


@pytest.mark.parametrize(
    "names",
    [
        ("Alice", "Alice Johnson", "@alice", "Johnson", "@ajohnson", "@alice.johnson"),
        ("Bob", "@bob"),
        ("beat-collector", "beat_collector", "BeatCollector", "Beat Collector"),
        ("Kubernetes", "k8s"),
        ("Postgres", "postgresql", "pg"),
        ("make_session", "make_session()"),
        ("./src/a.py", "src/a.py"),
    ],
)
def test_names_of_one_thing_are_joined(names: tuple[str, ...]) -> None:
    assert joined(*names) == {frozenset(names)}


@pytest.mark.parametrize(
    "names",
    [
        ("John", "John Smith", "John Doe"),
        ("@john", "John Smith", "John Doe"),
        ("Stripe", "Stripe Checkout"),
        ("src/A.py", "src/a.py"),
        ("orders", "order_items"),
    ],
)
def test_what_could_be_two_things_stays_two(names: tuple[str, ...]) -> None:
    assert joined(*names) == {frozenset([name]) for name in names}


def test_a_person_is_shown_by_the_full_name_and_counts_every_spelling() -> None:
    [alice, redis] = entities_of({"Alice": 5, "Alice Johnson": 1, "@alice": 2, "redis": 3, "Redis": 1})
    assert (alice.name, alice.aliases, alice.count) == ("Alice Johnson", ("Alice", "@alice"), 8)
    assert (redis.name, redis.aliases, redis.count) == ("redis", ("Redis",), 4)


def test_a_name_means_an_entity_in_spellings_that_nobody_has_used_yet() -> None:
    counts = {"Alice Johnson": 1, "beat-collector": 1}
    assert "Alice Johnson" in entity_named("@alice", counts).spellings
    assert "beat-collector" in entity_named("BeatCollector", counts).spellings
    assert set(entity_named("nobody", counts).spellings) == {"nobody"}
