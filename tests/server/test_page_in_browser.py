"""The page in a real Chromium, on a store with half a year behind it: a person's tasks, attacks, accessibility.

One browser, one server and one store serve all tests of this file; each works on memories of its own. What takes long
on a busy machine is marked slow; `.ci/run` runs it all, and insists that there is a browser.
"""

import asyncio
import http.server
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from reverie.server.page_access import KeptPageFile
from tests.browser import AXE, PATIENCE_MS, REQUIRED, launched, why_not
from tests.page_server import ServedPage, Visit
from tests.page_store import HOSTILE_PATH, PROJECT, SCRIPT, Made, make_store

if not REQUIRED and why_not():
    pytest.skip(f"the page is not tested in a browser: {why_not()}", allow_module_level=True)

from playwright.sync_api import Browser, BrowserContext, Dialog, Page, expect

pytestmark = pytest.mark.slow

VIEWS = ("#/memories", "#/memories?q=database", "#/clock?at=-60", "#/nights", "#/questions", "#/session", "#/health")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("browser")
    with ThreadPoolExecutor(1) as apart:  # playwright keeps the loop of this thread
        work = make_store(folder / "home", folder / PROJECT, datetime.now(UTC))
        return apart.submit(asyncio.run, work).result()


@pytest.fixture(scope="module")
def served(made: Made) -> Iterator[ServedPage]:
    with ServedPage(made.home, made.folder, PROJECT) as page:
        yield page


