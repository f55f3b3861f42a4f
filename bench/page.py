"""How long each view of the page waits for its answers, on a store of 100,000 memories over two years.

    python bench/page.py                       builds the store in a temporary folder: some minutes
    python bench/page.py --home DIR            builds it there once, and uses it the next time
    python bench/page.py --size 20000 --write  writes the table to docs/benchmarks.md

Each call goes through the page's own HTTP server, with its cookie and its key. "first" is the first call of a fresh
engine whose index is loaded, "again" the median of the next five, "after a change" that of a call right after a pin,
when what was kept of the tables no longer holds; "CPU of one" is what the process computes for a call, however busy
the machine is. Then each view is opened in a real Chromium, and the time from the click to the drawn view is taken.
The store is that of bench/sizes.py, with ages, sources and recalls drawn from a seed.
"""

import argparse
import asyncio
import json
import os
import random
import re
import statistics
import sys
import tempfile
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from time import perf_counter, process_time
from typing import Any
from urllib.request import Request, urlopen

from figures import machine, markdown_table, write_between
from sizes import AT_ONCE, EMBEDDER, TURNS, _drawn

from reverie.ids import content_hash
from reverie.lifecycle.rules import after_moves, due_expiry
from reverie.lifecycle.vitals import trust_of
from reverie.memory import LAYERS, Memory, Source, Status
from reverie.server.engine import Engine, LazySession
from reverie.server.page_access import KEY_HEADER
from reverie.server.page_server import PREFIX, PageServer
from reverie.settings import Settings
from reverie.storage.rows import Embedded
from reverie.tools.session import Session

DAYS = 730
PROJECT = "bench"
_SOURCES: tuple[Source, ...] = ("ai", "ai", "ai", "human", "interaction", "ingest")
_STATUSES: tuple[Status, ...] = ("active",) * 17 + ("challenged", "expired", "superseded")


def drawn_memory(
    number: int, text: str, *, now: datetime, new_id: str, project: str = PROJECT, dice: random.Random
) -> Memory:
    """Draw a memory of some age, from some source, recalled now and then."""
    written = now - timedelta(days=dice.uniform(0, DAYS))
    source = dice.choice(_SOURCES)
    recalls = sorted(
        written + (now - written) * dice.random() for _ in range(dice.choice((0, 0, 0, 0, 1, 1, 2, 5, 12)))
    )
    status: Status = dice.choice(_STATUSES)
    memory = Memory(
        id=new_id,
        content=text,
        content_hash=content_hash(text),
        title=text[:60],
        kind="fact",
        layer=LAYERS[number % len(LAYERS)],
        project=project if number % 10 else "elsewhere",
        session=f"session-{number // TURNS}",
        source=source,
        trust=trust_of(source),
        importance=round(dice.uniform(0.05, 0.95), 2),
        surprise=dice.choice((None, round(dice.random(), 2))),
        stability=round(dice.uniform(0.1, 1.0), 2),
        access_count=len(recalls),
        access_times=tuple(recalls),
        last_accessed_at=recalls[-1] if recalls else None,
        sessions=tuple(f"s{turn}" for turn in range(min(len(recalls), 4))),
        tier=dice.choice((None, None, None, None, "elephant", "standard")),
        pinned=dice.random() < 0.01,
        status=status,
        expired_at=now if status == "expired" else None,
        created_at=written,
        happened_at=written,
        updated_at=written,
        embedder=EMBEDDER.stamp,
    )
    return _swept(memory, now)


def _swept(memory: Memory, now: datetime) -> Memory:
    """Return a memory as the sweeps of two years would have left it."""
    due = due_expiry(memory, now, "huber")
    if due is not None:
        return replace(memory, status="expired", expired_at=now, status_reason=due.rule)
    return after_moves(memory, now)


async def build(home: Path, size: int) -> None:
    """Write the store in batches and compact it."""
    texts, vectors, pieces = _drawn(size)
    session = await Session.open(
        Settings(home=str(home), project=PROJECT, search_memory=0.0), embedder=EMBEDDER, folder=home.parent
    )
    now, dice = session.now, random.Random(7)  # noqa: S311 - drawn, not guarded
    for start in range(0, size, AT_ONCE):
        items = [
            Embedded(
                drawn_memory(number, text, now=now, new_id=session.store.new_id.memory(), dice=dice),
                vectors[number],
                pieces=pieces[number],
            )
            for number, text in enumerate(texts[start : start + AT_ONCE], start)
        ]
        await session.store.add(items, actor="bench", at=now)
        print(f"{start + len(items):,} written", file=sys.stderr, flush=True)
    await session.maintenance.compact()
    await session.close()


CALLS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("Memories", "browse", {}),
    ("Memories, page 1,000", "browse", {"offset": 40_000}),
    ("Memories, most important first", "browse", {"sort": "important"}),
    ("search", "search", {"query": "who owns the invoice exporter", "why_not": False}),
    ("search: what was passed over", "search", {"query": "who owns the invoice exporter", "shown": ["none"]}),
    ("a memory", "inspect", {}),
    ("a memory's curve", "curve", {}),
    ("a memory's evidence", "evidence", {}),
    ("Clock, 100 days back", "browse", {"as_of": "100d", "limit": 100}),
    ("Clock, 90 days ahead", "forecast", {"days": 90}),
    ("Clock, a year ahead, all projects", "forecast", {"days": 365, "all_projects": True}),
    ("Nights", "dreams", {}),
    ("Questions", "review", {"limit": 50}),
    ("Questions: quarantine", "quarantine", {}),
    ("Session", "brief", {}),
    ("Health: counts", "overview", {}),
    ("Health: status", "status", {}),
    ("Health: recall times, hooks, sizes", "health", {}),
    ("the projects to choose from", "projects", {}),
)
AGAIN = 5

