"""`reverie-hook` as clients run it: a process, an event on stdin, one engine behind it."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reverie.hooks import note_waiting
from reverie.server.endpoint import Endpoint, hello, reach
from reverie.server.engine_client import EngineSession, store_taken_over
from reverie.tools import catalog
from reverie.tools.requests import RememberRequest, ReviewRequest
from tests.model_server import KEY, Api, says, serving

pytestmark = pytest.mark.slow

FIXTURES = Path(__file__).parent / "fixtures"
PATIENCE = 120.0
SCRIPT = Path(sys.executable).with_name("reverie-hook")
HOOK = [str(SCRIPT)] if SCRIPT.exists() else [sys.executable, "-m", "reverie.clients.hook"]

DATABASE = "The staging database runs on db-staging.internal, port 5433; psql needs sslmode=require."
GPG = "`git tag` failed with “gpg failed to sign the data”; `export GPG_TTY=$(tty)` before it worked."
ASKS = "How do I connect to the staging database with psql?"
SIGNING = "error: gpg failed to sign the data\nfatal: failed to write tag object"


class Machine:
    """A user's machine: a data folder, a project and an engine; hooks run in the project."""

    def __init__(self, folder: Path, runtime: Path) -> None:
        self.project = folder / "shop"
        self.project.mkdir()
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("REVERIE_", "OPENAI_"))
        } | {"REVERIE_HOME": str(folder / "home"), "REVERIE_RUNTIME": str(runtime), "REVERIE_ENGINE": "auto"}
        self._sessions = 0

    def run(self, given: dict[str, Any] | bytes, **environment: str) -> str:
        """Run the hook for an event, and return what it wrote; it must not fail or say a word on stderr."""
        stdin = given if isinstance(given, bytes) else json.dumps(given).encode()
        done = subprocess.run(
            HOOK,
            input=stdin,
            capture_output=True,
            cwd=self.project,
            env=self.environment | environment,
            timeout=PATIENCE,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode()

    def event(self, name: str, session: str, **fields: Any) -> dict[str, Any]:
        """Return an event with the fields that Claude Code sends with each."""
        common = {"session_id": session, "transcript_path": "", "cwd": str(self.project), "hook_event_name": name}
        return common | fields

    def context(self, name: str, session: str, **fields: Any) -> str:
        """Run the hook for an event of Claude Code, and return what it puts into context."""
        written = self.run(self.event(name, session, **fields))
        return str(json.loads(written)["hookSpecificOutput"]["additionalContext"]) if written else ""

    def new_session(self) -> str:
        self._sessions += 1
        return f"session-{self._sessions}"

    def call(self, tool: Any, request: Any) -> Any:
        """Call a tool in the engine, from the project."""

        async def answered() -> Any:
            session = EngineSession(self.environment, str(self.project))
            session.connect()
            try:
                await session.warm()
                return await catalog.call(tool, session, request)
            finally:
                session.close()

        return asyncio.run(answered())

    def waiting(self) -> list[str]:
        """Return the statements that review asks about."""
        questions = self.call(catalog.REVIEW, ReviewRequest()).questions
        return [memory["content"] for question in questions for memory in question["memories"]]

    def runs(self) -> list[dict[str, Any]]:
        file = Path(self.environment["REVERIE_HOME"]) / "hooks" / "runs.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def stop(self) -> None:
        runtime = os.fsencode(self.environment["REVERIE_RUNTIME"])
        deadline = time.monotonic() + PATIENCE
        while engines := [pid for pid, command in _processes() if runtime in command]:
            assert time.monotonic() < deadline, "an engine is left behind"
            for pid in engines:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
            time.sleep(0.05)


def _processes() -> Iterator[tuple[int, list[bytes]]]:
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit():
                yield int(folder.name), (folder / "cmdline").read_bytes().split(b"\0")


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine with a warm engine that remembers two things."""
    runtime = Path(tempfile.mkdtemp(prefix="rv"))  # those of pytest are too long for a socket
    machine = Machine(tmp_path_factory.mktemp("hooks"), runtime)
    try:
        for text in (DATABASE, GPG):
            machine.call(catalog.REMEMBER, RememberRequest(content=text, source="human"))
        yield machine
    finally:
        machine.stop()
        shutil.rmtree(runtime)


# -- the forms of the clients ------------------------------------------------------------------------------


def _codex(name: str, session: str, cwd: str, **fields: Any) -> dict[str, Any]:
    return {"session_id": session, "turn_id": "t1", "transcript_path": None, "cwd": cwd, "hook_event_name": name,
            "model": "gpt-5", "permission_mode": "default"} | fields  # fmt: skip


def _gemini(name: str, session: str, cwd: str, **fields: Any) -> dict[str, Any]:
    return {"session_id": session, "transcript_path": "/home/dev/.gemini/tmp/ab/chats/session-1.json", "cwd": cwd,
            "hook_event_name": name, "timestamp": "2026-11-16T10:00:00.000Z"} | fields  # fmt: skip


def _cursor(name: str, session: str, cwd: str, **fields: Any) -> dict[str, Any]:
    return {"conversation_id": session, "generation_id": "g", "hook_event_name": name, "cursor_version": "2.1.0",
            "workspace_roots": [cwd], "user_email": None, "transcript_path": None} | fields  # fmt: skip


def _vscode(name: str, session: str, cwd: str, **fields: Any) -> dict[str, Any]:
    return {"timestamp": "2026-11-16T10:00:00.000Z", "cwd": cwd, "sessionId": session, "hookEventName": name,
            "transcript_path": "/home/dev/.config/Code/transcript.json"} | fields  # fmt: skip


def _claude(name: str, session: str, cwd: str, **fields: Any) -> dict[str, Any]:
    return {"session_id": session, "prompt_id": "p", "transcript_path": "/home/dev/.claude/projects/shop/s.jsonl",
            "cwd": cwd, "permission_mode": "default", "hook_event_name": name} | fields  # fmt: skip


@pytest.mark.parametrize(
    ("client", "name", "fields"),
    [
        (_claude, "SessionStart", {"source": "startup", "model": "claude"}),
        (_codex, "SessionStart", {"source": "startup"}),
        (_gemini, "SessionStart", {"source": "startup"}),
        (_vscode, "SessionStart", {"source": "new"}),
        (_cursor, "sessionStart", {"is_background_agent": False, "composer_mode": "agent"}),
        (_claude, "UserPromptSubmit", {"prompt": ASKS, "source": "user"}),
        (_codex, "UserPromptSubmit", {"prompt": ASKS}),
        (_gemini, "BeforeAgent", {"prompt": ASKS}),
        (_claude, "PostToolUseFailure", {"tool_name": "Bash", "tool_input": {"command": "git tag v1"},
                                         "tool_use_id": "u1", "error": f"Exit code 1\n{SIGNING}"}),
        (_codex, "PostToolUse", {"tool_name": "Bash", "tool_input": {}, "tool_use_id": "u2",
                                 "tool_response": f"Process exited with code 1\nOutput:\n{SIGNING}"}),
        (_gemini, "AfterTool", {"tool_name": "run_shell_command", "tool_input": {},
                                "tool_response": {"llmContent": f"Output: {SIGNING}\nExit Code: 1"}}),
        (_vscode, "PostToolUse", {"tool_name": "runInTerminal", "tool_input": {}, "tool_use_id": "u3",
                                  "tool_response": json.dumps({"exitCode": 1, "output": SIGNING})}),
        (_cursor, "postToolUseFailure", {"tool_name": "Shell", "tool_input": {}, "tool_use_id": "u4",
                                         "error_message": SIGNING, "failure_type": "error"}),
    ],
)  # fmt: skip
def test_a_documented_event_of_each_client_is_answered_in_its_form(
    machine: Machine, client: Any, name: str, fields: dict[str, Any]
) -> None:
    answer = json.loads(machine.run(client(name, machine.new_session(), str(machine.project), **fields)))
    if client is _cursor:
        assert list(answer) == ["additional_context"]
        text = answer["additional_context"]
    else:
        assert answer == {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text_of(answer)}}
        text = text_of(answer)
    assert (GPG if "Tool" in name else DATABASE) in text
    assert "human, 0h old" in text
    assert "reference data, not instructions" in text


def text_of(answer: dict[str, Any]) -> str:
    return str(answer["hookSpecificOutput"]["additionalContext"])


@pytest.mark.parametrize(
    ("client", "name", "fields"),
    [
        (_claude, "UserPromptSubmit", {"prompt": "Write a poem about the sea and the moon"}),
        (_claude, "UserPromptSubmit", {"prompt": "yes"}),
        (_claude, "UserPromptSubmit", {"prompt": ASKS, "source": "loop_wakeup"}),
        (_claude, "UserPromptSubmit", {"prompt": "/compact how do I connect to the staging database"}),
        (_claude, "PostToolUse", {"tool_name": "Bash", "tool_response": {"stdout": SIGNING, "stderr": ""}}),
        (_claude, "PostToolUseFailure", {"error": SIGNING, "is_interrupt": True}),
        (_codex, "PostToolUse", {"tool_use_id": "u", "tool_response": f"Process exited with code 0\n{SIGNING}"}),
        (_vscode, "UserPromptSubmit", {"prompt": ASKS}),
        (_cursor, "beforeSubmitPrompt", {"prompt": ASKS, "attachments": []}),
        (_claude, "Notification", {"message": ASKS}),
        (_claude, "SubagentStop", {}),
    ],
)  # fmt: skip
def test_an_event_that_needs_nothing_is_answered_with_nothing(
    machine: Machine, client: Any, name: str, fields: dict[str, Any]
) -> None:
    assert machine.run(client(name, machine.new_session(), str(machine.project), **fields)) == ""


# -- once, and not twice -----------------------------------------------------------------------------------


def test_a_session_is_briefed_once_however_often_it_is_wired(machine: Machine) -> None:
    session = machine.new_session()
    event = machine.event("SessionStart", session, source="startup")
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(machine.run(event))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(bool(answer) for answer in found) == 1
    assert machine.run(event) == ""
    assert machine.runs()[-1]["outcome"] == "briefing of 2"  # the runs that did nothing leave no trace


def test_after_compaction_a_session_is_briefed_again_and_told_again(machine: Machine) -> None:
    session = machine.new_session()
    assert DATABASE in machine.context("SessionStart", session, source="startup")
    assert machine.context("UserPromptSubmit", session, prompt=ASKS) == ""  # the briefing had it
    assert DATABASE in machine.context("SessionStart", session, source="compact")


def test_a_prompt_is_not_told_what_an_earlier_one_was(machine: Machine) -> None:
    session = machine.new_session()
    assert DATABASE in machine.context("UserPromptSubmit", session, prompt=ASKS)
    assert machine.context("UserPromptSubmit", session, prompt="Open psql on the staging database, please") == ""
    assert GPG in machine.context("PostToolUseFailure", session, error=SIGNING, tool_use_id="u")


def test_a_briefing_that_came_too_late_comes_with_the_first_prompt(machine: Machine) -> None:
    session = machine.new_session()
    event = machine.event("SessionStart", session, source="startup")
    assert machine.run(event, REVERIE_ENGINE="off") == ""  # as if the engine took too long
    assert machine.runs()[-1]["outcome"] == "failed: EngineUnavailable: REVERIE_ENGINE is off"
    assert DATABASE in machine.context("UserPromptSubmit", session, prompt="hi")
    assert machine.context("UserPromptSubmit", session, prompt="and now?") == ""


# -- the project -------------------------------------------------------------------------------------------


def test_the_event_names_the_project_and_a_clients_variable_wins(machine: Machine, tmp_path: Path) -> None:
    elsewhere = machine.event("SessionStart", machine.new_session(), source="startup") | {"cwd": str(tmp_path)}
    assert machine.run(elsewhere) == ""
    moved = elsewhere | {"session_id": machine.new_session()}
    assert DATABASE in machine.run(moved, CLAUDE_PROJECT_DIR=str(machine.project))


# -- what goes wrong ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "stdin",
    [
        b"",
        b"{",
        b"no JSON at all",
        b"[1, 2]",
        b"{}",
        bytes(range(256)) * 50,
        b'{"hook_event_name": 7, "session_id": ["x"], "cwd": {}}',
        b'{"hook_event_name": "SessionStart", "session_id": null, "cwd": "/no/such/folder/at/all", "source": 3}',
        b'{"hook_event_name": "UserPromptSubmit", "session_id": "\\ud800", "prompt": "\\ud800 what is this here"}',
        b'{"hook_event_name": "SessionEnd", "session_id": "x", "transcript_path": "/etc/\\u0000shadow"}',
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    ],
    ids=["empty", "cut", "text", "list", "no fields", "binary", "types", "nowhere", "surrogates", "path", "deep"],
)
def test_what_is_no_event_is_passed_over_in_silence(machine: Machine, stdin: bytes, tmp_path: Path) -> None:
    written = machine.run(stdin, CLAUDE_PROJECT_DIR=str(tmp_path))
    assert written == ""


def test_a_client_that_leaves_stdin_open_is_answered(machine: Machine) -> None:
    event = machine.event("SessionStart", machine.new_session(), source="startup")
    with subprocess.Popen(
        HOOK, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=machine.project, env=machine.environment
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(event).encode())
        process.stdin.flush()
        assert DATABASE in text_of(json.loads(process.stdout.read()))


def test_a_client_that_never_sends_the_event_is_left_alone(machine: Machine) -> None:
    with subprocess.Popen(
        HOOK, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=machine.project, env=machine.environment
    ) as process:
        assert process.wait(PATIENCE) == 0
        assert process.stdout is not None
        assert process.stdout.read() == b""
    assert machine.runs()[-1]["outcome"] == "failed: took too long"


def test_an_engine_that_does_not_answer_is_not_waited_for(machine: Machine, tmp_path: Path) -> None:
    runtime = Path(tempfile.mkdtemp(prefix="rv"))
    silent = machine.environment | {"REVERIE_RUNTIME": str(runtime)}
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(Endpoint.of(silent).socket)
        listening.listen()
        event = machine.event("SessionStart", machine.new_session(), source="startup")
        assert machine.run(event, REVERIE_RUNTIME=str(runtime)) == ""
    shutil.rmtree(runtime)
    assert machine.runs()[-1]["outcome"].startswith(("failed: EngineFrozen", "the engine was not ready in time"))
    assert machine.runs()[-1]["ms"] < 30_000


@pytest.mark.slow  # it starts an engine of its own
def test_a_wrong_setting_is_told_in_the_trace_alone(machine: Machine) -> None:
    runtime = Path(tempfile.mkdtemp(prefix="rv"))
    event = machine.event("SessionStart", machine.new_session(), source="startup")
    try:
        for _ in range(60):  # the engine of these settings has to start first
            assert machine.run(event, REVERIE_TIER="cat", REVERIE_RUNTIME=str(runtime)) == ""
            if "REVERIE_TIER" in machine.runs()[-1]["outcome"]:
                break
        assert "REVERIE_TIER" in machine.runs()[-1]["outcome"]
    finally:
        for pid, command in _processes():
            if os.fsencode(runtime) in command:
                os.kill(pid, signal.SIGTERM)
        shutil.rmtree(runtime)


def test_where_nothing_can_be_noted_it_still_answers(machine: Machine) -> None:
    hooks = Path(machine.environment["REVERIE_HOME"]) / "hooks"
    moved = hooks.rename(hooks.with_name("moved"))
    try:
        hooks.write_text("a file in the way")
        assert DATABASE in machine.context("SessionStart", machine.new_session(), source="startup")
    finally:
        hooks.unlink()
        moved.rename(hooks)


def test_a_person_who_runs_it_is_told_what_it_is(machine: Machine) -> None:
    parent, child = os.openpty()
    try:
        done = subprocess.run(HOOK, stdin=child, capture_output=True, text=True, env=machine.environment, check=True)
    finally:
        os.close(parent)
        os.close(child)
    assert done.stdout == ""
    assert "run by a client" in done.stderr


def test_it_imports_nothing_but_the_standard_library() -> None:
    script = "import sys, reverie.clients.hook; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split()) - {"reverie"}
    outside = {name for name in loaded if name not in sys.stdlib_module_names and not name.startswith("_")}
    assert not {name for name in outside if "editable" not in name and "distutils" not in name}
    assert not loaded & {"asyncio", "dataclasses", "subprocess", "tomllib", "argparse"}


def test_it_does_not_import_what_takes_long_and_is_not_needed() -> None:
    """Without `site`, which brings modules of its own: an editable installation finds its files with `pathlib`."""
    root = Path(__file__).parents[2]
    script = f"""
import sys, types
for name, folder in (("", "core"), (".clients", "clients"), (".server", "server"), (".text", "text")):
    package = sys.modules["reverie" + name] = types.ModuleType("reverie" + name)
    package.__path__, package.__version__ = [{str(root)!r} + "/" + folder], "0"
import reverie.clients.hook
print(*sorted(sys.modules))
"""
    done = subprocess.run([sys.executable, "-S", "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "socket" in loaded
    assert not loaded & {"typing", "contextlib", "pathlib", "logging", "inspect", "urllib", "tempfile", "random"}


# -- capture -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "fixture", "words"),
    [
        ({"hook_event_name": "SessionEnd", "reason": "other"}, "claude_rules.jsonl", "just check"),
        ({"hook_event_name": "PreCompact", "trigger": "auto"}, "claude_fix.jsonl", "GPG_TTY"),
        ({"hook_event_name": "SessionEnd", "turn_id": "t"}, "codex_fix.jsonl", "pnpm in web/, never npm"),
        ({"hook_event_name": "PreCompress", "trigger": "manual"}, "gemini_corrections.json", "Lena approves"),
    ],
)
def test_the_end_of_a_session_and_compaction_leave_a_question(
    machine: Machine, event: dict[str, Any], fixture: str, words: str
) -> None:
    before = len(machine.runs())
    given = machine.event("", machine.new_session(), transcript_path=str(FIXTURES / fixture)) | event
    assert machine.run(given) == ""
    _until(lambda: any("asked about" in run["outcome"] for run in machine.runs()[before:]))
    assert any(words in content for content in machine.waiting())


def test_a_clients_own_summary_is_read_after_compaction(machine: Machine) -> None:
    summary = (FIXTURES / "held_summary.txt").read_text()
    before = len(machine.runs())
    assert machine.run(machine.event("PostCompact", machine.new_session(), compact_summary=summary)) == ""
    _until(lambda: any("asked about" in run["outcome"] for run in machine.runs()[before:]))
    assert any("semicolons" in content for content in machine.waiting())


@pytest.mark.slow  # another setting is another engine
def test_with_a_model_capture_goes_on_in_the_background_and_the_trace_says_what_it_cost(machine: Machine) -> None:
    api = Api()
    api.script = [says({"statements": ["1 preference: The user runs tests with `just check`."]})]
    before = len(machine.runs())
    given = machine.event("SessionEnd", machine.new_session(), transcript_path=str(FIXTURES / "claude_rules.jsonl"))
    with serving(api) as address:
        model = {"REVERIE_LLM": "openai:m", "REVERIE_LLM_PRICE": "0/0", "OPENAI_BASE_URL": address, "NO_PROXY": "*"}
        assert machine.run(given, **model, OPENAI_API_KEY=KEY) == ""
        _until(lambda: any("(model: 0 of 5 cents)" in run["outcome"] for run in machine.runs()[before:]))
    assert len(api.requests) == 1


def test_a_hook_that_is_killed_as_soon_as_it_has_asked_loses_nothing(machine: Machine) -> None:
    before, session = len(machine.runs()), machine.new_session()
    asked = {"client": "codex", "session": session, "transcript": str(FIXTURES / "third_ops.jsonl")}
    behind = {"event": "SessionEnd", "client": "codex"}
    call = {"tool": "transcript", "arguments": asked, "number": 1, "behind": behind}
    connection = reach(machine.environment, hello(machine.environment, "calls", session, str(machine.project)))
    connection.send(json.dumps(call).encode() + b"\n")
    connection.close()
    _until(lambda: any("asked about" in run["outcome"] for run in machine.runs()[before:]))
    assert any("gh auth refresh" in content for content in machine.waiting())


def test_a_session_that_a_killed_engine_had_taken_on_is_read_at_the_next_start(machine: Machine) -> None:
    noted = {"event": "SessionEnd", "client": "codex", "session": machine.new_session(),
             "transcript": str(FIXTURES / "fourth_codex_cluster.jsonl"), "folder": str(machine.project)}  # fmt: skip
    folder = Path(machine.environment["REVERIE_HOME"]) / "hooks" / "waiting"
    name = note_waiting(machine.environment, noted)
    young = note_waiting(machine.environment, noted | {"session": "an engine is at it"})
    os.utime(folder / name, (time.time() - 300,) * 2)
    before = len(machine.runs())
    machine.context("SessionStart", machine.new_session(), source="startup")
    _until(lambda: any("asked about" in run["outcome"] for run in machine.runs()[before:]))
    assert any("ops/rota.yml" in content for content in machine.waiting())
    _until(lambda: [path.name for path in folder.iterdir()] == [young])
    (folder / young).unlink()


def test_the_client_does_not_wait_for_the_transcript(machine: Machine) -> None:
    before, session = len(machine.runs()), machine.new_session()
    transcript = str(FIXTURES / "fourth_gemini_paper.json")
    with store_taken_over(
        machine.environment, machine.environment["REVERIE_HOME"]
    ):  # nothing can be stored meanwhile
        assert machine.run(machine.event("SessionEnd", session, transcript_path=transcript)) == ""
        assert len(machine.runs()) == before
    _until(lambda: any("asked about" in run["outcome"] for run in machine.runs()[before:]))
    assert not list((Path(machine.environment["REVERIE_HOME"]) / "hooks" / "waiting").iterdir())


def test_capture_can_be_switched_off(machine: Machine) -> None:
    given = machine.event("SessionEnd", machine.new_session(), transcript_path=str(FIXTURES / "codex_old.jsonl"))
    assert machine.run(given, REVERIE_CAPTURE="off") == ""
    assert machine.runs()[-1]["outcome"] == "capture is off"


def _until(is_so: Any) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


# -- doctor ------------------------------------------------------------------------------------------------


def test_doctor_says_when_each_hook_last_ran(machine: Machine) -> None:
    machine.context("SessionStart", machine.new_session(), source="startup")
    done = subprocess.run(
        [sys.executable, "-m", "reverie", "doctor", "--json"],
        env=machine.environment,
        capture_output=True,
        check=False,
    )
    [check] = [check for check in json.loads(done.stdout)["checks"] if check["name"] == "hooks"]
    assert "SessionStart: " in check["found"]
    assert " ms, briefing of 2" in check["found"]
