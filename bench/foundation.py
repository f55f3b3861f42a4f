"""The foundation in figures: starting, remembering, recalling, memory, eight at once, importing, leaving.

    python bench/foundation.py                          every figure, in about ten minutes
    python bench/foundation.py --only handshake,eight
    python bench/foundation.py --write                  and into docs/benchmarks.md, with this machine named

Real servers over real stdio, on temporary stores filled by `reverie import`.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

from notes import notes, questions
from session import SERVE, Session, environment_for

from reverie.embeddings.tokens import count_tokens
from reverie.embeddings.tokens import warm as load_tokenizer

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
OPEN, CLOSE = "<!-- figures -->", "<!-- /figures -->"

STARTS = 9
SAMPLES = 200
SINGLE_REMEMBERS = 1_000
SERVERS = 8
TOOLS_OF_A_BARE_SERVER = 14

_BARE = f"""
from mcp.server import MCPServer

server = MCPServer("bare")
for number in range({TOOLS_OF_A_BARE_SERVER}):
    @server.tool(name=f"tool_{{number}}")
    async def tool(text: str, limit: int = 8, tags: list[str] = [], exact: bool = False) -> str:
        "When there is something to be done: do it."
        return text
server.run()
"""


@dataclass(frozen=True)
class Figure:
    """One measured value, how it reads, and what was aimed at."""

    name: str
    value: float
    shown: str
    most: float | None = None
    aim: str = ""

    @property
    def verdict(self) -> str:
        """Whether the aim was met."""
        return "" if self.most is None else "yes" if self.value <= self.most else "**no**"


def main() -> int:
    """Measure what was asked for and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help=f"sections, comma-separated: {', '.join(SECTIONS)}")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    given = parser.parse_args()
    chosen = [name for name in given.only.split(",") if name] or list(SECTIONS)
    if unknown := sorted(set(chosen) - SECTIONS.keys()):
        parser.error(f"no section is called {unknown[0]!r}; there are: {', '.join(SECTIONS)}")
    if given.write and given.only:
        parser.error("--write takes every section: a table of half the figures would hide the others")
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        for name in chosen:
            print(f"… {name}", file=sys.stderr, flush=True)
            figures += SECTIONS[name](bench)
    text = f"{machine()}\n\n{table(figures)}"
    print(text)
    if given.write:
        write(text)
    return 0


# -- stores ---------------------------------------------------------------------------------------------------


