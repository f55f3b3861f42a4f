"""Who may use the page: one-time links, the cookie and the key they are turned into, and the checks of every request.

The page is served on a loopback port, which every program and every user of the machine can reach, and which any web
page can make a browser connect to. So a request must name our own host (against DNS rebinding), come from our own
origin, and carry a cookie that only the owner of the machine's engine was given. A browser sends a cookie of
127.0.0.1 to every port there, so calls of the API need a key too, which the browser keeps for our origin alone.

When an engine ends, the next one must know who had followed a link, so that an open page goes on. A file in the
runtime folder, which only its owner can enter, has the port and digests of cookies and keys: from it nobody learns
either. It counts for some minutes after the page was last in use. See decision 0033.
"""

import hashlib
import hmac
import json
import os
import secrets
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reverie.errors import InvalidInput
from reverie.server.engine import LazySession
from reverie.time import iso, parse_iso, system_clock

SECONDS_A_LINK_LIVES = 600.0
MOST_VISITORS = 64
MOST_LINKS = 64
LONGEST_BODY = 2 * 1024 * 1024
KEY_HEADER: Final = "x-reverie-key"

_HOSTS = ("127.0.0.1", "localhost")
_SAME_SITE = ("same-origin", "none")  # none: a person typed the address
_OPEN = "/open/"
STILL_HERE: Final = "/api/v1/still-here"
"""The path that a page asks after a lost connection, before it sends its key again."""


SECURITY_HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}

_NO_LINK = "This page is opened with `reverie page`, which prints a new link each time."


