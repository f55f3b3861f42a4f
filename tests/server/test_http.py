"""Serving over HTTP: both protocols, who wrote what, whose session is whose, what a scope allows, and the end."""

import asyncio
import json
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from reverie.errors import InvalidInput, NotAllowed
from reverie.server.http_access import check_call, oauth_user, scope_needed, shown_user
from reverie.server.tokens import SCOPES, TokenFolder, scopes_up_to
from reverie.tools.catalog import TOOLS
from reverie.tools.requests import ConsolidateRequest, ForgetRequest, ReviewDecision, ReviewRequest
from tests.server.conftest import Starter
from tests.server.http_process import HttpProcess, serving

ARGUMENTS: dict[str, dict[str, Any]] = {
    "remember": {"content": "The scope table writes this."},
    "revise": {"id": "aaaaaaaa", "content": "x", "reason": "y"},
    "forget": {"ids": ["aaaaaaaa"]},
    "recall": {"query": "scope table"},
    "brief": {},
    "inspect": {"ids": ["aaaaaaaa"]},
    "status": {},
    "restore": {"ids": ["aaaaaaaa"]},
    "index_codebase": {},
    "promote": {"id": "aaaaaaaa"},
    "demote": {"id": "aaaaaaaa"},
    "pin": {"id": "aaaaaaaa"},
    "consolidate": {"dry_run": True, "steps": ["sweep"]},
    "review": {},
}
READING = {"recall", "brief", "inspect", "status"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpProcess]:
    with serving(tmp_path_factory.mktemp("http")) as running:
        running.until_ready()
        yield running


@pytest.fixture(scope="module")
def tokens(server: HttpProcess) -> dict[str, str]:
    return {scope: server.new_token(f"{scope}er", scope) for scope in SCOPES}


def test_a_server_without_tokens_makes_one_and_shows_it_once(server: HttpProcess) -> None:
    assert server.token.startswith("rvr_")
    assert server.token not in server.raw_log
    [file] = [file for file in server.tokens.path.iterdir() if file.stem == "local"]
    assert server.token not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
def test_the_official_client_uses_every_part_over_both_protocols(
    server: HttpProcess, mode: str, version: str
) -> None:
    async def use() -> None:
        headers = {"Authorization": f"Bearer {server.token}", "Reverie-Project": f"client-{mode}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as wire,
            Client(streamable_http_client(server.url, http_client=wire), mode=mode) as client,
        ):
            assert client.protocol_version == version
            assert [tool.name for tool in (await client.list_tools()).tools] == [tool.name for tool in TOOLS]
            text = f"The {mode} client keeps its heron feeder in the red shed."
            kept = await client.call_tool("remember", {"content": text})
            assert not kept.is_error, kept.content
            found = await client.call_tool("recall", {"query": "Where is the heron feeder?"})
            assert text in found.content[0].text
            told = json.loads((await client.read_resource("memory://status")).contents[0].text)
            assert told["project"] == f"client-{mode}"
            page = await client.get_prompt("session_start")
            assert "heron feeder" in page.messages[0].content.text

    asyncio.run(use())


def test_a_memory_names_the_user_of_the_token_that_wrote_it(server: HttpProcess) -> None:
    token = server.new_token("annas-laptop", "write", user="anna")
    session = server.open_session(token)
    call = {"name": "remember", "arguments": {"content": "Anna waters the ficus on Mondays.", "source": "human"}}
    by_session = server.in_session({"id": 2, "method": "tools/call", "params": call}, token, session).structured
    alone = server.call("remember", {"content": "Anna waters the cactus in June."}, token=token).structured
    for kept in (by_session, alone):
        [memory] = server.call("inspect", {"ids": [kept["id"]]}).structured["memories"]
        assert memory["session"].startswith("anna/")
        assert [event["by"] for event in memory["events"]] == ["anna"]
    ours = server.call("remember", {"content": "The cellar key hangs behind the boiler."}).structured
    server.call("forget", {"ids": [ours["id"]], "reason": "moved"}, token=token)
    [memory] = server.call("inspect", {"ids": [ours["id"]]}).structured["memories"]
    assert [event["by"] for event in memory["events"]] == ["local", "anna"]


def test_no_argument_and_no_header_changes_who_the_author_is(server: HttpProcess, tokens: dict[str, str]) -> None:
    refused = server.call("remember", {"content": "x", "session": "anna/1"}, token=tokens["write"])
    assert "no argument 'session'" in refused.text
    kept = server.call(
        "remember",
        {"content": "The lighthouse keeper is off on Fridays."},
        token=tokens["write"],
        **{"X-User": "anna", "X-Forwarded-User": "anna", "Mcp-Session-Id": "anna"},
    ).structured
    [memory] = server.call("inspect", {"ids": [kept["id"]]}).structured["memories"]
    assert memory["session"].startswith("writeer/")


