"""Recall and remember on a store of a million memories, which is built in bulk, beside a bare LanceDB hybrid query.

    python bench/million.py --size 100000             some minutes
    python bench/million.py --size 1000000 --write    half an hour and 15 GB of disk; into docs/benchmarks.md
    python bench/million.py --folder F --keep         builds in a folder and leaves it there; a second run uses it

The rows are written straight into the tables, a fifth of them into each layer, without events: an audit would find
them missing. Texts are notes from templates with words of a long-tailed vocabulary. Only the first two thousand are
embedded; the others borrow the vector of one of them, moved a little, so that each has neighbours.

Every step has a process of its own. Wall time is printed beside processor time, for machines that do other work.
"""

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, process_time
from typing import TypeVar

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in the server

import numpy as np
import pyarrow as pa
from figures import PAGE, machine, markdown_table, resident_megabytes, say, write_between
from notes import notes, questions

from recall import NothingRecorded
from reverie.embeddings.bundled import DIMENSIONS, BundledEmbedder
from reverie.ids import content_hash
from reverie.memory import LAYERS, Memory
from reverie.settings import Settings
from reverie.storage.lance_table import TEXT_INDEX
from reverie.storage.lancedb_import import connect
from reverie.storage.rows import Embedded, to_table
from reverie.tools import recall, remember
from reverie.tools.requests import RecallRequest, RememberRequest
from reverie.tools.session import Session

EMBEDDED = 2_000
MOVED = 0.5  # the length of what is added to a borrowed vector
AT_ONCE = 20_000
TURNS = 20  # memories in a session
PROJECTS = 8
OWN_PROJECT = "project-0"
RARE_WORDS, RARE_PER_NOTE, TAIL = 40_000, 4, 1.2  # the vocabulary beside the templates', and the exponent of its law
SAMPLES, WARM_UP = 60, 5
REMEMBERED = 40
ASK_FOR = 10
FEWEST_TO_INDEX = 20_000  # rows from which the bare table has a vector index
DONE = "complete"
EMBEDDER = BundledEmbedder()
HEADING = (
    *(
        "memories",
        "built in",
        "first answer",
        "of it opening",
        "recall p50",
        "recall p95",
        "bare hybrid p50",
        "ratio",
    ),
    *("recall of all projects p50", "remember p50", "recall after a remember p50", "RSS", "on disk"),
)

Each = TypeVar("Each")
Times = list[tuple[float, float]]
"""Milliseconds of wall and processor time of each call."""


@dataclass(frozen=True)
class Measured:
    """What a store takes: times in milliseconds, wall and processor, and megabytes."""

    first: tuple[float, float]
    opening: tuple[float, float]
    recall: Times
    everywhere: Times
    remember: Times
    after: Times
    resident: float
    on_disk: float


