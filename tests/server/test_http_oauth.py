"""Access tokens of an issuer: a real JWKS server, and every way in which a token can be wrong."""

import asyncio
import base64
import http.server
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from reverie.server.http_access import (
    SECONDS_BETWEEN_FETCHES,
    SECONDS_KEYS_ARE_FRESH,
    SECONDS_KEYS_LAST,
    IssuerKeys,
    read_keys,
)
from tests.server.http_process import HttpProcess, serving

pytestmark = pytest.mark.slow

ISSUER = "https://login.example.com/team"
RESOURCE = "https://memory.example.com/mcp"

RSA = rsa.generate_private_key(65537, 2048)
EC = ec.generate_private_key(ec.SECP256R1())
OTHER_RSA = rsa.generate_private_key(65537, 2048)
SHORT_RSA = rsa.generate_private_key(65537, 1024)  # noqa: S505 - to be refused
EC_384 = ec.generate_private_key(ec.SECP384R1())

Signer = Callable[..., str]


def public(key: Any, kid: str, **more: Any) -> dict[str, Any]:
    algorithm = jwt.algorithms.RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else jwt.algorithms.ECAlgorithm
    return json.loads(algorithm.to_jwk(key.public_key())) | {"kid": kid, "use": "sig"} | more


KEYS = [public(RSA, "rsa"), public(EC, "ec"), public(SHORT_RSA, "short"), public(EC_384, "384")]


class Jwks:
    """An issuer's list of keys, on loopback, that a test can change."""

    def __init__(self) -> None:
        self.keys: list[dict[str, Any]] = list(KEYS)
        self.asked = 0
        jwks = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                jwks.asked += 1
                body = json.dumps({"keys": jwks.keys}).encode()
                self.send_response(302 if self.path == "/moved" else 200)
                if self.path == "/moved":
                    self.send_header("Location", "/keys")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: Any) -> None: ...

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/keys"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def jwks() -> Iterator[Jwks]:
    served = Jwks()
    yield served
    served.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, jwks: Jwks) -> Iterator[HttpProcess]:
    with serving(
        tmp_path_factory.mktemp("oauth"),
        "--public-url",
        RESOURCE,
        REVERIE_OAUTH_ISSUER=ISSUER,
        REVERIE_OAUTH_JWKS=jwks.url,
    ) as running:
        running.until_ready()
        yield running


def claims(**changed: Any) -> dict[str, Any]:
    now = int(time.time())
    usual = {
        "iss": ISSUER,
        "sub": "anna@example.com",
        "aud": RESOURCE,
        "iat": now,
        "exp": now + 600,
        "scope": "write",
    }
    return {name: value for name, value in (usual | changed).items() if value is not None}


def signed(key: Any = RSA, algorithm: str = "RS256", headers: dict[str, Any] | None = None, **changed: Any) -> str:
    return jwt.encode(claims(**changed), key, algorithm, headers={"kid": "rsa", "typ": "at+jwt"} | (headers or {}))


def status(server: HttpProcess, token: str) -> int:
    return server.call("status", token=token).status


def test_a_token_of_the_issuer_for_this_server_lets_its_subject_in(server: HttpProcess) -> None:
    for token in (signed(), signed(EC, "ES256", {"kid": "ec"})):
        kept = server.call("remember", {"content": f"Signed note {token[-6:]} on the barge."}, token=token).structured
        [memory] = server.call("inspect", {"ids": [kept["id"]]}, token=token).structured["memories"]
        assert memory["session"].startswith("sso:anna@example.com/")
    assert status(server, signed(aud=["https://other.example.com", RESOURCE])) == 200
    assert status(server, signed(aud=f"{RESOURCE}/")) == 200
    assert status(server, signed(resource=RESOURCE)) == 200
    assert status(server, signed(scope=None, scp=["read"])) == 200
    assert status(server, signed(scope="openid profile read calendar")) == 200


