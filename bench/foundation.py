"""The foundation in figures: starting, remembering, recalling, memory, eight at once, importing, leaving.

    python bench/foundation.py                          every figure, in about fifteen minutes
    python bench/foundation.py --only handshake,eight
    python bench/foundation.py --write                  and into docs/benchmarks.md, with this machine named

Real sessions over real stdio and the engine behind them, on temporary stores filled by `reverie import`.
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
from session import SERVE, Session, engine_of, environment_for, megabytes_of, stop_engine, stop_engines

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
            try:
                measured = SECTIONS[name](bench)
            finally:
                stop_engines()
            figures += measured
            for one in measured:  # the whole takes a quarter of an hour, and may be cut short
                print(f"  {one.name}: {one.shown}  {one.aim} {one.verdict}", file=sys.stderr, flush=True)
    text = f"{machine()}\n\n{table(figures)}"
    print(text)
    if given.write:
        write(text)
    return 0


# -- stores ---------------------------------------------------------------------------------------------------


class Bench:
    """Temporary stores of a wanted size, imported once and copied for each use."""

    def __init__(self, folder: Path, templates: Path | None = None) -> None:
        """Take a folder for stores, and one for what was imported, which may stay for the next run."""
        self._folder = folder
        self._templates = templates or folder
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
        home = self._templates / f"template-{size}"
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
    """With an engine, without one yet, alone, and a bare server, by turns, so that all meet the same weather."""
    home = bench.store(0)
    times: dict[str, list[float]] = {"none yet": [], "running": [], "off": [], "bare": []}
    for _ in range(STARTS):
        stop_engine(home)
        for name, taken in times.items():  # the first starts the engine that the second finds
            program = (sys.executable, "-c", _BARE) if name == "bare" else SERVE
            with Session(home, program, engine="off" if name == "off" else "auto") as session:
                session.shake_hands()
                taken.append(session.age)
    running, cold, alone, bare = (statistics.median(times[name]) for name in ("running", "none yet", "off", "bare"))
    return [
        seconds("handshake, engine running", running),
        seconds(f"handshake of a bare {TOOLS_OF_A_BARE_SERVER}-tool server", bare),
        ratio("handshake, engine running, to bare", running / bare, 0.2),
        seconds("handshake, no engine yet", cold),
        seconds("handshake, REVERIE_ENGINE=off", alone),
        ratio("handshake, no engine yet, to off", cold / alone, 1.1),
    ]


def first(bench: Bench) -> list[Figure]:
    """From the start of the process to the first answers that need everything."""
    home = bench.store(300)
    times: dict[tuple[str, str], list[float]] = {}
    for text in notes(STARTS, seed=3):
        for how, engine in (("no engine yet", "auto"), ("engine running", "auto"), ("off", "off")):
            for tool in ("remember", "recall"):
                if how == "no engine yet":
                    stop_engine(home)
                with Session(home, engine=engine) as session:
                    session.shake_hands()
                    if tool == "remember":
                        session.call("remember", content=f"{text} ({how})")
                    else:
                        session.until_ready()
                    times.setdefault((how, tool), []).append(session.age)
    medians = {key: statistics.median(taken) for key, taken in times.items()}
    figures = []
    for tool, words in (("remember", "first remember"), ("recall", "first full recall")):
        running, cold, alone = (medians[how, tool] for how in ("engine running", "no engine yet", "off"))
        figures += [
            seconds(f"{words} after process start, engine running", running, 0.3),
            seconds(f"{words} after process start, no engine yet", cold, 2.5),
            ratio(f"{words}, no engine yet, to REVERIE_ENGINE=off", cold / alone, 1.1),
        ]
    return figures


def command(bench: Bench) -> list[Figure]:
    """`reverie recall` as a command, from start to end."""
    home, times, alone = bench.store(300), [], []
    with Session(home) as session:
        session.shake_hands().until_ready()
        for question in questions(STARTS):
            for engine, taken in (("auto", times), ("off", alone)):
                before = perf_counter()
                subprocess.run(
                    [sys.executable, "-m", "reverie", "recall", question],
                    env=environment_for(home, engine),
                    check=True,
                    capture_output=True,
                )
                taken.append(perf_counter() - before)
    return [
        seconds("`reverie recall` as a command, engine running", statistics.median(times), 0.3),
        seconds("`reverie recall` as a command, without", statistics.median(alone)),
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
    return [*figures, ratio("remember, 10,000 to 300", growth, 1.25)]


def recall(bench: Bench) -> list[Figure]:
    """Questions in plain words, with the defaults."""
    figures = []
    for size in (1_000, 10_000):
        with Session(bench.store(size)) as session:
            session.shake_hands().until_ready()
            times = [session.timed("recall", query=text) for text in questions(SAMPLES)]
            figures += spread(f"recall at {size:,}", times, 0.025 if size == 10_000 else None)
            if size == 10_000:
                figures.append(megabytes("engine on 10,000 memories, RSS", _engine_memory(session.home)[0], 400))
    return figures


def pieces(bench: Bench) -> list[Figure]:
    """A thousand single remembers leave a thousand pieces behind, unless upkeep merges them."""
    with Session(bench.store(1_000)) as session:
        session.shake_hands().until_ready()
        before = [session.timed("recall", query=text) for text in questions(SAMPLES)]
        for text in notes(SINGLE_REMEMBERS, seed=5):
            session.call("remember", content=text)
        after = [session.timed("recall", query=text) for text in questions(SAMPLES)]
        resident = _engine_memory(session.home)[0]
    growth = statistics.median(after) / statistics.median(before)
    return [
        milliseconds("recall before 1,000 single remembers, p50", statistics.median(before)),
        milliseconds("recall right after them, p50", statistics.median(after)),
        ratio("recall, after to before", growth, 1.5),
        megabytes("engine after all that, RSS", resident, 400),
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
    memory = [*(session.memory() for session in sessions), _engine_memory(home)]
    relay = statistics.median(rss for rss, _ in memory[:-1])
    total = sessions[0].call("status")["counts"]
    for session in sessions:
        session.close()
    kept = sum(number for counts in total.values() for number in counts.values()) - 300
    told = SERVERS * (SAMPLES // 4)
    return [
        milliseconds("eight at once: remember p50, slowest session", max(map(statistics.median, times)), 100),
        milliseconds("eight at once: remember p95, all", percentile([t for part in times for t in part], 0.95)),
        Figure("eight at once: lost or doubled", abs(kept - told), f"{abs(kept - told)} of {told}", 0, "0"),
        megabytes("eight at once: engine and relays, sum of PSS", sum(pss for _, pss in memory), 550),
        megabytes("eight at once: one relay, RSS", relay, 20),
        megabytes("eight at once: engine, RSS", memory[-1][0], 550),
    ]


def _engine_memory(home: Path) -> tuple[float, float]:
    return megabytes_of(engine_of(home)["pid"])


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
    "command": command,
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


def ratio(name: str, value: float, most: float) -> Figure:
    """Show how many times one value is another."""
    return Figure(name, value, f"{value:.2f} ×", most, f"≤ {most:g} ×")


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
