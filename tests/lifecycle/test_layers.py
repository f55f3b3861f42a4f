import pytest

from reverie.errors import MoveRefused
from reverie.lifecycle.rules import checked_move, next_down, next_up


@pytest.mark.rule("002-promotion")
def test_the_ladder_goes_from_working_to_procedural_and_back():
    assert [next_up(layer) for layer in ("working", "episodic", "semantic")] == ["episodic", "semantic", "procedural"]
    assert [next_down(layer) for layer in ("procedural", "semantic", "episodic")] == [
        "semantic",
        "episodic",
        "working",
    ]


def test_a_move_may_skip_rungs():
    assert checked_move("working", "procedural", "up") == "procedural"
    assert checked_move("procedural", "working", "down") == "working"
    assert checked_move("episodic", None, "up") == "semantic"
    assert checked_move("episodic", None, "down") == "working"


@pytest.mark.parametrize(
    ("start", "to", "direction", "reason"),
    [
        pytest.param("procedural", None, "up", "highest layer", id="above the top"),
        pytest.param("working", None, "down", "lowest layer", id="below the bottom"),
        pytest.param("episodic", "episodic", "up", "already episodic", id="nowhere"),
        pytest.param("semantic", "episodic", "up", "Use demote", id="promoting down"),
        pytest.param("episodic", "semantic", "down", "Use promote", id="demoting up"),
        pytest.param("codebase", None, "up", "nothing moves into or out", id="out of codebase"),
        pytest.param("codebase", "semantic", "up", "nothing moves into or out", id="out of codebase by name"),
        pytest.param("semantic", "codebase", "up", "nothing moves into or out", id="into codebase"),
        pytest.param("semantic", "codebase", "down", "nothing moves into or out", id="down into codebase"),
    ],
)
def test_a_move_that_makes_no_sense_is_refused_with_a_reason(start, to, direction, reason):
    with pytest.raises(MoveRefused, match=reason):
        checked_move(start, to, direction)
