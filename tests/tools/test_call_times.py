from reverie.tools.session import MOST_KEPT, CallTimes


def test_the_last_few_hundred_calls_are_kept_with_their_percentiles() -> None:
    times = CallTimes()
    for number in range(MOST_KEPT + 100):
        times.note("recall", number / 1_000)
    found = times.of("recall")
    assert (len(found.milliseconds), found.milliseconds[0]) == (MOST_KEPT, 100.0)
    assert (round(found.p50 or 0, 1), round(found.p95 or 0, 1)) == (349.5, 574.0)  # of 100 to 599


def test_one_call_is_its_own_middle_and_none_has_none() -> None:
    times = CallTimes()
    times.note("recall", 0.25)
    assert (times.of("recall").p50, times.of("recall").p95) == (250.0, 250.0)
    assert (times.of("pin").p50, times.of("pin").milliseconds) == (None, [])
