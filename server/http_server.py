"""`reverie serve --http`: MCP over streamable HTTP, with tokens, limits, health and metrics.

Where it may listen is decided before anything is opened: on loopback, or beyond it with TLS or behind a named proxy,
and never without a way to tell who calls. See docs/team.md and decision 0039.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import uvicorn
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from mcp.server.auth.settings import AuthSettings
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from reverie import __version__
from reverie.errors import InvalidInput, ReverieError, SettingError
from reverie.process_memory import limit_malloc_arenas
from reverie.server.app import ReverieServer, ServedClient, build_shared_server
from reverie.server.compat import open_sessions, session_manager, sessions_of
from reverie.server.engine import Engine
from reverie.server.http_access import CallerVerifier, OAuth, as_url
from reverie.server.http_limits import (
    HEALTH,
    LONGEST_BODY,
    MCP_PATH,
    METRICS_PATH,
    FrontDoor,
    Hosts,
    Limits,
    Peer,
    TimedProtocol,
    UserLimits,
)
from reverie.server.http_sessions import HttpSessions, KnowingTheClient, current_client
from reverie.server.http_telemetry import Metrics, flush_spans, log_as_json
from reverie.server.tokens import SCOPES, TokenFolder
from reverie.settings import OAUTH_ISSUER, OAUTH_JWKS, Settings
from reverie.time import system_clock

SECONDS_TO_FINISH = 20
"""How long a server that was asked to stop waits for the calls under way."""

FIRST_TOKEN: Final = "local"  # noqa: S105 - its name, not the token
_MOST_CONNECTIONS = 1_000
_BACKLOG = 256
_ANY: Final = ("0.0.0.0", "::")  # noqa: S104 - compared with, and listened on only if somebody says so

log = logging.getLogger("reverie.http")


@dataclass(frozen=True, slots=True)
class HttpPlan:
    """Where to listen and how."""

    host: str
    port: int
    tls_cert: str = ""
    tls_key: str = ""
    proxy: str = ""  # the address of the only peer that is believed
    public_url: str = ""

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect."""
        return is_loopback(self.host)

    @property
    def is_exposed(self) -> bool:
        """Whether others than this machine's users can reach it, directly or by the proxy."""
        return not self.is_loopback or bool(self.proxy)

    @property
    def scheme(self) -> str:
        """What clients without a proxy speak."""
        return "https" if self.tls_cert else "http"


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine's own, as seen from itself."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def read_plan(http: str, *, tls_cert: str, tls_key: str, behind_proxy: str, public_url: str) -> HttpPlan:
    """Return the plan that the options of `serve` stand for.

    Raises:
        InvalidInput: if an option is not what it takes, or tokens would travel in the clear.
    """
    if not http:
        raise InvalidInput("--http", "the other options need an address", "Say --http HOST:PORT.")
    host, _, port = http.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdigit() or int(port[:6]) > 65_535:
        raise InvalidInput("--http", f"{http!r} is not HOST:PORT", "Such as 127.0.0.1:8321, or [::1]:8321.")
    if bool(tls_cert) != bool(tls_key):
        raise InvalidInput("--tls-cert", "a certificate and its key belong together", "Give --tls-key as well.")
    for option, file in (("--tls-cert", tls_cert), ("--tls-key", tls_key)):
        if file and not Path(file).is_file():
            raise InvalidInput(option, f"there is no file {file}", "Give the path of a PEM file.")
    if behind_proxy:
        try:
            behind_proxy = str(ip_address(behind_proxy.removeprefix("[").removesuffix("]")))
        except ValueError:
            raise InvalidInput(
                "--behind-proxy", f"{behind_proxy!r} is not an address", "Give the proxy's own, such as 10.0.0.5."
            ) from None
    plan = HttpPlan(host, int(port), tls_cert, tls_key, behind_proxy, public_url)
    if not plan.is_loopback and not tls_cert and not behind_proxy:
        raise InvalidInput(
            "--http",
            f"{host} can be reached from other machines, and tokens would travel in the clear",
            "Give --tls-cert and --tls-key, or put a proxy that speaks TLS in front and name it with "
            "--behind-proxy ADDRESS; or listen on 127.0.0.1.",
        )
    _check_public_url(plan)
    return plan