@pytest.fixture(scope="module")
def visit(served: ServedPage) -> Visit:
    """Somebody else who works on the store meanwhile."""
    return served.visit()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def context(browser: Browser, served: ServedPage) -> BrowserContext:
    """A browser that has followed a link."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE_MS)
    tab = context.new_page()
    tab.goto(served.link())
    tab.wait_for_selector("li.row")
    tab.close()
    return context


@pytest.fixture
def tab(context: BrowserContext) -> Iterator[Page]:
    """A new tab; whatever it complains about fails the test."""
    tab = context.new_page()
    complaints: list[str] = []
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    yield tab
    tab.close()
    assert complaints == []


def opened(tab: Page, served: ServedPage, view: str) -> Page:
    tab.goto(f"{served.origin}/{view}")
    tab.wait_for_selector("main .view")
    tab.wait_for_selector("main:not([aria-busy])")
    return tab


def agree(tab: Page, button: str) -> None:
    tab.locator("dialog").get_by_role("button", name=button, exact=True).click()


# ── getting in ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_link_opens_the_page_and_leaves_nothing_secret_in_the_address(browser: Browser, served: ServedPage) -> None:
    context = browser.new_context()
    tab = context.new_page()
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    link = served.link()
    tab.goto(link)
    expect(tab.get_by_role("heading", name="Memories", level=1)).to_be_visible()
    assert tab.url == f"{served.origin}/#/memories"
    assert tab.evaluate("document.cookie") == ""  # no script can read it
    assert [url for url in asked if not url.startswith(served.origin)] == []
    other = browser.new_context()
    stolen = other.new_page()
    stolen.goto(link)
    expect(stolen.locator("body")).to_contain_text("used already")
    stolen.goto(served.origin)
    expect(stolen.locator("body")).to_contain_text("reverie page")
    context.close()
    other.close()


class Neighbour(http.server.BaseHTTPRequestHandler):
    """A web server of somebody else on this machine: its page tries to use ours, and it notes what it is sent."""

    target = ""
    sent: list[str]

    def do_GET(self) -> None:
        self.sent.append(self.headers.get("Cookie", ""))
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>neighbour</title><p>hello</p>")

    def log_message(self, *given: Any) -> None:
        """Say nothing."""


@contextmanager
def neighbour() -> Iterator[tuple[str, list[str]]]:
    sent: list[str] = []
    handler = type("Handler", (Neighbour,), {"sent": sent})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", sent
        server.shutdown()


_ATTACK = """async (target) => {
  const tried = [];
  for (const [mode, type] of [["cors", "application/json"], ["no-cors", "text/plain"], ["cors", "text/plain"]]) {
    try {
      const answer = await fetch(`${target}/api/v1/remember`, {
        method: "POST", mode, credentials: "include", headers: {"Content-Type": type},
        body: JSON.stringify({content: "The neighbour was here."}),
      });
      tried.push(`${answer.type} ${answer.status} ${await answer.text()}`);
    } catch (error) { tried.push("refused"); }
  }
  return tried;
}"""


def test_a_page_of_another_origin_changes_and_reads_nothing_even_with_the_cookie_that_its_server_is_sent(
    context: BrowserContext, served: ServedPage, visit: Visit
) -> None:
    before = visit.call("overview")["total"]
    with neighbour() as (address, sent):
        tab = context.new_page()
        tab.goto(address)
        tried = tab.evaluate(_ATTACK, served.origin)
        tab.close()
    assert set(tried) <= {"refused", "opaque 0 "}
    [cookie] = {one for one in sent if "reverie_" in one}  # a browser does not tell the ports of a host apart
    thief = Visit(served)
    thief.headers = {"Cookie": cookie}
    assert thief.get("/").status == 200  # the page without a memory in it
    assert thief.post("browse").status == 401
    assert visit.call("overview")["total"] == before


# ── a person's tasks ──────────────────────────────────────────────────────────────────────────────────────


def test_forget_everything_about_the_old_payment_provider(tab: Page, served: ServedPage, visit: Visit) -> None:
    opened(tab, served, "#/memories")
    tab.keyboard.press("/")
    tab.keyboard.type("old payment provider")
    tab.keyboard.press("Enter")
    expect(tab.locator(".found > ul.rows > li")).to_have_count(2)
    tab.get_by_role("button", name="Select all").click()
    passed = tab.locator("section.passed details", has_text="does not fit")  # what only touches it is below
    passed.locator("summary").click()
    passed.get_by_role("checkbox", name="Refunds are booked by hand").check()
    bar = tab.get_by_role("group", name="Selected memories")
    expect(bar).to_contain_text("3 selected")
    bar.get_by_role("button", name="Forget").click()
    expect(tab.locator("dialog li")).to_have_count(3)
    expect(tab.locator("dialog")).to_contain_text("Quayside Pay refuses a charge")
    agree(tab, "Forget")
    expect(tab.locator("#notice")).to_contain_text("Forgotten: 3 memories")
    assert not any("Quayside" in one["content"] for one in visit.call("browse", limit=100)["memories"])
    tab.get_by_role("button", name="Undo").click()
    expect(tab.locator("#notice")).to_contain_text("Taken back: 3 memories")
    assert sum("Quayside" in one["content"] for one in visit.call("browse", limit=100)["memories"]) == 3


def test_everything_with_a_tag_is_a_click_away(tab: Page, served: ServedPage) -> None:
    opened(tab, served, "#/memories")
    tab.get_by_role("link", name="#payments").first.click()
    expect(tab.locator("li.row")).to_have_count(2)


def test_why_was_this_not_found(tab: Page, served: ServedPage, visit: Visit) -> None:
    opened(tab, served, "#/memories")
    tab.keyboard.press("/")
    tab.keyboard.type("How long does rendering a year of tides take?")
    tab.keyboard.press("Enter")
    passed = tab.locator("section.passed details", has_text="faded or forgotten").locator(
        "li.row", has_text="380 milliseconds"
    )
    expect(passed).to_be_visible()
    passed.get_by_role("button", name="Restore").click()
    found = tab.locator(".found > ul.rows > li", has_text="380 milliseconds")
    expect(found).to_be_visible()
    found.get_by_text("Why").click()
    expect(found.locator("dl.parts")).to_contain_text("how likely it answers")


def test_a_question_is_answered_with_one_key(tab: Page, served: ServedPage, visit: Visit) -> None:
    [question] = visit.call("review")["questions"]
    opened(tab, served, "#/questions")
    card = tab.locator("li.card").first
    expect(card.locator("mark").first).to_be_visible()  # where the two texts differ
    card.focus()
    tab.keyboard.press(str(question["verdicts"].index("holds") + 1))
    expect(tab.locator("#notice")).to_contain_text("Answered")
    assert question["id"] not in {one["id"] for one in visit.call("review")["questions"]}


def test_undo_last_night_s_merge(tab: Page, served: ServedPage, visit: Visit) -> None:
    opened(tab, served, "#/nights")
    expect(tab.locator(".nights li").first).to_contain_text("said again")
    expect(tab.locator("ol.nights")).not_to_contain_text("vectors of")  # nobody reads how many bits a vector has
    tab.locator(".nights a.text").first.click()
    merge = tab.locator("li.merge")
    expect(merge.locator("a.text")).to_have_text(
        [
            "The ferry to Skarn waits for the tide gate, which opens twice a day.",
            "The ferry to Skarn waits for the tide gate, which opens twice a day!",
        ]
    )
    challenged = tab.locator("li.change-card", has_text="The API listens on port 8080.")
    expect(challenged.locator("p a").first).to_contain_text("port 8081")  # a text, where the reason has an id
    merge.get_by_role("button", name="Take back the merge…").click()
    expect(tab.locator("dialog")).to_contain_text("The ferry to Skarn waits")
    agree(tab, "Take it back")
    expect(tab.locator("#notice")).to_contain_text("The merge is taken back")
    ferries = [one for one in visit.call("browse", limit=100)["memories"] if "ferry to Skarn waits" in one["content"]]
    assert [one["status"] for one in ferries] == ["active", "active"]


def test_undo_what_a_night_did(tab: Page, served: ServedPage, visit: Visit) -> None:
    opened(tab, served, "#/nights")
    tab.locator(".nights a.text").first.click()
    change = tab.locator("li.change-card", has_text="gauge readings")
    expect(change).to_contain_text("it is older than 90 days")
    expect(change.locator("del").first).to_have_text("active")
    change.get_by_role("button", name="Take back").click()
    agree(tab, "Undo it")
    expect(tab.locator("#notice")).to_contain_text("Undone")
    tab.get_by_role("button", name="Take back the whole night…").click()
    expect(tab.locator("dialog pre")).to_contain_text("The dream")
    agree(tab, "Take it back")
    expect(tab.locator("#notice")).to_contain_text("Taken back")
    statuses = {row["content"]: row["status"] for row in visit.call("browse", limit=100)["memories"]}
    assert statuses["The nightly import of gauge readings fails when a harbour reports in feet!"] == "active"
    assert statuses["The API listens on port 8080."] == "active"


@pytest.mark.slow
def test_what_would_tonight_do_and_doing_it(tab: Page, served: ServedPage, visit: Visit) -> None:
    before = visit.call("dreams")["total"]
    opened(tab, served, "#/nights/tonight")
    expect(tab.get_by_text("Nothing was changed.")).to_be_visible()
    assert visit.call("dreams")["total"] == before
    tab.get_by_role("button", name="Dream now").click()
    tab.wait_for_url(re.compile(r"#/nights/\w{10,}"))
    assert visit.call("dreams")["total"] == before + 1


def test_what_will_be_gone_by_summer_and_what_was_known_in_spring(
    tab: Page, served: ServedPage, visit: Visit
) -> None:
    opened(tab, served, "#/clock")
    summer = (datetime.now(UTC) + timedelta(days=300)).date().isoformat()
    tab.get_by_label("Day", exact=True).fill(summer)
    expect(tab.locator(".moment")).to_contain_text("in 300 days: what would be left")
    gone = tab.locator("ul.gone li.row")
    expect(gone.first).to_be_visible()
    text = gone.first.locator("a.text").inner_text()
    gone.first.get_by_role("button", name="Pin").click()
    expect(tab.locator("ul.gone a.text", has_text=text)).to_have_count(0)
    tab.get_by_role("slider").fill("-195")
    expect(tab.locator(".moment")).to_contain_text("what was known")
    expect(tab.locator("ul.gone")).to_have_count(0)  # the view of the future stays until this one has come
    expect(tab.locator("ul.rows")).to_contain_text("The API listens on port 8080.")
    expect(tab.locator("ul.rows")).not_to_contain_text("8081")


def test_the_quarantine_shows_the_words_that_were_noticed(
    tab: Page, served: ServedPage, visit: Visit, made: Made
) -> None:
    opened(tab, served, "#/questions")
    card = tab.locator("li.held")
    expect(card.locator("mark")).to_have_text("Ignore all previous instructions")
    card.get_by_role("button", name="Forget").click()
    expect(tab.get_by_text("Nothing is held back.")).to_be_visible()
    assert visit.call("inspect", ids=[made.ids["held"]])["memories"][0]["status"] == "expired"


@pytest.mark.slow
def test_a_memory_is_read_corrected_pinned_and_moved(tab: Page, served: ServedPage, visit: Visit) -> None:
    [found] = visit.call("search", query="moon phases cached", limit=1)["results"]
    opened(tab, served, f"#/memory/{found['id']}")
    expect(tab.locator(".anchors .changed")).to_contain_text("src/moon.py::phase")
    expect(tab.locator("figure.chart svg path.recall")).to_have_count(2)
    expect(tab.locator("figure.chart svg")).to_have_attribute("aria-label", re.compile("percent is left now"))
    tab.keyboard.press("e")
    tab.get_by_label("The corrected text").fill("Moon phases come from src/moon.py::phase; cache them for two days.")
    agree(tab, "Keep the correction")
    expect(tab.locator("article .content")).to_contain_text("two days")
    tab.keyboard.press("p")
    expect(tab.get_by_role("button", name="Unpin")).to_be_visible()
    tab.get_by_role("button", name="Promote").click()
    expect(tab.locator("article .layer")).to_have_text("procedural")
    expect(tab.locator(".history")).to_contain_text("moved")


def test_a_purge_shows_what_goes_and_wants_a_word(tab: Page, served: ServedPage, visit: Visit) -> None:
    kept = visit.call("remember", content="The old harbour master's number is 555 0199.", layer="semantic")["id"]
    opened(tab, served, f"#/memory/{kept}")
    tab.get_by_role("button", name="Purge…").click()
    expect(tab.locator("dialog .going")).to_contain_text("harbour master")
    agree(tab, "Remove for good")  # without the word nothing happens
    expect(tab.locator("dialog")).to_be_visible()
    assert visit.post("inspect", {"ids": [kept]}).status == 200
    tab.get_by_label("Type “purge” to agree:").fill("purge")
    agree(tab, "Remove for good")
    expect(tab.locator("#notice")).to_contain_text("for good")
    assert visit.post("inspect", {"ids": [kept]}).status == 404


@pytest.mark.slow
def test_a_pin_changes_what_the_next_session_starts_with(tab: Page, served: ServedPage, visit: Visit) -> None:
    opened(tab, served, "#/session?tokens=400")
    expect(tab.locator("#used")).to_contain_text("tokens used")
    brief = tab.locator("pre.brief")
    assert visit.call("brief", max_tokens=400)["tokens"] == int(re.sub(r"\D", "", tab.locator("#used").inner_text()))
    row = tab.locator("ul.rows li", has=tab.get_by_role("button", name="Pin", exact=True)).last
    text = row.locator("a.text").inner_text()
    row.get_by_role("button", name="Pin", exact=True).click()
    expect(brief).to_contain_text(re.compile(rf"Pinned and core[^#]*{re.escape(text[:30])}"))


@pytest.mark.slow
def test_evidence_that_changed_is_shown_with_the_difference(
    tab: Page, served: ServedPage, visit: Visit, made: Made
) -> None:
    moon = next(memory_id for content, memory_id in made.ids.items() if content.startswith("Moon phases"))
    tab.goto(f"{served.origin}/#/memory/{moon}")
    difference = tab.locator(".difference")
    expect(difference.locator(".gone")).to_contain_text("return day % 29.53")
    expect(difference.locator(".new")).to_contain_text("return round(day % 29.53, 2)")


def test_many_are_moved_at_once_and_it_is_taken_back(tab: Page, served: ServedPage, visit: Visit) -> None:
    kept = [
        visit.call("remember", content=f"Ferry {n} sleeps in berth {n + 40}.", layer="episodic", tags=["berths"])[
            "id"
        ]
        for n in range(3)
    ]
    tab.goto(f"{served.origin}/#/memories?tag=berths")
    expect(tab.locator("li.row")).to_have_count(3)
    tab.locator("li.row > input").first.check()
    tab.get_by_role("button", name="all on this page").click()
    tab.get_by_role("group", name="Selected memories").get_by_role("button", name="Promote").click()
    expect(tab.locator("#notice")).to_contain_text("Promoted: 3 memories.")
    assert {one["layer"] for one in visit.call("inspect", ids=kept)["memories"]} == {"semantic"}
    tab.locator("#notice").get_by_role("button", name="Undo").click()
    expect(tab.locator("#notice")).to_contain_text("Taken back: 3 memories.")
    assert {one["layer"] for one in visit.call("inspect", ids=kept)["memories"]} == {"episodic"}


def test_a_page_says_that_the_engine_is_away_and_goes_on_when_it_is_back(
    browser: Browser, made: Made, tmp_path: Path
) -> None:
    kept = KeptPageFile(str(tmp_path), "a store")
    context = browser.new_context()
    context.set_default_timeout(PATIENCE_MS)
    tab = context.new_page()
    with ServedPage(made.home, made.folder, PROJECT, kept=kept) as first:
        tab.goto(first.link())
        tab.wait_for_selector("body[data-live] li.row")
        port = first.page.port
    expect(tab.locator("#away")).to_have_text("The engine is away; trying again.")
    # Another program takes the port meanwhile: it is not told the key.
    heard: list[str] = []
    with other_server(port, heard):
        while len(heard) < 2:  # it does not believe the first answer, and asks again
            tab.wait_for_timeout(100)
    assert not any("x-reverie-key" in one for one in heard)
    expect(tab.locator("#away")).to_be_visible()
    with ServedPage(made.home, made.folder, PROJECT, kept=kept) as second:
        assert second.page.port == port
        expect(tab.locator("#away")).to_be_hidden()
        tab.goto(f"{second.origin}/#/health")
        expect(tab.get_by_role("heading", name="Recall times")).to_be_visible()
    context.close()


@contextmanager
def other_server(port: int, heard: list[str]) -> Iterator[None]:
    """Somebody else's server, which notes the headers that it is sent and claims to be ours."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append(str(self.headers).lower())
            body = b'{"proof": "0000"}'
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *said: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_health_says_how_the_store_is_and_audits_it(tab: Page, served: ServedPage) -> None:
    opened(tab, served, "#/health")  # nobody waits for either: both run behind the page, which shows how far they are
    expect(tab.locator("#doctor ul.checks li.ok").first).to_be_visible()
    expect(tab.locator("#audit .verdict.ok")).to_contain_text("Intact")
    expect(tab.locator("#audit .check-state")).to_contain_text("last done")
    before = tab.locator("#audit time").get_attribute("datetime")
    tab.get_by_role("button", name="Audit the journal").click()
    expect(tab.locator(f'#audit time:not([datetime="{before}"])')).to_be_visible()
    tab.goto(f"{served.origin}/#/memories")
    opened(tab, served, "#/health")
    expect(tab.locator("#audit .verdict.ok")).to_be_visible()  # the last verdict is there at once


