"""What a request over HTTP has to get past: its peer, its host, its size, its pace and its user's limits.

Every refusal has a status and a sentence. Nothing of a body is read before the caller is known, and no more of it
than the limit. See decision 0039.
"""

import asyncio
import json
import logging
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import h11
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from reverie.errors import ReverieError
from reverie.server.app import SERVED, tool_schemas
from reverie.server.http_access import scope_needed
from reverie.server.http_sessions import MOST_SESSIONS_OF_A_USER, user_of
from reverie.server.http_telemetry import FIELDS, Metrics
from reverie.server.schemas import UnreadableArguments
from reverie.tools.requests import TokenScope

LONGEST_BODY: Final = 4 * 1024 * 1024
SECONDS_FOR_HEADERS = 10.0
SECONDS_FOR_A_BODY = 20.0
SECONDS_BETWEEN_LOOKS = 1.0
"""How often an open stream is checked for a token that was revoked, and for the end of the server."""

HEALTH: Final = ("/healthz", "/readyz")
MCP_PATH: Final = "/mcp"
METRICS_PATH: Final = "/metrics"
_ROUTES = (*HEALTH, MCP_PATH, METRICS_PATH)
_WINDOW = 60.0
_STREAMS = "subscriptions/listen"

log = logging.getLogger("reverie.http")


def refusal(status: int, reason: str, **headers: str) -> JSONResponse:
    """Return an answer that refuses a request; the connection ends, because its body was not read."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    error = HTTPStatus(status).phrase.lower().replace(" ", "_")
    return JSONResponse({"error": error, "error_description": reason}, status, {"connection": "close", **named})


class FrontDoor:
    """Checks where a request comes from and which host it names, and writes a line about every one."""

    def __init__(self, app: ASGIApp, metrics: Metrics, hosts: "Hosts", proxy: str | None = None) -> None:
        self._app = app
        self._metrics = metrics
        self._hosts = hosts
        self._proxy = proxy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return  # the server speaks nothing else: uvicorn is told to offer no WebSockets and no lifespan
        began = time.monotonic()
        status = 500
        facts: dict[str, Any] = scope.setdefault("reverie", {})

        async def send_noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message["headers"], (b"x-content-type-options", b"nosniff")]}
            await send(message)

        try:
            refused = await self._refusal(Request(scope))
            await (refused or self._app)(scope, receive, send_noting)
        finally:
            path = scope["path"]
            route = path if path in _ROUTES else "other"
            self._metrics.requests[route, status] += 1
            if route not in HEALTH:
                fields = {
                    "method": scope["method"] if scope["method"] in ("GET", "POST", "DELETE") else "other",
                    "route": route,
                    "status": status,
                    "ms": round(1000 * (time.monotonic() - began), 1),
                    "peer": (scope.get("client") or ("",))[0],
                    **facts,
                }
                log.info("request", extra={FIELDS: fields})

    async def _refusal(self, request: Request) -> JSONResponse | None:
        peer = str(request.scope.get("reverie_peer", ""))
        if self._proxy is not None and peer != self._proxy and request.url.path not in HEALTH:
            return refusal(403, "Connect through the proxy of this server.")
        if request.url.path in HEALTH:
            return None
        if self._proxy is not None and request.headers.get("x-forwarded-proto", "https") != "https":
            return refusal(403, "Use https: a token must not travel in the clear.")
        if not await self._hosts.allow(request):
            return refusal(421, "This server does not know itself by that name, or the page is another's.")
        return None


class Peer:
    """Notes who is really connected, before forwarded headers say for whom."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        scope["reverie_peer"] = (scope.get("client") or ("",))[0]
        await self._app(scope, receive, send)


