"""Real servers with the real MCP client on the other end, for tests that are plain sentences.

`start` runs a server as a process over stdio; a start costs two seconds of processor time, so tests that are about
the tools and not about the process use `start_here`, which runs the same server in this process. A `Wire` is a
process with raw lines, for what no well-behaved client would send. All end with the test or module they serve.
"""

import contextlib
import io
import json
import os
import random
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import CallToolResult

PATIENCE = 180.0
"""No answer takes this long, even on a machine that does ten other things."""

# The shell notes its process id and then becomes the server; `$2` may be `ulimit` and the like.
_AS = 'echo $$ > "$1"; eval "$2"; shift 2; exec "$@"'

Starter = Callable[..., "Server"]


class Refused(Exception):
    """A tool answered with an error."""


class Server:
    """A server and a client that speaks to it."""

    def __init__(
        self, portal: BlockingPortal, client: Client, pid_file: Path | None = None, errors: Path | None = None
    ) -> None:
        self.client = client
        self._portal = portal
        self._pid_file = pid_file
        self._errors = errors

    @property
    def pid(self) -> int:
        assert self._pid_file is not None, "it runs in this process"
        return int(self._pid_file.read_text())

    @property
    def stderr(self) -> str:
        assert self._errors is not None, "it runs in this process"
        return self._errors.read_text(errors="replace")

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return a tool's structured content."""
        answer = self.answer(tool, **arguments)
        if answer.is_error:
            raise Refused(_text(answer))
        assert answer.structured_content is not None
        return answer.structured_content

    def refused(self, tool: str, **arguments: Any) -> str:
        """Return what a tool says when it refuses, which it must."""
        answer = self.answer(tool, **arguments)
        assert answer.is_error, f"{tool} took {arguments!r}"
        return _text(answer)

    def answer(self, tool: str, **arguments: Any) -> CallToolResult:
        return self.run(self.client.call_tool, tool, arguments)

    def begin(self, tool: str, **arguments: Any) -> "Future[CallToolResult]":
        """Begin a call while the test goes on."""
        return self._portal.start_task_soon(self.client.call_tool, tool, arguments)

    def calls(self, tool: str, each: list[dict[str, Any]]) -> "Future[list[CallToolResult]]":
        """Begin a row of calls, one after the other, while the test goes on."""

        async def row() -> list[CallToolResult]:
            return [await self.client.call_tool(tool, arguments) for arguments in each]

        return self._portal.start_task_soon(row)

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run one of the client's coroutines."""
        return self._portal.start_task_soon(function, *arguments).result(PATIENCE)

    def full(self, memory_id: str) -> dict[str, Any]:
        """Return everything that is known about one memory."""
        [memory] = self.call("inspect", ids=[memory_id])["memories"]
        return memory

    def total(self) -> int:
        """Count the memories of the store, whatever became of them."""
        told = self.call("status")
        own = sum(number for counts in told["counts"].values() for number in counts.values())
        return own + sum(told.get("elsewhere", {}).values())

    def until_done(self, tool: str, refusal: str = "") -> dict[str, Any]:
        """Repeat a call until it succeeds, and return its structured content; every refusal must hold these words."""
        deadline = time.monotonic() + PATIENCE
        while (answer := self.answer(tool)).is_error:
            assert refusal in _text(answer)
            assert time.monotonic() < deadline, _text(answer)
            time.sleep(0.05)
        assert answer.structured_content is not None
        return answer.structured_content

    def until_ready(self) -> None:
        """Wait until recall searches by meaning too."""
        deadline = time.monotonic() + PATIENCE
        while self.call("status")["index_state"] != "ready":
            assert time.monotonic() < deadline, "the model never got ready"
            time.sleep(0.05)


