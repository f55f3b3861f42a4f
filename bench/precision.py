"""What vectors of few bits save, and what they cost: bytes, cosine fidelity, and recall on a store aged by a year.

    python bench/precision.py --data ../shared/data              the table, on the first three conversations
    python bench/precision.py --data … --stores 0 --write        on all of them, and into docs/benchmarks.md

Every conversation of locomo-dev is imported into a store of its own; a year later each memory has the precision that
its retention deserves, as the night would give it, or one of the four drawn evenly: a store of which some is in use.
The same questions are asked each time, and no recall is counted.
"""

import argparse
import asyncio
import io
import json
import random
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from figures import machine, markdown_table, write_between

from recall import DEPTH, EMBEDDER, ENOUGH_TOKENS, LEFT_OUT, NothingRecorded, Score
from reverie.dream.fading import embedded_again
from reverie.lifecycle.curves import retention_of
from reverie.lifecycle.rules import precision_of
from reverie.memory import LAYERS, Memory
from reverie.settings import Settings
from reverie.storage import packed_vectors
from reverie.storage.maintenance import Maintenance
from reverie.storage.packed_vectors import pack, unpack
from reverie.storage.scope import Scope
from reverie.storage.vector_precision import set_precisions
from reverie.tools import recall
from reverie.tools.import_jsonl import import_memories
from reverie.tools.requests import RecallRequest
from reverie.tools.session import Session

SET = "locomo-dev"
PRECISIONS = (32, 8, 4, 2)
SOURCE_FIDELITY = {32: "1", 8: "0.9999", 4: "0.97", 2: "0.59"}  # the seed's, by truncating
ROUNDED_FIDELITY = {32: "1", 8: "0.9999", 4: "0.994", 2: "0.87"}  # by rounding, MATH.md
WAYS = ("32-bit only", "packed, plain cosine", "packed, noise-aware")
SPREADS = ("a year later", "a quarter of each")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder with locomo-dev.json; see its README")
    parser.add_argument("--stores", type=int, default=3, help="only the first so many conversations; 0 for all")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks.md")
    given = parser.parse_args()
    stores = json.loads((given.data / f"{SET}.json").read_text("utf-8"))["stores"][: given.stores or None]
    EMBEDDER.warm()
    text = asyncio.run(measured(stores))
    print(text)
    if given.write:
        write_between("precision", text)
    return 0


async def measured(stores: Sequence[Mapping[str, Any]]) -> str:
    """Return both tables."""
    sizes = await sizes_and_fidelity(stores[0])
    quality = await quality_of(stores)
    return f"{machine()}\n\n{sizes}\n\n{quality}"


# -- bytes and fidelity ----------------------------------------------------------------------------------------


async def sizes_and_fidelity(store: Mapping[str, Any]) -> str:
    """Return a table of bytes and cosines by precision, of the turns of one conversation."""
    vectors = np.stack([made.vector for made in EMBEDDER.embed([item["content"] for item in store["items"]])])
    rows = [
        [
            *("bits", "bytes of a vector", "ratio", "disk, bytes a memory in all", "memory, bytes a vector"),
            *("cosine with the whole vector: mean", "least", "MATH.md, rounded", "seed, truncated"),
        ]
    ]
    for bits in PRECISIONS:
        disk, memory, width = await _bytes(store["items"], bits)
        fidelity = _fidelity(vectors, bits)
        rows.append(
            [
                str(bits),
                str(width),
                f"{vectors.shape[1] * 4 / width:.1f}",
                f"{disk:,.0f}",
                f"{memory:,.0f}",
                f"{fidelity.mean():.5f}",
                f"{fidelity.min():.4f}",
                ROUNDED_FIDELITY[bits],
                SOURCE_FIDELITY[bits],
            ]
        )
    return markdown_table(rows)


def _fidelity(vectors: np.ndarray, bits: int) -> np.ndarray:
    if bits == packed_vectors.WHOLE:
        return np.ones(len(vectors))
    read = unpack(pack(vectors, bits), vectors.shape[1])
    return np.asarray(np.einsum("ij,ij->i", read, vectors) / np.linalg.norm(read, axis=1))


