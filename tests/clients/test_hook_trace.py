"""What hooks leave behind: bounded, private, readable after anything, and without a word of a memory."""

import json
import os
import stat
import threading
from pathlib import Path

import pytest

from reverie.clients import hook_trace
from reverie.clients.hook_trace import SessionNotes, described_runs
from reverie.hooks import (
    MOST_WAITING,
    forget_waiting,
    hooks_folder,
    last_runs,
    note_run,
    note_waiting,
    take_waiting,
    trace_file,
)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"REVERIE_HOME": str(tmp_path / "home")}


def test_each_event_is_told_with_its_age_and_how_long_it_took(environment: dict[str, str]) -> None:
    note_run(environment, "SessionStart", "codex", 0.5, "failed: too slow")
    note_run(environment, "SessionStart", "claude-code", 0.084, "briefing of 3")
    note_run(environment, "SessionEnd", "claude-code", 0.2, "asked about 2")
    assert described_runs(environment) == (
        True,
        "SessionEnd: 0 s ago, 200 ms, asked about 2; SessionStart: 0 s ago, 84 ms, briefing of 3",
    )


def test_a_hook_that_failed_last_is_no_good_state(environment: dict[str, str]) -> None:
    note_run(environment, "SessionStart", "codex", 1.9, "failed: took too long")
    assert described_runs(environment)[0] is False


def test_it_is_said_when_none_ever_ran(environment: dict[str, str]) -> None:
    advice = "`reverie setup` puts them into a client, which runs them from its next session on"
    assert described_runs(environment) == (True, f"none ever ran here; {advice}")


@pytest.mark.parametrize(
    ("seconds", "words"), [(7_300, "2 h ago"), (90, "2 min ago"), (200_000, "2 d ago"), (59, "59 s ago")]
)
def test_an_age_is_told_in_one_unit(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, seconds: int, words: str
) -> None:
    note_run(environment, "SessionStart", "codex", 0.1, "briefing of 1")
    monkeypatch.setattr(hook_trace, "seconds_between", lambda then, now: seconds)
    assert words in described_runs(environment)[1]


def test_the_trace_stays_small_and_keeps_what_is_newest(environment: dict[str, str]) -> None:
    for number in range(1_200):
        note_run(environment, f"Event{number}", "codex", 0.1, "x" * 150)
    assert os.path.getsize(trace_file(environment)) <= hook_trace.LONGEST_TRACE + 400
    assert next(iter(last_runs(environment))) == "Event1199"


def test_an_event_that_is_rare_stays_in_the_trace(environment: dict[str, str]) -> None:
    note_run(environment, "SessionStart", "codex", 0.1, "briefing of 1")
    for _ in range(1_200):
        note_run(environment, "PostToolUse", "codex", 0.1, "x" * 150)
    assert list(last_runs(environment)) == ["PostToolUse", "SessionStart"]


def test_lines_that_are_none_are_passed_over(environment: dict[str, str]) -> None:
    note_run(environment, "SessionStart", "codex", 0.1, "briefing of 1")
    with open(trace_file(environment), "ab") as file:
        file.write(
            b'{"event": "Cut", "at": "2026\n\xff\xfe\n[]\n7\n{"event": "NoTime"}\n{"event": 1, "at": "soon"}\n'
        )
    assert list(last_runs(environment)) == ["SessionStart"]


def test_only_the_owner_may_read_it(environment: dict[str, str]) -> None:
    note_run(environment, "SessionStart", "codex", 0.1, "briefing of 1")
    SessionNotes(environment, "s").note_shown(["abc"])
    for folder, _, files in os.walk(hooks_folder(environment)):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        assert {stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode) for name in files} <= {0o600}


def test_a_data_folder_in_a_bucket_leaves_the_trace_on_this_machine(tmp_path: Path) -> None:
    environment = {"REVERIE_HOME": "s3://bucket/reverie", "XDG_DATA_HOME": str(tmp_path)}
    assert hooks_folder(environment).startswith(str(tmp_path)) or "bucket" not in hooks_folder(environment)


def test_of_many_runs_at_once_one_has_the_event(environment: dict[str, str]) -> None:
    won: list[bool] = []
    notes = [SessionNotes(environment, "s") for _ in range(8)]
    threads = [threading.Thread(target=lambda note=note: won.append(note.claim("start"))) for note in notes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False] * 7 + [True]


def test_an_event_that_may_come_again_is_answered_again_after_a_while(environment: dict[str, str]) -> None:
    notes = SessionNotes(environment, "s")
    assert notes.claim("compact", again_later=True)
    assert not notes.claim("compact", again_later=True)
    [claim] = Path(notes._folder).iterdir()
    os.utime(claim, (1, 1))
    assert not notes.claim("compact")
    assert notes.claim("compact", again_later=True)


def test_a_session_knows_what_it_was_shown_until_its_context_is_cleared(environment: dict[str, str]) -> None:
    SessionNotes(environment, "s").note_shown(["a", "b"])
    SessionNotes(environment, "s").note_shown(["b", "c"])
    assert SessionNotes(environment, "s").shown() == ["a", "b", "c"]
    assert SessionNotes(environment, "other").shown() == []
    SessionNotes(environment, "s").begin_anew()
    assert SessionNotes(environment, "s").shown() == []


def test_the_oldest_sessions_are_dropped(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook_trace, "MOST_SESSIONS", 3)
    for number in range(6):
        notes = SessionNotes(environment, str(number))
        notes.note_shown([f"m{number}"])
        os.utime(notes._folder, (number, number))
    kept = [number for number in range(6) if SessionNotes(environment, str(number)).shown()]
    assert len(kept) == 3
    assert 5 in kept


def test_no_text_is_written_but_events_and_ids(environment: dict[str, str]) -> None:
    notes = SessionNotes(environment, "../../secret session")
    notes.claim("userpromptsubmit the password is swordfish")
    notes.note_shown(["abcdefgh12345678"])
    written = [
        os.path.join(folder, name) for folder, _, names in os.walk(environment["REVERIE_HOME"]) for name in names
    ]
    assert not any("swordfish" in path or "secret" in path for path in written)
    assert json.dumps([Path(path).read_text() for path in written]).count("swordfish") == 0


# -- transcripts that wait to be read ----------------------------------------------------------------------


def test_a_transcript_waits_privately_until_it_is_read(environment: dict[str, str]) -> None:
    name = note_waiting(environment, {"session": "s1", "transcript": "/t.jsonl"})
    path = Path(hooks_folder(environment)) / "waiting" / name
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert take_waiting(environment, seconds=60) == {}  # somebody is at it
    assert take_waiting(environment, seconds=0) == {name: {"session": "s1", "transcript": "/t.jsonl"}}
    forget_waiting(environment, "../runs.jsonl")  # a name is no path
    forget_waiting(environment, name)
    assert take_waiting(environment, seconds=0) == {}


def test_few_wait_and_none_for_longer_than_a_week(environment: dict[str, str]) -> None:
    names = [note_waiting(environment, {"session": str(n)}) for n in range(MOST_WAITING + 1)]
    assert names[-1] == ""
    folder = Path(hooks_folder(environment)) / "waiting"
    os.utime(folder / names[0], (1, 1))
    (folder / names[1]).write_text("{")  # cut short
    assert len(take_waiting(environment, seconds=0)) == MOST_WAITING - 2
    assert not (folder / names[0]).exists()