WRONG: dict[str, Callable[[], str]] = {
    "expired": lambda: signed(exp=int(time.time()) - 3600),
    "without an end": lambda: signed(exp=None),
    "not yet": lambda: signed(nbf=int(time.time()) + 3600),
    "issued in the future": lambda: signed(iat=int(time.time()) + 3600),
    "of another issuer": lambda: signed(iss="https://evil.example.com"),
    "of an issuer that begins alike": lambda: signed(iss=f"{ISSUER}/"),
    "without an issuer": lambda: signed(iss=None),
    "for another server": lambda: signed(aud="https://other.example.com/mcp"),
    "for a server that begins alike": lambda: signed(aud=f"{RESOURCE}-evil"),
    "for nobody": lambda: signed(aud=None),
    "for an empty list": lambda: signed(aud=[]),
    "of another resource": lambda: signed(resource="https://other.example.com/mcp"),
    "of an odd resource": lambda: signed(resource={"a": RESOURCE}),
    "without a subject": lambda: signed(sub=None),
    "with an empty subject": lambda: signed(sub=""),
    "signed by another key": lambda: signed(OTHER_RSA),
    "with a key id of another key": lambda: signed(RSA, headers={"kid": "ec"}),
    "with an unknown key id": lambda: signed(RSA, headers={"kid": "nobody"}),
    "with a key that is too short": lambda: signed(SHORT_RSA, headers={"kid": "short"}),
    "with another algorithm": lambda: signed(RSA, "RS512"),
    "with another curve": lambda: signed(EC_384, "ES384", {"kid": "384"}),
    "unsigned": lambda: jwt.encode(claims(), None, "none", headers={"kid": "rsa"}),
    "HMAC with the public key": lambda: confused(),
    "signature cut off": lambda: signed().rpartition(".")[0] + ".",
    "tampered payload": lambda: tampered(sub="admin@example.com"),
    "raised scope": lambda: tampered(scope="admin"),
    "of another kind": lambda: signed(headers={"typ": "dpop+jwt"}),
    "with a key of its own": lambda: own_key(),
    "for projects by the name of one": lambda: signed(reverie_projects="shop"),
    "for no project": lambda: signed(reverie_projects=[]),
    "for projects that are null": lambda: unfiltered(reverie_projects=None),
    "for projects that are true": lambda: signed(reverie_projects=True),
    "for projects in an object": lambda: signed(reverie_projects={"shop": True}),
    "for every project by a wildcard": lambda: signed(reverie_projects=["*"]),
    "for projects by a pattern": lambda: signed(reverie_projects=["shop", "github.com/acme/*"]),
    "for a project without a name": lambda: signed(reverie_projects=["shop", ""]),
    "for a project and a number": lambda: signed(reverie_projects=["shop", 3]),
    "for a list of lists": lambda: signed(reverie_projects=[["shop"]]),
    "for a project of two lines": lambda: signed(reverie_projects=["shop\nother"]),
    "for a very long project": lambda: signed(reverie_projects=["s" * 300]),
    "for projects in capitals": lambda: signed(Reverie_Projects=["shop"]),
    "for projects in a namespace": lambda: signed(**{"https://example.com/reverie_projects": ["shop"]}),
    "for projects with a hyphen": lambda: signed(**{"reverie-projects": ["shop"]}),
    "for projects in two spellings": lambda: signed(reverie_projects=["shop"], REVERIE_PROJECTS=["other"]),
    "for projects, said twice": lambda: said_twice('"reverie_projects": ["shop"], "reverie_projects": ["other"]'),
    "for projects, the second time for none": lambda: said_twice('"reverie_projects": ["shop"], "scope": "write"'),
    "five parts": lambda: signed() + ".a.b",
    "no parts": lambda: "a" * 500,
    "dots": lambda: "..",
    "a number as header": lambda: part(3) + "." + part(3) + ".AAAA",
    "a list as payload": lambda: part({"alg": "RS256", "kid": "rsa"}) + "." + part([1]) + ".AAAA",
    "odd types in header": lambda: part({"alg": ["RS256"], "kid": {"a": 1}, "typ": 3}) + "." + part({}) + ".AAAA",
    "deep": lambda: base64.urlsafe_b64encode(b"[" * 3000).decode().rstrip("=") + ".e30.AAAA",
}


