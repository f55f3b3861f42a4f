"""The dream in figures: how it grows from 10,000 to 100,000 memories, what recall feels of it, what its rules merge.

    python bench/dream.py                               everything
    python bench/dream.py --only scale --sizes 10000,30000,100000
    python bench/dream.py --only day --sizes 20000,100000       a night after a day of 500 new memories
    python bench/dream.py --only merge --data ../shared/data
    python bench/dream.py --only after --data ../shared/data    recall on conversations before and after a night

Stores are filled with the notes of notes.py, over 400 days and eight projects; vectors are words hashed into 384
dimensions, so that no hours go by on embedding.
"""

import argparse
import asyncio
import json
import math
import os
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in the server

import numpy as np
from notes import notes, questions

from reverie.dream.cycle import DreamReport, dream
from reverie.dream.reading import DreamContext, read
from reverie.dream.snapshot import LEAST_COSINE, near_pairs
from reverie.embeddings.base import Embedding, QueryEmbedding
from reverie.ids import content_hash
from reverie.lifecycle.vitals import trust_of
from reverie.memory import Memory
from reverie.server.dream_process import consolidate_in_process
from reverie.settings import Settings
from reverie.storage.bulk import write_batch
from reverie.storage.rows import Embedded
from reverie.text.compare import restates
from reverie.time import clock_from, iso
from reverie.tools.consolidate import consolidate
from reverie.tools.recall import recall
from reverie.tools.requests import ConsolidateRequest, RecallRequest
from reverie.tools.results import Consolidated
from reverie.tools.session import Session

Result = TypeVar("Result")

DIMENSIONS = 384
NOW = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)
SIZES = (10_000, 30_000, 100_000)
_ROWS_AT_ONCE = 5_000
DAY = 500
PROJECT_SIZE = 10_000
PROJECTS_AT_ONCE = 10
LARGEST_FULL_READ = 100_000
_BETWEEN_QUESTIONS = 0.1
_WORDS: dict[str, tuple[int, float]] = {}


