"""What a command does with the engine: have its calls answered there, take the store over, see and end what runs.

Nothing heavy is imported here, and no event loop: a command that the engine answers should take no longer than Python
needs to start. A call blocks; Ctrl-C ends it, closes the connection, and the engine cancels the call.
"""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from reverie import errors
from reverie.errors import ReverieError, StoreUnavailable
from reverie.server.endpoint import (
    SECONDS_OF_SILENCE,
    Connection,
    Endpoint,
    EngineFrozen,
    EngineUnavailable,
    connect,
    hello,
    is_frozen,
    reach,
)
from reverie.server.engine_files import Lock
from reverie.tools.catalog import AnyTool, Progress, RemoteSession
from reverie.tools.requests import Request

ABOUT = "about"
"""A line of a connection of the kind `calls` that asks which store the engine has open, without waiting for it."""

SECONDS_TO_TELL = 2.0
"""How long an engine may take to say what it is; one that is well does so at once."""

_SECONDS_TO_STOP = 10.0  # an engine that says nothing for so long is ended the hard way, which loses nothing
_SECONDS_TO_DIE = 5.0
_POLL_SECONDS = 0.05
_MOST_SENDINGS = 5
_SECONDS_TO_BE_HANDED_IT = 60.0  # twice what an engine waits for the calls under way


