"""How many people one server serves: requests per second, waiting times and memory, over real HTTP with tokens.

    python -m bench.team [--people 1,8,32] [--seconds 20] [--memories 1000]
    python -m bench.team --write        and into docs/team.md

Each person has a token of their own and asks again as soon as they have an answer, four recalls to one remember, so
the figures are those of a server that has no rest. The people share the machine with the server. REVERIE_HTTP_RATE is
raised for it: by default a person may send twenty requests a second.
"""

import argparse
import http.client
import itertools
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.figures import machine, markdown_table, write_between
from bench.notes import notes, questions
from bench.session import megabytes_of
from tests.server.http_process import HttpProcess, serving

PAGE = Path(__file__).parent.parent / "docs" / "team.md"
PEOPLE = (1, 8, 32)
RECALLS_PER_REMEMBER = 4
QUESTIONS = 500
SEEDERS = 8

MANY = 100
CALLS_PER_MINUTE = 6
"""What the plan for a hundred assumes of a person at work: a recall and a brief or two with each task, some notes."""

HEADING = (
    *("people at once", "requests a second", "recall p50", "recall p95", "remember p50", "remember p95"),
    *("memory (PSS)", "errors"),
)


@dataclass
class Answers:
    """What people got: seconds by tool, and how many answers were none."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {"recall": [], "remember": []})
    errors: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many calls were answered as they should."""
        return sum(map(len, self.seconds.values()))


@dataclass(frozen=True)
class Measured:
    """What so many people got of one server."""

    people: int
    answers: Answers
    seconds: float
    megabytes: float

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.answers.count / self.seconds

    @property
    def row(self) -> list[str]:
        """The figures as a row of the table."""
        times = [f"{1000 * quantile(self.answers.seconds[tool], q):.0f} ms" for tool, q in _SHOWN]
        return [
            str(self.people),
            f"{self.rate:.0f}",
            *times,
            f"{self.megabytes:.0f} MB",
            str(len(self.answers.errors)),
        ]


_SHOWN = (("recall", 0.5), ("recall", 0.95), ("remember", 0.5), ("remember", 0.95))


