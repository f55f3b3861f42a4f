"""Transcripts of each client become the same steps, whatever state the file is in."""

import json
import os
import random
from pathlib import Path

import pytest

from reverie.tools import transcripts
from reverie.tools.transcripts import Step, Transcript, parse_transcript, read_transcript

FIXTURES = Path(__file__).parents[1] / "clients" / "fixtures"
FILES = sorted(path for path in FIXTURES.glob("*.json*") if path.name != "expected.json")


def told(transcript: Transcript) -> list[tuple[str, str, bool]]:
    return [(step.kind, step.text, step.failed) for step in transcript.steps]


def test_claude_codes_lines_are_read() -> None:
    found = read_transcript(str(FIXTURES / "claude_fix.jsonl"))
    assert found.folder == "/home/dev/shop"
    assert told(found)[:3] == [
        ("said", "run the integration tests please", False),
        ("ran", "pytest tests/integration", True),
        ("ran", "docker compose ps", False),
    ]
    assert [step.turn for step in found.steps] == [1, 1, 1, 1, 1, 2, 2, 2, 2]
    assert "Connection refused" in found.steps[1].output


@pytest.mark.parametrize(("name", "command"), [("codex_fix", "npm run build"), ("codex_old", "cargo build")])
def test_codex_rollouts_of_both_forms_are_read(name: str, command: str) -> None:
    found = read_transcript(str(FIXTURES / f"{name}.jsonl"))
    assert ("ran", command, True) in told(found)
    assert found.folder == "/home/dev/shop"
    said = [step.text for step in found.steps if step.kind == "said"]
    assert not any("AGENTS.md" in text or "environment_context" in text for text in said)
    assert len(said) == len(set(said))  # each message is recorded twice there


def test_a_codex_rollout_without_events_has_the_messages_themselves() -> None:
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "use tabs"}]}
    for line in ({"type": "response_item", "payload": message}, message):
        assert told(parse_transcript(json.dumps(line))) == [("said", "use tabs", False)]


def test_geminis_document_and_its_lines_are_read() -> None:
    document = read_transcript(str(FIXTURES / "gemini_corrections.json"))
    assert ("ran", "kubectl apply -f deploy/staging", True) in told(document)
    assert ("edited", "/home/dev/shop/deploy/staging/values.yaml", False) in told(document)
    lines = read_transcript(str(FIXTURES / "held_gemini_spanish.jsonl"))
    assert [step.kind for step in lines.steps].count("said") == 4


def test_what_programs_say_in_the_persons_name_is_no_step() -> None:
    said = [step.text for step in read_transcript(str(FIXTURES / "claude_noise.jsonl")).steps if step.kind == "said"]
    assert not any("TodoWrite" in text or "subagent" in text or "interrupted" in text for text in said)
    rules = read_transcript(str(FIXTURES / "claude_rules.jsonl")).steps
    assert rules[0].text == "Add a discount field to the order model."


def test_code_with_angle_brackets_is_kept_as_said() -> None:
    line = {"type": "user", "message": {"role": "user", "content": "use List<String>, never a raw List"}}
    assert told(parse_transcript(json.dumps(line))) == [("said", "use List<String>, never a raw List", False)]