class Wire:
    """A server process and its bare pipes."""

    def __init__(self, process: "subprocess.Popen[bytes]", errors: Path) -> None:
        self.process = process
        self._errors = errors
        self._number = 0
        self._read = b""

    @property
    def stderr(self) -> str:
        return self._errors.read_text(errors="replace")

    def send(self, line: str | bytes) -> None:
        data = line.encode() if isinstance(line, str) else line
        assert self.process.stdin is not None
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, **params: Any) -> int:
        """Send a request and return its number."""
        self._number += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}))
        return self._number

    def next_line(self, patience: float = PATIENCE) -> bytes:
        """Return the next line on stdout; b"" at its end."""
        assert self.process.stdout is not None
        descriptor = self.process.stdout.fileno()
        deadline = time.monotonic() + patience
        while b"\n" not in self._read:
            ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"nothing came within {patience:.0f} s"
            part = os.read(descriptor, 65_536)
            if not part:
                return b""
            self._read += part
        line, _, self._read = self._read.partition(b"\n")
        return line

    def answer(self, number: int) -> dict[str, Any]:
        """Return the answer to a request, passing over what else is said; every line must be JSON-RPC."""
        while True:
            message = json.loads(self.next_line())
            assert message["jsonrpc"] == "2.0"
            if message.get("id") == number:
                return message

    def shake_hands(self, version: str = "2025-11-25") -> dict[str, Any]:
        number = self.ask(
            "initialize", protocolVersion=version, capabilities={}, clientInfo={"name": "wire", "version": "1"}
        )
        answer = self.answer(number)
        self.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        return answer["result"]

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = self.answer(self.ask("tools/call", name=tool, arguments=arguments))["result"]
        assert not result.get("isError"), result
        return result["structuredContent"]

    def hang_up(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


def _text(answer: CallToolResult) -> str:
    [part] = answer.content
    return part.text


def _command(folder: Path, before: str, program: list[str]) -> tuple[list[str], Path]:
    pid_file = folder / f"pid-{time.monotonic_ns()}"
    return ["/bin/sh", "-c", _AS, "sh", str(pid_file), before, *program], pid_file


def _environment(home: Path, settings: dict[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("REVERIE_", "OPENAI_"))}
    return kept | {"REVERIE_HOME": str(home), "REVERIE_PROJECT": "tests", "REVERIE_ENGINE": "off"} | settings


_SERVE = [sys.executable, "-m", "reverie", "serve"]


@contextlib.contextmanager
def _starting(folder: Path) -> Iterator[Starter]:
    """Give a function that starts servers on a store in this folder; all of them are stopped at the end."""
    with start_blocking_portal() as portal, contextlib.ExitStack() as running:

        def start(
            home: Path | None = None,
            *,
            mode: str = "auto",
            before: str = ":",
            program: list[str] | None = None,
            **settings: str,
        ) -> Server:
            command, pid_file = _command(folder, before, program or _SERVE)
            errors = pid_file.with_suffix(".stderr")
            parameters = StdioServerParameters(
                command=command[0],
                args=command[1:],
                env=_environment(home or folder / "home", settings),
                cwd=folder,
            )
            stderr = running.enter_context(errors.open("w"))
            client = running.enter_context(
                portal.wrap_async_context_manager(Client(stdio_client(parameters, errlog=stderr), mode=mode))
            )
            return Server(portal, client, pid_file, errors)

        yield start


@contextlib.contextmanager
def _starting_here(folder: Path) -> Iterator[Starter]:
    """Give a function that starts servers in this process, by default on a store in this folder."""
    from reverie.server.app import build_server
    from reverie.server.engine import Engine, LazySession
    from reverie.settings import load_settings

    with start_blocking_portal() as portal, contextlib.ExitStack() as running:

        def start(home: Path | None = None, *, within: Path = folder, **settings: str) -> Server:
            environment = _environment(home or folder / "home", settings)
            engine = portal.call(Engine, lambda: load_settings(environment))
            running.callback(portal.call, engine.close)
            lazy = portal.call(LazySession, engine, within, environment)
            client = running.enter_context(portal.wrap_async_context_manager(Client(build_server(lazy))))
            return Server(portal, client)

        yield start


@pytest.fixture
def chance() -> random.Random:
    """Dice that fall the same way every time."""
    return random.Random(20260728)  # noqa: S311 - no secrets here


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Starter]:
    """Start servers on one store of the test's own."""
    with _starting(tmp_path) as starter:
        yield starter