def quantile(values: Sequence[float], share: float) -> float:
    """Return what so large a share of the values is at most; nothing if there is none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


class Team:
    """People with tokens who call one server."""

    def __init__(self, server: HttpProcess) -> None:
        self._server = server
        self._tokens: list[str] = []
        self._questions = questions(QUESTIONS)

    def seed(self, texts: Sequence[str]) -> None:
        """Have the store filled."""
        left = iter(texts)
        lock = threading.Lock()

        def work(connection: http.client.HTTPConnection, number: int) -> None:
            while True:
                with lock:
                    text = next(left, None)
                if text is None:
                    return
                self._call(connection, number, "remember", {"content": text}, Answers())

        self._each(SEEDERS, work)

    def drive(self, people: int, seconds: float, texts: Sequence[str]) -> Measured:
        """Have people call for some time and return what they got."""
        all_answers = [Answers() for _ in range(people)]
        end = time.monotonic() + seconds
        share = len(texts) // people

        def work(connection: http.client.HTTPConnection, number: int) -> None:
            own = iter(texts[number * share : (number + 1) * share])
            for turn in itertools.count(number):
                if time.monotonic() >= end:
                    return
                if turn % (RECALLS_PER_REMEMBER + 1) == 0:
                    arguments, tool = {"content": next(own)}, "remember"
                else:
                    arguments, tool = {"query": self._questions[(turn * 31 + number) % QUESTIONS]}, "recall"
                self._call(connection, number, tool, arguments, all_answers[number])

        began = time.monotonic()
        self._each(people, work)
        took = time.monotonic() - began
        _, megabytes = megabytes_of(self._server.process.pid)
        gathered = Answers(errors=[error for one in all_answers for error in one.errors])
        for tool, values in gathered.seconds.items():
            values += itertools.chain.from_iterable(one.seconds[tool] for one in all_answers)
        return Measured(people, gathered, took, megabytes)

    def _each(self, people: int, work: Callable[[http.client.HTTPConnection, int], None]) -> None:
        while len(self._tokens) < people:
            self._tokens.append(self._server.new_token(f"person-{len(self._tokens)}", "write"))
        connections = [self._server.connect() for _ in range(people)]
        threads = [
            threading.Thread(target=work, args=(connection, number)) for number, connection in enumerate(connections)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for connection in connections:
            connection.close()

    def _call(
        self,
        connection: http.client.HTTPConnection,
        number: int,
        tool: str,
        arguments: dict[str, str],
        answers: Answers,
    ) -> None:
        began = time.perf_counter()
        try:
            answer = self._server.call(tool, arguments, token=self._tokens[number], connection=connection)
            refused = answer.status != 200 or answer.result.get("isError")
        except (OSError, http.client.HTTPException) as error:
            connection.close()  # the next request connects again
            answers.errors.append(type(error).__name__)
            return
        if refused:
            answers.errors.append(f"{answer.status}: {answer.body[:200]!r}")
        else:
            answers.seconds[tool].append(time.perf_counter() - began)


def on_paper(found: Sequence[Measured], many: int = MANY) -> str:
    """Derive what a larger team needs, with the arithmetic shown."""
    first, last = found[0], found[-1]
    wanted = many * CALLS_PER_MINUTE / 60
    busy = wanted / last.rate
    alone = quantile(first.answers.seconds["recall"], 0.5)
    each = max(last.megabytes - first.megabytes, 0.0) / max(last.people - first.people, 1)
    lines = [
        f"**On paper for {many} people** who are all at work, each with {CALLS_PER_MINUTE} calls a minute (assumed, "
        f"four recalls to one remember): {many} × {CALLS_PER_MINUTE} / 60 = {wanted:.0f} requests a second."
    ]
    if busy < 1:
        wait = alone / (1 - busy)
        lines.append(
            f"The server above answered {last.rate:.0f} a second with {last.people} people who never pause, so it is "
            f"busy for {wanted:.0f} / {last.rate:.0f} = {busy:.0%} of the time. A recall that takes "
            f"{1000 * alone:.0f} ms alone then takes about {1000 * alone:.0f} / (1 − {busy:.2f}) = "
            f"{1000 * wait:.0f} ms (one queue, arrivals at random)."
        )
    else:
        lines.append(
            f"The server above answered {last.rate:.0f} a second: that is {busy:.1f} servers of this size. Put the "
            "home in a bucket and start so many hosts and one more."
        )
    lines.append(
        f"Memory: {last.megabytes:.0f} MB + {many - last.people} × {each:.1f} MB for each person more = "
        f"{last.megabytes + (many - last.people) * each:.0f} MB, and what the memories take beyond those measured "
        "(see [benchmarks](benchmarks.md))."
    )
    return " ".join(lines)


def main() -> int:
    """Measure each size of team, print a table, and write it if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--people", default=",".join(map(str, PEOPLE)), help="how many at once, separated by commas")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long each team calls")
    parser.add_argument("--memories", type=int, default=1_000, help="how many the store has before")
    parser.add_argument("--write", action="store_true", help="write docs/team.md")
    given = parser.parse_args()
    sizes = [int(size) for size in given.people.split(",")]
    texts = notes(given.memories + int(given.seconds * 200) * len(sizes), seed=7)
    later, share = texts[given.memories :], int(given.seconds * 200)
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name, serving(Path(name), REVERIE_HTTP_RATE="1000000") as server:
        server.until_ready()
        team = Team(server)
        team.seed(texts[: given.memories])
        team.drive(1, min(3.0, given.seconds), notes(1_000, seed=8))  # the model and the caches are warm then
        found = []
        for number, people in enumerate(sizes):
            measured = team.drive(people, given.seconds, later[number * share : (number + 1) * share])
            print(" | ".join(measured.row), file=sys.stderr)
            for error in set(measured.answers.errors):
                print(error, file=sys.stderr)
            found.append(measured)
    where = (
        f"{machine()}; {given.memories:,} memories before, {given.seconds:.0f} s each, the people on the same "
        f"machine; load average {load:.1f} before it began"
    )
    text = f"{where}\n\n{markdown_table([HEADING, *(one.row for one in found)])}\n\n{on_paper(found)}"
    print(text)
    if given.write:
        write_between("team", text, PAGE)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
