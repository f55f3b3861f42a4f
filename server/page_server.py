"""Serves the page, its JSON API and its events on a loopback port, in the engine or in a process of its own.

The API is every tool, and more calls for the page, as `POST /api/v1/NAME`, described by OpenAPI. Nothing is
implemented here: a call reads its arguments by the tool's schema and runs the tool's own function.
"""

import asyncio
import json
import logging
import os
import re
import socket
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import uvicorn
from pydantic import TypeAdapter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from reverie import __version__
from reverie.errors import (
    AmbiguousId,
    InvalidInput,
    MemoryNotFound,
    MoveRefused,
    RateLimited,
    ReverieError,
    StoreBusy,
    StoreError,
)
from reverie.recall.results import structured, text_only_fields
from reverie.server.app import SERVED
from reverie.server.engine import Engine, LazySession
from reverie.server.page_access import (
    KEY_HEADER,
    LONGEST_BODY,
    STILL_HERE,
    GuardedApp,
    KeptPageFile,
    KeptVisitor,
    PageAccess,
    Visitor,
    cookie_name,
)
from reverie.server.schemas import ToolSchema, UnreadableArguments, schema_of
from reverie.tools.catalog import FOR_COMMANDS, AnyTool, Progress, call_any
from reverie.tools.page_catalog import FOR_PAGE

HOST: Final = "127.0.0.1"
SECONDS_BETWEEN_POLLS = 1.0
_SECONDS_OF_SILENCE = 15.0  # a line after this shows whether the browser is still there
_SECONDS_BETWEEN_NOTES = 30.0
_MOST_WAITING = 100
_NONCE = re.compile(r"[0-9a-f]{32,64}")

_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}

_OPENING = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Reverie</title>
<meta http-equiv="refresh" content="0; url=/#key={key}"></head>
<body><p><a href="/#key={key}">Open Reverie</a></p></body></html>
"""

_REFUSED = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Reverie</title></head>
<body><h1>Reverie</h1><p>{reason}</p></body></html>
"""

USED_LINK: Final = "This link was used already, or is older than ten minutes. Run “reverie page” for a new one."


