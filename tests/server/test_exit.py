"""The end of a session: prompt when the client goes, and nothing that was served goes uncounted.

The deadline is generous, since timing never decides a test; bench/foundation.py takes the figure.
"""

import signal
import time

import pytest

DEADLINE = 5.0


def count_of(wire, memory_id):
    """Ask a new process how often a memory was served."""
    reader = wire()
    reader.shake_hands()
    [memory] = reader.call("inspect", ids=[memory_id])["memories"]
    return memory["access_count"]


def served(wire, content):
    """Start a server, let it keep a text and serve it at once; return it and the memory's id."""
    one = wire()
    one.shake_hands()
    kept = one.call("remember", content=content)["id"]
    found = one.call("recall", query=content)["results"]
    assert kept in [row["id"] for row in found]
    return one, kept


def test_a_server_that_was_never_asked_anything_goes_when_its_client_does(wire):
    quiet = wire()
    quiet.hang_up()
    assert quiet.process.wait(DEADLINE) == 0


def test_a_server_goes_when_its_client_does_even_while_the_model_is_loading(wire):
    one = wire()
    one.shake_hands()
    one.hang_up()
    assert one.process.wait(DEADLINE) == 0


@pytest.mark.parametrize("after", [0.3, 0.6, 0.9])
def test_a_call_that_waits_for_the_store_does_not_keep_an_orphan_alive(wire, after):
    one = wire()
    one.shake_hands()
    one.ask("tools/call", name="remember", arguments={"content": "Nobody waits for this answer any more."})
    time.sleep(after)
    one.hang_up()
    assert one.process.wait(DEADLINE) == 0


def test_a_recall_followed_at_once_by_hanging_up_is_counted(wire):
    one, kept = served(wire, "The last recall of a session counts as well.")
    one.hang_up()
    assert one.process.wait(DEADLINE) == 0
    assert count_of(wire, kept) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_server_whose_client_stays_and_what_waited_is_counted(wire, number):
    one, kept = served(wire, f"{number.name} ends a session properly.")
    one.process.send_signal(number)
    assert one.process.wait(DEADLINE) == 0
    assert count_of(wire, kept) == 1


def test_an_idle_server_is_ended_by_a_signal(wire):
    one = wire()
    one.shake_hands()
    one.call("status")
    one.process.terminate()
    assert one.process.wait(DEADLINE) == 0


def test_one_session_counts_a_memory_once_however_often_it_recalls_it(wire):
    one, kept = served(wire, "Recalled five times in a minute, counted once.")
    for _ in range(4):
        one.call("recall", query="Recalled five times in a minute, counted once.")
    one.hang_up()
    assert one.process.wait(DEADLINE) == 0
    assert count_of(wire, kept) == 1


def test_nothing_but_the_protocol_was_said_until_the_end(wire):
    one, _ = served(wire, "The wire is silent when the session is over.")
    one.hang_up()
    assert one.next_line() == b""
    assert one.stderr == ""