def part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def tampered(**changed: Any) -> str:
    head, _, signature = signed().split(".")
    return f"{head}.{part(claims(**changed))}.{signature}"


def confused() -> str:
    """Sign with HMAC, with the issuer's public key as the secret: a known trick."""
    import hashlib
    import hmac

    pem = RSA.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    text = f"{part({'alg': 'HS256', 'kid': 'rsa', 'typ': 'at+jwt'})}.{part(claims())}"
    signature = hmac.digest(pem, text.encode(), hashlib.sha256)
    return f"{text}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


def unfiltered(**changed: Any) -> str:
    """Sign claims with what is null left in."""
    return jwt.encode(claims() | changed, RSA, "RS256", headers={"kid": "rsa", "typ": "at+jwt"})


def said_twice(more: str) -> str:
    """Sign a payload in which a claim stands twice; readers of JSON differ in which of them they take."""
    payload = json.dumps(claims())[:-1] + f", {more}}}"
    return jwt.PyJWS().encode(payload.encode(), RSA, "RS256", headers={"kid": "rsa", "typ": "at+jwt"})


def own_key() -> str:
    """Bring the key along in the header, and an address where it could be fetched."""
    headers = {"jwk": public(OTHER_RSA, "rsa"), "jku": "http://127.0.0.1:9/keys", "x5u": "http://127.0.0.1:9/x"}
    return signed(OTHER_RSA, headers=headers)


@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")
def test_no_token_that_is_wrong_in_any_way_is_let_in(server: HttpProcess) -> None:
    let_in = {name: code for name, make in WRONG.items() if (code := status(server, make())) != 401}
    assert let_in == {}
    assert status(server, signed()) == 200


def test_the_refusal_names_where_to_ask_and_never_what_was_wrong(server: HttpProcess) -> None:
    answer = server.call("status", token=WRONG["expired"]())
    address = "https://memory.example.com/.well-known/oauth-protected-resource/mcp"
    assert f'resource_metadata="{address}"' in answer.headers["www-authenticate"]
    assert b"xpired" not in answer.body
    told = server.request("GET", "/.well-known/oauth-protected-resource/mcp").json
    assert told["resource"] == RESOURCE
    assert told["authorization_servers"] == [ISSUER]
    assert told["scopes_supported"] == ["read", "write", "admin"]


def test_scopes_of_other_services_count_for_nothing(server: HttpProcess) -> None:
    for scope in ("", "calendar:admin", "reader", "READ", "reverie/write", "openid"):
        answer = server.call("status", token=signed(scope=scope))
        assert answer.status == 403, scope
    for odd in (3, {"read": 1}, [["read"]], None, [1]):
        assert server.call("status", token=signed(scope=odd)).status == 403, odd
    reading = signed(scope="read")
    assert server.call("status", token=reading).status == 200
    refused = server.call("remember", {"content": "x"}, token=reading)
    assert refused.status == 403
    assert "resource_metadata=" in refused.headers["www-authenticate"]


def test_a_session_is_not_taken_over_by_another_subject(server: HttpProcess) -> None:
    session = server.open_session(signed())
    ping = {"id": 2, "method": "ping"}
    assert server.in_session(ping, signed(), session).status == 200  # a fresh token of the same person
    assert server.in_session(ping, signed(sub="ben@example.com"), session).status == 404
    assert server.in_session(ping, WRONG["expired"](), session).status == 401


def test_no_subject_can_pass_for_the_user_of_a_personal_token(server: HttpProcess) -> None:
    server.new_token("carla", "write")
    kept = server.call("remember", {"content": "The quay floods in spring."}, token=signed(sub="carla")).structured
    [memory] = server.call("inspect", {"ids": [kept["id"]]}, token=signed()).structured["memories"]
    assert memory["session"].startswith("sso:carla/")