def main() -> int:
    """Build and measure, print a table, and write it if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=1_000_000, help="how many memories")
    parser.add_argument("--folder", type=Path, help="where to build; by default a temporary folder")
    parser.add_argument("--keep", action="store_true", help="leave the stores there")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    parser.add_argument("--search-memory", type=float, help="megabytes, as REVERIE_SEARCH_MEMORY; by default its own")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)  # one of them, in a process of its own
    given = parser.parse_args()
    if given.step:
        folder = Path(given.folder)
        print(json.dumps(asyncio.run(STEPS[given.step](folder, given.size, given.search_memory))))
        return 0
    folder = given.folder or Path(tempfile.mkdtemp(prefix="million-"))
    try:
        text = _whole_run(folder, given)
    finally:
        if not given.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print(text)
    if given.write:
        write_between("million", text)
        say(f"written into {PAGE.name}")
    return 0


def _whole_run(folder: Path, given: argparse.Namespace) -> str:
    built = _apart("build", folder, given)
    _apart("index", folder, given)
    bare_built = _apart("bare", folder, given)
    bare: Times = _apart("ask-bare", folder, given)
    found = Measured(**_apart("use", folder, given))
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    wall = [
        f"{given.size:,}",
        f"{built['seconds'] / 60:.1f} min",
        *(f"{one[0] / 1_000:.2f} s" for one in (found.first, found.opening)),
        *(f"{_percentile(found.recall, percent):.0f} ms" for percent in (50, 95)),
        f"{_percentile(bare, 50):.0f} ms",
        f"{_percentile(found.recall, 50) / _percentile(bare, 50):.1f}",
        *(f"{_percentile(times, 50):.0f} ms" for times in (found.everywhere, found.remember, found.after)),
        f"{found.resident:,.0f} MB",
        f"{found.on_disk:,.0f} MB",
    ]
    cpu = [
        "processor time",
        f"{built['cpu'] / 60:.1f} min",
        *(f"{one[1] / 1_000:.2f} s" for one in (found.first, found.opening)),
        *(f"{_percentile(found.recall, percent, of=1):.0f} ms" for percent in (50, 95)),
        f"{_percentile(bare, 50, of=1):.0f} ms",
        f"{_percentile(found.recall, 50, of=1) / _percentile(bare, 50, of=1):.1f}",
        *(f"{_percentile(times, 50, of=1):.0f} ms" for times in (found.everywhere, found.remember, found.after)),
        *("", ""),
    ]
    say(f"the bare table was built in {bare_built['seconds'] / 60:.1f} min")
    return f"{machine()}; load at the end {load}\n\n{markdown_table([HEADING, wall, cpu])}"


def _apart(step: str, folder: Path, given: argparse.Namespace) -> dict:
    """Run a step in a process of its own; one that was done before is not done again."""
    done = folder / f"{step}-{given.size}.json"
    if step != "use" and done.exists():
        return json.loads(done.read_text("utf-8"))
    command = [sys.executable, __file__, "--size", str(given.size), "--folder", str(folder), "--step", step]
    if given.search_memory is not None:
        command += ["--search-memory", str(given.search_memory)]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    done.write_text(printed, "utf-8")
    say(f"{step}: {printed.strip()[:200]}")
    return json.loads(printed)


# -- building --------------------------------------------------------------------------------------------------


def _texts(size: int) -> Iterator[list[str]]:
    """Return notes in parts: those of notes.py, each with some words of a long tail."""
    dice = np.random.default_rng(3)
    vocabulary = _vocabulary()
    for number in range(-(-size // AT_ONCE)):
        count = min(AT_ONCE, size - number * AT_ONCE)
        ranks = np.minimum(dice.zipf(TAIL, (count, RARE_PER_NOTE)), RARE_WORDS) - 1
        rare = ranks.tolist()
        yield [
            f"{text} It came up with {' '.join(vocabulary[rank] for rank in own)} in note {number * AT_ONCE + n}."
            for n, (text, own) in enumerate(zip(notes(count, seed=number + 1), rare, strict=True))
        ]


def _vocabulary() -> list[str]:
    """Return made-up words, all different, the frequent ones short."""
    syllables = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "or", "il")]
    found: dict[str, None] = {}
    dice = np.random.default_rng(4)
    while len(found) < RARE_WORDS:
        count = 2 if len(found) < 2_000 else 3 if len(found) < 30_000 else 4
        found["".join(syllables[one] for one in dice.integers(0, len(syllables), count))] = None
    return list(found)


def _vectors(lent: np.ndarray, start: int, count: int) -> np.ndarray:
    dice = np.random.default_rng(start + 1)
    own = lent[np.arange(start, start + count) % len(lent)]
    moved = own + MOVED * dice.standard_normal(own.shape, np.float32) / own.shape[1] ** 0.5
    return (moved / np.linalg.norm(moved, axis=1, keepdims=True)).astype(np.float32)


async def build(folder: Path, size: int, search_memory: float | None) -> dict[str, float]:
    """Write the rows of all memories, and the vector indexes that maintenance would build."""
    started, cpu = perf_counter(), process_time()
    EMBEDDER.warm()
    session = await _opened(folder, search_memory)
    now, new_id = session.now, session.store.new_id
    lent = EMBEDDER.embed(notes(EMBEDDED))
    lent_vectors = np.stack([one.vector for one in lent])
    number = 0
    for texts in _texts(size):
        vectors = _vectors(lent_vectors, number, len(texts))
        parts: dict[str, list[Embedded]] = {layer: [] for layer in LAYERS}
        for n, text in enumerate(texts):
            session_number = (number + n) // TURNS
            memory = Memory(
                id=new_id.memory(),
                content=text,
                content_hash=content_hash(text),
                title=text[:60],
                kind="fact",
                layer=LAYERS[(number + n) % len(LAYERS)],
                project=f"project-{session_number % PROJECTS}",
                session=f"session-{session_number}",
                trust=0.7,
                stability=1.0,
                created_at=now,
                happened_at=now,
                updated_at=now,
                embedder=EMBEDDER.stamp,
            )
            parts[memory.layer].append(Embedded(memory, vectors[n], pieces=lent[(number + n) % EMBEDDED].pieces))
        for layer, items in parts.items():
            await session.store.database.raw_table(layer).add(to_table(items, DIMENSIONS))
        number += len(texts)
        if number % (10 * AT_ONCE) == 0:
            say(f"{number:,} memories in {perf_counter() - started:.0f} s")
    await session.maintenance.compact()
    await session.close()
    return {"seconds": perf_counter() - started, "cpu": process_time() - cpu}


async def index(folder: Path, size: int, search_memory: float | None) -> dict[str, float]:
    """Let an engine search the store once and write the stored form of its indexes, as its maintenance does."""
    started, cpu = perf_counter(), process_time()
    EMBEDDER.warm()
    session = await _opened(folder, search_memory)
    await session.domain.warm()
    built = perf_counter() - started
    await session.maintenance.run()
    await session.close()
    return {
        "seconds": perf_counter() - started,
        "cpu": process_time() - cpu,
        "built": built,
        "RSS": resident_megabytes(),
    }


async def bare(folder: Path, size: int, search_memory: float | None) -> dict[str, float]:
    """Write the same texts and vectors into one table with LanceDB's own indexes."""
    started, cpu = perf_counter(), process_time()
    lent = np.stack([one.vector for one in EMBEDDER.embed(notes(EMBEDDED))])
    connection = await connect(str(folder / "bare"))
    table, number = None, 0
    for texts in _texts(size):
        vectors = _vectors(lent, number, len(texts))
        column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), DIMENSIONS)
        ids = pa.array(map(str, range(number, number + len(texts))))
        rows = pa.table({"id": ids, "text": pa.array(texts), "vector": column})
        if table is None:
            table = await connection.create_table("notes", rows, mode="overwrite")
        else:
            await table.add(rows)
        number += len(texts)
    await table.optimize()
    await table.create_index("text", config=TEXT_INDEX)
    if size >= FEWEST_TO_INDEX:
        from lancedb.index import IvfRq

        await table.create_index("vector", config=IvfRq(distance_type="cosine"))
    return {"seconds": perf_counter() - started, "cpu": process_time() - cpu}


