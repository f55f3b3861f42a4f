"""One session, spoken to over its pipes as a client would, with a clock beside it; and the engine behind it."""

import atexit
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Self

from reverie.server import endpoint

SERVE = (sys.executable, "-m", "reverie", "serve")
_HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


_runtime = tempfile.mkdtemp(prefix="rvbench")  # a short path: a socket's may have a hundred characters


def environment_for(home: Path, engine: str = "auto") -> dict[str, str]:
    """Return this environment with nothing set but the data folder, the project and where engines listen."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("REVERIE_", "OPENAI_"))}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)  # users do not compile every module at every start
    own = {"REVERIE_HOME": str(home), "REVERIE_PROJECT": "bench", "REVERIE_RUNTIME": _runtime}
    return kept | own | {"REVERIE_ENGINE": engine}


def engine_of(home: Path, kind: str = "about") -> dict[str, Any]:
    """Return what the engine of a data folder says of itself; with the kind `stop` it leaves."""
    environment = environment_for(home)
    connection = endpoint.reach(environment, endpoint.hello(environment, kind, "", "/"), starting=False)
    connection.close()
    return connection.engine


def stop_engine(home: Path) -> None:
    """Stop the engine of a data folder, if there is one, and wait until it has gone."""
    with contextlib.suppress(endpoint.EngineUnavailable):
        _until_gone(engine_of(home, "stop")["pid"])


def stop_engines() -> None:
    """Stop every engine that was started from here, and wait until all have gone.

    An engine outlives its sessions and works on: on a folder that is being removed, and beside what is measured next.
    """
    stopped = []
    for file in Path(_runtime).glob("*.sock"):
        at = endpoint.Endpoint(_runtime, file.stem)
        with contextlib.suppress(endpoint.EngineUnavailable):
            connection = endpoint.connect(at, endpoint.hello({}, "stop", "", "/"), within=5)
            connection.close()
            stopped.append(connection.engine["pid"])
    for pid in stopped:
        _until_gone(pid)


def _until_gone(pid: int) -> None:
    program = Path(f"/proc/{pid}/cmdline")  # empty for one that has ended and that nobody has waited for
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        while b"engine_process" in program.read_bytes():
            time.sleep(0.01)


@atexit.register
def _stop_all() -> None:
    stop_engines()
    shutil.rmtree(_runtime)


def megabytes_of(pid: int) -> tuple[float, float]:
    """Return the megabytes of a process that are resident, and its share of them (PSS)."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii")
    sizes = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in text.splitlines()[1:]}
    return sizes["Rss"], sizes["Pss"]


class Session:
    """What a client starts, from start to end; `started` is when its process was."""

    def __init__(self, home: Path, program: tuple[str, ...] = SERVE, *, engine: str = "auto") -> None:
        project = home.parent / "project"  # beside the data, as it is for users: a project does not hold its store
        project.mkdir(exist_ok=True)
        self.home = home
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            program,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment_for(home, engine),
            cwd=project,
        )
        self._number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def age(self) -> float:
        """Seconds since the process was started."""
        return time.perf_counter() - self.started

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and return its result."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._number += 1
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        while line := self.process.stdout.readline():
            message = json.loads(line)
            if message.get("id") == self._number:
                return dict(message["result"])
        raise RuntimeError("The server has gone.")

    def shake_hands(self) -> Self:
        """Open the session as clients do."""
        assert self.process.stdin is not None
        self.ask("initialize", **_HELLO)
        self.process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        self.process.stdin.flush()
        return self

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its structured content."""
        result = self.ask("tools/call", name=tool, arguments=arguments)
        if result.get("isError"):
            raise RuntimeError(result["content"][0]["text"])
        return dict(result["structuredContent"])

    def timed(self, tool: str, **arguments: Any) -> float:
        """Call a tool and return the seconds it took to answer."""
        before = time.perf_counter()
        self.call(tool, **arguments)
        return time.perf_counter() - before

    def until_ready(self) -> Self:
        """Wait until recall searches by meaning."""
        while self.call("recall", query="is anybody there", limit=1)["index_state"] != "ready":
            time.sleep(0.02)
        return self

    def memory(self) -> tuple[float, float]:
        """Return the megabytes of this process that are resident, and its share of them (PSS)."""
        return megabytes_of(self.process.pid)

    def close(self) -> float:
        """Hang up and return the seconds until the process is gone."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        before = time.perf_counter()
        self.process.stdin.close()
        self.process.wait(30)
        took = time.perf_counter() - before
        self.process.stdout.close()
        return took
