"""Precision and recall of the names found in texts.

    python bench/entities.py --data ../shared/data [--half first] [--fails]

It reads coding/entities.jsonl of the data folder: {content, entities, optional}. A name is right if it is among the
entities or the optional ones, in any case and without quotes and call brackets. Each text is read by itself, as in a
project that knows nothing yet.
"""

import argparse
import json
import re
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from reverie.text.entities import names_in

DATA = Path(__file__).parents[1].parent / "shared" / "data"


@dataclass
class Score:
    """How many names were wanted, found and right, and where it went wrong."""

    wanted: int = 0
    hit: int = 0
    found: int = 0
    right: int = 0
    fails: list[str] = field(default_factory=list)

    def add(self, content: str, entities: list[str], optional: list[str]) -> None:
        """Compare the names found in one text with those that are in it."""
        names = [_normal(name) for name in names_in(content)]
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


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--half", choices=("first", "second"), help="only one half of the texts")
    parser.add_argument("--fails", action="store_true", help="print the texts with a mistake")
    given = parser.parse_args()
    file = given.data / "coding" / "entities.jsonl"
    if not file.is_file():
        print(f"There is no {file}: give the data folder with --data.", file=sys.stderr)
        return 1
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
    middle = len(rows) // 2
    rows = {"first": rows[:middle], "second": rows[middle:]}.get(given.half, rows)
    names_in("Warm the lists.")
    score = Score()
    started = time.perf_counter()
    for row in rows:
        score.add(row["content"], row["entities"], row.get("optional", []))
    milliseconds = (time.perf_counter() - started) * 1000 / max(1, len(rows))
    print(
        f"texts={len(rows)} names={score.wanted} recall={score.hit / score.wanted:.0%} "
        f"precision={score.right / max(1, score.found):.0%} found={score.found} ({milliseconds:.2f} ms a text)"
    )
    if given.fails:
        print(*score.fails, sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