def test_an_issuer_can_limit_a_token_to_projects(server: HttpProcess) -> None:
    shop, other = signed(reverie_projects=["shop"]), signed(reverie_projects=["other"])
    everywhere = signed()
    told = "The safe of the other project is opened with a copper key."
    kept = server.call("remember", {"content": told}, token=everywhere, project="other").structured["id"]
    asked = {"query": "what opens the safe of the other project"}
    for token, sees in ((everywhere, [kept]), (other, [kept]), (signed(reverie_projects=["shop", "other"]), [kept])):
        rows = server.call("recall", asked, token=token, project="other").structured["results"]
        assert [row["id"] for row in rows] == sees
    refused = server.call("recall", asked, token=shop, project="other")
    assert refused.result["isError"]
    assert "not for the project 'other'" in refused.text
    named = server.call("recall", {**asked, "project": "other"}, token=shop, project="shop")
    assert named.result["isError"]
    assert "not for the project 'other'" in named.text
    everything = server.call("recall", {**asked, "all_projects": True}, token=shop, project="shop")
    assert everything.structured["results"] == []
    assert server.call("inspect", {"ids": [kept]}, token=shop, project="shop").result["isError"]
    assert server.call("remember", {"content": "x y z"}, token=shop, project="global").result["isError"]
    assert "other" not in server.call("status", token=shop, project="shop").text


def test_a_session_opened_with_a_wider_token_does_not_widen_a_limited_one(server: HttpProcess) -> None:
    session = server.open_session(signed())
    text = "The ferry of the tests leaves from the second pier."
    server.call("remember", {"content": text}, token=signed())
    call = {
        "id": 7,
        "method": "tools/call",
        "params": {"name": "recall", "arguments": {"query": "where does the ferry of the tests leave from"}},
    }
    assert text in server.in_session(call, signed(), session).text
    limited = server.in_session(call, signed(reverie_projects=["shop"]), session).result
    assert limited["isError"], limited
    assert text not in json.dumps(limited)


# -- keys --------------------------------------------------------------------------------------------------


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_keys_are_fetched_again_when_one_is_new_and_dropped_when_they_are_old() -> None:
    clock, asked = Clock(), 0
    published: list[dict[str, Any]] | None = [public(RSA, "one")]

    def fetch(address: str) -> bytes:
        nonlocal asked
        asked += 1
        if published is None:
            raise OSError("the issuer is away")
        return json.dumps({"keys": published}).encode()

    keys = IssuerKeys("https://x.example", fetch, clock)

    def has(kid: str | None) -> bool:
        return asyncio.run(keys.find(kid, "RS256")) is not None

    assert has("one")
    assert not any(has(f"made up {number}") for number in range(50))
    assert asked == 1  # a flood of unknown keys asks nobody
    published = [public(OTHER_RSA, "two")]
    clock.now += SECONDS_BETWEEN_FETCHES
    assert has("two")
    assert not has("one")  # rotated out
    published = None
    clock.now += SECONDS_KEYS_ARE_FRESH
    assert has("two")  # the issuer is away: its keys hold for a while
    clock.now += SECONDS_KEYS_LAST
    assert not has("two")
    published = [public(RSA, "one"), public(OTHER_RSA, "two")]
    clock.now += SECONDS_BETWEEN_FETCHES
    assert has("two")
    assert not has(None)  # which of the two is not said


def test_only_keys_for_signatures_are_taken_from_a_list() -> None:
    secret = {"kty": "oct", "k": "c2VjcmV0", "kid": "hmac", "alg": "HS256"}
    private = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(RSA)) | {"kid": "private"}
    listed = [
        public(RSA, "good"),
        public(RSA, "for encryption", use="enc"),
        public(RSA, "of another algorithm", alg="PS256"),
        public(EC_384, "of another curve"),
        secret,
        private,
        {"kty": "RSA", "kid": "half"},
        3,
    ]
    assert [key.key_id for key in read_keys(json.dumps({"keys": listed}).encode())] == ["good"]
    for document in (b"", b"[]", b"{}", b'{"keys": 3}', b"<html>"):
        with pytest.raises(ValueError):  # noqa: PT011 - of whatever reads it
            read_keys(document)


def test_a_redirect_of_the_keys_is_not_followed(jwks: Jwks) -> None:
    keys = IssuerKeys(jwks.url.replace("/keys", "/moved"))
    assert asyncio.run(keys.find("rsa", "RS256")) is None
