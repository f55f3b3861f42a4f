"""Recall and remember against the size of the store, beside a bare LanceDB hybrid query in the same run.

    python bench/sizes.py                                1,000, 10,000 and 100,000 memories, in some minutes
    python bench/sizes.py --sizes 100000 --generator both   vectors in memory and on disk
    python bench/sizes.py --write                        and into docs/benchmarks.md, with a chart beside it

Only the first few thousand notes are embedded. The others borrow the vector of one of them, moved a little, and its
token vectors; their words are their own. Each size and way is measured in a process of its own, so that its memory is
the store's. Time is that of the tool in that process, without a client.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in the server

import numpy as np
import pyarrow as pa
from chart import Line, chart
from figures import PAGE, machine, markdown_table, resident_megabytes, say, write_between
from notes import notes, questions

from recall import GENERATORS, NothingRecorded
from reverie.embeddings.bundled import DIMENSIONS, BundledEmbedder
from reverie.ids import content_hash
from reverie.memory import LAYERS, Memory
from reverie.settings import Settings
from reverie.storage.lance_table import TEXT_INDEX
from reverie.storage.lancedb_import import connect
from reverie.storage.rows import Embedded
from reverie.tools import recall, remember
from reverie.tools.requests import RecallRequest, RememberRequest
from reverie.tools.session import Session

SIZES = (1_000, 10_000, 100_000)
PICTURE = PAGE.parent / "sizes.svg"
EMBEDDED = 2_000
MOVED = 0.5  # the length of what is added to a borrowed vector
AT_ONCE = 5_000
TURNS = 20  # memories in a session
SAMPLES, WARM_UP = 60, 5
REMEMBERED = 40
ASK_FOR = 10
FEWEST_TO_INDEX = 20_000  # rows from which the bare table has a vector index
EMBEDDER = BundledEmbedder()
HEADING = (
    *("memories", "vectors", "first answer", "recall p50", "recall p95", "bare hybrid p50", "ratio"),
    *("remember p50", "RSS", "on disk"),
)


@dataclass(frozen=True)
class Measured:
    """What one store of one size takes, in milliseconds and megabytes."""

    size: int
    generator: str
    first: float
    recall: list[float]
    bare: list[float]
    remember: list[float]
    resident: float
    on_disk: float

    @property
    def ratio(self) -> float:
        """How many bare queries a recall takes."""
        return statistics.median(self.recall) / statistics.median(self.bare)

    @property
    def row(self) -> list[str]:
        """The figures as a row of the table."""
        p50, p95 = statistics.median(self.recall), statistics.quantiles(self.recall, n=20)[-1]
        times = (self.first, p50, p95, statistics.median(self.bare))
        first, *others = (f"{time:.1f} ms" for time in times)
        kept = (f"{statistics.median(self.remember):.1f} ms", f"{self.resident:.0f} MB", f"{self.on_disk:.0f} MB")
        return [f"{self.size:,}", self.generator, first, *others, f"{self.ratio:.1f}", *kept]


def main() -> int:
    """Measure each size in each way, print a table, and write it with a chart if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="how many memories, separated by commas")
    parser.add_argument("--generator", choices=(*GENERATORS, "both"), default="memory", help="where the vectors are")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md and its chart")
    parser.add_argument("--one", metavar="FOLDER", help=argparse.SUPPRESS)  # measures one, in a process of its own
    given = parser.parse_args()
    sizes = [int(size) for size in given.sizes.split(",")]
    generators = GENERATORS if given.generator == "both" else (given.generator,)
    if given.one:
        print(json.dumps(asdict(asyncio.run(_measured(Path(given.one), sizes[0], given.generator)))))
        return 0
    found = [_apart(size, generator) for size in sizes for generator in generators]
    text = f"{_machine()}\n\n{markdown_table([HEADING, *(one.row for one in found)])}"
    print(text)
    if given.write:
        write_between("sizes", text)
        PICTURE.write_text(_picture(found), "utf-8")
    return 0


def _machine() -> str:
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    return f"{machine()}; load at the end {load}"


def _apart(size: int, generator: str) -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--sizes", str(size), "--generator", generator, "--one", folder]
        printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    measured = Measured(**json.loads(printed))
    say(" | ".join(measured.row))
    return measured


async def _measured(folder: Path, size: int, generator: str) -> Measured:
    EMBEDDER.warm()
    home = folder / "home"
    texts, vectors, pieces = _drawn(size)
    started = perf_counter()
    await _build(home, texts, vectors, pieces)
    say(f"{size:,} memories built in {perf_counter() - started:.0f} s")
    asked = questions(WARM_UP + SAMPLES)
    bare = await _bare_hybrid(folder / "bare", texts, vectors, asked)
    del texts, vectors, pieces
    first, times, remembered, resident = await _used(home, asked, generator)
    on_disk = sum(file.stat().st_size for file in home.rglob("*") if file.is_file()) / 1e6
    return Measured(size, generator, first, times[WARM_UP:], bare[WARM_UP:], remembered, resident, on_disk)


