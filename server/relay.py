"""The relay: what a client starts. It copies messages between stdin and stdout and the machine's engine.

Standard library only, so that a handshake takes a tenth of what importing the `mcp` package does. If the engine ends,
the relay reaches or starts the next one, repeats the client's handshake and the unanswered requests; the engine
recognises a repeated request by its session and id, and runs it once.
"""

import json
import os
import secrets
import signal
import sys
import threading
from collections.abc import Mapping
from queue import Empty, SimpleQueue
from typing import Any

from reverie.server.endpoint import (
    SECONDS_OF_SILENCE,
    Connection,
    EngineFrozen,
    EngineUnavailable,
    hello,
    is_frozen,
    reach,
)

REPEATED = "reverie/repeated"
"""The notification that lists the ids of requests which are sent a second time."""

MOST_SENDINGS = 10
"""A request on which so many engines ended gets an error instead of another try."""

SECONDS_TO_REACH_AGAIN = 30.0
"""How long a client's request waits for the next engine before it is answered with an error."""

_SECONDS_TO_FINISH = 2.0
_SECONDS_TO_LEAVE = 60.0
_MOST_TRIES = 20
_INTERNAL_ERROR = -32603

_Message = dict[str, Any]


class _Request:
    """A request that has no answer yet."""

    def __init__(self, line: bytes) -> None:
        self.line = line
        self.times_sent = 0


class _Event:
    """Something that a thread has read: a line, or an end if there is none."""

    def __init__(self, line: bytes, connection: Connection | None = None) -> None:
        self.line = line
        self.connection = connection  # None: the client


class Relay:
    """Copies messages between a client and the engine, and keeps the session when an engine ends."""

    def __init__(self, environment: Mapping[str, str], folder: str) -> None:
        self._environment = environment
        self._hello = hello(environment, "session", secrets.token_hex(16), folder)
        self._events: SimpleQueue[_Event] = SimpleQueue()
        self._connection: Connection | None = None
        self._unanswered: dict[str, _Request] = {}
        self._initialize: bytes | None = None  # the client's handshake, once it is answered
        self._initialized: bytes | None = None

    def connect(self) -> None:
        """Reach the engine.

        Raises:
            EngineUnavailable: if there is none.
        """
        self._take(reach(self._environment, self._hello))

    def run(self) -> int:
        """Copy until the client closes stdin; return the exit code."""
        threading.Thread(target=self._read_client, daemon=True).start()
        while True:
            event = self._next_event()
            if event.connection is None:
                if not event.line:
                    self._finish()
                    return 0
                self._from_client(event.line)
            elif event.connection is self._connection:
                if event.line:
                    self._from_engine(event.line)
                else:
                    self._lost()

    def _next_event(self) -> _Event:
        """Wait for a line; while a request has no answer, look now and then whether the engine is frozen."""
        while True:
            connection = self._connection
            try:
                if connection is None or not self._unanswered:
                    return self._events.get()
                return self._events.get(timeout=SECONDS_OF_SILENCE)
            except Empty:
                if connection is not None and is_frozen(connection.endpoint) and self._events.empty():
                    self._leave_frozen(connection)

    # -- from the client ---------------------------------------------------------------------------------

    def _read_client(self) -> None:
        lines = sys.stdin.buffer
        try:
            while line := lines.readline():
                self._events.put(_Event(line))
        finally:
            self._events.put(_Event(b""))
            # Nobody waits for answers any more: whatever holds up the main thread, this process ends.
            leaving = threading.Timer(_SECONDS_TO_LEAVE, os._exit, (0,))
            leaving.daemon = True
            leaving.start()

    def _from_client(self, line: bytes) -> None:
        message = _read(line)
        method, number = message.get("method"), message.get("id")
        request = _Request(line) if method is not None and number is not None else None
        if request is not None:
            self._unanswered[json.dumps(number)] = request
        elif method == "notifications/initialized":
            self._initialized = line
        elif method == "notifications/cancelled":
            self._unanswered.pop(json.dumps(_part(message, "params").get("requestId")), None)
        if self._connection is None:
            self._reconnect()  # which sends all requests that have no answer
            if request is not None:
                return
        elif request is not None:
            request.times_sent = 1
        self._send(line)

    # -- from the engine ---------------------------------------------------------------------------------

    def _take(self, connection: Connection) -> None:
        self._connection = connection
        threading.Thread(target=self._read_engine, args=(connection,), daemon=True).start()

    def _read_engine(self, connection: Connection) -> None:
        while line := connection.receive():
            self._events.put(_Event(line, connection))
        self._events.put(_Event(b"", connection))

    def _from_engine(self, line: bytes) -> None:
        message = _read(line)
        if "method" not in message and "id" in message:
            request = self._unanswered.pop(json.dumps(message["id"]), None)
            if request is not None and _read(request.line).get("method") == "initialize" and "result" in message:
                self._initialize = request.line
        _write(line)

    # -- the next engine ---------------------------------------------------------------------------------

    def _lost(self) -> None:
        """Handle the end of the engine: find another at once if a request waits, else with the next message."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        if self._unanswered:
            self._reconnect()

    def _leave_frozen(self, connection: Connection) -> None:
        """Tell whoever waits that the engine is frozen; the next request looks for an engine again."""
        self._connection = None
        connection.close()
        for number in list(self._unanswered):
            self._give_up(number, str(EngineFrozen(connection.endpoint)))

    def _reconnect(self) -> None:
        """Reach an engine and repeat the session's state; if there is none, answer waiting requests with an error."""
        for number, request in list(self._unanswered.items()):
            if request.times_sent >= MOST_SENDINGS:
                self._give_up(number, f"it ended {MOST_SENDINGS} times while it worked on this")
        for _ in range(_MOST_TRIES):
            try:
                connection = reach(self._environment, self._hello, within=SECONDS_TO_REACH_AGAIN)
            except EngineUnavailable as error:
                reason = str(error)
                break
            try:
                self._resume(connection)
            except OSError as error:  # it ended meanwhile
                reason = str(error)
                connection.close()
                continue
            self._take(connection)
            return
        for number in list(self._unanswered):
            self._give_up(number, reason)

    def _resume(self, connection: Connection) -> None:
        """Repeat the handshake and the unanswered requests."""
        self._repeat_handshake(connection)
        repeated = [json.loads(number) for number, request in self._unanswered.items() if request.times_sent]
        if repeated:
            connection.send(_line({"jsonrpc": "2.0", "method": REPEATED, "params": {"ids": repeated}}))
        for request in self._unanswered.values():
            request.times_sent += 1
            connection.send(request.line)

    def _repeat_handshake(self, connection: Connection) -> None:
        if self._initialize is None:
            return
        connection.wait_at_most(SECONDS_TO_REACH_AGAIN)
        connection.send(self._initialize)
        wanted = _read(self._initialize).get("id")
        while line := connection.receive():
            answer = _read(line)
            if "method" not in answer and answer.get("id") == wanted:
                connection.wait_for_ever()
                if self._initialized is not None:
                    connection.send(self._initialized)
                return
        raise OSError("the engine ended during the handshake")

    def _give_up(self, number: str, reason: str) -> None:
        del self._unanswered[number]
        problem = (
            f"Reverie's engine cannot be reached: {reason}. Try again, or see `reverie engine` and `reverie doctor`."
        )
        _write(_error(json.loads(number), problem))

    def _send(self, line: bytes) -> None:
        if self._connection is None:
            return  # waiting requests have their error; a notification is dropped
        try:
            self._connection.send(line)
        except OSError:
            # The reading thread notices, and unanswered requests are sent again. If the engine takes nothing
            # in any more, half a line is lost, and with it the connection.
            self._connection.close()

    def _finish(self) -> None:
        """Handle the end of the client: pass on the engine's last messages, for a moment."""
        if self._connection is None:
            return
        self._connection.finish()
        ending = threading.Timer(_SECONDS_TO_FINISH, self._connection.close)
        ending.daemon = True
        ending.start()
        while True:
            event = self._events.get()
            if event.connection is self._connection:
                if not event.line:
                    return
                _write(event.line)