class Bench:
    """Temporary stores of a wanted size, imported once and copied for each use."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made = 0
        self.import_seconds: dict[int, float] = {}

    def store(self, size: int) -> Path:
        """Return a data folder of its own that holds so many memories."""
        self._made += 1
        home = self._folder / f"home-{self._made}"
        if size:
            shutil.copytree(self._template(size), home)
        else:
            home.mkdir()
        return home

    def _template(self, size: int) -> Path:
        home = self._folder / f"template-{size}"
        if not home.exists():
            lines = self._folder / f"{size}.jsonl"
            lines.write_text(
                "".join(json.dumps({"content": text, "project": "bench"}) + "\n" for text in notes(size))
            )
            before = perf_counter()
            subprocess.run(
                [sys.executable, "-m", "reverie", "import", str(lines)],
                env=environment_for(home),
                check=True,
                capture_output=True,
                cwd=self._folder,
            )
            self.import_seconds[size] = perf_counter() - before
        return home


# -- sections -------------------------------------------------------------------------------------------------


def handshake(bench: Bench) -> list[Figure]:
    """Ours and a bare server by turns, so that both meet the same weather."""
    home, ours, bare = bench.store(0), [], []
    for _ in range(STARTS):
        for times, program in ((ours, SERVE), (bare, (sys.executable, "-c", _BARE))):
            with Session(home, program) as session:
                session.shake_hands()
                times.append(session.age)
    mine, theirs = statistics.median(ours), statistics.median(bare)
    return [
        seconds("handshake", mine),
        seconds(f"handshake of a bare {TOOLS_OF_A_BARE_SERVER}-tool server", theirs),
        Figure("handshake, ours to bare", mine / theirs, f"{mine / theirs:.2f} ×", 1.25, "≤ 1.25 ×"),
    ]


def first(bench: Bench) -> list[Figure]:
    """From the start of the process to the first answers that need everything."""
    home, remembered, recalled = bench.store(300), [], []
    for text in notes(STARTS, seed=3):
        with Session(home) as session:
            session.shake_hands().call("remember", content=text)
            remembered.append(session.age)
        with Session(home) as session:
            session.shake_hands().until_ready()
            recalled.append(session.age)
    return [
        seconds("first remember after process start", statistics.median(remembered), 2.5),
        seconds("first full recall after process start", statistics.median(recalled), 2.5),
    ]


def remember(bench: Bench) -> list[Figure]:
    """A small and a large store; it must not grow with the store."""
    figures, medians = [], []
    for size in (300, 10_000):
        with Session(bench.store(size)) as session:
            session.shake_hands().until_ready()
            times = [session.timed("remember", content=text) for text in notes(SAMPLES, seed=size + 4)]
        medians.append(statistics.median(times))
        figures += spread(f"remember at {size:,}", times, 0.015)
    growth = medians[1] / medians[0]
    return [*figures, Figure("remember, 10,000 to 300", growth, f"{growth:.2f} ×", 1.25, "not growing: ≤ 1.25 ×")]


def recall(bench: Bench) -> list[Figure]:
    """Questions in plain words, with the defaults."""
    figures = []
    for size in (1_000, 10_000):
        with Session(bench.store(size)) as session:
            session.shake_hands().until_ready()
            times = [session.timed("recall", query=text) for text in questions(SAMPLES)]
            figures += spread(f"recall at {size:,}", times)
            if size == 10_000:
                figures.append(megabytes("one server on 10,000 memories, RSS", session.memory()[0], 300))
    return figures


def pieces(bench: Bench) -> list[Figure]:
    """A thousand single remembers leave a thousand pieces behind, unless upkeep merges them."""
    with Session(bench.store(1_000)) as session:
        session.shake_hands().until_ready()
        before = [session.timed("recall", query=text) for text in questions(SAMPLES)]
        for text in notes(SINGLE_REMEMBERS, seed=5):
            session.call("remember", content=text)
        after = [session.timed("recall", query=text) for text in questions(SAMPLES)]
        resident = session.memory()[0]
    ratio = statistics.median(after) / statistics.median(before)
    return [
        milliseconds("recall before 1,000 single remembers, p50", statistics.median(before)),
        milliseconds("recall right after them, p50", statistics.median(after)),
        Figure("recall, after to before", ratio, f"{ratio:.2f} ×", 1.5, "≤ 1.5 ×"),
        megabytes("one server after all that, RSS", resident, 300),
    ]


def eight(bench: Bench) -> list[Figure]:
    """Eight assistants at once on one store."""
    home = bench.store(300)
    sessions = [Session(home) for _ in range(SERVERS)]
    for session in sessions:
        session.shake_hands()
    for session in sessions:
        session.until_ready()
    times: list[list[float]] = [[] for _ in sessions]

    def work(place: int) -> None:
        for text in notes(SAMPLES // 4, seed=60 + place):
            times[place].append(sessions[place].timed("remember", content=text))

    threads = [threading.Thread(target=work, args=(place,)) for place in range(SERVERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    memory = [session.memory() for session in sessions]
    total = sessions[0].call("status")["counts"]
    for session in sessions:
        session.close()
    kept = sum(number for counts in total.values() for number in counts.values()) - 300
    told = SERVERS * (SAMPLES // 4)
    return [
        milliseconds("eight at once: remember p50, slowest server", max(map(statistics.median, times)), 150),
        milliseconds("eight at once: remember p95, all", percentile([t for part in times for t in part], 0.95)),
        Figure("eight at once: lost or doubled", abs(kept - told), f"{abs(kept - told)} of {told}", 0, "0"),
        megabytes("eight at once: memory, sum of PSS", sum(pss for _, pss in memory), 1_600),
        megabytes("eight at once: memory, sum of RSS", sum(rss for rss, _ in memory), 1_600),
    ]


def imports(bench: Bench) -> list[Figure]:
    """The whole `reverie import` command."""
    bench.store(10_000)
    took = bench.import_seconds[10_000]
    return [
        Figure("import of 10,000 memories", took, f"{took:.0f} s ({10_000 / took:.0f} a second)", 180, "< 3 minutes")
    ]


def leaving(bench: Bench) -> list[Figure]:
    """From the end of stdin to the end of the process, with an access still to be written."""
    home, times = bench.store(300), []
    for question in questions(STARTS):
        session = Session(home).shake_hands().until_ready()
        session.call("recall", query=question)
        times.append(session.close())
    return [seconds("exit after stdin ends, slowest", max(times), 1.0)]


def tokens(bench: Bench) -> list[Figure]:
    """What every client pays for the tool list in each session."""
    with Session(bench.store(0)) as session:
        listed = session.shake_hands().ask("tools/list")
    load_tokenizer()  # or it would be an upper bound
    count = count_tokens(json.dumps({"tools": listed["tools"]}, ensure_ascii=False))
    return [Figure(f"tools/list, {len(listed['tools'])} tools", count, f"{count:,} tokens", 3_499, "< 3,500 tokens")]


SECTIONS: dict[str, Callable[[Bench], list[Figure]]] = {
    "handshake": handshake,
    "first": first,
    "remember": remember,
    "recall": recall,
    "pieces": pieces,
    "eight": eight,
    "import": imports,
    "exit": leaving,
    "tokens": tokens,
}


# -- telling --------------------------------------------------------------------------------------------------


def seconds(name: str, value: float, most: float | None = None) -> Figure:
    """Show a time in seconds."""
    return Figure(name, value, f"{value:.2f} s", most, "" if most is None else f"≤ {most:g} s")


def milliseconds(name: str, value: float, most: float | None = None) -> Figure:
    """Show a time, given in seconds, in milliseconds."""
    return Figure(name, value * 1e3, f"{value * 1e3:.1f} ms", most, "" if most is None else f"< {most:g} ms")


def megabytes(name: str, value: float, most: float) -> Figure:
    """Show an amount of memory."""
    return Figure(name, value, f"{value:,.0f} MB", most, f"< {most:,g} MB")


def spread(name: str, times: Sequence[float], most: float | None = None) -> list[Figure]:
    """Show the median and the ninety-fifth percentile; the aim is the median's."""
    limit = None if most is None else most * 1e3
    return [
        milliseconds(f"{name}, p50", statistics.median(times), limit),
        milliseconds(f"{name}, p95", percentile(times, 0.95)),
    ]


