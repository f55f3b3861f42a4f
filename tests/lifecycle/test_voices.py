"""Voices: who counts as one more, who only repeats, and how the voices of several memories are joined."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from reverie.lifecycle.vitals import inherited
from reverie.lifecycle.voices import MOST_VOICES, Voice, confirmed, counted, joined, read_voice, voice_of
from reverie.memory import Anchor, Memory
from tests.lifecycle.conftest import START

Build = Callable[..., Memory]
DAY = timedelta(days=1)


def agent(days: float, session: str, source: str = "ai") -> Voice:
    return Voice(source, START + days * DAY, session)


@pytest.mark.parametrize(
    ("voice", "counts"),
    [
        (agent(0, "one"), False),  # itself, again
        (agent(5, "one"), False),  # the same session, however long it lasts
        (agent(0, "two"), False),  # another session on the same day
        (agent(0.3, "two"), False),
        (agent(0.64, "two"), True),  # past midnight and half a day on
        (agent(1, "two"), True),
        (agent(-1, "two"), True),  # said the day before, noticed later
        (agent(1, "two", "interaction"), True),  # what was said in a session is an agent's word
        (agent(1, "one", "interaction"), False),
        (Voice("human"), True),
        (Voice("ingest", None, "docs/a.md"), True),
        (Voice("code_scan"), True),
    ],
)
def test_an_agent_counts_in_another_session_on_another_day_and_everybody_else_once(
    a_memory: Build, voice: Voice, counts: bool
) -> None:
    memory = a_memory(source="ai", session="one")
    values = confirmed(memory, voice)
    assert (values is not None) == counts
    if values is not None:
        assert values == {"confirmed_by": (voice.written,), "confirmations": 1}
        again = a_memory(source="ai", session="one", **values)
        assert confirmed(again, voice) is None, "one voice counts once"


def test_half_a_day_that_crosses_no_midnight_is_the_same_day(a_memory: Build) -> None:
    memory = a_memory(source="ai", session="one", created_at=START.replace(hour=1))
    assert confirmed(memory, Voice("ai", START.replace(hour=22), "two")) is None


def test_an_agent_that_was_shown_a_memory_confirms_nothing_and_a_person_does(a_memory: Build) -> None:
    memory = a_memory(source="ai", session="one")
    assert confirmed(memory, agent(9, "two"), was_shown=True) is None
    assert confirmed(memory, Voice("human"), was_shown=True) is not None


def test_an_agent_that_repeats_what_the_person_said_in_its_session_is_no_second_voice(a_memory: Build) -> None:
    memory = a_memory(source="human", session="one")
    assert confirmed(memory, agent(0, "one")) is None
    assert confirmed(memory, agent(0, "two")) is None
    assert confirmed(memory, agent(1, "two")) is not None


def test_two_documents_are_two_voices_and_one_read_twice_is_one(a_memory: Build) -> None:
    memory = a_memory(source="ingest", source_ref="docs/a.md:12")
    assert confirmed(memory, Voice("ingest", None, "docs/a.md")) is None
    assert confirmed(memory, Voice("ingest")) is None, "it may be the same"
    assert confirmed(memory, Voice("ingest", None, "docs/b.md")) is not None


@pytest.mark.parametrize(
    ("fields", "written"),
    [
        ({"source": "human", "session": "one"}, "human"),
        ({"source": "ai", "session": "one"}, "ai 2026-01-01T09:00Z one"),
        ({"source": "ai"}, "ai 2026-01-01T09:00Z"),
        ({"source": "interaction", "source_ref": "codex session s7, turn 3"}, "interaction 2026-01-01T09:00Z s7"),
        ({"source": "ingest", "anchors": (Anchor(path="docs/setup.md"),)}, "ingest docs/setup.md"),
        ({"source": "import", "source_ref": "AGENTS.md:3"}, "import AGENTS.md"),
        ({"source": "code_scan", "source_ref": "src/a.py"}, "code_scan"),
    ],
)
def test_a_voice_is_read_as_it_was_written(a_memory: Build, fields: dict[str, object], written: str) -> None:
    voice = voice_of(a_memory(**fields))
    assert voice is not None
    assert voice.written == written
    read = read_voice(written)
    assert read is not None
    assert (read.source, read.written) == (voice.source, written)


def test_what_a_dream_wrote_is_nobodys_voice(a_memory: Build) -> None:
    assert voice_of(a_memory(source="dream")) is None
    assert read_voice("dream") is None
    assert read_voice("my friend") is None


def test_merging_joins_voices_and_adds_no_counts(a_memory: Build) -> None:
    said = ["human", agent(1, "two").written]
    heir = a_memory(source="ai", session="one", confirmed_by=tuple(said), confirmations=2)
    twin = a_memory(source="ai", session="one", confirmed_by=(*said, "ingest docs/a.md"), confirmations=3)
    assert joined(heir, [twin, twin]) == {"confirmed_by": (*said, "ingest docs/a.md"), "confirmations": 3}
    assert inherited(heir, [twin])["confirmations"] == 3


def test_five_statements_of_one_session_that_a_dream_merged_are_confirmed_by_nobody(a_memory: Build) -> None:
    merged = a_memory(source="dream")
    members = [a_memory(source="ai", session="one", created_at=START + n * DAY / 24) for n in range(5)]
    values = joined(merged, members)
    assert (len(values["confirmed_by"]), values["confirmations"]) == (1, 0)
    others = [*members, a_memory(source="ai", session="two", created_at=START + 3 * DAY), a_memory(source="human")]
    assert joined(merged, others)["confirmations"] == 2


def test_voices_are_bounded_and_agents_give_way(a_memory: Build) -> None:
    memory = a_memory(source="ai", session="first")
    for day in range(1, 40):
        memory = a_memory(**_fields(memory) | (confirmed(memory, agent(day, f"s{day}")) or {}))
    assert memory.confirmations == len(memory.confirmed_by) == MOST_VOICES
    assert confirmed(memory, agent(99, "late")) is None
    values = confirmed(memory, Voice("human"))
    assert values is not None
    assert (len(values["confirmed_by"]), values["confirmed_by"][-1]) == (MOST_VOICES, "human")


def _fields(memory: Memory) -> dict[str, object]:
    return {
        "source": memory.source,
        "session": memory.session,
        "confirmed_by": memory.confirmed_by,
        "confirmations": memory.confirmations,
    }


def test_a_list_from_elsewhere_counts_what_it_names_and_not_what_it_claims(a_memory: Build) -> None:
    claimed = a_memory(source="human", confirmations=99, confirmed_by=("human", "ai", "ai", "my friend", "dream"))
    assert counted(claimed) == {"confirmed_by": ("ai",), "confirmations": 1}
    assert counted(claimed, also=("code_scan",)) == {"confirmed_by": ("code_scan", "ai"), "confirmations": 2}