def test_what_another_session_remembers_shows_up_by_itself(tab: Page, served: ServedPage, visit: Visit) -> None:
    opened(tab, served, "#/memories")
    tab.wait_for_selector("body[data-live]")
    visit.call("remember", content="The pilot boat is called Petrel.", layer="semantic")
    expect(tab.locator("ul.rows")).to_contain_text("The pilot boat is called Petrel.")


def test_the_keyboard_is_enough(tab: Page, served: ServedPage) -> None:
    opened(tab, served, "#/health")
    tab.keyboard.press("1")
    expect(tab.get_by_role("heading", name="Memories", level=1)).to_be_visible()
    tab.wait_for_selector("li.row")
    tab.keyboard.press("j")
    first = tab.evaluate("document.activeElement.textContent")
    tab.keyboard.press("j")
    assert tab.evaluate("document.activeElement.textContent") != first
    tab.keyboard.press("k")
    tab.keyboard.press("Enter")
    expect(tab.locator("article.memory .content")).to_have_text(first)
    tab.keyboard.press("?")
    expect(tab.locator("dialog")).to_contain_text("Keys")
    tab.keyboard.press("Escape")
    expect(tab.locator("dialog")).not_to_be_visible()


# ── nothing of a memory is HTML ───────────────────────────────────────────────────────────────────────────