def percentile(times: Sequence[float], share: float) -> float:
    """Return the value that this share of the times does not pass."""
    return sorted(times)[min(len(times) - 1, round(share * len(times)))]


def table(figures: Sequence[Figure]) -> str:
    """Lay the figures out as Markdown."""
    rows = [f"| {f.name} | {f.shown} | {f.aim} | {f.verdict} |" for f in figures]
    return "\n".join(["| figure | measured | aim | holds |", "|---|---|---|---|", *rows])


def machine() -> str:
    """Name what the figures were taken on."""
    cpu = Path("/proc/cpuinfo").read_text("utf-8")
    model = next((line.partition(":")[2].strip() for line in cpu.splitlines() if line.startswith("model name")), "?")
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"Taken by `python bench/foundation.py` on {datetime.now(UTC):%-d %B %Y}: {os.cpu_count()} cores of {model}, "
        f"{gigabytes:.0f} GB, {platform.system()}, Python {platform.python_version()}."
    )


def write(text: str) -> None:
    """Write the figures between their markers in docs/benchmarks.md."""
    before, opening, rest = PAGE.read_text("utf-8").partition(OPEN)
    _, closing, after = rest.partition(CLOSE)
    if not opening or not closing:
        raise SystemExit(f"{PAGE.name} has no {OPEN} … {CLOSE} to write between.")
    PAGE.write_text(f"{before}{OPEN}\n{text}\n{CLOSE}{after}", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
