"""The page's server: who is let in, what is refused, and an API that is the tools' own. One server for all tests."""

import hashlib
import hmac
import http.client
import json
import stat
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from reverie.server.page_access import (
    KEPT_FOR,
    KEY_HEADER,
    LONGEST_BODY,
    SECONDS_A_LINK_LIVES,
    SECURITY_HEADERS,
    KeptPageFile,
    PageAccess,
)
from reverie.server.page_server import CALLS
from reverie.server.schemas import schema_of
from reverie.tools.catalog import TOOLS
from tests.page_server import ServedPage, Visit


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    folder: Path = tmp_path_factory.mktemp("page")
    (folder / "project").mkdir()
    with ServedPage(folder / "home", folder / "project", "harbour") as served:
        yield served


@pytest.fixture(scope="module")
def visit(page: ServedPage) -> Visit:
    """Somebody who followed a link."""
    return page.visit()


# ── who is let in ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_link_lets_one_browser_in_once(page: ServedPage) -> None:
    link = page.link().removeprefix(page.origin)
    first, second = Visit(page), Visit(page)
    assert first.get(link).status == 200
    refused = second.get(link)
    assert refused.status == 403
    assert "used already" in refused.text
    assert "set-cookie" not in refused.headers


def test_a_browser_that_is_in_already_may_go_back_to_its_link(page: ServedPage) -> None:
    link = page.link().removeprefix(page.origin)
    browser = Visit(page)
    browser.headers = {"Cookie": browser.get(link).headers["set-cookie"].partition(";")[0]}
    again = browser.get(link)
    assert (again.status, again.headers["location"]) == (303, "/")


def test_a_link_is_not_spent_by_a_preview(page: ServedPage) -> None:
    link = page.link().removeprefix(page.origin)
    assert Visit(page).send("HEAD", link).status == 403
    assert Visit(page).get(link, Sec_Purpose="prefetch").status == 403
    assert Visit(page).get(link).status == 200


def test_a_link_is_too_old_after_ten_minutes() -> None:
    moment = 0.0
    access = PageAccess(lambda: moment)
    token, late = access.invite(None), access.invite(None)  # type: ignore[arg-type]  # nobody is let in
    assert access.redeem(token) is None  # without a client there is nothing to open
    moment = SECONDS_A_LINK_LIVES + 1
    assert access.redeem(late) is None