class Hosts:
    """The names that a request may call this server by, and the origins of pages that may call it."""

    def __init__(self, hosts: list[str], origins: list[str]) -> None:
        self._names = hosts
        self._origins = origins

    async def allow(self, request: Request) -> bool:
        """Return whether a request names us, and comes from no page of somebody else's.

        The address that a client connected to is always ours: a name can be made to point here, a number cannot.
        """
        address, port = request.scope.get("server") or ("", 0)
        literal = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        settings = TransportSecuritySettings(
            allowed_hosts=[*self._names, literal],
            allowed_origins=[*self._origins, f"{request.url.scheme}://{literal}"],
        )
        return await TransportSecurityMiddleware(settings).validate_request(request) is None


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one user may ask for."""

    requests_per_minute: int = 1200
    concurrent: int = 16
    sessions: int = MOST_SESSIONS_OF_A_USER


class UserLimits:
    """Counts each user's requests, reads bodies within size and time, and refuses what a scope does not cover."""

    def __init__(
        self,
        app: ASGIApp,
        limits: Limits,
        metrics: Metrics,
        *,
        is_valid: Callable[[str], Awaitable[object | None]],
        sessions_of: Callable[[AuthenticatedUser], int],
        stopping: asyncio.Event,
        metadata_url: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._limits = limits
        self._metrics = metrics
        self._is_valid = is_valid
        self._sessions_of = sessions_of
        self._stopping = stopping
        self._metadata_url = metadata_url
        self._clock = clock
        self._recent: dict[str, deque[float]] = {}
        self._working: Counter[str] = Counter()
        self._streams: Counter[str] = Counter()

    @property
    def working(self) -> int:
        """How many calls are worked on."""
        return self._working.total()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request of a user who is known."""
        caller: AuthenticatedUser = scope["user"]
        user = user_of(caller.access_token)
        scope["reverie"]["user"] = user
        if self._stopping.is_set():
            return await self._refuse("stopping", 503, "This server is about to stop. Try again in a moment.")(
                scope, receive, send
            )
        wait = self._seconds_to_wait(user)
        if wait:
            reason = (
                f"More than {self._limits.requests_per_minute} requests in a minute. Try again in {wait} seconds."
            )
            return await self._refuse("rate", 429, reason, retry_after=str(wait))(scope, receive, send)
        request = Request(scope)
        if request.method != "POST":
            return await self._stream(user, request, receive, send)
        if self._working[user] >= self._limits.concurrent:
            reason = f"{self._limits.concurrent} calls of yours are being worked on. Wait for one of them."
            return await self._refuse("concurrent", 429, reason, retry_after="1")(scope, receive, send)
        self._working[user] += 1
        is_working = True

        def done() -> None:
            nonlocal is_working
            if is_working:
                is_working = False
                self._working[user] -= 1
                if not self._working[user]:
                    del self._working[user]

        async def send_noting(message: Message) -> None:
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                done()  # who has the answer may send the next call
            await send(message)

        try:
            await self._post(user, request, receive, send_noting)
        finally:
            done()
        return None

    async def _post(self, user: str, request: Request, receive: Receive, send: Send) -> None:
        scope = request.scope
        try:
            body = await asyncio.wait_for(_read(request, receive), SECONDS_FOR_A_BODY)
        except TimeoutError:
            reason = f"The rest of the request did not come within {SECONDS_FOR_A_BODY:.0f} seconds."
            return await self._refuse("slow", 408, reason)(scope, receive, send)
        except _TooLong:
            reason = f"A request may have {LONGEST_BODY // 1024 // 1024} MiB at most. Send less at once."
            return await self._refuse("long", 413, reason)(scope, receive, send)
        if body is None:
            return None  # it ended half way: there is nobody to answer
        message = _message(body)
        method = message.get("method")
        scope["reverie"] |= _facts(message)
        needed = _scope_for(message)
        if needed is not None and needed not in scope["user"].scopes:
            return await self._insufficient(needed)(scope, receive, send)
        if method == "initialize" and self._sessions_of(scope["user"]) >= self._limits.sessions:
            reason = f"You have {self._limits.sessions} sessions open. End one (DELETE), or wait until it is idle."
            return await self._refuse("sessions", 429, reason, retry_after="60")(scope, receive, send)
        replayed = _Replayed(body, receive)
        if method == _STREAMS:
            return await self._stream(user, request, replayed.receive, send)
        return await self._watched(request, replayed.receive, send, ends_on_stop=False)

    async def _stream(self, user: str, request: Request, receive: Receive, send: Send) -> None:
        """Serve a stream that stays open, or the end of a session; such streams are counted by themselves."""
        if self._streams[user] >= 2 * self._limits.sessions:
            reason = "Too many streams of yours are open. Close one."
            return await self._refuse("streams", 429, reason, retry_after="60")(request.scope, receive, send)
        self._streams[user] += 1
        try:
            await self._watched(request, receive, send, ends_on_stop=True)
        finally:
            self._streams[user] -= 1
            if not self._streams[user]:
                del self._streams[user]
        return None

    async def _watched(self, request: Request, receive: Receive, send: Send, *, ends_on_stop: bool) -> None:
        """Answer a request; one that lasts is cut short when its token is no longer good."""
        token = request.scope["user"].access_token.token
        has_begun = False

        async def send_noting(message: Message) -> None:
            nonlocal has_begun
            has_begun = has_begun or message["type"] == "http.response.start"
            await send(message)

        answering = asyncio.ensure_future(self._app(request.scope, receive, send_noting))
        try:
            while not (await asyncio.wait({answering}, timeout=SECONDS_BETWEEN_LOOKS))[0]:
                is_over = ends_on_stop and self._stopping.is_set()
                if not is_over and await self._is_valid(token) is not None:
                    continue
                answering.cancel()
                await asyncio.gather(answering, return_exceptions=True)
                if has_begun:
                    await send({"type": "http.response.body", "body": b"", "more_body": False})
                elif is_over:
                    await self._refuse("stopping", 503, "This server stops.")(request.scope, receive, send)
                else:
                    await self._refuse("revoked", 401, "This token is no longer valid.")(request.scope, receive, send)
                return
            answering.result()
        finally:
            if not answering.done():
                answering.cancel()
                await asyncio.gather(answering, return_exceptions=True)

    def _seconds_to_wait(self, user: str) -> int:
        """Count a request; return how long to wait if it is one too many."""
        now = self._clock()
        if user not in self._recent:
            self._recent = {name: times for name, times in self._recent.items() if times[-1] > now - _WINDOW}
        recent = self._recent.setdefault(user, deque())
        while recent and recent[0] <= now - _WINDOW:
            recent.popleft()
        if len(recent) >= self._limits.requests_per_minute:
            return max(1, round(recent[0] + _WINDOW - now + 0.5))
        recent.append(now)
        return 0

    def _refuse(self, why: str, status: int, reason: str, **headers: str) -> JSONResponse:
        self._metrics.refused[why] += 1
        return refusal(status, reason, **headers)

    def _insufficient(self, needed: TokenScope) -> JSONResponse:
        self._metrics.refused["scope"] += 1
        reason = f"This call needs a token with the scope '{needed}'."
        challenge = f'Bearer error="insufficient_scope", scope="{needed}", error_description="{reason}"'
        if self._metadata_url:
            challenge += f', resource_metadata="{self._metadata_url}"'
        return JSONResponse(
            {"error": "insufficient_scope", "error_description": reason, "scope": needed},
            403,
            {"www-authenticate": challenge},
        )


class _TooLong(Exception):
    """A body that is longer than it may be."""


async def _read(request: Request, receive: Receive) -> bytes | None:
    """Return the body of a request; None if the client left half way.

    Raises:
        _TooLong: as soon as that is known.
    """
    declared = request.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared[:20]) > LONGEST_BODY:
        raise _TooLong
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if len(body) > LONGEST_BODY:
            raise _TooLong
        if not message.get("more_body", False):
            return bytes(body)


class _Replayed:
    """Gives a body that was read to the application that has to answer it."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def receive(self) -> Message:
        """Return the body, then whatever else comes."""
        body, self._body = self._body, None
        if body is None:
            return await self._receive()
        return {"type": "http.request", "body": body, "more_body": False}


def _message(body: bytes) -> dict[str, Any]:
    """Return the message of a body; nothing if it is none, which the SDK answers."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _facts(message: dict[str, Any]) -> dict[str, str]:
    """Return what a log may say of a message: its method and tool, if we know them."""
    method, name = message.get("method"), _tool_name(message)
    facts = {"rpc": method} if isinstance(method, str) and method in _METHODS else {}
    return facts | ({"tool": name} if name else {})


_METHODS = frozenset(
    {
        *("initialize", "notifications/initialized", "ping", "tools/list", "tools/call", "server/discover"),
        *("resources/list", "resources/read", "resources/templates/list", "prompts/list", "prompts/get"),
        _STREAMS,
    }
)


def _tool_name(message: dict[str, Any]) -> str | None:
    params = message.get("params")
    name = params.get("name") if message.get("method") == "tools/call" and isinstance(params, dict) else None
    return name if isinstance(name, str) and name in SERVED else None


def _scope_for(message: dict[str, Any]) -> TokenScope | None:
    """Return the scope that a call needs, so that a client learns over HTTP which to ask for.

    The server checks again what it has read: this answer is for clients that can ask for more.
    """
    name = _tool_name(message)
    if name is None:
        return None
    schema = tool_schemas()[name]
    arguments = message["params"].get("arguments")
    try:
        request = schema.read(arguments if isinstance(arguments, dict) else {})
    except (ReverieError, UnreadableArguments):
        request = None  # the tool says what is wrong with it
    return scope_needed(schema.tool, request)


_TOO_SLOW: Final = b"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/json\r\nconnection: close\r\n"
_NO_HEADERS: Final = json.dumps(
    {
        "error": "request_timeout",
        "error_description": f"The headers of a request did not come within {SECONDS_FOR_HEADERS:.0f} seconds.",
    }
).encode()


class TimedProtocol(H11Protocol):
    """Ends a connection on which the headers of a request do not arrive in time; uvicorn would wait for ever."""

    _headers_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for headers from the first moment."""
        super().connection_made(transport)
        self._wait_for_headers()

    def data_received(self, data: bytes) -> None:
        """Read; stop waiting once the headers are there."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._wait_for_headers()
        else:
            self._have_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._have_headers()
        super().connection_lost(exc)

    def _wait_for_headers(self) -> None:
        if self._headers_due is None:
            self._headers_due = self.loop.call_later(SECONDS_FOR_HEADERS, self._give_up)

    def _have_headers(self) -> None:
        if self._headers_due is not None:
            self._headers_due.cancel()
            self._headers_due = None

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(b"%scontent-length: %d\r\n\r\n%s" % (_TOO_SLOW, len(_NO_HEADERS), _NO_HEADERS))
            self.transport.close()
