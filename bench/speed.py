"""The whole recall over stdio, next to a bare LanceDB hybrid query on one table in the same run."""

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
from figures import machine, markdown_table
from notes import notes, questions
from session import Session, environment_for

from reverie.embeddings.bundled import DIMENSIONS, BundledEmbedder
from reverie.memory import LAYERS
from reverie.storage.lance_table import TEXT_INDEX
from reverie.storage.lancedb_import import connect

SAMPLES = 100
WARM_UP = 10
AIM_AT_TEN_THOUSAND = 25.0
AIM_IN_QUERIES = 2.0
_FEWEST_TO_INDEX = 20_000
_ASK_FOR = 10


def speed(sizes: Sequence[int]) -> str:
    """Return a table of recall and of the bare query at each size."""
    rows = [
        ["memories", "recall p50", "recall p95", "bare hybrid p50", "bare hybrid p95", "ratio", "server RSS", "aim"]
    ]
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            print(f"… {size:,} memories", file=sys.stderr, flush=True)
            texts = notes(size)
            recall, resident = _recalling(Path(folder) / f"home-{size}", texts)
            bare = asyncio.run(_bare(Path(folder) / f"bare-{size}", texts))
            ratio = statistics.median(recall) / statistics.median(bare)
            aim = (
                f"p50 ≤ {AIM_AT_TEN_THOUSAND:.0f} ms"
                if size == 10_000
                else f"≤ {AIM_IN_QUERIES:.0f} ×"
                if size > 10_000
                else ""
            )
            rows.append([f"{size:,}", *_shown(recall), *_shown(bare), f"{ratio:.1f}", f"{resident:.0f} MB", aim])
    return f"{machine()}\n\n{markdown_table(rows)}"


def _shown(times: Sequence[float]) -> tuple[str, str]:
    return f"{statistics.median(times):.1f} ms", f"{statistics.quantiles(times, n=20)[-1]:.1f} ms"


def _recalling(home: Path, texts: Sequence[str]) -> tuple[list[float], float]:
    """Import memories spread over the five layers, then time recall as a client sees it."""
    home.mkdir()
    lines = home.with_suffix(".jsonl")
    with lines.open("w", encoding="utf-8") as file:
        for number, text in enumerate(texts):
            line = {"content": text, "layer": LAYERS[number % len(LAYERS)], "project": "bench"}
            file.write(json.dumps(line) + "\n")
    subprocess.run(
        (sys.executable, "-m", "reverie", "import", str(lines)),
        env=environment_for(home), cwd=home.parent, check=True, capture_output=True,
    )  # fmt: skip
    with Session(home) as session:
        session.shake_hands().until_ready()
        asked = questions(WARM_UP + SAMPLES)
        times = [1_000 * session.timed("recall", query=query, limit=_ASK_FOR) for query in asked]
        return times[WARM_UP:], session.memory()[0]


async def _bare(folder: Path, texts: Sequence[str]) -> list[float]:
    dice = np.random.default_rng(1)
    stored = dice.normal(size=(len(texts), DIMENSIONS)).astype(np.float32)
    stored /= np.linalg.norm(stored, axis=1, keepdims=True)
    return (await bare_hybrid(folder, texts, stored, questions(WARM_UP + SAMPLES)))[WARM_UP:]


async def bare_hybrid(folder: Path, texts: Sequence[str], stored: np.ndarray, asked: Sequence[str]) -> list[float]:
    """Time LanceDB's own hybrid query on one table of texts and vectors, with the question embedded beforehand."""
    embedder = BundledEmbedder()
    embedder.warm()
    vectors = [embedding.vector for embedding in embedder.embed(asked)]
    connection = await connect(str(folder))
    column = pa.FixedSizeListArray.from_arrays(pa.array(stored.ravel()), DIMENSIONS)
    names = pa.array(map(str, range(len(texts))))
    table = await connection.create_table("notes", pa.table({"id": names, "text": pa.array(texts), "vector": column}))
    await table.create_index("text", config=TEXT_INDEX)
    if len(texts) >= _FEWEST_TO_INDEX:
        from lancedb.index import IvfRq

        await table.create_index("vector", config=IvfRq(distance_type="cosine"))
    times = []
    for query, vector in zip(asked, vectors, strict=True):
        before = perf_counter()
        search = table.query().nearest_to(vector).distance_type("cosine").nearest_to_text(query)
        await search.select(["id", "text"]).limit(_ASK_FOR).to_arrow()
        times.append(1_000 * (perf_counter() - before))
    return times
