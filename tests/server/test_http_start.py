"""Where `serve --http` listens, and when it refuses: in the clear beyond this machine, or with nobody to let in."""

import ssl
import subprocess
import sys
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from reverie.errors import InvalidInput
from reverie.server.http_server import HttpPlan, first_token, read_plan
from reverie.server.tokens import TokenFolder
from reverie.settings import Settings
from reverie.time import system_clock
from tests.server.http_process import PATIENCE, environment, serving

pytestmark = pytest.mark.slow


def plan(http: str, **options: str) -> HttpPlan:
    given = {"tls_cert": "", "tls_key": "", "behind_proxy": "", "public_url": ""} | options
    return read_plan(http, **given)


def test_loopback_needs_nothing_else() -> None:
    for http in ("127.0.0.1:8321", "localhost:8321", "[::1]:8321", "127.9.9.9:0"):
        assert plan(http).is_loopback
        assert not plan(http).is_exposed


@pytest.mark.parametrize(
    ("http", "options", "says"),
    [
        ("0.0.0.0:8321", {}, "--tls-cert and --tls-key, or put a proxy"),
        ("[::]:8321", {}, "tokens would travel in the clear"),
        ("192.168.1.5:8321", {}, "listen on 127.0.0.1"),
        ("memory.example.com:443", {}, "in the clear"),
        ("localhost.evil.example:80", {}, "in the clear"),
        ("", {"public_url": "https://x.example/mcp"}, "Say --http HOST:PORT"),
        ("8321", {}, "is not HOST:PORT"),
        ("127.0.0.1:99999", {}, "is not HOST:PORT"),
        ("127.0.0.1:-1", {}, "is not HOST:PORT"),
        ("127.0.0.1:", {}, "is not HOST:PORT"),
        ("0.0.0.0:1", {"tls_cert": __file__}, "belong together"),
        ("0.0.0.0:1", {"tls_cert": "/nowhere.pem", "tls_key": "/nowhere.key"}, "there is no file"),
        ("0.0.0.0:1", {"behind_proxy": "yes"}, "is not an address"),
        ("0.0.0.0:1", {"behind_proxy": "*"}, "is not an address"),
        ("0.0.0.0:1", {"behind_proxy": "10.0.0.5"}, "Give the one that clients use"),
        ("0.0.0.0:1", {"behind_proxy": "10.0.0.5", "public_url": "http://memory.example.com/mcp"}, "Give https://"),
        ("127.0.0.1:1", {"public_url": "https://memory.example.com/mcp?x=1"}, "without a query"),
    ],
)
def test_a_start_that_would_not_be_safe_is_refused_with_what_to_do(
    http: str, options: dict[str, str], says: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        plan(http, **options)
    assert says in str(refused.value)


def test_beyond_this_machine_somebody_must_be_let_in_before_it_starts(tmp_path: Path) -> None:
    settings, tokens = Settings(home=str(tmp_path / "home")), TokenFolder(tmp_path)
    behind = plan("127.0.0.1:1", behind_proxy="127.0.0.1", public_url="https://memory.example.com/mcp")
    assert behind.is_exposed  # whoever reaches the proxy reaches it
    with pytest.raises(InvalidInput) as refused:
        first_token(behind, settings, tokens)
    assert "reverie tokens create" in str(refused.value)
    assert tokens.all() == []
    made = first_token(plan("127.0.0.1:1"), settings, tokens)
    assert made is not None
    assert first_token(plan("127.0.0.1:1"), settings, tokens) is None
    assert first_token(behind, settings, tokens) is None


def test_the_command_refuses_in_one_line_and_listens_nowhere(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "reverie", "serve", "--http", "0.0.0.0:0"],
        env=environment(tmp_path, {}),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert "in the clear" in done.stderr
    half = subprocess.run(
        [sys.executable, "-m", "reverie", "serve", "--http", "127.0.0.1:0"],
        env=environment(tmp_path, {"REVERIE_OAUTH_ISSUER": "https://login.example.com"}),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert half.returncode == 1
    assert "REVERIE_OAUTH_JWKS" in half.stderr


def certificate(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = system_clock()
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    cert, private = folder / "cert.pem", folder / "key.pem"
    cert.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return cert, private


def test_with_a_certificate_it_serves_beyond_loopback_and_speaks_tls_alone(tmp_path: Path) -> None:
    cert, private = certificate(tmp_path)
    TokenFolder(tmp_path / "config").create("first", "read", now=system_clock())
    options = ("--tls-cert", str(cert), "--tls-key", str(private))
    with serving(tmp_path, *options, listen="0.0.0.0:0", REVERIE_PROJECT="tests") as server:
        assert len(server.lines) == 1  # a token is there: none is made
        assert server.url.startswith("https://")
        server.context = ssl.create_default_context(cafile=str(cert))
        server.token = server.new_token("second", "write")
        assert server.call("remember", {"content": "Kept over TLS."}).structured["status"] == "active"
        assert server.call("status", Host="evil.example").status == 421
        assert server.request("GET", "/metrics").status == 200  # from this machine
        server.context = None
        with pytest.raises(OSError):  # noqa: PT011 - however the connection ends
            server.request("GET", "/healthz")


def test_behind_a_proxy_only_the_proxy_is_heard_and_believed(tmp_path: Path) -> None:
    TokenFolder(tmp_path / "config").create("first", "admin", now=system_clock())
    public = ("--public-url", "https://memory.example.com/mcp")
    forwarded = {"Host": "memory.example.com", "X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.7"}
    with serving(
        tmp_path / "a", "--behind-proxy", "127.0.0.1", *public, REVERIE_CONFIG=str(tmp_path / "config")
    ) as server:
        token = TokenFolder(tmp_path / "config").create("via-proxy", "admin", now=system_clock())
        assert server.rpc("tools/list", token=token, **forwarded).status == 200
        assert server.rpc("tools/list", token=token, **forwarded | {"X-Forwarded-Proto": "http"}).status == 403
        assert server.request("GET", "/metrics", headers=forwarded).status == 403  # loopback is the proxy's
        admin = {"Authorization": f"Bearer {token}"}
        assert server.request("GET", "/metrics", headers=forwarded | admin).status == 200
        assert server.logged("peer", "203.0.113.7")
    with serving(
        tmp_path / "b", "--behind-proxy", "10.0.0.5", *public, REVERIE_CONFIG=str(tmp_path / "config")
    ) as server:
        answer = server.rpc("tools/list", token=token, **forwarded)
        assert answer.status == 403
        assert "through the proxy" in answer.json["error_description"]
        assert server.request("GET", "/healthz").status == 200


def test_forwarded_headers_of_anybody_else_are_not_believed(tmp_path: Path) -> None:
    with serving(tmp_path, REVERIE_PROJECT="tests") as server:
        forged = {"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil.example"}
        server.rpc("tools/list", **forged)
        assert {line.get("peer") for line in server.logged("route")} == {"127.0.0.1"}
