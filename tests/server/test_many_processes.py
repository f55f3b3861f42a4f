"""Many processes, one store: nothing lost, nothing doubled, every session counted once."""

import json

import pytest

PROCESSES = 8
REMEMBERS = 50
ROUNDS = 6
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "wire", "version": "1"}}

pytestmark = [pytest.mark.slow, pytest.mark.alone]


def note(process, number):
    """Return a text that no other process and no other number has, and that is not nearly another's."""
    subjects = ("the parser", "the login page", "release notes", "the queue worker", "search", "the billing job")
    verbs = ("keeps", "refuses", "rewrites", "measures", "forwards", "archives", "signs")
    things = ("invoices", "stack traces", "timestamps", "avatars", "webhooks", "translations", "cache keys", "drafts")
    return (
        f"Worker {process} note {number}: {subjects[number % 6]} {verbs[(number + process) % 7]} "
        f"{things[(number * 3 + process) % 8]} under key {process * 7919 + number * 104729:x}."
    )


def test_eight_processes_remember_fifty_each_at_once_and_all_four_hundred_are_there_once(start, exported, tmp_path):
    servers = [start() for _ in range(PROCESSES)]
    wanted = [[note(process, number) for number in range(REMEMBERS)] for process in range(PROCESSES)]
    rows = [
        server.calls("remember", [{"content": content, "layer": "semantic"} for content in contents])
        for server, contents in zip(servers, wanted, strict=True)
    ]
    answers = [answer for row in rows for answer in row.result(300)]
    assert not [answer.content[0].text for answer in answers if answer.is_error]
    ids = [answer.structured_content["id"] for answer in answers]
    assert len(set(ids)) == PROCESSES * REMEMBERS
    assert {server.total() for server in servers} == {PROCESSES * REMEMBERS}
    memories = exported()
    assert {memory["id"] for memory in memories} == set(ids)
    assert sorted(memory["content"] for memory in memories) == sorted(text for row in wanted for text in row)


def test_eight_processes_that_tell_the_same_text_at_once_leave_it_findable_and_whole(start):
    servers = [start() for _ in range(PROCESSES)]
    for server in servers:
        server.until_ready()
    told = [server.begin("remember", content="The release train leaves on Thursdays at noon.") for server in servers]
    answers = [task.result(60) for task in told]
    assert not [answer.content[0].text for answer in answers if answer.is_error]
    assert 1 <= servers[0].total() <= PROCESSES
    found = servers[0].call("recall", query="when does the release train leave")["results"]
    assert found[0]["content"] == "The release train leaves on Thursdays at noon."


def test_every_session_that_recalls_a_memory_is_counted_once(wire):
    """A session is a process, so this starts forty-eight of them, eight at a time."""
    writer = wire()
    writer.shake_hands()
    kept = writer.call("remember", content="The staging database is rebuilt every Monday at six.")["id"]
    for _ in range(ROUNDS):
        sessions = [wire() for _ in range(PROCESSES)]
        opened = [session.ask("initialize", **HELLO) for session in sessions]
        asked = []
        for session, number in zip(sessions, opened, strict=True):
            session.answer(number)
            session.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            asked.append(session.ask("tools/call", name="recall", arguments={"query": "staging database rebuilt"}))
        for session, number in zip(sessions, asked, strict=True):
            results = session.answer(number)["result"]["structuredContent"]["results"]
            assert [row["id"] for row in results] == [kept]
            session.hang_up()
        for session in sessions:
            assert session.process.wait(30) == 0
            session.close()
    [memory] = writer.call("inspect", ids=[kept])["memories"]
    assert memory["access_count"] == ROUNDS * PROCESSES
    assert len(set(memory["sessions"])) == len(memory["sessions"])


def test_pins_moves_and_forgets_from_eight_processes_at_once_all_land(start):
    """Changes that read before they write: each process changes memories that the others change too."""
    servers = [start() for _ in range(PROCESSES)]
    ids = [servers[0].call("remember", content=note(99, number), layer="episodic")["id"] for number in range(8)]
    told = [
        server.calls("pin", [{"id": memory_id, "pinned": (turn + place) % 2 == 0} for memory_id in ids])
        for turn, server in enumerate(servers)
        for place in (0, 1)
    ]
    told += [server.calls("promote", [{"id": ids[turn], "to": "semantic"}]) for turn, server in enumerate(servers)]
    for task in told:
        assert not [answer.content[0].text for answer in task.result(120) if answer.is_error]
    last = servers[0].calls("pin", [{"id": memory_id} for memory_id in ids])
    assert not any(answer.is_error for answer in last.result(60))
    for memory_id in ids:
        memory = servers[-1].full(memory_id)
        assert memory["pinned"]
        assert memory["layer"] == "semantic"
        moves = [event for event in memory["events"] if event["action"] == "moved"]
        assert len(moves) == 1
    assert servers[0].total() == 8
