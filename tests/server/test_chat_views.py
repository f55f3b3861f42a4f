"""Views inside a chat: listed, read and named over stdio; and shown in Chromium by a small client of our own."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from reverie.server.resources import VIEWS, page_of
from tests.browser import PATIENCE_MS, REQUIRED, launched, why_not

SCRIPT = "<script>document.title='pwned'</script><img src=x onerror=\"document.title='pwned'\">"


def test_the_views_are_resources_that_two_tools_name(server: Any) -> None:
    tools = {tool.name: tool for tool in server.run(server.client.list_tools).tools}
    named = {name: tool.meta["ui"]["resourceUri"] for name, tool in tools.items() if "ui" in (tool.meta or {})}
    assert named == {name: address for name, (address, _, _) in VIEWS.items()}
    listed = {str(one.uri): one for one in server.run(server.client.list_resources).resources}
    for address in named.values():
        assert listed[address].mime_type == "text/html;profile=mcp-app"
        [content] = server.run(server.client.read_resource, address).contents
        assert content.mime_type == "text/html;profile=mcp-app"
        assert content.text.startswith("<!doctype html>")


def test_a_client_without_views_still_reads_the_text(server: Any) -> None:
    kept = server.call("remember", content="The bell buoy rings twice an hour.")
    answer = server.run(server.client.call_tool, "inspect", {"ids": [kept["id"]]})
    assert "The bell buoy rings twice an hour." in answer.content[0].text


@pytest.mark.parametrize(("address", "view", "title"), VIEWS.values())
def test_a_view_is_one_document_that_asks_nobody_and_runs_only_its_own_script(
    address: str, view: str, title: str
) -> None:
    page = page_of(view, title)
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    policy = html.unescape(policy)
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert "require-trusted-types-for 'script'" in policy
    for tag in ("script", "style"):
        [inside] = re.findall(rf"<{tag}[^>]*>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "://" not in page
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", page)


# -- in a browser ------------------------------------------------------------------------------------------

HOST = """<!doctype html><html><head><title>a client</title></head><body><iframe id="app" sandbox="allow-scripts"
 width="100%" height="700" srcdoc="{document}"></iframe><script>
