"""How well recall finds, on third-party conversations; sizes.py has how fast.

    python bench/recall.py --data ../shared/data      quality: BM25, vectors, rank fusion and recall side by side
    python bench/recall.py --data … --generator both  the same with vectors in memory and with vectors on disk
    python bench/recall.py --data … --write           and into docs/benchmarks.md

Quality goes the way of the tool: every conversation is imported into a store of its own and asked through `recall`.
On disk means: no memory for vectors, and LanceDB's approximate index built as for a store that is too large for it.
The form of the data and the metrics are those of its README; nothing of it is kept.
"""

import argparse
import asyncio
import io
import json
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from figures import machine, markdown_table, write_between

from reverie.embeddings.bundled import BundledEmbedder
from reverie.memory import LAYERS, Memory
from reverie.settings import Settings
from reverie.storage.access_log import AccessRecorder
from reverie.storage.scope import Scope
from reverie.tools import recall
from reverie.tools.import_jsonl import import_memories
from reverie.tools.requests import RecallRequest
from reverie.tools.session import Session

SETS = ("locomo-dev", "beam-dev", "longmemeval-heads-dev")
LEFT_OUT = ("cat5", "abstention")
METRICS = ("frac@10", "any@5", "all@5", "updated first", "same ten in order")
DEPTH = 10
ENOUGH_TOKENS = 20_000
RANK_FUSION_K = 60
AIMS = {
    ("locomo-dev", "frac@10"): 76.0,
    ("beam-dev", "frac@10"): 66.0,
    ("longmemeval-heads-dev", "any@5"): 96.0,
    ("longmemeval-heads-dev", "all@5"): 87.0,
    ("beam-dev", "updated first"): 75.0,
}
EMBEDDER = BundledEmbedder()
GENERATORS = ("memory", "disk")
FEWEST_ROWS_TO_INDEX = 256  # LanceDB makes no approximate index of fewer

Ranking = Sequence[str]


@dataclass(slots=True)
class Score:
    """The metrics of one way of searching over the questions so far."""

    values: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def count(self, question: Mapping[str, Any], found: Ranking) -> None:
        """Take in one answer."""
        gold = set(question["gold"])
        self.values["frac@10"].append(len(gold & set(found[:10])) / len(gold))
        self.values["any@5"].append(bool(gold & set(found[:5])))
        self.values["all@5"].append(gold <= set(found[:5]))
        if question["group"] == "knowledge_update" and question.get("original") and question.get("updated"):
            updated, original = (_best_rank(found, question[name]) for name in ("updated", "original"))
            self.values["updated first"].append(updated < original)

    def percent(self, metric: str) -> float | None:
        """Return the mean of a metric in percent."""
        values = self.values.get(metric)
        return 100 * statistics.fmean(values) if values else None


def _best_rank(found: Ranking, ids: Sequence[str]) -> int:
    return min((found.index(name) for name in ids if name in found), default=len(found))


