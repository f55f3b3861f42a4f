"""Who calls the HTTP server, and what they may do: tokens, OAuth, and the scope that each call needs.

A caller shows a personal access token (`server/tokens.py`), or an access token of the issuer in REVERIE_OAUTH_ISSUER:
a JWT, signed with a key that the issuer publishes, for this server and no other. See decision 0039.
"""

import asyncio
import hashlib
import json
import logging
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import jwt
from mcp.server.auth.provider import AccessToken, TokenVerifier
from pydantic import AnyHttpUrl

from reverie.errors import InvalidInput, NotAllowed, ReverieError
from reverie.guard.secrets import redact
from reverie.server.tokens import PREFIX, TokenFolder, highest_scope, scopes_up_to
from reverie.time import Clock, system_clock
from reverie.tools.catalog import INDEX_CODEBASE, AnyTool
from reverie.tools.requests import ConsolidateRequest, ForgetRequest, Request, ReviewRequest, TokenScope

ALGORITHMS: Final = ("RS256", "ES256")
"""Signatures with a public key alone: `none` and the HMAC family are never tried."""

SECONDS_KEYS_ARE_FRESH = 300.0
SECONDS_KEYS_LAST = 3600.0
"""Keys older than this are not used, even if the issuer cannot be asked for new ones."""

SECONDS_BETWEEN_FETCHES = 30.0
"""A key that is not known is looked for, but a flood of tokens with made-up key ids is no flood on the issuer."""

PROJECTS: Final = "reverie_projects"
"""The claim, made here of a personal token's record, that names the projects it is limited to."""

_SECONDS_FOR_KEYS = 5.0
_LONGEST_KEYS = 256 * 1024
_LEEWAY = 30.0  # seconds by which the clocks of two hosts may differ
_SMALLEST_RSA = 2048
_LONGEST_USER = 96
_SOME_ID = "3fa9c1d2e4b5"  # a session's id follows the name
_TYPES = (None, "jwt", "at+jwt", "application/at+jwt")
_USUAL_BUDGET = ConsolidateRequest().budget_cents
_RELEASES = "keep"  # the verdict that takes captured statements out of quarantine

log = logging.getLogger("reverie.http")


def scope_needed(tool: AnyTool, request: Request | None = None) -> TokenScope:
    """Return the scope that a call needs; without a request, the least that any call of this tool needs.

    A tool that changes nothing needs `read`, any other `write`. What cannot be undone, lets quarantined text out, or
    spends more money than usual needs `admin`.
    """
    match request:
        case ForgetRequest(purge=True):
            return "admin"
        case ReviewRequest() if any(decision.verdict == _RELEASES for decision in request.decisions):
            return "admin"
        case ConsolidateRequest() if request.budget_cents > _USUAL_BUDGET:
            return "admin"
    return "read" if tool.reads else "write"


def check_call(scopes: list[str], tool: AnyTool, request: Request) -> None:
    """Insist that a caller's scopes cover a call, and that it can be done for somebody on another machine.

    Raises:
        NotAllowed: if they do not.
        InvalidInput: if the call would read folders of the server.
    """
    needed = scope_needed(tool, request)
    if needed not in scopes:
        raise NotAllowed(f"This call of {tool.name}" if needed == "admin" else tool.name, needed)
    if tool.name == INDEX_CODEBASE.name:
        raise InvalidInput(
            "path",
            "a server reached over HTTP does not read folders",
            "Index the code where it is, with a local `reverie index`.",
        )


@dataclass(frozen=True, slots=True)
class OAuth:
    """Whose access tokens are taken: the issuer, where its keys are, and the audience that a token must name."""

    issuer: str
    jwks: str
    audience: str


