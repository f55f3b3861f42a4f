"""Amounts in several notations: which are the same, which surely differ, and what is no amount."""

import pytest

from reverie.text.measures import (
    _PATTERNS,
    LONGEST_READ,
    _matches_at,
    _starts,
    in_notation_of,
    measures_in,
    same_measure,
    surely_differ,
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("5 min", "300 s"),
        ("1h30m", "90 minutes"),
        ("an hour and a half", "90 min"),
        ("half an hour", "30 minutes"),
        ("two weeks", "14 days"),
        ("12 months", "1 year"),
        ("2 GB", "2048 MB"),
        ("2 GB", "2000 MB"),
        ("4 KiB", "4096 bytes"),
        ("half a GB", "512 MB"),
        ("1 Gbit/s", "1000 Mbps"),
        ("9 am", "09:00"),
        ("11:30 pm", "23:30"),
        ("noon", "12:00"),
        ("every 2 hours", "12 times a day"),
        ("twice a minute", "every 30 seconds"),
        ("weekly", "every week"),
        ("half of", "50 % of"),
        ("two thirds of", "2/3 of"),
        ("0.1 %", "0.001"),
        ("$2,000", "2000 dollars"),
        ("1.5 million", "1,500,000"),
        ("10k", "10,000"),
        ("a dozen", "12"),
        ("1 March 2027", "2027-03-01"),
        ("December 20", "20th of December"),
        ("Q3", "the third quarter"),
        ("half past two in the morning", "02:30"),
        ("half past six", "18:30"),
        ("a quarter to eight", "7:45"),
        ("nine o'clock", "9 am"),
        ("two in the afternoon", "14:00"),
        ("15 Uhr 30", "15:30"),
        ("quarterly", "every 3 months"),
        ("one and a half hours", "90 min"),
        ("600 requests a minute", "10 requests per second"),
        ("10 req/s", "ten requests each second"),
        ("ten times a second", "100 ms"),
        ("one in five", "20 percent"),
        ("50 basis points", "0.5 %"),
        ("256 bits", "32 bytes"),
        ("1,5 GB", "1.5 GB"),
    ],
)
def test_one_amount_in_two_notations(one: str, other: str) -> None:
    [ours], [theirs] = measures_in(one), measures_in(other)
    assert same_measure(ours, theirs)
    assert not surely_differ(ours, theirs)
    assert in_notation_of(one, f"it is {other}, then") == f"it is {one}, then"


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        pytest.param("5 min", "5 s", True, id="another unit of time"),
        pytest.param("2 GB", "2 MB", True, id="another size"),
        pytest.param("3.10", "3.1", False, id="perhaps two versions"),
        pytest.param("3.10", "3.12", True, id="two versions"),
        pytest.param("1 month", "30 days", False, id="about a month"),
        pytest.param("1 month", "90 days", True, id="three months"),
        pytest.param("9 am", "9 pm", True, id="morning and evening"),
        pytest.param("5 min", "5 GB", False, id="two dimensions"),
        pytest.param("$5", "€5", False, id="two currencies"),
        pytest.param("half past six", "19:30", True, id="another hour of either half"),
        pytest.param("600 reads a minute", "10 writes per second", False, id="rates of two things"),
        pytest.param("600 reads a minute", "600 reads per second", True, id="two rates of one thing"),
        pytest.param("one in five", "one in six", True, id="two shares"),
    ],
)
def test_amounts_that_are_not_the_same(one: str, other: str, differ: bool) -> None:
    [ours], [theirs] = measures_in(one), measures_in(other)
    assert not same_measure(ours, theirs)
    assert surely_differ(ours, theirs) is differ


@pytest.mark.parametrize(
    "text", ["v1.2.3", "10.0.0.1", "24/7", "PAY-101", "eu-north-1", "1024x768", "`5 min`", "py3"]
)
def test_versions_addresses_names_and_code_state_no_amount(text: str) -> None:
    assert measures_in(text) == ()


@pytest.mark.parametrize("run", ["1", "1,", "every ", "one ", "half a ", "1:", "a ", "12 "], ids=repr)
def test_long_runs_are_read_in_one_pass(run: str) -> None:
    # Were the time to grow with the square of the length, this would take minutes.
    measures_in((run * LONGEST_READ)[:LONGEST_READ])
    assert measures_in(run * 60_000) == ()


AMOUNTS_EVERYWHERE = (
    "Costs $5, €3k or £ 2 a month; $1 in SQL, and half of twenty-one percent.",
    "Every 10 s, twice a day, täglich, alle 5 Tage, three times per week, an hour and a half.",
    "On 5 March 2024, March 5th, 2024-03-05, in Q3 or the second quarter, at 9 am, 09:30, noon.",
    "A dozen, a hundred, 10k, 4M, 1,200, 3.10, 3/4, 24/7, 2h 30m, 512 MiB, 20 Mbit/s, 90 µs.",
    "Sıx or ſix ٣ times; x5, 5x, p95, v1.2.3, :8080, src/api/v2, and `5 min` in code.",
    "Nothing that counts here.",
)


@pytest.mark.parametrize("text", AMOUNTS_EVERYWHERE)
def test_no_pattern_of_amounts_matches_where_none_is_looked_for(text: str) -> None:
    starts = _starts(text)
    for pattern, _ in _PATTERNS:
        anywhere = [match.span() for match in pattern.finditer(text)]
        assert [match.span() for match in _matches_at(starts, pattern, text)] == anywhere, pattern.pattern


def test_amounts_are_looked_for_at_few_words() -> None:
    assert _starts("Nothing that counts here.") == []
    assert _starts("Keep 5 copies and pay $3.") == [5, 22, 23]


def test_an_ordinal_counts_attempts_and_nothing_else() -> None:
    [third] = measures_in("give up after the third attempt")
    assert same_measure(third, *measures_in("3"))
    assert not measures_in("the third version of the first draft")