def _picture(found: Sequence[Measured]) -> str:
    """Draw time and bytes against size, of the first way that was measured."""
    drawn = [one for one in found if one.generator == found[0].generator]
    sizes = [float(one.size) for one in drawn]
    times = [
        Line("recall, p50", [statistics.median(one.recall) for one in drawn]),
        Line("remember, p50", [statistics.median(one.remember) for one in drawn]),
        Line("bare hybrid query, p50", [statistics.median(one.bare) for one in drawn]),
    ]
    bytes_ = [
        Line("memory of the process", [one.resident for one in drawn]),
        Line("on disk", [one.on_disk for one in drawn]),
    ]
    return chart(sizes, [("milliseconds", times), ("megabytes", bytes_)], "memories")


def _drawn(size: int) -> tuple[list[str], np.ndarray, list[bytes]]:
    texts = notes(size)
    embedded = EMBEDDER.embed(texts[:EMBEDDED])
    dice = np.random.default_rng(1)
    lent = np.stack([one.vector for one in embedded])[np.arange(size) % len(embedded)]
    moved = lent + MOVED * dice.normal(size=lent.shape).astype(np.float32) / lent.shape[1] ** 0.5
    vectors = (moved / np.linalg.norm(moved, axis=1, keepdims=True)).astype(np.float32)
    return texts, vectors, [embedded[number % len(embedded)].pieces for number in range(size)]


async def _build(home: Path, texts: Sequence[str], vectors: np.ndarray, pieces: Sequence[bytes]) -> None:
    session = await _opened(home, "disk")
    now = session.now
    for start in range(0, len(texts), AT_ONCE):
        items = [
            Embedded(
                Memory(
                    id=session.store.new_id.memory(),
                    content=text,
                    content_hash=content_hash(text),
                    title=text[:60],
                    kind="fact",
                    layer=LAYERS[number % len(LAYERS)],
                    project="bench",
                    session=f"session-{number // TURNS}",
                    trust=0.7,
                    stability=1.0,
                    created_at=now,
                    happened_at=now,
                    updated_at=now,
                    embedder=EMBEDDER.stamp,
                ),
                vectors[number],
                pieces=pieces[number],
            )
            for number, text in enumerate(texts[start : start + AT_ONCE], start)
        ]
        await session.store.add(items, actor="bench", at=now)
    await session.maintenance.compact()
    await session.close()


async def _opened(home: Path, generator: str) -> Session:
    settings = Settings(home=str(home), project="bench", search_memory=0.0 if generator == "disk" else 10_000.0)
    session = await Session.open(settings, embedder=EMBEDDER, folder=home.parent)
    session.domain.accesses = NothingRecorded(session.store)
    return session


async def _used(home: Path, asked: Sequence[str], generator: str) -> tuple[float, list[float], list[float], float]:
    """Return the milliseconds to the first answer, those of later ones and of remembers, and this process's size."""
    session = await _opened(home, generator)
    times = []
    for query in (asked[0], *asked):
        before = perf_counter()
        await recall.recall(session, RecallRequest(query=query, limit=ASK_FOR))
        times.append(1_000 * (perf_counter() - before))
        if len(times) == 1:
            await session.warm()  # what a server does behind its first answer
    remembered = []
    for text in notes(REMEMBERED, seed=7):
        before = perf_counter()
        await remember.remember(session, RememberRequest(content=text))
        remembered.append(1_000 * (perf_counter() - before))
    resident = resident_megabytes()
    await session.close()
    return times[0], times[1:], remembered, resident


async def _bare_hybrid(folder: Path, texts: Sequence[str], stored: np.ndarray, asked: Sequence[str]) -> list[float]:
    """Time LanceDB's own hybrid query on one table of texts and vectors, with the question embedded beforehand."""
    vectors = [embedding.vector for embedding in EMBEDDER.embed(asked)]
    connection = await connect(str(folder))
    column = pa.FixedSizeListArray.from_arrays(pa.array(stored.ravel()), DIMENSIONS)
    names = pa.array(map(str, range(len(texts))))
    table = await connection.create_table("notes", pa.table({"id": names, "text": pa.array(texts), "vector": column}))
    await table.create_index("text", config=TEXT_INDEX)
    if len(texts) >= FEWEST_TO_INDEX:
        from lancedb.index import IvfRq

        await table.create_index("vector", config=IvfRq(distance_type="cosine"))
    times = []
    for query, vector in zip(asked, vectors, strict=True):
        before = perf_counter()
        search = table.query().nearest_to(vector).distance_type("cosine").nearest_to_text(query)
        await search.select(["id", "text"]).limit(ASK_FOR).to_arrow()
        times.append(1_000 * (perf_counter() - before))
    return times


if __name__ == "__main__":
    sys.exit(main())
