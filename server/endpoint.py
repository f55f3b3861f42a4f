"""Where the engine of a configuration listens, how it is started, and how a relay or a command connects to it.

Imports only a little of the standard library: `reverie serve` starts with this module, and a client waits for it.

A connection begins with one line of JSON from each side. On a Unix socket the kernel says who the other side is. On a
loopback port both sides prove first that they know the secret in the port file, which only its owner can read.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import socket
import stat
import struct
import sys
import time
from collections.abc import Mapping

import reverie
from reverie import __version__
from reverie.folders import CLIENT_FOLDERS, data_folder, runtime_folder

TYPE_CHECKING = False  # typing takes longer to import than all of this, and a client waits
if TYPE_CHECKING:
    from typing import Any, BinaryIO

PROTOCOL = 1
"""The number of the protocol between a relay and its engine."""

SECONDS_TO_REACH = 3.0
"""A relay that has no engine after this long serves alone."""

SECONDS_OF_SILENCE = 20.0
"""After this long without an answer, whoever waits asks whether the engine still says anything at all."""

SECONDS_TO_SHOW_LIFE = 30.0
"""An engine that answers no hello for so long is taken as frozen; one that only works hard answers in time."""

BEHIND = "behind"
"""A field of a call that nobody waits for: the engine answers at once, does it, and writes the trace of the hook."""

LONGEST_LINE = 64 * 1024 * 1024
SUBPACKAGES = (
    "cli",
    "clients",
    "codebase",
    "dream",
    "embeddings",
    "guard",
    "lifecycle",
    "llm",
    "recall",
    "server",
    "storage",
    "text",
    "tools",
)

_OF_A_SESSION = frozenset({"REVERIE_PROJECT", "REVERIE_RUNTIME"})
_PLACES = ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "APPDATA", "LOCALAPPDATA", "USERPROFILE")
_MODEL_SERVER = ("OPENAI_API_KEY", "OPENAI_BASE_URL")
_BUCKETS = ("AWS_", "GOOGLE_", "AZURE_")
_POLL_SECONDS = 0.02
_LONGEST_PAUSE = 0.3
LOCKED_BYTES = 1
"""Of the lock file; Windows lets nobody else read them, so what is to be read comes after."""

_MOST_FAILURES = 3
_KEY_LENGTH = 16


_started: list[Any] = []


class EngineUnavailable(Exception):
    """No engine can be reached; the message says why."""


class EngineFrozen(EngineUnavailable):
    """An engine is there and says nothing: it was suspended, or hangs."""

    def __init__(self, endpoint: Endpoint) -> None:
        pid = endpoint.holder()
        process = f" (process {pid})" if pid else ""
        super().__init__(f"the engine{process} runs but does not answer; `reverie engine stop` ends it")


class Endpoint:
    """The socket, the lock and the log of the engine for one configuration."""

    def __init__(self, folder: str, key: str, *, by_port: bool = False) -> None:
        self.folder = folder
        self.key = key
        self.by_port = by_port or not hasattr(socket, "AF_UNIX")
        self.socket = os.path.join(folder, f"{key}.sock")
        self.port = os.path.join(folder, f"{key}.port")
        self.lock = os.path.join(folder, f"{key}.lock")
        self.log = os.path.join(folder, f"{key}.log")

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Endpoint:
        """Return the endpoint for the settings of an environment."""
        by_port = environment.get("REVERIE_ENGINE", "").strip() == "port"
        return cls(runtime_folder(environment), engine_key(environment), by_port=by_port)

    def holder(self) -> int | None:
        """Return the process id that the last holder of the lock wrote; whether it still runs is not known."""
        try:
            with open(self.lock, "rb") as file:
                file.seek(LOCKED_BYTES)
                return int(file.read(20))
        except (OSError, ValueError):
            return None

    def prepare(self) -> None:
        """Make the folder, and check that it is ours and private.

        Raises:
            EngineUnavailable: if it is not, or cannot be made.
        """
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            found = os.lstat(self.folder)
        except OSError as error:
            raise EngineUnavailable(f"{self.folder} cannot be made ({error.strerror})") from error
        if os.name == "posix":
            is_private = stat.S_ISDIR(found.st_mode) and not stat.S_IMODE(found.st_mode) & 0o077
            if not is_private or found.st_uid != os.getuid():
                raise EngineUnavailable(f"{self.folder} is not a folder that only you can enter")


def engine_key(environment: Mapping[str, str]) -> str:
    """Return the name of the engine that serves a configuration: a digest of everything that must be equal.

    That is the user, every setting but those of a session, `reverie.toml`, Python, and this package's version and
    files. After an upgrade or with another setting a session gets another engine.
    """
    settings = {
        name: value.strip()
        for name, value in environment.items()
        if name.startswith("REVERIE_") and name not in _OF_A_SESSION and value.strip()
    }
    if "://" in settings.get("REVERIE_HOME", ""):  # credentials and addresses of buckets
        settings |= {name: value for name, value in environment.items() if name.startswith(_BUCKETS)}
    if settings.get("REVERIE_ENGINE") == "auto":
        del settings["REVERIE_ENGINE"]
    file = _settings_file(environment)
    uses_a_server = b"openai:" in file or any(value.startswith("openai:") for value in settings.values())
    parts: list[Any] = [
        PROTOCOL,
        __version__,
        _package_stamp(),
        sys.version,
        os.path.realpath(sys.executable),
        os.getuid() if hasattr(os, "getuid") else environment.get("USERNAME", ""),
        sorted(settings.items()),
        [environment.get(name, "") for name in (*_PLACES, *(_MODEL_SERVER if uses_a_server else ()))],
        hashlib.sha256(file).hexdigest(),
    ]
    return hashlib.sha256(json.dumps(parts).encode("utf-8", "surrogatepass")).hexdigest()[:_KEY_LENGTH]


def hello(environment: Mapping[str, str], kind: str, session: str, folder: str) -> dict[str, Any]:
    """Return the first message of a connection: version, folder, and the variables that a session reads."""
    shown = {
        name: value for name, value in environment.items() if name.startswith("REVERIE_") or name in CLIENT_FOLDERS
    }
    return {
        "protocol": PROTOCOL,
        "version": __version__,
        "kind": kind,
        "session": session,
        "folder": folder,
        "environment": shown,
    }


class Connection:
    """A connection that the engine has accepted: lines in, lines out."""

    def __init__(self, endpoint: Endpoint, connected: socket.socket, lines: BinaryIO, engine: dict[str, Any]) -> None:
        self.endpoint = endpoint
        self._socket = connected
        self._lines = lines
        self.engine = engine  # the engine's first message

    def send(self, line: bytes) -> None:
        """Send a line."""
        self._socket.sendall(line)

    def receive(self) -> bytes:
        """Return the next line; nothing when the engine has gone."""
        try:
            line = self._lines.readline()
        except OSError:
            return b""
        return line if line.endswith(b"\n") else b""

    def wait_at_most(self, seconds: float) -> None:
        """Treat an engine that is silent for so long as gone."""
        self._socket.settimeout(seconds)

    def wait_for_ever(self) -> None:
        """Wait for lines as long as it takes; only what the engine does not take in within a while is an error."""
        self._socket.settimeout(None)
        if os.name == "posix":
            span = struct.pack("ll", int(SECONDS_TO_SHOW_LIFE), 0)
        else:
            span = struct.pack("L", int(SECONDS_TO_SHOW_LIFE * 1000))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, span)

    def finish(self) -> None:
        """Say that nothing more will be sent."""
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            return

    def close(self) -> None:
        """Close the connection; a thread that waits for a line gets none."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the other side closed it first
        finally:
            self._lines.close()
            self._socket.close()


