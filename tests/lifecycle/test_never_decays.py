import pytest

from reverie.lifecycle.expiry import is_lasting, why_lasting, why_protected


@pytest.mark.rule("000-decays-or-not")
@pytest.mark.parametrize(
    ("layer", "kind", "lasting"),
    [
        pytest.param("episodic", "event", False, id="what happened decays"),
        pytest.param("episodic", "digest", False, id="a summary decays"),
        pytest.param("episodic", "fact", False, id="a fact not yet learned decays"),
        pytest.param("semantic", "fact", True, id="a learned fact lasts"),
        pytest.param("episodic", "decision", True, id="a decision lasts wherever it lies"),
        pytest.param("episodic", "preference", True, id="who someone is lasts"),
        pytest.param("episodic", "peer_card", True, id="what is known of someone lasts"),
        pytest.param("procedural", "how_to", True, id="a skill lasts"),
        pytest.param("codebase", "code", True, id="code lasts"),
        pytest.param("working", "decision", False, id="working memory is volatile whatever it holds"),
    ],
)
def test_events_decay_and_knowledge_does_not(a_memory, layer, kind, lasting):
    assert is_lasting(a_memory(layer=layer, kind=kind)) is lasting


def test_the_reason_is_said(a_memory):
    assert why_lasting(a_memory(layer="semantic")) == "semantic memories do not decay"
    assert why_lasting(a_memory(kind="decision")) == "decisions do not decay"
    assert why_protected(a_memory(pinned=True)) == "it is pinned"
    assert why_protected(a_memory(core=True)) == "it is a core memory"
    assert why_protected(a_memory()) is None
