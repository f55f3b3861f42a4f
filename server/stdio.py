"""Serving on stdio: stdout belongs to the protocol, a line that is not a message is answered with a JSON-RPC
error, exit is prompt.
"""

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from anyio import EndOfStream
from mcp.server import MCPServer
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

from reverie.process_memory import limit_malloc_arenas
from reverie.server.app import build_server
from reverie.server.compat import run_on_streams
from reverie.server.engine import Engine, LazySession
from reverie.settings import Settings


async def run_on_stdio(server: MCPServer[Any]) -> None:
    """Serve until stdin ends. While it does, file descriptor 1 leads to stderr: nothing stray reaches the wire."""
    async with stdio_server() as (lines, answers):
        await run_on_streams(server, AnsweringStream(lines, answers), answers)


class AnsweringStream:
    """A stream of messages; a line that is not one is answered with a JSON-RPC error.

    The SDK passes over such lines in silence, and a caller whose text holds half an emoji, as JavaScript's
    `slice` leaves it, would wait for ever.
    """

    def __init__(self, lines: Any, answers: Any) -> None:
        self._lines = lines
        self._answers = answers

    @property
    def last_context(self) -> Any:
        """What the SDK restores around each message."""
        return self._lines.last_context

    async def receive(self) -> SessionMessage:
        """Return the next message that is one."""
        while True:
            item: SessionMessage | Exception = await self._lines.receive()
            if not isinstance(item, Exception):
                return item
            complaint = _complaint(item)
            if complaint is not None:
                await self._answers.send(SessionMessage(complaint))

    async def aclose(self) -> None:
        """Close the stream behind."""
        await self._lines.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        await self._lines.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._lines.__aexit__(kind, error, trace)  # type: ignore[no-any-return]


def _complaint(error: Exception) -> JSONRPCError | None:
    """Say why a line is no message, to whoever asked if the line says that much; an empty line needs no answer."""
    line = _line_of(error)
    if line is None:
        return _error(None, INVALID_REQUEST, "This line is JSON but no JSON-RPC message. Send a request.")
    if not line.strip():
        return None
    try:
        message = json.loads(line)  # more lenient than the SDK: it reads half of a surrogate pair
    except (ValueError, RecursionError):
        return _error(None, PARSE_ERROR, "This line is not JSON. Send one JSON-RPC message a line, in UTF-8.")
    number = message.get("id") if isinstance(message, dict) else None
    if not isinstance(number, int | str):
        number = None
    return _error(
        number, PARSE_ERROR, "A text holds a broken character (half of a surrogate pair). Send valid Unicode."
    )


def _line_of(error: Exception) -> str | None:
    """Return the line that could not be read as JSON, or None if it could."""
    if not isinstance(error, ValidationError):
        return None
    first = error.errors(include_url=False)[0]
    line = first["input"]
    return line if first["type"] == "json_invalid" and isinstance(line, str) else None


def _error(number: int | str | None, code: int, message: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=number, error=ErrorData(code=code, message=message))


def serve(load_settings: Callable[[], Settings], about: str = "") -> int:
    """Serve MCP in this process until the client closes stdin or the system asks to stop; return the exit code.

    `about` is what `status` says of the engine: why there is none.
    """
    os.umask(0o077)  # whatever is written belongs to its owner alone
    # A product with one vector is bound by memory: more threads only spin, in each of eight servers.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    limit_malloc_arenas()
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="reverie: %(message)s")
    asyncio.run(_serve(load_settings, about))
    return 0


async def _serve(load_settings: Callable[[], Settings], about: str) -> None:
    engine = Engine(load_settings, about)
    serving = asyncio.ensure_future(run_on_stdio(build_server(LazySession(engine, Path.cwd()))))
    # Cancelling would wait for the thread that reads stdin, and a client that sends a signal may leave stdin open.
    asked_to_stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError):  # Windows has no signal handlers in its loop
            loop.add_signal_handler(number, asked_to_stop.set)
    stopping = asyncio.ensure_future(asked_to_stop.wait())
    code = 1
    try:
        await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()
        code = 0
    except Exception:  # the wire itself broke
        logging.getLogger(__name__).exception("Reverie stopped serving.")
    finally:
        await engine.close()
        # A thread may still be importing or waiting on stdin. Everything is written: do not wait for it.
        sys.stderr.flush()
        os._exit(code)
