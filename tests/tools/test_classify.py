import pytest

from reverie.tools.classify import kind_of, layer_of


@pytest.mark.parametrize(
    ("text", "kind", "layer"),
    [
        ("The API uses JWT tokens", "fact", "semantic"),
        ("We decided to use LanceDB because it needs no server", "decision", "procedural"),
        ("Maria prefers small commits", "preference", "semantic"),
        ("Tried Redis for the queue but it lost jobs", "rejected", "procedural"),
        ("Fixed the login crash: token refresh raced with logout", "error_fix", "episodic"),
        ("To run the tests use make check", "how_to", "procedural"),
        ("Deployed v2.1 to staging on 2026-03-28", "event", "episodic"),
        ("Currently porting the parser module", "fact", "working"),
    ],
)
def test_wording_tells_kind_and_layer(text: str, kind: str, layer: str) -> None:
    guessed = kind_of(text)
    assert (guessed, layer_of(guessed, text)) == (kind, layer)