# What a person does, where they do it, and what is there when it is done.
CLICKS: tuple[tuple[str, str, str], ...] = (
    ("Memories", "#/memories", "li.row"),
    ("Memories, page 1,000", "#/memories?page=1000", "li.row"),
    ("a search: the answers", "#/memories?q=who%20owns%20the%20invoice%20exporter", ".found > ul.rows > li.row"),
    ("a search: what was passed over", "#/memories?q=who%20owns%20the%20audit%20log", "section.passed"),
    ("a memory", "#/memory/{id}", "figure.chart svg"),
    ("Clock, today", "#/clock", "ul.rows li"),
    ("Clock, 100 days back", "#/clock?at=-100", "ul.rows li"),
    ("Clock, 90 days ahead", "#/clock?at=90", "ul.rows li"),
    ("Nights", "#/nights", ".view.nights p.empty, ol.nights"),
    ("Questions", "#/questions", ".view.questions h1"),
    ("Session", "#/session", "pre.brief"),
    ("Health", "#/health", "#audit .check-state"),
)


_DRAWN = "() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))"


def waited(link: str, memory_id: str) -> list[list[str]]:
    """Open every view in Chromium; return the time from the click to the view that is drawn."""
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from tests.browser import launched, why_not

    rows = [["what a person does", "waits, first", "waits, again (median)"]]
    if why_not():
        return [*rows, [f"not measured: {why_not()}", "", ""]]
    with launched() as browser:
        tab = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
        tab.set_default_timeout(300_000)
        tab.goto(link)
        tab.wait_for_selector("li.row")
        for name, view, done in CLICKS:
            times = []
            for _ in range(1 + AGAIN):
                tab.evaluate("location.hash = '#/nights/none'")  # somewhere else, so that the address changes
                tab.wait_for_selector(".failed")
                tab.evaluate("document.getElementById('main').replaceChildren()")
                before = perf_counter()
                tab.evaluate("(to) => { location.hash = to; }", view.format(id=memory_id))
                tab.wait_for_selector(done)
                if done.startswith(("li.row", ".view")):
                    tab.wait_for_selector("main:not([aria-busy])")
                tab.evaluate(
                    "() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))"
                )
                times.append(1_000 * (perf_counter() - before))
            again = f"{statistics.median(times[1:]):,.0f} ms" if times[1:] else ""
            rows.append([name, f"{times[0]:,.0f} ms", again])
            print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    return rows


async def measured(home: Path) -> tuple[list[list[str]], list[list[str]]]:
    """Call what each view calls, through the page's server, and open each view; return two tables."""
    settings = Settings(home=str(home), project=PROJECT, dream="off")
    engine, page = Engine(lambda: settings), PageServer()
    await page.start()
    try:
        browser = await asyncio.to_thread(Browser, page.link_for(LazySession(engine, home.parent, {})))
        [newest] = (await browser.call("browse", {"limit": 1}))["memories"]
        await browser.call("search", {"query": "anything", "why_not": False})  # loads the model and the indexes
        rows = [["view", "call", "first", "again", "CPU of one", "after a change"]]
        for number, (view, name, given) in enumerate(CALLS):
            asked = given | ({"ids": [newest["id"]]} if name == "inspect" else {})
            asked |= {"id": newest["id"]} if name in ("curve", "evidence") else {}
            first = await browser.timed(name, asked)
            busy = process_time()
            again = [await browser.timed(name, asked) for _ in range(AGAIN)]
            busy = 1_000 * (process_time() - busy) / AGAIN
            await browser.call("pin", {"id": newest["id"], "pinned": number % 2 == 0})
            after = await browser.timed(name, asked)
            figures = (first, statistics.median(again), busy, after)
            rows.append([view, f"`{name}`", *(f"{one:,.0f} ms" for one in figures)])
            print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
        link = page.link_for(LazySession(engine, home.parent, {}))
        return rows, await asyncio.to_thread(waited, link, newest["id"])
    finally:
        await page.stop()
        await engine._close_domain()


class Browser:
    """Follows a link, and calls the API as the page does."""

    def __init__(self, link: str) -> None:
        opened = urlopen(link)  # noqa: S310 - our own page
        self._origin = link.partition("/open/")[0]
        self._headers = {
            "Content-Type": "application/json",
            "Cookie": opened.headers["set-cookie"].partition(";")[0],
            KEY_HEADER: re.findall(r"#key=([\w-]+)", opened.read().decode())[0],
        }

    async def call(self, name: str, given: dict[str, Any]) -> Any:
        """Return the answer of a call."""
        request = Request(f"{self._origin}{PREFIX}/{name}", json.dumps(given).encode(), self._headers)  # noqa: S310
        return json.loads(await asyncio.to_thread(lambda: urlopen(request).read()))  # noqa: S310

    async def timed(self, name: str, given: dict[str, Any]) -> float:
        """Return the milliseconds of a call."""
        before = perf_counter()
        await self.call(name, given)
        return 1_000 * (perf_counter() - before)


def main() -> int:
    """Build the store unless it is there, time every call, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=100_000, help="how many memories")
    parser.add_argument("--home", type=Path, help="where the store is kept for the next time")
    parser.add_argument("--write", action="store_true", help="write the table to docs/benchmarks.md")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = given.home or Path(folder) / "home"
        if not home.exists():
            asyncio.run(build(home, given.size))
        rows, clicks = asyncio.run(measured(home))
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    text = f"{given.size:,} memories; {machine()}; load {load}.\n\n{markdown_table(rows)}\n\n"
    text += f"In Chromium, from the click to the view that is drawn:\n\n{markdown_table(clicks)}"
    print(text)
    if given.write:
        write_between("page", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