class PageServer:
    """The page of one engine: its visitors, and the listeners to its events."""

    def __init__(self, kept: KeptPageFile | None = None) -> None:
        self.access = PageAccess()
        self._kept = kept  # none where the page lives as long as its process
        self._keeping: asyncio.Task[None] | None = None
        self._listeners: set[asyncio.Queue[dict[str, Any]]] = set()
        self._last_request = time.monotonic()
        self._server: _Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self.port = 0

    @property
    def is_serving(self) -> bool:
        """Whether it listens."""
        return self._serving is not None and not self._serving.done()

    async def resume(self, engine: Engine) -> bool:
        """Serve the visitors of an earlier engine again, on the same port; return False to try again later.

        That is while another program has the port: most likely an engine that is about to end.
        """
        kept = self._kept.read() if self._kept else None
        if kept is None or self.is_serving:
            return True
        own = {name: value for name, value in os.environ.items() if name.startswith("REVERIE_")}
        self.access.let_in(
            {
                one.cookie: Visitor(LazySession(engine, Path(one.folder), {**own, **one.environment}), one.key)
                for one in kept.visitors
            }
        )
        try:
            await self.start(kept.port)
        except InvalidInput:
            return False
        return True

    def _keep(self) -> None:
        if self._kept is not None and self.access.visitors:
            visitors = [
                KeptVisitor(cookie, one.key, str(one.client.folder), one.client.own_environment)
                for cookie, one in self.access.visitors.items()
            ]
            self._kept.write(self.port, visitors)

    async def _keep_while_used(self) -> None:
        """Write the visitors again while the page is in use, because they expire some time after the last write."""
        while True:
            await asyncio.sleep(_SECONDS_BETWEEN_NOTES)
            if self.is_in_use(_SECONDS_BETWEEN_NOTES / 30):
                await asyncio.to_thread(self._keep)

    async def start(self, port: int = 0) -> None:
        """Listen on a port of this machine, or on any that is free.

        Raises:
            InvalidInput: if the port is taken.
        """
        if self.is_serving:
            if port not in (0, self.port):
                raise InvalidInput(
                    "--port",
                    f"the page is already served on port {self.port}",
                    "Leave the port out, or stop the engine.",
                )
            return
        try:
            listening = socket.create_server((HOST, port), backlog=64)
        except OSError as error:
            raise InvalidInput(
                "--port", f"{port} cannot be listened on ({error.strerror or error})", "Give another, or none."
            ) from None
        self.port = listening.getsockname()[1]
        app = GuardedApp(self._application(), self.access, self.port)
        self._server = _Server(
            uvicorn.Config(
                app,
                lifespan="off",
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_keep_alive=30,
                timeout_graceful_shutdown=1,
            )
        )
        self._serving = asyncio.create_task(self._server.serve([listening]))
        self._keeping = asyncio.create_task(self._keep_while_used())

    async def stop(self, *, forget: bool = False) -> None:
        """End every connection and stop listening; the next engine resumes, unless told to forget the visitors."""
        if self._keeping is not None:
            self._keeping.cancel()
        if self._kept is not None and forget:
            self._kept.remove()
        if self._server is None or self._serving is None:
            return
        self._server.should_exit = True
        for listener in self._listeners:
            listener.put_nowait({"event": "gone"})
        with suppress(asyncio.CancelledError):
            await self._serving

    async def until_stopped(self) -> None:
        """Wait until somebody stops it."""
        if self._serving is not None:
            await self._serving

    def link_for(self, client: LazySession) -> str:
        """Return an address that opens the page once, in the session of a client."""
        return f"http://{HOST}:{self.port}/open/{self.access.invite(client)}"

    def is_in_use(self, minutes: float) -> bool:
        """Return whether a browser has the page open, or sent a request within so many minutes."""
        return bool(self._listeners) or time.monotonic() - self._last_request < 60 * minutes

    # -- routes ------------------------------------------------------------------------------------------

    def _application(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/open/{token}", self._open),
                Route("/", self._file),
                Route("/page/{name}", self._file),
                Route(f"{PREFIX}/openapi.json", self._description),
                Route(f"{PREFIX}/events", self._events),
                Route(STILL_HERE, self._still_here),
                Route(f"{PREFIX}/{{name}}", self._call, methods=["POST"]),
            ]
        )

    async def _open(self, request: Request) -> Response:
        """Turn a link into a cookie and a key. The page follows by itself, so that the cookie is sent with it.

        A browser that has a cookie may follow a used link, as after going back.
        """
        if request.method == "HEAD" or "prefetch" in request.headers.get("sec-purpose", ""):
            return PlainTextResponse("Open this link in a browser.\n", 403)  # nobody looks at this answer
        given = self.access.redeem(request.path_params["token"])
        if given is None:
            if request.scope["visitor"] is not None:
                return Response(status_code=303, headers={"location": "/"})
            return HTMLResponse(_REFUSED.format(reason=escape(USED_LINK)), 403)
        answer = HTMLResponse(_OPENING.format(key=escape(given.key)))
        self._keep()
        answer.set_cookie(cookie_name(self.port), given.cookie, httponly=True, samesite="strict", path="/")
        return answer

    async def _file(self, request: Request) -> Response:
        self._last_request = time.monotonic()
        name = request.path_params.get("name", "index.html")
        content = _files().get(name)
        if content is None:
            return PlainTextResponse("There is no such file.\n", 404)
        return Response(content, media_type=_TYPES[name.rpartition(".")[2]])

    async def _description(self, request: Request) -> Response:
        return JSONResponse(openapi())

    async def _still_here(self, request: Request) -> Response:
        """Prove to a page that reconnects that this server gave it its key."""
        nonce = request.query_params.get("nonce", "")
        if not _NONCE.fullmatch(nonce):
            return PlainTextResponse("Give a nonce.\n", 400)
        visitor: Visitor = request.scope["visitor"]
        return JSONResponse({"proof": visitor.proof(nonce, self.port)})

    async def _call(self, request: Request) -> Response:
        self._last_request = time.monotonic()
        name = request.path_params["name"]

        async def progress(done: float, total: float, message: str) -> None:
            self._tell({"event": "progress", "call": name, "done": done, "total": total, "message": message})

        return await answer_call(request, progress)

    # -- events ------------------------------------------------------------------------------------------

    def _tell(self, event: dict[str, Any]) -> None:
        for listener in self._listeners:
            if listener.qsize() < _MOST_WAITING:
                listener.put_nowait(event)

    async def _events(self, request: Request) -> Response:
        visitor: Visitor = request.scope["visitor"]
        return StreamingResponse(self._stream(visitor), media_type="text/event-stream")

    async def _stream(self, visitor: Visitor) -> AsyncIterator[bytes]:
        """Send events: the number of the journal's last event, at first and whenever it changes, and progress."""
        waiting: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._listeners.add(waiting)
        looking = asyncio.create_task(self._watch(visitor.client, waiting))
        try:
            yield b": listening\n\n"
            while True:
                try:
                    event = await asyncio.wait_for(waiting.get(), _SECONDS_OF_SILENCE)
                except TimeoutError:
                    yield b": still here\n\n"
                    continue
                yield f"event: {event['event']}\ndata: {json.dumps(event)}\n\n".encode()
                if event["event"] == "gone":
                    return
        finally:
            looking.cancel()
            self._listeners.discard(waiting)
            self._last_request = time.monotonic()

    async def _watch(self, client: LazySession, waiting: "asyncio.Queue[dict[str, Any]]") -> None:
        """Poll the end of the journal, because any process may write to it."""
        last: int | None = None
        while True:
            with suppress(ReverieError, OSError):
                opened = client.engine.opened
                if opened is not None:
                    head = await opened.store.journal.head()
                    number = 0 if head is None else head.number
                    if number != last:
                        waiting.put_nowait({"event": "at" if last is None else "changed", "number": number})
                    last = number
            await asyncio.sleep(SECONDS_BETWEEN_POLLS)


