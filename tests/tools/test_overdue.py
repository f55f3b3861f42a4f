"""Past its deadline or its tier, a memory is over for every reader, though no sweep has come by to say so."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reverie.lifecycle.rules import overdue
from reverie.recall.results import Recalled
from reverie.time import iso
from reverie.tools.brief import brief
from reverie.tools.consolidate import consolidate
from reverie.tools.export_jsonl import export
from reverie.tools.inspect import inspect
from reverie.tools.requests import BriefRequest, ConsolidateRequest, InspectRequest, RestoreRequest, StatusRequest
from reverie.tools.restore import restore
from reverie.tools.results import Remembered
from reverie.tools.session import Session
from reverie.tools.status import status

pytestmark = pytest.mark.anyio

Keep = Callable[..., Awaitable[Remembered]]
Ask = Callable[..., Awaitable[Recalled]]

TEXT = "the fair is in town on the market square"


@pytest.fixture(params=["forget_after", "tier"])
async def late(request: pytest.FixtureRequest, keep: Keep, clock: Any) -> str:
    """A memory whose time is over, by its deadline or by its tier; nothing was swept since."""
    limit = {"forget_after": "2d"} if request.param == "forget_after" else {"tier": "goldfish"}
    kept = await keep(TEXT, layer="episodic", kind="event", **limit)
    await keep("the market square is paved with granite", layer="semantic")
    clock.advance(days=3)
    return kept.id


@pytest.mark.rule("003-ttl")
async def test_recall_leaves_it_out_and_counts_it(late: str, ask: Ask) -> None:
    answer = await ask("market square fair")
    assert late not in [row.id for row in answer.results]
    assert answer.filtered["status"] == 1
    assert answer.total_matches == len(answer.results)


async def test_recall_shows_it_as_expired_to_who_asks_for_that(late: str, ask: Ask) -> None:
    answer = await ask("market square fair", include=["expired"])
    assert {row.id: row.status for row in answer.results}[late] == "expired"


async def test_as_of_heeds_the_moment_asked_for(late: str, ask: Ask, session: Session, clock: Any) -> None:
    then = iso(session.now)
    clock.advance(days=-2, hours=-22)
    while_it_held = iso(session.now)
    clock.advance(days=2, hours=22)
    assert late in [row.id for row in (await ask("market square fair", as_of=while_it_held)).results]
    assert late not in [row.id for row in (await ask("market square fair", as_of=then)).results]


async def test_a_pin_holds(keep: Keep, ask: Ask, clock: Any) -> None:
    kept = await keep(TEXT, layer="episodic", forget_after="2d", pin=True)
    clock.advance(days=3)
    assert [row.id for row in (await ask("market square fair")).results] == [kept.id]


@pytest.mark.rule("000-tiers")
async def test_brief_does_not_tell_it(keep: Keep, session: Session, clock: Any) -> None:
    kept = await keep("we meet at the fountain", kind="decision", layer="procedural", forget_after="2d")
    assert kept.id in (await brief(session, BriefRequest())).memories
    clock.advance(days=3)
    assert (await brief(session, BriefRequest())).memories == []


async def test_inspect_status_and_export_call_it_expired(late: str, session: Session, tmp_path: Path) -> None:
    [memory] = (await inspect(session, InspectRequest(ids=[late]))).memories
    assert memory["status"] == "expired"
    assert memory["status_reason"] in ("ttl-expired", "tier-expired")
    assert (await status(session, StatusRequest())).counts["episodic"] == {"expired": 1}
    file = tmp_path / "out.jsonl"
    await export(session, str(file), progress=lambda done, total: None)
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert {line["id"]: line["status"] for line in lines}[late] == "expired"


async def test_the_same_text_is_kept_anew(late: str, keep: Keep) -> None:
    again = await keep(TEXT, layer="episodic")
    assert (again.id != late, again.duplicate_of, again.warnings) == (True, None, [])


async def test_a_dream_without_a_sweep_does_not_see_it(keep: Keep, session: Session, clock: Any) -> None:
    for number in range(4):
        await keep(f"stall {number} of the fair sells lamps", layer="episodic", forget_after="2d")
    clock.advance(days=3)
    told = await consolidate(session, ConsolidateRequest(steps=["dedupe", "cluster", "digest"], dry_run=True))
    assert told.changes == []


async def test_restore_brings_it_back_for_good(late: str, session: Session, ask: Ask) -> None:
    assert (await restore(session, RestoreRequest(ids=[late]))).restored == [late]
    assert late in [row.id for row in (await ask("market square fair")).results]


async def test_what_was_recalled_often_is_left_to_the_sweep(late: str, session: Session) -> None:
    memory = replace(await session.store.resolve(late), forget_after=None, tier="goldfish")
    assert overdue(memory, session.now)
    assert overdue(replace(memory, access_count=5), session.now) is None