def serve(environment: Mapping[str, str]) -> int:
    """Serve MCP on stdin and stdout: through the machine's engine, or in this process where none can be reached."""
    if environment.get("REVERIE_ENGINE", "").strip() == "off":
        return _serve_alone("REVERIE_ENGINE is off")
    relay = Relay(environment, _working_folder())
    try:
        relay.connect()
    except EngineUnavailable as error:
        return _serve_alone(str(error))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    try:
        return relay.run()
    except BrokenPipeError:
        return 0


def _serve_alone(reason: str) -> int:
    try:
        from reverie.server.stdio import serve
        from reverie.settings import load_settings
    except ImportError as error:
        return _refuse(
            f"Reverie cannot be loaded ({error}): its files are incomplete, as while it is upgraded. "
            "Install it again and restart this client; `reverie engine` says what still runs."
        )
    return serve(load_settings, f"none, because {reason}: this session works alone")


def _refuse(reason: str) -> int:
    """Answer every request with an error until the client closes stdin."""
    try:
        while line := sys.stdin.buffer.readline():
            message = _read(line)
            if message.get("method") is not None and message.get("id") is not None:
                _write(_error(message["id"], reason))
    except BrokenPipeError:
        pass  # the client has gone
    return 1


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return os.path.abspath(os.sep)


def _leave(number: int, frame: object) -> None:
    os._exit(0)  # the engine sees the connection close


def _read(line: bytes) -> _Message:
    """Return a message; an empty one if the line is no message, which the engine will answer."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _part(message: _Message, name: str) -> _Message:
    part = message.get(name)
    return part if isinstance(part, dict) else {}


def _line(message: _Message) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _error(number: object, problem: str) -> bytes:
    return _line({"jsonrpc": "2.0", "id": number, "error": {"code": _INTERNAL_ERROR, "message": problem}})


def _write(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