def test_what_the_person_says_as_they_refuse_a_call_is_theirs() -> None:
    steps = read_transcript(str(FIXTURES / "claude_decisions.jsonl")).steps
    assert Step(kind="said", text="never skip the pre-commit hooks, fix what they complain about", turn=4) in steps
    assert not any(step.kind == "ran" and "--no-verify" in step.text for step in steps)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_transcript_that_is_cut_off_anywhere_gives_the_steps_before_it(file: Path) -> None:
    text = file.read_text("utf-8")
    whole = parse_transcript(text).steps
    for end in range(0, len(text), max(1, len(text) // 40)):
        steps = parse_transcript(text[:end]).steps
        assert steps == whole[: len(steps)] or {step.text for step in steps} <= {step.text for step in whole}
    almost = parse_transcript(text[: text.rindex("}", 0, len(text) - 5)]).steps
    assert len(almost) >= len(whole) - 2


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_garbage_anywhere_in_a_transcript_raises_nothing(file: Path, tmp_path: Path) -> None:
    dice = random.Random(file.name)  # noqa: S311 - no secrets here
    for number in range(20):
        data = bytearray(file.read_bytes())
        for _ in range(1 + number):
            start = dice.randrange(len(data))
            data[start : start + dice.randrange(40)] = dice.randbytes(dice.randrange(40))
        broken = tmp_path / "broken"
        broken.write_bytes(data)
        assert isinstance(read_transcript(str(broken)), Transcript)


@pytest.mark.parametrize(
    "text",
    [
        '{"type": "user", "message": {"role": "user", "content": 7}}',
        '{"type": "user", "message": {"role": "user", "content": [7, null, {"type": "text"}, {"text": {}}]}}',
        '{"type": "user", "message": "text"}',
        '{"type": "response_item", "payload": {"type": "function_call", "arguments": 3, "name": null}}',
        '{"type": "response_item", "payload": {"type": "function_call_output", "output": {"content": 1}}}',
        '{"type": "gemini", "toolCalls": {"a": 1}}',
        '{"type": "gemini", "toolCalls": [{"name": "run_shell_command", "args": {"command": {}}, "result": 4}]}',
        '{"type": "a.new.version", "data": {"everything": "is elsewhere"}}',
        '{"messages": [1, {"type": "user"}]}',
        "[" * 50_000,
        "{" * 50_000,
        "",
    ],
)
def test_records_of_unknown_forms_are_passed_over(text: str) -> None:
    assert parse_transcript(text).steps == ()


def test_a_huge_transcript_is_read_from_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcripts, "LONGEST_READ", 10_000)
    lines = [
        json.dumps({"type": "user", "message": {"role": "user", "content": f"message number {number}"}})
        for number in range(1_000)
    ]
    file = tmp_path / "huge.jsonl"
    file.write_text("\n".join(lines) + "\n")
    steps = read_transcript(str(file)).steps
    assert steps[-1].text == "message number 999"
    assert 50 < len(steps) < 200


def test_a_huge_document_is_read_from_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcripts, "LONGEST_READ", 10_000)
    messages = [{"id": str(number), "type": "user", "content": f"message number {number}"} for number in range(1_000)]
    file = tmp_path / "huge.json"
    file.write_text(json.dumps({"sessionId": "s", "messages": messages}, indent=2))
    steps = read_transcript(str(file)).steps
    assert steps[-1].text == "message number 999"
    assert len(steps) > 50


@pytest.mark.parametrize("path", ["/no/such/file", "/", "/etc/\0passwd", ""])
def test_a_path_that_is_no_file_has_no_steps(path: str) -> None:
    assert read_transcript(path).steps == ()


def test_what_is_no_regular_file_of_this_user_at_its_place_is_not_read(tmp_path: Path) -> None:
    real = tmp_path / "session.jsonl"
    real.write_bytes((FIXTURES / "claude_rules.jsonl").read_bytes())
    link, pipe = tmp_path / "link.jsonl", tmp_path / "pipe.jsonl"
    link.symlink_to(real)
    os.mkfifo(pipe)  # opening it waits for a writer, and there is none
    assert read_transcript(str(real)).steps
    for path in (link, pipe, tmp_path, Path("/dev/zero"), Path("/etc/passwd")):
        assert not read_transcript(str(path)).steps


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root can give a file to somebody else")
def test_a_file_of_another_user_is_not_read(tmp_path: Path) -> None:
    theirs = tmp_path / "session.jsonl"
    theirs.write_bytes((FIXTURES / "claude_rules.jsonl").read_bytes())
    os.chown(theirs, 65534, 65534)
    assert not read_transcript(str(theirs)).steps
