"""Ninety-one days later, through the real server: exactly what should be gone is gone, once, and can come back."""

import time
from collections.abc import Callable
from typing import Any

import pytest

PATIENCE = 60.0
SETTLED = 2.0
"""Seconds in which a server that is ready has certainly begun, and on a small store ended, its first sweep."""

Starter = Callable[..., Any]

# An importance of 0 ends below 0.3 and one of 0.9 above it, whatever surprise the model finds in the text.
KEPT: dict[str, dict[str, Any]] = {
    "human": {"content": "Ana moored the ferry beside the old pier.", "source": "human"},
    "important": {"content": "The reactor lost its coolant during the rehearsal.", "importance": 0.9},
    "pinned": {"content": "Bo painted the garden fence in bright yellow.", "pin": True},
    "pinned with a deadline": {"content": "A violin concert filled the hall.", "pin": True, "forget_after": "2d"},
    "semantic": {"content": "Copper melts at a lower temperature than iron.", "layer": "semantic"},
    "semantic with a tier": {"content": "Penguins live far south.", "layer": "semantic", "tier": "goldfish"},
    "procedural": {"content": "Bread dough rests twice before it is baked.", "layer": "procedural"},
    "decision": {"content": "Taxes are filed by the second office.", "kind": "decision"},
    "permanent": {"content": "Chidi collects stamps with lighthouses.", "tier": "permanent"},
    "recalled thrice": {"content": "The telescope needs its mirror aligned after every storm."},
    "working": {
        "content": "Emre sorts the winter tyres.",
        "layer": "working",
        "importance": 0.9,
        "tier": "permanent",  # else it would be over after 90 days (000-passing)
    },
}
EXPIRED: dict[str, tuple[str, dict[str, Any]]] = {
    "assistant": ("archived", {"content": "A pull request about button colours was merged."}),
    "ingested": ("archived", {"content": "Someone mentioned rain over the valley.", "source": "ingest"}),
    "recalled twice": ("archived", {"content": "The printer on the third floor ran out of toner."}),
    "working": ("tier-expired", {"content": "Farah looks for her umbrella.", "layer": "working"}),
    "deadline": ("ttl-expired", {"content": "The market closes early.", "layer": "semantic", "forget_after": "30d"}),
    "tier": ("tier-expired", {"content": "Dora won the chess game.", "tier": "standard", "importance": 0.9}),
}
DEFAULTS = {"layer": "episodic", "kind": "event", "importance": 0.0}


def _until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def _expired(server: Any) -> int:
    return sum(counts.get("expired", 0) for counts in server.call("status")["counts"].values())


def _fill(start: Starter) -> tuple[dict[str, str], dict[str, str]]:
    """Write everything with a server of today, and let three sessions recall."""
    sessions = [start() for _ in range(3)]
    sessions[0].until_ready()
    kept = {name: _remembered(sessions[0], given) for name, given in KEPT.items()}
    expired = {name: _remembered(sessions[0], given) for name, (_, given) in EXPIRED.items()}
    for number, session in enumerate(sessions):
        session.until_ready()
        _recall(session, KEPT["recalled thrice"]["content"], kept["recalled thrice"])
        if number:
            _recall(session, EXPIRED["recalled twice"][1]["content"], expired["recalled twice"])
    reader = sessions[0]
    for memory_id, times in ((kept["recalled thrice"], 3), (expired["recalled twice"], 2)):
        _until(lambda i=memory_id, n=times: reader.full(i)["access_count"] == n, "the recalls were not counted")
    return kept, expired


def _remembered(server: Any, given: dict[str, Any]) -> str:
    answer = server.call("remember", **(DEFAULTS | given))
    assert "duplicate_of" not in answer
    return answer["id"]


def _recall(server: Any, query: str, wanted: str, **arguments: Any) -> None:
    [row] = server.call("recall", query=query, limit=1, **arguments)["results"]
    assert row["id"] == wanted


@pytest.mark.slow
@pytest.mark.rule("002-archive")
@pytest.mark.rule("003-start")
@pytest.mark.rule("003-audit")
def test_ninety_one_days_later_exactly_the_expected_memories_are_gone(start: Starter) -> None:
    kept, expired = _fill(start)
    # Two servers at once: whatever is due is done by one of them.
    later, beside = start(REVERIE_CLOCK="+91d"), start(REVERIE_CLOCK="+91d")
    for server in (later, beside):
        server.until_ready()
    _until(lambda: _expired(later) >= len(expired), "the sweep never expired what it should")
    time.sleep(SETTLED)

    seen = {name: later.full(memory_id) for name, memory_id in expired.items()}
    assert {name: (m["status"], m["status_reason"]) for name, m in seen.items()} == {
        name: ("expired", rule) for name, (rule, _) in EXPIRED.items()
    }
    assert {name: later.full(memory_id)["status"] for name, memory_id in kept.items()} == dict.fromkeys(
        KEPT, "active"
    )
    assert _expired(later) == len(EXPIRED)
    assert later.total() == len(KEPT) + len(EXPIRED)
    assert later.full(kept["working"])["layer"] == "episodic"
    for name, memory in seen.items():
        events = [(event["action"], event["actor"]) for event in memory["events"]]
        assert events == [("remembered", "remember"), (EXPIRED[name][0], "sweep")]

    gone = EXPIRED["assistant"][1]["content"]
    found = [row["id"] for row in later.call("recall", query=gone, limit=100)["results"]]
    assert not set(found) & set(expired.values())
    _recall(later, gone, expired["assistant"], include=["expired"])

    before = {memory_id: later.full(memory_id) for memory_id in expired.values()}
    again = start(REVERIE_CLOCK="+91d")
    again.until_ready()
    time.sleep(SETTLED)
    assert _expired(again) == len(EXPIRED)
    for memory_id, memory in before.items():
        after = again.full(memory_id)
        assert (after["events"], after["status"]) == (memory["events"], memory["status"])

    assert again.call("restore", ids=[expired["assistant"]])["restored"] == [expired["assistant"]]
    _recall(again, gone, expired["assistant"])
    last = start(REVERIE_CLOCK="+91d")
    last.until_ready()
    time.sleep(SETTLED)
    assert last.full(expired["assistant"])["status"] == "active"