def connect(endpoint: Endpoint, said: Mapping[str, Any], *, within: float) -> Connection:
    """Connect to an engine that runs.

    Raises:
        EngineUnavailable: if none runs, it does not answer in time, or it refuses.
    """
    connected = _connected(endpoint, within)
    lines = connected.makefile("rb")
    connection = Connection(endpoint, connected, lines, {})
    try:
        message = dict(said)
        if endpoint.by_port:
            message |= _proof_to(connected, lines, _port_file(endpoint)[1])
        connected.sendall(_line(message))
        answer = _read(lines)
        if "error" in answer:
            raise EngineUnavailable(str(answer["error"]))
        connection.engine = answer
        connection.wait_for_ever()
        return connection
    except TimeoutError:
        connection.close()
        raise EngineFrozen(endpoint) from None
    except OSError as error:
        connection.close()
        raise EngineUnavailable(f"the engine does not answer ({error})") from error
    except EngineUnavailable:
        connection.close()
        raise


def is_frozen(endpoint: Endpoint) -> bool:
    """Return whether an engine is there that does not even say a hello."""
    try:
        connect(endpoint, hello({}, "about", "", os.sep), within=SECONDS_TO_SHOW_LIFE).close()
    except EngineFrozen:
        return True
    except EngineUnavailable:
        return False  # it refuses, which is an answer, or has gone, which its connections notice
    return False


def reach(
    environment: Mapping[str, str],
    said: Mapping[str, Any],
    *,
    within: float = SECONDS_TO_REACH,
    starting: bool = True,
) -> Connection:
    """Connect to the engine of an environment's settings; start it if none runs.

    Raises:
        EngineUnavailable: if there is none within so many seconds.
    """
    endpoint = Endpoint.of(environment)
    endpoint.prepare()
    deadline = time.monotonic() + within
    started: Any = None
    failures = 0
    pause = _POLL_SECONDS
    while True:
        try:
            return connect(endpoint, said, within=max(deadline - time.monotonic(), _POLL_SECONDS))
        except EngineUnavailable as error:
            if not starting or time.monotonic() >= deadline:
                raise
            code = None if started is None else started.poll()
            if code is not None and code > 0:  # below zero: it was killed; zero: another engine was still ending
                failures += 1
                if failures >= _MOST_FAILURES:
                    raise EngineUnavailable(f"it ended with exit code {code}; {endpoint.log} says why") from error
            if code == 0:
                pause = min(2 * pause, _LONGEST_PAUSE)  # its predecessor may take seconds to leave
            if started is None or code is not None:
                started = start_engine(endpoint, environment)
        time.sleep(pause)


