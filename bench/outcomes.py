"""What came of decisions, as the tools read it from later statements: `python bench/outcomes.py [--list FILE]`.

Each line of the list is {language, decision, statement, outcome, or}; `or` is a second outcome that a reader may see
(what was given up may have failed or been taken back), a line without an outcome is a look-alike. Decision
and statement are remembered a month apart in a project of their own, then a dream looks at all of them. An outcome is
right if the decision has it, asked if the review queue has a question about the two, missed otherwise.
`--show` prints what went wrong.
"""

import argparse
import asyncio
import json
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

from figures import markdown_table

from reverie.embeddings.bundled import BundledEmbedder
from reverie.settings import Settings
from reverie.tools.consolidate import consolidate
from reverie.tools.remember import remember
from reverie.tools.requests import ConsolidateRequest, RememberRequest
from reverie.tools.session import Session

LIST = Path(__file__).parents[1] / "tests" / "text" / "held_out_outcomes.jsonl"
EMBEDDER = BundledEmbedder()
VERDICTS = ("right", "asked", "missed", "wrong", "look-alike left", "look-alike asked", "look-alike set")

Pair = dict[str, str | None]


async def verdicts_of(pairs: list[Pair]) -> list[str]:
    """Remember every pair, dream once, and say for each what became of it."""
    with tempfile.TemporaryDirectory() as folder:
        session = await _opened(folder, "-30d")
        decisions = [
            (await remember(session, RememberRequest(content=str(pair["decision"]), project=f"p{number}"))).id
            for number, pair in enumerate(pairs)
        ]
        await session.close()
        session = await _opened(folder)
        for number, pair in enumerate(pairs):
            await remember(session, RememberRequest(content=str(pair["statement"]), project=f"p{number}"))
        await consolidate(session, ConsolidateRequest())
        asked = {one for question in await session.store.review_queue.open() for one in question.memory_ids}
        memories = await session.store.get(decisions)
        await session.close()
    return [
        verdict([pair["outcome"], pair.get("or")], memories[one].outcome, asked=one in asked)
        for pair, one in zip(pairs, decisions, strict=True)
    ]


def verdict(wanted: list[str | None], noted: str | None, *, asked: bool) -> str:
    """Return one of `VERDICTS` for the outcomes that a reader may see and the one that was noted."""
    if wanted[0] is None:
        return "look-alike " + ("set" if noted else "asked" if asked else "left")
    if noted:
        return "right" if noted.split()[0] in wanted else "wrong"
    return "asked" if asked else "missed"


async def _opened(folder: str, clock: str | None = None) -> Session:
    settings = Settings(home=folder, project="bench", clock=clock)
    return await Session.open(settings, embedder=EMBEDDER, folder=Path(folder))


def main() -> None:
    """Print a row for each language."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", type=Path, default=LIST)
    parser.add_argument("--show", action="store_true", help="print the pairs that went wrong")
    given = parser.parse_args()
    pairs = [json.loads(line) for line in given.list.read_text("utf-8").splitlines() if line.strip()]
    verdicts = asyncio.run(verdicts_of(pairs))
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for pair, found in zip(pairs, verdicts, strict=True):
        counted[pair.get("language", "en")][found] += 1
    counted["all"] = sum(counted.values(), Counter())
    print(
        markdown_table(
            [
                ("language", *VERDICTS),
                *((name, *(str(count[one]) for one in VERDICTS)) for name, count in counted.items()),
            ]
        )
    )
    for pair, found in zip(pairs, verdicts, strict=True):
        if given.show and found not in ("right", "look-alike left"):
            print(f"{found}: {pair['decision']} => {pair['statement']} ({pair['outcome']})")


if __name__ == "__main__":
    main()