const frame = document.getElementById("app");
const said = window.said = [];
const send = (message) => frame.contentWindow.postMessage({{ jsonrpc: "2.0", ...message }}, "*");
addEventListener("message", async (event) => {{
  if (event.source !== frame.contentWindow) return;
  const message = event.data;
  said.push(message);
  const {{ id, method, params }} = message;
  const host = {{ hostInfo: {{ name: "a client", version: "1" }}, hostCapabilities: {{}} }};
  const hostContext = {{ theme: "{theme}" }};
  if (method === "ui/initialize")
    send({{ id, result: {{ ...host, protocolVersion: params.protocolVersion, hostContext }} }});
  if (method === "ui/notifications/initialized")
    send({{ method: "ui/notifications/tool-result", params: await tool("first", {{}}) }});
  if (method === "tools/call") send({{ id, result: await tool(params.name, params.arguments) }});
}});
</script></body></html>"""

QUESTION = {
    "id": "q1",
    "ask": f"Do these say the same? {SCRIPT}",
    "memories": [
        {"id": "m1", "content": "The API listens on 8080.", "source": "ai", "status": "active"},
        {"id": "m2", "content": f"The API listens on 8081. {SCRIPT}", "source": "human", "status": "challenged"},
    ],
    "evidence": ["8080 against 8081"],
    "verdicts": ["merge", "separate"],
}
MEMORY = {
    "id": "m1",
    "content": f"Releases go out on Tuesdays. {SCRIPT}",
    "layer": "semantic",
    "kind": "preference",
    "status": "active",
    "pinned": False,
    "retention": {"now": 1.0, "30": 0.5, "90": 0.25, "365": 0.0},
    "outlook": "It never expires by itself.",
    "anchors": [{"path": "src/old.py", "freshness": "moved", "now_at": "src/new.py"}],
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not REQUIRED and why_not():
        pytest.skip(why_not())
    with launched() as browser:
        yield browser


class Chat:
    """A client with a view in it, and the calls that the view made."""

    def __init__(
        self, browser: Any, view: str, answers: dict[str, Any], theme: str = "light", width: int = 700
    ) -> None:
        self.page = browser.new_page(viewport={"width": width, "height": 760})
        self.page.set_default_timeout(PATIENCE_MS)
        self.complaints: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda one: self.complaints.append(one.text) if one.type == "error" else None)
        self.asked: list[tuple[str, Any]] = []

        def tool(name: str, arguments: Any) -> Any:
            self.asked.append((name, arguments))
            return answers[name]

        self.page.expose_function("tool", tool)
        document = html.escape(page_of(view, view), quote=True)
        self.page.set_content(HOST.format(document=document, theme=theme))
        self.view = self.page.frame_locator("#app")

    def done(self) -> list[str]:
        said = self.page.evaluate("said.map((one) => one.method)")
        title = self.page.title()
        self.page.close()
        assert (title, self.complaints) == ("a client", [])
        return list(said)


def result(**structured: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": json.dumps(structured)}], "structuredContent": structured}


@pytest.mark.slow
def test_a_question_is_answered_in_the_chat(browser: Any) -> None:
    chat = Chat(browser, "review", {"first": result(questions=[QUESTION]), "review": result(questions=[])})
    chat.view.get_by_role("heading", name="Do these say the same?").wait_for()
    assert SCRIPT in (chat.view.locator("h2").text_content() or "")
    assert chat.view.locator("img").count() == 0
    chat.view.get_by_role("button", name="Keep both").click()
    chat.view.get_by_text("No question is open.").wait_for()
    assert chat.asked[-1] == ("review", {"decisions": [{"question_id": "q1", "verdict": "separate", "text": ""}]})
    said = chat.done()
    assert said[0] == "ui/initialize" or said[1] == "ui/initialize"
    assert {"ui/notifications/initialized", "ui/notifications/size-changed", "tools/call"} <= set(said)


@pytest.mark.slow
def test_a_merge_asks_for_its_text_first(browser: Any) -> None:
    chat = Chat(browser, "review", {"first": result(questions=[QUESTION]), "review": result(questions=[])})
    chat.view.get_by_role("button", name="Merge them").click()
    chat.view.get_by_label("The text to keep").fill("The API listens on 8081.")
    chat.view.get_by_role("button", name="Merge them").click()
    chat.view.get_by_text("No question is open.").wait_for()
    assert chat.asked[-1][1]["decisions"][0]["text"] == "The API listens on 8081."
    chat.done()


@pytest.mark.slow
@pytest.mark.parametrize(("theme", "width"), [("light", 360), ("dark", 1280)])
def test_a_memory_is_shown_and_pinned_in_the_chat(browser: Any, theme: str, width: int, tmp_path: Any) -> None:
    pinned = result(memories=[MEMORY | {"pinned": True}])
    chat = Chat(
        browser, "memory", {"first": result(memories=[MEMORY]), "pin": result(), "inspect": pinned}, theme, width
    )
    chat.view.get_by_role("button", name="Pin", exact=True).click()
    chat.view.get_by_role("button", name="Unpin").wait_for()
    assert ("pin", {"id": "m1", "pinned": True}) in chat.asked
    assert chat.view.locator("html").get_attribute("data-theme") == theme
    assert chat.view.get_by_text("→ src/new.py").is_visible()
    assert chat.view.locator("img").count() == 0
    assert chat.view.locator("html").evaluate("(one) => one.scrollWidth <= one.clientWidth")
    chat.page.screenshot(path=str(tmp_path / f"card-{theme}-{width}.png"))
    chat.done()


@pytest.mark.slow
def test_what_a_tool_refuses_is_said_in_the_view(browser: Any) -> None:
    refused = {"isError": True, "content": [{"type": "text", "text": "It is pinned already."}]}
    chat = Chat(browser, "memory", {"first": result(memories=[MEMORY]), "forget": refused})
    chat.view.get_by_role("button", name="Forget").click()
    chat.view.get_by_text("It is pinned already.").wait_for()
    assert chat.view.get_by_role("button", name="Forget").is_enabled()
    chat.done()