def test_script_in_a_text_a_title_a_tag_and_a_path_is_shown_and_never_run(
    tab: Page, served: ServedPage, visit: Visit, made: Made
) -> None:
    dialogs: list[Dialog] = []
    tab.on("dialog", lambda dialog: dialogs.append(dialog))
    for view in (f"#/memory/{made.ids['hostile']}", *VIEWS, f"#/memories?q={SCRIPT[:30]}"):
        opened(tab, served, view)
        assert "pwned" not in tab.title() or view.startswith("#/memory/")
        assert tab.evaluate("document.querySelectorAll('main script, main img, main b').length") == 0
    opened(tab, served, f"#/memory/{made.ids['hostile']}")
    expect(tab.locator("article")).to_contain_text(SCRIPT)
    expect(tab.locator("article")).to_contain_text("#<b>bold</b>")
    assert tab.title() != "pwned"
    assert dialogs == []
    expect(tab.locator(".anchors code").first).to_have_text(HOSTILE_PATH)


@pytest.mark.slow
def test_a_text_of_ten_thousand_letters_without_a_space_stays_in_its_column(
    tab: Page, served: ServedPage, visit: Visit
) -> None:
    kept = visit.call("remember", content="x" * 10_000, title="y" * 200, tags=["z" * 200], layer="semantic")["id"]
    tab.set_viewport_size({"width": 360, "height": 800})
    for view in ("#/memories", f"#/memory/{kept}"):
        opened(tab, served, view)
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
    opened(tab, served, "#/memories")  # the page of a memory would ask for it again, and be told that it is gone
    visit.call("forget", ids=[kept], purge=True)