def _check_public_url(plan: HttpPlan) -> None:
    if not plan.public_url:
        if plan.proxy:
            raise InvalidInput(
                "--public-url",
                "a proxy has an address of its own",
                "Give the one that clients use: https://HOST/mcp.",
            )
        return
    url = urlsplit(plan.public_url)
    is_secure = url.scheme == "https" or (url.scheme == "http" and is_loopback(url.hostname or ""))
    if not is_secure or not url.hostname or url.query or url.fragment:
        raise InvalidInput(
            "--public-url", f"{plan.public_url!r} is not such an address", "Give https://HOST/mcp, without a query."
        )


def oauth_from(settings: Settings, resource: str) -> OAuth | None:
    """Return whose access tokens are taken, if the settings name an issuer.

    Raises:
        SettingError: if half of it is missing.
    """
    if settings.oauth_issuer is None:
        if settings.oauth_jwks or settings.oauth_audience:
            raise SettingError(OAUTH_ISSUER.variable, "", OAUTH_ISSUER.takes)
        return None
    if settings.oauth_jwks is None:
        raise SettingError(OAUTH_JWKS.variable, "", f"{OAUTH_JWKS.takes}, because an issuer is set")
    return OAuth(settings.oauth_issuer, settings.oauth_jwks, settings.oauth_audience or resource)


def first_token(plan: HttpPlan, settings: Settings, tokens: TokenFolder) -> str | None:
    """Return a new token if there is no way in yet and only this machine can connect; None if there is a way.

    Raises:
        InvalidInput: if there is none, and others can connect.
    """
    if tokens.all() or settings.oauth_issuer:
        return None
    if plan.is_exposed:
        raise InvalidInput(
            "--http",
            "nobody could be let in: there is no token and no issuer",
            "Make a token with `reverie tokens create NAME --scope write`, or set REVERIE_OAUTH_ISSUER and "
            "REVERIE_OAUTH_JWKS.",
        )
    return tokens.create(FIRST_TOKEN, "admin", now=system_clock())


