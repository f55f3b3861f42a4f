"""The sessions of clients over HTTP: what each one's own is, and who the current request is from.

With protocol 2025-11-25 a client opens an MCP session; with 2026-07-28 each request stands alone, and all requests of
one user about one project share a session here. Either way a session belongs to one user and one project, and its id
begins with the user's name: so memories and events name their author, whatever the caller says.
"""

import contextvars
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_REQUEST, CallToolResult
from starlette.requests import Request

from reverie.server.app import SERVED, RateLimit, ServedClient
from reverie.server.engine import PROJECT_HEADER, Engine, SessionElsewhere
from reverie.server.http_access import check_call, projects_of
from reverie.server.http_telemetry import Metrics

MOST_SESSIONS_OF_A_USER = 64
SECONDS_A_SESSION_IDLES = 30 * 60.0
LONGEST_PROJECT = 200
_BYTES_OF_AN_ID = 6

_current: contextvars.ContextVar[ServedClient] = contextvars.ContextVar("reverie_http_client")


def current_client() -> ServedClient:
    """Return whom the request that is being answered is from."""
    return _current.get()


@dataclass(slots=True)
class _Kept:
    """A session, and when it was last used."""

    session: SessionElsewhere
    used: float


_Key = tuple[str, str, frozenset[str] | None]
"""An MCP session, the project that a client names, and the projects that its token is limited to."""


class HttpSessions:
    """Keeps what belongs to one user's session between requests; a user's oldest give way when there are too many."""

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.monotonic) -> None:
        self._engine = engine
        self._clock = clock
        self._kept: dict[str, dict[_Key, _Kept]] = {}  # by user
        self._limits: dict[str, RateLimit] = {}

    def client_for(self, request: Request) -> ServedClient:
        """Return the client that a request is from, by its token and headers.

        Raises:
            MCPError: if the header that names its project cannot be one.
        """
        token = token_of(request)
        user = user_of(token)
        key = (request.headers.get(MCP_SESSION_ID_HEADER, ""), project_of(request), projects_of(token))
        session = self._session(user, key)
        limit = self._limits.setdefault(user, RateLimit())
        return ServedClient(
            session,
            limit,
            check=lambda tool, call: check_call(token.scopes, tool, call),
            was_shown_first_steps=True,  # there is no folder to suggest anything for
        )

    def count(self) -> int:
        """Return how many sessions are kept."""
        return sum(map(len, self._kept.values()))

    def _session(self, user: str, key: _Key) -> SessionElsewhere:
        _, project, only_projects = key
        now = self._clock()
        if user not in self._kept:
            self._drop_idle(now)
        own = self._kept.setdefault(user, {})
        kept = own.pop(key, None)
        if kept is None or now - kept.used > SECONDS_A_SESSION_IDLES:
            own_id = f"{user}/{secrets.token_hex(_BYTES_OF_AN_ID)}"
            kept = _Kept(SessionElsewhere(self._engine, project or None, own_id, user, only_projects), now)
        kept.used = now
        own[key] = kept  # the latest used is the last
        while len(own) > MOST_SESSIONS_OF_A_USER:
            del own[next(iter(own))]
        return kept.session

    def _drop_idle(self, now: float) -> None:
        for user, own in [*self._kept.items()]:
            for key, kept in [*own.items()]:
                if now - kept.used > SECONDS_A_SESSION_IDLES:
                    del own[key]
            if not own:
                del self._kept[user]
                self._limits.pop(user, None)


def token_of(request: Request) -> AccessToken:
    """Return the token of a request that the SDK's middleware has let in.

    Raises:
        MCPError: if there is none, which that middleware rules out.
    """
    user = request.scope.get("user")
    if not isinstance(user, AuthenticatedUser):
        raise MCPError(code=INVALID_REQUEST, message="Nobody is known to have sent this.")
    return user.access_token


def user_of(token: AccessToken) -> str:
    """Return the name of a token's user, as provenance and logs have it."""
    return token.subject or token.client_id


def project_of(request: Request) -> str:
    """Return the project that a request names, or nothing.

    Raises:
        MCPError: if the header is too long, or holds what no project's name does.
    """
    given = request.headers.get(PROJECT_HEADER, "").strip()
    try:
        name = given.encode("latin-1").decode("utf-8")  # headers are bytes, which servers read as Latin-1
    except UnicodeDecodeError:
        name = "\0"
    if len(name) > LONGEST_PROJECT or not (name.isprintable() or not name):
        raise MCPError(
            code=INVALID_REQUEST,
            message=f"The header {PROJECT_HEADER} is not a project's name: {LONGEST_PROJECT} characters of UTF-8.",
        )
    return name


class KnowingTheClient(ServerMiddleware[Any]):
    """Finds the client of each message before anything answers it, and counts calls of tools."""

    def __init__(self, sessions: HttpSessions, metrics: Metrics) -> None:
        self._sessions = sessions
        self._metrics = metrics

    async def __call__(self, context: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Answer one message."""
        if not isinstance(context.request, Request):
            raise MCPError(code=INVALID_REQUEST, message="Nobody is known to have sent this.")
        known = _current.set(self._sessions.client_for(context.request))
        began = time.monotonic()
        outcome = "failed"
        try:
            result = await call_next(context)
            refused = isinstance(result, CallToolResult) and result.is_error
            outcome = "refused" if refused else "answered"
            return result
        finally:
            _current.reset(known)
            name = (context.params or {}).get("name") if context.method == "tools/call" else None
            if isinstance(name, str) and name in SERVED:
                self._metrics.note_call(name, outcome, time.monotonic() - began)