@pytest.mark.slow
def test_no_view_is_wider_than_the_window(tab: Page, served: ServedPage) -> None:
    for width in (360, 768, 2000):
        tab.set_viewport_size({"width": width, "height": 800})
        for view in VIEWS:
            opened(tab, served, view)
            assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), (view, width)


@pytest.mark.slow
@pytest.mark.skipif(not AXE.exists() and not REQUIRED, reason="axe-core is not there: scripts/axe fetches it")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_to_complain_about(browser: Browser, served: ServedPage, made: Made, scheme: Any) -> None:
    context = browser.new_context(color_scheme=scheme, bypass_csp=True)  # axe itself is not from our page
    tab = context.new_page()
    tab.goto(served.link())
    tab.wait_for_selector("li.row")
    problems: list[str] = []
    for view in (*VIEWS, "#/clock?at=200", "#/nights/tonight", f"#/memory/{made.ids['hostile']}"):
        opened(tab, served, view)
        tab.evaluate(AXE.read_text("utf-8"))
        # What a scheme changes is colours alone.
        only = "{}" if scheme == "light" else "{runOnly: ['color-contrast']}"
        found = tab.evaluate(f"axe.run(document, {only})")["violations"]
        problems += [f"{view}: {one['id']} {one['nodes'][0]['html'][:160]}" for one in found]
    context.close()
    assert problems == []
