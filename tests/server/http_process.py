"""A real `reverie serve --http` process on loopback, and requests to it as bare as a test wants them."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reverie.server.tokens import TokenFolder
from reverie.time import system_clock
from reverie.tools.requests import TokenScope

PATIENCE = 120.0
MODERN = "2026-07-28"
_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
}
_PATCHED = (
    "import reverie.server.http_limits as l; {patches}; from reverie.__main__ import main; raise SystemExit(main())"
)


@dataclass(frozen=True)
class Answer:
    """An HTTP answer, read to its end."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def result(self) -> dict[str, Any]:
        """The result of a JSON-RPC request, from JSON or from a stream of events."""
        assert self.status == 200, (self.status, self.body)
        text = self.body.decode()
        if self.headers.get("content-type", "").startswith("text/event-stream"):
            text = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: {")][-1]
        message = json.loads(text)
        assert "result" in message, message
        return message["result"]

    @property
    def text(self) -> str:
        return self.result["content"][0]["text"]

    @property
    def structured(self) -> dict[str, Any]:
        assert not self.result.get("isError"), self.result
        return self.result["structuredContent"]


class HttpProcess:
    """A server, where it listens, what it printed, and its tokens."""

    def __init__(self, process: "subprocess.Popen[str]", lines: list[str], errors: Path, tokens: TokenFolder) -> None:
        self.process = process
        self.lines = lines
        self.tokens = tokens
        self._errors = errors
        self.url = lines[-1].rpartition(" ")[2]
        self.port = int(self.url.rpartition(":")[2].partition("/")[0])
        self.context: ssl.SSLContext | None = None
        shown = re.search(r"rvr_\w+", lines[0])
        self.token = shown[0] if shown else ""  # used where a test says nothing else

    @property
    def log(self) -> list[dict[str, Any]]:
        whole_lines, _, _ = self._errors.read_text().rpartition("\n")
        return [json.loads(line) for line in whole_lines.splitlines()]

    def logged(self, field: str, value: object = None) -> list[dict[str, Any]]:
        """Return the lines that have a field, or this value in it; a request is logged after it was answered."""
        deadline = time.monotonic() + PATIENCE
        while True:
            found = [line for line in self.log if line.get(field) and value in (None, line[field])]
            if found:
                return found
            assert time.monotonic() < deadline, f"nothing was logged with {field} {value or ''}"
            time.sleep(0.02)

    @property
    def raw_log(self) -> str:
        return self._errors.read_text()

    def new_token(self, name: str, scope: TokenScope, **more: Any) -> str:
        return self.tokens.create(name, scope, now=system_clock(), **more)

    def connect(self) -> http.client.HTTPConnection:
        if self.context is not None:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE, context=self.context)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def raw(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        connection: http.client.HTTPConnection | None = None,
    ) -> Answer:
        used = connection or self.connect()
        try:
            used.request(method, path, body, headers or {})
            got = used.getresponse()
            return Answer(got.status, {name.lower(): value for name, value in got.getheaders()}, got.read())
        finally:
            if connection is None:
                used.close()

    def rpc(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        token: str | None = None,
        project: str = "tests",
        connection: http.client.HTTPConnection | None = None,
        **headers: str,
    ) -> Answer:
        """Send one request of the protocol that has no sessions."""
        params = {**(params or {}), "_meta": _META}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        given = {
            "Authorization": f"Bearer {self.token if token is None else token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": MODERN,
            "Mcp-Method": method,
            **(
                {"Mcp-Name": str(params.get("name") or params.get("uri"))}
                if "name" in params or "uri" in params
                else {}
            ),
            **({"Reverie-Project": project} if project else {}),
            **headers,
        }
        return self.request("POST", "/mcp", body, {name: value for name, value in given.items() if value}, connection)

    def call(self, tool: str, arguments: dict[str, Any] | None = None, **more: Any) -> Answer:
        return self.rpc("tools/call", {"name": tool, "arguments": arguments or {}}, **more)

    def in_session(self, body: dict[str, Any], token: str, session: str = "", project: str = "tests") -> Answer:
        """Send a message of the protocol that has sessions."""
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Reverie-Project": project,
            **({"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"} if session else {}),
        }
        return self.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0"} | body).encode(), headers)

    def open_session(self, token: str) -> str:
        answer = self.in_session(
            {
                "id": 1,
                "method": "initialize",
                "params": {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"roots": {}},
                    "clientInfo": {"name": "tests", "version": "1"},
                },
            },
            token,
        )
        assert answer.result["protocolVersion"] == "2025-11-25"
        session = answer.headers["mcp-session-id"]
        self.in_session({"method": "notifications/initialized"}, token, session)
        return session

    def until_ready(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while self.request("GET", "/readyz").status != 200:
            assert time.monotonic() < deadline, self.raw_log
            time.sleep(0.05)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


def environment(folder: Path, settings: dict[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("REVERIE_", "OPENAI_"))}
    own = {"REVERIE_HOME": str(folder / "home"), "REVERIE_CONFIG": str(folder / "config"), "NO_PROXY": "*"}
    return kept | own | settings


@contextlib.contextmanager
def serving(
    folder: Path, *options: str, listen: str = "127.0.0.1:0", patches: Sequence[str] = (), **settings: str
) -> Iterator[HttpProcess]:
    """Run a server until the block ends; `patches` are assignments to constants of http_limits, as `l`."""
    folder.mkdir(exist_ok=True)
    errors = folder / f"stderr-{time.monotonic_ns()}"
    program = ["-c", _PATCHED.format(patches="; ".join(patches))] if patches else ["-m", "reverie"]
    with errors.open("w") as stderr:
        process = subprocess.Popen(
            [sys.executable, *program, "serve", "--http", listen, *options],
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=environment(folder, settings),
            cwd=folder,
            text=True,
        )
    try:
        assert process.stdout is not None
        lines = []
        while not lines or not lines[-1].startswith("Serving MCP on "):
            lines.append(process.stdout.readline().rstrip("\n"))
            assert lines[-1], errors.read_text()
        yield HttpProcess(process, lines, errors, TokenFolder(folder / "config"))
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
