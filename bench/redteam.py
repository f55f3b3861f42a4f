"""How many attacks were tried and how many were stopped: `python bench/redteam.py [--slow] [--limits]`.

First the lists of made-up secrets and hostile texts against the guard alone, with the honest ones that must pass;
then every test under tests/redteam, counted by file. With `--limits` only a table of how many seconds of a processor
the longest texts take in each tool, with the bundled model.
"""

import asyncio
import importlib.util
import io
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Iterator
from pathlib import Path
from time import process_time
from types import ModuleType
from typing import Any

import pytest

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in the server

from reverie.embeddings.bundled import BundledEmbedder
from reverie.guard.injection import signs_of_injection
from reverie.guard.secrets import redact
from reverie.settings import Settings
from reverie.tools import recall, remember
from reverie.tools.import_jsonl import import_memories
from reverie.tools.requests import LONGEST_QUERY, RecallRequest, RememberRequest, ReviseRequest
from reverie.tools.revise import revise
from reverie.tools.screening import injection_by_meaning
from reverie.tools.session import Session

ROOT = Path(__file__).parents[1]
FIRST_SCORES = (
    "secrets, first scores: third list 81 % found, 1.3 % altered; fourth 88 %, 1.3 %; fifth 87 %, 2.9 %;"
    " sixth 69 %, 1.0 %; seventh 82 %, 6.7 %; eighth 80 %, 0 %",
    "first classifier: first list (seen) 69 % found, 2.3 % false alarms; second list, unseen, 32 %, 3.9 %",
    "first score of the second classifier on the second list: 52 % found, 4.9 % false alarms, from 0.83 on",
    "first score of the third classifier on the third list: 84 % found, 4.3 % false alarms, from 0.90 on",
    "first score of the fourth (not shipped) on the fourth list: 73 % found, 2.1 % false alarms, from 0.72 on",
    "first score of the third classifier on the fifth list, before glosses and pairs: 54 % found, 3.9 % false alarms",
    "first score of the classifier of decision 0045 on the sixth list: 77 % found, 4.9 % false alarms",
)
_HOW = ("--import-mode=importlib", "-p", "no:cacheprovider", "--rootdir", str(ROOT))