class CallerVerifier(TokenVerifier):
    """Tells who shows a token. What is wrong with one is logged by kind, and never said to the caller."""

    def __init__(
        self,
        tokens: TokenFolder,
        resource: str,
        oauth: OAuth | None = None,
        clock: Clock = system_clock,
    ) -> None:
        self._tokens = tokens
        self._resource = resource
        self._oauth = oauth
        self._keys = None if oauth is None else IssuerKeys(oauth.jwks)
        self._clock = clock

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return whose token this is and what it allows, or None."""
        if token.startswith(PREFIX):
            return self._personal(token)
        if self._oauth is None or self._keys is None:
            return None
        try:
            return await self._issued(token, self._oauth, self._keys)
        except jwt.PyJWTError as error:
            log.info("A token was refused: %s", type(error).__name__)
        except (ValueError, TypeError, OverflowError, RecursionError):  # built to break a parser
            log.info("A token was refused: Unreadable")
        return None

    def _personal(self, token: str) -> AccessToken | None:
        try:
            record = self._tokens.find(token, self._clock())
        except ReverieError as error:
            log.error("Tokens cannot be read: %s", error)
            return None
        if record is None:
            return None
        return AccessToken(
            token=token,
            client_id=f"token:{record.name}:{record.digest[:12]}",
            scopes=list(scopes_up_to(record.scope)),
            subject=shown_user(record.user),
            resource=self._resource,
            claims={PROJECTS: list(record.projects)} if record.projects else None,
        )

    async def _issued(self, token: str, oauth: OAuth, keys: "IssuerKeys") -> AccessToken | None:
        header = jwt.get_unverified_header(token)
        kid, algorithm, kind = header.get("kid"), header.get("alg"), header.get("typ")
        if algorithm not in ALGORITHMS or (kind.lower() if isinstance(kind, str) else kind) not in _TYPES:
            raise jwt.InvalidAlgorithmError
        key = await keys.find(kid if isinstance(kid, str) else None, algorithm)
        if key is None:
            raise jwt.InvalidKeyError
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=[algorithm],
            audience=[oauth.audience, f"{oauth.audience.removesuffix('/')}/"],
            issuer=oauth.issuer,
            leeway=_LEEWAY,
            options={"require": ["exp", "iss", "aud", "sub"]},
        )
        subject = claims["sub"]
        if not isinstance(subject, str) or not subject or not _is_for(claims.get("resource"), oauth.audience):
            raise jwt.InvalidAudienceError
        scope = highest_scope(_scopes_in(claims))
        return AccessToken(
            token=token,
            client_id=f"oauth:{claims.get('client_id') or claims.get('azp') or ''}",
            scopes=[] if scope is None else list(scopes_up_to(scope)),
            expires_at=int(claims["exp"]) + int(_LEEWAY),
            subject=oauth_user(subject),
            resource=self._resource,  # its audience was compared above
            claims={"iss": oauth.issuer},
        )


def projects_of(token: AccessToken) -> frozenset[str] | None:
    """Return the projects that a token is limited to; None if it sees them all."""
    named = (token.claims or {}).get(PROJECTS)
    return None if named is None else frozenset(named)


def oauth_user(subject: str) -> str:
    """Return how memories name a person whom the issuer knows; no personal access token can have such a name."""
    return shown_user(f"sso:{quote(subject, safe='@.+|-_ ')}")


def shown_user(name: str) -> str:
    """Return a user's name as provenance can carry it.

    One that the scan for secrets would take out of every memory, or that is very long, stands there as its digest.
    """
    if len(name) <= _LONGEST_USER and not redact(f"{name}/{_SOME_ID}").found:
        return name
    kind, colon, _ = name.rpartition(":")
    return f"{kind}{colon}~{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def _scopes_in(claims: Mapping[str, Any]) -> list[str]:
    """Return the scopes that a token names, in either of the two claims that issuers use."""
    given = claims.get("scope", claims.get("scp", ""))
    parts = given.split() if isinstance(given, str) else given
    return [part for part in parts if isinstance(part, str)] if isinstance(parts, list) else []


def _is_for(resource: object, audience: str) -> bool:
    """Return whether a `resource` claim names this server, or is not there."""
    named = resource if isinstance(resource, list) else [resource]
    return resource is None or audience.removesuffix("/") in [
        one.removesuffix("/") for one in named if isinstance(one, str)
    ]


class IssuerKeys:
    """The public keys of an issuer, fetched when needed, and again when they are old or one is not among them."""

    def __init__(
        self,
        address: str,
        fetch: Callable[[str], bytes] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._address = address
        self._fetch = fetch or fetch_keys
        self._clock = clock
        self._keys: list[jwt.PyJWK] = []
        self._fetched: float | None = None  # when the keys came
        self._tried: float | None = None
        self._fetching = asyncio.Lock()

    async def find(self, kid: str | None, algorithm: str) -> jwt.PyJWK | None:
        """Return the key with this id for this algorithm; without an id, the only one there is for it."""
        async with self._fetching:
            if self._age() >= SECONDS_KEYS_ARE_FRESH:
                await self._refresh()
            found = self._among_known(kid, algorithm)
            if found is None:
                await self._refresh()
                found = self._among_known(kid, algorithm)
        return found

    def _age(self) -> float:
        return float("inf") if self._fetched is None else self._clock() - self._fetched

    def _among_known(self, kid: str | None, algorithm: str) -> jwt.PyJWK | None:
        if self._age() >= SECONDS_KEYS_LAST:
            return None
        fitting = [key for key in self._keys if _fits(key, algorithm) and (kid is None or key.key_id == kid)]
        return fitting[0] if len(fitting) == 1 else None

    async def _refresh(self) -> None:
        now = self._clock()
        if self._tried is not None and now - self._tried < SECONDS_BETWEEN_FETCHES:
            return
        self._tried = now
        try:
            self._keys = read_keys(await asyncio.to_thread(self._fetch, self._address))
            self._fetched = now
        except (OSError, ValueError, RecursionError, jwt.PyJWTError) as error:
            log.warning("The keys of the issuer could not be fetched: %s", type(error).__name__)


def read_keys(document: bytes) -> list[jwt.PyJWK]:
    """Return the keys of a JWKS that can check signatures; others, as for encryption, are left out.

    Raises:
        ValueError: if it is no JWKS.
    """
    listed = json.loads(document)
    listed = listed.get("keys") if isinstance(listed, dict) else None
    if not isinstance(listed, list):
        raise ValueError("no keys")
    keys = []
    for one in listed:
        if not isinstance(one, dict) or one.get("use", "sig") != "sig" or one.get("kty") not in ("RSA", "EC"):
            continue
        algorithm = one.get("alg") or ("RS256" if one["kty"] == "RSA" else "ES256")
        if algorithm not in ALGORITHMS or one.get("crv", "P-256") != "P-256" or "d" in one:
            continue
        try:
            keys.append(jwt.PyJWK(one, algorithm))
        except (jwt.PyJWTError, ValueError, TypeError):
            log.warning("A key of the issuer cannot be used.")
    return keys


def _fits(key: jwt.PyJWK, algorithm: str) -> bool:
    if key.algorithm_name != algorithm:
        return False
    return key.key_type != "RSA" or getattr(key.key, "key_size", 0) >= _SMALLEST_RSA


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the address of the keys is the one that was set."""

    def redirect_request(self, *arguments: Any, **named: Any) -> None:
        """Refuse."""
        return


def fetch_keys(address: str) -> bytes:
    """Fetch a JWKS from an address that the settings have checked to be https, or on this machine.

    Raises:
        OSError: if it cannot be had.
    """
    opener = urllib.request.build_opener(_NoRedirects)
    with opener.open(address, timeout=_SECONDS_FOR_KEYS) as answer:
        document: bytes = answer.read(_LONGEST_KEYS + 1)
    if len(document) > _LONGEST_KEYS:
        raise OSError("too long")
    return document


def as_url(address: str) -> AnyHttpUrl:
    """Return an address as the SDK takes it."""
    return AnyHttpUrl(address)
