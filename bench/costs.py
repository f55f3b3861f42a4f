"""What a call costs in processor time: of the engine in all, of its loop's thread, of what a client starts.

    python bench/costs.py                               remember at 300 and 10,000, recall at 10,000, eight sessions
    python bench/costs.py --only remember --calls 80
    python bench/costs.py --stores FOLDER               keep the imported stores there, for the next run

Waiting times mean little on a busy machine; the time that the system gave to a thread means more, though caches that
others use make everything dearer. Figures of two versions belong together if they were taken by turns.
"""

import argparse
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from figures import machine, markdown_table
from foundation import Bench, percentile
from notes import notes, questions
from session import Session, engine_of, stop_engines

SMALL, LARGE = 300, 10_000
SESSIONS = 8
_WARM = 10
"""Calls before the clock starts: the first ones meet empty caches."""
_SECONDS_TO_SETTLE = 4.0
"""In which a new engine loads its tokenizer, which it does once."""

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Spent:
    """Seconds that processes were given so far."""

    engine: float
    loop: float
    relays: float


def spent(engine: int, relays: list[int]) -> Spent:
    """Read the system's accounts."""
    return Spent(_of_process(engine), _of_main_thread(engine), sum(map(_of_main_thread, relays)))


def _of_process(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(") ")[2].split()[11:13]
    return (int(user) + int(system)) / _TICKS


def _of_main_thread(pid: int) -> float:
    """Return what the thread had that a process began with: in an engine the one of the loop."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text("ascii").split()[0]) / 1e9


def _row(name: str, calls: int, before: Spent, after: Spent, times: list[float]) -> list[str]:
    each = [1e3 * (getattr(after, one) - getattr(before, one)) / calls for one in ("engine", "loop", "relays")]
    waited = (1e3 * statistics.median(times), 1e3 * percentile(times, 0.95))
    return [name, *(f"{one:.1f}" for one in (*each, *waited))]


def one_session(bench: Bench, size: int, tool: str, calls: int) -> list[str]:
    """One session that calls as fast as it is answered."""
    home = bench.store(size)
    texts = questions(calls + _WARM) if tool == "recall" else notes(calls + _WARM, seed=size + 4)
    argument = "query" if tool == "recall" else "content"
    with Session(home) as session:
        session.shake_hands().until_ready()
        for text in texts[:_WARM]:
            session.call(tool, **{argument: text})
        time.sleep(_SECONDS_TO_SETTLE)
        pid = engine_of(home)["pid"]
        before = spent(pid, [session.process.pid])
        times = [session.timed(tool, **{argument: text}) for text in texts[_WARM:]]
        after = spent(pid, [session.process.pid])
    return _row(f"{tool} at {size:,}", calls, before, after, times)


def eight_sessions(bench: Bench, calls: int) -> list[str]:
    """Eight sessions that remember at once; the waiting times are all of them together."""
    home = bench.store(SMALL)
    sessions = [Session(home) for _ in range(SESSIONS)]
    for session in sessions:
        session.shake_hands()
    for session in sessions:
        session.until_ready()
    time.sleep(_SECONDS_TO_SETTLE)
    times: list[list[float]] = [[] for _ in sessions]

    def work(number: int) -> None:
        for text in notes(calls, seed=60 + number):
            times[number].append(sessions[number].timed("remember", content=text))

    pid, relays = engine_of(home)["pid"], [session.process.pid for session in sessions]
    threads = [threading.Thread(target=work, args=(number,)) for number in range(SESSIONS)]
    before = spent(pid, relays)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    after = spent(pid, relays)
    for session in sessions:
        session.close()
    return _row("remember, eight at once", SESSIONS * calls, before, after, [one for part in times for one in part])


def main() -> int:
    """Measure what was asked for and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="sections, comma-separated: remember, recall, eight")
    parser.add_argument("--calls", type=int, default=200, help="how many calls a row is the mean of")
    parser.add_argument("--stores", type=Path, help="a folder in which imported stores are kept")
    given = parser.parse_args()
    sections: dict[str, Callable[[Bench], list[list[str]]]] = {
        "remember": lambda bench: [one_session(bench, size, "remember", given.calls) for size in (SMALL, LARGE)],
        "recall": lambda bench: [one_session(bench, LARGE, "recall", given.calls)],
        "eight": lambda bench: [eight_sessions(bench, given.calls // 4)],
    }
    rows = [["call", "engine, ms", "of it on the loop", "relay", "waited, p50", "p95"]]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), given.stores)
        for name in given.only.split(",") if given.only else sections:
            try:
                for row in sections[name](bench):
                    rows.append(row)
                    print("  ".join(row), file=sys.stderr, flush=True)
            finally:
                stop_engines()
    print(f"{machine()}\n\n{markdown_table(rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
