"""How much memory search takes, and where the line is."""

import os
import random
import sys
from datetime import timedelta

import numpy as np
import pytest

from reverie.memory import LAYERS
from reverie.process_memory import machine_memory
from reverie.settings import Settings
from reverie.storage.scope import Scope
from reverie.storage.vector_search import MemoryBudget
from reverie.tools.session import search_memory_of


@pytest.mark.parametrize(
    ("megabytes", "vectors", "fit"),
    [
        pytest.param(1, 512, True, id="three quarters of 1 MiB are 512 vectors of 384 numbers of 4 bytes"),
        pytest.param(1, 513, False, id="one more"),
        pytest.param(0, 0, True, id="an empty store fits anywhere"),
        pytest.param(0, 1, False, id="no memory"),
    ],
)
def test_vectors_have_three_quarters_of_the_budget(megabytes: int, vectors: int, fit: bool) -> None:
    budget = MemoryBudget(megabytes * 1024 * 1024)
    assert budget.fits({32: vectors}, 384) is fit
    assert budget.row_bytes == megabytes * 256 * 1024


def test_the_setting_decides_and_else_a_sixteenth_of_what_the_machine_has() -> None:
    assert search_memory_of(Settings(home="/x", search_memory=2.5)) == 2.5 * 1024 * 1024
    assert search_memory_of(Settings(home="/x", search_memory=0.0)) == 0
    assert search_memory_of(Settings(home="/x")) == machine_memory() // 16


@pytest.mark.skipif(sys.platform == "win32", reason="sysconf is not there")
def test_a_machine_has_no_more_memory_than_its_pages() -> None:
    assert 0 < machine_memory() <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.mark.anyio
async def test_what_is_added_one_by_one_stands_in_the_order_of_sessions_and_times(session, make) -> None:
    dice = random.Random(7)  # noqa: S311 - the same story every time
    for _ in range(12):
        added = [
            make(
                f"the lamp {dice.random()}",
                layer=dice.choice(LAYERS),
                session=dice.choice((None, "one", "two")),
                happened_at=session.now + timedelta(hours=dice.randrange(4)),
            )
            for _ in range(dice.randrange(1, 4))
        ]
        await session.store.add(added, actor="test", at=session.now)
        found = await session.store.search.find(None, Scope(), 10)
        index = found.index
        expected = np.lexsort((np.arange(len(index)), index._moments, index._sessions))
        assert index._by_session_and_time.tolist() == expected.tolist()