@dataclass(frozen=True, slots=True)
class Visitor:
    """A browser, or a script, that followed a link: the session it works in, and a digest of its key."""

    client: LazySession
    key: bytes

    def proof(self, nonce: str, port: int) -> str:
        """Prove to a page that lost its connection that this server knows its key, on that port.

        Another program may have taken the port meanwhile; so the page sends its key only after this.
        """
        return hmac.new(self.key, f"{nonce}:{port}".encode(), hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class Pass:
    """The credentials for a link: a cookie for the browser and a key for the page's own script."""

    cookie: str
    key: str


class PageAccess:
    """Issues links and knows who followed one. It keeps only digests of cookies and keys."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._links: dict[bytes, tuple[float, LazySession]] = {}
        self._visitors: dict[bytes, Visitor] = {}

    def invite(self, client: LazySession) -> str:
        """Return a token that can be redeemed once, within ten minutes, for access to a session."""
        token = secrets.token_urlsafe(32)
        self._links[_digest(token)] = (self._now() + SECONDS_A_LINK_LIVES, client)
        while len(self._links) > MOST_LINKS:
            del self._links[next(iter(self._links))]
        return token

    def redeem(self, token: str) -> Pass | None:
        """Turn a token into a cookie and a key; None if it was used, is too old, or never was one."""
        until, client = self._links.pop(_digest(token), (0.0, None))
        if client is None or until < self._now():
            return None
        given = Pass(secrets.token_urlsafe(32), secrets.token_urlsafe(32))
        self._visitors[_digest(given.cookie)] = Visitor(client, _digest(given.key))
        while len(self._visitors) > MOST_VISITORS:
            del self._visitors[next(iter(self._visitors))]
        return given

    @property
    def visitors(self) -> Mapping[bytes, Visitor]:
        """Everybody who followed a link, by the digest of the cookie."""
        return self._visitors

    def let_in(self, visitors: Mapping[bytes, Visitor]) -> None:
        """Accept the visitors of an earlier engine."""
        self._visitors = {**visitors, **self._visitors}

    def visitor(self, cookie: str | None) -> Visitor | None:
        """Return who has a cookie."""
        return self._visitors.get(_digest(cookie)) if cookie else None


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def cookie_name(port: int) -> str:
    """Return the name of the cookie: browsers do not tell the ports of a host apart, so the name does."""
    return f"reverie_{port}"


class GuardedApp:
    """Passes a request on only if its host, origin, cookie and key are right, and adds headers to every answer."""

    def __init__(self, app: ASGIApp, access: PageAccess, port: int) -> None:
        self._app = app
        self._access = access
        self._cookie = cookie_name(port)
        self._hosts = {f"{host}:{port}" for host in _HOSTS}
        self._origins = {f"http://{host}" for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return  # the server speaks nothing else: uvicorn is told to offer no WebSockets and no lifespan

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name.encode(): value.encode() for name, value in SECURITY_HEADERS.items()}
                kept = [(name, value) for name, value in message["headers"] if name.lower() not in own]
                message = {**message, "headers": [*kept, *own.items()]}
            await send(message)

        request = Request(scope)
        refusal = self._refusal(request)
        if refusal is not None:
            await refusal(scope, receive, send_guarded)
            return
        scope["visitor"] = self._access.visitor(request.cookies.get(self._cookie))
        await self._app(scope, receive, send_guarded)

    def _refusal(self, request: Request) -> Response | None:
        headers = request.headers
        if headers.get("host", "") not in self._hosts:
            return _refused(421, "There is no such host here.")
        if not self._is_ours(headers):
            return _refused(403, "This comes from another web page.")
        if request.method not in ("GET", "HEAD", "POST"):
            return _refused(405, "There is nothing for that method here.")
        if int(headers.get("content-length", "0") or "0") > LONGEST_BODY:
            return _refused(413, "That is too long.")
        path = request.url.path
        if path.startswith(_OPEN):
            return None  # the link itself proves who may
        visitor = self._access.visitor(request.cookies.get(self._cookie))
        if visitor is None:
            return _refused(401, _NO_LINK)
        if path.startswith("/api/") and path != STILL_HERE and not _has_key(headers, visitor):
            return _refused(401, "The key of the page is missing. " + _NO_LINK)
        if request.method == "POST" and _content_type(headers) != "application/json":
            return _refused(415, "Send JSON, and say so in Content-Type.")
        return None

    def _is_ours(self, headers: Mapping[str, str]) -> bool:
        """Whether a browser says that our own page, or nobody's, made this request; scripts say nothing."""
        origin = headers.get("origin")
        if origin is not None and origin not in self._origins:
            return False
        site = headers.get("sec-fetch-site")
        if site is None or site in _SAME_SITE:
            return True
        # A link that a person follows, from a terminal or a file, may come from elsewhere; nothing else may.
        return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"


def _has_key(headers: Headers, visitor: Visitor) -> bool:
    return hmac.compare_digest(_digest(headers.get(KEY_HEADER, "")), visitor.key)


def _content_type(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _refused(status: int, reason: str) -> Response:
    return PlainTextResponse(reason + "\n", status)


KEPT_FOR = timedelta(minutes=15)
_CLOCKS_DIFFER = timedelta(minutes=1)
_LARGEST = 1_000_000


@dataclass(frozen=True, slots=True)
class KeptVisitor:
    """A browser that followed a link: the digests of its cookie and key, and where its session works."""

    cookie: bytes
    key: bytes
    folder: str
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class KeptPage:
    """The port that a page was served on, and its visitors."""

    port: int
    visitors: tuple[KeptVisitor, ...]


class KeptPageFile:
    """Reads and writes what is kept of the page of one store."""

    def __init__(self, folder: str, store: str, now: Callable[[], datetime] = system_clock) -> None:
        name = hashlib.sha256(store.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        self.path = os.path.join(folder, f"page-{name}.json")
        self._now = now

    def write(self, port: int, visitors: Sequence[KeptVisitor]) -> None:
        """Write the file; if that fails, a restart loses the visitors."""
        kept = {
            "at": iso(self._now()),
            "port": port,
            "visitors": [
                {
                    "cookie": one.cookie.hex(),
                    "key": one.key.hex(),
                    "folder": one.folder,
                    "environment": dict(one.environment),
                }
                for one in visitors
            ],
        }
        new = f"{self.path}.{os.getpid()}"
        try:
            with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _NO_SYMBOLIC_LINK, 0o600), "wb") as file:
                file.write(json.dumps(kept).encode())
            os.replace(new, self.path)
        except OSError:
            return

    def read(self) -> KeptPage | None:
        """Return what is kept; None if it is too old, cannot be read, or others could have written it."""
        try:
            with open(os.open(self.path, os.O_RDONLY | _NO_SYMBOLIC_LINK), "rb") as file:
                if not _is_private(os.fstat(file.fileno())):
                    return None
                kept = json.loads(file.read(_LARGEST))
            age = self._now() - parse_iso(str(kept["at"]), "at")
            if not -_CLOCKS_DIFFER <= age <= KEPT_FOR:
                return None
            return KeptPage(int(kept["port"]), tuple(_visitor(one) for one in kept["visitors"]))
        except (OSError, ValueError, KeyError, TypeError, InvalidInput):
            return None

    def remove(self) -> None:
        """Remove the file."""
        try:
            os.unlink(self.path)
        except OSError:
            return


_NO_SYMBOLIC_LINK = getattr(os, "O_NOFOLLOW", 0)


def _is_private(found: os.stat_result) -> bool:
    if os.name != "posix":
        return True
    is_file = stat.S_ISREG(found.st_mode) and not stat.S_IMODE(found.st_mode) & 0o077
    return is_file and found.st_uid == os.getuid()


def _visitor(one: Mapping[str, object]) -> KeptVisitor:
    environment = one["environment"]
    if not isinstance(environment, dict):
        raise TypeError("an environment is an object")
    return KeptVisitor(
        bytes.fromhex(str(one["cookie"])),
        bytes.fromhex(str(one["key"])),
        str(one["folder"]),
        {str(name): str(value) for name, value in environment.items()},
    )