class EngineSession(RemoteSession):
    """A session whose calls the engine answers.

    If the engine ends before it has answered, the next one is started and gets the call again; it knows the call by
    the session and its number, and does it once.
    """

    def __init__(self, environment: Mapping[str, str], folder: str, *, all_projects: bool = False) -> None:
        self._environment = environment
        self._hello = hello(environment, "calls", os.urandom(16).hex(), folder)
        self._all_projects = all_projects
        self._waits_for = ""  # or "model", or "tokenizer", which comes after it
        self._number = 0
        self._connection: Connection | None = None

    def connect(self) -> None:
        """Connect to the engine; start it if none runs.

        Raises:
            EngineUnavailable: if none can be had.
        """
        self._connection = reach(self._environment, self._hello)

    def close(self) -> None:
        """Close the connection; the engine cancels a call under way."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def warm(self) -> None:
        """Have the next call wait for the embedding model and the tokenizer."""
        self._waits_for = "tokenizer"

    async def warm_model(self) -> None:
        """Have the next call wait for the embedding model."""
        self._waits_for = "model"

    async def run(self, tool: AnyTool, request: Request, progress: Progress) -> Any:
        """Call a tool in the engine; return its result, or raise its error.

        Raises:
            ReverieError: as in this process, by its class and message; StoreUnavailable if engines keep ending.
        """
        self._number += 1
        call = {
            "tool": tool.name,
            "arguments": plain(request),
            "number": self._number,
            "all_projects": self._all_projects,
            "waits_for": self._waits_for,
        }
        self._waits_for = ""
        for sending in range(_MOST_SENDINGS):
            answer = await self._answer(call | {"repeated": sending > 0}, progress)
            if "error" in answer:
                raise error_from(answer)
            if answer:
                return decoded(tool.result, answer["result"])
            self.close()  # the engine has ended
            try:
                self.connect()
            except EngineUnavailable as problem:
                raise StoreUnavailable(f"The engine ended and the next cannot be had: {problem}. {_LOG}") from None
        raise StoreUnavailable(f"The engine ended {_MOST_SENDINGS} times while it worked on this. {_LOG}")

    async def _answer(self, call: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
        """Send a call and return its answer, passing progress on; nothing if the engine ends before it answers."""
        if self._connection is None:
            return {}
        try:
            self._connection.send(json.dumps(call).encode() + b"\n")
        except OSError:
            return {}
        with _watched(self._connection):
            while line := self._connection.receive():
                message: dict[str, Any] = json.loads(line)
                if "progress" not in message:
                    return message
                await progress(*message["progress"])
        return {}


@contextmanager
def _watched(connection: Connection) -> Iterator[None]:
    """Close the connection, so that whoever reads from it gets nothing, once the engine is frozen.

    Raises:
        StoreUnavailable: if that has happened.
    """
    done, found = threading.Event(), threading.Event()

    def watch() -> None:
        while not done.wait(SECONDS_OF_SILENCE):
            if is_frozen(connection.endpoint) and not done.is_set():
                found.set()
                connection.close()
                return

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        done.set()
    if found.is_set():
        raise StoreUnavailable(f"No answer: {EngineFrozen(connection.endpoint)}. {_LOG}")


_LOG = "`reverie engine log` shows why; `--no-engine` does without."


# -- values as JSON ----------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """Return a request or a result as JSON can hold it."""
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list | tuple) else value


def decoded(hint: Any, value: Any) -> Any:
    """Return what `plain` was given, by its type.

    Raises:
        TypeError: if the value does not have that type.
    """
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return decoded(parts[0], value)
    if origin in (Union, UnionType):
        if value is None:
            return None
        [*kinds] = (part for part in parts if part is not NoneType)
        return decoded(kinds[0], value) if len(kinds) == 1 else value  # several: words of several Literals
    if origin is list:
        return [decoded(parts[0], part) for part in _a(list, value)]
    if origin is tuple:
        return tuple(decoded(parts[0], part) for part in _a(list, value))
    if origin is dict:
        return {name: decoded(parts[1], part) for name, part in _a(dict, value).items()}
    if isinstance(hint, type) and is_dataclass(hint):
        hints = get_type_hints(hint, include_extras=True)
        return hint(**{name: decoded(hints[name], part) for name, part in _a(dict, value).items()})
    return value


def _a(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is no {kind.__name__}.")
    return value


def error_to_send(error: ReverieError) -> dict[str, Any]:
    """Return an error as the engine sends it: its class, its message, and the facts it keeps."""
    return {"error": type(error).__name__, "message": str(error), "facts": plain(vars(error))}


def error_from(answer: Mapping[str, Any]) -> ReverieError:
    """Return the error that the engine sent, of the same class; one that is unknown here keeps its message."""
    kind = getattr(errors, str(answer["error"]), ReverieError)
    if not (isinstance(kind, type) and issubclass(kind, ReverieError)):
        kind = ReverieError
    error: ReverieError = kind.__new__(kind)
    error.args = (str(answer["message"]),)
    for name, fact in answer.get("facts", {}).items():
        setattr(error, name, tuple(fact) if isinstance(fact, list) else fact)
    return error


# -- the engines of this user ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningEngine:
    """An engine in the runtime folder, and what it says of itself."""

    key: str
    is_ours: bool  # it is the one for these settings
    pid: int
    version: str
    seconds: int  # how long it has been running
    sessions: int
    memory_bytes: int
    is_dreaming: bool
    log: str
    store: str | None = None  # the folder of the domain that it has open
    last_dream: str | None = None
    is_frozen: bool = False  # it runs, and does not say what it is


def endpoints(environment: Mapping[str, str]) -> list[Endpoint]:
    """Return where engines of this user listen, or listened until they were killed."""
    own = Endpoint.of(environment)
    try:
        names = sorted(os.listdir(own.folder))
    except OSError:
        return []
    found = [name.rpartition(".") for name in names]
    return [
        Endpoint(own.folder, key, by_port=ending == "port")
        for key, dot, ending in found
        if dot and ending in ("sock", "port")
    ]


def running_engines(environment: Mapping[str, str]) -> list[RunningEngine]:
    """Ask every engine of this user what it is; those that have ended are left out."""
    own = Endpoint.of(environment).key
    found: list[RunningEngine] = []
    for endpoint in endpoints(environment):
        try:
            connection = connect(endpoint, hello(environment, "calls", "", os.sep), within=SECONDS_TO_TELL)
        except EngineFrozen:
            found.append(_frozen(endpoint, is_ours=endpoint.key == own))
            continue
        except EngineUnavailable:
            continue
        said = connection.engine | _about_store(connection)
        known = {one.name for one in fields(RunningEngine)}
        told = {name: value for name, value in said.items() if name in known}
        found.append(RunningEngine(**told | {"key": endpoint.key, "is_ours": endpoint.key == own}))
    return found


def _about_store(connection: Connection) -> dict[str, Any]:
    """Ask which store is open; an engine that is still starting has none, and is not waited for."""
    try:
        connection.wait_at_most(SECONDS_TO_TELL)
        connection.send(json.dumps({ABOUT: True}).encode() + b"\n")
        line = connection.receive()
    except OSError:
        line = b""
    finally:
        connection.close()
    return json.loads(line).get("result", {}) if line else {}


def _frozen(endpoint: Endpoint, *, is_ours: bool) -> RunningEngine:
    return RunningEngine(
        key=endpoint.key,
        is_ours=is_ours,
        pid=endpoint.holder() or 0,
        version="unknown",
        seconds=0,
        sessions=0,
        memory_bytes=0,
        is_dreaming=False,
        log=endpoint.log,
        is_frozen=True,
    )


def stop_engine(environment: Mapping[str, str], key: str) -> bool:
    """Ask an engine to stop; return whether there was one to ask. It finishes the calls under way first.

    One that is frozen is killed, which loses nothing that was acknowledged.
    """
    [*there] = (endpoint for endpoint in endpoints(environment) if endpoint.key == key)
    for endpoint in there:
        try:
            connect(endpoint, hello(environment, "stop", "", os.sep), within=_SECONDS_TO_STOP).close()
        except EngineFrozen:
            return _killed(endpoint)
        except EngineUnavailable:
            continue
        return True
    return False


def _killed(endpoint: Endpoint) -> bool:
    """Kill the engine that holds the lock of an endpoint and remove its files; return whether it has ended.

    The lock says that the process id is its own: the kernel releases it with the process.
    """
    pid = endpoint.holder()
    if pid is None:
        return False
    deadline = time.monotonic() + _SECONDS_TO_DIE
    while not (lock := Lock(endpoint.lock)).is_held:
        if time.monotonic() >= deadline:
            return False
        try:
            os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        except OSError:
            return False
        time.sleep(_POLL_SECONDS)
    for path in (endpoint.socket, endpoint.port):
        if os.path.lexists(path):
            os.unlink(path)
    lock.release()
    return True


def page_address(environment: Mapping[str, str], folder: str, port: int) -> str:
    """Ask the engine, which is started if need be, to serve the page; return an address that opens it once.

    Raises:
        EngineUnavailable: if there is no engine to be had.
        ReverieError: if it cannot listen on that port.
    """
    said = hello(environment, "page", os.urandom(16).hex(), folder) | {"port": port}
    connection = reach(environment, said)
    try:
        with _watched(connection):
            line = connection.receive()
    finally:
        connection.close()
    answer = json.loads(line) if line else {}
    if "error" in answer:
        raise error_from(answer)
    if not answer:
        raise EngineUnavailable("the engine ended before it answered")
    address: str = answer["result"]["address"]
    return address


@contextmanager
def store_taken_over(environment: Mapping[str, str], store: str) -> Iterator[None]:
    """Have a store for this process alone: every engine that uses it closes it, and its sessions wait.

    However this process ends, the engines open the store again.

    Raises:
        StoreBusy: if calls under way do not end in time, or another command has the store to itself.
    """
    taken: list[Connection] = []
    try:
        if environment.get("REVERIE_ENGINE", "").strip() != "off":
            for endpoint in endpoints(environment):
                said = hello(environment, "hand over", "", os.sep) | {"store": store}
                try:
                    taken.append(connect(endpoint, said, within=SECONDS_TO_TELL))
                except EngineUnavailable:
                    continue  # it has ended, or is of another version: as safe as another process is
                taken[-1].wait_at_most(_SECONDS_TO_BE_HANDED_IT)
                answer = json.loads(taken[-1].receive() or b"{}")  # nothing: it has just ended, or hangs
                if "error" in answer:
                    raise error_from(answer)
        yield
    finally:
        for connection in taken:
            connection.close()