# -- measuring -------------------------------------------------------------------------------------------------


async def ask_bare(folder: Path, size: int, search_memory: float | None) -> Times:
    """Time LanceDB's hybrid query, with the question embedded beforehand."""
    asked = questions(WARM_UP + SAMPLES)
    vectors = [embedding.vector for embedding in EMBEDDER.embed(asked)]
    table = await (await connect(str(folder / "bare"))).open_table("notes")

    async def ask(number: int) -> None:
        search = table.query().nearest_to(vectors[number]).distance_type("cosine").nearest_to_text(asked[number])
        await search.select(["id", "text"]).limit(ASK_FOR).to_arrow()

    return (await _timed(ask, range(len(asked))))[WARM_UP:]


async def use(folder: Path, size: int, search_memory: float | None) -> dict:
    """Open the store and use it as an engine does."""
    EMBEDDER.warm()  # an engine does it at the same time
    asked = questions(WARM_UP + SAMPLES)
    started, cpu = perf_counter(), process_time()
    session = await _opened(folder, search_memory)
    opening = _since(started, cpu)
    await recall.recall(session, RecallRequest(query=asked[0], limit=ASK_FOR))
    first = _since(started, cpu)
    await session.domain.warm()  # what an engine does behind its first answer

    async def ask(text: str) -> None:
        await recall.recall(session, RecallRequest(query=text, limit=ASK_FOR))

    async def ask_everywhere(text: str) -> None:
        await recall.recall(session, RecallRequest(query=text, limit=ASK_FOR, all_projects=True))

    async def write(text: str) -> None:
        await remember.remember(session, RememberRequest(content=text))

    times = await _timed(ask, asked)
    everywhere = await _timed(ask_everywhere, asked)
    resident = resident_megabytes()
    remembered: Times = []
    after: Times = []
    for text, query in zip(notes(REMEMBERED, seed=7_000_000), asked, strict=False):
        remembered += await _timed(write, [text])
        after += await _timed(ask, [query])
    resident = max(resident, resident_megabytes())
    await session.close()
    on_disk = sum(file.stat().st_size for file in _home(folder).rglob("*") if file.is_file()) / 1e6
    return asdict(
        Measured(first, opening, times[WARM_UP:], everywhere[WARM_UP:], remembered, after, resident, on_disk)
    )


STEPS: dict[str, Callable[[Path, int, float | None], Awaitable[dict | Times]]] = {
    "build": build,
    "index": index,
    "bare": bare,
    "ask-bare": ask_bare,
    "use": use,
}


def _home(folder: Path) -> Path:
    return folder / "home"


async def _opened(folder: Path, search_memory: float | None) -> Session:
    own = {} if search_memory is None else {"search_memory": search_memory}
    settings = Settings(home=str(_home(folder)), project=OWN_PROJECT, **own)
    session = await Session.open(settings, embedder=EMBEDDER, folder=folder)
    session.domain.accesses = NothingRecorded(session.store)
    return session


async def _timed(call: Callable[[Each], Awaitable[None]], each: Sequence[Each]) -> Times:
    times: Times = []
    for one in each:
        started, cpu = perf_counter(), process_time()
        await call(one)
        times.append(_since(started, cpu))
    return times


def _since(started: float, cpu: float) -> tuple[float, float]:
    return 1_000 * (perf_counter() - started), 1_000 * (process_time() - cpu)


def _percentile(times: Times, percent: int, of: int = 0) -> float:
    chosen = [one[of] for one in times]
    return median(chosen) if percent == 50 else quantiles(chosen, n=100, method="inclusive")[percent - 1]


if __name__ == "__main__":
    sys.exit(main())
