"""Floods, half requests, huge bodies and slow ones: each gets its own answer, and others are served meanwhile."""

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.server.http_process import HttpProcess, serving

pytestmark = pytest.mark.slow

SHORT = ("l.SECONDS_FOR_HEADERS = 0.5", "l.SECONDS_FOR_A_BODY = 0.5")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpProcess]:
    with serving(
        tmp_path_factory.mktemp("limits"),
        patches=SHORT,
        REVERIE_HTTP_RATE="100",
        REVERIE_HTTP_CONCURRENT="3",
        REVERIE_PROJECT="tests",
    ) as running:
        running.until_ready()
        yield running


def head(token: str, length: str, **more: str) -> bytes:
    lines = {
        "Host": "localhost",
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Content-Length": length,
    } | more
    return ("POST /mcp HTTP/1.1\r\n" + "".join(f"{n}: {v}\r\n" for n, v in lines.items() if v) + "\r\n").encode()


def answered(connection: socket.socket) -> bytes:
    """Return all that comes until the server ends the connection."""
    got = b""
    while part := connection.recv(65_536):
        got += part
    return got


def flood(server: HttpProcess, token: str, requests: int, threads: int) -> Counter[int]:
    """Send requests as fast as several threads can, and return how many got which status."""
    statuses: list[int] = []

    def send() -> None:
        connection = server.connect()
        for number in range(requests // threads):
            answer = server.rpc("prompts/list" if number % 2 else "tools/list", token=token, connection=connection)
            statuses.append(answer.status)
            if answer.status == 429:
                assert answer.json["error"] == "too_many_requests"
                assert 1 <= int(answer.headers["retry-after"]) <= 61
                connection.close()  # the server does so: the body was not read
        connection.close()

    running = [threading.Thread(target=send) for _ in range(threads)]
    for thread in running:
        thread.start()
    other = server.new_token(f"calm-beside-{requests}", "write")
    for number in range(5):
        kept = server.call("remember", {"content": f"Calm note {number} beside {requests} others."}, token=other)
        assert kept.status == 200, kept.body
    for thread in running:
        thread.join()
    return Counter(statuses)


def test_a_flood_of_one_user_does_not_hold_up_another(server: HttpProcess) -> None:
    counts = flood(server, server.new_token("flood", "read"), 400, threads=2)
    assert counts[200] >= 100
    assert counts[429] >= 1
    assert counts[200] + counts[429] == 400
    assert 'reverie_http_refused_total{reason="rate"}' in server.request("GET", "/metrics").body.decode()


@pytest.mark.slow
def test_ten_thousand_requests_of_one_user_do_not_hold_up_another(server: HttpProcess) -> None:
    began = time.monotonic()
    counts = flood(server, server.new_token("great-flood", "read"), 10_000, threads=4)
    windows = 1 + (time.monotonic() - began) // 60
    assert counts[200] <= 100 * (windows + 1)
    assert counts[200] + counts[429] == 10_000


def test_a_body_that_is_too_long_is_refused_before_it_is_read(server: HttpProcess) -> None:
    token = server.new_token("long", "write")
    with server.raw() as connection:
        connection.sendall(head(token, "10000000000", Host=f"127.0.0.1:{server.port}"))
        answer = answered(connection)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"4 MiB at most" in answer


def test_a_body_that_grows_too_long_in_pieces_is_cut_off(server: HttpProcess) -> None:
    token = server.new_token("pieces", "write")
    piece = b"%x\r\n%s\r\n" % (65_536, b" " * 65_536)
    with server.raw() as connection:
        connection.sendall(head(token, "", Host=f"127.0.0.1:{server.port}", **{"Transfer-Encoding": "chunked"}))
        sent = 0
        try:
            for _ in range(1_000):
                connection.sendall(piece)
                sent += len(piece)
        except OSError:
            pass
        assert sent < 65_000_000  # it did not take all of it
    assert server.call("status", token=token).status == 200


def test_a_body_that_does_not_come_is_waited_for_only_so_long(server: HttpProcess) -> None:
    token = server.new_token("slow", "write")
    with server.raw() as connection:
        connection.sendall(head(token, "100", Host=f"127.0.0.1:{server.port}") + b'{"jsonrpc"')
        assert answered(connection).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("sent", [b"", b"POST /mcp HT", b"POST /mcp HTTP/1.1\r\nHost: x\r\nA: "])
def test_headers_that_do_not_come_end_the_connection(server: HttpProcess, sent: bytes) -> None:
    with server.raw() as connection:
        connection.sendall(sent)
        assert answered(connection).startswith(b"HTTP/1.1 408 ")


def test_headers_that_drip_after_a_first_request_end_it_too(server: HttpProcess) -> None:
    with server.raw() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200 ")
        connection.sendall(b"GET /hea")
        assert b"HTTP/1.1 408 " in answered(connection)


def test_half_requests_leave_nothing_behind(server: HttpProcess) -> None:
    token = server.new_token("half", "write")
    for _ in range(20):
        connection = server.raw()
        connection.sendall(head(token, "1000", Host=f"127.0.0.1:{server.port}") + b'{"jsonrpc": "2.0", "id"')
        connection.close()
    deadline = time.monotonic() + 30
    while "reverie_calls_under_way 0" not in server.request("GET", "/metrics").body.decode():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert server.call("status", token=token).status == 200


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS on a plain port
        b"GET / HTTP/9.9\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        b"GET /mcp HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 100_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x00" * 1000 + b"\r\n\r\n",
    ],
)
def test_what_is_no_request_is_answered_or_dropped(server: HttpProcess, sent: bytes) -> None:
    with server.raw() as connection:
        connection.sendall(sent)
        try:
            got = answered(connection)
        except OSError:
            got = b""
    assert got == b"" or got.startswith(b"HTTP/1.1 4")
    assert server.request("GET", "/healthz").status == 200


def test_more_calls_at_once_than_allowed_are_told_to_wait(server: HttpProcess) -> None:
    token = server.new_token("many", "write")
    own = f"127.0.0.1:{server.port}"
    waiting = [server.raw() for _ in range(3)]
    for connection in waiting:
        connection.sendall(head(token, "100", Host=own))
    deadline = time.monotonic() + 5
    while True:
        answer = server.call("status", token=token)
        if answer.status == 429:
            break
        assert time.monotonic() < deadline, "three requests were not seen as under way"
    assert "3 calls of yours" in answer.json["error_description"]
    for connection in waiting:
        connection.close()


def test_a_user_cannot_open_sessions_without_end(server: HttpProcess) -> None:
    token = server.new_token("opener", "read")
    opening = {
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "tests", "version": "1"},
        },
    }
    statuses = [server.in_session(opening, token).status for _ in range(66)]
    assert statuses == [200] * 64 + [429] * 2
    other = server.new_token("another", "read")
    assert server.in_session(opening, other).status == 200


def test_a_dream_with_more_money_needs_an_admin_and_large_answers_pass(server: HttpProcess) -> None:
    token = server.new_token("spender", "write")
    answer = server.call("consolidate", {"dry_run": True, "budget_cents": 500}, token=token)
    assert answer.status == 403
    assert answer.json["scope"] == "admin"
    text = "The long note about the harbour. " * 2_500
    kept = server.call("remember", {"content": text}, token=token).structured
    [memory] = server.call("inspect", {"ids": [kept["id"]]}, token=token).structured["memories"]
    assert json.dumps(memory["content"]).count("harbour") == 2_500
