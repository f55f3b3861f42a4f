"""Recall on a large store that is built in minutes, beside a bare LanceDB hybrid query in the same run.

    python bench/sizes.py                                100,000 memories, with vectors in memory and on disk
    python bench/sizes.py --size 20000 --generator disk

Only the first few thousand notes are embedded. The others borrow the vector of one of them, moved a little, and its
token vectors; their words are their own. Time is that of the tool in this process, without a client.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import numpy as np
from figures import machine, markdown_table
from notes import notes, questions
from speed import bare_hybrid

from recall import GENERATORS, NothingRecorded
from reverie.embeddings.bundled import BundledEmbedder
from reverie.memory import LAYERS, Memory, content_hash
from reverie.settings import Settings
from reverie.storage.rows import Embedded
from reverie.tools import recall
from reverie.tools.requests import RecallRequest
from reverie.tools.session import Session

EMBEDDED = 2_000
MOVED = 0.5  # the length of what is added to a borrowed vector
AT_ONCE = 5_000
TURNS = 20  # memories in a session
SAMPLES, WARM_UP = 60, 5
EMBEDDER = BundledEmbedder()


def main() -> int:
    """Build the store, ask it in each way, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=100_000, help="how many memories")
    parser.add_argument("--generator", choices=(*GENERATORS, "both"), default="both", help="where the vectors are")
    given = parser.parse_args()
    EMBEDDER.warm()
    with tempfile.TemporaryDirectory() as folder:
        generators = GENERATORS if given.generator == "both" else (given.generator,)
        print(asyncio.run(_measured(Path(folder), given.size, generators)))
    return 0


async def _measured(folder: Path, size: int, generators: Sequence[str]) -> str:
    texts, vectors, pieces = _drawn(size)
    started = perf_counter()
    await _build(folder / "home", texts, vectors, pieces)
    _say(f"built in {perf_counter() - started:.0f} s")
    asked = questions(WARM_UP + SAMPLES)
    rows = [["memories", "vectors", "first answer", "recall p50", "recall p95", "bare hybrid p50", "ratio", "RSS"]]
    for generator in generators:
        first, times, resident = await _recalled(folder / "home", asked, generator)
        bare = await bare_hybrid(folder / f"bare-{generator}", texts, vectors, asked)
        p50, bare_p50 = statistics.median(times[WARM_UP:]), statistics.median(bare[WARM_UP:])
        p95 = statistics.quantiles(times[WARM_UP:], n=20)[-1]
        figures = (f"{first:.0f} ms", f"{p50:.1f} ms", f"{p95:.1f} ms", f"{bare_p50:.1f} ms", f"{p50 / bare_p50:.1f}")
        rows.append([f"{size:,}", generator, *figures, f"{resident:.0f} MB"])
        _say(" | ".join(rows[-1]))
    return f"{machine()}\n\n{markdown_table(rows)}"


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


async def _recalled(home: Path, asked: Sequence[str], generator: str) -> tuple[float, list[float], float]:
    """Return the milliseconds to the first answer of a session, those of each later one, and this process's size."""
    session = await _opened(home, generator)
    times = []
    for query in (asked[0], *asked):
        before = perf_counter()
        await recall.recall(session, RecallRequest(query=query, limit=10))
        times.append(1_000 * (perf_counter() - before))
    resident = _resident()
    await session.close()
    return times[0], times[1:], resident


def _resident() -> float:
    with open("/proc/self/status", encoding="ascii") as file:
        [kilobytes] = [int(line.split()[1]) for line in file if line.startswith("VmRSS")]
    return kilobytes / 1024


def _say(text: str) -> None:
    print(f"… {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
