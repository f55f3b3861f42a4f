import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reverie.text.compare import contradictions, differences, substantive_differences

PROVED = settings(derandomize=True, deadline=None, database=None)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The API listens on port 8080.", "the API listens on port 8080"),
        ("We don't push to main", "We do not push to main!"),
        ("We can’t deploy on Fridays", "we cannot deploy on fridays"),
        ("retry three times", "Retry 3 times"),
        ("wait twenty-five seconds", "wait 25 seconds"),
        ("wait twenty five seconds", "wait 25 seconds"),
        ("it needs 8GB of memory", "It needs 8 GB of memory"),
        ("1,000 rows at 50%", "1000 rows at 50 percent"),
        ("see ./src/app.py.", "see src/app.py"),
        ("uses v1.2.3", "uses 1.2.3"),
        ("**Note:** the cache is `on`", "Note: cache is on"),
        ("DO NOT PUSH", "do not push"),
        ("", "  "),
    ],
)
def test_a_restatement_has_no_differences(one, other):
    assert substantive_differences(one, other) == ()
    assert substantive_differences(other, one) == ()


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ("the port is 8080", "the port is 8081", "numbers differ: 8080 / 8081"),
        ("retry three times", "retry four times", "numbers differ: three / four"),
        ("it freezes at -5", "it freezes at 5", "numbers differ: -5 / 5"),
        ("due 2026-03-01", "due 2026-03-02", "numbers differ: 2026-03-01 / 2026-03-02"),
        ("on Python 3.10", "on Python 3.1", "numbers differ: 3.10 / 3.1"),
        ("a timeout", "a timeout of 30", "numbers differ: none / 30"),
        ("about 10² rows", "about 102 rows", "numbers differ: 10² / 102"),
        ("pinned to v1.2.3", "pinned to v1.2.4", "versions differ: v1.2.3 / v1.2.4"),
        ("pinned to 2.0.0-rc1", "pinned to 2.0.0", "versions differ: 2.0.0-rc1 / 2.0.0"),
        ("push to main", "don't push to main", "one negates"),
        ("it is used", "it is no longer used", "one negates"),
        ("commit with tests", "commit without tests", "one negates"),
        ("if (!ready) stop", "if (ready) stop", "one negates"),
        ("the cache is enabled", "the cache is disabled", "opposites: enabled / disabled"),
        ("the light is on", "the light is off", "opposites: on / off"),
        ("format before commit", "format after commit", "opposites: before / after"),
        ("allow root", "deny root", "opposites: allow / deny"),
        ("the API is stable", "the API is unstable", "opposites: stable / unstable"),
        ("keep latency < 5", "keep latency > 5", "opposites: < / >"),
        ("read src/a.py", "read src/b.py", "paths differ: src/a.py / src/b.py"),
        ("read config.toml", "read config.yaml", "paths differ: config.toml / config.yaml"),
        ("ask Alice first", "ask Bob first", "names differ: Alice / Bob"),
        ("set userId here", "set userID here", "names differ: userId / userID"),
        ("call get_user", "call get_users", "names differ: get_user / get_users"),
        ("written in C++", "written in C#", "names differ: C++ / C#"),
        ("run with -v", "run with -V", "names differ: -v / -V"),
        ("we chose plan A", "we chose plan", "names differ: A / none"),
        ("we deploy with docker", "we deploy with podman", "words differ: docker / podman"),
        ("a timeout of 30s", "a timeout of 30m", "words differ: s / m"),
        ("the port was 80", "the port is 80", "one says more: was"),
        ("tests use a database", "tests use a postgres database", "one says more: postgres"),
        ("ping pong ping", "ping pong", "one says more: ping"),
        ("alpha calls beta", "beta calls alpha", "order differs: alpha, calls, beta / beta, calls, alpha"),
        ("?", "!", "words differ: ? / !"),
    ],
)
def test_what_two_texts_differ_in_is_named(one, other, reason):
    assert reason in substantive_differences(one, other)
    assert substantive_differences(other, one)


@pytest.mark.rule("003-contradiction")
def test_a_contradiction_may_be_alike_in_nearly_every_token():
    one = "the staging server of the billing team in the berlin office listens for web hooks on port 8080 every day"
    other = one.replace("8080", "8081")
    assert contradictions(one, other) == ("numbers differ: 8080 / 8081",)


@pytest.mark.parametrize(
    ("one", "other", "contradict"),
    [
        pytest.param("the port is 8080", "the port is 8081", True, id="another number"),
        pytest.param("push to main", "never push to main", True, id="a negation"),
        pytest.param("we deploy with docker", "we deploy with podman", True, id="one word exchanged"),
        pytest.param("tests use a database", "tests use a postgres database", False, id="saying more"),
        pytest.param("a timeout", "a timeout of 30", False, id="saying more by a number"),
        pytest.param("tests run daily in CI", "in CI tests run daily", False, id="another order"),
        pytest.param(
            "releases are cut from the main branch", "we ship what main holds", False, id="other words altogether"
        ),
    ],
)
def test_only_what_cannot_both_hold_contradicts(one, other, contradict):
    assert bool(contradictions(one, other)) is contradict


@PROVED
@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9))
def test_no_two_numbers_are_taken_for_the_same(one, other):
    assume(one != other)
    assert substantive_differences(f"the limit is {one} now", f"the limit is {other} now")


@PROVED
@given(st.text(max_size=80))
def test_every_text_restates_itself(text):
    assert substantive_differences(text, text) == ()
    assert substantive_differences(text, f"  {text}\n") == ()


@PROVED
@given(st.text(max_size=60), st.text(max_size=60))
def test_differences_do_not_depend_on_the_order(one, other):
    assert bool(differences(one, other)) == bool(differences(other, one))


@PROVED
@given(st.from_regex(r"[a-z]{1,8}( [a-z]{1,8}){0,6}", fullmatch=True), st.sampled_from(["not", "never", "no"]))
def test_a_negation_is_never_overlooked(text, negation):
    assert substantive_differences(text, f"{negation} {text}")


@pytest.mark.slow
@pytest.mark.parametrize("run", [".", "-", "a+", "1.", "/", "\\", "_", "!", "a-", "1-", "9"], ids=repr)
def test_long_runs_are_read_in_one_pass(run):
    # Were the time to grow with the square of the length, this would take minutes.
    assert substantive_differences(run * 60_000, run * 60_000) == ()
