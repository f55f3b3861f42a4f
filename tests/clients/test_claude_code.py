"""Claude Code itself, after `reverie setup claude-code`: what it sends to its model.

The model is a server of this test, which records every request and answers "ok". Nothing leaves the machine but the
fetching of the client by npx, where it is not there yet; without it the tests are skipped, with the reason.
"""

import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

PATIENCE = 180
PINNED = "The staging lighthouse is called Orla and is wiped every Monday."
OLDER = "The harbour crane in Skarn lifts 40 tonnes since its repair."


class FakeModel(http.server.BaseHTTPRequestHandler):
    """Speaks as much of the Messages API as a prompt needs."""

    requests: list[dict[str, Any]]

    def do_POST(self) -> None:
        given = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        if not self.path.startswith("/v1/messages"):
            self._answer(404, b"{}", "application/json")
            return
        self.requests.append(given)
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": given.get("model", "")}
        message |= {"content": [], "stop_reason": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
        if not given.get("stream"):
            message |= {"content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn"}
            self._answer(200, json.dumps(message).encode(), "application/json")
            return
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ok"}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        ]
        lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
        self._answer(200, "".join(lines).encode(), "text/event-stream")

    def do_HEAD(self) -> None:
        self._answer(200, b"", "application/json")

    def _answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *given: Any) -> None:
        """Say nothing."""


@contextmanager
def fake_model() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    requests: list[dict[str, Any]] = []
    handler = type("Handler", (FakeModel,), {"requests": requests})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", requests
        server.shutdown()


@pytest.fixture(scope="module")
def claude(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the command that runs Claude Code: the one that is installed, or one that npx fetches."""
    if found := shutil.which("claude"):
        return [found]
    npx = shutil.which("npx")
    if npx is None:
        pytest.skip("Claude Code is not installed, and there is no npx to fetch it with")
    folder = tmp_path_factory.mktemp("npx")
    environment = os.environ | {"npm_config_cache": str(folder / "npm"), "HOME": str(folder)}
    wanted = [npx, "--yes", "@anthropic-ai/claude-code", "--version"]
    done = subprocess.run(wanted, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    programs = list(folder.glob("npm/_npx/*/node_modules/.bin/claude"))
    if done.returncode or not programs:
        pytest.skip(f"Claude Code cannot be fetched here: {done.stderr.strip()[-200:]}")
    return [str(programs[0])]


class ClaudeUser:
    """Somebody with an empty home, a project, Reverie set up, and a model that records."""

    def __init__(self, folder: Path, claude: list[str], address: str) -> None:
        self.home, self.project, self.data = folder / "home", folder / "project", folder / "data"
        for one in (self.home, self.project, folder / "run"):
            one.mkdir(mode=0o700)
        own = [str(Path(sys.executable).parent), str(Path(claude[0]).parent)]
        kept = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
        self._claude = claude
        self.environment = kept | {
            "PATH": os.pathsep.join([*own, os.environ["PATH"]]),
            "HOME": str(self.home),
            "REVERIE_HOME": str(self.data),
            "REVERIE_CONFIG": str(folder / "config"),
            "REVERIE_RUNTIME": str(folder / "run"),
            "ANTHROPIC_BASE_URL": address,
            "ANTHROPIC_API_KEY": "sk-ant-none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def run(self, *command: str) -> str:
        done = subprocess.run(
            command,
            env=self.environment,
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def prompt(self, text: str) -> str:
        return self.run(*self._claude, "-p", text).strip()

    def runs(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.data / "hooks" / "runs.jsonl").read_text().splitlines()]


def test_what_is_remembered_is_in_what_claude_code_sends_to_its_model(tmp_path: Path, claude: list[str]) -> None:
    with fake_model() as (address, requests):
        user = ClaudeUser(tmp_path, claude, address)
        user.run("reverie", "setup", "claude-code", "--yes")
        kept = user.run("reverie", "remember", PINNED, "--layer", "semantic")
        user.run("reverie", "pin", re.findall(r"Remembered (\w+)", kept)[0])
        user.run("reverie", "remember", OLDER, "--layer", "episodic", "--happened-at", "60d")
        user.run("reverie", "recall", "harbour crane")  # the engine is there and warm
        try:
            assert user.prompt("How much does the harbour crane in Skarn lift?") == "ok"
            asked = [json.dumps(one, ensure_ascii=False) for one in requests]
            [sent] = [one for one in asked if "How much does the harbour crane" in one]
            assert f"- {PINNED}" in sent  # the brief, at the start of the session
            assert sent.count(OLDER) == 1  # what fits the prompt, and the brief had not
            assert sent.index(PINNED) < sent.index(OLDER)
            requests.clear()
            assert user.prompt("Write a limerick about two violins") == "ok"
            [sent] = [json.dumps(one) for one in requests if "limerick" in json.dumps(one)]
            assert PINNED in sent
            assert OLDER not in sent
            assert "UserPromptSubmit" not in sent  # nothing fits: not a word is added
        finally:
            user.run("reverie", "engine", "stop")
    outcomes = {(one["event"], one["client"]): one["outcome"] for one in user.runs()}
    assert outcomes["SessionStart", "claude-code"] == "briefing of 1"
    assert ("SessionEnd", "claude-code") in outcomes