@pytest.fixture
def start_here(tmp_path: Path) -> Iterator[Starter]:
    """Start servers in this process on one store of the test's own."""
    with _starting_here(tmp_path) as starter:
        yield starter


@pytest.fixture(scope="module")
def module_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the tests of a module share; `module_start` keeps its store in `home` there."""
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="module")
def module_start(module_folder: Path) -> Iterator[Starter]:
    """Start servers on one store that the tests of a module share."""
    with _starting(module_folder) as starter:
        yield starter


@pytest.fixture(scope="module")
def server(module_start: Starter) -> Server:
    """One server that the tests of a module share."""
    server = module_start()
    server.until_ready()
    return server


@pytest.fixture(scope="module")
def module_start_here(module_folder: Path) -> Iterator[Starter]:
    """Start servers in this process on one store that the tests of a module share."""
    with _starting_here(module_folder) as starter:
        yield starter


@pytest.fixture(scope="module")
def server_here(module_start_here: Starter) -> Server:
    """One server in this process that the tests of a module share."""
    server = module_start_here()
    server.until_ready()
    return server


@contextlib.contextmanager
def _wiring(folder: Path) -> Iterator[Callable[..., Wire]]:
    running: list[Wire] = []

    def start(home: Path | None = None, *, program: list[str] | None = None, **settings: str) -> Wire:
        errors = folder / f"wire-{len(running)}.stderr"
        with errors.open("wb") as stderr:
            process = subprocess.Popen(
                program or _SERVE,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=_environment(home or folder / "home", settings),
                cwd=folder,
            )
        running.append(Wire(process, errors))
        return running[-1]

    try:
        yield start
    finally:
        for wire in running:
            wire.close()


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Callable[..., Wire]]:
    """Start servers with bare pipes on one store of the test's own."""
    with _wiring(tmp_path) as starter:
        yield starter


@pytest.fixture(scope="module")
def shared_wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """One server with bare pipes, hands shaken, that the tests of a module share."""
    with _wiring(tmp_path_factory.mktemp("wire")) as starter:
        wire = starter()
        wire.shake_hands()
        yield wire


def _called(folder: Path, *arguments: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    """Run a command as a process would, with its own environment, folder, streams and umask, but in this process."""
    from reverie.cli.main import main

    encoding = settings.get("PYTHONIOENCODING", "utf-8")
    streams = [io.TextIOWrapper(io.BytesIO(), encoding, newline="") for _ in range(3)]
    streams[0].buffer.write(settings.pop("stdin", "").encode())
    streams[0].buffer.seek(0)
    before, umask, kept, here = (sys.stdin, sys.stdout, sys.stderr), os.umask(0o022), dict(os.environ), Path.cwd()
    try:
        sys.stdin, sys.stdout, sys.stderr = streams
        os.chdir(folder)
        wanted = _environment(folder / "home", settings)  # before: it keeps the rest of what is there
        os.environ.clear()
        os.environ.update(wanted)
        code = main(arguments)
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
        os.umask(umask)
        os.environ.clear()
        os.environ.update(kept)
        os.chdir(here)
    said = []
    for stream in streams[1:]:
        stream.flush()
        said.append(stream.buffer.getvalue().decode(encoding))
    return subprocess.CompletedProcess(["reverie", *arguments], code, *said)


@pytest.fixture(scope="session")
def called() -> "Callable[..., subprocess.CompletedProcess[str]]":
    """Run commands in this process: starting Python and LanceDB takes two seconds each time."""
    return _called


@pytest.fixture
def exported(tmp_path: Path) -> Callable[[], list[dict[str, Any]]]:
    """Read the whole store of the test with the real command."""

    def export() -> list[dict[str, Any]]:
        file = tmp_path / "export.jsonl"
        subprocess.run(
            [sys.executable, "-m", "reverie", "export", str(file)],
            env=_environment(tmp_path / "home", {}),
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )
        return [json.loads(line) for line in file.read_text("utf-8").splitlines()]

    return export