def main() -> int:
    """Measure what was asked for and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="a folder with the sets; see its README")
    parser.add_argument("--sets", default=",".join(SETS), help="which of them, comma-separated")
    parser.add_argument("--stores", type=int, default=0, help="only the first so many conversations of each")
    parser.add_argument("--generator", choices=(*GENERATORS, "both"), default="memory", help="where the vectors are")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    given = parser.parse_args()
    if not given.data.is_dir():
        parser.error(f"there is no folder {given.data}; the data is not part of this repository")
    generators = GENERATORS if given.generator == "both" else (given.generator,)
    text = quality(given.data, given.sets.split(","), given.stores, generators)
    print(text)
    if given.write:
        write_between("recall-generators" if len(generators) > 1 else "recall-quality", text)
    return 0


# -- quality --------------------------------------------------------------------------------------------------


def quality(data: Path, names: Sequence[str], stores: int, generators: Sequence[str]) -> str:
    """Return one table of every set, way and metric."""
    EMBEDDER.warm()
    rows = []
    for name in names:
        path = data / f"{name}.json"
        if not path.is_file():
            print(f"{path} is not there: left out", file=sys.stderr)
            continue
        scores = asyncio.run(_measured(json.loads(path.read_text("utf-8"))["stores"][: stores or None], generators))
        rows[:0] = [] if rows else [["set", "questions", "metric", *scores, "aim"]]
        asked = len(next(iter(scores.values())).values["frac@10"])
        for metric in METRICS:
            percents = [score.percent(metric) for score in scores.values()]
            if any(percent is not None for percent in percents):
                aim = AIMS.get((name, metric))
                shown = ("" if percent is None else f"{percent:.1f}" for percent in percents)
                rows.append([name, str(asked), metric, *shown, f"≥ {aim:.0f}" if aim else ""])
                print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    return f"{machine()}\n\n{markdown_table(rows)}"


async def _measured(stores: Sequence[Mapping[str, Any]], generators: Sequence[str]) -> dict[str, Score]:
    """Ask every question in every way; with both generators in recall alone, one after the other on one store."""
    scores: dict[str, Score] = defaultdict(Score)
    for number, store in enumerate(stores, 1):
        questions = [q for q in store["questions"] if _counts(q)]
        if not questions:
            continue
        print(f"… {number} of {len(stores)}: {store['id']}", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            await _import(folder, store["items"])
            if len(generators) > 1:
                await _ask_with_each(folder, questions, scores)
            else:
                await _ask_each_way(folder, questions, scores, generators[0])
    return scores


async def _ask_with_each(folder: str, questions: Sequence[Mapping[str, Any]], scores: dict[str, Score]) -> None:
    found: dict[str, list[Ranking]] = {}
    for generator in GENERATORS:
        session = await _opened(folder, generator=generator, counts_recalls=False)
        found[generator] = [await _recalled(session, question["query"]) for question in questions]
        for question, ranking in zip(questions, found[generator], strict=True):
            scores[f"recall, {generator}"].count(question, ranking)
        await session.close()
    same = [float(one == other) for one, other in zip(*found.values(), strict=True)]
    scores["recall, disk"].values["same ten in order"] += same


def _counts(question: Mapping[str, Any]) -> bool:
    return question["group"] not in LEFT_OUT and not question.get("abstention") and bool(question["gold"])


async def _import(folder: str, items: Sequence[Mapping[str, Any]]) -> None:
    session = await _opened(folder)
    lines = "".join(json.dumps(dict(item)) + "\n" for item in items)
    imported = await import_memories(session, io.BytesIO(lines.encode()), lambda _: None)
    for bad in imported.bad_lines:
        print(f"  line {bad.line} was skipped: {bad.reason[:100]}", file=sys.stderr)
    await session.close()


class NothingRecorded(AccessRecorder):
    """Counts no recall: a second way of asking finds the memories as strong as the first did."""

    def note(self, memories: Iterable[Memory], at: datetime, session: str | None = None) -> None:
        """Do nothing."""


async def _opened(
    folder: str, later: timedelta = timedelta(), generator: str = "memory", *, counts_recalls: bool = True
) -> Session:
    settings = Settings(
        home=folder,
        project="bench",
        clock=f"+{later.days}d" if later else None,
        search_memory=0.0 if generator == "disk" else None,
    )
    session = await Session.open(settings, embedder=EMBEDDER, folder=Path(folder))
    if not counts_recalls:
        session.domain.accesses = NothingRecorded(session.store)
    if generator == "disk":
        for name in (*LAYERS, "passages"):
            table = session.store.database.table(name)
            if await table.count() >= FEWEST_ROWS_TO_INDEX and "vector" not in await table.indexed_columns():
                await table.index_vectors()
    return session


async def _ask_each_way(
    folder: str, questions: Sequence[Mapping[str, Any]], scores: dict[str, Score], generator: str
) -> None:
    session = await _opened(folder, generator=generator)
    for question in questions:
        by_words, by_meaning = await _arms(session, question["query"])
        scores["BM25"].count(question, by_words)
        scores["vectors"].count(question, by_meaning)
        scores["rank fusion"].count(question, _rank_fused(by_words, by_meaning))
        scores["recall"].count(question, await _recalled(session, question["query"]))
    await session.close()
    aged = await _opened(folder, timedelta(days=365), generator)
    for question in questions:
        scores["recall, a year later"].count(question, await _recalled(aged, question["query"]))
    await aged.close()


async def _arms(session: Session, query: str) -> tuple[Ranking, Ranking]:
    """Return what LanceDB's BM25 finds alone, and what vectors find alone."""
    scope = Scope(projects=("bench",))
    words = await session.store.matching(query, scope, 200)
    vector = EMBEDDER.read(query).vector
    hits = await session.store.nearest(vector, scope, 200)
    return [hit.id for hit in words], [hit.id for hit in hits]


def _rank_fused(*rankings: Ranking) -> Ranking:
    scores: dict[str, float] = defaultdict(float)
    for ranking in rankings:
        for rank, name in enumerate(ranking, 1):
            scores[name] += 1 / (RANK_FUSION_K + rank)
    return sorted(scores, key=lambda name: -scores[name])


async def _recalled(session: Session, query: str) -> Ranking:
    request = RecallRequest(query=query, limit=DEPTH, max_tokens=ENOUGH_TOKENS)
    answer = await recall.recall(session, request)
    return [row.id for row in answer.results]


if __name__ == "__main__":
    sys.exit(main())
