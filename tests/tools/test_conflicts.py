"""What remember calls a conflict and what the next dream does about it, through the tools."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from reverie.tools.consolidate import consolidate
from reverie.tools.requests import ConsolidateRequest, ReviewRequest
from reverie.tools.results import Remembered
from reverie.tools.review import review
from reverie.tools.session import Session

pytestmark = pytest.mark.anyio

Keep = Callable[..., Awaitable[Remembered]]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Never deploy the importer to production on a Friday", "Never deploy the importer to production on Fridays"),
        ("Ben owns the nightly import jobs of billing", "The nightly import jobs of billing are owned by Ben"),
        ("Always run `make lint` before you push a branch", "Always run `make test` before you push a branch"),
        ("Deployed v0.3.0 of the billing importer", "Deployed v0.3.1 of the billing importer"),
        ("The lock of the nightly import expires after 5 min", "The lock of the nightly import expires after 300 s"),
        ("The auth service listens on port 7001 here", "The billing service listens on port 7002 here"),
    ],
)
@pytest.mark.parametrize("layer", ["semantic", "procedural"])
async def test_what_can_both_hold_is_neither_flagged_nor_challenged_nor_asked(
    session: Session, keep: Keep, clock: Any, older: str, newer: str, layer: str
) -> None:
    first = await keep(older, layer=layer)
    clock.advance(days=1)
    assert (await keep(newer, layer=layer)).conflicts == []
    await consolidate(session, ConsolidateRequest())
    assert (await session.store.resolve(first.id)).status in ("active", "superseded")
    assert (await review(session, ReviewRequest())).questions == []


async def test_a_certain_conflict_is_told_and_challenged(session: Session, keep: Keep, clock: Any) -> None:
    first = await keep("The lock of the nightly import expires after 5 min", layer="semantic")
    clock.advance(days=1)
    second = await keep("The lock of the nightly import expires after 10 min", layer="semantic")
    assert [(found.id, found.reason) for found in second.conflicts] == [(first.id, "numbers differ: 5 min / 10 min")]
    await consolidate(session, ConsolidateRequest())
    assert (await session.store.resolve(first.id)).status == "challenged"


async def test_a_possible_conflict_says_may_and_is_asked(session: Session, keep: Keep, clock: Any) -> None:
    first = await keep("The notes of the nightly import are stored in Confluence", layer="semantic")
    clock.advance(days=1)
    second = await keep("The notes of the nightly import are stored in Notion", layer="semantic")
    assert [found.reason for found in second.conflicts] == ["may conflict: names differ: Confluence / Notion"]
    await consolidate(session, ConsolidateRequest())
    assert (await session.store.resolve(first.id)).status == "active"
    [question] = (await review(session, ReviewRequest())).questions
    assert {memory["id"] for memory in question["memories"]} == {first.id, second.id}


async def test_what_says_the_same_in_another_notation_confirms_it(session: Session, keep: Keep) -> None:
    first = await keep("The lock of the nightly import expires after 5 min", source="ai")
    second = await keep("The lock of the nightly import expires after 300 s", source="human")
    assert (second.duplicate_of, second.confirmed) == (first.id, True)
