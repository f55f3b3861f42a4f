"""A language model's server on loopback, for tests: speaks the chat API, or fails in every way asked for."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from reverie.llm import client
from reverie.llm.connection import Timeouts
from reverie.tools.session import Session

KEY = "sk-test-of-loopback"


class Api:
    """Answers chat requests; `script` holds what to do with the next ones, the last of it for all that follow."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.script: list[Callable[[dict[str, Any]], tuple[int, object] | None]] = []
        self.hang = threading.Event()

    def answer(self, request: dict[str, Any]) -> tuple[int, object] | None:
        """Return status and body, or None to hang up in the middle."""
        self.requests.append(request)
        step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        return step(request)

    def notes(self, number: int = -1) -> list[dict[str, str]]:
        """Return the notes that a request carried between its fences."""
        text = self.requests[number]["messages"][1]["content"]
        return json.loads(text.removeprefix("<memories>\n").removesuffix("\n</memories>"))["notes"]


def says(content: object, **usage: int) -> Callable[[dict[str, Any]], tuple[int, object]]:
    """Answer with a message; anything but a text is sent as JSON."""
    text = content if isinstance(content, str) else json.dumps(content)
    body: dict[str, Any] = {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
    }
    if usage:
        body["usage"] = {"total_tokens": sum(usage.values()), **usage}
    return lambda _: (200, body)


def refuses(status: int, message: str, code: str | None = None) -> Callable[[dict[str, Any]], tuple[int, object]]:
    """Answer with an error."""
    return lambda _: (status, {"error": {"message": message, "code": code}})


def dies(_: dict[str, Any]) -> None:
    """Hang up without an answer."""


@contextmanager
def serving(api: Api) -> Iterator[str]:
    """Serve on loopback and give the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            answer = api.answer(request)
            if answer is None:
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", "1000")
                self.end_headers()
                self.wfile.write(b'{"choices": [')
                self.wfile.flush()
                self.connection.close()
                return
            status, body = answer
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            pass  # a client that ran out of patience has hung up

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        api.hang.set()
        server.shutdown()


@contextmanager
def named_in_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    """Serve a model that the settings of a test name."""
    api = Api()
    with serving(api) as address:
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("NO_PROXY", "*")
        yield api


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    """A server that the settings of the test name; it waits for no real pauses."""
    with named_in_settings(monkeypatch) as api:
        quick = Timeouts(answer=0.5, total=1.0, pauses=(0.0,), sleep=lambda _: None, jitter=lambda: 0.0)
        monkeypatch.setattr(client, "TIMEOUTS", quick)
        yield api


@pytest.fixture
async def asking(session: Session) -> Session:
    """The session, with a model set."""
    session.settings = replace(session.settings, llm="openai:some-model", llm_price=(1.0, 1.0))
    return session


def joins_notes(request: dict[str, Any]) -> tuple[int, object]:
    """Merge by joining the notes that the request shows."""
    text = request["messages"][1]["content"]
    notes = json.loads(text.removeprefix("<memories>\n").removesuffix("\n</memories>")).get("notes", [])
    joined = ". ".join(note["text"] for note in notes)
    return says({"same": True, "text": joined}, prompt_tokens=100, completion_tokens=50)(request)
