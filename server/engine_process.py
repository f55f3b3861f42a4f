"""The resident engine: one process per user and configuration, to which relays and commands connect.

It takes its lock and listens before anything slow is imported. It leaves some minutes after its last session.
"""

import asyncio
import hmac
import json
import logging
import os
import secrets
import signal
import socket
import struct
import sys
import time
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from reverie import __version__
from reverie.server.endpoint import LONGEST_LINE, PROTOCOL, Endpoint, EngineUnavailable, proof
from reverie.server.engine_files import Lock, identity, listen, remove_old_logs, shorten_log

if TYPE_CHECKING:
    from reverie.server.engine import Engine
    from reverie.server.page_access import KeptPageFile
    from reverie.server.page_server import PageServer

SECONDS_FOR_A_HELLO = 5.0
LONGEST_HELLO = 1024 * 1024
MOST_STRANGERS = 128
"""Connections that have not said who they are; more are closed at once, and a relay among them tries again."""

MOST_CONNECTIONS = 512
_SECONDS_BETWEEN_LOOKS = 1.0
_SECONDS_TO_FINISH = 5.0
_OPEN_FILES = 4096  # of 512 sessions and the tables; macOS allows 256 unless asked

log = logging.getLogger("reverie.engine")


class Refused(Exception):
    """A connection that is not served; the message is for whoever connected."""