def test_projects_are_kept_apart_and_one_has_to_be_named(server: HttpProcess) -> None:
    kept = server.call("remember", {"content": "The otter pond freezes in January."}, project="pond").structured
    assert kept["project"] == "pond"
    assert "otter" not in server.call("recall", {"query": "otter pond"}, project="meadow").text
    assert "otter pond" in server.call("recall", {"query": "otter pond"}, project="pond").text
    nameless = server.call("recall", {"query": "otter pond"}, project="")
    assert "Reverie-Project" in nameless.text
    assert "project's name" in server.call("status", project="x" * 300).json["error"]["message"]
    assert server.call("status", project="Brücke".encode().decode("latin-1")).structured["project"] == "Brücke"


def test_folders_of_the_server_are_never_looked_at(server: HttpProcess, tmp_path: Path) -> None:
    (tmp_path / "secret_plans.py").write_text("def launch(): ...\n")
    token = server.new_token("curious", "admin")
    refused = server.call("index_codebase", {"path": str(tmp_path)}, token=token)
    assert "does not read folders" in refused.text
    outside = server.call(
        "remember", {"content": "See the plans.", "files": [str(tmp_path / "secret_plans.py")]}, token=token
    )
    assert "not a path inside the project" in outside.text
    kept = server.call(
        "remember", {"content": "See secret_plans.py::launch.", "files": ["secret_plans.py"]}, token=token
    )
    [memory] = server.call("inspect", {"ids": [kept.structured["id"]]}).structured["memories"]
    assert memory["freshness"] == "unverifiable"
    assert all(anchor.get("digest") is None for anchor in memory["anchors"])


def test_a_session_belongs_to_the_token_that_opened_it(server: HttpProcess, tokens: dict[str, str]) -> None:
    session = server.open_session(tokens["write"])
    ping = {"id": 2, "method": "ping"}
    assert server.in_session(ping, tokens["write"], session).status == 200
    assert server.in_session(ping, tokens["admin"], session).status == 404
    assert server.in_session(ping, "rvr_" + "a" * 43, session).status == 401
    headers = {"Authorization": f"Bearer {tokens['write']}", "Mcp-Session-Id": session}
    assert server.request("DELETE", "/mcp", headers=headers).status == 200
    assert server.in_session(ping, tokens["write"], session).status == 404


# -- scopes ----------------------------------------------------------------------------------------------


def test_each_tool_needs_the_scope_that_its_annotations_say() -> None:
    assert {tool.name: scope_needed(tool) for tool in TOOLS} == {
        tool.name: "read" if tool.name in READING else "write" for tool in TOOLS
    }
    by_name = {tool.name: tool for tool in TOOLS}
    assert scope_needed(by_name["forget"], ForgetRequest(ids=("a" * 8,), purge=True)) == "admin"
    assert scope_needed(by_name["forget"], ForgetRequest(ids=("a" * 8,))) == "write"
    keeping = ReviewRequest(decisions=(ReviewDecision(question_id="q", verdict="keep"),))
    assert scope_needed(by_name["review"], keeping) == "admin"
    assert (
        scope_needed(by_name["review"], ReviewRequest(decisions=(ReviewDecision(question_id="q", verdict="drop"),)))
        == "write"
    )
    assert scope_needed(by_name["consolidate"], ConsolidateRequest(budget_cents=21)) == "admin"


def test_the_server_itself_checks_a_scope_and_not_only_the_door_before_it() -> None:
    for tool in TOOLS:
        for scope in SCOPES:
            request = tool.request(**{name: _frozen(value) for name, value in ARGUMENTS[tool.name].items()})
            allowed = "read" in scopes_up_to(scope) if tool.name in READING else "write" in scopes_up_to(scope)
            if not allowed:
                with pytest.raises(NotAllowed):
                    check_call(list(scopes_up_to(scope)), tool, request)
            elif tool.name == "index_codebase":
                with pytest.raises(InvalidInput):
                    check_call(list(scopes_up_to(scope)), tool, request)
            else:
                check_call(list(scopes_up_to(scope)), tool, request)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@pytest.mark.parametrize("scope", SCOPES)