def start_engine(endpoint: Endpoint, environment: Mapping[str, str]) -> Any:
    """Start an engine, detached from this process and its terminal. If one runs already, the new one leaves at once.

    Raises:
        EngineUnavailable: if the system refuses.
    """
    import subprocess  # only the first session of a machine needs it

    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP
    own = {name: value for name, value in environment.items() if name not in (*CLIENT_FOLDERS, "REVERIE_PROJECT")}
    try:
        # Without waiting: a pipe of that name has nobody who reads it.
        how = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NONBLOCK", 0)
        with open(os.open(endpoint.log, how, 0o600), "ab") as log:
            engine = subprocess.Popen(  # noqa: S603 - this Python, and a module of ours
                [
                    sys.executable,
                    "-P",  # else a folder `reverie` in the user's project would be imported
                    "-m",
                    "reverie.server.engine_process",
                    endpoint.folder,
                    endpoint.key,
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=os.path.abspath(os.sep),  # the session's folder may be moved or unmounted later
                env=own,
                creationflags=flags,
                start_new_session=os.name == "posix",  # Ctrl-C and the end of a terminal are for the relay
            )
        _started[:] = [one for one in _started if one.poll() is None]  # poll() collects those that ended
        _started.append(engine)
        return engine
    except OSError as error:
        raise EngineUnavailable(f"it cannot be started ({error.strerror})") from error


def proof(secret: str, side: str, nonce: str) -> str:
    """Return the proof that a side of a loopback connection knows the secret."""
    return hmac.digest(secret.encode(), f"{side} {nonce}".encode(), "sha256").hex()


def _connected(endpoint: Endpoint, within: float) -> socket.socket:
    try:
        if endpoint.by_port:
            return socket.create_connection(("127.0.0.1", _port_file(endpoint)[0]), timeout=within)
        connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connected.settimeout(within)
        try:
            _connect(connected, endpoint.socket, time.monotonic() + within)
        except OSError:
            connected.close()
            raise
    except (TimeoutError, BlockingIOError):
        raise EngineFrozen(endpoint) from None
    except OSError as error:
        raise EngineUnavailable(f"no engine runs ({error.strerror or error})") from error
    return connected


def _connect(connected: socket.socket, path: str, deadline: float) -> None:
    while True:
        try:
            connected.connect(path)
            return
        except BlockingIOError:  # so many wait to be accepted that Linux lets nobody wait in line
            if time.monotonic() >= deadline:
                raise
            time.sleep(_POLL_SECONDS)


def _port_file(endpoint: Endpoint) -> tuple[int, str]:
    try:
        with open(endpoint.port, encoding="ascii") as file:
            port, secret = file.read().split()
        return int(port), secret
    except (OSError, ValueError) as error:
        raise EngineUnavailable(f"no engine runs ({error})") from error


def _proof_to(connected: socket.socket, lines: BinaryIO, secret: str) -> dict[str, str]:
    """Ask the engine to prove that it knows the secret, and return our proof; another program does not get it."""
    nonce = os.urandom(16).hex()
    connected.sendall(_line({"nonce": nonce}))
    answer = _read(lines)
    if not hmac.compare_digest(str(answer.get("proof", "")), proof(secret, "engine", nonce)):
        raise EngineUnavailable("another program listens on its port")
    return {"proof": proof(secret, "client", str(answer.get("nonce", "")))}


def _read(lines: BinaryIO) -> dict[str, Any]:
    try:
        answer = json.loads(lines.readline(LONGEST_LINE))
    except ValueError:
        raise EngineUnavailable("what listens there does not answer as an engine does") from None
    if not isinstance(answer, dict):
        raise EngineUnavailable("what listens there does not answer as an engine does")
    return answer


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message).encode("utf-8", "surrogateescape") + b"\n"


def _settings_file(environment: Mapping[str, str]) -> bytes:
    home = environment.get("REVERIE_HOME", "").strip() or data_folder(environment)
    try:
        with open(os.path.join(os.path.expanduser(home), "reverie.toml"), "rb") as file:
            return file.read()
    except OSError:
        return b""


def _package_stamp() -> list[int]:
    """Return how many files the package has and when the newest changed: another state of it gets another engine.

    Raises:
        EngineUnavailable: if files of the package are missing, as while it is upgraded.
    """
    try:
        return _stamp_of_files()
    except (OSError, ValueError) as error:
        raise EngineUnavailable(f"Reverie's own files are being replaced or were removed ({error})") from error


def _stamp_of_files() -> list[int]:
    base = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    changed: list[int] = []
    for folder in (
        os.path.dirname(os.path.realpath(reverie.__file__)),
        *(os.path.join(base, n) for n in SUBPACKAGES),
    ):
        with os.scandir(folder) as entries:
            changed += [entry.stat().st_mtime_ns for entry in entries if entry.name.endswith(".py")]
    return [max(changed), len(changed)]
