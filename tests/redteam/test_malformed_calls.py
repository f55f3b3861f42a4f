"""Attack: a thousand calls that no honest client sends. Each is answered, and the store stays as it was."""

import importlib.util
import json
import random
import stat
from pathlib import Path
from typing import Any

import pytest

from reverie.memory import FIELDS

pytestmark = pytest.mark.slow

_spec = importlib.util.spec_from_file_location("wires", Path(__file__).parents[1] / "server" / "conftest.py")
wires = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(wires)

CALLS = 1_000

JUNK: list[Any] = [
    *(None, True, -1, 10**30, 1.5, "", " ", "\x00", "x" * 300, "🦊" * 300, "null", "NaN"),
    *(
        [],
        {},
        [[]],
        [None],
        {"a": {"b": []}},
        ["x" * 500] * 3,
        [1, "a", None],
        "../../etc/passwd",
        "'; DROP TABLE x; --",
    ),
    *("$(rm -rf /)", "%s%n%x", "{{7*7}}", "<script>", "\ud7ff\ue000", "A" * 10_001),
]
# For each tool: what it needs, and arguments that are wrong whatever else is right.
WRONG: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "remember": (
        {"content": "A note."},
        [
            *({"content": bad} for bad in (5, [], {}, " ", "a" * 100_001)),
            *({"layer": bad} for bad in ("attic", 3, [])),
            *({"importance": bad} for bad in (2, -1, "much", [], "NaN")),
            *({"tags": bad} for bad in ("one", [1], [""], ["t" * 300], {"a": 1}, ["t"] * 20 + [" "])),
            *({"files": bad} for bad in (["/etc/passwd"], ["../x"], "x", [3], ["f" * 5_000])),
            *({"happened_at": bad} for bad in ("soon", 5, "9999-99-99")),
            *({"supersedes": bad} for bad in ("zzzzzzzzzz", "'", 5)),
            *({"pin": bad} for bad in ("perhaps", [], 7)),
        ],
    ),
    "recall": (
        {"query": "note"},
        [
            *({"query": bad} for bad in ("", 5, [], "q" * 10_001)),
            *({"limit": bad} for bad in (0, 101, "many", [])),
            *({"max_tokens": bad} for bad in (1, 10**9, "x")),
            *({"layers": bad} for bad in (["attic"], "semantic", [1])),
            *({"include": bad} for bad in (["ghosts"], [3])),
            *({"as_of": bad} for bad in ("never", 5)),
        ],
    ),
    "inspect": ({}, [*({"ids": bad} for bad in ([], ["zzzzzzzzzz"], "x", [1], ["x"] * 101, [""]))]),
    "revise": ({"id": "zzzzzzzzzz", "content": "x"}, [{}, {"content": ""}, {"id": 5}, {"id": ""}]),
    "forget": ({}, [{}, {"ids": ["zzzzzzzzzz"]}, {"older_than": "long"}, {"layer": "attic"}, {"min_strength": "x"}]),
    "restore": ({}, [{}, {"ids": ["zzzzzzzzzz"]}, {"event_id": "zz"}, {"dream_id": "zz"}, {"ids": 5}]),
    "promote": ({"id": "zzzzzzzzzz"}, [{}, {"to": "attic"}, {"id": []}]),
    "demote": ({"id": "zz"}, [{}, {"to": 5}]),
    "pin": ({"id": "zzzzzzzzzz"}, [{}, {"pinned": "maybe"}]),
    "status": ({}, [{"verbose": True}]),
    "no_such_tool": ({}, [{}, {"x": 1}]),
}


def _calls(dice: random.Random) -> list[tuple[str, dict[str, Any]]]:
    made = []
    for _ in range(CALLS):
        tool = dice.choice(list(WRONG))
        needed, wrong = WRONG[tool]
        arguments = needed | dice.choice(wrong)
        if dice.random() < 0.4:  # and an argument that there is not, of any form
            arguments[dice.choice(["", "__class__", "self", "ctx", "x y", "ids "])] = dice.choice(JUNK)
        made.append((tool, arguments))
    return made


def _stored(wire: Any, memory_id: str) -> dict[str, Any]:
    """Return what is written of a memory, without what is computed as time goes by."""
    [memory] = wire.call("inspect", ids=[memory_id])["memories"]
    return {name: memory.get(name) for name in (*FIELDS, "events", "lineage")}


@pytest.mark.slow
def test_a_thousand_malformed_calls_change_nothing(tmp_path):
    dice = random.Random(20260728)  # noqa: S311 - a fuzz that can be repeated
    with wires._wiring(tmp_path) as start:
        wire = start()
        wire.shake_hands()
        kept = wire.call("remember", content="What was here before.")["id"]
        before = _stored(wire, kept)
        counts = wire.call("status")["counts"]
        for tool, arguments in _calls(dice):
            answer = wire.answer(wire.ask("tools/call", name=tool, arguments=arguments))
            refused = "error" in answer or answer["result"].get("isError")
            assert refused, (tool, arguments)
            assert "Traceback" not in json.dumps(answer)
        assert wire.call("status")["counts"] == counts
        assert _stored(wire, kept) == before
        assert wire.call("recall", query="what was here")["results"]
        assert "Traceback" not in wire.stderr
        loose = [path for path in (tmp_path / "home").rglob("*") if stat.S_IMODE(path.stat().st_mode) & 0o077]
        assert loose == []


def test_odd_frames_are_answered_and_change_nothing(tmp_path):
    with wires._wiring(tmp_path) as start:
        wire = start()
        wire.shake_hands()
        for line in (
            "not json",
            "[]",
            "{}",
            '{"jsonrpc":"2.0"}',
            '{"jsonrpc":"2.0","id":1}',
            '{"jsonrpc":"1.0","id":1,"method":"tools/list"}',
            '{"jsonrpc":"2.0","id":{"a":1},"method":"tools/list"}',
            '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[1,2]}',
            '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":["remember"],"arguments":"x"}}',
            "{" * 5_000,
            '{"a":' * 2_000,
            "\x00\x01\x02",
            "",
        ):
            wire.send(line)
        wire.send(b"\xff\xfe\xfa")
        assert not any(wire.call("status")["counts"].values())