def test_every_tool_with_every_scope(server: HttpProcess, tokens: dict[str, str], scope: str) -> None:
    for tool in TOOLS:
        answer = server.call(tool.name, ARGUMENTS[tool.name], token=tokens[scope])
        if scope == "read" and tool.name not in READING:
            assert answer.status == 403, tool.name
            assert answer.json["error"] == "insufficient_scope"
            assert 'scope="write"' in answer.headers["www-authenticate"]
        else:
            assert answer.status == 200, (tool.name, answer.body)
            assert "a token with the scope" not in answer.text, (tool.name, answer.text)


@pytest.mark.parametrize("purge", [True, "true", 1, "1", "yes", "on"])
def test_only_an_admin_purges_however_it_is_written(server: HttpProcess, tokens: dict[str, str], purge: Any) -> None:
    kept = server.call("remember", {"content": f"To be purged, {purge!r} {type(purge).__name__}."}).structured["id"]
    answer = server.call("forget", {"ids": [kept], "purge": purge}, token=tokens["write"])
    assert answer.status == 403, answer.body
    assert server.call("inspect", {"ids": [kept]}).structured["memories"][0]["status"] == "active"


def test_two_keys_of_one_name_do_not_get_a_call_past_the_scope(server: HttpProcess, tokens: dict[str, str]) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    head = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"_meta":{json.dumps(meta)},'
    body = head + '"name":"remember","name":"recall","arguments":{"query":"x"},"arguments":{"content":"smuggled"}}}'
    headers = {
        "Authorization": f"Bearer {tokens['read']}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "recall",
        "Reverie-Project": "tests",
    }
    server.request("POST", "/mcp", body.encode(), headers)
    assert "smuggled" not in server.call("recall", {"query": "smuggled"}).text


# -- tokens ----------------------------------------------------------------------------------------------


def test_a_token_that_is_none_opens_nothing(server: HttpProcess) -> None:
    good = server.token
    wrong = [
        "",
        "rvr_",
        "rvr_" + "a" * 43,
        good[:-1],
        good + "a",
        good.swapcase(),
        "Bearer " + good,
        good + ".",
        "é" * 40,
    ]
    for token in wrong:
        answer = server.rpc("tools/list", token=token.encode().decode("latin-1") or " ")
        assert answer.status == 401, token
        assert answer.headers["www-authenticate"].startswith("Bearer ")
    assert server.rpc("tools/list", Authorization="").status == 401
    assert server.rpc("tools/list", Authorization=f"Basic {good}").status == 401
    assert server.rpc("tools/list", Authorization="", Cookie=f"token={good}").status == 401
    for path in (f"/mcp?token={good}", f"/mcp?access_token={good}", "/mcp/", "//mcp", "/mcp/../mcp", "/MCP"):
        assert server.request("POST", path, b"{}").status in (401, 404, 405, 307)


def test_a_revoked_token_is_refused_at_once_with_its_open_session_and_stream(server: HttpProcess) -> None:
    token = server.new_token("short-lived", "write")
    session = server.open_session(token)
    stream = server.connect()
    stream.request(
        "GET",
        "/mcp",
        headers={
            "Authorization": f"Bearer {token}",
            "Accept": "text/event-stream",
            "Mcp-Session-Id": session,
            "MCP-Protocol-Version": "2025-11-25",
        },
    )
    opened = stream.getresponse()
    assert opened.status == 200
    server.tokens.revoke("short-lived")
    assert server.in_session({"id": 3, "method": "ping"}, token, session).status == 401
    assert server.call("status", token=token).status == 401
    opened.read()  # ends, or this test waits for ever
    stream.close()
    again = server.new_token("short-lived", "write")
    assert server.call("status", token=again).status == 200
    assert server.call("status", token=token).status == 401


def test_an_expired_token_is_refused(server: HttpProcess) -> None:
    from datetime import timedelta

    from reverie.time import system_clock

    ended = server.new_token("ended", "read", expires_at=system_clock() - timedelta(seconds=1))
    lasting = server.new_token("lasting", "read", expires_at=system_clock() + timedelta(days=1))
    assert server.call("status", token=ended).status == 401
    assert server.call("status", token=lasting).status == 200


def test_a_damaged_file_lets_nobody_in_and_keeps_nobody_out(server: HttpProcess) -> None:
    token = server.new_token("damaged", "admin")
    file = server.tokens.path / "damaged.json"
    whole = json.loads(file.read_text())
    for text in (
        "",
        "{}",
        "[]",
        '{"name": 1}',
        json.dumps(whole | {"scope": "god"}),
        json.dumps(whole | {"more": 1}),
    ):
        file.write_text(text)
        assert server.call("status", token=token).status == 401, text
        assert server.call("status").status == 200
    server.tokens.revoke("damaged")


