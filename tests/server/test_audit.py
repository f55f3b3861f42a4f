import json
from pathlib import Path

import pytest

from reverie.cli import main as cli


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REVERIE_HOME", str(tmp_path / "home"))
    assert cli.main(["remember", "The harbour master keeps the keys"]) == 0
    return tmp_path / "home" / "domains" / "default"


def test_an_untouched_journal_is_said_to_be_so(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert cli.main(["audit"]) == 0
    out = capsys.readouterr().out
    assert "as it was written: 1 event" in out
    assert "remembered" in out


def test_tampering_is_named_and_the_command_fails(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = store / "journal" / "waiting.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"actor": "remember"', b'"actor": "somebody"'))
    capsys.readouterr()
    assert cli.main(["audit", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["intact"], "event 1" in told["faults"][0]) == (False, True)


def test_only_the_events_of_one_memory_are_shown(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["remember", "Another thing entirely, about boats"]) == 0
    capsys.readouterr()
    assert cli.main(["audit", "--json", "--last", "1"]) == 0
    [last] = json.loads(capsys.readouterr().out)["last"]
    assert cli.main(["audit", "--json", "--about", last["memory_id"]]) == 0
    assert json.loads(capsys.readouterr().out)["last"] == [last]