class HttpServer:
    """One listening server: its engine, its application and its end."""

    def __init__(
        self,
        plan: HttpPlan,
        load_settings: Callable[[], Settings],
        settings: Settings,
        tokens: TokenFolder,
        listening: socket.socket,
        build: Callable[[Callable[[], ServedClient]], ReverieServer] = build_shared_server,
    ) -> None:
        self.plan = plan
        self.port: int = listening.getsockname()[1]
        self.address = f"{plan.scheme}://{_bracketed(_reachable(plan.host))}:{self.port}{MCP_PATH}"
        self.resource = plan.public_url or self.address
        self._listening = listening
        self._engine = Engine(load_settings, f"serving HTTP on port {self.port} (process {os.getpid()})")
        self._metrics = Metrics()
        self._sessions = HttpSessions(self._engine)
        self._stopping = asyncio.Event()
        self._oauth = oauth_from(settings, self.resource)
        self._verifier = CallerVerifier(tokens, self.resource, self._oauth)
        self._auth = None if self._oauth is None else _auth_settings(self._oauth, self.resource)
        server = build(current_client)
        server.middleware.append(KnowingTheClient(self._sessions, self._metrics))
        self._manager = session_manager(server, LONGEST_BODY)
        self._limits = UserLimits(
            StreamableHTTPASGIApp(self._manager),
            Limits(settings.http_rate, settings.http_concurrent),
            self._metrics,
            is_valid=self._verifier.verify_token,
            sessions_of=lambda user: sessions_of(self._manager, user),
            stopping=self._stopping,
            metadata_url=self._metadata_url,
        )

    @property
    def _metadata_url(self) -> str | None:
        return None if self._auth is None else str(build_resource_metadata_url(as_url(self.resource)))

    def stop(self) -> None:
        """Take no new calls; those under way end."""
        self._stopping.set()

    async def serve(self) -> None:
        """Serve until asked to stop, then let the calls under way end and write what waits."""
        self._engine.start()
        serving_on = _Uvicorn(self._config())
        async with self._manager.run():
            serving = asyncio.create_task(serving_on.serve([self._listening]))
            stopped = asyncio.create_task(self._stopping.wait())
            await asyncio.wait((serving, stopped), return_when=asyncio.FIRST_COMPLETED)
            self._stopping.set()
            serving_on.should_exit = True
            await serving
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._engine.until_no_calls(), SECONDS_TO_FINISH)
            stopped.cancel()
        await self._engine.close()

    def application(self) -> ASGIApp:
        """Return everything that answers: the checks around the SDK's own application."""
        app: ASGIApp = FrontDoor(self._routes(), self._metrics, self._hosts(), self.plan.proxy or None)
        if self.plan.proxy:
            app = ProxyHeadersMiddleware(app, trusted_hosts=[self.plan.proxy])  # type: ignore[arg-type, assignment]
        return Peer(app)

    def _config(self) -> uvicorn.Config:
        return uvicorn.Config(
            self.application(),
            http=TimedProtocol,
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # uvicorn would believe anybody on loopback
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=SECONDS_TO_FINISH,
            ssl_certfile=self.plan.tls_cert or None,
            ssl_keyfile=self.plan.tls_key or None,
        )

    def _routes(self) -> Starlette:
        verified = BearerAuthBackend(
            self._verifier,
            resource_server_url=self._auth.resource_server_url
            if self._auth is not None and self._auth.validate_token_resource
            else None,
        )
        metadata = None if self._metadata_url is None else as_url(self._metadata_url)
        routes = [
            Route(MCP_PATH, endpoint=RequireAuthMiddleware(self._limits, [SCOPES[0]], metadata)),
            Route(HEALTH[0], self._healthy),
            Route(HEALTH[1], self._ready),
            Route(METRICS_PATH, self._tell_metrics),
        ]
        if self._auth is not None and self._auth.resource_server_url is not None:
            routes += create_protected_resource_routes(
                self._auth.resource_server_url,
                [self._auth.issuer_url],
                scopes_supported=list(SCOPES),
                resource_name="Reverie",
            )
        return Starlette(
            routes=routes,
            middleware=[Middleware(AuthenticationMiddleware, backend=verified), Middleware(AuthContextMiddleware)],
        )

    def _hosts(self) -> Hosts:
        """Return the names and origins that are ours: those of this machine, and the one that clients use."""
        names = {"localhost", "127.0.0.1", "::1"} | ({self.plan.host} - set(_ANY))
        if not self.plan.is_loopback:
            names.add(socket.gethostname())
        hosts = [f"{_bracketed(name)}:{self.port}" for name in names]
        origins = [f"http://{_bracketed(name)}:*" for name in ("localhost", "127.0.0.1", "::1")]
        if self.plan.public_url:
            url = urlsplit(self.plan.public_url)
            hosts += [url.netloc, f"{url.netloc}:{443 if url.scheme == 'https' else 80}"]
            origins.append(f"{url.scheme}://{url.netloc}")
        return Hosts(hosts, origins)

    # -- routes ------------------------------------------------------------------------------------------

    async def _healthy(self, request: Request) -> Response:
        return JSONResponse({"status": "ok", "version": __version__})

    async def _ready(self, request: Request) -> Response:
        """Say whether calls can be answered: the store is open, or can be opened, and nobody asked to stop."""
        if self._stopping.is_set():
            return JSONResponse({"status": "stopping"}, 503)
        domain = self._engine.opened
        if domain is None:
            self._engine.start()
            return JSONResponse({"status": "opening"}, 503)
        if not domain.store.is_current():  # a newer version upgraded it, or it was re-embedded
            self._engine.start()
            return JSONResponse({"status": "replaced"}, 503)
        if self._engine.has_lost_its_store():
            return JSONResponse({"status": "no store"}, 503)
        return JSONResponse({"status": "ready"})

    async def _tell_metrics(self, request: Request) -> Response:
        """Give the numbers to a program on this machine, or to whoever has a token for everything."""
        peer = str(request.scope.get("reverie_peer", ""))
        is_here = not self.plan.proxy and is_loopback(peer)  # behind a proxy anybody may seem to be here
        if not is_here and SCOPES[-1] not in request.auth.scopes:
            return JSONResponse({"error": "forbidden", "error_description": "This needs the scope 'admin'."}, 403)
        gauges = {
            "reverie_ready": ("Whether the store is open.", float(self._engine.opened is not None)),
            "reverie_mcp_sessions": ("MCP sessions that are open.", open_sessions(self._manager)),
            "reverie_sessions": ("Sessions kept, of any protocol.", self._sessions.count()),
            "reverie_calls_under_way": ("Requests being worked on.", self._limits.working),
        }
        return PlainTextResponse(self._metrics.text(gauges), media_type="text/plain; version=0.0.4")


