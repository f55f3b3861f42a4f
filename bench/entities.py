"""Precision and recall of the names found in texts.

    python bench/entities.py [--data ../shared/data] [--list FILE] [--half first] [--project each] [--fails]

It reads coding/entities.jsonl of the data folder, or the list: {content, entities, optional}. A name is right if it
is among the entities or the optional ones, in any case and without quotes and call brackets.

The texts are remembered, and the names are those that `remember` stored: each text in a project of its own, which
knows nothing yet (`--project each`), or all in one, which knows the names of the texts before (`--project one`).
"""

import argparse
import asyncio
import json
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from reverie.embeddings.bundled import BundledEmbedder
from reverie.settings import Settings
from reverie.tools.remember import remember
from reverie.tools.requests import RememberRequest
from reverie.tools.session import Session

DATA = Path(__file__).parents[1].parent / "shared" / "data"


@dataclass
class Score:
    """How many names were wanted, found and right, and where it went wrong."""

    wanted: int = 0
    hit: int = 0
    found: int = 0
    right: int = 0
    fails: list[str] = field(default_factory=list)

    def add(self, content: str, found: Sequence[str], entities: list[str], optional: list[str]) -> None:
        """Compare the names found in one text with those that are in it."""
        names = [_normal(name) for name in found]
        wanted, also = [_normal(name) for name in entities], [_normal(name) for name in optional]
        self.wanted += len(wanted)
        self.hit += sum(name in names for name in wanted)
        self.found += len(names)
        self.right += sum(name in wanted + also for name in names)
        missed = [name for name in wanted if name not in names]
        wrong = [name for name in names if name not in wanted + also]
        if missed or wrong:
            self.fails.append(f"missed {missed} wrong {wrong} in: {content}")


def _normal(name: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"\(\)$", "", name.strip().strip("`'\"“”"))).casefold()


async def remembered_names(contents: Sequence[str], *, apart: bool) -> list[tuple[str, ...]]:
    """Remember texts, each in a project of its own or all in one, and return the names stored with each."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(home=folder, project="bench")
        session = await Session.open(settings, embedder=BundledEmbedder(), folder=Path(folder))
        ids = []
        for number, content in enumerate(contents):
            request = RememberRequest(content=content, project=f"p{number}" if apart else "bench")
            ids.append((await remember(session, request)).id)
        memories = await session.store.get(ids)
        await session.close()
    return [tuple(memories[one].entities) for one in ids]


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--list", type=Path, help="another file of texts")
    parser.add_argument("--half", choices=("first", "second"), help="only one half of the texts")
    parser.add_argument(
        "--project", choices=("each", "one"), default="each", help="a project for each text, or for all"
    )
    parser.add_argument("--fails", action="store_true", help="print the texts with a mistake")
    given = parser.parse_args()
    file = given.list or given.data / "coding" / "entities.jsonl"
    if not file.is_file():
        print(f"There is no {file}: give the data folder with --data.", file=sys.stderr)
        return 1
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
    middle = len(rows) // 2
    rows = {"first": rows[:middle], "second": rows[middle:]}.get(given.half, rows)
    found = asyncio.run(remembered_names([row["content"] for row in rows], apart=given.project == "each"))
    score = Score()
    for row, names in zip(rows, found, strict=True):
        score.add(row["content"], names, row["entities"], row.get("optional", []))
    print(
        f"texts={len(rows)} names={score.wanted} recall={score.hit / score.wanted:.0%} "
        f"precision={score.right / max(1, score.found):.0%} found={score.found}"
    )
    if given.fails:
        print(*score.fails, sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