class _Server(uvicorn.Server):
    """Leaves signals to the process it runs in."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


@cache
def _files() -> dict[str, bytes]:
    """Return the files of the page; nothing else can be asked for."""
    folder = files("reverie.server").joinpath("page")
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name.rpartition(".")[2] in _TYPES}


PREFIX: Final = "/api/v1"

CALLS: Final[Mapping[str, AnyTool]] = {
    **SERVED,
    **{tool.name: tool for tool in (*FOR_COMMANDS, *FOR_PAGE)},
}

_STATUSES: Final[tuple[tuple[type[Exception], int], ...]] = (
    (MemoryNotFound, 404),
    (AmbiguousId, 409),
    (MoveRefused, 409),
    (InvalidInput, 400),
    (UnreadableArguments, 400),
    (RateLimited, 429),
    (StoreBusy, 503),
    (StoreError, 500),
)

log = logging.getLogger("reverie.page")


@cache
def schemas() -> Mapping[str, ToolSchema]:
    """Derive the schema of every call, once."""
    return {name: schema_of(tool) for name, tool in CALLS.items()}


async def answer_call(request: Request, progress: Progress) -> Response:
    """Run the call that a request names, with its arguments, in the session of whoever asks."""
    visitor: Visitor = request.scope["visitor"]
    name = request.path_params["name"]
    if name not in CALLS:
        return failure(404, "UnknownCall", f"There is no call {name!r}. {PREFIX}/openapi.json lists them.")
    try:
        arguments = await _arguments(request)
        asked = schemas()[name].read(arguments)
        async with visitor.client.engine.calling():
            # The page shows each memory's project to a person, so an id may be of any project.
            session = replace(await visitor.client.session(), all_projects=True)
            result = await call_any(CALLS[name], session, asked, progress)
        return JSONResponse(structured(result))
    except (ReverieError, UnreadableArguments) as error:
        status = next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)
        return failure(status, type(error).__name__, str(error))
    except Exception:
        log.exception("A call of the page failed.")
        return failure(500, "Unexpected", f"{name} failed. `reverie engine log` may say why.")


async def _arguments(request: Request) -> dict[str, Any]:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LONGEST_BODY:
            raise UnreadableArguments("The body is too long.")
    try:
        given = json.loads(bytes(body) or b"{}")
    except (ValueError, RecursionError):
        raise UnreadableArguments("The body is not JSON.") from None
    if not isinstance(given, dict):
        raise UnreadableArguments("The body is not a JSON object.")
    return given


def failure(status: int, error: str, message: str) -> Response:
    """Return an error as the page shows it: its class, and what happened and what to try."""
    return JSONResponse({"error": error, "message": message}, status)


@cache
def openapi() -> Mapping[str, Any]:
    """Describe the API, from the declarations of the tools alone."""
    parts: dict[str, Any] = {
        "Error": {
            "type": "object",
            "properties": {"error": {"type": "string"}, "message": {"type": "string"}},
            "required": ["error", "message"],
        }
    }
    paths = {f"{PREFIX}/{name}": {"post": _operation(tool, parts)} for name, tool in CALLS.items()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Reverie",
            "version": __version__,
            "description": (
                "The calls of Reverie's page. Follow a link of `reverie page --print` once; send the cookie that it "
                f"sets, and what stands after `#key=` in its answer as the header {KEY_HEADER}."
            ),
        },
        "paths": paths,
        "components": {
            "schemas": parts,
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": KEY_HEADER}},
        },
        "security": [{"key": []}],
    }


def _operation(tool: AnyTool, parts: dict[str, Any]) -> dict[str, Any]:
    reference = "#/components/schemas/{model}"
    taken = schemas()[tool.name].arguments.model_json_schema(ref_template=reference)
    given = TypeAdapter(tool.result).json_schema(ref_template=reference, mode="serialization")
    for name in text_only_fields(tool.result):
        del given["properties"][name]
    for schema in (taken, given):
        parts |= schema.pop("$defs", {})
    return {
        "operationId": tool.name,
        "summary": tool.title,
        "description": tool.description,
        "x-reads": tool.reads,
        "x-destroys": tool.destroys,
        "requestBody": {"content": {"application/json": {"schema": taken}}, "required": False},
        "responses": {
            "200": {"description": "Done.", "content": {"application/json": {"schema": given}}},
            "default": {
                "description": "What happened, and what to try.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
            },
        },
    }
