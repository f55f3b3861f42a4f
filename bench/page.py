"""How long each view of the page waits for its answers, on a store of 100,000 memories over two years.

    python bench/page.py                       builds the store in a temporary folder: some minutes
    python bench/page.py --home DIR            builds it there once, and uses it the next time
    python bench/page.py --size 20000 --write  writes the table to docs/benchmarks.md

Each call goes through the page's own HTTP server, with its cookie and its key. "first" is the first call of a fresh
engine whose index is loaded, "again" the median of the next five, "after a change" that of a call right after a
memory was written. The store is that of bench/sizes.py, with ages, sources and recalls drawn from a seed.
"""

import argparse
import asyncio
import json
import random
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from time import perf_counter

import numpy as np
from figures import machine, markdown_table
from sizes import AT_ONCE, EMBEDDER, TURNS, _drawn

from reverie.lifecycle.rules import after_moves, due_expiry
from reverie.lifecycle.vitals import trust_of
from reverie.memory import LAYERS, Memory, Source, Status, content_hash
from reverie.settings import Settings
from reverie.storage.rows import Embedded
from reverie.tools.session import Session

DAYS = 730
PROJECT = "bench"
_SOURCES: tuple[Source, ...] = ("ai", "ai", "ai", "human", "interaction", "ingest")
_STATUSES: tuple[Status, ...] = ("active",) * 17 + ("challenged", "expired", "superseded")


def drawn_memory(
    number: int, text: str, *, now: datetime, new_id: str, project: str = PROJECT, dice: random.Random
) -> Memory:
    """Draw a memory of some age, from some source, recalled now and then."""
    written = now - timedelta(days=dice.uniform(0, DAYS))
    source = dice.choice(_SOURCES)
    recalls = sorted(
        written + (now - written) * dice.random() for _ in range(dice.choice((0, 0, 0, 0, 1, 1, 2, 5, 12)))
    )
    status: Status = dice.choice(_STATUSES)
    memory = Memory(
        id=new_id,
        content=text,
        content_hash=content_hash(text),
        title=text[:60],
        kind="fact",
        layer=LAYERS[number % len(LAYERS)],
        project=project if number % 10 else "elsewhere",
        session=f"session-{number // TURNS}",
        source=source,
        trust=trust_of(source),
        importance=round(dice.uniform(0.05, 0.95), 2),
        surprise=dice.choice((None, round(dice.random(), 2))),
        stability=round(dice.uniform(0.1, 1.0), 2),
        access_count=len(recalls),
        access_times=tuple(recalls),
        last_accessed_at=recalls[-1] if recalls else None,
        sessions=tuple(f"s{turn}" for turn in range(min(len(recalls), 4))),
        tier=dice.choice((None, None, None, None, "elephant", "standard")),
        pinned=dice.random() < 0.01,
        status=status,
        expired_at=now if status == "expired" else None,
        created_at=written,
        happened_at=written,
        updated_at=written,
        embedder=EMBEDDER.stamp,
    )
    return _swept(memory, now)


def _swept(memory: Memory, now: datetime) -> Memory:
    """Return a memory as the sweeps of two years would have left it."""
    due = due_expiry(memory, now, "huber")
    if due is not None:
        return replace(memory, status="expired", expired_at=now, status_reason=due.rule)
    return after_moves(memory, now)


async def build(home: Path, size: int) -> None:
    """Write the store in batches and compact it."""
    texts, vectors, pieces = _drawn(size)
    session = await Session.open(
        Settings(home=str(home), project=PROJECT, search_memory=0.0), embedder=EMBEDDER, folder=home.parent
    )
    now, dice = session.now, random.Random(7)
    for start in range(0, size, AT_ONCE):
        items = [
            Embedded(
                drawn_memory(number, text, now=now, new_id=session.store.new_id.memory(), dice=dice),
                vectors[number],
                pieces=pieces[number],
            )
            for number, text in enumerate(texts[start : start + AT_ONCE], start)
        ]
        await session.store.add(items, actor="bench", at=now)
        print(f"{start + len(items):,} written", file=sys.stderr, flush=True)
    await session.maintenance.compact()
    await session.close()


if __name__ == "__main__":
    asyncio.run(build(Path(sys.argv[1]), int(sys.argv[2])))
