"""What a connection to the engine is served: an MCP session, calls of a command, or the store itself."""

import asyncio
import contextvars
import json
import logging
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from anyio import EndOfStream
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

from reverie.errors import ReverieError
from reverie.hooks import forget_waiting, note_run
from reverie.server.app import SERVED, build_server
from reverie.server.compat import run_on_streams
from reverie.server.endpoint import BEHIND
from reverie.server.engine import Call, Engine, LazySession
from reverie.server.engine_client import ABOUT, decoded, error_to_send, plain
from reverie.server.relay import REPEATED
from reverie.server.stdio import AnsweringStream
from reverie.tools.catalog import FOR_COMMANDS, FOR_HOOKS, Progress, call_any

if TYPE_CHECKING:
    from reverie.server.page_server import PageServer

_SESSION_ID_LENGTH = 12
_REPEATED_MARK = REPEATED.encode()

Hello = Mapping[str, Any]

log = logging.getLogger("reverie.engine")


async def serve_session(
    engine: Engine, hello: Hello, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Serve MCP until the relay closes the connection."""
    lines, answers = _Lines(reader), _Answers(writer)
    key = str(hello.get("session", ""))

    def call_of(number: int | str) -> Call:
        return Call(f"{key} {json.dumps(number)}", repeated=json.dumps(number) in lines.repeated)

    server = build_server(_client(engine, hello), call_of=call_of)
    await run_on_streams(server, AnsweringStream(lines, answers), answers)
    with suppress(OSError):
        await writer.drain()


def _client(engine: Engine, hello: Hello) -> LazySession:
    environment = hello.get("environment")
    given = environment if isinstance(environment, dict) else {}
    return LazySession(
        engine,
        Path(str(hello.get("folder") or "/")),
        {str(name): str(value) for name, value in given.items()},
        str(hello.get("session", ""))[:_SESSION_ID_LENGTH] or None,
    )


async def serve_calls(
    engine: Engine, hello: Hello, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Answer the calls of a command, one line each, until it closes the connection."""
    client = _client(engine, hello)
    key = str(hello.get("session", ""))

    async def progress(done: int, total: int, message: str) -> None:
        _write(writer, {"progress": [done, total, message]})

    line = await reader.readline()
    while line:
        wanted = json.loads(line)
        if BEHIND in wanted:  # nobody waits: it is done also if the connection is closed at once
            engine.do_behind(_trace_behind(client, key, wanted, progress))
            _write(writer, {"result": {}})
            line = await _next_line(reader)
            continue
        answering = asyncio.create_task(_about(engine) if ABOUT in wanted else _answer(client, key, wanted, progress))
        following = asyncio.create_task(_next_line(reader))
        await asyncio.wait((answering, following), return_when=asyncio.FIRST_COMPLETED)
        if not answering.done() and not following.result():  # Ctrl-C: nobody waits for the answer
            answering.cancel()
            await asyncio.gather(answering, return_exceptions=True)
            return
        _write(writer, await answering)
        await writer.drain()
        line = await following


async def _next_line(reader: asyncio.StreamReader) -> bytes:
    """Return the next line; nothing if the command has gone, however it went."""
    try:
        return await reader.readline()
    except (ValueError, OSError):
        return b""


async def _answer(client: LazySession, key: str, wanted: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Call a tool; what goes wrong is sent by its name, so that the command can raise it."""
    try:
        tool = _CALLED[wanted["tool"]]
        request = decoded(tool.request, wanted["arguments"])
        async with client.engine.calling():
            session = await client.session(Call(f"{key} {wanted['number']}", repeated=bool(wanted.get("repeated"))))
            session = replace(session, all_projects=bool(wanted.get("all_projects")))
            if wanted.get("waits_for"):
                await (session.warm_model() if wanted["waits_for"] == "model" else session.warm())
            result = await call_any(tool, session, request, progress)
        return {"result": plain(result)}
    except ReverieError as error:
        return error_to_send(error)
    except Exception as error:
        log.exception("A call of a command failed.")
        return {
            "error": "ReverieError",
            "message": f"{type(error).__name__}: {error}. `reverie engine log` has more.",
        }


async def _trace_behind(client: LazySession, key: str, wanted: dict[str, Any], progress: Progress) -> None:
    """Do a call of a hook that has gone, one at a time, and write in its place what came of it."""
    began = time.monotonic()
    async with client.engine.one_behind:
        answer = await _answer(client, key, wanted, progress)
    named = wanted[BEHIND]
    if "error" in answer:
        told = f"failed: {answer['error']}: {answer.get('message', '')}"
    else:
        told = _captured_in_words(answer["result"])
        await asyncio.to_thread(forget_waiting, os.environ, str(named.get("waiting", "")))
    took = time.monotonic() - began
    event, of_client = str(named.get("event", "")), str(named.get("client", ""))
    await asyncio.to_thread(note_run, os.environ, event, of_client, took, told)


def _captured_in_words(found: Mapping[str, Any]) -> str:
    left = "".join(f", {count} {why}" for why, count in found["left_out"].items())
    verb = {"ask": "asked about", "auto": "kept"}.get(found["mode"], "capture is off:")
    model = f" ({found['model']})" if found["model"] else ""
    said_anything = found["kept"] or left or model
    return f"{verb} {len(found['kept'])}{left}{model}" if said_anything else "nothing worth keeping"


_CALLED = {**SERVED, **{tool.name: tool for tool in (*FOR_COMMANDS, *FOR_HOOKS)}}


async def _about(engine: Engine) -> dict[str, Any]:
    """Say which store is open and when it last dreamed, without waiting for either."""
    domain = engine.opened
    if domain is None:
        return {"result": {}}
    from reverie.tools.dreams import when_last_dreamed  # a store is open: it is loaded

    return {"result": {"store": domain.settings.domain_uri, "last_dream": await when_last_dreamed(domain.store)}}


def _is_same_folder(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


async def hand_over(engine: Engine, hello: Hello, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Leave the store to a command that needs it alone, until that closes the connection or ends.

    An engine of other settings may use another store: then there is nothing to leave.
    """
    try:
        if not await asyncio.to_thread(_is_same_folder, str(hello.get("store")), engine.store_folder()):
            _write(writer, {"result": {}})
            return
        async with engine.handed_over():
            _write(writer, {"result": {}})
            await writer.drain()
            await reader.read()
    except ReverieError as error:
        _write(writer, error_to_send(error))


async def serve_page(engine: Engine, hello: Hello, writer: asyncio.StreamWriter, page: "PageServer") -> None:
    """Serve the page if it is not served yet, and answer with an address that opens it once.

    It works in the folder of the command that asked, as that command would.
    """
    try:
        port = hello.get("port")
        await page.start(port if isinstance(port, int) else 0)
        engine.start()  # whoever opens it will want the store
        _write(writer, {"result": {"address": page.link_for(_client(engine, hello))}})
    except ReverieError as error:
        _write(writer, error_to_send(error))
    await writer.drain()


class _Lines:
    """The messages that a relay sends, as the SDK reads them; what is said about repeated requests is kept."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self.repeated: set[str] = set()
        self.last_context: contextvars.Context | None = None  # the SDK restores it around each message

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message, or what is wrong with a line that is none.

        Raises:
            EndOfStream: when the relay has gone.
        """
        while True:
            try:
                line = await self._reader.readline()
            except (ValueError, OSError):  # a line longer than the limit, or a broken connection
                raise EndOfStream from None
            if not line:
                raise EndOfStream
            if _REPEATED_MARK in line and self._is_about_repeats(line):
                continue
            try:
                text = line.decode("utf-8", "replace")  # a complaint quotes text, as on stdio
                return SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
            except Exception as error:  # noqa: BLE001 - as the SDK's own transport does
                return error

    def _is_about_repeats(self, line: bytes) -> bool:
        try:
            message = json.loads(line)
        except ValueError:
            return False
        if not isinstance(message, dict) or message.get("method") != REPEATED:
            return False
        self.repeated |= {json.dumps(number) for number in message["params"]["ids"]}
        return True

    async def aclose(self) -> None:
        """Nothing to do: the connection is closed by whoever accepted it."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class _Answers:
    """Sends the messages of the SDK to a relay."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def send(self, message: SessionMessage) -> None:
        """Send one message; to a relay that has gone, none."""
        text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
        with suppress(OSError):
            self._writer.write(text.encode() + b"\n")
            await self._writer.drain()

    async def aclose(self) -> None:
        """Nothing to do: the connection is closed by whoever accepted it."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _write(writer: asyncio.StreamWriter, message: dict[str, Any]) -> None:
    with suppress(OSError):
        writer.write(json.dumps(message).encode() + b"\n")