async def _bytes(items: Sequence[Mapping[str, Any]], bits: int) -> tuple[float, float, int]:
    """Store the turns at one precision; return the bytes a memory takes on disk and a vector in memory."""
    with tempfile.TemporaryDirectory() as folder:
        await _import(folder, [{**item, "precision": bits} for item in items])
        async with _opened(folder) as session:
            await Maintenance(session.store).compact()
            indexes, _ = await session.store.vectors.indexes(Scope())
            count = sum(map(len, indexes.values()))
            tables = [session.store.database.table(layer).lance for layer in LAYERS]
            disk = sum([(await table.stats())["total_bytes"] for table in tables])
            memory = sum(index.vector_bytes for index in indexes.values())
    dimensions = EMBEDDER.dimensions
    width = dimensions * 4 if bits == packed_vectors.WHOLE else packed_vectors.width_of(bits, dimensions)
    return disk / count, memory / count, width


# -- quality ---------------------------------------------------------------------------------------------------


async def quality_of(stores: Sequence[Mapping[str, Any]]) -> str:
    """Return a table of frac@10 by spread and way, and what precisions the memories had."""
    scores: dict[tuple[str, str], Score] = defaultdict(Score)
    had: dict[str, Counter[int]] = defaultdict(Counter)
    for store in stores:
        questions = [q for q in store["questions"] if q["group"] not in LEFT_OUT and q["gold"]]
        print(f"… {store['id']}: {len(questions)} questions", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            await _import(folder, store["items"])
            whole = await _ask(folder, questions, noise=True)
            for spread in SPREADS:
                _count(scores[spread, WAYS[0]], questions, whole)
                had[spread] += await _fade(folder, spread)
                _count(scores[spread, WAYS[1]], questions, await _ask(folder, questions, noise=False))
                _count(scores[spread, WAYS[2]], questions, await _ask(folder, questions, noise=True))
    rows = [["locomo-dev", "questions", "metric", *WAYS, "memories at 32 / 8 / 4 / 2 bits"]]
    for spread in SPREADS:
        shares = " / ".join(f"{had[spread][bits]:,}" for bits in PRECISIONS)
        for metric in ("frac@10", "any@5", "all@5"):
            percents = [f"{scores[spread, way].percent(metric):.2f}" for way in WAYS]
            rows.append([spread, str(len(scores[spread, WAYS[0]].values[metric])), metric, *percents, shares])
    return markdown_table(rows)


def _count(score: Score, questions: Sequence[Mapping[str, Any]], found: Sequence[Sequence[str]]) -> None:
    for question, ranking in zip(questions, found, strict=True):
        score.count(question, ranking)


async def _fade(folder: str, spread: str) -> Counter[int]:
    """Give every memory its precision; return how many have which."""
    async with _opened(folder) as session:
        memories = await session.store.find()
        dice = random.Random(15)  # noqa: S311 - the same draw each time
        wanted = [_wanted(session, memory, spread, dice) for memory in memories]
        changed = [
            replace(memory, precision=bits)
            for memory, bits in zip(memories, wanted, strict=True)
            if memory.precision != bits
        ]
        before = {memory.id: memory.precision for memory in memories}
        finer = await embedded_again([one for one in changed if one.precision > before[one.id]], EMBEDDER)
        async with session.store.changing():
            await set_precisions(session.store, changed, finer)
    return Counter(wanted)


def _wanted(session: Session, memory: Memory, spread: str, dice: random.Random) -> int:
    if spread != SPREADS[0]:
        return dice.choice(PRECISIONS)
    settings = session.settings
    retention = retention_of(memory, session.now, settings.retention, settings.tier, settings.parameters)
    return precision_of(memory, retention)


async def _ask(folder: str, questions: Sequence[Mapping[str, Any]], *, noise: bool) -> list[list[str]]:
    packed_vectors.COUNTS_NOISE = noise
    async with _opened(folder) as session:
        session.domain.accesses = NothingRecorded(session.store)
        found = []
        for question in questions:
            request = RecallRequest(query=question["query"], limit=DEPTH, max_tokens=ENOUGH_TOKENS)
            found.append([row.id for row in (await recall.recall(session, request)).results])
    packed_vectors.COUNTS_NOISE = True
    return found


async def _import(folder: str, items: Sequence[Mapping[str, Any]]) -> None:
    async with _opened(folder, later=False) as session:
        lines = "".join(json.dumps(dict(item)) + "\n" for item in items)
        await import_memories(session, io.BytesIO(lines.encode()), lambda _: None)


@asynccontextmanager
async def _opened(folder: str, *, later: bool = True) -> AsyncIterator[Session]:
    settings = Settings(home=folder, project="bench", clock="+365d" if later else None)
    session = await Session.open(settings, embedder=EMBEDDER, folder=Path(folder))
    try:
        yield session
    finally:
        await session.close()


if __name__ == "__main__":
    sys.exit(main())
