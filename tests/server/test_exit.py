"""The end of a session: prompt when the client goes, and nothing that was served goes uncounted.

The deadline is generous, since timing never decides a test; bench/foundation.py takes the figure.
"""

import signal
import time

import pytest

pytestmark = pytest.mark.slow

DEADLINE = 30.0


@pytest.fixture(scope="module")
def count_of(module_start_here):
    """Ask a server in this process, which is another than the one that served a memory, how often it was served."""
    reader = module_start_here()
    return lambda memory_id: reader.full(memory_id)["access_count"]


@pytest.fixture
def on_one_store(wire, module_folder):
    """Start a server on the store that the tests of this module share."""
    return lambda: wire(module_folder / "home")


def served(one, content):
    """Let a server keep a text and serve it at once; return the memory's id."""
    one.shake_hands()
    kept = one.call("remember", content=content)["id"]
    found = one.call("recall", query=content)["results"]
    assert kept in [row["id"] for row in found]
    return kept


def test_a_server_that_was_never_asked_anything_goes_when_its_client_does(wire):
    quiet = wire()
    quiet.hang_up()
    assert quiet.process.wait(DEADLINE) == 0


def test_a_server_goes_when_its_client_does_even_while_the_model_is_loading(wire):
    one = wire()
    one.shake_hands()
    one.hang_up()
    assert one.process.wait(DEADLINE) == 0


@pytest.mark.parametrize("after", [0.3, pytest.param(0.9, marks=pytest.mark.slow)])
def test_a_call_that_waits_for_the_store_does_not_keep_an_orphan_alive(wire, after):
    one = wire()
    one.shake_hands()
    one.ask("tools/call", name="remember", arguments={"content": "Nobody waits for this answer any more."})
    time.sleep(after)
    one.hang_up()
    assert one.process.wait(DEADLINE) == 0


def test_a_client_that_hangs_up_after_its_recalls_leaves_one_counted_and_nothing_said(on_one_store, count_of):
    one = on_one_store()
    kept = served(one, "Recalled five times in a minute, counted once, also the last.")
    for _ in range(4):
        one.call("recall", query="Recalled five times in a minute, counted once, also the last.")
    one.hang_up()
    assert one.process.wait(DEADLINE) == 0
    assert one.next_line() == b""
    assert one.stderr == ""
    assert count_of(kept) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_signal_ends_a_server_whose_client_stays_and_what_waited_is_counted(on_one_store, count_of, number):
    one = on_one_store()
    kept = served(one, f"{number.name} ends a session properly.")
    one.process.send_signal(number)
    assert one.process.wait(DEADLINE) == 0
    assert count_of(kept) == 1