def test_the_cookie_is_for_this_page_alone(visit: Visit, page: ServedPage) -> None:
    parts = [part.strip().lower() for part in visit.set_cookie.split(";")]
    assert parts[0].startswith(f"reverie_{page.page.port}=")
    assert {"httponly", "samesite=strict", "path=/"} <= set(parts)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"Host": "evil.example"}, 421, id="a name that was rebound to this machine"),
        pytest.param({"Host": "127.0.0.1"}, 421, id="another port"),
        pytest.param({"Origin": "https://evil.example"}, 403, id="a page of another origin"),
        pytest.param({"Origin": "null"}, 403, id="a sandboxed frame"),
        pytest.param({"Origin": "http://127.0.0.1:1"}, 403, id="a page of another port"),
        pytest.param({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403, id="a form or an image"),
        pytest.param({"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}, 403, id="a neighbour on this host"),
        pytest.param({"Cookie": None}, 401, id="no cookie"),
        pytest.param({"Cookie": "reverie_1=guessed"}, 401, id="a guessed cookie"),
        pytest.param({"X-Reverie-Key": None}, 401, id="the cookie alone, which other ports are sent too"),
        pytest.param({"X-Reverie-Key": "guessed"}, 401, id="a guessed key"),
        pytest.param({"Content-Type": "text/plain"}, 415, id="what a form of another page could send"),
    ],
)
def test_a_call_from_elsewhere_is_refused(visit: Visit, headers: dict[str, str | None], status: int) -> None:
    own = {"X-Reverie-Key": visit.headers["x-reverie-key"]}
    asking = Visit.__new__(Visit)
    asking._port, asking.headers = visit._port, {"Cookie": visit.headers["Cookie"]}
    before = visit.call("overview")["total"]
    answer = asking.post("remember", {"content": "An attacker was here."}, **{**own, **headers})
    assert answer.status == status, answer.text
    assert visit.call("overview")["total"] == before


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_our_own_page_is_answered_by_either_name(visit: Visit, page: ServedPage, host: str) -> None:
    own = f"{host}:{page.page.port}"
    answer = visit.post("overview", {}, Host=own, Origin=f"http://{own}", Sec_Fetch_Site="same-origin")
    assert answer.status == 200


@pytest.mark.parametrize("path", ["/", "/page/app.js", "/api/v1/openapi.json", "/api/v1/events", "/nothing"])
def test_nothing_is_served_without_a_cookie(page: ServedPage, path: str) -> None:
    answer = Visit(page).get(path)
    assert answer.status == 401
    assert "reverie page" in answer.text


@pytest.mark.parametrize(
    "path",
    ["/page/../engine.py", "/page/%2e%2e%2fengine.py", "/page/..%2F..%2Fpyproject.toml", "/page/", "/engine.py"],
)
def test_no_file_but_the_page_s_own_is_served(visit: Visit, path: str) -> None:
    assert visit.get(path).status == 404


@pytest.mark.parametrize("path", ["/", "/page/app.js", "/api/v1/openapi.json", "/nothing", "/open/nothing"])
def test_every_answer_forbids_what_the_page_does_not_need(visit: Visit, path: str) -> None:
    headers = visit.get(path).headers
    assert {name: headers[name] for name in SECURITY_HEADERS} == SECURITY_HEADERS
    assert "server" not in headers


def test_the_policy_allows_no_inline_script_and_no_other_host() -> None:
    policy = SECURITY_HEADERS["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "require-trusted-types-for 'script'" in policy


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH"])
def test_other_methods_are_refused(visit: Visit, method: str) -> None:
    assert visit.send(method, "/api/v1/status").status == 405


def test_the_page_s_files_hold_no_inline_script_no_style_and_no_way_to_read_html() -> None:
    folder = Path(__file__).parents[2] / "server" / "page"
    html = (folder / "index.html").read_text("utf-8")
    assert html.count("<script") == html.count('<script type="module" src=') == 1
    assert "style=" not in html
    assert " on" not in html.replace(" only", "")
    for file in folder.glob("*.js"):
        text = file.read_text("utf-8")
        for sink in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "DOMParser",
            "http://",
            "https://",
        ):
            assert sink not in text.replace("http://www.w3.org/2000/svg", ""), f"{file.name} uses {sink}"


# ── the API ───────────────────────────────────────────────────────────────────────────────────────────────


def test_every_tool_is_a_call_and_openapi_describes_each_from_its_declaration(visit: Visit) -> None:
    described = visit.get("/api/v1/openapi.json").json
    assert {f"/api/v1/{tool.name}" for tool in TOOLS} <= described["paths"].keys()
    assert described["paths"].keys() == {f"/api/v1/{name}" for name in CALLS}
    for name, tool in CALLS.items():
        operation = described["paths"][f"/api/v1/{name}"]["post"]
        assert (operation["summary"], operation["description"]) == (tool.title, tool.description)
        taken = operation["requestBody"]["content"]["application/json"]["schema"]["properties"]
        assert taken.keys() == schema_of(tool).arguments.model_fields.keys()
    references = set(_references(described))
    assert references <= {f"#/components/schemas/{name}" for name in described["components"]["schemas"]}
    assert len(references) > 5


def _references(part: object) -> Iterator[str]:
    if isinstance(part, dict):
        yield from ([part["$ref"]] if isinstance(part.get("$ref"), str) else [])
        for value in part.values():
            yield from _references(value)
    elif isinstance(part, list):
        for value in part:
            yield from _references(value)


def test_a_call_does_what_the_tool_does(visit: Visit) -> None:
    kept = visit.call("remember", content="The harbour crane is painted red.", layer="semantic", source="human")
    found = visit.call("browse")
    assert [row["id"] for row in found["memories"] if row["id"] == kept["id"]] == [kept["id"]]
    assert visit.call("pin", id=kept["id"])["pinned"]
    [memory] = visit.call("inspect", ids=[kept["id"]])["memories"]
    assert (memory["content"], memory["pinned"]) == ("The harbour crane is painted red.", True)
    assert visit.call("sweep")["expired"] == {}


@pytest.mark.parametrize(
    ("name", "body", "status", "words"),
    [
        pytest.param("nothing", {}, 404, "There is no call", id="an unknown call"),
        pytest.param("inspect", {"ids": ["nosuchmemory"]}, 404, "No memory", id="an unknown memory"),
        pytest.param("remember", {"content": " "}, 400, "no text", id="an empty text"),
        pytest.param("remember", {"content": "x", "title": "t" * 10_000}, 400, "200 characters", id="a long title"),
        pytest.param("recall", {"query": "x", "nope": 1}, 400, "no argument 'nope'", id="an unknown argument"),
        pytest.param("browse", {"limit": 100_000}, 400, "less than or equal to 200", id="a list of everything"),
        pytest.param("browse", ["x"], 400, "not a JSON object", id="no object"),
        pytest.param("dream", {"id": "nosuchdream"}, 400, "no dream", id="an unknown dream"),
        pytest.param("curve", {"id": "../../etc"}, 404, "No memory", id="a path for an id"),
    ],
)
def test_a_wrong_call_is_answered_with_what_is_wrong(
    visit: Visit, name: str, body: object, status: int, words: str
) -> None:
    answer = visit.post(name, body)
    assert answer.status == status
    assert words in answer.json["message"]


def test_a_body_that_is_no_json_or_too_long_is_refused(visit: Visit) -> None:
    assert visit.send("POST", "/api/v1/status", b"{", Content_Type="application/json").status == 400
    long = b'{"content": "' + b"x" * LONGEST_BODY + b'"}'
    assert visit.send("POST", "/api/v1/remember", long, Content_Type="application/json").status == 413


def test_looking_for_something_does_not_count_as_a_recall(visit: Visit) -> None:
    kept = visit.call("remember", content="The lighthouse keeper is called Orla.", layer="semantic")["id"]
    found = visit.call("search", query="Who keeps the lighthouse?")
    assert found["results"][0]["id"] == kept
    assert found["results"][0]["why"]["fit"] > 0
    visit.call("sweep")  # counts what waits
    assert visit.call("inspect", ids=[kept])["memories"][0]["access_count"] == 0
    visit.call("recall", query="Who keeps the lighthouse?")
    visit.call("sweep")
    assert visit.call("inspect", ids=[kept])["memories"][0]["access_count"] == 1


def test_a_search_says_what_it_passed_over_and_why(visit: Visit) -> None:
    gone = visit.call("remember", content="The ferry to Skarn leaves at noon.", layer="semantic")["id"]
    visit.call("forget", ids=[gone])
    other = visit.call(
        "remember", content="The ferry to Skarn costs 9 crowns.", layer="semantic", project="elsewhere"
    )
    found = visit.call("search", query="ferry to Skarn")
    reasons = {one["id"]: one["reason"] for one in found["passed_over"]}
    assert reasons[gone] == "faded or forgotten"
    assert reasons[other["id"]] == "another project"
    everywhere = visit.call("search", query="ferry to Skarn", all_projects=True, include=["expired"])
    assert {gone, other["id"]} <= {one["id"] for one in everywhere["results"]}


def test_pages_of_a_list_share_nothing_and_leave_nothing_out(visit: Visit) -> None:
    for number in range(7):
        visit.call(
            "remember", content=f"Buoy {number} is lit by lamp {number * 7 + 3}.", layer="episodic", tags=["buoys"]
        )
    pages = [visit.call("browse", tags=["buoys"], limit=3, offset=offset) for offset in (0, 3, 6, 9)]
    assert [len(page["memories"]) for page in pages] == [3, 3, 1, 0]
    ids = [memory["id"] for page in pages for memory in page["memories"]]
    assert len(set(ids)) == 7
    assert {page["total"] for page in pages} == {7}
    oldest = visit.call("browse", tags=["buoys"], limit=7, sort="oldest")
    assert [memory["id"] for memory in oldest["memories"]] == ids[::-1]


def test_a_change_is_heard_by_whoever_listens(visit: Visit, page: ServedPage) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", visit._port, timeout=30)
    assert not page.page.is_in_use(minutes=0)  # an engine may leave
    connection.request("GET", "/api/v1/events", headers=visit.headers)
    stream = connection.getresponse()
    assert stream.getheader("content-type", "").startswith("text/event-stream")
    visit.call("overview")  # the store is open
    first = _event(stream)
    assert first["event"] == "at"
    assert page.page.is_in_use(minutes=0)  # while a browser has it open, the engine stays
    visit.call("remember", content="The tide table of today has 48 rows.", layer="episodic")
    assert _event(stream) == {"event": "changed", "number": first["number"] + 1}
    connection.close()


def _event(stream: http.client.HTTPResponse) -> Any:
    """Return the next event of a stream; comments are passed over."""
    while not (line := stream.readline()).startswith(b"data:"):
        assert line, "the stream ended"
    return json.loads(line.removeprefix(b"data: "))


def test_many_are_changed_one_by_one_each_with_an_outcome_and_a_way_back(visit: Visit) -> None:
    kept = [
        visit.call("remember", content=f"Lock {number} opens with key {number + 20}.", layer=layer)["id"]
        for number, layer in enumerate(("episodic", "semantic", "procedural"))
    ]
    unknown = "nosuchmemoryanywhere"
    promoted = visit.call("change_many", action="promote", ids=[*kept, unknown])
    assert [(one["done"], one["said"]) for one in promoted["outcomes"][:2]] == [
        (True, "episodic → semantic"),
        (True, "semantic → procedural"),
    ]
    assert [one["done"] for one in promoted["outcomes"][2:]] == [False, False]
    assert "highest layer" in promoted["outcomes"][2]["said"]
    assert "No memory" in promoted["outcomes"][3]["said"]
    events = [one["event_id"] for one in promoted["outcomes"] if one["done"]]
    assert visit.call("change_many", action="undo", ids=events)["changed"] == 2
    assert [one["layer"] for one in visit.call("inspect", ids=kept)["memories"]] == [
        "episodic",
        "semantic",
        "procedural",
    ]


def test_a_pin_holds_when_many_are_forgotten_and_the_others_come_back(visit: Visit) -> None:
    kept = [visit.call("remember", content=f"Mooring {n} holds {n + 3} boats.")["id"] for n in range(3)]
    assert visit.call("change_many", action="pin", ids=kept[:1])["changed"] == 1
    assert visit.call("change_many", action="pin", ids=kept[:1])["changed"] == 0  # it was pinned already
    forgotten = visit.call("change_many", action="forget", ids=kept, reason="sold")
    assert [one["done"] for one in forgotten["outcomes"]] == [False, True, True]
    assert "pinned" in forgotten["outcomes"][0]["said"]
    assert visit.call("change_many", action="restore", ids=kept[1:])["changed"] == 2
    statuses = {one["status"] for one in visit.call("inspect", ids=kept)["memories"]}
    assert statuses == {"active"}
    assert visit.call("change_many", action="unpin", ids=kept[:1])["changed"] == 1


@pytest.mark.parametrize("ids", [[], ["x"] * 1, [str(n) for n in range(201)]])
def test_nothing_and_too_many_are_refused(visit: Visit, ids: list[str]) -> None:
    answer = visit.post("change_many", {"action": "pin", "ids": ids})
    assert answer.status == (200 if len(ids) == 1 else 400)


def test_health_tells_recall_times_hooks_and_sizes(visit: Visit, page: ServedPage) -> None:
    before = visit.call("health")["recall"]["count"]
    for _ in range(3):
        visit.call("recall", query="Who keeps the lighthouse?")
    found = visit.call("health")
    assert found["recall"]["count"] == before + 3
    assert len(found["recall"]["milliseconds"]) == before + 3
    assert 0 < found["recall"]["p50"] <= found["recall"]["p95"]
    assert found["bytes"]["semantic"] > 0
    assert found["engine"]["process"] > 0


def test_checks_run_behind_the_answer_tell_how_far_they_are_and_keep_their_verdict(visit: Visit) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", visit._port, timeout=60)
    connection.request("GET", "/api/v1/events", headers=visit.headers)
    stream = connection.getresponse()
    visit.call("remember", content="The bell of the pier rings at seven.")
    started = visit.call("checks", start=["doctor", "audit"])
    assert started["doctor"]["running"]
    assert started["audit"]["running"]
    visit.call("checks", start=["audit"])  # one runs already
    ended, shares = list[str](), list[int]()
    while len(ended) < 2:
        event = _event(stream)
        if event["event"] == "progress" and event["call"] == "checks":
            shares.append(event["done"])
            ended += [event["message"]] if event["done"] == event["total"] else []
    connection.close()
    assert set(ended) == {"audit: done", "doctor: done"}
    assert len(set(shares)) > 5
    found = visit.call("checks")
    assert (found["audit"]["running"], found["doctor"]["running"]) == (False, False)
    assert found["audited"] == visit.call("audit")
    assert found["audited"]["intact"]
    assert found["diagnosis"]["healthy"]
    assert {check["name"] for check in found["diagnosis"]["checks"]} >= {"tables", "vectors", "embedder", "orphans"}
    again = visit.call("checks", start=["audit"], older_than=60)
    assert not again["audit"]["running"]  # it is not an hour old
    assert again["audit"]["at"] == found["audit"]["at"]


def test_the_evidence_of_a_memory_that_names_no_code_is_empty(visit: Visit) -> None:
    kept = visit.call("remember", content="The tide table hangs beside the door.")["id"]
    found = visit.call("evidence", id=kept)
    assert (found["freshness"], found["anchors"]) == ("unanchored", [])


# -- an engine that restarts -------------------------------------------------------------------------------


class Restarted:
    """A page whose engine ends and starts again, as often as one likes."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project, self.runtime = folder / "home", folder / "restarts", folder / "run"
        for one in (self.project, self.runtime):
            one.mkdir(mode=0o700)
        self.now = datetime(2026, 3, 1, tzinfo=UTC)
        self.kept = KeptPageFile(str(self.runtime), str(self.home), lambda: self.now)

    def engine(self) -> ServedPage:
        return ServedPage(self.home, self.project, "restarts", kept=self.kept)


@pytest.fixture
def restarted(tmp_path: Path) -> Restarted:
    return Restarted(tmp_path)


def test_who_followed_a_link_is_let_in_by_the_next_engine_on_the_same_port(restarted: Restarted) -> None:
    with restarted.engine() as first:
        visit, used, unused = first.visit(), first.link(), first.link()
        assert first.visit().get(used.removeprefix(first.origin)).status == 200
        kept = visit.call("remember", content="The pier has eleven lamps.")["id"]
        port = first.page.port
    with restarted.engine() as second:
        assert second.page.port == port
        assert visit.call("inspect", ids=[kept])["memories"][0]["content"] == "The pier has eleven lamps."
        stranger = Visit(second)
        for link in (used, unused):  # links end with the engine that gave them
            assert stranger.get(link.removeprefix(second.origin)).status == 403
        assert visit.post("status", {}, **{KEY_HEADER: "wrong"}).status == 401
        assert visit.post("status", {}, Origin="http://127.0.0.1:1").status == 403


def test_what_is_kept_is_private_and_tells_neither_cookie_nor_key(restarted: Restarted) -> None:
    with restarted.engine() as page:
        visit = page.visit()
        path = Path(restarted.kept.path)
        text = path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    cookie = visit.headers["Cookie"].partition("=")[2]
    assert cookie not in text
    assert visit.headers[KEY_HEADER] not in text


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda path: path.chmod(0o644), id="others could read it"),
        pytest.param(lambda path: path.write_text("{"), id="cut short"),
        pytest.param(lambda path: path.write_text('{"at": 1, "port": "x", "visitors": 3}'), id="nonsense"),
        pytest.param(
            lambda path: (path.rename(path.with_suffix(".x")), path.symlink_to(path.with_suffix(".x"))), id="a link"
        ),
    ],
)
def test_a_file_that_another_may_have_made_lets_nobody_in(
    restarted: Restarted, spoil: Callable[[Path], object]
) -> None:
    restarted.kept.write(4_711, [])
    assert restarted.kept.read() is not None
    spoil(Path(restarted.kept.path))
    assert restarted.kept.read() is None


def test_after_a_quarter_of_an_hour_nobody_is_let_in(restarted: Restarted) -> None:
    restarted.kept.write(4_711, [])
    restarted.now += KEPT_FOR + timedelta(seconds=1)
    assert restarted.kept.read() is None


def test_an_engine_that_leaves_because_nobody_is_there_keeps_nobody(restarted: Restarted) -> None:
    with restarted.engine() as page:
        page.visit()
        page.run(lambda: page.page.stop(forget=True))
        assert not Path(restarted.kept.path).exists()


def test_whoever_answers_has_to_prove_that_it_knows_the_key_on_its_own_port(visit: Visit, page: ServedPage) -> None:
    nonce = "0123456789abcdef" * 2
    answer = visit.get(f"/api/v1/still-here?nonce={nonce}", **{KEY_HEADER: None})
    key = hashlib.sha256(visit.headers[KEY_HEADER].encode()).digest()
    assert answer.json["proof"] == hmac.new(key, f"{nonce}:{page.page.port}".encode(), "sha256").hexdigest()
    assert visit.get("/api/v1/still-here?nonce=x").status == 400
    assert Visit(page).get(f"/api/v1/still-here?nonce={nonce}").status == 401