class EngineProcess:
    """Serves every connection of one endpoint with one engine."""

    def __init__(self, endpoint: Endpoint, secret: str) -> None:
        self._endpoint = endpoint
        self._secret = secret
        self._loading: asyncio.Task[Engine] | None = None
        self._connections: dict[asyncio.Task[None], str] = {}  # the kind of each
        self._strangers = 0
        self._began = time.monotonic()
        self._left = time.monotonic()  # when the last connection ended
        self._stopping = asyncio.Event()
        self._page: PageServer | None = None  # once somebody asked for it
        self._leaves_unused = False
        self._listens_at = endpoint.port if endpoint.by_port else endpoint.socket
        self._file = identity(self._listens_at)

    async def serve(self, listening: socket.socket) -> None:
        """Serve until asked to stop, or until nobody has been here for a while."""
        for number in (signal.SIGTERM, signal.SIGINT):
            with suppress(NotImplementedError):  # Windows has no signal handlers in its loop
                asyncio.get_running_loop().add_signal_handler(number, self._stopping.set)
        if self._endpoint.by_port:
            server = await asyncio.start_server(self._connected, sock=listening, limit=LONGEST_LINE)
        else:
            server = await asyncio.start_unix_server(self._connected, sock=listening, limit=LONGEST_LINE)
        self._loading = asyncio.create_task(_load_engine())
        self._loading.add_done_callback(self._leave_if_broken)
        looking = asyncio.create_task(self._look_after_itself())
        resuming = asyncio.create_task(self._resume_page())
        await self._stopping.wait()
        looking.cancel()
        resuming.cancel()
        server.close()  # nobody new; those who try find no engine, and start the next
        await self._finish()

    # -- connections -------------------------------------------------------------------------------------

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a connection is served in a task
        if self._strangers >= MOST_STRANGERS:
            writer.transport.abort()
            return
        try:
            self._strangers += 1
            try:
                hello = await asyncio.wait_for(self._hello(reader, writer), SECONDS_FOR_A_HELLO)
            finally:
                self._strangers -= 1
            self._connections[task] = str(hello.get("kind"))
            await self._serve_as(hello, reader, writer)
        except Refused as refusal:
            _send(writer, {"error": str(refusal)})
        except (TimeoutError, OSError, ValueError, RecursionError):
            log.info("A connection ended without a word that an engine understands.")
        except Exception:
            log.exception("A session ended with an error.")
        finally:
            self._connections.pop(task, None)
            self._left = time.monotonic()
            with suppress(OSError):
                writer.close()

    async def _hello(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> dict[str, Any]:
        """Learn who connects.

        Raises:
            Refused: if it is another user, cannot prove that it may, or speaks another protocol.
        """
        if self._endpoint.by_port:
            nonce = secrets.token_hex(16)
            challenge = await _read(reader)
            answer = proof(self._secret, "engine", str(challenge.get("nonce", "")))
            _send(writer, {"proof": answer, "nonce": nonce})
            hello = await _read(reader)
            given, expected = str(hello.get("proof", "")), proof(self._secret, "client", nonce)
            if not hmac.compare_digest(given.encode(), expected.encode()):
                raise Refused("the proof does not fit the secret of this engine")
        else:
            _check_peer(writer.get_extra_info("socket"))
            hello = await _read(reader)
        if hello.get("protocol") != PROTOCOL:
            raise Refused(f"this engine speaks protocol {PROTOCOL} (Reverie {__version__})")
        if len(self._connections) >= MOST_CONNECTIONS:
            raise Refused(f"{MOST_CONNECTIONS} connections are open; end some sessions")
        if self._stopping.is_set():
            raise Refused("this engine is about to leave")
        return hello

    async def _serve_as(
        self, hello: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        kind = hello.get("kind")
        if kind not in ("session", "calls", "hand over", "page", "about", "stop"):
            raise Refused(f"there is no connection of the kind {kind!r}")
        _send(writer, self._about())
        if kind == "stop":
            self._stopping.set()
        if kind in ("stop", "about"):
            return
        assert self._loading is not None  # noqa: S101 - begun before the first connection
        engine = await asyncio.shield(self._loading)
        from reverie.server import connections  # much to import: a thread has done so

        if kind == "page":
            await connections.serve_page(engine, hello, writer, await self._page_server())
            return
        serve = {
            "session": connections.serve_session,
            "calls": connections.serve_calls,
            "hand over": connections.hand_over,
        }
        await serve[kind](engine, hello, reader, writer)

    async def _page_server(self) -> "PageServer":
        """Return the server of the page; the first to ask waits for its import, others go on meanwhile."""
        if self._page is None:
            await asyncio.to_thread(import_module, "reverie.server.page_server")
            from reverie.server.page_server import PageServer

            self._page = self._page or PageServer(await self._kept_page())
        return self._page

    async def _kept_page(self) -> "KeptPageFile":
        """Return what an engine leaves of its page for the next; the store names it, as an upgrade leaves that."""
        assert self._loading is not None  # noqa: S101 - begun before the first connection
        engine = await asyncio.shield(self._loading)
        from reverie.server.page_access import KeptPageFile

        return KeptPageFile(self._endpoint.folder, engine.store_folder())

    async def _resume_page(self) -> None:
        """Serve an open page again that the engine before us served; its port may take a while to be free."""
        assert self._loading is not None  # noqa: S101 - begun before the first connection
        with suppress(Exception):  # a wrong setting is reported to whoever calls
            engine = await asyncio.shield(self._loading)
            while (await self._kept_page()).read() is not None:
                if await (await self._page_server()).resume(engine):
                    return
                await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)

    def _about(self) -> dict[str, Any]:
        """Say what this engine is and does; the answer to every hello."""
        from reverie.process_memory import resident_bytes

        engine = self._engine()
        return {
            "pid": os.getpid(),
            "version": __version__,
            "seconds": round(time.monotonic() - self._began),
            "sessions": sum(kind == "session" for kind in self._connections.values()),
            "memory_bytes": resident_bytes(),
            "is_dreaming": engine is not None and engine.is_dreaming,
            "log": self._endpoint.log,
        }

    def _engine(self) -> "Engine | None":
        loading = self._loading
        if loading is None or not loading.done() or loading.cancelled() or loading.exception():
            return None
        return loading.result()

    # -- its own life ------------------------------------------------------------------------------------

    async def _look_after_itself(self) -> None:
        """Keep the log short, and leave when nobody has been here for a while or the socket is no longer ours."""
        await asyncio.to_thread(remove_old_logs, self._endpoint)
        while True:
            await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
            shorten_log(self._endpoint.log)
            if not self._is_reachable():
                log.warning("The socket is gone: leaving, so that the next session starts an engine it can reach.")
                self._stopping.set()
            elif self._is_unused():
                self._leaves_unused = True
                self._stopping.set()

    def _is_reachable(self) -> bool:
        """Return whether the file through which we are found is still ours: another may have taken its place."""
        return self._file is not None and identity(self._listens_at) == self._file

    def _leave_if_broken(self, loading: "asyncio.Task[Engine]") -> None:
        """Leave if what every session needs cannot be imported, so that the next session tries with a new process."""
        if not loading.cancelled() and loading.exception() is not None:
            log.error("The engine cannot be loaded.", exc_info=loading.exception())
            self._stopping.set()

    def remove_files(self) -> None:
        """Remove what we listen on, unless it is another engine's by now."""
        if self._is_reachable():
            with suppress(OSError):  # Windows does not remove an open file
                os.unlink(self._listens_at)

    def _is_unused(self) -> bool:
        if self._connections:
            return False
        engine = self._engine()
        if engine is not None and engine.is_dreaming:
            return False
        if engine is None:
            return False
        if self._page is not None and self._page.is_in_use(engine.idle_minutes):
            return False
        return engine.has_lost_its_store() or time.monotonic() - self._left >= 60 * engine.idle_minutes

    async def _finish(self) -> None:
        """Let the calls under way end, for a moment, and write what waits."""
        if self._page is not None:
            await self._page.stop(forget=self._leaves_unused)
        engine = self._engine()
        if engine is None:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(engine.until_no_calls(), _SECONDS_TO_FINISH)
        await engine.close()


async def _load_engine() -> "Engine":
    """Import what the handshake needs, off the loop, so that connections are answered meanwhile."""

    def load() -> None:
        from reverie.server import connections  # noqa: F401 - with the `mcp` package

    await asyncio.to_thread(load)
    from reverie.server.engine import Engine
    from reverie.settings import load_settings

    return Engine(load_settings, f"shared by the sessions of this machine (process {os.getpid()})")


def main(arguments: list[str]) -> int:
    """Be the engine of an endpoint unless there is one; return the exit code."""
    folder, key = arguments
    _allow_open_files()
    os.umask(0o077)  # whatever is written belongs to its owner alone
    # A product with one vector is bound by memory: more threads only spin.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    endpoint = Endpoint(folder, key, by_port=os.environ.get("REVERIE_ENGINE", "").strip() == "port")
    try:
        endpoint.prepare()
        lock = Lock(endpoint.lock)
    except EngineUnavailable as error:
        _complain(str(error))
        return 1
    except OSError as error:
        _complain(f"cannot take the lock: {error}")
        return 1
    if not lock.is_held:
        return 0  # another engine is there, or was quicker
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    secret = secrets.token_hex(32)
    try:
        listening = listen(endpoint, secret)
    except OSError as error:
        _complain(f"cannot listen: {error}")
        lock.release()
        return 1
    process = EngineProcess(endpoint, secret)
    try:
        asyncio.run(_serve(process, listening, lock))
    finally:
        _leave(process, lock)


def _allow_open_files() -> None:
    if sys.platform != "win32":
        import resource

        now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _OPEN_FILES if most == resource.RLIM_INFINITY else min(_OPEN_FILES, most)
        if now != resource.RLIM_INFINITY and now < wanted:
            with suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _leave(process: EngineProcess, lock: Lock) -> NoReturn:
    process.remove_files()
    lock.release()
    # A thread may still be importing or embedding. Everything is written: do not wait for it.
    sys.stderr.flush()
    os._exit(0)


async def _serve(process: EngineProcess, listening: socket.socket, lock: Lock) -> None:
    from reverie.process_memory import limit_malloc_arenas

    limit_malloc_arenas()
    await process.serve(listening)
    # The end of the loop would cancel the sessions, and the SDK answers what is cancelled with an error. A connection
    # that ends without an answer is what a relay knows how to mend.
    _leave(process, lock)


def _check_peer(connected: socket.socket) -> None:
    """Insist that the other side is the same user: the kernel says who it is.

    Raises:
        Refused: if it is somebody else.
    """
    if sys.platform == "linux":
        size = struct.calcsize("3i")
        _, user, _ = struct.unpack("3i", connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    elif sys.platform == "darwin":
        _, user = struct.unpack_from("II", connected.getsockopt(0, 1, 76))  # LOCAL_PEERCRED: version, user, groups
    else:
        return  # the folder's mode keeps others out
    if user != os.getuid():
        raise Refused("this engine is another user's")


async def _read(reader: asyncio.StreamReader) -> dict[str, Any]:
    """Return a message of the time before we know who connects: one line, not long, and nothing after it."""
    line = b""
    while not line.endswith(b"\n"):
        part = await reader.read(LONGEST_HELLO)
        line += part
        if not part or len(line) > LONGEST_HELLO:
            raise ValueError("not a line")
    message = json.loads(line)
    if not isinstance(message, dict):
        raise ValueError("not an object")
    return message


def _send(writer: asyncio.StreamWriter, message: dict[str, Any]) -> None:
    with suppress(OSError):
        writer.write(json.dumps(message).encode() + b"\n")


def _complain(problem: str) -> None:
    sys.stderr.write(f"{problem}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