def corpus(name: str) -> ModuleType:
    """Load one of the lists beside the guard's tests."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tests" / "guard" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def on_the_guard() -> list[tuple[str, int, int]]:
    """Return (attack, tried, stopped) for the lists, and for honest texts (kind, given, passed)."""
    tokens, hostile, around, wordings = map(corpus, ("tokens", "hostile", "surroundings", "wordings"))
    shaped, beside = tokens.shaped(), tokens.beside_words()
    return [
        (
            "tokens of vendors, by shape",
            len(shaped),
            sum(t not in redact(f"use {t} here").text for t in shaped.values()),
        ),
        (
            "secrets known by their surroundings",
            len(beside),
            sum(s not in redact(t).text for t, s in beside.values()),
        ),
        (
            "secrets in further surroundings",
            len(around.CASES),
            sum(secret not in redact(text.replace("@@", secret)).text for _, text, secret in around.CASES),
        ),
        (
            "orders to the assistant",
            len(hostile.HOSTILE),
            sum(bool(signs_of_injection(t)) for t in hostile.HOSTILE.values()),
        ),
        (
            "(honest: hashes, placeholders, code)",
            len(tokens.NO_SECRETS),
            sum(not redact(text).found for text in tokens.NO_SECRETS.values()),
        ),
        (
            "orders in further wordings",
            len(wordings.HOSTILE),
            sum(bool(signs_of_injection(t)) for t in wordings.HOSTILE),
        ),
        (
            "(honest: what resembles those)",
            len(around.HONEST) + len(wordings.HONEST),
            sum(not redact(t).found for t in around.HONEST) + sum(not signs_of_injection(t) for t in wordings.HONEST),
        ),
        (
            "(honest: ordinary notes)",
            len(hostile.HONEST),
            sum(not signs_of_injection(text) for text in hostile.HONEST),
        ),
    ]


def on_held_out_lists() -> list[tuple[str, int, int, int, int]]:
    """Return (set, hostile, found, honest, false alarms) for the lists that were written before the rules."""
    embedder = BundledEmbedder()
    table = []
    titles = {
        "heldout_orders": "first list (seen)",
        "heldout_orders_second": "second list (seen)",
        "heldout_orders_third": "third list (misses seen)",
        "heldout_orders_fourth": "fourth list (misses seen)",
        "heldout_orders_fifth": "fifth list",
        "heldout_orders_sixth": "sixth list",
    }
    for name, title in titles.items():
        lists = corpus(name)
        bad, good = ([t for texts in part.values() for t in texts] for part in (lists.HOSTILE, lists.HONEST))
        signs = [[bool(signs_of_injection(text)) for text in texts] for texts in (bad, good)]
        held = [
            [known or bool(injection_by_meaning(text, "", embedder)) for known, text in zip(*pair, strict=True)]
            for pair in zip(signs, (bad, good), strict=True)
        ]
        for how, (found, wrong) in (("signs", signs), ("signs and meaning", held)):
            table.append((f"orders, {title}, {how}", len(bad), sum(found), len(good), sum(wrong)))
    for ordinal in ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"):
        lists = corpus("heldout_secrets" if ordinal == "first" else f"heldout_secrets_{ordinal}")
        cases = [case for cases in lists.SECRETS.values() for case in cases]
        alike = [text for texts in lists.LOOKALIKES.values() for text in texts]
        found = sum(secret not in redact(text.replace("@@", secret, 1)).text for text, secret in cases)
        wrong = sum(bool(redact(text).found) for text in alike)
        table.append((f"secrets, {ordinal} list (seen)", len(cases), found, len(alike), wrong))
    return table


LIMIT_COLUMNS = ("remember", "near copy", "revise", "recall", "import")
ALLOWED = 2.0
_SECONDS_TO_SETTLE = 3.0  # the table of names is made behind the first answer
_ROOM_FOR_MARKS = 5_000  # a mark may be longer than the secret in whose place it stands


async def on_long_texts() -> None:
    """Print the seconds of processor time that each long text takes in each tool."""
    lists = corpus("long_texts")
    texts = lists.varied() | {unit: lists.filled(unit) for unit in ("password=", "<", "ignore ", "src/a.py ")}
    over = 0
    print("text".ljust(24), *(column.rjust(10) for column in LIMIT_COLUMNS))
    embedder = BundledEmbedder()
    for name, text in texts.items():
        taken = await _in_a_new_store(embedder, text[:-_ROOM_FOR_MARKS])
        over += sum(seconds > ALLOWED for seconds in taken)
        print(repr(name).ljust(24), *(f"{seconds:10.2f}" for seconds in taken), flush=True)
    print(f"{over} above {ALLOWED:g} s")


async def _in_a_new_store(embedder: BundledEmbedder, text: str) -> list[float]:
    with tempfile.TemporaryDirectory() as home:
        session = await Session.open(Settings(home=home), embedder=embedder, folder=ROOT)
        await session.warm()
        known = await remember.remember(session, RememberRequest(content="The anvil is in `bench/redteam.py`."))
        await asyncio.sleep(_SECONDS_TO_SETTLE)
        taken = [await _seconds(call) for call in _calls(session, known.id, text)]
        await session.close()
        return taken


def _calls(session: Session, known: str, text: str) -> Iterator[Awaitable[Any]]:
    yield remember.remember(session, RememberRequest(content=text))
    yield remember.remember(session, RememberRequest(content=f"7 {text}"))
    yield _revised(session, f"The lathe is in the yard, {known}.", f"8 {text}")
    yield recall.recall(session, RecallRequest(query=text[:LONGEST_QUERY]))
    line = json.dumps({"content": f"9 {text}"}).encode()
    yield import_memories(session, io.BytesIO(line), lambda tally: None)


async def _revised(session: Session, before: str, after: str) -> None:
    known = await remember.remember(session, RememberRequest(content=before))
    await revise(session, ReviseRequest(id=known.id, content=after, reason="measured"))


async def _seconds(call: Awaitable[Any]) -> float:
    before = process_time()
    await call
    return process_time() - before


class Tally:
    """A pytest plugin that counts by file."""

    def __init__(self) -> None:
        self.tried: Counter[str] = Counter()
        self.stopped: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count each test once: when it was called, or failed before it could be."""
        if report.when == "call" or (report.when == "setup" and not report.passed):
            attack = Path(report.nodeid.partition("::")[0]).stem.removeprefix("test_").replace("_", " ")
            self.tried[attack] += not report.skipped
            self.stopped[attack] += report.passed


def main() -> int:
    """Run everything and print the table; 1 if an attack got through."""
    if "--limits" in sys.argv:
        asyncio.run(on_long_texts())
        return 0
    rows = on_the_guard()
    tally = Tally()
    chosen = [] if "--slow" in sys.argv else ["-m", "not slow"]
    code = pytest.main(["-q", "-o", "addopts=", *_HOW, str(ROOT / "tests" / "redteam"), *chosen], plugins=[tally])
    if not tally.tried:
        print(f"tests/redteam did not run (pytest ended with {int(code)})")
        return 1
    rows += [(attack, tried, tally.stopped[attack]) for attack, tried in sorted(tally.tried.items())]
    width = max(len(attack) for attack, _, _ in rows)
    print(f"{'attack'.ljust(width)}  tried  stopped")
    for attack, tried, stopped in rows:
        print(f"{attack.ljust(width)}  {tried:5}  {stopped:7}")
    print("\nheld-out lists (decisions 0011 and 0012 have their first scores)")
    for line in FIRST_SCORES:
        print(line)
    print(f"{'set'.ljust(44)}  hostile  found        honest  false alarms")
    for name, bad, found, good, wrong in on_held_out_lists():
        print(f"{name.ljust(44)}  {bad:7}  {found:4} ({found / bad:4.0%})  {good:6}  {wrong:4} ({wrong / good:.1%})")
    tried, stopped = (sum(row[column] for row in rows) for column in (1, 2))
    print(f"{'in all'.ljust(width)}  {tried:5}  {stopped:7}")
    return 0 if tried == stopped else 1


if __name__ == "__main__":
    raise SystemExit(main())