def test_names_of_users_that_look_like_secrets_stand_in_provenance_as_digests() -> None:
    assert oauth_user("anna@example.com") == "sso:anna@example.com"
    odd = [oauth_user("auth0|5f7c8ec7c33c6c004bbafe82"), oauth_user("x" * 500), oauth_user("x" * 501)]
    assert len(set(odd)) == 3
    assert all(name.startswith("sso:~") and len(name) < 60 for name in odd)
    assert shown_user("anna") == "anna"
    assert "/" not in oauth_user("anna/123456789abc")


def test_a_token_can_be_made_once_under_a_name(tmp_path: Path) -> None:
    from reverie.time import system_clock

    folder = TokenFolder(tmp_path)
    made: list[str] = []
    refused: list[InvalidInput] = []

    def make() -> None:
        try:
            made.append(folder.create("one", "read", now=system_clock()))
        except InvalidInput as error:
            refused.append(error)

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(made), len(refused)) == (1, 7)
    assert folder.find(made[0], system_clock()) is not None
    for name in ("", "../x", "A", "a/b", ".hidden", "x" * 41, "local\n"):
        with pytest.raises(InvalidInput):
            folder.create(name, "read", now=system_clock())


# -- around the protocol -----------------------------------------------------------------------------------


def test_a_page_of_somebody_else_and_a_rebound_name_are_refused(server: HttpProcess) -> None:
    own = f"127.0.0.1:{server.port}"
    for path in ("/mcp", "/metrics"):
        assert server.request("GET", path, headers={"Host": "evil.example"}).status == 421, path
        assert server.request("GET", path, headers={"Host": f"evil.example:{server.port}"}).status == 421
        assert server.request("GET", path, headers={"Host": own, "Origin": "http://evil.example"}).status == 421
    assert server.call("status", Origin="http://evil.example").status == 421
    assert server.call("status", Origin=f"http://localhost:{server.port}").status == 200
    assert server.request("GET", "/healthz", headers={"Host": "10.1.2.3"}).status == 200  # a load balancer's own


def test_metrics_count_and_logs_tell_without_contents(server: HttpProcess) -> None:
    words = "zanzibar marmalade"
    server.call("recall", {"query": words})
    server.request("GET", f"/{words.replace(' ', '-')}?{words[:8]}=1")
    server.call(words.replace(" ", "-"))
    server.rpc("tools/call", {"name": "recall", "arguments": {"query": 3, words: 1}})
    metrics = server.request("GET", "/metrics").body.decode()
    assert 'reverie_calls_total{tool="recall",outcome="answered"}' in metrics
    assert 'reverie_call_seconds_bucket{tool="recall",le="+Inf"}' in metrics
    assert "reverie_ready 1" in metrics
    assert "zanzibar" not in metrics
    assert "marmalade" not in server.raw_log
    assert "zanzibar" not in server.raw_log
    assert "rvr_" not in server.raw_log
    lines = server.logged("tool", "recall")
    assert {"time", "level", "method", "route", "status", "ms", "user", "rpc", "tool"} <= lines[-1].keys()


def test_what_is_no_message_gets_an_error_and_the_server_goes_on(server: HttpProcess) -> None:
    head = {
        "Authorization": f"Bearer {server.token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    deep = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    for body in (b"", b"{", b"[]", b"null", b"3", b'"x"', b"\xff\xfe", deep, b"[" * 200_000, b'{"a":1e999999}'):
        for version in ("2026-07-28", "2025-11-25", "1999-01-01", "\xff"):
            answer = server.request("POST", "/mcp", body, head | {"MCP-Protocol-Version": version})
            assert 400 <= answer.status < 500, (body[:20], version, answer)
    assert server.call("status").status == 200


def test_a_server_that_is_asked_to_stop_finishes_the_calls_under_way(tmp_path: Path, start_here: Starter) -> None:
    with serving(tmp_path / "stopping", REVERIE_PROJECT="tests") as server:
        server.until_ready()
        kept: list[str] = []
        stop = threading.Event()

        def write() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                try:
                    answer = server.call("remember", {"content": f"Note {number} of the writer."}, project="")
                except OSError:
                    return
                if answer.status != 200:
                    return
                kept.append(answer.structured["id"])

        writer = threading.Thread(target=write)
        writer.start()
        while len(kept) < 5:
            time.sleep(0.01)
        assert server.stop() == 0
        stop.set()
        writer.join()
    again = start_here(tmp_path / "stopping" / "home")
    for start in range(0, len(kept), 50):
        found = again.call("inspect", ids=kept[start : start + 50])["memories"]
        assert [memory["id"] for memory in found] == kept[start : start + 50]
