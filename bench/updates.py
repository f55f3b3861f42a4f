"""How statements that replace, repeat or stand beside others are taken, through the tools: `python bench/updates.py`.

Each pair of `--data`/coding/updates.jsonl is remembered in a project of its own, the older one a month before the
newer one; then a dream looks at all of them, and what it asks is read. Nothing is answered. `world.jsonl` and
`questions.jsonl` say whether recall shows the current statement before the stale one, before and after a dream.
`--pairs FILE` takes another file of pairs; `--show` prints what went wrong.
"""

import argparse
import asyncio
import io
import json
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from figures import markdown_table

from reverie.embeddings.bundled import BundledEmbedder
from reverie.settings import Settings
from reverie.tools.consolidate import consolidate
from reverie.tools.import_jsonl import import_memories
from reverie.tools.recall import recall
from reverie.tools.remember import remember
from reverie.tools.requests import ConsolidateRequest, RecallRequest, RememberRequest
from reverie.tools.session import Session

EMBEDDER = BundledEmbedder()
AIMS = {
    ("update", "noticed"): "≥ 75 %",
    ("compatible", "changed"): "0",
    ("compatible", "asked or reported"): "≤ 8 %",
    ("same", "recognised"): "≥ 70 %",
    ("same", "asked or reported"): "≤ 2 %",
    ("recall", "current first"): "≥ 85 %",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one pair."""

    pair: dict[str, str]
    reported: bool
    asked: bool
    changed: bool
    recognised: bool

    @property
    def is_right(self) -> bool:
        """Whether it is what a reader would want of this pair."""
        noticed = self.reported or self.asked or self.changed
        match self.pair["label"]:
            case "update":
                return noticed
            case "same":
                return self.recognised and not (self.reported or self.asked)
            case _:
                return not (noticed or self.recognised)


async def outcomes_of(pairs: list[dict[str, str]]) -> list[Outcome]:
    """Remember every pair, dream once, and read what was reported, asked and changed."""
    with tempfile.TemporaryDirectory() as folder:
        session = await _opened(folder, "-30d")
        olds = [
            await remember(session, RememberRequest(content=pair["old"], project=f"p{number}"))
            for number, pair in enumerate(pairs)
        ]
        await session.close()
        session = await _opened(folder)
        news = [
            await remember(session, RememberRequest(content=pair["new"], project=f"p{number}"))
            for number, pair in enumerate(pairs)
        ]
        await consolidate(session, ConsolidateRequest())
        asked = {frozenset(one.memory_ids): one.kind for one in await session.store.review_queue.open()}
        memories = await session.store.get([one.id for one in (*olds, *news)])
        await session.close()
    found = []
    for pair, old, new in zip(pairs, olds, news, strict=True):
        kind = asked.get(frozenset((old.id, new.id)))
        changed = any(memories[one.id].status != "active" for one in (old, new))
        recognised = new.duplicate_of == old.id or new.id == old.id or kind == "merge"
        found.append(
            Outcome(
                pair,
                reported=any(conflict.id == old.id for conflict in new.conflicts),
                asked=kind == "belief",
                changed=changed,
                recognised=recognised,
            )
        )
    return found


async def current_first(world: list[dict[str, Any]], questions: list[dict[str, Any]], *, dream: bool) -> float:
    """Return the share of questions on what has changed whose current answer stands above the stale one."""
    with tempfile.TemporaryDirectory() as folder:
        session = await _opened(folder)
        lines = "".join(json.dumps({**note, "project": "bench"}) + "\n" for note in world)
        await import_memories(session, io.BytesIO(lines.encode()), lambda _: None)
        if dream:
            await consolidate(session, ConsolidateRequest())
        right = 0
        for question in questions:
            found = await recall(session, RecallRequest(query=question["query"], limit=8))
            ids = [row.id for row in found.results]
            best, stale = (
                min((ids.index(one) for one in question[side] if one in ids), default=len(ids))
                for side in ("gold", "stale")
            )
            right += best < stale
        await session.close()
    return right / len(questions)


async def _opened(folder: str, clock: str | None = None) -> Session:
    settings = Settings(home=folder, project="bench", clock=clock)
    return await Session.open(settings, embedder=EMBEDDER, folder=Path(folder))


def table_of(outcomes: list[Outcome]) -> list[tuple[str, str, str, str]]:
    """Return a row for each figure: of what, which, how many, and the aim."""
    by_label: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_label[outcome.pair["label"]].append(outcome)
    rows = []
    for label, group in by_label.items():
        figures = {
            "noticed": [one.reported or one.asked or one.changed for one in group],
            "asked or reported": [one.reported or one.asked for one in group],
            "changed": [one.changed for one in group],
            "recognised": [one.recognised for one in group],
        }
        rows += [
            (f"{label} ({len(group)})", name, f"{sum(held) / len(held):.1%}", AIMS.get((label, name), ""))
            for name, held in figures.items()
        ]
    return rows


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


async def main(data: Path, pairs: Path | None, *, show: bool) -> None:
    """Print all figures."""
    outcomes = await outcomes_of(_lines(pairs or data / "coding" / "updates.jsonl"))
    rows = [("of", "figure", "share", "aim"), *table_of(outcomes)]
    if pairs is None:
        world = _lines(data / "coding" / "world.jsonl")
        questions = [one for one in _lines(data / "coding" / "questions.jsonl") if one.get("stale")]
        for dream in (False, True):
            share = await current_first(world, questions, dream=dream)
            when = "after a dream" if dream else "before a dream"
            aim = AIMS["recall", "current first"]
            rows.append((f"recall ({len(questions)})", f"current first, {when}", f"{share:.1%}", aim))
    print(markdown_table(rows))
    for outcome in outcomes if show else []:
        if not outcome.is_right:
            print(f"{outcome.pair['label']}: {outcome.pair['old']} => {outcome.pair['new']}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--pairs", type=Path, help="a file of pairs: old, new, label")
    parser.add_argument("--show", action="store_true", help="print the pairs that went wrong")
    given = parser.parse_args()
    if given.pairs is None and not (given.data / "coding" / "updates.jsonl").exists():
        sys.exit(f"There is no coding/updates.jsonl in {given.data}: name the folder with --data.")
    asyncio.run(main(given.data, given.pairs, show=given.show))