class _Uvicorn(uvicorn.Server):
    """Leaves signals to the process it runs in."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def _auth_settings(oauth: OAuth, resource: str) -> AuthSettings:
    return AuthSettings(
        issuer_url=as_url(oauth.issuer),
        resource_server_url=as_url(resource),
        validate_token_resource=True,
        required_scopes=[SCOPES[0]],
    )


def _reachable(host: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - where it can be reached from here


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def listen(plan: HttpPlan) -> socket.socket:
    """Listen where the plan says.

    Raises:
        InvalidInput: if that cannot be done.
    """
    try:
        family, *_ = socket.getaddrinfo(plan.host, plan.port, type=socket.SOCK_STREAM)[0]
        return socket.create_server((plan.host, plan.port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise InvalidInput(
            "--http", f"{plan.host}:{plan.port} cannot be listened on ({error.strerror or error})", "Give another."
        ) from None


def serve(plan: HttpPlan, load_settings: Callable[[], Settings], tell: Callable[[str], None]) -> int:
    """Serve in this process until the system asks to stop; return the exit code. `tell` writes a line for people.

    Raises:
        ReverieError: if it cannot begin.
    """
    settings = load_settings()
    tokens = TokenFolder(settings.installation.folder)
    token = first_token(plan, settings, tokens)
    oauth_from(settings, plan.public_url)  # a mistake in it is told before anything listens
    listening = listen(plan)
    limit_malloc_arenas()
    log_as_json()
    asyncio.run(_serve(plan, load_settings, settings, tokens, listening, token, tell))
    return 0


async def _serve(
    plan: HttpPlan,
    load_settings: Callable[[], Settings],
    settings: Settings,
    tokens: TokenFolder,
    listening: socket.socket,
    token: str | None,
    tell: Callable[[str], None],
) -> None:
    code = 1
    try:
        server = HttpServer(plan, load_settings, settings, tokens, listening)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            with contextlib.suppress(NotImplementedError):  # Windows has no signal handlers in its loop
                loop.add_signal_handler(number, server.stop)
        if token is not None:
            tell(f"A token for this server, shown once: {token}")
        if server.resource != server.address:
            tell(f"Clients use {server.resource}")
        tell(f"Serving MCP on {server.address}")
        await server.serve()
        code = 0
    except (ReverieError, OSError, ValueError) as error:  # a certificate that cannot be read, among others
        log.error("Reverie cannot serve: %s", error)
    except Exception:
        log.exception("Reverie stopped serving.")
    finally:
        flush_spans()
        # A thread may still be importing or embedding. Everything is written: do not wait for it.
        sys.stderr.flush()
        os._exit(code)