class HashedWords:
    """Words hashed into 384 dimensions with a sign: near for texts that share words."""

    stamp = f"hashed:{DIMENSIONS}"
    dimensions = DIMENSIONS
    ready = True

    def warm(self) -> None:
        """Do nothing."""

    def read(self, question: str) -> QueryEmbedding:
        """Embed a question as any text."""
        return QueryEmbedding(_vector(question))

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Embed each text by its words."""
        return [Embedding(_vector(text)) for text in texts]


def _vector(text: str) -> np.ndarray:
    vector = np.zeros(DIMENSIONS, np.float32)
    for word in text.lower().split():
        place = _WORDS.get(word)
        if place is None:
            number = int.from_bytes(blake2b(word.encode(), digest_size=4).digest())
            place = _WORDS[word] = number % DIMENSIONS, 1.0 if number & 0x10000 else -1.0
        vector[place[0]] += place[1]
    return vector / max(float(np.linalg.norm(vector)), 1e-6)


def memories(count: int, projects: int = 8, *, in_turn: bool = False) -> list[Memory]:
    """Return a store's worth of notes: five of a hundred said twice, some recalled, some old and worthless.

    They are over 400 days, in all projects at any time, or in one project after the other.
    """
    dice = random.Random(3)  # noqa: S311 - a benchmark must repeat itself
    texts = notes(count - count // 20)
    texts += [dice.choice(texts).replace(" the ", " the  ") for _ in range(count // 20)]
    made = []
    for number, text in enumerate(texts):
        created = NOW - timedelta(days=400 * dice.random() ** 1.5)
        source = dice.choices(("human", "ai", "ingest"), (0.25, 0.55, 0.2))[0]
        accesses = dice.choices((0, 1, 3, 6, 12), (0.6, 0.2, 0.1, 0.07, 0.03))[0]
        last = created + (NOW - created) * dice.random() if accesses else None
        made.append(
            Memory(
                id=f"b{number:09}",
                content=text,
                content_hash=content_hash(text),
                title=text[:60],
                kind=dice.choice(("fact", "event", "decision", "how_to")),
                layer=dice.choices(("episodic", "semantic", "procedural"), (0.6, 0.3, 0.1))[0],
                project=f"project-{_turn(created, projects) if in_turn else dice.randrange(projects)}",
                source=source,
                trust=trust_of(source),
                importance=round(dice.random(), 2),
                stability=0.3,
                created_at=created,
                happened_at=created,
                updated_at=created,
                access_count=accesses,
                last_accessed_at=last,
                access_times=(last,) * min(accesses, 3) if last else (),
                embedder=HashedWords.stamp,
            )
        )
    return made


def _turn(created: datetime, projects: int) -> int:
    """Return the number of the project that was worked on at a moment; 0 is the latest."""
    return min(projects - 1, int((NOW - created) / timedelta(days=400) * projects))


async def filled(folder: Path, count: int, projects: int = 8, *, in_turn: bool = False) -> Session:
    """Open a store with so many memories in it."""
    session = await Session.open(Settings(home=str(folder)), embedder=HashedWords(), clock=lambda: NOW, folder=folder)
    await fill(session, memories(count, projects, in_turn=in_turn))
    return session


async def fill(session: Session, held: Sequence[Memory]) -> None:
    """Write memories with hashed vectors."""
    count = len(held)
    for start in range(0, count, _ROWS_AT_ONCE):
        part = [Embedded(memory, _vector(memory.content)) for memory in held[start : start + _ROWS_AT_ONCE]]
        async with session.store.changing():
            await write_batch(session.store, part)
    for layer in ("episodic", "semantic", "procedural"):
        await session.store.database.table(layer).tidy(timedelta(0))


async def scale(sizes: Sequence[int]) -> None:
    """Print how long a first and a second night take, and the exponent between the first and the last size."""
    print("| memories | first night | second night | changes | questions | peak memory |")
    print("|---|---|---|---|---|---|")
    seconds = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            session = await filled(Path(folder), size)
            stages: dict[str, float] = {}
            began = last = time.perf_counter()
            stage = ""

            async def tell(done: int, total: int, message: str, stages: dict[str, float] = stages) -> None:
                nonlocal last, stage
                now = time.perf_counter()
                if stage:
                    stages[stage] = stages.get(stage, 0.0) + now - last
                stage, last = message, now

            first = await consolidate(session, ConsolidateRequest(), tell)
            took = time.perf_counter() - began
            began = time.perf_counter()
            second = await consolidate(session, ConsolidateRequest())
            again = time.perf_counter() - began
            assert not any(step.planned for step in second.steps), "the second night at one moment found work"
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            changes = sum(step.applied for step in first.steps)
            print(
                f"| {size:,} | {took:.1f} s | {again:.1f} s | {changes:,} | {len(first.questions)} | {peak:,.0f} MB |"
            )
            print("  " + ", ".join(f"{name} {spent:.1f}" for name, spent in stages.items()), file=sys.stderr)
            seconds.append(took)
            await session.close()
    if len(sizes) > 1:
        exponent = math.log(seconds[-1] / seconds[0]) / math.log(sizes[-1] / sizes[0])
        print(f"\nTime grows with the number of memories to the power of {exponent:.2f}.")


async def day(sizes: Sequence[int], *, in_turn: bool) -> None:
    """Print how long a night takes after a day of 500 new memories in two projects, beside a read of everything."""
    print("Seconds on the clock, and in brackets of processor time.\n")
    print("| memories | projects | first nights | quiet night | after a day of 500 | reading for it ", end="")
    print("| memories read | with everything read | one plan |")
    print("|---|---|---|---|---|---|---|---|---|")
    for size in sizes:
        projects = max(8, size // PROJECT_SIZE)
        first, quiet, full, night, reading = Took(), Took(), Took(), Took(), Took()
        with tempfile.TemporaryDirectory() as folder:
            session = await filled(Path(folder), size, projects, in_turn=in_turn)
            context = DreamContext(store=session.store, settings=session.settings, embedder=session.embedder)
            names = [f"project-{number}" for number in range(projects)]
            for start in range(0, projects, PROJECTS_AT_ONCE):  # or the first night would hold the whole store
                await first.by(dream(context, NOW, projects=names[start : start + PROJECTS_AT_ONCE]))
            await quiet.by(dream(context, NOW))
            tomorrow = NOW + timedelta(days=1)
            await fill(session, _new_day(size, tomorrow))
            what = await reading.by(read(context, tomorrow))
            print(f"{len(what.projects)} of {projects} projects are read", file=sys.stderr)
            same = ""
            if size <= LARGEST_FULL_READ:
                everything = replace(context, reads_everything=True)
                wanted = _plan(await full.by(dream(everything, tomorrow, dry_run=True)), what.projects)
                found = _plan(await dream(context, tomorrow, dry_run=True), what.projects)
                same = f"yes, {len(found)} change sets" if found == wanted else "NO"
            await night.by(dream(context, tomorrow))
            print(f"| {size:,} | {projects} | {first} | {quiet} | {night} | {reading} ", end="")
            print(f"| {len(what.snapshot.memories):,} | {full} | {same} |", flush=True)
            await session.close()


class Took:
    """Seconds on the clock, and of processor time, which says more where others use the machine."""

    def __init__(self) -> None:
        self.clock = self.processor = 0.0

    async def by(self, work: Awaitable[Result]) -> Result:
        """Do some work and add what it takes."""
        clock, processor = time.perf_counter(), time.process_time()
        result = await work
        self.clock += time.perf_counter() - clock
        self.processor += time.process_time() - processor
        return result

    def __str__(self) -> str:
        return f"{self.clock:.1f} s ({self.processor:.1f})" if self.clock else "not tried"


def _new_day(size: int, now: datetime) -> list[Memory]:
    """Return 500 new memories of two projects, written in the last hours."""
    dice = random.Random(7)  # noqa: S311
    fresh = [text for text in notes(size + DAY) if text][size:]
    made = memories(DAY)
    moments = [now - timedelta(minutes=dice.randrange(1, 600)) for _ in made]
    return [
        replace(
            memory,
            id=f"d{number:09}",
            content=text,
            content_hash=content_hash(text),
            title=text[:60],
            project=f"project-{number % 2}",
            created_at=at,
            happened_at=at,
            updated_at=at,
            access_count=0,
            last_accessed_at=None,
            access_times=(),
        )
        for number, (memory, text, at) in enumerate(zip(made, fresh, moments, strict=True))
    ]


def _plan(report: DreamReport, projects: frozenset[str]) -> list[object]:
    """Return the change sets of a dream; bridges are looked for only in projects that changed."""
    return [
        (step.name, change_set)
        for step in report.steps
        for change_set in step.change_sets
        if step.name != "synthesis" or change_set.questions[0].about[-1] in projects
    ]


async def meanwhile(size: int) -> None:
    """Print how long recall takes alone, and while a session like this one dreams, in its own process or apart."""
    with tempfile.TemporaryDirectory() as folder:
        # The embedder and clock of the settings, so that another process can open the store as well.
        settings = Settings(home=folder, clock=iso(NOW), dream="manual")
        session = await Session.open(settings, clock=clock_from(iso(NOW)), folder=Path(folder))
        await session.warm()
        await fill(session, [replace(memory, embedder=session.embedder.stamp) for memory in memories(size)])
        for query in questions(30):
            await _asked(session, query)
        print(f"recall at {size:,} memories, p50 and p95:")
        for name, dream in (("apart, as a server does", consolidate_in_process), ("in this process", consolidate)):
            alone = await _asked_until(session, questions(100, seed=4))
            dreaming = asyncio.create_task(dream(session, ConsolidateRequest(dry_run=True)))
            during = await _asked_until(session, questions(10_000, seed=5), dreaming)
            await dreaming
            ratio = statistics.median(during) / statistics.median(alone)
            print(
                f"  {name}: {_shown(alone)} alone, {_shown(during)} over {len(during)} while it dreams: "
                f"{ratio:.2f} × (aim: < 2 ×)"
            )
        await session.close()


async def _asked_until(
    session: Session, queries: Sequence[str], dreaming: "asyncio.Task[Consolidated] | None" = None
) -> list[float]:
    times = []
    for query in queries:
        if dreaming is not None and dreaming.done():
            break
        times.append(await _asked(session, query))
        await asyncio.sleep(_BETWEEN_QUESTIONS)
    return times


async def _asked(session: Session, query: str) -> float:
    began = time.perf_counter()
    await recall(session, RecallRequest(query=query, project="project-1"))
    return (time.perf_counter() - began) * 1000


def _shown(times: Sequence[float]) -> str:
    return f"{statistics.median(times):.1f} and {sorted(times)[int(len(times) * 0.95)]:.1f} ms"


def graph(size: int) -> None:
    """Print how many of the truly near pairs the cells find."""
    vectors = np.stack([_vector(text) for text in notes(size)])
    near = near_pairs(vectors, ["p"] * size)
    sample = range(0, size, max(1, size // 500))
    wanted = found = 0
    for row in sample:
        line = vectors @ vectors[row]
        line[row] = -1.0
        best = np.argsort(-line)[:10]
        truly = {int(other) for other in best if line[other] >= LEAST_COSINE}
        wanted += len(truly)
        found += len(truly & {int(other) for other in near.rows[row]})
    print(
        f"of the ten nearest above {LEAST_COSINE}, the cells find {found / max(1, wanted):.1%} at {size:,} ({wanted})"
    )


def merge(data: Path) -> None:
    """Print what the merge rules do on pairs of sentences whose relation people have judged."""
    path = data / "sick-dev.jsonl"
    if not path.exists():
        print(f"{path} is not there; give --data. (Sentence pairs for research use; see the README of the data.)")
        return
    pairs = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    contradicting = [pair for pair in pairs if pair["label"] == "contradiction"]
    same = [pair for pair in pairs if pair["label"] == "entailment" and pair["relatedness"] >= 4.8]
    neutral = [pair for pair in pairs if pair["label"] == "neutral"]
    for name, chosen in (("contradiction", contradicting), ("entailment ≥ 4.8", same), ("neutral", neutral)):
        fused = sum(restates(pair["a"], pair["b"]) for pair in chosen)
        print(f"{name}: fused {fused} of {len(chosen)} ({fused / len(chosen):.1%})")


async def after(data: Path) -> None:
    """Print how well recall answers questions about conversations, before and after a night."""
    import recall as conversations

    for name in ("locomo-dev", "beam-dev"):
        path = data / f"{name}.json"
        if not path.exists():
            print(f"{path} is not there; give --data.")
            continue
        scores = conversations.Score(), conversations.Score()
        for store in json.loads(path.read_text("utf-8"))["stores"]:
            asked = [question for question in store["questions"] if conversations._counts(question)]
            with tempfile.TemporaryDirectory() as folder:
                await conversations._import(folder, store["items"])
                session = await conversations._opened(folder)
                for score in scores:
                    for question in asked:
                        score.count(question, await conversations._recalled(session, question["query"]))
                    await consolidate(session, ConsolidateRequest())
                await session.close()
        for metric in ("frac@10", "any@5", "all@5", "updated first"):
            before, later = (score.percent(metric) for score in scores)
            if before is not None and later is not None:
                print(f"{name}, {metric}: {before:.2f} before the night, {later:.2f} after it")


def main() -> int:
    """Measure what was asked for and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="scale,recall,graph,merge")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--in-turn", action="store_true", help="one project after the other, not all at any time")
    given = parser.parse_args()
    sizes = [int(size) for size in given.sizes.split(",")]
    chosen = given.only.split(",")
    if "scale" in chosen:
        asyncio.run(scale(sizes))
    if "day" in chosen:
        asyncio.run(day(sizes, in_turn=given.in_turn))
    if "recall" in chosen:
        asyncio.run(meanwhile(min(sizes)))
    if "graph" in chosen:
        graph(min(sizes))
    if "merge" in chosen:
        merge(given.data)
    if "after" in chosen:
        asyncio.run(after(given.data))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
